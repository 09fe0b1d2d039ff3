/* Depth first over how many of each kind the first slot gets, cut off where a
 * side is already too full. */
#include "passes/solve/partition.h"

#include "dsl/base/arithmetic.h"

#include <assert.h>
#include <string.h>

/* The sums of what the first side gets. */
typedef struct sums {
    int64_t cost_ps, coordinate_ps, state, elements;
} sums;

typedef struct search {
    cz_partition *partition;
    sums all;
    int64_t
        rest_ps[CZ_PARTITION_MAX_KINDS + 1]; /* of the most of later kinds */
    int chosen[CZ_PARTITION_MAX_KINDS];
    uint64_t n_found;
} search;

uint64_t cz_partition_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static sums add(sums s, const cz_partition_kind *kind, int n)
{
    return (sums){s.cost_ps + n * kind->cost_ps,
                  s.coordinate_ps + n * kind->coordinate_ps,
                  s.state + n * kind->state, s.elements + n * kind->elements};
}

static sums minus(sums a, sums b)
{
    return (sums){a.cost_ps - b.cost_ps, a.coordinate_ps - b.coordinate_ps,
                  a.state - b.state, a.elements - b.elements};
}

static int64_t load_of(const cz_partition_side *side, sums s)
{
    return cz_solve_max(side->load_ps + s.cost_ps + s.coordinate_ps,
                        side->others_ps + s.coordinate_ps);
}

static int64_t excess_of(const cz_partition *partition,
                         const cz_partition_side *side, sums s)
{
    return cz_solve_max(0, side->state + s.state - partition->state_cap) +
           cz_solve_max(0,
                        side->elements + s.elements - partition->elements_cap);
}

static sums sum_all(const cz_partition *partition, bool of_first)
{
    sums s = {0, 0, 0, 0};
    for (int k = 0; k < partition->n_kinds; k++)
        s = add(s, &partition->kinds[k],
                of_first ? partition->kinds[k].had : partition->kinds[k].total);
    return s;
}

void cz_partition_measure(cz_partition *partition)
{
    const sums first = sum_all(partition, true);
    const sums second = minus(sum_all(partition, false), first);
    partition->below_ps = cz_solve_max(load_of(&partition->side[0], first),
                                       load_of(&partition->side[1], second));
    partition->excess = excess_of(partition, &partition->side[0], first) +
                        excess_of(partition, &partition->side[1], second);
}

static bool is_present(const search *s)
{
    for (int k = 0; k < s->partition->n_kinds; k++)
        if (s->chosen[k] != s->partition->kinds[k].had)
            return false;
    return true;
}

static void keep(search *s)
{
    s->partition->is_found = true;
    memcpy(s->partition->given, s->chosen,
           (size_t)s->partition->n_kinds * sizeof *s->chosen);
}

/* A partition is whole: keep it when it is better, or when its turn has come.
 */
static void consider(search *s, sums first)
{
    cz_partition *partition = s->partition;
    const sums second = minus(s->all, first);
    const int64_t load = cz_solve_max(load_of(&partition->side[0], first),
                                      load_of(&partition->side[1], second));
    const int64_t excess = excess_of(partition, &partition->side[0], first) +
                           excess_of(partition, &partition->side[1], second);
    if (partition->at_random) {
        if (load >= partition->below_ps || excess > partition->excess ||
            is_present(s))
            return;
        if (cz_partition_random(partition->random) % ++s->n_found == 0)
            keep(s);
        return;
    }
    if (excess > partition->excess ||
        (excess == partition->excess && load >= partition->below_ps))
        return;
    partition->excess = excess;
    partition->below_ps = load;
    keep(s);
}

static bool is_done(const search *s)
{
    return *s->partition->work < 0 ||
           (!s->partition->at_random && s->partition->excess == 0 &&
            s->partition->below_ps <= s->partition->enough_ps);
}

/* Whether a side will be too full whatever comes: only where nothing is above
 * a cap, which would count more. */
static bool is_hopeless(const search *s, int depth, sums first)
{
    const cz_partition *partition = s->partition;
    const sums second = minus(s->all, first);
    return partition->excess == 0 &&
           (partition->side[0].load_ps + first.cost_ps + first.coordinate_ps >=
                partition->below_ps ||
            partition->side[1].load_ps + second.cost_ps + second.coordinate_ps -
                    s->rest_ps[depth] >=
                partition->below_ps);
}

static void descend(search *s, int depth, sums first)
{
    const cz_partition *partition = s->partition;
    --*partition->work;
    if (is_done(s) || is_hopeless(s, depth, first))
        return;
    if (depth == partition->n_kinds) {
        consider(s, first);
        return;
    }
    const cz_partition_kind *kind = &partition->kinds[depth];
    for (int n = kind->most; n >= kind->least; n--) {
        s->chosen[depth] = n;
        descend(s, depth + 1, add(first, kind, n));
    }
}

/* Bounds of what the first side gets, so that about `limit` partitions are
 * left. */
static void narrow(cz_partition *partition, int64_t limit)
{
    for (int width = 1 << 20;; width /= 2) {
        int64_t deals = 1;
        for (int k = 0; k < partition->n_kinds; k++) {
            cz_partition_kind *kind = &partition->kinds[k];
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

void cz_partition_search(cz_partition *partition, int64_t limit)
{
    search s = {.partition = partition, .all = sum_all(partition, false)};
    assert(partition->n_kinds <= CZ_PARTITION_MAX_KINDS);
    partition->is_found = false;
    narrow(partition, limit);
    for (int k = partition->n_kinds; k-- > 0;)
        s.rest_ps[k] =
            s.rest_ps[k + 1] +
            partition->kinds[k].most * (partition->kinds[k].cost_ps +
                                        partition->kinds[k].coordinate_ps);
    descend(&s, 0, (sums){0, 0, 0, 0});
}
