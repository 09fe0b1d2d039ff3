/* Where all ranks are: coordinates and residents, computed once, because every
 * check asks for them for every operation on every rank.
 * Private to passes/verify/. */
#ifndef CZ_PASSES_VERIFY_RANK_MAPS_H
#define CZ_PASSES_VERIFY_RANK_MAPS_H

#include "dsl/plan/plan.h"

/* Coordinates of all ranks over some axes. */
typedef struct rank_map {
    uint64_t set; /* of the axes */
    int *of;      /* [n_ranks] */
} rank_map;

typedef struct rank_maps {
    int n;
    rank_map *maps;          /* [n] one for each set of axes */
    const int **of_table;    /* [n_tables] over the selector */
    const int **of_split;    /* [n_reductions] over the split axes */
    const bool **of_pattern; /* [n_patterns][n_ranks] whether it is resident;
                              * NULL: it is resident on every rank */
} rank_maps;

/* For a view's selectors, splits and residents.  Memory grows with ranks times
 * (sets of axes + patterns with a home of their own). */
rank_maps rank_maps_build(cz_arena *arena, const cz_plan_view *view);

#endif
