/* Kernel form of one stage: products first take what follows them, what is
 * left is grouped to maps, and steps are written in an order they run in. */
#include "passes/kernel/kernel.h"

#include <assert.h>

#include "passes/kernel/join.h"
#include "passes/kernel/internal.h"

/* ---- units for the grouping ---- */

static bool is_unit(const cz_kernel_work *work, int node)
{
    return work->live[node] && work->unit[node] == node &&
           (cz_kernel_is_alone(work->graph->nodes[node].kind) ||
            cz_kernel_is_real(work->graph, node));
}

static int64_t elements_of(cz_ir_type type)
{
    int64_t n = 1;

    for (int d = 0; d < type.rank; d++)
        n *= type.shape[d];
    return n;
}

static void add_operand(const cz_kernel_work *work, cz_kernel_node *unit,
                        int source, bool far)
{
    int *in = NULL;
    bool *fars = NULL;
    int n = unit->n_in;

    in = CZ_NEW(work->arena, int, n + 1);
    fars = CZ_NEW(work->arena, bool, n + 1);
    for (int i = 0; i < n; i++) {
        in[i] = unit->in[i];
        fars[i] = unit->far[i];
    }
    in[n] = work->unit[source];
    fars[n] = far;
    unit->in = in;
    unit->far = fars;
    unit->n_in = n + 1;
}

/* What a node reads, through what is cheap. */
static void add_operands(const cz_kernel_work *work, cz_kernel_node *unit,
                         int node)
{
    const cz_graph *graph = work->graph;

    for (int k = 0; k < graph->nodes[node].n_in; k++) {
        cz_access access = CZ_ACCESS_ELEMENT;
        int source = cz_kernel_source(graph, graph->nodes[node].in[k], &access);
        cz_graph_kind kind = graph->nodes[source].kind;
        if (cz_graph_is_uniform(graph, source) || kind == CZ_GRAPH_INDEX)
            continue;
        if (kind == CZ_GRAPH_ELEMENT && !cz_kernel_is_real(graph, source))
            add_operands(work, unit, source);
        else if (work->unit[source] != work->unit[node])
            add_operand(work, unit, source,
                        access != CZ_ACCESS_ELEMENT || kind == CZ_GRAPH_REDUCE);
    }
}

/* The shape a node's loop runs over. */
static cz_ir_type space_type(const cz_graph *graph, int node)
{
    const cz_graph_node *it = &graph->nodes[node];

    return it->kind == CZ_GRAPH_REDUCE ? graph->nodes[it->in[0]].type
                                       : it->type;
}

/* Equal for equal shapes: the first unit of that shape. */
static int space_of(const cz_kernel_work *work, int node)
{
    const cz_graph *graph = work->graph;
    cz_ir_type type = space_type(graph, node);

    for (int i = 0; i < node; i++)
        if (is_unit(work, i) && !cz_kernel_is_alone(graph->nodes[i].kind) &&
            cz_graph_same_shape(space_type(graph, i), type))
            return i;
    return node;
}

static cz_kernel_node *make_units(const cz_kernel_work *work)
{
    const cz_graph *graph = work->graph;
    cz_kernel_node *nodes = CZ_NEW(work->arena, cz_kernel_node, graph->n);

    for (int i = 0; i < graph->n; i++) {
        const cz_graph_node *node = &graph->nodes[i];
        nodes[i].space = CZ_KERNEL_GIVEN;
        nodes[i].bytes =
            elements_of(node->type) * cz_dtype_bytes(node->type.dtype);
        nodes[i].stored = work->stored[i];
        if (is_unit(work, i))
            nodes[i].space = cz_kernel_is_alone(node->kind) ? CZ_KERNEL_ALONE
                                                            : space_of(work, i);
    }
    for (int i = 0; i < graph->n; i++)
        if (work->live[i] && nodes[work->unit[i]].space != CZ_KERNEL_GIVEN &&
            (is_unit(work, i) || work->unit[i] != i))
            add_operands(work, &nodes[work->unit[i]], i);
    return nodes;
}

