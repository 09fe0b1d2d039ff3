/* What is to be planned, and a plan of it: which rank owns each matrix, and
 * where each parameter lies in its bucket.  Plain integers: nothing here
 * knows of names, meshes, the IR or a plan view.
 *
 * Time is int64 picoseconds, memory bytes, lengths elements of one rank's
 * shard.  All of a problem together, times the number of ranks, must stay
 * below 2^62.  Every choice has a total order, and no floating point is used:
 * equal problems have equal plans on any machine. */
#ifndef CZ_PASSES_SOLVE_PROBLEM_H
#define CZ_PASSES_SOLVE_PROBLEM_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Parameters that are alike in all that the solvers see.  Few classes keep
 * thousands of experts fast, so an extractor gives equal parameters one. */
typedef struct cz_solve_class {
    int64_t elements;      /* of the shard that lies in a bucket */
    int64_t cost_ps;       /* of the whole matrix, on the owner alone; of a
                            * divisible one, of the shard, wherever it lies */
    int64_t coordinate_ps; /* whole ones: on every rank of the owner's
                            * coordinate, besides; what all of them compute
                            * alike has no cost_ps and all of its time here */
    int64_t state_bytes;   /* of the shard, on the ranks that own it */
    bool divisible;        /* element-wise: may be cut anywhere */
    /* Whole ones that a slot computes together take batch_ps[n - 1] in place of
     * n times matrix_ps, which is of cost_ps, or where there is none of
     * coordinate_ps; more than n_batches, several batches.  n_batches 0: they
     * are computed one by one. */
    int n_batches;
    const int64_t *batch_ps;
    int64_t matrix_ps;
    int kind; /* from 0: what of a bucket is of another kind, or divisible where
               * the other is not, lies in a buffer of its own */
} cz_solve_class;

/* Who chooses the order inside a bucket. */
typedef enum cz_solve_order {
    CZ_ORDER_ENGINE, /* we do: whole matrices first, by owner; behind them all
                      * that is divisible */
    CZ_ORDER_TRAINER /* it is that of gradients */
} cz_solve_order;

/* How a bucket's gradients reach their owners, and parameters come back. */
typedef enum cz_solve_geometry {
    CZ_SLICES_UNEVEN, /* a reduction per slice, to its rank; each as long as
                       * what the rank owns */
    CZ_SLICES_PADDED, /* one reduce-scatter of slices as long as the longest */
    CZ_SLICES_EQUAL   /* one reduce-scatter of equal parts, wherever their ends
                       * fall; what lies in the part of one rank and in the
                       * slice of another then goes to its owner, all to all */
} cz_solve_geometry;

enum { CZ_SOLVE_N_GEOMETRIES = CZ_SLICES_EQUAL + 1 };

/* A cap on max / mean, as a ratio; denominator 0 means none. */
typedef struct cz_solve_cap {
    int64_t numerator, denominator;
} cz_solve_cap;

/* Coordinates are the ranks among which a bucket is sliced (those of DP).
 * Each has n_hosts ranks (TP) that hold one shard each of the same tensors:
 * a matrix gathers to one of them, its owner's host. */
typedef struct cz_solve_problem {
    int n_ranks, n_hosts;
    int n_classes;
    const cz_solve_class *classes;
    int n_items;         /* parameters, in the order in which gradients come */
    const int *class_of; /* [n_items] */
    int n_buckets;
    const int *bucket_start; /* [n_buckets + 1] first item of each */
    int64_t align; /* starts of items, and cuts, are multiples; at least 1 */
    cz_solve_order order;
    cz_solve_geometry geometry;
    const int64_t *initial_ps;    /* [n_ranks * n_hosts] what each rank has to
                                   * do besides, or NULL */
    const int64_t *initial_bytes; /* [n_ranks] of state, or NULL */
    cz_solve_cap state;           /* cap that the plan should keep */
    int64_t state_mean;  /* bytes that the cap on state is of, as with other
                          * problems together, or a limit and the cap 1 / 1; 0:
                          * the mean of this problem alone */
    int64_t most_padded; /* elements that the padded slices of whole items
                          * should have at most, in all buckets; 0: any */
    int64_t wire_ps;     /* per 1024 elements that a bucket's slowest rank
                          * sends; 0 leaves the wire out of predicted time */
    int64_t cut_ps;      /* a divisible item that takes less, and has little
                          * state, stays whole where that keeps caps; 0: all
                          * may be cut */
    bool is_joined;      /* batches are of all buckets, else of each */
} cz_solve_problem;

