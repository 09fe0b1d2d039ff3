/* Graphs: equal nodes become one, exact identities are applied on the way
 * in. */
#include "passes/graph/graph.h"

#include <assert.h>
#include <string.h>

cz_graph *cz_graph_make(cz_arena *arena)
{
    cz_graph *graph = CZ_NEW(arena, cz_graph, 1);

    graph->arena = arena;
    return graph;
}

bool cz_graph_same_shape(cz_ir_type a, cz_ir_type b)
{
    return a.rank == b.rank && (a.rank < 1 || a.shape[0] == b.shape[0]) &&
           (a.rank < 2 || a.shape[1] == b.shape[1]);
}

bool cz_graph_same_constant(double a, double b)
{
    uint64_t bits_a, bits_b;

    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    return bits_a == bits_b;
}

bool cz_graph_same_factor(const cz_graph_node *a, const cz_graph_node *b)
{
    for (int i = 0; i < CZ_FACTOR_PARAMETERS; i++)
        if (!cz_graph_same_constant(a->parameters[i], b->parameters[i]))
            return false;
    return a->factor == b->factor;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_node(const cz_graph_node *a, const cz_graph_node *b)
{
    if (a->kind != b->kind || a->op != b->op || a->n_in != b->n_in ||
        a->index != b->index || a->dims != b->dims ||
        !cz_graph_same_constant(a->constant, b->constant) ||
        !cz_graph_same_factor(a, b))
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i] != b->in[i])
            return false;
    return cz_ir_type_equal(a->type, b->type) &&
           same_text(a->predicate, b->predicate);
}

bool cz_graph_is_same(const cz_graph *a, const cz_graph *b)
{
    if (a->n != b->n || a->n_out != b->n_out)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return false;
    for (int i = 0; i < a->n_out; i++)
        if (a->out[i] != b->out[i])
            return false;
    return true;
}

static bool find_uniform(const cz_graph *graph, const cz_graph_node *node)
{
    if (node->kind == CZ_GRAPH_SCALAR || node->kind == CZ_GRAPH_CONSTANT)
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (!graph->nodes[node->in[i]].is_uniform)
            return false;
    return node->kind == CZ_GRAPH_ELEMENT || node->kind == CZ_GRAPH_CHOICE;
}

static int intern(cz_graph *graph, const cz_graph_node *node)
{
    cz_graph_node *added;

    for (int i = 0; i < graph->n; i++)
        if (same_node(&graph->nodes[i], node))
            return i;
    added = CZ_PUSH(graph->arena, graph->nodes, graph->n);
    *added = *node;
    added->is_uniform = find_uniform(graph, node);
    return graph->n - 1;
}

bool cz_graph_is_uniform(const cz_graph *graph, int node)
{
    return graph->nodes[node].is_uniform;
}

static cz_ir_type with_shape_of(cz_ir_type type, cz_ir_type shape)
{
    shape.dtype = type.dtype;
    shape.is_bool = type.is_bool;
    return shape;
}

/* A uniform value in another shape, with all it is made of. */
static int reshape_uniform(cz_graph *graph, int uniform, cz_ir_type shape)
{
    bool *needed = CZ_NEW(graph->arena, bool, uniform + 1);
    int *image = CZ_NEW(graph->arena, int, uniform + 1);

    needed[uniform] = true;
    for (int i = uniform; i >= 0; i--)
        for (int k = 0; needed[i] && k < graph->nodes[i].n_in; k++)
            needed[graph->nodes[i].in[k]] = true;
    for (int i = 0; i <= uniform; i++) {
        cz_graph_node node = graph->nodes[i];
        if (!needed[i])
            continue;
        node.type = with_shape_of(node.type, shape);
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        image[i] = intern(graph, &node);
    }
    return image[uniform];
}

/* Operations that read less than they give, or give what nobody may store. */
static bool is_conversion(const cz_graph_node *node)
{
    return node->kind == CZ_GRAPH_ELEMENT &&
           (node->op == CZ_OP_EXTEND || node->op == CZ_OP_COMPARE);
}

static bool is_move(const cz_graph_node *node)
{
    return node->kind == CZ_GRAPH_TRANSPOSE || node->kind == CZ_GRAPH_BROADCAST;
}

