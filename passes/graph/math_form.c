/* Functions of math form, read to graphs and written from them. */
#include "passes/graph/math_form.h"

#include "dsl/base/checked.h"

#include <assert.h>
#include <string.h>

/* ---- reading ---- */

/* What a value is in the graph; a scalar is a node per shape. */
typedef struct seen_value {
    const void *value;
    cz_ir_type shape;
    int node;
} seen_value;

/* Scalar arithmetic becomes arithmetic on splats, at the splat. */
typedef struct reader {
    cz_graph *graph;
    cz_ir_op function;
    int n_tensors;
    int n_seen;
    seen_value *seen;
} reader;

static int find_seen(const reader *r, cz_ir_value value, cz_ir_type shape)
{
    for (int i = r->n_seen - 1; i >= 0; i--)
        if (r->seen[i].value == value.p &&
            cz_graph_same_shape(r->seen[i].shape, shape))
            return r->seen[i].node;
    return -1;
}

static int find_tensor(const reader *r, cz_ir_value value)
{
    return find_seen(r, value, cz_ir_value_type(value));
}

static int remember(reader *r, cz_ir_value value, cz_ir_type shape, int node)
{
    *CZ_PUSH(r->graph->arena, r->seen, r->n_seen) =
        (seen_value){value.p, shape, node};
    return node;
}

static cz_graph_node element(cz_ir_op op, cz_ir_type type)
{
    cz_graph_node node = {.kind = CZ_GRAPH_ELEMENT, .type = type};

    node.origin = op;
    node.op = cz_ir_op_opcode(op);
    if (node.op == CZ_OP_COMPARE)
        node.predicate = cz_ir_op_predicate(op);
    if (cz_ir_op_constant(op, &node.constant))
        node.kind = CZ_GRAPH_CONSTANT;
    return node;
}

static int read_uniform(reader *r, cz_ir_value value, cz_ir_type shape);

/* -1 when it has no place here. */
static int read_scalar_op(reader *r, cz_ir_op op, cz_ir_type type)
{
    cz_graph_node node;

    if (cz_ir_op_kind(op) != CZ_IR_ELEMENT)
        return -1;
    node = element(op, type);
    node.n_in = cz_ir_op_n_operands(op);
    for (int i = 0; i < node.n_in; i++) {
        node.in[i] = read_uniform(r, cz_ir_op_operand(op, i), type);
        if (node.in[i] < 0)
            return -1;
    }
    return cz_graph_add(r->graph, &node);
}

/* A scalar value, the same in every element of `shape`. */
static int read_uniform(reader *r, cz_ir_value value, cz_ir_type shape)
{
    cz_ir_op op = cz_ir_value_op(value);
    cz_ir_type of = cz_ir_value_type(value);
    cz_ir_type type = cz_ir_type_with(shape, of.dtype);
    int node = find_seen(r, value, shape);

    if (node >= 0)
        return node;
    type.is_bool = of.is_bool;
    if (op.p)
        node = read_scalar_op(r, op, type);
    else
        node = cz_graph_scalar(r->graph,
                               cz_ir_value_index(value) - r->n_tensors, type);
    return remember(r, value, shape, node);
}

/* Kinds whose operands are plain tensors. */
static cz_graph_node node_of(reader *r, cz_ir_op op, cz_ir_type type)
{
    static const cz_graph_kind kinds[] = {
        [CZ_IR_MATMUL] = CZ_GRAPH_PRODUCT,
        [CZ_IR_TRANSPOSE] = CZ_GRAPH_TRANSPOSE,
        [CZ_IR_INDEX] = CZ_GRAPH_INDEX,
        [CZ_IR_REDUCE] = CZ_GRAPH_REDUCE,
        [CZ_IR_BROADCAST] = CZ_GRAPH_BROADCAST,
        [CZ_IR_FACTOR] = CZ_GRAPH_FACTOR,
    };
    cz_ir_kind kind = cz_ir_op_kind(op);
    cz_graph_node node = {.type = type, .origin = op};

    if (kind == CZ_IR_ELEMENT)
        node = element(op, type);
    else
        node.kind = kinds[kind];
    if (kind == CZ_IR_REDUCE && strcmp(cz_ir_op_string(op, "kind"), "max") == 0)
        node.op = CZ_OP_MAX;
    if (kind == CZ_IR_REDUCE || kind == CZ_IR_BROADCAST) {
        const cz_ints dims = cz_ir_op_ints(op, "dims", r->graph->arena);
        unsigned mask = 0;

        for (int i = 0; i < dims.n; i++)
            mask |= 1u << dims.v[i];
        node.dims = mask;
    }
    if (kind == CZ_IR_FACTOR) {
        const cz_reals given =
            cz_ir_op_reals(op, "parameters", r->graph->arena);

        node.factor = cz_factor_find(cz_ir_op_string(op, "factor"));
        node.index = (int)cz_ir_op_int(op, "result");
        for (int i = 0; i < given.n; i++)
            node.parameters[i] = given.v[i];
    }
    node.n_in = kind == CZ_IR_MATMUL ? 2 : cz_ir_op_n_operands(op);
    return node;
}

