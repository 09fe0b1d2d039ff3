/* How many whole items of each class each rank has: all that load and state
 * depend on, so that 36,000 equal experts are a few numbers.  Private to the
 * solvers. */
#ifndef CZ_PASSES_SOLVE_COUNTS_H
#define CZ_PASSES_SOLVE_COUNTS_H

#include "passes/solve/problem.h"

/* A slot is one host of one coordinate: rank * n_hosts + host.  Layers are
 * buckets where it matters in which one an item lies; else there is one. */
typedef struct cz_counts {
    const cz_solve_problem *problem;
    int n_slots, n_kinds, n_layers;
    const int *kinds;   /* [n_kinds] whole classes, by falling cost */
    const int *kind_of; /* [n_classes] -1: divisible, or no item */
    const int *numbers; /* [n_layers * n_kinds] items of each */
    int *count;         /* [n_layers * n_slots * n_kinds] */
    int64_t *load_ps;   /* [n_slots] initial loads included */
    int64_t *state;     /* [n_ranks] likewise */
    int64_t *elements;  /* [n_layers * n_ranks] aligned */
    int64_t *most;      /* [n_layers] elements that a rank should have */
    /* A load and a state that no plan needs to be below: the mean with what is
     * divisible, and the cap (INT64_MAX: none). */
    int64_t goal_ps, state_cap;
} cz_counts;

/* Nothing placed yet; one layer, or one per bucket.  `most` has no limits. */
cz_counts cz_counts_make(cz_arena *arena, const cz_solve_problem *problem,
                         bool by_bucket);
/* Add `n` items of a kind to a slot, or take -n away. */
void cz_counts_put(cz_counts *counts, int layer, int slot, int kind, int n);
/* Elements of one item of a kind, aligned. */
int64_t cz_counts_length(const cz_counts *counts, int kind);
/* All kinds by falling length, of equally long ones the costlier first. */
int *cz_counts_longest(cz_arena *arena, const cz_counts *counts);
/* The load of the fullest slot. */
int64_t cz_counts_max(const cz_counts *counts);
/* The mean of all slots, rounded up. */
int64_t cz_counts_mean(const cz_counts *counts);
/* The sum over ranks of state above the cap. */
int64_t cz_counts_state_excess(const cz_counts *counts);

/* How many of a kind a slot has. */
static inline int *cz_counts_at(const cz_counts *counts, int layer, int slot,
                                int kind)
{
    const size_t row = (size_t)layer * (size_t)counts->n_slots + (size_t)slot;
    return &counts->count[row * (size_t)counts->n_kinds + (size_t)kind];
}

static inline int64_t *cz_counts_elements(const cz_counts *counts, int layer,
                                          int rank)
{
    const size_t row = (size_t)layer * (size_t)counts->problem->n_ranks;
    return &counts->elements[row + (size_t)rank];
}

static inline const cz_solve_class *cz_counts_class(const cz_counts *counts,
                                                    int kind)
{
    return &counts->problem->classes[counts->kinds[kind]];
}

/* Of one layer: longest processing time first (Graham 1969).  Each item goes
 * to the least loaded slot; ties to less state, then to the lower slot.  At
 * most 4/3 of the optimum.  O(n log R). */
void cz_counts_lpt(cz_arena *scratch, cz_counts *counts);

/* Of layers by bucket: each item to the least loaded slot whose rank has room
 * for it in the bucket, or where there is none, to the rank that has least of
 * the bucket.  Buckets with the least room first, in each the longest items
 * first.  O(n R). */
void cz_counts_pack(cz_arena *scratch, cz_counts *counts);

/* Local search: the union of what the fullest slot and another one have, in
 * one layer, is dealt out to the two anew, at best, until no partner helps;
 * then two other slots exchange something that keeps both below the fullest,
 * and so on while work is left.  `work` bounds the deals looked at.  Never
 * makes the pair (state above the cap, load of the fullest slot) larger, nor
 * what ranks have above `most`. */
void cz_counts_improve(cz_counts *counts, int64_t work);

#endif
