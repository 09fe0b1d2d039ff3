/* Training iterations, simulated: dsl/SIMULATE.md says what happens when.
 * Plain C on a plan's document; whole numbers only, so that equal ones
 * give equal times on any machine. */
#ifndef CZ_PASSES_SIMULATE_SIMULATE_H
#define CZ_PASSES_SIMULATE_SIMULATE_H

#include "dsl/base/arena.h"
#include "dsl/plan/document.h"
#include "passes/cost/time.h"

typedef struct cz_simulate_options {
    const cz_machine *machine;
    bool is_plans_machine; /* measured times of the plan hold */
    int64_t tokens;        /* of an iteration, over all ranks */
    int64_t mfu;           /* millionths of bf16_rate that the model's own
                            * products reach; positive */
    int64_t active;        /* millionths of experts' elements that work on a
                            * token */
    int64_t sequence;      /* tokens of a sequence: attention, activations
                            * between ranks and the pipeline's bubble are
                            * priced, too; 0: they are left out */
    int64_t uneven;        /* e: millionths of the rate that reductions and
                            * gathers of uneven slices reach; 0: what the
                            * machine's nearest entry says, else all */
    int64_t contention;    /* millionths by which kernels are slower while
                            * links of their rank are at work */
    int64_t jitter;        /* millionths by which kernels may be slower */
    int64_t seed;
    int n_stragglers; /* ranks that are slower */
    int64_t slowdown; /* by this factor, in millionths; at least 1 */
} cz_simulate_options;

/* All of the last iteration of those that are simulated, on the ranks that
 * are last; picoseconds. */
typedef struct cz_simulate_times {
    int64_t iteration;
    int64_t step;        /* from the last reduction, or decision, to the last
                          * update */
    int64_t step_gather; /* to the end of the next forward pass, less that
                          * pass itself */
    int64_t forward, backward; /* the model's own work on the busiest rank */
    int64_t links;  /* in these: what it waits for activations, and parameters
                     * that shards gather */
    int64_t bubble; /* and beside these: filling and draining the pipeline */
    int64_t reduce, gather; /* of links, likewise */
    int64_t update;         /* the optimizer's kernels, likewise */
    int64_t update_sum;     /* over all ranks */
} cz_simulate_times;

/* What the same work takes at least, in any order: kernels that are spread
 * evenly over the ranks, bubbles included, or links that never wait. */
typedef struct cz_simulate_least {
    int64_t kernels, links;
} cz_simulate_least;

cz_simulate_least cz_simulate_least_of(const cz_simulate_times *times,
                                       int n_ranks);

/* The model's own work alone, as an iteration has it: of a document that has
 * its axes and parameters, and no more than their names, elements and places.
 */
typedef struct cz_simulate_model {
    int64_t forward, backward, links, bubble; /* as above */
    int64_t activation_bytes; /* of the fullest rank; 0 without `sequence` */
    int64_t microbatches;     /* of each replica; 0 likewise */
} cz_simulate_model;

cz_simulate_model cz_simulate_passes(const cz_document *document,
                                     const cz_simulate_options *options);

/* The plan itself. */
cz_simulate_times cz_simulate_plan(const cz_document *document,
                                   const cz_simulate_options *options);

/* What baselines have in common, which belongs to the arena. */
typedef struct cz_simulate_baselines cz_simulate_baselines;
cz_simulate_baselines *
cz_simulate_baselines_make(cz_arena *arena, const cz_document *document,
                           const cz_simulate_options *options);

/* One of them, whose iteration is shorter than `most`; else false. */
bool cz_simulate_baseline(const cz_simulate_baselines *of, int number,
                          int64_t most, cz_simulate_times *out);

/* The shortest iteration of all baselines that is shorter than `most`; else
 * that. */
int64_t cz_simulate_best_baseline(const cz_document *document,
                                  const cz_simulate_options *options,
                                  int64_t most);

/* Whether e says nothing of it: no message is reduced or gathered unevenly. */
bool cz_simulate_is_even(const cz_document_baseline *baseline);

/* When each operation of the schedule runs on each rank; picoseconds from the
 * start of the step.  -1 where a rank skips it. */
typedef struct cz_simulate_timeline {
    int64_t makespan;
    const int64_t *start, *end; /* [n_ops * n_ranks] */
} cz_simulate_timeline;

/* One step by itself: all gradients are there when it starts, and nothing of
 * the model runs beside it.  The result belongs to the arena. */
cz_simulate_timeline cz_simulate_step(cz_arena *arena,
                                      const cz_document *document,
                                      const cz_simulate_options *options);

#endif
