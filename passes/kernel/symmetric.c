/* Which values equal their transposes, bit by bit where sums are taken in equal
 * order.
 *
 * Two polynomials of one symmetric matrix commute, and so their product is
 * symmetric, too: but for rounding, of which one triangle's is taken.  So only
 * where no bits are promised. */
#include "passes/kernel/internal.h"

typedef struct finder {
    const cz_graph *graph;
    const bool *in;  /* of each argument, or NULL */
    bool *symmetric; /* [n] of the nodes so far */
    int *base;       /* [n], NULL: unknown: the symmetric matrix that the node
                      * is a polynomial of, or -1 */
} finder;

static bool is_symmetric_product(const finder *f, int product)
{
    const cz_graph_node *node = &f->graph->nodes[product];
    bool transpose_a, transpose_b;
    int a = cz_kernel_peel(f->graph, node->in[0], &transpose_a);
    int b = cz_kernel_peel(f->graph, node->in[1], &transpose_b);

    return (a == b && (transpose_a != transpose_b || f->symmetric[a])) ||
           (f->base && f->base[a] >= 0 && f->base[a] == f->base[b]);
}

static bool is_one_number(const finder *f, int node)
{
    const cz_graph_node *it = &f->graph->nodes[node];

    return cz_graph_is_uniform(f->graph, node) ||
           (it->kind == CZ_GRAPH_BROADCAST && it->dims == 3);
}

/* Of operands that are matrices, the one base of all; -1: they have none. */
static int base_of(const finder *f, int node)
{
    const cz_graph_node *it = &f->graph->nodes[node];
    const bool is_sum = it->op == CZ_OP_ADD || it->op == CZ_OP_SUB;
    const bool is_scaled = it->op == CZ_OP_MUL ||
                           (it->op == CZ_OP_DIV && is_one_number(f, it->in[1]));
    int base = -1;

    if (it->kind == CZ_GRAPH_ELEMENT && !is_sum && !is_scaled &&
        it->op != CZ_OP_NEG && it->op != CZ_OP_EXTEND &&
        it->op != CZ_OP_TRUNCATE)
        return -1;
    if (it->kind != CZ_GRAPH_ELEMENT && it->kind != CZ_GRAPH_PRODUCT &&
        it->kind != CZ_GRAPH_COPY && it->kind != CZ_GRAPH_TRANSPOSE)
        return -1;
    for (int k = 0; k < it->n_in; k++) {
        const int other = f->base[it->in[k]];
        if (is_scaled && is_one_number(f, it->in[k]))
            continue;
        if (other < 0 || (base >= 0 && (is_scaled || other != base)))
            return -1;
        base = other;
    }
    return base;
}

static void find_base(const finder *f, int node)
{
    const int base = base_of(f, node);

    const cz_ir_type *type = &f->graph->nodes[node].type;
    const bool is_square = type->rank == 2 && type->shape[0] == type->shape[1];

    f->base[node] = base < 0 && is_square && f->symmetric[node] ? node : base;
}

/* x + x' or x' * x. */
static bool is_of_mirrored(const finder *f, int node)
{
    const cz_graph_node *it = &f->graph->nodes[node];
    bool is_turned, is_other_turned;

    if (it->op != CZ_OP_ADD && it->op != CZ_OP_MUL)
        return false;
    return cz_kernel_peel(f->graph, it->in[0], &is_turned) ==
               cz_kernel_peel(f->graph, it->in[1], &is_other_turned) &&
           is_turned != is_other_turned;
}

static bool is_of_symmetric(const finder *f, int node)
{
    const cz_graph_node *it = &f->graph->nodes[node];
    bool all = it->n_in > 0;

    for (int k = 0; k < it->n_in; k++)
        all = all && f->symmetric[it->in[k]];
    return all || cz_graph_is_uniform(f->graph, node);
}

static bool is_symmetric(const finder *f, int i)
{
    const cz_graph_node *node = &f->graph->nodes[i];

    switch (node->kind) {
    case CZ_GRAPH_IN:
        return f->in && f->in[node->index];
    case CZ_GRAPH_PRODUCT:
        return is_symmetric_product(f, i);
    case CZ_GRAPH_BROADCAST:
        return node->dims == 3;
    case CZ_GRAPH_FACTOR:
        return cz_factor_is_root(node->factor);
    case CZ_GRAPH_REDUCE:
    case CZ_GRAPH_INDEX:
        return false;
    case CZ_GRAPH_ELEMENT:
        return is_of_symmetric(f, i) || is_of_mirrored(f, i);
    case CZ_GRAPH_SCALAR:
    case CZ_GRAPH_CONSTANT:
    case CZ_GRAPH_TRANSPOSE:
    case CZ_GRAPH_CHOICE:
    case CZ_GRAPH_COPY:
        return is_of_symmetric(f, i);
    }
    return false;
}

bool *cz_kernel_find_symmetric(const cz_graph *graph, cz_arena *arena,
                               const bool *in, bool is_strict)
{
    const finder f = {graph, in, CZ_NEW(arena, bool, graph->n),
                      is_strict ? NULL : CZ_NEW(arena, int, graph->n)};

    for (int i = 0; i < graph->n; i++) {
        f.symmetric[i] = is_symmetric(&f, i);
        if (f.base)
            find_base(&f, i);
    }
    return f.symmetric;
}
