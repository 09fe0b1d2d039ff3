/* Owners of matrices: longest processing time first, on integer flops.  A
 * solver on plain arrays; knows nothing of parameters, meshes or the IR. */
#ifndef CZ_PASSES_ASSIGN_H
#define CZ_PASSES_ASSIGN_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Ranks form a grid of n_rows rows and n_shard columns.  An item goes to one
 * split coordinate, which is one row or, where its states split over fewer
 * axes, several that each compute one of its kind; and, unless all columns of
 * a row compute alike, to one shard coordinate: one column, or, where fewer
 * axes shard it, several that each compute it. */
typedef struct cz_assign_item {
    int64_t cost;   /* flops on the owner */
    int64_t shared; /* flops on every rank of the owner's row, besides */
    int64_t memory; /* elements that each rank of the row then holds */
    bool on_row;    /* all ranks of the row pay `cost` */
    const int *split_of_row; /* [n_rows] the split coordinate of each row; -1:
                              * the item never is there */
    int n_splits;
    const int *shard_of_column; /* [n_shard] the shard coordinate of each
                                 * column; NULL: its number */
    int n_shards;
} cz_assign_item;

typedef struct cz_assign_place {
    int split; /* coordinate, of item.n_splits */
    int shard; /* coordinate, of item.n_shards; -1: the whole row */
} cz_assign_place;

typedef struct cz_assign_problem {
    int n_items;
    const cz_assign_item *items;
    int n_rows, n_shard;
    const bool *has_rank; /* [n_rows * n_shard], or NULL: every cell has one */
} cz_assign_problem;

/* Graham's LPT: items by falling cost, each to the least loaded rank; ties go
 * to the row with less memory, then to the lower rank.  Sums of all costs,
 * times n_shard, must fit int64.  `places` has n_items entries; `loads`, with
 * n_rows * n_shard entries, gets the flops of each rank.  O(n_items * ranks).
 * Makespan at most 4/3 of the optimum. */
void cz_assign_solve(cz_arena *scratch, const cz_assign_problem *problem,
                     cz_assign_place *places, int64_t *loads);

#endif
