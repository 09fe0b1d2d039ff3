/* Caps on staging and memory, checked on the whole plan: what it needs is known
 * then, and is what a larger cap has to be. */
#include "frontend/cmd/cmd.h"

#include "dsl/plan/metrics.h"
#include "frontend/document/number.h"
#include "passes/grid/owned.h"
#include "passes/share/group.h"

#include <inttypes.h>

/* ---- micro-groups ---- */

/* Buffers of a matrix on each of those who share it. */
static int64_t staging_of(const cz_plan_view *view, int pattern,
                          int64_t subgroup_size)
{
    const cz_rule_stages stages =
        cz_rule_stages_find(view, view->patterns[pattern].rule);
    const cz_view_stage *whole = &view->stages[stages.full_matrix];
    const int64_t n = view->patterns[pattern].elements / subgroup_size;
    return cz_view_slot_bytes(whole, CZ_SLOT_GATHER, n, NULL) +
           cz_view_slot_bytes(whole, CZ_SLOT_SCATTER, n, NULL);
}

static bool helps(cz_arena *arena, const cz_plan_view *view,
                  int64_t subgroup_size)
{
    for (int f = 0; f < view->n_patterns; f++)
        if (cz_share_is_gathered(view, f) &&
            (!cz_share_can(arena, view, f, subgroup_size) ||
             staging_of(view, f, subgroup_size) >
                 view->policy->micro_group_bytes))
            return false;
    return true;
}

/* The fewest ranks that have to share each matrix; 0: sharing does not help. */
static int64_t least_group(cz_arena *arena, const cz_plan_view *view)
{
    int64_t most = 1;
    for (int f = 0; f < view->n_patterns; f++)
        if (cz_share_is_gathered(view, f) && cz_pattern_shards(view, f) > most)
            most = cz_pattern_shards(view, f);
    for (int64_t subgroup_size = 2; subgroup_size <= most; subgroup_size++)
        if (most % subgroup_size == 0 && helps(arena, view, subgroup_size))
            return subgroup_size;
    return 0;
}

/* A group is above its cap where one matrix alone is. */
static bool keep_group(cz_arena *arena, const cz_plan_view *view,
                       cz_diags *diags)
{
    int64_t most = view->policy->micro_group_bytes;
    int param = -1;
    for (int p = 0; p < view->n_params; p++) {
        const int pattern = view->params[p].pattern;
        if (!cz_share_is_gathered(view, pattern))
            continue;
        const int64_t bytes =
            staging_of(view, pattern, view->params[p].subgroup_size);
        if (bytes > most) {
            most = bytes;
            param = p;
        }
    }
    if (param < 0)
        return true;
    const int64_t subgroup_size = least_group(arena, view);
    cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                  "'%s' needs %s of buffers where it is updated, more than "
                  "`group` allows: at least `group %" PRId64 "B` has room",
                  view->params[param].name, cz_number_short(most, "B").text,
                  most);
    if (subgroup_size > 0)
        cz_diag_note(diags, (cz_span){0},
                     "or let %" PRId64 " ranks share each matrix: "
                     "`-D tp_strategy=gram -D tp_subgroup=%" PRId64 "`",
                     subgroup_size, subgroup_size);
    return false;
}

/* ---- memory ---- */

static bool keep_memory(cz_arena *arena, const cz_plan_view *view,
                        cz_diags *diags)
{
    const cz_metrics *metrics = cz_metrics_build(arena, view);
    int64_t most = view->policy->memory_bytes;
    int fullest = -1;
    for (int rank = 0; rank < metrics->n_ranks; rank++)
        if (cz_metrics_memory(&metrics->ranks[rank]) > most) {
            most = cz_metrics_memory(&metrics->ranks[rank]);
            fullest = rank;
        }
    if (fullest < 0)
        return true;
    cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                  "rank %d allocates %s, more than `memory %" PRId64
                  "B` allows: at least `memory %" PRId64 "B` has room",
                  fullest, cz_number_short(most, "B").text,
                  view->policy->memory_bytes, most);
    cz_text clocks = {0};
    for (int k = 0; k < CZ_N_MEMORIES; k++) {
        cz_text_printf(
            &clocks, "%s%s %s", k > 0 ? ", " : "", cz_memory_name((cz_memory)k),
            cz_number_short(metrics->ranks[fullest].memory[k], "B").text);
    }
    cz_diag_note(diags, (cz_span){0}, "these are %s", cz_text_string(&clocks));
    cz_text_fini(&clocks);
    return false;
}

bool cz_cmd_caps_keep(cz_arena *arena, const cz_plan_view *view,
                      bool keeps_memory, cz_diags *diags)
{
    bool ok = true;
    if (view->policy->micro_group_bytes > 0)
        ok &= keep_group(arena, view, diags);
    if (ok && keeps_memory && view->policy->memory_bytes > 0)
        ok &= keep_memory(arena, view, diags);
    return ok;
}
