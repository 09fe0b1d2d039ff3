/* The ways of a class of matrices under Newton-Schulz, from a machine's
 * constants: a time table for the sub-group planner where none is measured.
 * Knows shapes and rates only. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_WAYS_H
#define CZ_PASSES_SOLVE_SUBGROUP_WAYS_H

#include "passes/solve/subgroup.h"

/* X <- a X + (b A + c A A) X with A = X X', n_rounds times, n x l with n <= l.
 * A product of m x k by k x n takes ceil(tiles / n_units) waves of tiles and a
 * launch, or, without tiles, 2 m n k / flops_per_s. */
typedef struct cz_subgroup_machine {
    int64_t flops_per_s;                  /* of products */
    int tile_rows, tile_columns, n_units; /* 0: no tiles */
    int64_t launch_ps;                    /* of a product */
    int64_t memory_bytes_per_s;
    int bytes_per_element; /* moved in memory by one update, products apart */
    int64_t latency_ps;    /* of a transfer; a reduction has two */
    int64_t node_bytes_per_s, net_bytes_per_s; /* per rank and direction */
    int node; /* consecutive ranks of a row that the faster link joins */
    int gather_bytes, scatter_bytes, exchange_bytes; /* of an element */
    bool is_packed; /* symmetric n x n travels as n (n + 1) / 2 elements */
    int n_rounds;
    /* What if: multiples of the modelled times, 1 as modelled. */
    int gather_scale, cube_scale, reduce_scale;
} cz_subgroup_machine;

typedef struct cz_subgroup_shape {
    int64_t short_side, long_side; /* in elements */
    bool is_sharded_short; /* the row's shards cut the short side: partial
                            * Gram matrices then need a transposition */
    bool is_in_place; /* block's ranks hold equal parts already (their slices
                       * of a DP axis): nothing to gather or scatter */
} cz_subgroup_shape;

/* Time of a batch of equal products m x k by k x n. */
int64_t cz_subgroup_product_ps(const cz_subgroup_machine *machine, int64_t m,
                               int64_t n, int64_t k, int64_t batch);

/* Time of one matrix on one rank, all rounds, of a batch of `batch`; the
 * batch's time divided by it, rounded down.  Gather and scatter apart. */
int64_t cz_subgroup_whole_ps(const cz_subgroup_machine *machine,
                             const cz_subgroup_shape *shape, int64_t batch);

/* All ways in a row of `width` ranks: owner, and each gram form with g = 2,
 * 4, ... up to width; where products have tiles, also in batches up to
 * max_batch.  Returns how many; `*ways` lives in `arena`. */
int cz_subgroup_list_ways(cz_arena *arena, const cz_subgroup_machine *machine,
                          const cz_subgroup_shape *shape, int width,
                          int max_batch, const cz_subgroup_way **ways);

#endif
