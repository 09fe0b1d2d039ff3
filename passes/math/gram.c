/* Polynomial iterations found and written in Gram form. */
#include "passes/math/gram.h"

/* ---- what is behind a value ---- */

/* factor * node, where node is no constant multiple. */
typedef struct term {
    double factor;
    int node;
} term;

static const cz_graph_node *at(const cz_graph *graph, int node)
{
    return &graph->nodes[node];
}

static bool is_element(const cz_graph *graph, int node, cz_opcode op)
{
    return at(graph, node)->kind == CZ_GRAPH_ELEMENT &&
           at(graph, node)->op == op;
}

/* Behind all conversions, also roundings. */
static int core_of(const cz_graph *graph, int node)
{
    while (is_element(graph, node, CZ_OP_EXTEND) ||
           is_element(graph, node, CZ_OP_TRUNCATE))
        node = at(graph, node)->in[0];
    return node;
}

static int constant_operand(const cz_graph *graph, int node)
{
    for (int k = 0; is_element(graph, node, CZ_OP_MUL) && k < 2; k++)
        if (at(graph, at(graph, node)->in[k])->kind == CZ_GRAPH_CONSTANT)
            return k;
    return -1;
}

static term term_of(const cz_graph *graph, int node)
{
    term it = {1, core_of(graph, node)};
    for (;;) {
        const cz_graph_node *n = at(graph, it.node);
        const int k = constant_operand(graph, it.node);
        if (k >= 0)
            it.factor *= at(graph, n->in[k])->constant;
        else if (is_element(graph, it.node, CZ_OP_NEG))
            it.factor = -it.factor;
        else
            return it;
        it.node = core_of(graph, n->in[k >= 0 ? 1 - k : 0]);
    }
}

/* The two terms of a sum or difference. */
static bool terms_of(const cz_graph *graph, int node, term out[2])
{
    const cz_graph_node *n = at(graph, node);
    const bool is_difference = is_element(graph, node, CZ_OP_SUB);
    if (!is_difference && !is_element(graph, node, CZ_OP_ADD))
        return false;
    out[0] = term_of(graph, n->in[0]);
    out[1] = term_of(graph, n->in[1]);
    if (is_difference)
        out[1].factor = -out[1].factor;
    return true;
}

/* ---- one row ---- */

/* x <- a x + p(x x') x, or x p(x' x): node from x. */
typedef struct row_match {
    int x; /* operand of the product, behind conversions to wider types */
    bool is_right;
    cz_gram_row row;
} row_match;

static bool is_product(const cz_graph *graph, int node)
{
    return at(graph, node)->kind == CZ_GRAPH_PRODUCT;
}

static int operand_of(const cz_graph *graph, int product, int k)
{
    /* Behind conversions to wider types. */
    int node = at(graph, product)->in[k];
    while (is_element(graph, node, CZ_OP_EXTEND))
        node = at(graph, node)->in[0];
    return node;
}

/* x x', or x' x. */
static bool is_gram(const cz_graph *graph, int node, int x, bool is_right)
{
    if (!is_product(graph, node) ||
        operand_of(graph, node, is_right ? 1 : 0) != x)
        return false;
    const int a = operand_of(graph, node, is_right ? 0 : 1);
    return (at(graph, a)->kind == CZ_GRAPH_TRANSPOSE &&
            at(graph, a)->in[0] == x) ||
           (at(graph, x)->kind == CZ_GRAPH_TRANSPOSE &&
            at(graph, x)->in[0] == a);
}

static bool is_square_of(const cz_graph *graph, int node, int gram)
{
    return is_product(graph, node) &&
           core_of(graph, at(graph, node)->in[0]) == gram &&
           core_of(graph, at(graph, node)->in[1]) == gram;
}

/* Is `node` b g + c g g, or b g? */
static bool match_polynomial(const cz_graph *graph, int node, row_match *it)
{
    term terms[2] = {term_of(graph, node), {0, -1}};
    const double factor = terms[0].factor;
    if (is_gram(graph, terms[0].node, it->x, it->is_right)) {
        it->row.b = factor;
        return true;
    }
    if (!terms_of(graph, terms[0].node, terms))
        return false;
    for (int k = 0; k < 2; k++)
        if (is_gram(graph, terms[k].node, it->x, it->is_right) &&
            is_square_of(graph, terms[1 - k].node, terms[k].node)) {
            it->row.b = factor * terms[k].factor;
            it->row.c = factor * terms[1 - k].factor;
            return true;
        }
    return false;
}

/* The same of the sum's term `product` and its other one. */
static bool match_sum(const cz_graph *graph, term product, term other,
                      row_match *out)
{
    if (!is_product(graph, product.node))
        return false;
    for (int side = 0; side < 2; side++) {
        row_match it = {.x = operand_of(graph, product.node, 1 - side),
                        .is_right = side == 1};
        const term x = term_of(graph, it.x);
        it.row.a = other.factor * x.factor; /* which is its own inverse */
        if (other.node != x.node || x.factor * x.factor != 1 ||
            !match_polynomial(graph, at(graph, product.node)->in[side], &it))
            continue;
        it.row.b *= product.factor;
        it.row.c *= product.factor;
        *out = it;
        return true;
    }
    return false;
}

