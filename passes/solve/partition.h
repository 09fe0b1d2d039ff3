/* The union of what two slots have, dealt out to them anew.  Private to the
 * solvers. */
#ifndef CZ_PASSES_SOLVE_PARTITION_H
#define CZ_PASSES_SOLVE_PARTITION_H

#include "passes/solve/counts.h"

enum { CZ_PARTITION_MAX_KINDS = 24 };

/* One kind in the union of two slots, and what one of it adds. */
typedef struct cz_partition_kind {
    int total, had;  /* of both; of the first before */
    int least, most; /* the first gets between these */
    int64_t cost_ps; /* on its slot; coordinate_ps on all its coordinate's */
    int64_t coordinate_ps, state, elements;
} cz_partition_kind;

/* What a partition has to keep or make small, for the first and second slot. */
typedef struct cz_partition_side {
    int64_t load_ps;   /* with nothing of the union */
    int64_t others_ps; /* likewise, the fullest other host */
    int64_t state, elements;
} cz_partition_side;

typedef struct cz_partition {
    int n_kinds;
    cz_partition_kind kinds[CZ_PARTITION_MAX_KINDS];
    cz_partition_side side[2];
    int64_t state_cap, elements_cap;
    int64_t below_ps;  /* a partition must have both sides below this, and */
    int64_t excess;    /* not more above the caps */
    int64_t enough_ps; /* and no partition need be below this */
    bool at_random;    /* any such partition, but not the present one; else the
                          best */
    uint64_t *random;  /* state of the generator */
    int64_t *work;     /* counts down; nothing is looked at below 0 */
    /* the result: how many of each kind the first gets, if any were found */
    bool is_found;
    int given[CZ_PARTITION_MAX_KINDS];
} cz_partition;

/* Load and excess of the present partition; sets below_ps and excess to them.
 */
void cz_partition_measure(cz_partition *partition);
/* Search, depth first, at most about `limit` partitions: where there are more,
 * each kind stays nearer to what it was.  Sets is_found and given. */
void cz_partition_search(cz_partition *partition, int64_t limit);

/* A deterministic generator (Knuth's MMIX): the upper bits of its state. */
uint64_t cz_partition_random(uint64_t *state);

#endif
