/* Depth first over how many of each kind the first slot gets, cut off where a
 * side is already too full. */
#include "passes/solve/deal.h"

#include "dsl/base/arithmetic.h"

#include <assert.h>
#include <string.h>

/* The sums of what the first side gets. */
typedef struct sums {
    int64_t cost_ps, shared_ps, state, elements;
} sums;

typedef struct search {
    cz_deal *deal;
    sums all;
    int64_t rest_ps[CZ_DEAL_MAX_KINDS + 1]; /* of the most of later kinds */
    int chosen[CZ_DEAL_MAX_KINDS];
    uint64_t n_found;
} search;

uint64_t cz_deal_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static sums add(sums s, const cz_deal_kind *kind, int n)
{
    return (sums){s.cost_ps + n * kind->cost_ps,
                  s.shared_ps + n * kind->shared_ps, s.state + n * kind->state,
                  s.elements + n * kind->elements};
}

static sums minus(sums a, sums b)
{
    return (sums){a.cost_ps - b.cost_ps, a.shared_ps - b.shared_ps,
                  a.state - b.state, a.elements - b.elements};
}

static int64_t load_of(const cz_deal_side *side, sums s)
{
    return cz_solve_max(side->load_ps + s.cost_ps + s.shared_ps,
                        side->others_ps + s.shared_ps);
}

static int64_t excess_of(const cz_deal *deal, const cz_deal_side *side, sums s)
{
    return cz_solve_max(0, side->state + s.state - deal->state_cap) +
           cz_solve_max(0, side->elements + s.elements - deal->elements_cap);
}

static sums sum_all(const cz_deal *deal, bool of_first)
{
    sums s = {0, 0, 0, 0};
    for (int k = 0; k < deal->n_kinds; k++)
        s = add(s, &deal->kinds[k],
                of_first ? deal->kinds[k].had : deal->kinds[k].total);
    return s;
}

void cz_deal_measure(cz_deal *deal)
{
    const sums first = sum_all(deal, true);
    const sums second = minus(sum_all(deal, false), first);
    deal->below_ps = cz_solve_max(load_of(&deal->side[0], first),
                                  load_of(&deal->side[1], second));
    deal->excess = excess_of(deal, &deal->side[0], first) +
                   excess_of(deal, &deal->side[1], second);
}

static bool is_present(const search *s)
{
    for (int k = 0; k < s->deal->n_kinds; k++)
        if (s->chosen[k] != s->deal->kinds[k].had)
            return false;
    return true;
}

static void keep(search *s)
{
    s->deal->is_found = true;
    memcpy(s->deal->given, s->chosen,
           (size_t)s->deal->n_kinds * sizeof *s->chosen);
}

/* A deal is whole: keep it when it is better, or when its turn has come. */
static void consider(search *s, sums first)
{
    cz_deal *deal = s->deal;
    const sums second = minus(s->all, first);
    const int64_t load = cz_solve_max(load_of(&deal->side[0], first),
                                      load_of(&deal->side[1], second));
    const int64_t excess = excess_of(deal, &deal->side[0], first) +
                           excess_of(deal, &deal->side[1], second);
    if (deal->at_random) {
        if (load >= deal->below_ps || excess > deal->excess || is_present(s))
            return;
        if (cz_deal_random(deal->random) % ++s->n_found == 0)
            keep(s);
        return;
    }
    if (excess > deal->excess ||
        (excess == deal->excess && load >= deal->below_ps))
        return;
    deal->excess = excess;
    deal->below_ps = load;
    keep(s);
}

static bool is_done(const search *s)
{
    return *s->deal->work < 0 || (!s->deal->at_random && s->deal->excess == 0 &&
                                  s->deal->below_ps <= s->deal->enough_ps);
}

/* Whether a side will be too full whatever comes: only where nothing is above
 * a cap, which would count more. */
static bool is_hopeless(const search *s, int depth, sums first)
{
    const cz_deal *deal = s->deal;
    const sums second = minus(s->all, first);
    return deal->excess == 0 &&
           (deal->side[0].load_ps + first.cost_ps + first.shared_ps >=
                deal->below_ps ||
            deal->side[1].load_ps + second.cost_ps + second.shared_ps -
                    s->rest_ps[depth] >=
                deal->below_ps);
}

static void descend(search *s, int depth, sums first)
{
    const cz_deal *deal = s->deal;
    --*deal->work;
    if (is_done(s) || is_hopeless(s, depth, first))
        return;
    if (depth == deal->n_kinds) {
        consider(s, first);
        return;
    }
    const cz_deal_kind *kind = &deal->kinds[depth];
    for (int n = kind->most; n >= kind->least; n--) {
        s->chosen[depth] = n;
        descend(s, depth + 1, add(first, kind, n));
    }
}

/* Bounds of what the first side gets, so that about `limit` deals are left. */
static void narrow(cz_deal *deal, int64_t limit)
{
    for (int width = 1 << 20;; width /= 2) {
        int64_t deals = 1;
        for (int k = 0; k < deal->n_kinds; k++) {
            cz_deal_kind *kind = &deal->kinds[k];
            kind->least = kind->had > width ? kind->had - width : 0;
            kind->most = kind->total - kind->had > width ? kind->had + width
                                                         : kind->total;
            if (deals <= limit)
                deals *= kind->most - kind->least + 1;
        }
        if (deals <= limit || width == 1)
            return;
    }
}

void cz_deal_search(cz_deal *deal, int64_t limit)
{
    search s = {.deal = deal, .all = sum_all(deal, false)};
    assert(deal->n_kinds <= CZ_DEAL_MAX_KINDS);
    deal->is_found = false;
    narrow(deal, limit);
    for (int k = deal->n_kinds; k-- > 0;)
        s.rest_ps[k] = s.rest_ps[k + 1] +
                       deal->kinds[k].most *
                           (deal->kinds[k].cost_ps + deal->kinds[k].shared_ps);
    descend(&s, 0, (sums){0, 0, 0, 0});
}
