/* Matrices of each slot, counted stage by stage. */
#include "passes/baseline/batches.h"

#include "passes/baseline/micro_groups.h"

/* What these matrices of one operation take more than time_ps of each; below
 * 0: less.  counts[n_stages]. */
static int64_t batches_ps(const cz_plan_view *view, const cz_stage_time *times,
                          const int64_t *counts)
{
    int64_t sum = 0;
    for (int s = 0; s < view->n_stages; s++)
        if (counts[s] > 0)
            sum += cz_stage_time_rows(&times[s], counts[s]) -
                   counts[s] * times[s].time_ps;
    return sum;
}

/* The slots that compute an item: [first, first + n). */
typedef struct slots {
    int first, n;
} slots;

static slots slots_of(const cz_plan_view *view,
                      const cz_placement_problem *placement,
                      const cz_solve_plan *plan, cz_compared_owners gathered,
                      int item)
{
    const int n = placement->problem.n_hosts;
    if (gathered == CZ_COMPARED_ALL)
        return (slots){0, 1};
    if (gathered == CZ_COMPARED_ROW ||
        !cz_compare_is_gathered(view, placement, item))
        return (slots){plan->owner[item] * n, n};
    return (slots){plan->owner[item] * n + plan->host[item],
                   gathered == CZ_COMPARED_HOST};
}

void cz_compare_batches(const cz_plan_view *view, const cz_stage_time *times,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_compared_owners gathered,
                        const bool *is_left_out, int64_t *load_ps)
{
    const cz_solve_problem *problem = &placement->problem;
    const int n_slots = problem->n_ranks * problem->n_hosts;
    const int n_counted = gathered == CZ_COMPARED_ALL ? 1 : n_slots;
    cz_arena scratch;
    cz_arena_init(&scratch);
    int64_t **counts = CZ_NEW(&scratch, int64_t *, n_counted);
    for (int i = 0; i < problem->n_items; i++) {
        const int class = problem->class_of[i];
        const int pattern = view->params[placement->params[i]].pattern;
        if (problem->classes[class].divisible ||
            (is_left_out && is_left_out[class]))
            continue;
        const slots of = slots_of(view, placement, plan, gathered, i);
        const int stage =
            cz_rule_stages_find(view, view->patterns[pattern].rule).full_matrix;
        for (int s = of.first; s < of.first + of.n; s++) {
            if (!counts[s])
                counts[s] = CZ_NEW(&scratch, int64_t, view->n_stages);
            counts[s][stage]++;
        }
    }
    for (int s = 0; s < n_slots; s++) {
        const int64_t *of = counts[n_counted == 1 ? 0 : s];
        if (of)
            load_ps[s] += batches_ps(view, times, of);
    }
    cz_arena_fini(&scratch);
}
