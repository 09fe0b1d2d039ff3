/* The union of what two slots have, dealt out to them anew.  Private to the
 * solvers. */
#ifndef CZ_PASSES_SOLVE_DEAL_H
#define CZ_PASSES_SOLVE_DEAL_H

#include "passes/solve/counts.h"

enum { CZ_DEAL_MAX_KINDS = 24 };

/* One kind in the union of two slots, and what one of it adds. */
typedef struct cz_deal_kind {
    int total, had;  /* of both; of the first before */
    int least, most; /* the first gets between these */
    int64_t cost_ps; /* on its slot; shared_ps on all its coordinate's */
    int64_t shared_ps, state, elements;
} cz_deal_kind;

/* What a deal has to keep or make small, for the first and second slot. */
typedef struct cz_deal_side {
    int64_t load_ps;   /* with nothing of the union */
    int64_t others_ps; /* likewise, the fullest other host */
    int64_t state, elements;
} cz_deal_side;

typedef struct cz_deal {
    int n_kinds;
    cz_deal_kind kinds[CZ_DEAL_MAX_KINDS];
    cz_deal_side side[2];
    int64_t state_cap, elements_cap;
    int64_t below_ps;  /* a deal must have both sides below this, and */
    int64_t excess;    /* not more above the caps */
    int64_t enough_ps; /* and no deal need be below this */
    bool at_random; /* any such deal, but not the present one; else the best */
    uint64_t *random; /* state of the generator */
    int64_t *work;    /* counts down; nothing is looked at below 0 */
    /* the result: how many of each kind the first gets, if any were found */
    bool is_found;
    int given[CZ_DEAL_MAX_KINDS];
} cz_deal;

/* Load and excess of the present deal; sets below_ps and excess to them. */
void cz_deal_measure(cz_deal *deal);
/* Search, depth first, at most about `limit` deals: where there are more, each
 * kind stays nearer to what it was.  Sets is_found and given. */
void cz_deal_search(cz_deal *deal, int64_t limit);

/* A deterministic generator (Knuth's MMIX): the upper bits of its state. */
uint64_t cz_deal_random(uint64_t *state);

#endif
