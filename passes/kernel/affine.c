/* Epilogues of the form alpha * acc + beta * s: the same multiplications and
 * the same addition, so the same bits. */
#include "passes/kernel/internal.h"

/* factor * node */
typedef struct term {
    double factor;
    int node;
} term;

static term term_of(const cz_graph *graph, int node)
{
    const cz_graph_node *it = &graph->nodes[node];

    if (it->kind == CZ_GRAPH_ELEMENT && it->op == CZ_OP_NEG)
        return (term){-1, it->in[0]};
    if (it->kind == CZ_GRAPH_ELEMENT && it->op == CZ_OP_MUL)
        for (int k = 0; k < 2; k++)
            if (graph->nodes[it->in[k]].kind == CZ_GRAPH_CONSTANT)
                return (term){graph->nodes[it->in[k]].constant, it->in[1 - k]};
    return (term){1, node};
}

/* A stored f32 or bf16 tensor read element by element, or -1. */
static int summand(const cz_kernel_work *work, int product, int node)
{
    const cz_graph_node *it = &work->graph->nodes[node];

    if (it->kind == CZ_GRAPH_ELEMENT && it->op == CZ_OP_EXTEND)
        return summand(work, product, it->in[0]);
    return work->stored[node] && work->unit[node] != product &&
                   it->kind != CZ_GRAPH_REDUCE && it->type.dtype != CZ_F64
               ? node
               : -1;
}

static bool match_sum(const cz_kernel_work *work, int product, int node,
                      cz_kernel_product *it)
{
    const cz_graph_node *sum = &work->graph->nodes[node];
    term terms[2];
    int acc;

    if (sum->kind != CZ_GRAPH_ELEMENT ||
        (sum->op != CZ_OP_ADD && sum->op != CZ_OP_SUB))
        return false;
    for (int k = 0; k < 2; k++)
        terms[k] = term_of(work->graph, sum->in[k]);
    if (sum->op == CZ_OP_SUB)
        terms[1].factor = -terms[1].factor;
    acc = terms[0].node == product ? 0 : 1;
    it->s = summand(work, product, terms[1 - acc].node);
    it->alpha = terms[acc].factor;
    it->beta = terms[1 - acc].factor;
    return terms[acc].node == product && it->s >= 0 && it->beta != 0;
}

void cz_kernel_match_affine(const cz_kernel_work *work, int product,
                            cz_kernel_product *it)
{
    const cz_graph_node *end = &work->graph->nodes[it->end];
    int node = it->end;
    term single;

    if (end->kind == CZ_GRAPH_ELEMENT && end->op == CZ_OP_TRUNCATE)
        node = end->in[0];
    it->is_affine = true;
    if (match_sum(work, product, node, it))
        return;
    single = term_of(work->graph, node);
    it->is_affine = single.node == product;
    it->alpha = it->is_affine ? single.factor : 1;
    it->beta = 0;
    it->s = -1;
}
