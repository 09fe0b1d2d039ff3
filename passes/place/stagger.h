/* Turns of a placement's matrices dealt out to their owners. */
#ifndef CZ_PASSES_PLACE_STAGGER_H
#define CZ_PASSES_PLACE_STAGGER_H

#include "passes/cost/plan_time.h"
#include "passes/place/problem.h"

/* The plan, or, where rules are staggered, that of cz_solve_stagger(). */
cz_solve_plan cz_place_stagger(cz_arena *arena, const cz_plan_view *view,
                               const cz_stage_time *times,
                               const cz_placement_problem *placement,
                               const cz_solve_plan *plan);

#endif
