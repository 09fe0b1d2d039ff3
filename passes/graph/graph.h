/* A straight-line function of math form as arrays: what the solvers of this
 * folder work on.  Knows the types of dsl/ir/ir.h but nothing of a module.
 *
 * A node stands behind its operands.  Equal nodes are one node, so nobody
 * computes anything twice, and moved values are brought to one form: what is
 * transposed or broadcast is rounded before and extended or compared after,
 * and a value that is the same everywhere is never moved at all. */
#ifndef CZ_PASSES_GRAPH_GRAPH_H
#define CZ_PASSES_GRAPH_GRAPH_H

#include "dsl/base/arena.h"
#include "dsl/ir/ir.h"

#include <stdbool.h>

typedef enum cz_graph_kind {
    CZ_GRAPH_IN,        /* tensor argument `index` */
    CZ_GRAPH_SCALAR,    /* scalar argument `index`, in every element */
    CZ_GRAPH_CONSTANT,  /* `constant`, in every element */
    CZ_GRAPH_ELEMENT,   /* `op` of operands of its shape */
    CZ_GRAPH_INDEX,     /* a vector whose element i is i; lies nowhere */
    CZ_GRAPH_TRANSPOSE, /* of a matrix */
    CZ_GRAPH_REDUCE,    /* f64 sum, or largest, over `dims`, which vanish */
    CZ_GRAPH_BROADCAST, /* `dims` are new */
    CZ_GRAPH_PRODUCT,   /* a @ b in f32 */
    CZ_GRAPH_FACTOR,    /* result `index` of a factorisation; a node each */
    CZ_GRAPH_CHOICE,    /* of two values by phase: see passes/cut/phases.h */
    CZ_GRAPH_COPY       /* its operand, stored anew (kernel form alone) */
} cz_graph_kind;

enum { CZ_GRAPH_MAX_IN = 3 };

typedef struct cz_graph_node {
    cz_graph_kind kind;
    cz_opcode op;    /* ELEMENT; CONSTANT has CZ_OP_CONSTANT; REDUCE:
                      * CZ_OP_MAX for the largest instead of the sum */
    cz_ir_type type; /* a tensor's */
    int n_in;
    int in[CZ_GRAPH_MAX_IN]; /* earlier nodes */
    int index;
    cz_factor factor; /* FACTOR, with its parameters */
    double parameters[CZ_FACTOR_PARAMETERS];
    unsigned dims; /* bit d: dimension d */
    double constant;
    const char *predicate; /* COMPARE, else NULL */
    bool is_uniform;       /* the same in every element: made of scalars and
                            * constants alone; set by cz_graph_add() */
    cz_ir_op origin;       /* whose place in the source it has, or none;
                            * gone where its function is */
} cz_graph_node;

typedef struct cz_graph {
    cz_arena *arena;
    int n;
    cz_graph_node *nodes;
    int n_out;
    int *out; /* node behind each result */
} cz_graph;

cz_graph *cz_graph_make(cz_arena *arena);
/* Number of the node that equals `node`, made unless it is there. */
int cz_graph_add(cz_graph *graph, const cz_graph_node *node);
void cz_graph_add_out(cz_graph *graph, int node);

/* Shorthands of cz_graph_add(). */
int cz_graph_in(cz_graph *graph, int index, cz_ir_type type);
int cz_graph_scalar(cz_graph *graph, int index, cz_ir_type type);
int cz_graph_unary(cz_graph *graph, cz_opcode op, int a, cz_dtype dtype);

bool cz_graph_is_uniform(const cz_graph *graph, int node);
/* Do both nodes name one factorisation, of whatever operands? */
bool cz_graph_same_factor(const cz_graph_node *a, const cz_graph_node *b);
/* Bit by bit: the two zeros differ. */
bool cz_graph_same_constant(double a, double b);
/* Node by node, and in results. */
bool cz_graph_is_same(const cz_graph *a, const cz_graph *b);
/* Do two types agree in rank and shape? */
bool cz_graph_same_shape(cz_ir_type a, cz_ir_type b);
/* The nodes that some result depends on.  [n], from the arena. */
bool *cz_graph_find_live(const cz_graph *graph, cz_arena *arena);
/* How many live nodes, and results, use each node; a node that uses it twice
 * counts once.  [n], from the arena. */
int *cz_graph_count_uses(const cz_graph *graph, cz_arena *arena);

#endif