/* All of a flat stage is one map: no step may write over what a later one
 * reads. */
static int one_step(const cz_kernel_work *work, int *step)
{
    int n = 0;

    for (int i = 0; i < work->graph->n; i++) {
        step[i] = is_unit(work, i) ? 0 : -1;
        assert(!is_unit(work, i) ||
               (!cz_kernel_is_alone(work->graph->nodes[i].kind) &&
                work->graph->nodes[i].kind != CZ_GRAPH_REDUCE));
        n += is_unit(work, i);
    }
    return n > 0;
}

/* ---- steps ---- */

typedef struct former {
    cz_kernel_work *work;
    cz_kernel *kernel;
} former;

static int value_of(const former *f, int node)
{
    const cz_graph_node *it = &f->work->graph->nodes[node];

    if (it->kind == CZ_GRAPH_IN)
        return it->index;
    if (it->kind == CZ_GRAPH_SCALAR)
        return f->kernel->n_in + it->index;
    return f->work->value[node];
}

static int add_body(former *f, cz_view_body body)
{
    *CZ_PUSH(f->work->arena, f->kernel->bodies, f->kernel->n_bodies) = body;
    return f->kernel->n_bodies - 1;
}

/* Operands behind the first `n` of a step. */
static void set_operands(former *f, cz_view_step *step, const int *first, int n,
                         const cz_kernel_operands *operands)
{
    int *in = CZ_NEW(f->work->arena, int, n + operands->n);
    cz_access *access = CZ_NEW(f->work->arena, cz_access, n + operands->n);

    for (int i = 0; i < n; i++) {
        in[i] = value_of(f, first[i]);
        access[i] = CZ_ACCESS_ELEMENT;
    }
    for (int i = 0; i < operands->n; i++) {
        in[n + i] = value_of(f, operands->list[i].node);
        access[n + i] = operands->list[i].access;
    }
    step->n_generated = operands->n_generated;
    step->generated = operands->generated;
    step->n_in = n + operands->n;
    step->in = in;
    step->access = access;
}

static cz_access result_access(const cz_graph *graph, int node)
{
    const cz_graph_node *it = &graph->nodes[node];

    if (it->kind != CZ_GRAPH_REDUCE)
        return CZ_ACCESS_ELEMENT;
    if (it->op == CZ_OP_MAX)
        return it->type.rank == 0 ? CZ_MAX_ALL
               : it->dims == 2    ? CZ_MAX_ROWS
                                  : CZ_MAX_COLUMNS;
    return it->type.rank == 0 ? CZ_SUM_ALL
           : it->dims == 2    ? CZ_SUM_ROWS
                              : CZ_SUM_COLUMNS;
}

static void set_results(former *f, cz_view_step *step, const int *out,
                        int n_out)
{
    cz_access *access = CZ_NEW(f->work->arena, cz_access, n_out);
    cz_dtype *dtype = CZ_NEW(f->work->arena, cz_dtype, n_out);

    for (int i = 0; i < n_out; i++) {
        access[i] = result_access(f->work->graph, out[i]);
        dtype[i] = f->work->graph->nodes[out[i]].type.dtype;
        const int node = out[i];
        cz_kernel *kernel = f->kernel;

        f->work->value[node] = kernel->n_values;
        *CZ_PUSH(f->work->arena, kernel->types, kernel->n_values) =
            f->work->graph->nodes[node].type;
    }
    step->n_out = n_out;
    step->out_access = access;
    step->out_dtype = dtype;
}

static void set_space(cz_view_step *step, cz_ir_type type)
{
    step->rows = type.rank == 2 ? type.shape[0] : 1;
    step->columns = type.rank == 0 ? 1 : type.shape[type.rank - 1];
}

