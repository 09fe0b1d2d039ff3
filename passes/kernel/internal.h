/* What the parts of the kernel former share.
 *
 * A node is *real* when it needs a place of its own in some loop: element-wise
 * arithmetic, sums, copies.  Conversions to a wider type, comparisons and
 * what is the same everywhere are *cheap*: each loop computes them anew.
 * Transposes and broadcasts are no operations at all but ways to reach a
 * stored value, and a vector of indices is the number of the row or column. */
#ifndef CZ_PASSES_KERNEL_INTERNAL_H
#define CZ_PASSES_KERNEL_INTERNAL_H

#include "passes/kernel/kernel.h"

/* A product with the operations that follow it. */
typedef struct cz_kernel_product {
    int end; /* the node whose value is the step's result */
    int a, b;
    bool transpose_a, transpose_b, symmetric;
    bool is_affine; /* alpha * acc + beta * s, no body */
    double alpha, beta;
    int s; /* -1: none */
} cz_kernel_product;

typedef struct cz_kernel_work {
    cz_arena *arena;
    const cz_graph *graph; /* prepared, see cz_kernel_prepare() */
    bool *live;
    const bool *symmetric; /* its value equals its transpose */
    bool *stored; /* its value lies in memory however loops are formed */
    int *unit;    /* the product whose step computes the node, the first result
                   * of the node's factorisation, or the node */
    cz_kernel_product *products; /* [n], of PRODUCT nodes */
    int *step;                   /* of each node's unit, -1: given */
    int *value;                  /* value number of a stored node */
} cz_kernel_work;

/* The graph with a copy in front of every result and operand of a product
 * that would have no memory of its own; live nodes only. */
cz_graph *cz_kernel_prepare(cz_arena *arena, const cz_graph *graph);

/* Has it a step of its own, whatever stands beside it? */
bool cz_kernel_is_alone(cz_graph_kind kind);
bool cz_kernel_is_real(const cz_graph *graph, int node);
/* Where an operand comes from: follows transposes and broadcasts from `node`,
 * which is reached by *access, to what they move. */
int cz_kernel_source(const cz_graph *graph, int node, cz_access *access);
/* A product's operand: what is behind its transposes. */
int cz_kernel_peel(const cz_graph *graph, int node, bool *transposed);

/* Marks what is stored because of products, results and accesses from
 * afar. */
void cz_kernel_find_stored(cz_kernel_work *work);
/* Fills work->products and work->unit. */
void cz_kernel_fold_products(cz_kernel_work *work);
/* [n]: which nodes equal their transposes, where in[i] says it of argument i;
 * NULL: of none.  Strict: bit by bit. */
bool *cz_kernel_find_symmetric(const cz_graph *graph, cz_arena *arena,
                               const bool *in, bool is_strict);
/* Is that node the product's, as alpha * acc + beta * s? */
void cz_kernel_match_affine(const cz_kernel_work *work, int product,
                            cz_kernel_product *it);

/* An operand of a body: a stored node, or a SCALAR. */
typedef struct cz_kernel_operand {
    int node;
    cz_access access;
} cz_kernel_operand;

/* Behind the operands a body takes what is generated. */
typedef struct cz_kernel_operands {
    int n;
    cz_kernel_operand *list;
    int n_generated;
    cz_generator *generated;
} cz_kernel_operands;

/* The body that computes nodes `out` (n_out of them) inside the step of
 * `unit`s for which inside[node].  With product >= 0 the body's first input is
 * that node's value, the accumulator, and operands follow it. */
cz_view_body cz_kernel_body(const cz_kernel_work *work, const bool *inside,
                            int product, const int *out, int n_out,
                            cz_kernel_operands *operands);

#endif
