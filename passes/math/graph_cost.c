/* Costs of graphs. */
#include "passes/math/graph_cost.h"

#include "passes/cost/step.h"
#include "passes/kernel/kernel.h"

/* Tensor arguments and scalars, each as many as the last one says. */
typedef struct arguments {
    int n_in, n_scalars;
    cz_ir_type *types;
} arguments;

static int64_t flops_of(const cz_view_step *step)
{
    const int64_t columns =
        step->symmetric ? step->columns + 1 : 2 * step->columns;
    if (step->factor)
        return cz_factor_flops(step->factor, &step->size);
    return step->is_product
               ? cz_time_limit((cz_wide)step->rows * columns * step->inner)
               : 0;
}

cz_graph_cost cz_graph_cost_of(cz_arena *scratch, const cz_graph *graph,
                               const cz_machine *machine, bool is_strict)
{
    arguments a = {.types = CZ_NEW(scratch, cz_ir_type, graph->n)};
    for (int i = 0; i < graph->n; i++) {
        const cz_graph_node *node = &graph->nodes[i];
        if (node->kind == CZ_GRAPH_SCALAR && node->index >= a.n_scalars)
            a.n_scalars = node->index + 1;
        if (node->kind != CZ_GRAPH_IN)
            continue;
        a.types[node->index] = node->type;
        if (node->index >= a.n_in)
            a.n_in = node->index + 1;
    }
    const cz_kernel *kernel = cz_kernel_build(
        scratch, graph, a.n_in, a.types, a.n_scalars, false, NULL, is_strict);
    cz_view_slot *in = CZ_NEW(scratch, cz_view_slot, a.n_in);
    const cz_fact_stage fact = {.scalars = {NULL, a.n_scalars}};
    const cz_view_stage stage = {.fact = &fact,
                                 .where = CZ_WHERE_FULL_MATRIX,
                                 .n_in = a.n_in,
                                 .in = in,
                                 .n_steps = kernel->n_steps,
                                 .steps = kernel->steps};
    const cz_stage_call call = {
        .stage = &stage, .batch = 1, .subgroup_size = 1};
    cz_step_cost *costs = CZ_NEW(scratch, cz_step_cost, kernel->n_steps);
    cz_graph_cost cost = {0};
    for (int i = 0; i < a.n_in; i++)
        in[i].dtype = a.types[i].dtype;
    if (machine)
        cz_cost_steps(scratch, machine, &call, NULL, costs);
    for (int s = 0; s < kernel->n_steps; s++) {
        cost.flops = cz_time_add(cost.flops, flops_of(&kernel->steps[s]));
        cost.time_ps = cz_time_add(cost.time_ps, costs[s].compute_ps);
    }
    return cost;
}