static void form_map(former *f, int number)
{
    const cz_kernel_work *work = f->work;
    bool *inside = CZ_NEW(work->arena, bool, work->graph->n);
    cz_view_step step = {.body = -1};
    cz_kernel_operands operands = {0};
    int *out = NULL, n_out = 0;

    for (int i = 0; i < work->graph->n; i++) {
        inside[i] = is_unit(work, i) && work->step[i] == number;
        if (!inside[i])
            continue;
        set_space(&step, space_type(work->graph, i));
        if (work->stored[i])
            *CZ_PUSH(work->arena, out, n_out) = i;
    }
    step.body =
        add_body(f, cz_kernel_body(work, inside, -1, out, n_out, &operands));
    set_operands(f, &step, NULL, 0, &operands);
    set_results(f, &step, out, n_out);
    *CZ_PUSH(work->arena, f->kernel->steps, f->kernel->n_steps) = step;
}

static int form_epilogue(former *f, int product, int end,
                         cz_kernel_operands *operands)
{
    const cz_kernel_work *work = f->work;
    bool *inside = CZ_NEW(work->arena, bool, work->graph->n);

    for (int i = 0; i < work->graph->n; i++)
        inside[i] = work->live[i] && work->unit[i] == product;
    return add_body(f,
                    cz_kernel_body(work, inside, product, &end, 1, operands));
}

static void form_product(former *f, int product)
{
    const cz_graph *graph = f->work->graph;
    const cz_kernel_product *it = &f->work->products[product];
    cz_view_step step = {.is_product = true, .body = -1};
    cz_kernel_operands operands = {0};
    const int first[] = {it->a, it->b, it->s};
    int n_first = it->is_affine && it->s >= 0 ? 3 : 2;

    if (!it->is_affine)
        step.body = form_epilogue(f, product, it->end, &operands);
    step.transpose_a = it->transpose_a;
    step.transpose_b = it->transpose_b;
    step.symmetric = it->symmetric;
    step.alpha = it->alpha;
    step.beta = it->beta;
    step.inner = graph->nodes[it->a].type.shape[it->transpose_a ? 0 : 1];
    set_space(&step, graph->nodes[product].type);
    set_operands(f, &step, first, n_first, &operands);
    set_results(f, &step, &it->end, 1);
    *CZ_PUSH(f->work->arena, f->kernel->steps, f->kernel->n_steps) = step;
}

/* The node of a result of the factorisation that `first` is a result of, or
 * -1: nobody reads it. */
static int find_result(const cz_kernel_work *work, int first, int result)
{
    for (int i = first; i < work->graph->n; i++)
        if (work->unit[i] == first && work->graph->nodes[i].index == result)
            return i;
    return -1;
}

static void set_call_results(former *f, cz_view_step *step, int first)
{
    static const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT};
    static const cz_dtype dtypes[] = {CZ_F32, CZ_F32};
    cz_kernel *kernel = f->kernel;

    step->n_out = cz_factor_n_results(step->factor);
    step->out_access = access;
    step->out_dtype = dtypes;
    for (int i = 0; i < step->n_out; i++) {
        const int node = find_result(f->work, first, i);
        if (node >= 0)
            f->work->value[node] = kernel->n_values;
        *CZ_PUSH(f->work->arena, kernel->types, kernel->n_values) =
            cz_ir_factor_type(step->factor, i, &step->size);
    }
}

static void form_call(former *f, int first)
{
    const cz_graph_node *nodes = f->work->graph->nodes;
    const cz_graph_node *it = &nodes[first];
    cz_view_step step = {
        .body = -1, .factor = it->factor, .parameters = it->parameters};
    cz_kernel_operands none = {0};
    cz_ir_type types[CZ_GRAPH_MAX_IN];

    for (int i = 0; i < it->n_in; i++)
        types[i] = nodes[it->in[i]].type;
    step.size = cz_ir_factor_size(types, it->n_in);
    set_space(&step, types[0]);
    set_operands(f, &step, it->in, it->n_in, &none);
    set_call_results(f, &step, first);
    *CZ_PUSH(f->work->arena, f->kernel->steps, f->kernel->n_steps) = step;
}

