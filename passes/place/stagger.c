/* From rules to what their turns take. */
#include "passes/place/stagger.h"

#include "passes/solve/stagger.h"

cz_solve_plan cz_place_stagger(cz_arena *arena, const cz_plan_view *view,
                               const cz_stage_time *times,
                               const cz_placement_problem *placement,
                               const cz_solve_plan *plan)
{
    const cz_solve_problem *problem = &placement->problem;
    int64_t *stagger_offset = CZ_NEW(arena, int64_t, problem->n_items + 1);
    int64_t *period = CZ_NEW(arena, int64_t, problem->n_classes + 1);
    int64_t *extra = CZ_NEW(arena, int64_t, problem->n_classes + 1);
    bool *known = CZ_NEW(arena, bool, problem->n_classes + 1);
    bool is_staggered = false;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_view_param *param = &view->params[placement->params[i]];
        const int c = problem->class_of[i];
        const int rule = view->patterns[param->pattern].rule;
        stagger_offset[i] = param->stagger_offset;
        if (known[c])
            continue;
        known[c] = true;
        period[c] = cz_events_n_offsets(view->rules[rule].events,
                                        view->rules[rule].n_events);
        /* The longest phase of the rule's whole stage over its shortest. */
        const cz_rule_stages stages = cz_rule_stages_find(view, rule);
        const int64_t *phases =
            stages.full_matrix >= 0 ? times[stages.full_matrix].phase_ps : NULL;
        int64_t least = phases ? phases[0] : 0, most = least;
        for (int p = 1; phases && p < view->rules[rule].n_phases; p++) {
            least = phases[p] < least ? phases[p] : least;
            most = phases[p] > most ? phases[p] : most;
        }
        extra[c] = most - least;
        is_staggered = is_staggered || period[c] > 1;
    }
    const cz_solve_offsets offsets = {stagger_offset, period, extra};
    return is_staggered ? cz_solve_stagger(arena, problem, &offsets, plan)
                        : *plan;
}
