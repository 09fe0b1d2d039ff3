/* The bound by fit: the least time in which loads that a rank can end by then,
 * as many as there are ranks, hold all matrices and all work that may be cut
 * anywhere, and send no more than the cap.
 *
 * It is the linear program of configurations (Gilmore and Gomory), by its dual.
 * A rank's load is a set of items, each what a job asks of every rank of its
 * block; no item of a job that alone takes longer than T is in a plan that
 * ends by T.  Let a matrix of class c be worth y_c >= 0 and a byte cost p >= 0,
 * so that a item of a batch of b on g ranks is worth (b y_c - p bytes) / g,
 * let all that is divisible be worth d >= 0, a part of it that part, and let
 * V(T) be the most that any load is worth within T.  Then
 *
 *     sum of count_c y_c + d - p cap <= n_ranks V(T),
 *
 * for every plan: prices for which this is false refute T.  They come from the
 * program (passes/solve/bound/cover.h), V(T) from above
 * (passes/solve/bound/load.h), so that the proof is of integers alone.
 * Pieces do not come in halves: that is what it sees and a mean does not. */
#ifndef CZ_PASSES_SOLVE_BOUND_PACKING_H
#define CZ_PASSES_SOLVE_BOUND_PACKING_H

#include "passes/solve/bound/load.h"

/* Prices are in 2^-40 of what a rank's time is worth, or somewhat less. */
enum { CZ_PACKING_RANK_BITS = 40 };

typedef struct cz_packing_problem {
    int64_t n_ranks;
    int n_classes;
    const int64_t *counts; /* [class] matrices; 0: it needs none */
    int n_items;
    cz_bin_item *items;     /* `worth` is written here */
    int64_t divisible_ps;   /* of all ranks together; 0: none */
    int64_t wire_cap_bytes; /* INT64_MAX: none */
    int64_t low_ps;         /* shorter times are not looked at */
} cz_packing_problem;

typedef struct cz_packing_prices {
    int64_t *matrix;   /* [class] */
    int64_t divisible; /* of all of it */
    int64_t byte;      /* in 2^-byte_bits of a matrix's unit */
    int byte_bits;
} cz_packing_prices;

/* `prices` are the last that refuted a time: time_ps - 1, where each class has
 * items that end by low_ps and bytes have no cap.  All are 0 where none did;
 * time_ps is then low_ps, or what is divisible over all ranks. */
typedef struct cz_packing {
    int64_t time_ps; /* no plan ends before; 0: none keeps the cap */
    int most;        /* the class worth most; -1: none has a price */
    cz_packing_prices prices;
} cz_packing;

/* The least time that was not refuted, to a part in 4096 (less). */
cz_packing cz_packing_find(cz_arena *arena, const cz_packing_problem *problem);

#endif
