/* The sub-group planner's answers about rows. */
#include "passes/place_shared_internal.h"

#include <string.h>

/* Plans tried: a second of work is too much for what the last percent gains. */
enum { EFFORT = 8192, BUFFER_BITS = 30 };

static int64_t staging_cap(const cz_place_sharer *s)
{
    const int64_t asked = s->view->policy->group_bytes;
    return asked > 0 ? asked : (int64_t)1 << BUFFER_BITS;
}

/* Of gathers and scatters, among all that shard a matrix. */
static cz_link inputs_link(const cz_place_sharer *s)
{
    return s->domain->problem.n_hosts <= s->n_near ? CZ_LINK_NODE
                                                   : CZ_LINK_NETWORK;
}

static cz_subgroup_problem problem_of(const cz_place_sharer *s,
                                      const cz_subgroup_class *classes,
                                      int64_t wire_cap_bytes)
{
    return (cz_subgroup_problem){
        .n_rows = s->n_rows,
        .width = s->width,
        .n_classes = s->n_classes,
        .classes = classes,
        .latency_ps = cz_machine_link(s->machine, inputs_link(s)).latency,
        .staging_cap_bytes = staging_cap(s),
        .state_cap_bytes = INT64_MAX,
        .wire_cap_bytes = wire_cap_bytes,
        .effort = EFFORT};
}

/* ---- eased ---- */

static cz_subgroup_class ease(const cz_place_sharer *s,
                              const cz_subgroup_class *class)
{
    cz_subgroup_class eased = *class;
    cz_subgroup_way *ways = CZ_NEW(s->arena, cz_subgroup_way, class->n_ways);
    for (int w = 0; w < class->n_ways; w++) {
        ways[w] = class->ways[w];
        ways[w].gather_ps /= 2;
        ways[w].gather_other_ps /= 2;
        ways[w].scatter_ps /= 2;
        ways[w].scatter_other_ps /= 2;
    }
    eased.ways = ways;
    return eased;
}

/* What the plan takes in truth. */
static void time_again(const cz_place_sharer *s,
                       const cz_subgroup_problem *problem,
                       cz_subgroup_plan *plan)
{
    plan->time_ps = 0;
    for (int row = 0; row < s->n_rows && plan->is_feasible; row++) {
        cz_subgroup_row *it = &plan->rows[row];
        plan->is_feasible = cz_subgroup_run(s->arena, problem, it->jobs,
                                            it->n_jobs, &it->cost, NULL);
        if (it->cost.time_ps > plan->time_ps)
            plan->time_ps = it->cost.time_ps;
    }
}

/* As if transfers took half as long. */
static cz_subgroup_plan solve_eased(const cz_place_sharer *s,
                                    const cz_subgroup_problem *problem)
{
    cz_subgroup_problem eased = *problem;
    cz_subgroup_class *classes =
        CZ_NEW(s->arena, cz_subgroup_class, s->n_classes);
    for (int c = 0; c < s->n_classes; c++)
        classes[c] = ease(s, &problem->classes[c]);
    eased.classes = classes;
    cz_subgroup_plan plan = cz_subgroup_solve(s->arena, &eased);
    time_again(s, problem, &plan);
    return plan;
}

/* ---- both ---- */

cz_subgroup_plan cz_place_solve_rows(const cz_place_sharer *s,
                                     const cz_subgroup_class *classes,
                                     int64_t wire_cap_bytes)
{
    const cz_subgroup_problem problem = problem_of(s, classes, wire_cap_bytes);
    const cz_subgroup_plan plan = cz_subgroup_solve(s->arena, &problem);
    if (inputs_link(s) == CZ_LINK_NODE)
        return plan;
    const cz_subgroup_plan eased = solve_eased(s, &problem);
    return eased.is_feasible &&
                   (!plan.is_feasible || eased.time_ps < plan.time_ps)
               ? eased
               : plan;
}
