/* Products take the element-wise operations that follow them, as long as the
 * value on the way is used once. */
#include "passes/kernel/internal.h"

typedef struct folder {
    cz_kernel_work *work;
    const cz_graph *graph;
    const int *uses;
    int product;
    cz_dtype narrow; /* of both factors, or f32 */
    bool *taken;     /* [n] nodes that would join the product's step */
} folder;

/* ---- folding ---- */

static bool is_stored_elsewhere(const folder *f, int node)
{
    cz_graph_kind kind = f->graph->nodes[node].kind;

    return kind == CZ_GRAPH_IN || cz_kernel_is_alone(kind) ||
           f->work->stored[node];
}

/* May the step compute this operand of a node it takes: from what is stored
 * anyway, by operations that nobody else needs?  Marks these.  What is cheap,
 * such as a widened value, everybody computes: `is_shared` if others compute it
 * too, and so need what it is of. */
static bool take_operand(folder *f, int node, bool is_shared)
{
    cz_access access = CZ_ACCESS_ELEMENT;
    int source = cz_kernel_source(f->graph, node, &access);
    const cz_graph_node *it = &f->graph->nodes[source];

    if (f->taken[source] || is_stored_elsewhere(f, source) ||
        cz_graph_is_uniform(f->graph, source) || it->kind == CZ_GRAPH_INDEX)
        return true;
    if (access != CZ_ACCESS_ELEMENT || it->kind != CZ_GRAPH_ELEMENT)
        return false;
    /* Tensor cores add what is of the factors' own type, and nothing else. */
    if (f->narrow != CZ_F32 && it->op == CZ_OP_TRUNCATE &&
        it->type.dtype == f->narrow) {
        f->work->stored[source] = true;
        return true;
    }
    is_shared = is_shared || f->uses[node] != 1 || f->uses[source] != 1;
    if (cz_kernel_is_real(f->graph, source)) {
        if (is_shared)
            return false;
        f->taken[source] = true;
    }
    for (int k = 0; k < it->n_in; k++)
        if (!take_operand(f, it->in[k], is_shared))
            return false;
    return true;
}

static int only_user(const folder *f, int node)
{
    for (int i = node + 1; i < f->graph->n; i++)
        for (int k = 0; f->work->live[i] && k < f->graph->nodes[i].n_in; k++)
            if (f->graph->nodes[i].in[k] == node)
                return i;
    return -1;
}

/* The node that comes next in the product's step, or -1. */
static int take_next(folder *f, int node)
{
    const cz_graph_node *user;
    int next;

    if (f->work->stored[node] || f->uses[node] != 1)
        return -1;
    next = only_user(f, node);
    user = &f->graph->nodes[next];
    if (user->kind != CZ_GRAPH_ELEMENT || user->type.dtype == CZ_F64)
        return -1;
    for (int k = 0; k < user->n_in; k++)
        if (!take_operand(f, user->in[k], false))
            return -1;
    f->taken[next] = true;
    return next;
}

/* What the step reads must be stored. */
static void store_operands(folder *f, int node)
{
    const cz_graph_node *it = &f->graph->nodes[node];

    for (int k = 0; k < it->n_in; k++) {
        cz_access access = CZ_ACCESS_ELEMENT;
        int source = cz_kernel_source(f->graph, it->in[k], &access);
        if (f->taken[source] || cz_graph_is_uniform(f->graph, source) ||
            f->graph->nodes[source].kind == CZ_GRAPH_INDEX)
            continue;
        if (is_stored_elsewhere(f, source))
            f->work->stored[source] = true;
        else
            store_operands(f, source);
    }
}

/* The longest chain that ends with a node which may be stored. */
static void fold(folder *f)
{
    bool *longest = CZ_NEW(f->work->arena, bool, f->graph->n);
    int end = f->product;

    longest[end] = f->taken[end] = true;
    for (int it = take_next(f, end); it >= 0; it = take_next(f, it)) {
        if (!cz_kernel_is_real(f->graph, it))
            continue;
        end = it;
        for (int i = 0; i < f->graph->n; i++)
            longest[i] = f->taken[i];
    }
    f->taken = longest;
    for (int i = 0; i < f->graph->n; i++)
        if (f->taken[i])
            f->work->unit[i] = f->product;
    for (int i = 0; i < f->graph->n; i++)
        if (f->taken[i] && i != f->product)
            store_operands(f, i);
    f->work->products[f->product].end = end;
    f->work->stored[end] = true;
}

static cz_dtype narrow_of(const cz_graph *graph, int product)
{
    const cz_graph_node *it = &graph->nodes[product];
    const cz_dtype dtype = graph->nodes[it->in[0]].type.dtype;

    return cz_dtype_is_narrow(dtype) &&
                   graph->nodes[it->in[1]].type.dtype == dtype
               ? dtype
               : CZ_F32;
}

void cz_kernel_fold_products(cz_kernel_work *work)
{
    const cz_graph *graph = work->graph;
    const bool *symmetric = work->symmetric;
    const int *uses = cz_graph_count_uses(graph, work->arena);

    for (int i = 0; i < graph->n; i++) {
        cz_kernel_product *it = &work->products[i];
        folder f = {work, graph, uses, i, CZ_F32, NULL};
        if (!work->live[i] || graph->nodes[i].kind != CZ_GRAPH_PRODUCT)
            continue;
        f.narrow = narrow_of(graph, i);
        f.taken = CZ_NEW(work->arena, bool, graph->n);
        fold(&f);
        it->a = cz_kernel_peel(graph, graph->nodes[i].in[0], &it->transpose_a);
        it->b = cz_kernel_peel(graph, graph->nodes[i].in[1], &it->transpose_b);
        it->symmetric = symmetric[i] && symmetric[it->end];
        cz_kernel_match_affine(work, i, it);
    }
}
