/* Forms of matrices, class by class. */
#include "passes/bound/forms.h"

#include "passes/cost/time.h"
#include "passes/kernel/outline.h"
#include "passes/grid/owned.h"

#include <string.h>

typedef struct finder {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
} finder;

/* ---- classes ---- */

static int64_t count_of_rule(const cz_plan_view *view, int rule)
{
    int64_t n = 0;
    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].rule == rule)
            n += view->patterns[f].n_params * view->patterns[f].expert_extent;
    return n;
}

static int count_batches(int64_t n_matrices)
{
    int n = 1;
    while (n < CZ_FORM_BATCHES && (int64_t)1 << n <= n_matrices)
        n++;
    return n;
}

static cz_candidates_call call_of(const finder *f, int pattern)
{
    const int rule = f->view->patterns[pattern].rule;
    const int n = (int)cz_pattern_shards(f->view, pattern);
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(f->view, pattern, storage);
    return (cz_candidates_call){
        .stage =
            &f->view->stages[cz_rule_stages_find(f->view, rule).full_matrix],
        .sharded = cz_candidates_sharded_along(f->view, pattern),
        .width = n,
        .n_near = cz_machine_near(f->machine, cz_view_mesh_axes(f->view),
                                  cz_view_set_of(&axes)),
        .max_g = n};
}

static bool is_alike(const cz_plan_view *view, int a, int b)
{
    const cz_view_pattern *f = &view->patterns[a], *g = &view->patterns[b];
    bool same = f->rule == g->rule && f->n_dims == g->n_dims;
    for (int d = 0; same && d < f->n_dims; d++)
        same = f->fact->shard.v[d] == g->fact->shard.v[d];
    return same;
}

/* ---- forms ---- */

static cz_form_obstacle obstacle_of(const finder *f, const cz_form_class *of,
                                    int64_t subgroup_size)
{
    static const cz_form_obstacle obstacles[] = {
        [CZ_OUTLINE_OK] = CZ_FORM_POSSIBLE,
        [CZ_OUTLINE_NO_CUT] = CZ_FORM_NO_CUT,
        [CZ_OUTLINE_PHASES] = CZ_FORM_PHASES,
        [CZ_OUTLINE_STATES] = CZ_FORM_STATES,
        [CZ_OUTLINE_LENGTH] = CZ_FORM_LENGTH,
        [CZ_OUTLINE_BLOCKS] = CZ_FORM_BLOCKS};
    const cz_fact_rule *rule = f->view->rules[of->rule].fact;
    cz_outline outline;
    if (of->n_shards == 1 || rule->shape.n != 2)
        return CZ_FORM_UNSHARDED;
    return obstacles[cz_outline_check(f->arena, f->view, of->call.stage,
                                      rule->shape.v, of->call.sharded,
                                      subgroup_size, &outline)];
}

/* `tp owner`: owners; `tp gram`: groups of what it says, or of all that shard
 * the matrix. */
static bool is_admitted(const cz_plan_view *view, const cz_form_class *of,
                        int64_t subgroup_size)
{
    const cz_fact_policy *policy = view->policy;
    const int64_t asked =
        policy->tp_subgroup > 0 ? policy->tp_subgroup : of->n_shards;
    if (of->n_shards == 1 || policy->tp_strategy == CZ_STRATEGY_OWNER)
        return subgroup_size == 1;
    return policy->tp_strategy != CZ_STRATEGY_GRAM || subgroup_size == asked;
}

static int64_t kernels_ps(const cz_subgroup_candidate *candidate)
{
    int64_t sum = 0;
    for (int p = 0; p < candidate->n_segments; p++)
        sum = cz_time_add(sum, candidate->segments[p].compute_ps);
    return sum;
}

static bool is_measured(const finder *f, const cz_form_class *of,
                        const cz_subgroup_candidate *candidate)
{
    const cz_stage_call call = {.stage = of->call.stage,
                                .batch = candidate->batch,
                                .subgroup_size = candidate->g,
                                .cut = cz_share_along(f->arena, f->view,
                                                      of->call.stage,
                                                      of->call.sharded)};
    cz_stage_cost cost;
    return cz_cost_stage_mean(f->arena, f->view, f->machine, &call, &cost) &&
           cost.is_measured;
}

