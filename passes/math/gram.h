/* The Gram form of polynomial iterations: plain C on graphs.
 *
 * Rows (a, b, c) of x <- a x + (b g + c g g) x with g = x x' multiply x by a
 * polynomial in x x', so that the products of n x n matrices
 *   z = b r + c r r,  k + q <- (k + q) (a + z),  r <- (a + z) r (a + z)
 * from r = x x' and k + q = 1 give x <- k x + q x behind any number of rows,
 * with x itself in two products alone (Dao's gram-newton-schulz).  The number k
 * stands for k times the identity: no step has to know rows and columns, so
 * that ranks can share the matrix.  Likewise of x (b g + c g g) with g = x' x.
 * Where x is bf16 or f16 and divided by its norm all is rounded to f16, which
 * tensor cores multiply; else n x n matrices are f32, also where those of the
 * formula were bf16.  What is rounded away of r's small eigenvalues is lost. */
#ifndef CZ_PASSES_MATH_GRAM_H
#define CZ_PASSES_MATH_GRAM_H

#include "passes/graph/graph.h"

typedef struct cz_gram_row {
    double a, b, c;
} cz_gram_row;

typedef struct cz_gram_chain {
    int first;      /* x before the first row */
    int last;       /* f32 behind the last row; what rounds it is no part */
    cz_dtype inner; /* of what is computed: f16 where x is bf16 or f16, divided
                     * by its norm; else f32 */
    bool is_right;  /* x @ p, else p @ x */
    int n_rows;     /* at least 2 */
    const cz_gram_row *rows;
} cz_gram_chain;

/* The longest chains of rows among live nodes, no row in two of them; *n of
 * them, from the arena, by descending `last`. */
cz_gram_chain *cz_gram_find(cz_arena *arena, const cz_graph *graph, int *n);

/* r is made anew from x behind so many rows, without which its rounding grows
 * with each: unless x is narrow and r is not, for then r outlasts x. */
enum { CZ_GRAM_SEGMENT = 3 };

/* The graph with these chains in Gram form; what it replaces is dead. */
cz_graph *cz_gram_rewrite(cz_arena *arena, const cz_graph *graph,
                          const cz_gram_chain *chains, int n);

#endif
