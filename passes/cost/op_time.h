/* How long an operation of a plan takes on each rank, and who starts together:
 * the formulas of dsl/SIMULATE.md, which the scheduler and the simulator ask.
 * They read a plan's document: its axes, reductions, stages, buckets and the
 * operations themselves.  Times are picoseconds. */
#ifndef CZ_PASSES_COST_OP_TIME_H
#define CZ_PASSES_COST_OP_TIME_H

#include "dsl/plan/document.h"
#include "passes/cost/time.h"
#include "passes/timeline/timeline.h"

typedef struct cz_op_prices {
    cz_arena *arena;
    const cz_document *document;
    const cz_machine *machine;
    bool is_plans_machine; /* measured times of the plan hold */
    int64_t uneven;        /* e: millionths of the rate that reductions and
                            * gathers of uneven slices reach; 0: what the
                            * machine's nearest entry says, else all */
    int64_t most_ps;       /* no operation takes longer */
    cz_axes axes;
    int64_t apart;  /* set of axes: ranks that agree on these are one, and their
                     * number is their coordinate over it */
    int n_ranks;    /* of those; `ps` and `of` have one entry each */
    int64_t *ranks; /* [n_ranks] one of each */
    struct cz_op_axes *known; /* by set of axes */
} cz_op_prices;

/* The rest is what the caller has not set: of all times, on this machine. */
cz_op_prices cz_op_prices_make(cz_arena *arena, const cz_document *document,
                               const cz_machine *machine, int64_t apart);

int cz_op_extent(const cz_op_prices *prices, int64_t set);
bool cz_op_is_resident(const cz_op_prices *prices,
                       const cz_document_residents *residents, int rank);
/* The communicators over a set of axes, or their blocks, unless those are of 0
 * ranks. */
cz_timeline_comm cz_op_comm(cz_op_prices *prices, int64_t set, cz_block block);

/* A message of `bytes` that the ranks over reduce_set sum to slices over
 * split_set, the longest of longest_bytes. */
int64_t cz_op_reduce_ps(cz_op_prices *prices, cz_wide bytes,
                        cz_wide longest_bytes,
                        const cz_document_reduction *reduction, bool is_uneven);
int64_t cz_op_gather_ps(cz_op_prices *prices, cz_wide bytes, int64_t set,
                        bool is_uneven);
int64_t cz_op_send_ps(cz_op_prices *prices, cz_wide bytes, int64_t set);
/* The ranks over a set agree on something. */
int64_t cz_op_agree_ps(cz_op_prices *prices, int64_t set);
/* A map over `bytes` for each element of its own slice, one of those over
 * split_set, on each rank. */
void cz_op_fill_own(const cz_op_prices *prices, const int64_t *own,
                    int64_t split_set, int64_t bytes, int64_t *ps);

/* Operation `number` of the document, without its waits. */
cz_timeline_op cz_op_time(cz_op_prices *prices, int number);

#endif
