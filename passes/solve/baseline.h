/* What public optimizers do, on our problems: for comparison by the same
 * evaluator.  All of them keep every parameter whole on one coordinate. */
#ifndef CZ_PASSES_SOLVE_BASELINE_H
#define CZ_PASSES_SOLVE_BASELINE_H

#include "passes/solve/evaluate.h"

typedef enum cz_solve_baseline_kind {
    CZ_BASELINE_ROUND_ROBIN,  /* layer-wise: parameters dealt out in the order
                               * of definition */
    CZ_BASELINE_LPT_ELEMENTS, /* layer-wise: longest first, by elements */
    CZ_BASELINE_EQUAL,        /* equal slices: the rank in whose slice a
                               * parameter starts owns it */
    CZ_BASELINE_GREEDY        /* the published greedy, below */
} cz_solve_baseline_kind;

typedef struct cz_solve_baseline {
    cz_solve_problem problem; /* with nothing divisible */
    cz_solve_plan plan;
} cz_solve_baseline;

/* The baseline's plan of `problem`, which it passes cz_solve_check() of.
 *
 * The greedy: T_b is the length of bucket b, G the sum of T over R, load 0.
 * In decreasing T_b: d_r = max(0, G - load_r), g_r = T_b d_r / sum d (T_b / R
 * if that is 0), target_r = (1 - alpha) T_b / R + alpha g_r; cut r + 1 is the
 * item's end nearest to the running sum of targets (tie: lower), never before
 * cut r; load_r += slice.  alpha = alpha_percent / 100, from 0 to 100. */
cz_solve_baseline cz_solve_baseline_make(cz_arena *arena,
                                         const cz_solve_problem *problem,
                                         cz_solve_baseline_kind kind,
                                         int alpha_percent);

/* The greedy's cuts and owners, for a problem in gradient order.  Items count
 * as whole, which they must be. */
cz_solve_plan cz_solve_greedy(cz_arena *arena, const cz_solve_problem *problem,
                              int alpha_percent);

/* All ranks compute all: what each has to do and to keep. */
cz_solve_score cz_solve_replicated(cz_arena *arena,
                                   const cz_solve_problem *problem);

#endif
