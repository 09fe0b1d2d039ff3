/* Groups that a rule, a shape and a mesh allow. */
#include "passes/share/group.h"

#include "passes/cost/candidates.h"
#include "passes/kernel/outline.h"
#include "passes/grid/owned.h"

#include <inttypes.h>

bool cz_share_is_gathered(const cz_plan_view *view, int pattern)
{
    return cz_pattern_is_owned(view, pattern) &&
           cz_pattern_shards(view, pattern) > 1;
}

bool cz_share_can(cz_arena *scratch, const cz_plan_view *view, int pattern,
                  int64_t subgroup_size)
{
    const int number = view->patterns[pattern].rule;
    const cz_fact_rule *rule = view->rules[number].fact;
    const bool t = rule->transposed != 0;
    const int64_t shape[] = {rule->shape.v[t], rule->shape.v[!t]};
    cz_outline outline;
    return subgroup_size == 1 ||
           (cz_pattern_shards(view, pattern) % subgroup_size == 0 &&
            cz_outline_check(
                scratch, view,
                &view->stages[cz_rule_stages_find(view, number).full_matrix],
                shape, cz_candidates_sharded_along(view, pattern),
                subgroup_size, &outline) == CZ_OUTLINE_OK);
}

static bool all_can(cz_arena *scratch, const cz_plan_view *view,
                    int64_t subgroup_size)
{
    for (int f = 0; f < view->n_patterns; f++)
        if (cz_share_is_gathered(view, f) &&
            !cz_share_can(scratch, view, f, subgroup_size))
            return false;
    return true;
}

void cz_share_note(cz_arena *scratch, const cz_plan_view *view,
                   int64_t subgroup_size, cz_diags *diags)
{
    /* Ranks that shard some matrix, at most. */
    int64_t most = 1;
    for (int f = 0; f < view->n_patterns; f++)
        if (cz_share_is_gathered(view, f) && cz_pattern_shards(view, f) > most)
            most = cz_pattern_shards(view, f);
    int64_t fewer = subgroup_size <= most ? subgroup_size - 1 : most;
    while (fewer > 1 && !all_can(scratch, view, fewer))
        fewer--;
    if (fewer > 1)
        cz_diag_note(diags, (cz_span){0},
                     "%" PRId64 " ranks can share each matrix: `-D "
                     "tp_strategy=gram -D tp_subgroup=%" PRId64 "`",
                     fewer, fewer);
    else
        cz_diag_note(diags, (cz_span){0},
                     "no fewer ranks can share them all; owners can compute "
                     "them: `-D tp_strategy=owner`");
}
