/* From a domain to a problem of sub-groups, and back. */
#include "passes/place_shared.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"
#include "passes/cost/ways.h"
#include "passes/cost/wire_bound.h"
#include "passes/outline.h"
#include "passes/solve/choice.h"
#include "passes/solve/subgroup.h"

#include <string.h>

/* Plans tried: a second of work is too much for what the last percent gains. */
enum { EFFORT = 8192, BUFFER_BITS = 30 };

/* Exchanges are simulated as if they slowed no product down: sharing has to
 * gain more than this part of the time, and so have more bytes on the wire. */
enum { WORTH = 10 };

/* Bytes on the wire that sharing may add without that: so many hundredths of
 * all that owners alone send, gradients and parameters included. */
enum { WIRE_MORE = 5 };

typedef struct sharer {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    const cz_place_domain *domain;
    int n_classes; /* of matrices that are gathered */
    cz_subgroup_class *classes;
    int *solve_class; /* [n_classes] of the domain's problem */
} sharer;

/* ---- ways ---- */

/* A family of the class. */
static int family_of(const sharer *s, int solve_class)
{
    int i = 0;
    while (s->domain->problem.class_of[i] != solve_class)
        i++;
    return s->view->params[s->domain->params[i]].family;
}

/* Whether ranks can share a matrix in that way: one at a time, and n x n
 * products dealt out wherever they can be. */
static bool is_run(const sharer *s, int family, const cz_view_stage *stage,
                   const cz_subgroup_way *way, bool is_dealt)
{
    const cz_fact_rule *rule =
        s->view->rules[s->view->families[family].rule].fact;
    cz_outline outline;
    if (way->g == 1)
        return way->batch == 1;
    return way->batch == 1 &&
           way->form == (is_dealt ? CZ_SUBGROUP_SHARED : CZ_SUBGROUP_GRAM) &&
           cz_outline_check(s->arena, s->view, stage, rule->shape.v, way->g,
                            &outline) == CZ_OUTLINE_OK;
}

static bool has_dealt(const cz_subgroup_way *ways, int n, int g)
{
    for (int w = 0; w < n; w++)
        if (ways[w].g == g && ways[w].form == CZ_SUBGROUP_SHARED)
            return true;
    return false;
}

static void list_ways(const sharer *s, int family, cz_subgroup_class *out)
{
    const cz_plan_view *view = s->view;
    const int rule = view->families[family].rule;
    const int width = s->domain->problem.n_hosts;
    const bool is_even = !cz_view_is_uneven(&view->families[family]);
    const cz_view_stage *stage =
        &view->stages[cz_rule_stages_find(view, rule).whole];
    const cz_ways_call call = {
        .stage = stage,
        .lie = CZ_LIES_IN_SHARDS,
        .sharded = cz_ways_sharded_along(view, family),
        .width = width,
        .n_near = (int)s->machine->gpus_per_node,
        .max_g = is_even && stage->n_variants == 0 ? width : 1,
        .max_batch = 1,
        .as_run = true};
    const cz_subgroup_way *all;
    const int n = cz_cost_ways(s->arena, view, s->machine, &call, &all);
    cz_subgroup_way *ways = CZ_NEW(s->arena, cz_subgroup_way, n);
    for (int w = 0; w < n; w++)
        if (is_run(s, family, stage, &all[w], has_dealt(all, n, all[w].g)))
            ways[out->n_ways++] = all[w];
    out->ways = ways;
}

/* ---- the problem ---- */

static bool is_gathered(const sharer *s, int family)
{
    return cz_family_is_owned(s->view, family) &&
           cz_family_shards(s->view, family) > 1;
}

static bool list_classes(sharer *s)
{
    const cz_solve_problem *problem = &s->domain->problem;
    s->classes = CZ_NEW(s->arena, cz_subgroup_class, problem->n_classes + 1);
    s->solve_class = CZ_NEW(s->arena, int, problem->n_classes + 1);
    for (int c = 0; c < problem->n_classes; c++) {
        const int family = family_of(s, c);
        if (!is_gathered(s, family))
            continue;
        if (cz_ways_sharded_along(s->view, family) == CZ_CUT_NONE)
            return false;
        cz_subgroup_class *out = &s->classes[s->n_classes];
        out->state_bytes = problem->classes[c].state_bytes * problem->n_hosts;
        list_ways(s, family, out);
        for (int i = 0; i < problem->n_items; i++)
            out->count += problem->class_of[i] == c;
        s->solve_class[s->n_classes++] = c;
    }
    return s->n_classes > 0;
}

static int64_t staging_cap(const sharer *s)
{
    const int64_t asked = s->view->policy->group_bytes;
    return asked > 0 ? asked : (int64_t)1 << BUFFER_BITS;
}

/* Of the domain's ranks, which have an even part of all besides matrices. */
static int64_t wire_cap(const sharer *s)
{
    const cz_solve_problem *problem = &s->domain->problem;
    cz_wire_bound others[CZ_N_LINKS];
    cz_wide owned = 0;
    cz_wire_bounds_find(s->view, s->machine, others);
    for (int c = 0; c < s->n_classes; c++)
        owned +=
            (cz_wide)s->classes[c].count * s->classes[c].ways[0].wire_bytes;
    const cz_wide own_others = (cz_wide)others[CZ_LINK_NODE].bytes *
                               problem->n_ranks * problem->n_hosts /
                               s->view->n_ranks;
    return cz_time_limit(owned + (owned + own_others) * WIRE_MORE / 100);
}

