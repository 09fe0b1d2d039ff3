/* Kinds of rows: what a row has of each class, and the plans found for it. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_KINDS_H
#define CZ_PASSES_SOLVE_SUBGROUP_KINDS_H

#include "passes/solve/subgroup/internal.h"

typedef struct cz_subgroup_kind {
    int n_rows; /* 0: no row is of this kind any more */
    const int *counts;
    cz_subgroup_search *search;
} cz_subgroup_kind;

typedef struct cz_subgroup_kinds {
    cz_arena *arena;
    const cz_subgroup_problem *problem;
    int64_t price; /* of a byte, as the bound by fit has it */
    int n;
    cz_subgroup_kind *kinds;
    int *of_row; /* [row] */
} cz_subgroup_kinds;

/* What the plan of each row keeps. */
typedef struct cz_subgroup_aim {
    int64_t time_ps;
    int64_t kernels_ps; /* of the rank that computes most; INT64_MAX: any */
} cz_subgroup_aim;

/* Of rows that have counts[row][class]; first plans of each kind. */
cz_subgroup_kinds cz_subgroup_kinds_make(cz_arena *arena,
                                         const cz_subgroup_problem *problem,
                                         const int *counts);
/* The kind that has so many of each class, with first plans where it is new;
 * -1: it is new, and there are that many already. */
int cz_subgroup_kinds_find(cz_subgroup_kinds *k, const int *counts, int most);
/* The row is of another kind from now on. */
void cz_subgroup_kinds_put(cz_subgroup_kinds *k, int row, int kind);

/* The lightest plan found for a kind that keeps the aim; NULL: none. */
const cz_subgroup_row *cz_subgroup_kinds_row(const cz_subgroup_kinds *k,
                                             int kind,
                                             const cz_subgroup_aim *aim);
/* The least time of any kind's plan at which the bytes keep the cap; without
 * one, the time at which bytes are least.  -1: some row has no plan. */
int64_t cz_subgroup_kinds_time(const cz_subgroup_kinds *k, bool *is_feasible);

/* Exchanges matrices between rows for a plan that keeps the cap of bytes in
 * less time than `time_ps`, and then, in as much time but for a part in 32,
 * for one whose kernels are shorter.  No row's states get larger than the
 * fullest row's are.  Each aim is tried with n_draws exchanges.  Returns what
 * rows keep now. */
cz_subgroup_aim cz_subgroup_redeal(cz_subgroup_kinds *k, int64_t time_ps,
                                   int n_draws);

#endif
