/* From a domain to a problem of sub-groups. */
#include "passes/place_shared_internal.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"
#include "passes/cost/wire_bound.h"

#include <string.h>

/* Plans tried: a second of work is too much for what the last percent gains. */
enum { EFFORT = 8192, BUFFER_BITS = 30 };

/* Exchanges are simulated as if they slowed no product down: sharing has to
 * gain more than this part of the time, and so have more bytes on the wire. */
enum { WORTH = 10 };

/* Bytes on the wire that sharing may add without that: so many hundredths of
 * all that owners alone send, gradients and parameters included. */
enum { WIRE_MORE = 5 };

/* ---- the problem ---- */

static int64_t staging_cap(const cz_place_sharer *s)
{
    const int64_t asked = s->view->policy->group_bytes;
    return asked > 0 ? asked : (int64_t)1 << BUFFER_BITS;
}

/* Of the domain's ranks, which have an even part of all besides matrices. */
static int64_t wire_cap(const cz_place_sharer *s)
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

static cz_subgroup_plan solve(const cz_place_sharer *s,
                              const cz_subgroup_class *classes,
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
static cz_subgroup_plan solve_owners(const cz_place_sharer *s)
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
static cz_subgroup_plan solve_shared(const cz_place_sharer *s)
{
    const cz_subgroup_plan light = solve(s, s->classes, wire_cap(s));
    const cz_subgroup_plan any = solve(s, s->classes, INT64_MAX);
    const bool is_near =
        s->domain->problem.n_hosts <= s->machine->gpus_per_node;
    return is_near && is_worth(&any, &light) ? any : light;
}

/* ---- the whole ---- */

static bool is_power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* All matrices of the domain are gathered: others have no place in a row. */
static bool is_possible(const cz_place_sharer *s)
{
    const int width = s->domain->problem.n_hosts;
    if (width < 2 || width > CZ_SUBGROUP_MAX_WIDTH || !is_power_of_two(width))
        return false;
    for (int i = 0; i < s->domain->problem.n_items; i++) {
        const int family = s->view->params[s->domain->params[i]].family;
        if (cz_family_is_owned(s->view, family) &&
            !cz_place_is_gathered(s, family))
            return false;
    }
    return true;
}

bool cz_place_share(cz_arena *arena, const cz_plan_view *view,
                    const cz_machine *machine, cz_place_domain *domain,
                    cz_place_shared *out)
{
    cz_place_sharer s = {
        .arena = arena, .view = view, .machine = machine, .domain = domain};
    if (!is_possible(&s) || !cz_place_list_classes(&s))
        return false;
    const cz_subgroup_plan alone = solve_owners(&s);
    const cz_subgroup_plan shared = solve_shared(&s);
    if (!is_worth(&shared, &alone))
        return false;
    cz_place_put_back(&s, &shared, out);
    return true;
}