static bool match_row(const cz_graph *graph, int node, row_match *out)
{
    term terms[2];
    return at(graph, node)->type.dtype == CZ_F32 &&
           terms_of(graph, node, terms) &&
           (match_sum(graph, terms[0], terms[1], out) ||
            match_sum(graph, terms[1], terms[0], out));
}

/* ---- what f16 holds ---- */

/* The norm of what? */
static int norm_of(const cz_graph *graph, int node)
{
    const cz_graph_node *root = at(graph, node);
    const cz_graph_node *sum = at(graph, core_of(graph, root->in[0]));
    if (root->op != CZ_OP_SQRT || sum->kind != CZ_GRAPH_REDUCE ||
        sum->op == CZ_OP_MAX || sum->dims != 3)
        return -1;
    const cz_graph_node *square = at(graph, core_of(graph, sum->in[0]));
    return square->kind == CZ_GRAPH_ELEMENT && square->op == CZ_OP_MUL &&
                   square->in[0] == square->in[1]
               ? core_of(graph, square->in[0])
               : -1;
}

/* Of a constant that leaves a divisor no smaller: max with any, plus 0 or more,
 * times 1 or more.  The other operand, or -1. */
static int behind_margin(const cz_graph *graph, int node)
{
    const cz_graph_node *n = at(graph, node);
    for (int k = 0; k < 2; k++) {
        const cz_graph_node *margin = at(graph, core_of(graph, n->in[k]));
        if (margin->kind == CZ_GRAPH_CONSTANT &&
            (n->op == CZ_OP_MAX ||
             (n->op == CZ_OP_ADD && margin->constant >= 0) ||
             (n->op == CZ_OP_MUL && margin->constant >= 1)))
            return n->in[1 - k];
    }
    return -1;
}

/* Is it u / s, where s is at least the Frobenius norm of u?  Then no number of
 * an iteration whose singular values stay near 1 is beyond f16. */
static bool is_normalised(const cz_graph *graph, int node)
{
    const cz_graph_node *ratio = at(graph, core_of(graph, node));
    if (ratio->kind != CZ_GRAPH_ELEMENT || ratio->op != CZ_OP_DIV)
        return false;
    for (int s = ratio->in[1]; s >= 0;) {
        s = core_of(graph, s);
        const cz_graph_node *n = at(graph, s);
        if (n->kind == CZ_GRAPH_BROADCAST)
            s = n->in[0];
        else if (n->kind != CZ_GRAPH_ELEMENT)
            return false;
        else if (n->op == CZ_OP_SQRT)
            return norm_of(graph, s) == core_of(graph, ratio->in[0]);
        else
            s = behind_margin(graph, s);
    }
    return false;
}

/* ---- chains ---- */

/* Marks the nodes behind which rows of this chain end. */
static cz_gram_chain chain_to(cz_arena *arena, const cz_graph *graph, int last,
                              bool *taken)
{
    cz_gram_chain chain = {.first = last, .last = last};
    cz_gram_row *rows = NULL;
    row_match it;
    int n = 0;
    for (int node = last; match_row(graph, node, &it) &&
                          (n == 0 || it.is_right == chain.is_right);
         node = core_of(graph, it.x)) {
        taken[node] = true;
        chain.first = it.x;
        chain.is_right = it.is_right;
        *CZ_PUSH(arena, rows, n) = it.row;
    }
    for (int i = 0; i < n / 2; i++) {
        const cz_gram_row row = rows[i];
        rows[i] = rows[n - 1 - i];
        rows[n - 1 - i] = row;
    }
    chain.rows = rows;
    chain.n_rows = n;
    chain.inner = cz_dtype_is_narrow(at(graph, chain.first)->type.dtype) &&
                          is_normalised(graph, chain.first)
                      ? CZ_F16
                      : CZ_F32;
    return chain;
}

cz_gram_chain *cz_gram_find(cz_arena *arena, const cz_graph *graph, int *n)
{
    const bool *live = cz_graph_find_live(graph, arena);
    bool *taken = CZ_NEW(arena, bool, graph->n);
    cz_gram_chain *chains = NULL;
    *n = 0;
    for (int i = graph->n - 1; i >= 0; i--) {
        if (!live[i] || taken[i])
            continue;
        const cz_gram_chain chain = chain_to(arena, graph, i, taken);
        if (chain.n_rows >= 2)
            *CZ_PUSH(arena, chains, *n) = chain;
    }
    return chains;
}

/* ---- writing ---- */

typedef struct writer {
    cz_graph *to;
    cz_dtype inner; /* of square matrices, and with f16 of x */
    cz_ir_op origin;
} writer;

static int add(writer *w, cz_graph_node node)
{
    node.origin = w->origin;
    return cz_graph_add(w->to, &node);
}