static bool is_too_large(cz_ir_type type)
{
    int64_t n;

    return type.rank > 0 &&
           (!cz_checked_product(type.shape, type.rank, &n) || n > CZ_MAX_DIM);
}

/* -1 when it has no place here. */
static int read_tensor(reader *r, cz_ir_op op)
{
    cz_ir_type type = cz_ir_value_type(cz_ir_op_result(op, 0));
    cz_ir_kind kind = cz_ir_op_kind(op);
    cz_graph_node node;

    if (kind > CZ_IR_FACTOR || is_too_large(type))
        return -1;
    if (kind == CZ_IR_SPLAT)
        return read_uniform(r, cz_ir_op_operand(op, 0), type);
    node = node_of(r, op, type);
    for (int i = 0; i < node.n_in; i++) {
        node.in[i] = find_tensor(r, cz_ir_op_operand(op, i));
        if (node.in[i] < 0)
            return -1;
    }
    if ((kind == CZ_IR_REDUCE || kind == CZ_IR_BROADCAST) && node.dims == 0)
        return node.in[0];
    return cz_graph_add(r->graph, &node);
}

/* Tensors first, then f32 scalars. */
static bool read_arguments(reader *r)
{
    int n = cz_ir_function_n_in(r->function);

    for (int i = 0; i < n; i++) {
        cz_ir_value value = cz_ir_function_in(r->function, i);
        cz_ir_type type = cz_ir_value_type(value);
        if (type.rank == CZ_IR_SCALAR && type.dtype == CZ_F32)
            continue;
        if (type.rank == CZ_IR_SCALAR || r->n_tensors < i || is_too_large(type))
            return false;
        remember(r, value, type, cz_graph_in(r->graph, i, type));
        r->n_tensors = i + 1;
    }
    return true;
}

static bool is_tensor(cz_ir_op op)
{
    return cz_ir_op_n_results(op) > 0 &&
           cz_ir_value_type(cz_ir_op_result(op, 0)).rank != CZ_IR_SCALAR;
}

static bool read_ops(reader *r)
{
    int n = 0;

    for (cz_ir_op op = cz_ir_first_op(r->function); op.p;
         op = cz_ir_next_op(op)) {
        cz_ir_value result;
        int node;
        if (n++ == CZ_MATH_FORM_MAX_OPS)
            return false;
        if (!is_tensor(op))
            continue;
        node = read_tensor(r, op);
        if (node < 0)
            return false;
        result = cz_ir_op_result(op, 0);
        remember(r, result, cz_ir_value_type(result), node);
    }
    return true;
}

bool cz_math_form_is_long(cz_ir_op function)
{
    int n = 0;

    for (cz_ir_op op = cz_ir_first_op(function);
         op.p && n <= CZ_MATH_FORM_MAX_OPS; op = cz_ir_next_op(op))
        n++;
    return n > CZ_MATH_FORM_MAX_OPS;
}

static bool read_results(reader *r)
{
    for (int i = 0; i < cz_ir_function_n_out(r->function); i++) {
        int node = find_tensor(r, cz_ir_function_out(r->function, i));
        if (node < 0)
            return false;
        cz_graph_add_out(r->graph, node);
    }
    return true;
}

cz_graph *cz_math_form_read(cz_arena *arena, cz_ir_op function)
{
    reader r = {.graph = cz_graph_make(arena), .function = function};

    return read_arguments(&r) && read_ops(&r) && read_results(&r) ? r.graph
                                                                  : NULL;
}

/* ---- writing ---- */

static int dims_of(unsigned mask, int64_t *dims)
{
    int n = 0;

    for (int d = 0; d < CZ_IR_MAX_RANK; d++)
        if (mask & 1u << d)
            dims[n++] = d;
    return n;
}