/* A plan.  Rank r has of bucket b the elements [slices[r], slices[r + 1])
 * and [fills[r], fills[r + 1]), counted from the bucket's start, where
 * slices = plan.slices + b * (n_ranks + 1), and fills likewise.  Slices cover
 * [0, fills[0]), fills the rest: divisible parameters behind the whole ones,
 * so that every rank may have a part of them and tensors stay in one piece.
 * Fills are empty in the trainer's order.
 *
 * Where slices are padded or parts equal, each buffer of a bucket is cut by
 * itself (evaluate.h): what is divisible equally, whatever slices and fills say
 * of it. */
typedef struct cz_solve_plan {
    const char *method; /* that found it */
    int *owner;         /* [n_items] rank; -1 for a divisible one */
    int *host;          /* [n_items] of the owner's hosts; -1 likewise */
    int *order;         /* [n_items] items by place: bucket b has the places
                         * from bucket_start[b] */
    int64_t *offset;    /* [n_items] by item, from the bucket's start */
    int64_t *length;    /* [n_buckets] */
    int64_t *slices;    /* [n_buckets * (n_ranks + 1)] */
    int64_t *fills;     /* [n_buckets * (n_ranks + 1)] */
} cz_solve_plan;

/* Buckets as Megatron makes them: items are appended until the bucket holds
 * `capacity` elements or more, then it is closed.  Sets n_buckets and
 * bucket_start from n_items, class_of and classes. */
void cz_solve_fill_buckets(cz_arena *arena, cz_solve_problem *problem,
                           int64_t capacity);

/* Whether two problems are equal in everything, and so have equal plans. */
bool cz_solve_problem_equals(const cz_solve_problem *a,
                             const cz_solve_problem *b);

/* Bytes of state that a rank may have by the cap; INT64_MAX: there is none. */
int64_t cz_solve_state_cap(const cz_solve_problem *problem);

/* Elements of a bucket that the fullest rank cannot have less of: the longest
 * whole item's, or all over the ranks; aligned. */
int64_t cz_solve_least_elements(const cz_solve_problem *problem, int bucket);

/* The same problem with nothing divisible: what costs per element then falls
 * on all hosts of the one coordinate that owns it. */
cz_solve_problem cz_solve_undivided(cz_arena *arena,
                                    const cz_solve_problem *problem);

/* An unfilled plan: owners and hosts -1, order that of gradients, with
 * offsets and lengths; slices and fills empty at the bucket's end. */
cz_solve_plan cz_solve_plan_make(cz_arena *arena,
                                 const cz_solve_problem *problem);
/* Offsets and lengths anew, after the order was changed. */
void cz_solve_plan_lay_out(const cz_solve_problem *problem,
                           cz_solve_plan *plan);
/* Order of each bucket by owner, then by gradient; what has no owner comes
 * last.  Offsets are then those of the order before. */
void cz_solve_plan_sort(cz_arena *scratch, const cz_solve_problem *problem,
                        cz_solve_plan *plan);
/* Slices that follow owners, which must be ascending along each bucket's
 * order; what is divisible belongs to the slice before it.  No fills. */
void cz_solve_plan_slice(const cz_solve_problem *problem, cz_solve_plan *plan);
/* Slices of equal length, aligned, the last ones shorter or empty. */
void cz_solve_plan_slice_equally(const cz_solve_problem *problem,
                                 cz_solve_plan *plan);
/* Hosts of owned items: longest first to the least loaded host of the owner's
 * coordinate, initial loads included. */
void cz_solve_plan_host(cz_arena *scratch, const cz_solve_problem *problem,
                        cz_solve_plan *plan);

#endif
