/* Sub-groups: how many ranks share one matrix, and which.  A solver on plain
 * arrays, of moldable tasks on aligned blocks of ranks: it knows nothing of
 * parameters, meshes or the IR.
 *
 * Ranks form `n_rows` rows of `width`.  A row is what gathers and scatters at
 * link speed: a TP group, or a node's worth of a DP axis.  A matrix belongs
 * to one row (its DP slice: gradients are reduced there and states live
 * there, whatever happens inside the row) and is updated in one of its
 * class's ways, by the `g` ranks of a block whose first rank is a multiple of
 * g.  Gathers, products and exchanges of different matrices overlap: each
 * rank has one compute and one link stream (dsl/SCHEDULE.md), and what is
 * timed is that executor (passes/timeline/pipeline.h).
 *
 * What is element-wise has its states where its slices are and is not seen
 * here: it can fill up any rank whose states are below the mean.  Exchanges
 * are timed as if they slowed no product down.
 *
 * Times are int64 picoseconds.  Everything is deterministic. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_SUBGROUP_H
#define CZ_PASSES_SOLVE_SUBGROUP_SUBGROUP_H

#include "dsl/base/arena.h"
#include "passes/timeline/pipeline.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_SUBGROUP_MAX_WIDTH = 64 };

typedef enum cz_subgroup_form {
    CZ_SUBGROUP_OWNER,     /* g = 1: one rank holds the whole matrix */
    CZ_SUBGROUP_GRAM,      /* n x n products on every rank of the block */
    CZ_SUBGROUP_SHARED,    /* n x n products dealt out by rows of blocks */
    CZ_SUBGROUP_REGROUPED, /* A (bX + c(AX)): no n x n product at all */
    CZ_SUBGROUP_N_FORMS
} cz_subgroup_form;

/* Every rank of the block computes, then they exchange. */
typedef struct cz_subgroup_part {
    int64_t compute_ps;
    int64_t exchange_ps; /* 0: none after this part */
} cz_subgroup_part;

/* One way to update a matrix, or a batch of equal ones together: gather, then
 * the parts one after the other, then scatter.  Times and bytes are the
 * batch's. */
typedef struct cz_subgroup_way {
    cz_subgroup_form form;
    int batch; /* matrices; 0 is 1.  Each class has a way for one */
    int g;     /* a power of two that divides the width */
    int n_parts;
    const cz_subgroup_part *parts;
    /* Link time of each rank of the block, and of each other rank of the row,
     * which sends its shard and gets it back; 0 where nothing travels.
     * Without the latency. */
    int64_t gather_ps, gather_other_ps, scatter_ps, scatter_other_ps;
    int64_t wire_bytes;    /* sent by all ranks of the row together */
    int64_t staging_bytes; /* buffers of a rank of the block, while it runs */
} cz_subgroup_way;

typedef struct cz_subgroup_class {
    int count; /* matrices */
    int n_ways;
    const cz_subgroup_way *ways;
    int64_t state_bytes;   /* of one matrix, on all ranks together */
    int64_t least_work_ps; /* rank-seconds of one matrix at the very least, in
                            * any way and batch; 0: least of the ways */
    /* Ways that nobody tries but bounds count: larger batches. */
    int n_others;
    const cz_subgroup_way *others;
} cz_subgroup_class;

typedef struct cz_subgroup_problem {
    int n_rows, width; /* width: at most CZ_SUBGROUP_MAX_WIDTH */
    int n_classes;
    const cz_subgroup_class *classes;
    int64_t latency_ps;   /* of each gather and scatter */
    bool states_on_block; /* states lie on the block's ranks, else on all
                           * ranks of the row alike */
    /* Caps; INT64_MAX: none. */
    int64_t staging_cap_bytes; /* of any rank, at any time */
    int64_t state_cap_bytes;   /* of any rank */
    int64_t wire_cap_bytes;    /* of all rows together */
    int n_redeals; /* exchanges of matrices between rows that are tried for
                    * each better plan; 0: rows keep what they are dealt first,
                    * which evens out their work */
    int effort;    /* plans tried per kind of row, fewer where a row has more
                    * than 32 matrices, as each then takes longer: quadratically
                    * in them.  0: CZ_SUBGROUP_EFFORT */
} cz_subgroup_problem;

enum { CZ_SUBGROUP_EFFORT = 20000 };

/* A matrix of a row, or as many as its way has in a batch: the class, the way,
 * and the block's first rank. */
typedef struct cz_subgroup_job {
    int of, way, first;
} cz_subgroup_job;

typedef struct cz_subgroup_cost {
    int64_t time_ps;
    int64_t done_ps;       /* sum over ranks: when each has done its last */
    int64_t wire_bytes;    /* of the row */
    int64_t staging_bytes; /* at most, on any rank */
    int64_t state_bytes;   /* at most, on any rank */
} cz_subgroup_cost;

typedef struct cz_subgroup_row {
    int n_jobs;
    const cz_subgroup_job *jobs;
    cz_subgroup_cost cost;
} cz_subgroup_row;

typedef struct cz_subgroup_plan {
    bool is_feasible;      /* all caps hold; else rows keep what was nearest */
    cz_subgroup_row *rows; /* [n_rows]; equal rows share their jobs */
    int64_t time_ps;       /* of the slowest row */
    int64_t wire_bytes;    /* of all rows */
    int64_t staging_bytes, state_bytes; /* of the fullest rank */
} cz_subgroup_plan;

/* A plan whose slowest row is as fast as the caps allow.  The plan lives in
 * `arena`. */
cz_subgroup_plan cz_subgroup_solve(cz_arena *arena,
                                   const cz_subgroup_problem *problem);

/* The order of one row's operations: list scheduling, the operation that can
 * start first goes first, among those the one with the longest rest behind
 * it.  Matrices whose blocks share no rank gather together, in one transfer;
 * what can be scattered by the time that another scatter would be done goes
 * with it, and that one waits for it.
 * `cost` gets the row's figures, `list`, unless NULL, the operations, in
 * `arena`.  False where a matrix alone is beyond the staging cap. */
bool cz_subgroup_run(cz_arena *arena, const cz_subgroup_problem *problem,
                     const cz_subgroup_job *jobs, int n_jobs,
                     cz_subgroup_cost *cost, cz_pipeline_list *list);

static inline int cz_subgroup_batch(const cz_subgroup_way *way)
{
    return way->batch > 1 ? way->batch : 1;
}

/* What the rank of a row computes that computes most. */
int64_t cz_subgroup_kernels_ps(const cz_subgroup_problem *problem,
                               const cz_subgroup_row *row);
/* Rank-seconds of a way: compute of all ranks of its block. */
int64_t cz_subgroup_work_ps(const cz_subgroup_way *way);
/* Time of a batch alone in a row: gather, all parts, scatter. */
int64_t cz_subgroup_alone_ps(const cz_subgroup_way *way, int64_t latency_ps);

#endif
