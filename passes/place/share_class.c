/* Classes of a placement's matrices, and the ways to share them. */
#include "passes/place/share_internal.h"

#include "dsl/base/arithmetic.h"
#include "passes/cost/candidates.h"
#include "passes/cost/time.h"
#include "passes/kernel/outline.h"

/* A pattern of the class. */
static int pattern_of(const cz_place_subgroup *s, int solve_class)
{
    int i = 0;
    while (s->placement->problem.class_of[i] != solve_class)
        i++;
    return s->view->params[s->placement->params[i]].pattern;
}

/* Whether ranks can share a matrix in that way: n x n products are dealt out
 * wherever they can be. */
static bool is_run(const cz_place_subgroup *s, int pattern,
                   const cz_view_stage *stage,
                   const cz_subgroup_candidate *candidate, bool is_dealt)
{
    const cz_fact_rule *rule =
        s->view->rules[s->view->patterns[pattern].rule].fact;
    cz_outline outline;
    if (candidate->g == 1)
        return true;
    return candidate->form ==
               (is_dealt ? CZ_SUBGROUP_PARTITIONED : CZ_SUBGROUP_GRAM) &&
           cz_outline_check(s->arena, s->view, stage, rule->shape.v,
                            cz_candidates_sharded_along(s->view, pattern),
                            candidate->g, &outline) == CZ_OUTLINE_OK;
}

static bool has_dealt(const cz_subgroup_candidate *candidates, int n, int g)
{
    for (int w = 0; w < n; w++)
        if (candidates[w].g == g &&
            candidates[w].form == CZ_SUBGROUP_PARTITIONED)
            return true;
    return false;
}

static void list_ways(const cz_place_subgroup *s, int pattern,
                      cz_subgroup_class *out)
{
    const cz_plan_view *view = s->view;
    const int rule = view->patterns[pattern].rule;
    const bool is_even = !cz_view_is_uneven(&view->patterns[pattern]);
    const cz_view_stage *stage =
        &view->stages[cz_rule_stages_find(view, rule).full_matrix];
    const cz_candidates_call call = {
        .stage = stage,
        .sharded = cz_candidates_sharded_along(view, pattern),
        .width = s->width,
        .n_shards = s->placement->problem.n_hosts,
        .n_near = s->n_near,
        .max_g = is_even && stage->n_variants == 0 ? s->width : 1};
    const cz_subgroup_candidate *all;
    const int n = cz_cost_candidates(s->arena, view, s->machine, &call, &all);
    cz_subgroup_candidate *candidates =
        CZ_NEW(s->arena, cz_subgroup_candidate, n);
    for (int w = 0; w < n; w++)
        if (is_run(s, pattern, stage, &all[w], has_dealt(all, n, all[w].g)))
            candidates[out->n_candidates++] = all[w];
    out->candidates = candidates;
}

/* ---- classes ---- */

bool cz_place_is_gathered(const cz_place_subgroup *s, int pattern)
{
    return cz_pattern_is_owned(s->view, pattern) &&
           s->placement->shard_ps[pattern] < 0 &&
           cz_pattern_shards(s->view, pattern) > 1;
}

/* Whether a row that updates all matrices one after the other, each in its
 * slowest way, ends before 2^62 ps, whatever is added up over its ranks. */
static bool ends_in_time(const cz_place_subgroup *s, int64_t latency_ps)
{
    int64_t all = 0;
    for (int c = 0; c < s->n_classes; c++) {
        const cz_subgroup_class *of = &s->classes[c];
        int64_t most = 0;
        for (int w = 0; w < of->n_candidates; w++)
            most = cz_solve_max(
                most, cz_subgroup_alone_ps(&of->candidates[w], latency_ps));
        all = cz_limited_add(all, cz_limited_mul(most, of->count));
    }
    return cz_limited_mul(all, 2 * (s->width + 4)) < CZ_MAX_PS;
}

bool cz_place_list_classes(cz_place_subgroup *s, int64_t latency_ps)
{
    const cz_solve_problem *problem = &s->placement->problem;
    s->classes = CZ_NEW(s->arena, cz_subgroup_class, problem->n_classes + 1);
    s->solve_class = CZ_NEW(s->arena, int, problem->n_classes + 1);
    for (int c = 0; c < problem->n_classes; c++) {
        const int pattern = pattern_of(s, c);
        if (!cz_place_is_gathered(s, pattern))
            continue;
        if (cz_candidates_sharded_along(s->view, pattern) == CZ_CUT_NONE)
            return false;
        cz_subgroup_class *out = &s->classes[s->n_classes];
        out->state_bytes = problem->classes[c].state_bytes * s->width;
        list_ways(s, pattern, out);
        for (int i = 0; i < problem->n_items; i++)
            out->count += problem->class_of[i] == c;
        s->solve_class[s->n_classes++] = c;
    }
    return s->n_classes > 0 && ends_in_time(s, latency_ps);
}
