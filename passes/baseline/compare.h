/* What public optimizers would make of a plan's matrices: the same machine,
 * the same kernels, the same buckets, by the solver's evaluator. */
#ifndef CZ_PASSES_BASELINE_COMPARE_H
#define CZ_PASSES_BASELINE_COMPARE_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"
#include "passes/cost/plan_time.h"

#include <stdbool.h>

/* Parameters that travel together, and how much of it each split coordinate
 * owns. */
typedef struct cz_compared_message {
    int reduction;
    int n_params;
    const int64_t *params;   /* [n_params] in the order of gradients */
    int64_t elements, bytes; /* of parameters on a rank, padding included */
    int n_slices;
    const int64_t *slices; /* [n_slices] elements, as they travel */
} cz_compared_message;

/* The kernels of its matrices in public micro-groups, with gathers before and
 * scatters behind them. */
typedef struct cz_compared_micro_groups {
    const char *name;
    int n_micro_groups;
    int64_t staging_bytes; /* of the fullest rank */
    int64_t *time_ps;      /* [n_ranks] until its row is done, and what is not
                            * in groups */
} cz_compared_micro_groups;

typedef struct cz_compared {
    const char *name;
    int64_t bucket_elements; /* in buckets of so many */
    int64_t *time_ps;        /* [n_ranks] of kernels, without waits */
    int64_t *launches; /* [n_ranks] element-wise kernels of what it updates or
                        * has a shard of, rows of a rule together */
    int64_t *state_bytes; /* [n_ranks] masters and states */
    /* [n_ranks] what of matrices goes to owners and back: all slots, in every
     * update. */
    int64_t *sent_bytes, *received_bytes;
    int n_messages;
    cz_compared_message *messages; /* placement by placement, in each in the
                                    * order of gradients */
    int n_choices;                 /* 0: no matrix is gathered, or no machine */
    cz_compared_micro_groups *micro_group_choices;
    bool all_reduces; /* every rank gets all gradients, not its slice alone */
    bool gathers;     /* parameters come from their owners; else all ranks
                       * compute alike */
    bool is_exposed;  /* before the next forward pass, not under it */
} cz_compared;

/* Those of Megatron-LM compute a matrix as megatron.h says, but for its
 * older path, which reduces all to all and exposes its gathers; the others
 * gather it to one rank, the least loaded by time.  Nothing is cut that is a
 * matrix.  The published greedy's rows are grouped in each public way, too.
 *
 * In the policy's buckets; `in_all_buckets`, where the policy leaves them free,
 * also in those of 40M, 100M, 200M and 400M elements that make others. */
cz_compared *cz_compare(cz_arena *arena, const cz_plan_view *view,
                        const cz_stage_time *times, bool in_all_buckets,
                        int *n);

#endif