static cz_ir_value write_element(cz_ir_builder *builder,
                                 const cz_graph_node *node,
                                 const cz_ir_value *in)
{
    if (node->op == CZ_OP_COMPARE)
        return cz_ir_compare(builder, node->predicate, in[0], in[1]);
    return cz_ir_element(builder, node->op, in, node->n_in, node->type.dtype);
}

static cz_ir_value write_node(cz_ir_builder *builder, cz_ir_op function,
                              const cz_graph_node *node, int n_tensors,
                              const cz_ir_value *in)
{
    const cz_ir_type *type = &node->type;
    int64_t dims[CZ_IR_MAX_RANK];
    int n_dims = dims_of(node->dims, dims);

    assert(node->kind != CZ_GRAPH_COPY && node->kind != CZ_GRAPH_CHOICE);
    switch (node->kind) {
    case CZ_GRAPH_IN:
        return cz_ir_function_in(function, node->index);
    case CZ_GRAPH_SCALAR:
        return cz_ir_splat(builder,
                           cz_ir_function_in(function, n_tensors + node->index),
                           type->rank, type->shape);
    case CZ_GRAPH_CONSTANT:
        return cz_ir_constant(builder, *type, node->constant);
    case CZ_GRAPH_ELEMENT:
        return write_element(builder, node, in);
    case CZ_GRAPH_INDEX:
        return cz_ir_index(builder, type->shape[0]);
    case CZ_GRAPH_TRANSPOSE:
        return cz_ir_transpose(builder, in[0]);
    case CZ_GRAPH_REDUCE:
        return cz_ir_reduce(builder, node->op == CZ_OP_MAX ? "max" : "sum",
                            in[0], dims, n_dims);
    case CZ_GRAPH_BROADCAST:
        return cz_ir_broadcast(builder, in[0], type->rank, type->shape, dims,
                               n_dims);
    case CZ_GRAPH_PRODUCT:
        return cz_ir_matmul(builder, in[0], in[1]);
    case CZ_GRAPH_FACTOR:
        return cz_ir_factor(builder, node->factor, node->parameters, in,
                            node->index);
    case CZ_GRAPH_CHOICE:
    case CZ_GRAPH_COPY:
        break;
    }
    return (cz_ir_value){NULL};
}

/* The results in order; from the graph's arena. */
static cz_ir_value *write_nodes(cz_ir_builder *builder, cz_ir_op function,
                                const cz_graph *graph, int n_tensors)
{
    cz_ir_value *values = CZ_NEW(graph->arena, cz_ir_value, graph->n);
    cz_ir_value *out = CZ_NEW(graph->arena, cz_ir_value, graph->n_out);
    const bool *live = cz_graph_find_live(graph, graph->arena);

    for (int i = 0; i < graph->n; i++) {
        const cz_graph_node *node = &graph->nodes[i];
        cz_ir_value in[CZ_GRAPH_MAX_IN] = {{NULL}};
        if (!live[i])
            continue;
        for (int k = 0; k < node->n_in; k++)
            in[k] = values[node->in[k]];
        if (node->origin.p)
            cz_ir_at_op(builder, node->origin);
        values[i] = write_node(builder, function, node, n_tensors, in);
    }
    for (int i = 0; i < graph->n_out; i++)
        out[i] = values[graph->out[i]];
    return out;
}

cz_ir_op cz_math_form_write(cz_ir *ir, const cz_graph *graph, const char *name,
                            const cz_ir_type *in, int n_in, int n_scalars)
{
    cz_arena *arena = graph->arena;
    cz_ir_type *in_types = CZ_NEW(arena, cz_ir_type, n_in + n_scalars);
    cz_ir_type *out_types = CZ_NEW(arena, cz_ir_type, graph->n_out);
    cz_ir_signature signature = {.name = name,
                                 .n_in = n_in + n_scalars,
                                 .n_out = graph->n_out,
                                 .in = in_types,
                                 .out = out_types};
    cz_ir_builder builder;

    for (int i = 0; i < n_in + n_scalars; i++)
        in_types[i] = i < n_in ? in[i] : cz_ir_scalar_type(CZ_F32);
    for (int i = 0; i < graph->n_out; i++)
        out_types[i] = graph->nodes[graph->out[i]].type;
    builder = cz_ir_function(ir, &signature, (cz_span){0});
    cz_ir_return(&builder, write_nodes(&builder, builder.function, graph, n_in),
                 graph->n_out);
    return builder.function;
}