static void form_step(former *f, int s)
{
    const cz_kernel_work *work = f->work;
    int alone = -1;

    for (int i = 0; i < work->graph->n; i++)
        if (is_unit(work, i) && work->step[i] == s &&
            cz_kernel_is_alone(work->graph->nodes[i].kind))
            alone = i;
    if (alone < 0)
        form_map(f, s);
    else if (work->graph->nodes[alone].kind == CZ_GRAPH_PRODUCT)
        form_product(f, alone);
    else
        form_call(f, alone);
}

static cz_kernel_work prepare(cz_arena *arena, const cz_graph *graph,
                              const bool *symmetric, bool is_strict)
{
    cz_graph *prepared = cz_kernel_prepare(arena, graph);
    int n = prepared->n;
    cz_kernel_work work = {.arena = arena,
                           .graph = prepared,
                           .live = cz_graph_find_live(prepared, arena),
                           .symmetric = cz_kernel_find_symmetric(
                               prepared, arena, symmetric, is_strict),
                           .stored = CZ_NEW(arena, bool, n),
                           .unit = CZ_NEW(arena, int, n),
                           .products = CZ_NEW(arena, cz_kernel_product, n),
                           .step = CZ_NEW(arena, int, n),
                           .value = CZ_NEW(arena, int, n)};

    for (int i = 0; i < n; i++)
        work.unit[i] = i;
    /* The results of one factorisation are of one step: the first one's. */
    const cz_graph_node *nodes = work.graph->nodes;

    for (int i = 0; i < work.graph->n; i++)
        for (int k = 0; nodes[i].kind == CZ_GRAPH_FACTOR && k < i; k++)
            if (nodes[k].kind == CZ_GRAPH_FACTOR && work.unit[k] == k &&
                cz_graph_same_factor(&nodes[k], &nodes[i]) &&
                nodes[k].in[0] == nodes[i].in[0] &&
                nodes[k].in[1] == nodes[i].in[1])
                work.unit[i] = k;
    return work;
}

cz_kernel *cz_kernel_build(cz_arena *arena, const cz_graph *graph, int n_in,
                           const cz_ir_type *in_types, int n_scalars, bool flat,
                           const bool *symmetric, bool is_strict)
{
    cz_kernel_work work = prepare(arena, graph, symmetric, is_strict);
    former f = {&work, CZ_NEW(arena, cz_kernel, 1)};
    cz_kernel *kernel = f.kernel;
    cz_kernel_node *nodes;
    int n_steps;

    kernel->n_in = n_in;
    kernel->n_scalars = n_scalars;
    for (int i = 0; i < n_in + n_scalars; i++)
        *CZ_PUSH(arena, kernel->types, kernel->n_values) =
            i < n_in ? in_types[i] : cz_ir_scalar_type(CZ_F32);
    cz_kernel_find_stored(&work);
    cz_kernel_fold_products(&work);
    nodes = make_units(&work);
    n_steps = flat ? one_step(&work, work.step)
                   : cz_kernel_join(arena, nodes, work.graph->n, work.step);
    /* What one group computes and another reads is stored. */
    for (int i = 0; i < work.graph->n; i++)
        for (int k = 0; k < nodes[i].n_in; k++) {
            int source = nodes[i].in[k];
            if (work.step[source] != work.step[i] &&
                !cz_kernel_is_alone(work.graph->nodes[source].kind))
                work.stored[source] = true;
        }
    for (int s = 0; s < n_steps; s++)
        form_step(&f, s);
    kernel->n_out = work.graph->n_out;
    kernel->out_value = CZ_NEW(arena, int, kernel->n_out);
    kernel->out_symmetric = CZ_NEW(arena, bool, kernel->n_out);
    for (int i = 0; i < kernel->n_out; i++) {
        kernel->out_value[i] = value_of(&f, work.graph->out[i]);
        kernel->out_symmetric[i] = work.symmetric[work.graph->out[i]];
    }
    return kernel;
}
