/* Which geometry buckets travel in.  What decides is how fast reductions to
 * unequal slices are, and while nobody has measured that the worst case over
 * all it may be. */
#ifndef CZ_PASSES_SOLVE_GEOMETRY_H
#define CZ_PASSES_SOLVE_GEOMETRY_H

#include "passes/solve/solve.h"

/* Thousandths of the link's speed at which uneven slices travel, at least and
 * at most: 1 <= low <= high <= 1000.  Equal where it was measured. */
typedef struct cz_geometry_range {
    int64_t low, high;
} cz_geometry_range;

/* One geometry's best plan. */
typedef struct cz_geometry_option {
    bool is_allowed;           /* the rest is empty where it is not */
    cz_solved solved;          /* its score is that of the worst case */
    int64_t best_ps, worst_ps; /* predicted time over the range */
    /* Uneven slices are faster than this geometry where they travel at more
     * than so many thousandths, rounded up; 1001: nowhere. */
    int64_t break_even_e;
} cz_geometry_option;

typedef struct cz_geometry_choice {
    cz_solve_geometry chosen;
    cz_geometry_option of[CZ_SOLVE_N_GEOMETRIES];
} cz_geometry_choice;

/* Predicted time of a plan in a geometry: the fullest rank's load, and its wire
 * at the link's full speed, where uneven slices reach e thousandths of it. */
int64_t cz_geometry_time(cz_solve_geometry geometry, int64_t load_ps,
                         int64_t wire_ps, int64_t e);
/* What uneven slices of that load and wire must reach to take no longer than
 * other_ps: e = wire / (other - load), in thousandths, rounded up; 1001 where
 * the link's full speed does not do. */
int64_t cz_geometry_break_even(int64_t load_ps, int64_t wire_ps,
                               int64_t other_ps);

/* Solves the problem in every allowed geometry; one of them, at least, must
 * be.  Chosen is a plan that keeps the problem's caps, if one does, then the
 * least worst case, then the least best case, then the first.  The problem's
 * own geometry and uneven_e are not looked at.  Plans live in the arena. */
cz_geometry_choice cz_geometry_choose(cz_arena *arena,
                                      const cz_solve_problem *problem,
                                      const bool allowed[CZ_SOLVE_N_GEOMETRIES],
                                      cz_geometry_range e);

#endif
