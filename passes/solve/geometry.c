/* Every geometry is solved; one that is not uneven has the same time over all
 * of the range. */
#include "passes/solve/geometry.h"

#include "dsl/base/arithmetic.h"

enum { FULL_SPEED = 1000 };

static cz_geometry_option solve_in(cz_arena *arena,
                                   const cz_solve_problem *problem,
                                   cz_solve_geometry geometry,
                                   cz_geometry_range e)
{
    cz_solve_problem p = *problem;
    p.geometry = geometry;
    p.uneven_e = e.low;
    cz_geometry_option option = {.is_allowed = true,
                                 .solved = cz_solve(arena, &p)};
    option.worst_ps = option.solved.score.time_ps;
    p.uneven_e = e.high;
    option.best_ps = cz_solve_evaluate(arena, &p, &option.solved.plan).time_ps;
    return option;
}

int64_t cz_geometry_time(cz_solve_geometry geometry, int64_t load_ps,
                         int64_t wire_ps, int64_t e)
{
    return load_ps + (geometry == CZ_SLICES_UNEVEN
                          ? (int64_t)((cz_wide)wire_ps * FULL_SPEED / e)
                          : wire_ps);
}

int64_t cz_geometry_break_even(int64_t load_ps, int64_t wire_ps,
                               int64_t other_ps)
{
    const int64_t left = other_ps - load_ps;
    if (left < wire_ps)
        return FULL_SPEED + 1;
    return left == 0
               ? 0
               : (int64_t)(((cz_wide)wire_ps * FULL_SPEED + left - 1) / left);
}

static void find_break_even(cz_arena *arena, const cz_solve_problem *problem,
                            cz_geometry_choice *choice)
{
    cz_solve_problem p = *problem;
    p.geometry = CZ_SLICES_UNEVEN;
    p.uneven_e = FULL_SPEED;
    if (!choice->of[CZ_SLICES_UNEVEN].is_allowed)
        return;
    const cz_solve_score score =
        cz_solve_evaluate(arena, &p, &choice->of[CZ_SLICES_UNEVEN].solved.plan);
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++)
        if (choice->of[g].is_allowed && g != CZ_SLICES_UNEVEN)
            choice->of[g].break_even_e = cz_geometry_break_even(
                score.max_load_ps, score.wire_ps, choice->of[g].worst_ps);
}

static bool is_better(const cz_solve_problem *problem,
                      const cz_geometry_option *a, const cz_geometry_option *b)
{
    const bool keeps_a = cz_solve_excess(problem, &a->solved.score) == 0;
    const bool keeps_b = cz_solve_excess(problem, &b->solved.score) == 0;
    if (keeps_a != keeps_b)
        return keeps_a;
    return a->worst_ps != b->worst_ps ? a->worst_ps < b->worst_ps
                                      : a->best_ps < b->best_ps;
}

cz_geometry_choice cz_geometry_choose(cz_arena *arena,
                                      const cz_solve_problem *problem,
                                      const bool allowed[CZ_SOLVE_N_GEOMETRIES],
                                      cz_geometry_range e)
{
    cz_geometry_choice choice = {0};
    int best = -1;
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        if (!allowed[g])
            continue;
        choice.of[g] = solve_in(arena, problem, (cz_solve_geometry)g, e);
        if (best < 0 || is_better(problem, &choice.of[g], &choice.of[best]))
            best = g;
    }
    choice.chosen = (cz_solve_geometry)best;
    find_break_even(arena, problem, &choice);
    return choice;
}
