/* Which ranks are a row, and whether sharing is worth it. */
#include "passes/place/share_internal.h"

#include "dsl/base/arithmetic.h"
#include "passes/cost/candidates.h"

#include <string.h>

/* Exchanges are simulated as if they slowed no product down: sharing has to
 * gain more than so many hundredths of the time, and more bytes on the wire
 * than the first of wire_more so many. */
enum { WORTH = 10, BYTES_WORTH = 12 };

/* Bytes on the wire that sharing may add: so many hundredths of all that owners
 * alone send, gradients and parameters included; the first that will do. */
static const int wire_more[] = {5, 6, 7, 8, 10};
enum { N_WIRE_MORE = sizeof wire_more / sizeof *wire_more };

/* ---- plans ---- */

/* Of gathers and scatters, among all that shard a matrix. */
static cz_link inputs_link(const cz_place_subgroup *s)
{
    return s->placement->problem.n_hosts <= s->n_near ? CZ_LINK_NODE
                                                      : CZ_LINK_NETWORK;
}

static int64_t staging_cap(const cz_place_subgroup *s)
{
    int64_t largest = 0;
    for (int c = 0; c < s->n_classes; c++)
        largest =
            cz_solve_max(largest, s->classes[c].candidates[0].staging_bytes);
    return cz_candidates_cap(s->view->policy->micro_group_bytes, largest);
}

static cz_subgroup_problem problem_of(const cz_place_subgroup *s,
                                      const cz_subgroup_class *classes)
{
    return (cz_subgroup_problem){
        .n_rows = s->n_rows,
        .width = s->width,
        .n_classes = s->n_classes,
        .classes = classes,
        .latency_ps = cz_machine_link(s->machine, inputs_link(s)).latency,
        .staging_cap_bytes = staging_cap(s)};
}

/* Whether a plan is better than another by so many hundredths of its time. */
static bool is_worth(const cz_subgroup_plan *plan,
                     const cz_subgroup_plan *other, int hundredths)
{
    return plan->is_feasible &&
           (!other->is_feasible ||
            plan->score_ps <=
                other->score_ps - other->score_ps / 100 * hundredths);
}

/* With few bytes on the wire, and with as many more as are worth it where sums
 * travel within a node, whose links have time to spare. */
static cz_subgroup_plan solve_shared(const cz_place_subgroup *s)
{
    const cz_subgroup_problem problem = problem_of(s, s->classes);
    const cz_subgroup_plans *plans = cz_subgroup_solve(s->arena, &problem);
    const int64_t most = cz_place_wire_most(s);
    const cz_subgroup_plan any = cz_subgroup_within(plans, most);
    for (int i = 0; i < N_WIRE_MORE; i++) {
        const int64_t cap = cz_place_wire_cap(s, wire_more[i]);
        const cz_subgroup_plan light =
            cz_subgroup_within(plans, cap < most ? cap : most);
        if (s->width > s->n_near || !is_worth(&any, &light, BYTES_WORTH))
            return light;
    }
    return any;
}

/* ---- rows ---- */

/* Matrices that are gathered; 0 where there are others, which have no place in
 * a row, but those that their shards' ranks update. */
static int count_gathered(const cz_place_subgroup *s, int *pattern)
{
    const cz_solve_problem *problem = &s->placement->problem;
    int n = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const int of = s->view->params[s->placement->params[i]].pattern;
        if (!cz_pattern_is_owned(s->view, of) ||
            s->placement->shard_ps[of] >= 0)
            continue;
        if (!cz_place_is_gathered(s, of))
            return 0;
        *pattern = of;
        n++;
    }
    return n;
}

/* Rows whose ranks can share by two, by four, ... */
static bool is_width(int n)
{
    return n % 2 == 0 && n <= CZ_SUBGROUP_MAX_WIDTH;
}

/* The widest row that n ranks are made of and as large a power of two divides.
 */
static int widest_row(int n)
{
    const int twos = n & -n;
    int width = twos < CZ_SUBGROUP_MAX_WIDTH ? twos : CZ_SUBGROUP_MAX_WIDTH;
    for (int odd = 3; odd * twos <= CZ_SUBGROUP_MAX_WIDTH; odd += 2)
        if (n / twos % odd == 0)
            width = odd * twos;
    return width;
}

/* Rows are the ranks of a node that shard a matrix, so that sums stay there,
 * but where fewer matrices than nodes would leave some idle: then all ranks
 * that shard it.  False: there are no such rows. */
static bool choose_rows(cz_place_subgroup *s)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_solve_problem *problem = &s->placement->problem;
    int pattern;
    const int n = count_gathered(s, &pattern);
    if (n == 0)
        return false;
    const cz_ints axes = cz_view_shard_axes(s->view, pattern, storage);
    s->n_near = cz_machine_near(s->machine, cz_view_mesh_axes(s->view),
                                cz_view_set_of(&axes));
    s->width = widest_row(s->n_near);
    s->n_rows = problem->n_ranks * (problem->n_hosts / s->width);
    if (is_width(problem->n_hosts) && (!is_width(s->width) || n < s->n_rows)) {
        s->width = problem->n_hosts;
        s->n_rows = problem->n_ranks;
    }
    return is_width(s->width);
}

/* ---- the whole ---- */

bool cz_place_subgroups_find(cz_arena *arena, const cz_plan_view *view,
                             const cz_machine *machine,
                             cz_placement_problem *placement, int64_t alone,
                             cz_place_subgroups *out)
{
    cz_place_subgroup s = {.arena = arena,
                           .view = view,
                           .machine = machine,
                           .placement = placement,
                           .state_bytes = alone};
    if (!choose_rows(&s) ||
        !cz_place_list_classes(
            &s, cz_machine_link(machine, inputs_link(&s)).latency))
        return false;
    /* Owners alone, by the same simulation. */
    cz_subgroup_class *classes =
        CZ_NEW(s.arena, cz_subgroup_class, s.n_classes);
    memcpy(classes, s.classes, (size_t)s.n_classes * sizeof *classes);
    for (int c = 0; c < s.n_classes; c++)
        classes[c].n_candidates = 1;
    const cz_subgroup_problem problem = problem_of(&s, classes);
    const cz_subgroup_plan owners =
        cz_subgroup_within(cz_subgroup_solve(s.arena, &problem), INT64_MAX);
    const cz_subgroup_plan shared = solve_shared(&s);
    return is_worth(&shared, &owners, WORTH) &&
           cz_place_put_back(&s, &shared, out);
}