static int binary(writer *w, cz_opcode op, int a, int b)
{
    return add(w, (cz_graph_node){.kind = CZ_GRAPH_ELEMENT,
                                  .op = op,
                                  .type = at(w->to, a)->type,
                                  .n_in = 2,
                                  .in = {a, b}});
}

static int widen(writer *w, int node)
{
    return at(w->to, node)->type.dtype == CZ_F32
               ? node
               : cz_graph_unary(w->to, CZ_OP_EXTEND, node, CZ_F32);
}

static int rounded(writer *w, int node)
{
    return w->inner == CZ_F32
               ? node
               : cz_graph_unary(w->to, CZ_OP_TRUNCATE, node, w->inner);
}

/* In f32. */
static int scaled(writer *w, double factor, int node)
{
    node = widen(w, node);
    const int constant = add(w, (cz_graph_node){.kind = CZ_GRAPH_CONSTANT,
                                                .op = CZ_OP_CONSTANT,
                                                .type = at(w->to, node)->type,
                                                .constant = factor});
    return binary(w, CZ_OP_MUL, node, constant);
}

static int product(writer *w, int a, int b)
{
    cz_ir_type type = cz_ir_type_with(at(w->to, a)->type, CZ_F32);
    type.shape[1] = at(w->to, b)->type.shape[1];
    return add(w, (cz_graph_node){.kind = CZ_GRAPH_PRODUCT,
                                  .type = type,
                                  .n_in = 2,
                                  .in = {a, b}});
}

/* factor * node + to */
static int add_scaled(writer *w, int to, double factor, int node)
{
    return binary(w, CZ_OP_ADD, scaled(w, factor, node), widen(w, to));
}

/* a * x + b * y */
static int sum_of(writer *w, double a, int x, double b, int y)
{
    return binary(w, CZ_OP_ADD, scaled(w, a, x), scaled(w, b, y));
}

/* x behind rows [from, to): their product is k + q. */
static int write_segment(writer *w, const cz_gram_chain *chain, int from,
                         int to, int x)
{
    cz_ir_type type = at(w->to, x)->type;
    const int64_t rows = type.shape[0];
    type.shape[0] = type.shape[1];
    type.shape[1] = rows;
    const int turned = add(
        w, (cz_graph_node){
               .kind = CZ_GRAPH_TRANSPOSE, .type = type, .n_in = 1, .in = {x}});
    int r = rounded(w, chain->is_right ? product(w, turned, x)
                                       : product(w, x, turned));
    double k = 1;
    int q = -1;
    for (int i = from; i < to; i++) {
        const double a = chain->rows[i].a;
        /* b r + c r r */
        const cz_gram_row *row = &chain->rows[i];
        const int linear = scaled(w, row->b, r);
        const int z = rounded(
            w, row->c == 0 ? linear
                           : add_scaled(w, linear, row->c, product(w, r, r)));
        /* One addend is what tensor cores take. */
        q = i == from
                ? z
                : rounded(w,
                          binary(w, CZ_OP_ADD, product(w, q, z),
                                 widen(w, rounded(w, sum_of(w, a, q, k, z)))));
        k *= a;
        if (i + 1 < to) {
            /* (a + z) r (a + z) */
            const int t = rounded(w, add_scaled(w, product(w, r, z), a, r));
            r = rounded(w, add_scaled(w, product(w, z, t), a, t));
        }
    }
    return rounded(
        w, add_scaled(w, chain->is_right ? product(w, x, q) : product(w, q, x),
                      k, x));
}

static int write_chain(writer *w, const cz_gram_chain *chain, int x)
{
    const bool is_kept =
        chain->inner == CZ_F32 && cz_dtype_is_narrow(at(w->to, x)->type.dtype);
    const int length = is_kept ? chain->n_rows : CZ_GRAM_SEGMENT;
    w->inner = chain->inner;
    if (w->inner == CZ_F16 && at(w->to, x)->type.dtype != CZ_F16)
        x = rounded(w, widen(w, x));
    for (int from = 0; from < chain->n_rows; from += length) {
        const int rest = chain->n_rows - from;
        x = write_segment(w, chain, from,
                          from + (rest < length ? rest : length), x);
    }
    return widen(w, x);
}

static const cz_gram_chain *chain_behind(const cz_gram_chain *chains, int n,
                                         int node)
{
    for (int i = 0; i < n; i++)
        if (chains[i].last == node)
            return &chains[i];
    return NULL;
}

cz_graph *cz_gram_rewrite(cz_arena *arena, const cz_graph *graph,
                          const cz_gram_chain *chains, int n)
{
    int *image = CZ_NEW(arena, int, graph->n);
    writer w = {.to = cz_graph_make(arena)};
    for (int i = 0; i < graph->n; i++) {
        const cz_gram_chain *chain = chain_behind(chains, n, i);
        cz_graph_node node = graph->nodes[i];
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        w.origin = node.origin;
        image[i] = chain ? write_chain(&w, chain, image[chain->first])
                         : cz_graph_add(w.to, &node);
    }
    for (int i = 0; i < graph->n_out; i++)
        cz_graph_add_out(w.to, image[graph->out[i]]);
    return w.to;
}
