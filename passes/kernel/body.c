/* Bodies: the scalar function that one step applies to every element. */
#include "passes/kernel/internal.h"

#include <assert.h>

/* A value of the body is its input k as k, the g-th that is generated as
 * FIRST_GENERATED + g and its expression j as ~j, until all inputs are known.
 */
enum { FIRST_GENERATED = 1 << 24 };

typedef struct body_builder {
    const cz_kernel_work *work;
    const cz_graph *graph;
    const bool *inside;
    int first_input; /* 1 with an accumulator */
    cz_kernel_operands *operands;
    int n_exprs;
    cz_view_expr *exprs;
    bool *known; /* [n] */
    int *value;  /* [n] of known nodes */
} body_builder;

static int value_of(body_builder *b, int node, cz_access access);

static int operand(body_builder *b, int node, cz_access access)
{
    cz_kernel_operands *operands = b->operands;

    for (int i = 0; i < operands->n; i++)
        if (operands->list[i].node == node &&
            operands->list[i].access == access)
            return b->first_input + i;
    *CZ_PUSH(b->work->arena, operands->list, operands->n) =
        (cz_kernel_operand){node, access};
    return b->first_input + operands->n - 1;
}

/* The number of a row or column; in a vector all are columns. */
static int generated(body_builder *b, cz_access access)
{
    const cz_generator what =
        access == CZ_ACCESS_ROW ? CZ_GENERATE_ROW : CZ_GENERATE_COLUMN;
    cz_kernel_operands *operands = b->operands;

    assert(access == CZ_ACCESS_ROW || access == CZ_ACCESS_COLUMN ||
           access == CZ_ACCESS_ELEMENT);
    for (int i = 0; i < operands->n_generated; i++)
        if (operands->generated[i] == what)
            return FIRST_GENERATED + i;
    *CZ_PUSH(b->work->arena, operands->generated, operands->n_generated) = what;
    return FIRST_GENERATED + operands->n_generated - 1;
}

static int express(body_builder *b, const cz_graph_node *node)
{
    cz_view_expr expr = {
        .op = node->op,
        .dtype = node->type.dtype,
        .constant = node->constant,
        .predicate = node->predicate,
        .name = node->origin.p ? cz_ir_op_value_name(node->origin) : NULL};

    for (int k = 0; k < node->n_in; k++)
        expr.args[k] = value_of(b, node->in[k], CZ_ACCESS_ELEMENT);
    if (node->op == CZ_OP_COMPARE)
        expr.dtype = b->graph->nodes[node->in[0]].type.dtype;
    *CZ_PUSH(b->work->arena, b->exprs, b->n_exprs) = expr;
    return ~(b->n_exprs - 1);
}

/* Computed here, not loaded. */
static bool is_computed(const body_builder *b, int node)
{
    cz_graph_kind kind = b->graph->nodes[node].kind;

    if (cz_kernel_is_real(b->graph, node))
        return b->inside[node];
    return kind == CZ_GRAPH_ELEMENT || kind == CZ_GRAPH_CONSTANT;
}

static int compute(body_builder *b, int node)
{
    const cz_graph_node *it = &b->graph->nodes[node];

    if (b->known[node])
        return b->value[node];
    b->value[node] = it->kind == CZ_GRAPH_COPY || it->kind == CZ_GRAPH_REDUCE
                         ? value_of(b, it->in[0], CZ_ACCESS_ELEMENT)
                         : express(b, it);
    b->known[node] = true;
    return b->value[node];
}

static int value_of(body_builder *b, int node, cz_access access)
{
    int source = cz_kernel_source(b->graph, node, &access);

    if (b->known[source])
        return b->value[source];
    if (b->graph->nodes[source].kind == CZ_GRAPH_SCALAR)
        return operand(b, source, CZ_ACCESS_SCALAR);
    if (b->graph->nodes[source].kind == CZ_GRAPH_INDEX)
        return generated(b, access);
    if (!is_computed(b, source))
        return operand(b, source, access);
    assert(access == CZ_ACCESS_ELEMENT);
    return compute(b, source);
}

static int final(const body_builder *b, int value)
{
    const int n_given = b->first_input + b->operands->n;

    if (value >= FIRST_GENERATED)
        return n_given + value - FIRST_GENERATED;
    return value >= 0 ? value : n_given + b->operands->n_generated + ~value;
}

static void list_inputs(const body_builder *b, cz_view_body *body)
{
    cz_dtype *in;

    const int n_given = b->first_input + b->operands->n;

    body->n_in = n_given + b->operands->n_generated;
    in = CZ_NEW(b->work->arena, cz_dtype, body->n_in);
    if (b->first_input)
        in[0] = CZ_F32;
    for (int i = 0; i < b->operands->n; i++)
        in[b->first_input + i] =
            b->graph->nodes[b->operands->list[i].node].type.dtype;
    for (int i = n_given; i < body->n_in; i++)
        in[i] = CZ_F32;
    body->in = in;
}

cz_view_body cz_kernel_body(const cz_kernel_work *work, const bool *inside,
                            int product, const int *out, int n_out,
                            cz_kernel_operands *operands)
{
    body_builder b = {.work = work,
                      .graph = work->graph,
                      .inside = inside,
                      .first_input = product >= 0 ? 1 : 0,
                      .operands = operands,
                      .known = CZ_NEW(work->arena, bool, work->graph->n),
                      .value = CZ_NEW(work->arena, int, work->graph->n)};
    cz_view_body body = {0};

    if (product >= 0)
        b.known[product] = true; /* value 0, the first input */
    for (int i = 0; i < work->graph->n; i++)
        if (inside[i] && i != product && cz_kernel_is_real(work->graph, i))
            compute(&b, i);
    for (int j = 0; j < b.n_exprs; j++)
        for (int k = 0; k < CZ_GRAPH_MAX_IN; k++)
            b.exprs[j].args[k] = final(&b, b.exprs[j].args[k]);
    body.n_exprs = b.n_exprs;
    body.exprs = b.exprs;
    list_inputs(&b, &body);
    int *values = CZ_NEW(b.work->arena, int, n_out);
    cz_dtype *dtypes = CZ_NEW(b.work->arena, cz_dtype, n_out);

    for (int i = 0; i < n_out; i++) {
        values[i] = final(&b, b.value[out[i]]);
        dtypes[i] = b.graph->nodes[out[i]].type.dtype;
    }
    body.n_out = n_out;
    body.out = values;
    body.out_dtype = dtypes;
    return body;
}
