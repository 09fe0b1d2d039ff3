/* Private to passes/simulate: a list of operations while it grows.
 *
 *   layers      forward and backward passes, layer by layer
 *   baseline    the operations of an iteration of a baseline
 *   contention  kernels that are slower beside links
 *   simulate    those of a plan; iterations, and what is read off them */
#ifndef CZ_PASSES_SIMULATE_INTERNAL_H
#define CZ_PASSES_SIMULATE_INTERNAL_H

#include "passes/cost/op_time.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/fold.h"

/* Layers in the order of the forward pass: what comes before the first, each
 * layer, what comes behind the last.  Picoseconds on each rank, -1 where it
 * has nothing of the layer. */
typedef struct cz_simulate_layers {
    int n;
    const int *of_param;           /* [n_params] */
    int64_t **forward, **backward; /* [n][n_ranks] */
    int64_t *links;                /* [n_ranks] of them, of all layers */
    int64_t fill, drain; /* on every rank: of the pipeline; 0 without one */
    int64_t microbatches, activation_bytes; /* as cz_simulate_model has them */
} cz_simulate_layers;

/* Buckets of a plan, or messages of a baseline. */
typedef struct cz_simulate_buckets {
    int n;
    bool *has;        /* [n_layers * n] some of the layer */
    int *first_layer; /* [n] whose gradients come last */
    int *gather_of;   /* [n] in the iteration before; -1: none */
} cz_simulate_buckets;

/* What an operation of the list is for. */
typedef enum cz_simulate_role {
    CZ_SIMULATE_FORWARD,
    CZ_SIMULATE_BACKWARD,
    CZ_SIMULATE_BUBBLE,
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
    cz_timeline_list list;   /* in the end of ranks that differ */
    const int *n_alike;      /* [list.n_ranks] how many each is, then */
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

/* Empty ones, and a parameter of one of them. */
cz_simulate_buckets cz_simulate_buckets_make(cz_simulation *s, int n);
void cz_simulate_put(const cz_simulation *s, cz_simulate_buckets *buckets,
                     int bucket, int param);

/* The model's passes: a layer of the forward pass waits for the gathers of what
 * has some of it; of the backward pass, ops[layer] is the operation. */
void cz_simulate_list_forward(cz_simulation *s,
                              const cz_simulate_buckets *buckets);
void cz_simulate_list_backward(cz_simulation *s, int *ops);

/* Times of all that is listed: kernels are lengthened by what they share with
 * links, in rounds, each by what the one before it had. */
cz_timeline_times cz_simulate_contention(cz_simulation *s);

/* An iteration is forward, backward, then what follows; gathers of one are
 * waited for in the next.  What a lister keeps between iterations is its own.
 */
void *cz_simulate_baseline_lister(cz_simulation *s, int baseline);
/* Whether an iteration of it takes less on each rank, if that waits for no
 * other: where it does not, none is so short. */
bool cz_simulate_may_be_shorter(cz_simulation *s, void *lister, int64_t ps);
/* What iterations have, before the first of them is listed. */
void cz_simulate_make_ops(cz_simulation *s, void *lister);
void cz_simulate_list_baseline(cz_simulation *s, void *lister);

#endif