static void set_one(const finder *f, const cz_form_class *of,
                    const cz_subgroup_candidate *candidate, cz_form *out)
{
    const cz_link link =
        of->call.width <= of->call.n_near ? CZ_LINK_NODE : CZ_LINK_NETWORK;
    const int64_t latency = cz_machine_link(f->machine, link).latency;
    out->subgroup_size = candidate->g;
    out->is_admitted = is_admitted(f->view, of, candidate->g);
    out->link_ps =
        cz_subgroup_alone_ps(candidate, latency) - kernels_ps(candidate);
    out->wire_bytes = candidate->wire_bytes;
    out->staging_bytes = candidate->staging_bytes;
}

/* One form, or two: products that all would compute alike may be dealt out.
 * What was measured is the time of both. */
static int time_forms(const finder *f, const cz_form_class *of,
                      int subgroup_size, cz_form forms[2])
{
    int n_forms = 1;
    for (int b = 0; b < of->n_batches; b++) {
        cz_subgroup_candidate candidates[2];
        const int n = cz_cost_forms(f->arena, f->view, f->machine, &of->call,
                                    1 << b, subgroup_size, candidates);
        n_forms = n > n_forms ? n : n_forms;
        for (int i = 0; i < 2; i++) {
            const cz_subgroup_candidate *candidate = &candidates[i < n ? i : 0];
            forms[i].time_ps[b] = kernels_ps(candidate);
            forms[i].is_measured[b] = is_measured(f, of, candidate);
            if (b == 0)
                set_one(f, of, candidate, &forms[i]);
        }
    }
    return n_forms;
}

/* A plan that was edited may do what its schedule does not ask for. */
static void admit_one(cz_form_class *of, cz_form *forms)
{
    for (int i = 0; i < of->n_forms; i++)
        if (cz_form_is_open(&forms[i]))
            return;
    forms[0].is_admitted = true;
}

static void list_forms(const finder *f, cz_arena *kept, cz_form_class *of)
{
    cz_form *list = NULL;
    cz_form_obstacle last = CZ_FORM_POSSIBLE;
    bool can_share = false;
    for (int g = 1; g <= of->n_shards; g++) {
        cz_form forms[2] = {
            {.form = g == 1 ? CZ_SUBGROUP_OWNER : CZ_SUBGROUP_GRAM},
            {.form = CZ_SUBGROUP_PARTITIONED}};
        if (of->n_shards % g != 0)
            continue;
        last = g > 1 ? obstacle_of(f, of, g) : CZ_FORM_POSSIBLE;
        if (last != CZ_FORM_POSSIBLE)
            continue;
        can_share |= g > 1;
        const int n = time_forms(f, of, g, forms);
        for (int i = 0; i < n; i++)
            *CZ_PUSH(kept, list, of->n_forms) = forms[i];
    }
    if (!can_share)
        *CZ_PUSH(kept, list, of->n_forms) =
            (cz_form){.form = CZ_SUBGROUP_GRAM,
                      .subgroup_size = of->n_shards,
                      .obstacle = obstacle_of(f, of, of->n_shards)};
    admit_one(of, list);
    of->forms = list;
}

static cz_form_class make_class(cz_arena *arena, const cz_plan_view *view,
                                const cz_machine *machine, int pattern)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const finder f = {&scratch, view, machine};
    cz_form_class of = {.rule = view->patterns[pattern].rule,
                        .first_pattern = pattern,
                        .n_shards = cz_pattern_shards(view, pattern),
                        .n_of_rule =
                            count_of_rule(view, view->patterns[pattern].rule),
                        .call = call_of(&f, pattern)};
    of.n_batches = count_batches(of.n_of_rule);
    list_forms(&f, arena, &of);
    cz_arena_fini(&scratch);
    return of;
}

