/* Private to passes/simulate: a list of operations while it grows.
 *
 *   ranks     axes, coordinates, communicators, links
 *   work      how long kernels and collectives take
 *   model     forward and backward passes, layer by layer
 *   plan      the operations of an iteration, as the schedule has them
 *   baseline  those of a baseline
 *   simulate  iterations, and what is read off them
 *   timeline  one step by itself, operation by operation */
#ifndef CZ_PASSES_SIMULATE_INTERNAL_H
#define CZ_PASSES_SIMULATE_INTERNAL_H

#include "passes/cost/time.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/timeline.h"

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
typedef enum cz_simulate_part {
    CZ_PART_FORWARD,
    CZ_PART_BACKWARD,
    CZ_PART_REDUCE,
    CZ_PART_DECIDE,
    CZ_PART_UPDATE,
    CZ_PART_GATHER
} cz_simulate_part;

typedef struct cz_simulate_mark {
    cz_simulate_part part;
    int iteration;
} cz_simulate_mark;

typedef struct cz_simulation {
    cz_arena *arena;
    const cz_document *document;
    const cz_simulate_options *options;
    int64_t cap_ps; /* of one operation, so that no sum overflows */
    cz_simulate_layers layers;
    cz_timeline_list list;
    cz_simulate_mark *marks; /* [list.n_ops] */
    int n_marks;
    int iteration;            /* that is being listed */
    bool *is_slow;            /* [n_ranks] stragglers */
    cz_timeline_comm *cached; /* by set of axes; n = 0: not made yet */
} cz_simulation;

/* ---- ranks ---- */

int cz_simulate_extent(const cz_document *document, int64_t set);
int cz_simulate_coordinate(const cz_document *document, int64_t set, int rank);
bool cz_simulate_is_home(const cz_document *document,
                         const cz_document_home *home, int rank);
/* The communicators over a set of axes, or their blocks, unless those are of 0
 * ranks. */
cz_timeline_comm cz_simulate_comm(cz_simulation *s, int64_t set,
                                  cz_block block);

/* ---- work ---- */

int64_t cz_simulate_longest(const int64_t *own, int n);
/* A message of `bytes` that the ranks over reduce_set sum to slices over
 * split_set, the longest of longest_bytes. */
int64_t cz_simulate_reduce_ps(const cz_simulation *s, cz_wide bytes,
                              cz_wide longest_bytes,
                              const cz_document_reduction *reduction,
                              bool is_uneven);
int64_t cz_simulate_gather_ps(const cz_simulation *s, cz_wide bytes,
                              int64_t set, bool is_uneven);
int64_t cz_simulate_map_ps(const cz_simulation *s, cz_wide bytes);
/* Time of an operation of the schedule on each rank, -1 where it is skipped;
 * [n_ranks]. */
const int64_t *cz_simulate_op_ps(cz_simulation *s, int op);

/* ---- lists ---- */

void cz_simulate_make_layers(cz_simulation *s);
/* An array of one time for every rank. */
int64_t *cz_simulate_alike(cz_simulation *s, int64_t ps);
/* Append an operation, joint over the axes of `set` unless that is 0; its
 * number.  What computes is slowed down here. */
int cz_simulate_append(cz_simulation *s, cz_simulate_part part,
                       cz_timeline_stream stream, int64_t set,
                       const int64_t *ps, const int *waits, int n_waits);
/* An operation of the plan, joint in its blocks. */
int cz_simulate_append_op(cz_simulation *s, cz_simulate_part part,
                          const cz_document_op *op, const int64_t *ps,
                          const int *waits, int n_waits);

/* A list without operations, of which an iteration will have n_ops; `arena` is
 * initialised, and the caller's to let go. */
void cz_simulate_begin(cz_simulation *s, cz_arena *arena,
                       const cz_document *document,
                       const cz_simulate_options *options, int n_ops);
/* Draws the ranks that are slower. */
void cz_simulate_pick_stragglers(cz_simulation *s);
/* The model's passes: each layer of the forward pass with its waits; of the
 * backward pass, ops[layer] is the operation. */
void cz_simulate_list_forward(cz_simulation *s, int *const *waits,
                              const int *n_waits);
void cz_simulate_list_backward(cz_simulation *s, int *ops);

/* An iteration is forward, backward, then what follows; gathers of one are
 * waited for in the next.  What a lister keeps between iterations is its own.
 */
void *cz_simulate_plan_lister(cz_simulation *s);
void *cz_simulate_baseline_lister(cz_simulation *s, int baseline);
void cz_simulate_list_plan(cz_simulation *s, void *lister);
void cz_simulate_list_baseline(cz_simulation *s, void *lister);

#endif
