/* Private to passes/simulate: a list of operations while it grows.
 *
 *   layers    forward and backward passes, layer by layer
 *   baseline  the operations of an iteration of a baseline
 *   simulate  those of a plan; iterations, and what is read off them */
#ifndef CZ_PASSES_SIMULATE_INTERNAL_H
#define CZ_PASSES_SIMULATE_INTERNAL_H

#include "passes/cost/op_time.h"
#include "passes/simulate/simulate.h"

/* Layers in the order of the forward pass: what comes before the first, each
 * layer, what comes behind the last.  Picoseconds on each rank, -1 where it
 * has nothing of the layer. */
typedef struct cz_simulate_layers {
    int n;
    const int *of_param;           /* [n_params] */
    const cz_wide *elements;       /* [n] of all trained parameters */
    int64_t **forward, **backward; /* [n][n_ranks] */
} cz_simulate_layers;

/* What an operation of the list is for. */
typedef enum cz_simulate_role {
    CZ_SIMULATE_FORWARD,
    CZ_SIMULATE_BACKWARD,
    CZ_SIMULATE_REDUCE,
    CZ_SIMULATE_DECIDE,
    CZ_SIMULATE_UPDATE,
    CZ_SIMULATE_GATHER
} cz_simulate_role;

typedef struct cz_simulate_mark {
    cz_simulate_role role;
    int iteration;
} cz_simulate_mark;

typedef struct cz_simulation {
    cz_arena *arena;
    const cz_document *document;
    const cz_simulate_options *options;
    cz_op_prices prices; /* no operation is so long that a sum overflows */
    cz_simulate_layers layers;
    cz_timeline_list list;
    cz_simulate_mark *marks; /* [list.n_ops] */
    int n_marks;
    int iteration; /* that is being listed */
    bool *is_slow; /* [n_ranks] stragglers */
} cz_simulation;

void cz_simulate_make_layers(cz_simulation *s);

/* Appends an operation and returns its number.  What computes is slowed down
 * here. */
int cz_simulate_append(cz_simulation *s, cz_simulate_role role,
                       cz_timeline_op op);

/* The model's passes: each layer of the forward pass with its waits; of the
 * backward pass, ops[layer] is the operation. */
void cz_simulate_list_forward(cz_simulation *s, int *const *waits,
                              const int *n_waits);
void cz_simulate_list_backward(cz_simulation *s, int *ops);

/* An iteration is forward, backward, then what follows; gathers of one are
 * waited for in the next.  What a lister keeps between iterations is its own.
 */
void *cz_simulate_baseline_lister(cz_simulation *s, int baseline);
void cz_simulate_list_baseline(cz_simulation *s, void *lister);

#endif
