/* Which values equal their transposes, bit by bit where sums are taken in equal
 * order. */
#include "passes/kernel/internal.h"

typedef struct finder {
    const cz_graph *graph;
    const bool *in;  /* of each argument, or NULL */
    bool *symmetric; /* [n] of the nodes so far */
} finder;

static bool is_symmetric_product(const finder *f, int product)
{
    const cz_graph_node *node = &f->graph->nodes[product];
    bool transpose_a, transpose_b;
    int a = cz_kernel_peel(f->graph, node->in[0], &transpose_a);
    int b = cz_kernel_peel(f->graph, node->in[1], &transpose_b);

    return a == b && (transpose_a != transpose_b || f->symmetric[a]);
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
                               const bool *in)
{
    const finder f = {graph, in, CZ_NEW(arena, bool, graph->n)};

    for (int i = 0; i < graph->n; i++)
        f.symmetric[i] = is_symmetric(&f, i);
    return f.symmetric;
}
