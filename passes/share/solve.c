/* The sub-group planner's answers about rows. */
#include "passes/share/internal.h"

#include <string.h>

/* Plans tried: a second of work is too much for what the last percent gains;
 * exchanges between rows are much cheaper. */
enum { EFFORT = 8192, REDEALS = 20000, BUFFER_BITS = 30 };

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
                                      int64_t wire_cap_bytes,
                                      cz_place_rows rows)
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
        .n_redeals = rows == CZ_ROWS_REDEALT ? REDEALS : 0,
        .effort = EFFORT};
}

/* ---- eased ---- */

/* Sums go over another link than inputs where only inputs leave a node. */
static const cz_subgroup_part *ease_parts(const cz_place_sharer *s,
                                          const cz_subgroup_way *way)
{
    cz_subgroup_part *parts =
        CZ_NEW(s->arena, cz_subgroup_part, way->n_parts + 1);
    for (int p = 0; p < way->n_parts; p++)
        parts[p] = (cz_subgroup_part){way->parts[p].compute_ps,
                                      way->parts[p].exchange_ps / 2};
    return parts;
}

static cz_subgroup_class ease(const cz_place_sharer *s,
                              const cz_subgroup_class *class)
{
    cz_subgroup_class eased = *class;
    cz_subgroup_way *ways = CZ_NEW(s->arena, cz_subgroup_way, class->n_ways);
    for (int w = 0; w < class->n_ways; w++) {
        ways[w] = class->ways[w];
        if (inputs_link(s) == CZ_LINK_NODE)
            ways[w].parts = ease_parts(s, &class->ways[w]);
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

/* ---- the better ---- */

static int64_t kernels(const cz_subgroup_problem *problem,
                       const cz_subgroup_plan *plan)
{
    int64_t most = 0;
    for (int row = 0; row < problem->n_rows; row++) {
        const int64_t ps = cz_subgroup_kernels_ps(problem, &plan->rows[row]);
        most = ps > most ? ps : most;
    }
    return most;
}

/* Of times as near as this kernels decide: a plan's operations make one list
 * for all rows, which is not what rows are timed by here. */
enum { ALIKE = 32 };

static bool is_alike(int64_t a_ps, int64_t b_ps)
{
    return a_ps - b_ps <= b_ps / ALIKE && b_ps - a_ps <= a_ps / ALIKE;
}

static bool is_better(const cz_subgroup_problem *problem,
                      const cz_subgroup_plan *plan,
                      const cz_subgroup_plan *other)
{
    if (!plan->is_feasible || !other->is_feasible)
        return plan->is_feasible;
    const int64_t more = kernels(problem, plan) - kernels(problem, other);
    return more != 0 && is_alike(plan->time_ps, other->time_ps)
               ? more < 0
               : plan->time_ps < other->time_ps;
}

cz_subgroup_plan cz_place_solve_rows(const cz_place_sharer *s,
                                     const cz_subgroup_class *classes,
                                     int64_t wire_cap_bytes, cz_place_rows rows)
{
    const cz_subgroup_problem problem =
        problem_of(s, classes, wire_cap_bytes, rows);
    const cz_subgroup_plan plan = cz_subgroup_solve(s->arena, &problem);
    const cz_subgroup_plan eased = solve_eased(s, &problem);
    return is_better(&problem, &eased, &plan) ? eased : plan;
}
