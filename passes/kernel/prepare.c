/* Before loops are formed: what lies in memory, and how it is reached. */
#include "passes/kernel/internal.h"

#include <assert.h>

bool cz_kernel_is_alone(cz_graph_kind kind)
{
    return kind == CZ_GRAPH_PRODUCT || kind == CZ_GRAPH_FACTOR;
}

bool cz_kernel_is_real(const cz_graph *graph, int node)
{
    const cz_graph_node *it = &graph->nodes[node];

    if (it->kind == CZ_GRAPH_REDUCE || it->kind == CZ_GRAPH_COPY)
        return true;
    return it->kind == CZ_GRAPH_ELEMENT && it->op != CZ_OP_EXTEND &&
           !it->type.is_bool && !cz_graph_is_uniform(graph, node);
}

/* Could its value lie in memory? */
static bool has_memory(const cz_graph *graph, int node)
{
    cz_graph_kind kind = graph->nodes[node].kind;

    return kind == CZ_GRAPH_IN || cz_kernel_is_alone(kind) ||
           cz_kernel_is_real(graph, node);
}

/* ---- how values are reached ---- */

static cz_access through_transpose(cz_access access)
{
    assert(access == CZ_ACCESS_ELEMENT || access == CZ_ACCESS_TRANSPOSED);
    return access == CZ_ACCESS_ELEMENT ? CZ_ACCESS_TRANSPOSED
                                       : CZ_ACCESS_ELEMENT;
}

/* `node` is a broadcast reached by `access`. */
static cz_access through_broadcast(const cz_graph_node *node, cz_access access)
{
    if (node->type.rank < 2 || node->dims == 3)
        return CZ_ACCESS_ALL;
    /* dims == 2: the columns are new, the operand is indexed by rows */
    return (node->dims == 2) == (access == CZ_ACCESS_ELEMENT)
               ? CZ_ACCESS_ROW
               : CZ_ACCESS_COLUMN;
}

int cz_kernel_source(const cz_graph *graph, int node, cz_access *access)
{
    for (;;) {
        const cz_graph_node *it = &graph->nodes[node];
        if (it->kind == CZ_GRAPH_TRANSPOSE)
            *access = through_transpose(*access);
        else if (it->kind == CZ_GRAPH_BROADCAST)
            *access = through_broadcast(it, *access);
        else
            return node;
        node = it->in[0];
    }
}

/* A conversion from bf16 in front of a product changes nothing: products take
 * bf16 operands as they are. */
int cz_kernel_peel(const cz_graph *graph, int node, bool *transposed)
{
    *transposed = false;
    for (;;) {
        const cz_graph_node *it = &graph->nodes[node];
        if (it->kind == CZ_GRAPH_TRANSPOSE)
            *transposed = !*transposed;
        else if (it->kind != CZ_GRAPH_ELEMENT || it->op != CZ_OP_EXTEND)
            return node;
        node = it->in[0];
    }
}

/* ---- copies ---- */

typedef struct preparer {
    cz_graph *to;
    int n_copies;
} preparer;

static int copy_of(preparer *p, int node)
{
    cz_graph_node copy = {.kind = CZ_GRAPH_COPY, .n_in = 1};

    copy.in[0] = node;
    copy.index = p->n_copies++;
    copy.type = p->to->nodes[node].type;
    copy.origin = p->to->nodes[node].origin;
    return cz_graph_add(p->to, &copy);
}

static int product_operand(preparer *p, int node)
{
    bool transposed;
    int core = cz_kernel_peel(p->to, node, &transposed);
    cz_graph_node turned = {.kind = CZ_GRAPH_TRANSPOSE, .n_in = 1};

    if (!has_memory(p->to, core))
        core = copy_of(p, core);
    if (!transposed)
        return core;
    turned.in[0] = core;
    turned.type = p->to->nodes[core].type;
    turned.type.shape[0] = p->to->nodes[core].type.shape[1];
    turned.type.shape[1] = p->to->nodes[core].type.shape[0];
    return cz_graph_add(p->to, &turned);
}

/* A factorisation takes its operands as they lie; its results, nodes each, have
 * one copy in common. */
static int factor_operand(preparer *p, int node)
{
    if (has_memory(p->to, node))
        return node;
    for (int i = node + 1; i < p->to->n; i++)
        if (p->to->nodes[i].kind == CZ_GRAPH_COPY &&
            p->to->nodes[i].in[0] == node)
            return i;
    return copy_of(p, node);
}

static int operand_of(preparer *p, cz_graph_kind kind, int node)
{
    if (kind == CZ_GRAPH_PRODUCT)
        return product_operand(p, node);
    return kind == CZ_GRAPH_FACTOR ? factor_operand(p, node) : node;
}

static bool is_out_already(const cz_graph *graph, int node)
{
    for (int i = 0; i < graph->n_out; i++)
        if (graph->out[i] == node)
            return true;
    return false;
}

cz_graph *cz_kernel_prepare(cz_arena *arena, const cz_graph *graph)
{
    const bool *live = cz_graph_find_live(graph, arena);
    int *image = CZ_NEW(arena, int, graph->n);
    preparer p = {.to = cz_graph_make(arena)};

    for (int i = 0; i < graph->n; i++) {
        cz_graph_node node = graph->nodes[i];
        if (!live[i])
            continue;
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = operand_of(&p, node.kind, image[node.in[k]]);
        image[i] = cz_graph_add(p.to, &node);
    }
    for (int i = 0; i < graph->n_out; i++) {
        /* Every result has a buffer of its own that some step writes. */
        int node = image[graph->out[i]];
        if (!has_memory(p.to, node) || is_out_already(p.to, node) ||
            p.to->nodes[node].kind == CZ_GRAPH_IN)
            node = copy_of(&p, node);
        cz_graph_add_out(p.to, node);
    }
    return p.to;
}

/* ---- what is stored ---- */

static void mark_operands(cz_kernel_work *work, const cz_graph_node *node)
{
    const cz_graph *graph = work->graph;

    for (int k = 0; k < node->n_in; k++) {
        cz_access access = CZ_ACCESS_ELEMENT;
        int source = cz_kernel_source(graph, node->in[k], &access);
        if ((cz_kernel_is_alone(node->kind) || access != CZ_ACCESS_ELEMENT) &&
            graph->nodes[source].kind != CZ_GRAPH_INDEX)
            work->stored[source] = true;
    }
}

void cz_kernel_find_stored(cz_kernel_work *work)
{
    const cz_graph *graph = work->graph;

    for (int i = 0; i < graph->n; i++) {
        cz_graph_kind kind = graph->nodes[i].kind;
        if (kind == CZ_GRAPH_IN || kind == CZ_GRAPH_REDUCE ||
            kind == CZ_GRAPH_FACTOR)
            work->stored[i] = true;
        if (work->live[i] && kind != CZ_GRAPH_TRANSPOSE &&
            kind != CZ_GRAPH_BROADCAST)
            mark_operands(work, &graph->nodes[i]);
    }
    for (int i = 0; i < graph->n_out; i++)
        work->stored[graph->out[i]] = true;
}
