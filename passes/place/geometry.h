/* Which geometry the buckets of a placement travel in: what the source says, or
 * what the planner finds best at its worst. */
#ifndef CZ_PASSES_PLACE_GEOMETRY_H
#define CZ_PASSES_PLACE_GEOMETRY_H

#include "dsl/plan/plan.h"
#include "passes/cost/machine.h"
#include "passes/solve/geometry.h"
#include "passes/solve/search/joint.h"

/* What may be chosen and, once it was, what was compared. */
typedef struct cz_place_geometry {
    bool is_auto; /* else nothing is compared */
    cz_solve_geometry reported;
    cz_geometry_range e;
    int n; /* compared */
    cz_solve_geometry of[CZ_SOLVE_N_GEOMETRIES];
    int64_t load_ps[CZ_SOLVE_N_GEOMETRIES]; /* of the fullest rank */
    int64_t wire_ps[CZ_SOLVE_N_GEOMETRIES]; /* of a rank, where uneven slices
                                             * have all of the link's rate */
    int64_t is_kept[CZ_SOLVE_N_GEOMETRIES]; /* 1: the cap on state is */
} cz_place_geometry;

/* As facts name it. */
cz_geometry cz_place_geometry_choice(cz_solve_geometry geometry);

/* What the policy says.  Where it matters, that is, but for uneven slices,
 * prices the wire of a problem whose item i is params[i] and has all buckets:
 * gradients one way, parameters back, at the link's rate; e is that of buckets
 * of the mean length. */
cz_place_geometry cz_place_geometry_of(const cz_plan_view *view,
                                       const cz_machine *machine,
                                       const int *params,
                                       cz_solve_problem *problem);

/* The best plan, in the geometry that problem->geometry then says. */
cz_solved cz_place_geometry_solve(cz_arena *arena, cz_solve_problem *problem,
                                  cz_place_geometry *geometry);
/* A plan of the problem, in the geometry that it says, with owners that the
 * context has. */
typedef cz_solved cz_place_lay_out(const void *context,
                                   const cz_solve_problem *problem);

/* The best layout for owners that are given, who need full_matrix_ps for all
 * that is whole: what was compared before is forgotten. */
cz_solve_plan
cz_place_geometry_lay_out(cz_arena *arena, cz_solve_problem *problem,
                          cz_place_geometry *geometry, int64_t full_matrix_ps,
                          cz_place_lay_out *lay_out, const void *context);
/* Of two problems together, which have one geometry; loads and wires are those
 * of both. */
cz_joint_solved cz_place_geometry_solve_joint(cz_arena *arena,
                                              cz_joint_problem *joint,
                                              cz_place_geometry *inner,
                                              cz_place_geometry *outer);

#endif