static cz_subgroup_plan solve(const sharer *s, const cz_subgroup_class *classes,
                              int64_t wire_cap_bytes)
{
    const cz_solve_problem *problem = &s->domain->problem;
    const cz_subgroup_problem of = {.n_rows = problem->n_ranks,
                                    .width = problem->n_hosts,
                                    .n_classes = s->n_classes,
                                    .classes = classes,
                                    .latency_ps = s->machine->node_latency,
                                    .staging_cap_bytes = staging_cap(s),
                                    .state_cap_bytes =
                                        cz_solve_state_cap(problem),
                                    .wire_cap_bytes = wire_cap_bytes,
                                    .effort = EFFORT};
    return cz_subgroup_solve(s->arena, &of);
}

/* Owners alone, by the same simulation. */
static cz_subgroup_plan solve_owners(const sharer *s)
{
    cz_subgroup_class *classes =
        CZ_NEW(s->arena, cz_subgroup_class, s->n_classes);
    memcpy(classes, s->classes, (size_t)s->n_classes * sizeof *classes);
    for (int c = 0; c < s->n_classes; c++) {
        int n = 0;
        while (n < classes[c].n_ways && classes[c].ways[n].g == 1)
            n++;
        classes[c].n_ways = n;
    }
    return solve(s, classes, INT64_MAX);
}

/* Whether a plan takes less time than another by the part that is asked for. */
static bool is_worth(const cz_subgroup_plan *plan,
                     const cz_subgroup_plan *other)
{
    return plan->is_feasible &&
           (!other->is_feasible ||
            plan->time_ps <= other->time_ps - other->time_ps / WORTH);
}

/* With few bytes on the wire, unless more of them are worth it: within a node,
 * whose links have time to spare. */
static cz_subgroup_plan solve_shared(const sharer *s)
{
    const cz_subgroup_plan light = solve(s, s->classes, wire_cap(s));
    const cz_subgroup_plan any = solve(s, s->classes, INT64_MAX);
    const bool is_near =
        s->domain->problem.n_hosts <= s->machine->gpus_per_node;
    return is_near && is_worth(&any, &light) ? any : light;
}

/* ---- back ---- */

static int kind_of(const sharer *s, const cz_counts *counts, int class)
{
    return counts->kind_of[s->solve_class[class]];
}

/* Items of each class on each slot, then the plan of the solver's layout. */
static cz_solve_plan lay_out(const sharer *s, const cz_subgroup_plan *plan)
{
    cz_solved best = {.n_tried = 0};
    cz_counts counts = cz_counts_make(s->arena, &s->domain->problem, false);
    const int width = s->domain->problem.n_hosts;
    for (int row = 0; row < s->domain->problem.n_ranks; row++)
        for (int i = 0; i < plan->rows[row].n_jobs; i++) {
            const cz_subgroup_job *job = &plan->rows[row].jobs[i];
            cz_counts_put(&counts, 0, row * width + job->first,
                          kind_of(s, &counts, job->of), 1);
        }
    cz_choice_offer_counts(s->arena, &s->domain->problem, &best, &counts,
                           "sub-groups");
    return best.plan;
}

/* Each slot's items of a class take the ways of its jobs in order. */
static int *find_groups(const sharer *s, const cz_subgroup_plan *plan,
                        const cz_solve_plan *laid_out)
{
    const cz_solve_problem *problem = &s->domain->problem;
    int *group = CZ_NEW(s->arena, int, problem->n_items + 1);
    for (int row = 0; row < problem->n_ranks; row++)
        for (int k = 0; k < plan->rows[row].n_jobs; k++) {
            const cz_subgroup_job *job = &plan->rows[row].jobs[k];
            const cz_subgroup_class *class = &s->classes[job->of];
            int i = 0;
            while (group[i] != 0 || laid_out->owner[i] != row ||
                   laid_out->host[i] != job->first ||
                   problem->class_of[i] != s->solve_class[job->of])
                i++;
            group[i] = class->ways[job->way].g;
        }
    for (int i = 0; i < problem->n_items; i++)
        group[i] = group[i] == 0 ? 1 : group[i];
    return group;
}

static bool is_power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* All matrices of the domain are gathered: others have no place in a row. */
static bool is_possible(const sharer *s)
{
    const int width = s->domain->problem.n_hosts;
    if (width < 2 || width > CZ_SUBGROUP_MAX_WIDTH || !is_power_of_two(width))
        return false;
    for (int i = 0; i < s->domain->problem.n_items; i++) {
        const int family = s->view->params[s->domain->params[i]].family;
        if (cz_family_is_owned(s->view, family) && !is_gathered(s, family))
            return false;
    }
    return true;
}

bool cz_place_share(cz_arena *arena, const cz_plan_view *view,
                    const cz_machine *machine, const cz_place_domain *domain,
                    cz_place_shared *out)
{
    sharer s = {
        .arena = arena, .view = view, .machine = machine, .domain = domain};
    if (!is_possible(&s) || !list_classes(&s))
        return false;
    const cz_subgroup_plan alone = solve_owners(&s);
    const cz_subgroup_plan shared = solve_shared(&s);
    if (!is_worth(&shared, &alone))
        return false;
    out->plan = lay_out(&s, &shared);
    out->group = find_groups(&s, &shared, &out->plan);
    out->time_ps = shared.time_ps;
    return true;
}
