/* Buckets in a fixed order as rows of weights that may be cut between items,
 * and inside some.  Private to the solvers. */
#ifndef CZ_PASSES_SOLVE_SEARCH_LINE_H
#define CZ_PASSES_SOLVE_SEARCH_LINE_H

#include "passes/solve/problem.h"

/* One parameter, with small divisible ones behind it. */
typedef struct cz_line_item {
    int64_t weight;
    int64_t begin, end; /* elements from the bucket's start */
    bool divisible;
} cz_line_item;

/* A place between items, or `within` elements inside a divisible one. */
typedef struct cz_cut {
    int item;
    int64_t within;
} cz_cut;

typedef struct cz_line {
    int n_ranks, n_buckets;
    int64_t align;
    const int *start;          /* [n_buckets + 1] first item of each bucket */
    const cz_line_item *items; /* buckets one behind the other */
    const int64_t *before;     /* [n_items + 1] sums of weights */
    const int64_t *base;       /* [n_ranks] weight that each has besides */
    int64_t total;             /* weight of all items and bases */
} cz_line;

/* What a weight is of: one of these, or several, each as so many parts of 2^40
 * of all there is, added. */
typedef struct cz_weigh {
    int time, elements, state; /* from 0 to 8 */
} cz_weigh;

/* Time is of all hosts of a coordinate together. */
cz_line cz_line_make(cz_arena *arena, const cz_solve_problem *problem,
                     cz_weigh weigh);
cz_cut cz_line_begin(const cz_line *line, int bucket);
cz_cut cz_line_end(const cz_line *line, int bucket);
/* Weight before a cut, from the first item of all. */
int64_t cz_line_weight(const cz_line *line, cz_cut cut);
/* The last cut with at most `budget` behind `from`, and the first with at most
 * `budget` before `to`; in the bucket. */
cz_cut cz_line_extend(const cz_line *line, int bucket, cz_cut from,
                      int64_t budget);
cz_cut cz_line_retreat(const cz_line *line, int bucket, cz_cut to,
                       int64_t budget);
cz_solve_plan cz_line_plan(cz_arena *arena, const cz_solve_problem *problem,
                           const cz_line *line, const cz_cut *cuts);

/* The largest weight of a rank. */
int64_t cz_line_max(cz_arena *scratch, const cz_line *line, const cz_cut *cuts);

/* Coordinate descent: of one bucket after the other the best cuts, the others'
 * being given, until none helps.  One bucket alone is solved exactly, by
 * parametric search (chains on chains: least T such that each rank in turn
 * takes as much as fits below T).  cuts[n_buckets * (n_ranks + 1)]. */
void cz_line_descend(cz_arena *scratch, const cz_line *line, cz_cut *cuts);

#endif