cz_forms cz_forms_find(cz_arena *arena, const cz_plan_view *view,
                       const cz_machine *machine)
{
    cz_forms out = {.n_classes = 0};
    cz_form_class *classes = NULL;
    int *class_at = CZ_NEW(arena, int, view->n_patterns + 1);
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_view_pattern *pattern = &view->patterns[f];
        int c = 0;
        class_at[f] = -1;
        if (!cz_pattern_is_owned(view, f))
            continue;
        while (c < out.n_classes &&
               !is_alike(view, classes[c].first_pattern, f))
            c++;
        if (c == out.n_classes)
            *CZ_PUSH(arena, classes, out.n_classes) =
                make_class(arena, view, machine, f);
        classes[c].n_matrices += pattern->n_params * pattern->expert_extent;
        class_at[f] = c;
    }
    out.classes = classes;
    out.class_of = class_at;
    return out;
}

/* ---- the least of them ---- */

bool cz_form_is_open(const cz_form *form)
{
    return form->obstacle == CZ_FORM_POSSIBLE && form->is_admitted;
}

int cz_form_most_together(const cz_stage_time *owner, int64_t n_matrices)
{
    return n_matrices < owner->n_batches ? (int)n_matrices : owner->n_batches;
}

int64_t cz_form_least_work(const cz_form_class *of, const cz_stage_time *owner)
{
    int64_t least = CZ_MAX_PS;
    for (int i = 0; i < of->n_forms; i++) {
        const cz_form *form = &of->forms[i];
        const bool is_owned = form->subgroup_size == 1;
        const int n = is_owned ? cz_form_most_together(owner, of->n_of_rule)
                               : of->n_batches;
        for (int b = 0; cz_form_is_open(form) && b < n; b++) {
            const int64_t work =
                is_owned ? owner->batch_ps[b] / (b + 1)
                         : cz_time_limit((cz_wide)form->time_ps[b] *
                                         form->subgroup_size / (1 << b));
            least = work < least ? work : least;
        }
    }
    return least;
}

int64_t cz_form_least_time(const cz_form_class *of, const cz_stage_time *owner,
                           int64_t *subgroup_size)
{
    int64_t least = CZ_MAX_PS;
    *subgroup_size = 1;
    for (int i = 0; i < of->n_forms; i++) {
        const cz_form *form = &of->forms[i];
        const bool is_owned = form->subgroup_size == 1;
        const int n =
            is_owned ? cz_form_most_together(owner, of->n_of_rule) : 1;
        for (int b = 0; cz_form_is_open(form) && b < n; b++) {
            const int64_t ps = is_owned ? owner->batch_ps[b] : form->time_ps[b];
            if (ps >= least)
                continue;
            least = ps;
            *subgroup_size = form->subgroup_size;
        }
    }
    return least;
}

int64_t *cz_forms_admitted(cz_arena *arena, const cz_forms *forms, int *n)
{
    int64_t *groups = NULL, last = 0;
    *n = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int c = 0; c < forms->n_classes; c++)
            for (int i = 0; i < forms->classes[c].n_forms; i++) {
                const cz_form *form = &forms->classes[c].forms[i];
                if (cz_form_is_open(form) && form->subgroup_size > last &&
                    form->subgroup_size < next)
                    next = form->subgroup_size;
            }
        if (next == INT64_MAX)
            return groups;
        *CZ_PUSH(arena, groups, *n) = last = next;
    }
}

const char *cz_form_obstacle_text(cz_form_obstacle obstacle)
{
    static const char *const texts[CZ_FORM_N_OBSTACLES] = {
        [CZ_FORM_POSSIBLE] = "",
        [CZ_FORM_UNSHARDED] = "nothing shards it",
        [CZ_FORM_NO_CUT] = "a step needs elements of other ranks",
        [CZ_FORM_PHASES] = "its updates are not all alike",
        [CZ_FORM_STATES] = "it has states that are whole",
        [CZ_FORM_LENGTH] = "it has no such equal parts",
        [CZ_FORM_BLOCKS] = "parts would cut blocks of its sums"};
    return texts[obstacle];
}
