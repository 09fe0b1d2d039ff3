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
 * rank has one compute and one link stream (passes/timeline/streams.h).
 *
 * Element-wise work is not seen here: it can fill up any rank.  Exchanges are
 * timed as if they slowed no product down, and other ranks of the row send as
 * if that took no time of theirs.
 *
 * Times are int64 picoseconds.  Everything is deterministic, and the order of
 * classes decides nothing. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_SUBGROUP_H
#define CZ_PASSES_SOLVE_SUBGROUP_SUBGROUP_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_SUBGROUP_MAX_WIDTH = 64 };

typedef enum cz_subgroup_form {
    CZ_SUBGROUP_OWNER,       /* g = 1: one rank holds the whole matrix */
    CZ_SUBGROUP_GRAM,        /* n x n products on every rank of the block */
    CZ_SUBGROUP_PARTITIONED, /* n x n products dealt out by rows of blocks */
    CZ_SUBGROUP_N_FORMS
} cz_subgroup_form;

/* Every rank of the block computes, then they exchange. */
typedef struct cz_subgroup_segment {
    int64_t compute_ps;
    int64_t exchange_ps; /* 0: none after this part */
} cz_subgroup_segment;

/* One way to update a matrix, or a batch of equal ones together: gather, then
 * the parts one after the other, then scatter.  Times and bytes are the
 * batch's. */
typedef struct cz_subgroup_candidate {
    cz_subgroup_form form;
    int batch; /* matrices; the solver plans them one by one */
    int g;     /* a power of two that divides the width */
    int n_segments;
    const cz_subgroup_segment *segments;
    /* Link time of each rank of the block; 0 where nothing travels.  Without
     * the latency. */
    int64_t gather_ps, scatter_ps;
    int64_t wire_bytes;    /* sent by all ranks of the row together */
    int64_t staging_bytes; /* buffers of a rank of the block, while it runs */
} cz_subgroup_candidate;

typedef struct cz_subgroup_class {
    int count;        /* matrices */
    int n_candidates; /* the first has g = 1 */
    const cz_subgroup_candidate
        *candidates;     /* by rising g, at most one of each */
    int64_t state_bytes; /* of one matrix, on all ranks together */
} cz_subgroup_class;

typedef struct cz_subgroup_problem {
    int n_rows, width; /* width: at most CZ_SUBGROUP_MAX_WIDTH */
    int n_classes;
    const cz_subgroup_class *classes;
    int64_t latency_ps;        /* of each gather and scatter */
    int64_t staging_cap_bytes; /* of any rank, at any time */
} cz_subgroup_problem;

/* A matrix of a row: the class, the way, and the block's first rank. */
typedef struct cz_subgroup_job {
    int of, candidate, first;
} cz_subgroup_job;

/* The plan's operations make one list for all rows, whose order another pass
 * chooses: a row is judged by its own time, by what its busiest rank computes
 * and by its longest gather and scatter, of which nobody knows here what they
 * overlap with; and a little by when all ranks are done. */
typedef struct cz_subgroup_cost {
    int64_t time_ps;
    int64_t score_ps;      /* what plans are compared by */
    int64_t wire_bytes;    /* of the row */
    int64_t staging_bytes; /* at most, on any rank */
} cz_subgroup_cost;

typedef struct cz_subgroup_row {
    int n_jobs;
    const cz_subgroup_job *jobs; /* by when they begin */
    cz_subgroup_cost cost;
    int64_t state_bytes; /* of all its matrices */
} cz_subgroup_row;

typedef struct cz_subgroup_plan {
    bool is_feasible;      /* each matrix has a way within the cap of staging,
                            * and bytes keep theirs; else there are no rows */
    cz_subgroup_row *rows; /* [n_rows]; equal rows share their jobs */
    int64_t time_ps, score_ps; /* of the slowest row */
    int64_t wire_bytes;        /* of all rows */
} cz_subgroup_plan;

/* Plans of a problem, from the fastest to the lightest on the wire, in `arena`.
 */
typedef struct cz_subgroup_plans cz_subgroup_plans;
cz_subgroup_plans *cz_subgroup_solve(cz_arena *arena,
                                     const cz_subgroup_problem *problem);
/* The one whose slowest row is as fast as so many bytes of all rows allow. */
cz_subgroup_plan cz_subgroup_within(const cz_subgroup_plans *plans,
                                    int64_t wire_cap_bytes);

/* Rank-seconds of a way: compute of all ranks of its block. */
int64_t cz_subgroup_work_ps(const cz_subgroup_candidate *candidate);
/* Time of a matrix alone in a row: gather, all segments, scatter. */
int64_t cz_subgroup_alone_ps(const cz_subgroup_candidate *candidate,
                             int64_t latency_ps);

#endif