int cz_graph_add(cz_graph *graph, const cz_graph_node *node)
{
    const cz_graph_node *in;

    assert(node->n_in <= CZ_GRAPH_MAX_IN);
    if (node->kind == CZ_GRAPH_ELEMENT && node->op == CZ_OP_TRUNCATE &&
        is_move(&graph->nodes[node->in[0]])) {
        /* truncate(f(x)) to f(truncate(x)), where f only moves elements. */
        cz_graph_node outer = graph->nodes[node->in[0]], inner = *node;

        inner.in[0] = outer.in[0];
        inner.type = with_shape_of(node->type, graph->nodes[outer.in[0]].type);
        outer.type = node->type;
        outer.in[0] = cz_graph_add(graph, &inner);
        return cz_graph_add(graph, &outer);
    }
    if (!is_move(node))
        return intern(graph, node);
    in = &graph->nodes[node->in[0]];
    if (cz_graph_is_uniform(graph, node->in[0]))
        return reshape_uniform(graph, node->in[0], node->type);
    if (is_conversion(in)) {
        /* f(g(x)) to g(f(x)), where f only moves elements and g is a
         * conversion. */
        cz_graph_node outer = graph->nodes[node->in[0]];

        outer.type = with_shape_of(outer.type, node->type);
        for (int i = 0; i < outer.n_in; i++) {
            cz_graph_node inner = *node;
            inner.in[0] = outer.in[i];
            inner.type =
                with_shape_of(graph->nodes[outer.in[i]].type, node->type);
            outer.in[i] = cz_graph_add(graph, &inner);
        }
        return intern(graph, &outer);
    }
    if (in->kind == CZ_GRAPH_TRANSPOSE && node->kind == CZ_GRAPH_TRANSPOSE)
        return in->in[0];
    return intern(graph, node);
}

void cz_graph_add_out(cz_graph *graph, int node)
{
    *CZ_PUSH(graph->arena, graph->out, graph->n_out) = node;
}

int cz_graph_in(cz_graph *graph, int index, cz_ir_type type)
{
    return cz_graph_add(
        graph,
        &(cz_graph_node){.kind = CZ_GRAPH_IN, .index = index, .type = type});
}

int cz_graph_scalar(cz_graph *graph, int index, cz_ir_type type)
{
    return cz_graph_add(graph, &(cz_graph_node){.kind = CZ_GRAPH_SCALAR,
                                                .index = index,
                                                .type = type});
}

int cz_graph_unary(cz_graph *graph, cz_opcode op, int a, cz_dtype dtype)
{
    cz_graph_node node = {.kind = CZ_GRAPH_ELEMENT, .op = op, .n_in = 1};

    node.in[0] = a;
    node.type = cz_ir_type_with(graph->nodes[a].type, dtype);
    node.origin = graph->nodes[a].origin;
    return cz_graph_add(graph, &node);
}

static bool repeats(const cz_graph_node *node, int operand)
{
    for (int i = 0; i < operand; i++)
        if (node->in[i] == node->in[operand])
            return true;
    return false;
}

bool *cz_graph_find_live(const cz_graph *graph, cz_arena *arena)
{
    bool *live = CZ_NEW(arena, bool, graph->n);

    for (int i = 0; i < graph->n_out; i++)
        live[graph->out[i]] = true;
    for (int i = graph->n - 1; i >= 0; i--)
        for (int k = 0; live[i] && k < graph->nodes[i].n_in; k++)
            live[graph->nodes[i].in[k]] = true;
    return live;
}

int *cz_graph_count_uses(const cz_graph *graph, cz_arena *arena)
{
    const bool *live = cz_graph_find_live(graph, arena);
    int *uses = CZ_NEW(arena, int, graph->n);

    for (int i = 0; i < graph->n; i++)
        for (int k = 0; live[i] && k < graph->nodes[i].n_in; k++)
            if (!repeats(&graph->nodes[i], k))
                uses[graph->nodes[i].in[k]]++;
    for (int i = 0; i < graph->n_out; i++)
        uses[graph->out[i]]++;
    return uses;
}
