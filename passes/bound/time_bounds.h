/* What no plan can be below, each with its witness: from matrices, rules, mesh,
 * machine and schedule, never from what the planner chose.
 *
 * Kernels: what any plan's busiest rank computes, as cz_rank_times() counts
 * it.  Links: what an average rank sends, by the counters of
 * dsl/plan/metrics.h. */
#ifndef CZ_PASSES_BOUND_TIME_BOUNDS_H
#define CZ_PASSES_BOUND_TIME_BOUNDS_H

#include "passes/bound/forms.h"

typedef enum cz_time_bound_kind {
    /* Every matrix in the form with least rank-seconds, every element once,
     * dealt out evenly: over all ranks, or over residents where only they
     * have the parameters. */
    CZ_TIME_MEAN,
    CZ_TIME_LARGEST, /* the longest matrix, in its quickest form */
    /* The least time in which loads of ranks, of items in admitted forms, hold
     * all matrices and elements (passes/bound/packing_bound.h); over ranks as
     * the mean.  Looked for above the two others alone. */
    CZ_TIME_PACKING,
    CZ_TIME_NODE, /* all bytes, as if none left a node (passes/cost/wire.h) */
    CZ_TIME_NETWORK, /* bytes between nodes */
    CZ_TIME_N_BOUNDS
} cz_time_bound_kind;

typedef struct cz_time_bound {
    int64_t value_ps;
    int param;       /* mean: of the pattern with most of it; item; fit: of
                      * those worth most; links: of the pattern that sends most; -1:
                      * none */
    int64_t n_ranks; /* mean, fit, links: over which; item: that
                      * share it, 0 without one */
    int64_t bytes;   /* links: in all; else 0 */
    /* fit: prices that refute value_ps - 1, [classes of the forms] of a matrix
     * and of all elements; NULL without; else NULL */
    const int64_t *prices;
    int64_t elements_price;
} cz_time_bound;

typedef struct cz_time_bounds {
    cz_time_bound of[CZ_TIME_N_BOUNDS];
    cz_time_bound_kind kernels; /* the largest bound of kernels; ties: first */
} cz_time_bounds;

const char *cz_time_bound_name(cz_time_bound_kind kind);
bool cz_time_bound_is_of_links(cz_time_bound_kind kind);

/* times: of all stages; forms: of all matrices.  Lives in the arena. */
cz_time_bounds cz_time_bounds_find(cz_arena *arena, const cz_plan_view *view,
                                   const cz_machine *machine,
                                   const cz_stage_time *times,
                                   const cz_forms *forms);

#endif
