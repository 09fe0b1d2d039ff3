/* Local search from the fullest slot. */
#include "passes/solve/counts.h"

#include "dsl/base/arithmetic.h"
#include "passes/solve/partition.h"

enum {
    DEALS = 1 << 14, /* looked at per pair */
    RANDOM_DEALS = 1 << 10,
    MAX_PARTNERS = 64, /* tried for the fullest slot of many */
    MAX_FAILURES = 2000,
    N_REMEMBERED = 256 /* failures; of ranks, whether they changed */
};

/* A search between two slots that found no better deal; of slot 0 with itself:
 * none yet. */
typedef struct failure {
    int hot, partner;
    int64_t hot_changes, changes; /* of their ranks, then */
    int64_t work;                 /* that it took */
} failure;

enum { N_FULLEST = 3 };

/* The fullest slots of a rank, the fullest first; -1: it has no more. */
typedef struct fullest {
    int rank;
    bool is_known; /* unless something has moved since */
    int slots[N_FULLEST];
} fullest;

typedef struct improver {
    cz_counts *counts;
    int64_t work;
    uint64_t random;
    int next;      /* where the walk over partners goes on */
    int hot, cold; /* the fullest slot and the emptiest, */
    bool is_known; /* unless something has moved since */
    bool is_good;  /* nothing is left to relieve */
    failure failed[N_REMEMBERED];
    int64_t changes[N_REMEMBERED]; /* of all ranks with one remainder */
    fullest fullest[N_REMEMBERED]; /* of the last rank with each remainder */
} improver;

/* Ends of the distribution, where they may have changed. */
static void look(improver *im)
{
    const cz_counts *counts = im->counts;
    if (im->is_known)
        return;
    /* The slot to relieve: the most state above the cap, else the most load. */
    const int hosts = counts->problem->n_hosts;
    int most = 0;
    int64_t most_excess = 0;
    for (int s = 0; s < counts->n_slots; s++) {
        const int64_t excess =
            cz_solve_max(0, counts->state[s / hosts] - counts->state_cap);
        if (s > 0 && (excess < most_excess ||
                      (excess == most_excess &&
                       counts->load_ps[s] <= counts->load_ps[most])))
            continue;
        most = s;
        most_excess = excess;
    }
    im->hot = most;
    int least = 0;
    for (int s = 1; s < counts->n_slots; s++)
        if (counts->load_ps[s] < counts->load_ps[least])
            least = s;
    im->cold = least;
    im->is_good = counts->load_ps[im->hot] <= counts->goal_ps &&
                  cz_counts_state_excess(counts) == 0;
    im->is_known = true;
}

static const fullest *fullest_of(improver *im, int rank)
{
    const int hosts = im->counts->problem->n_hosts;
    const int64_t *load = im->counts->load_ps;
    fullest *f = &im->fullest[rank % N_REMEMBERED];
    if (f->is_known && f->rank == rank)
        return f;
    *f = (fullest){rank, true, {-1, -1, -1}};
    for (int s = rank * hosts; s < (rank + 1) * hosts; s++) {
        int at = N_FULLEST;
        while (at > 0 &&
               (f->slots[at - 1] < 0 || load[s] > load[f->slots[at - 1]])) {
            if (at < N_FULLEST)
                f->slots[at] = f->slots[at - 1];
            at--;
        }
        if (at < N_FULLEST)
            f->slots[at] = s;
    }
    return f;
}

/* Load of the fullest host of the slot's coordinate but the two at hand. */
static int64_t others(improver *im, int slot, int other)
{
    const fullest *f = fullest_of(im, slot / im->counts->problem->n_hosts);
    for (int i = 0; i < N_FULLEST && f->slots[i] >= 0; i++)
        if (f->slots[i] != slot && f->slots[i] != other)
            return cz_solve_max(0, im->counts->load_ps[f->slots[i]]);
    return 0;
}

/* The pair's union, and both sides without it.  Of more kinds than a deal has
 * room for, some. */
static cz_partition deal_of(improver *im, int layer, int a, int b, int *kinds)
{
    const cz_counts *counts = im->counts;
    const int hosts = counts->problem->n_hosts, slots[] = {a, b};
    const bool is_apart = a / hosts != b / hosts;
    const int from = counts->n_kinds > CZ_PARTITION_MAX_KINDS
                         ? (int)(cz_partition_random(&im->random) %
                                 (uint64_t)counts->n_kinds)
                         : 0;
    cz_partition partition = {.state_cap = counts->state_cap,
                              .elements_cap = counts->most[layer],
                              .enough_ps = counts->goal_ps,
                              .random = &im->random,
                              .work = &im->work};
    for (int i = 0; i < 2; i++)
        partition.side[i] = (cz_partition_side){
            counts->load_ps[slots[i]], others(im, slots[i], slots[1 - i]),
            counts->state[slots[i] / hosts],
            *cz_counts_elements(counts, layer, slots[i] / hosts)};
    for (int i = 0;
         i < counts->n_kinds && partition.n_kinds < CZ_PARTITION_MAX_KINDS;
         i++) {
        const int k = (from + i) % counts->n_kinds;
        const cz_solve_class *c = cz_counts_class(counts, k);
        const int had[] = {*cz_counts_at(counts, layer, a, k),
                           *cz_counts_at(counts, layer, b, k)};
        cz_partition_kind *kind = &partition.kinds[partition.n_kinds];
        if (had[0] + had[1] == 0)
            continue;
        kinds[partition.n_kinds++] = k;
        *kind = (cz_partition_kind){
            .total = had[0] + had[1],
            .had = had[0],
            .cost_ps = c->cost_ps + (is_apart ? 0 : c->coordinate_ps),
            .coordinate_ps = is_apart ? c->coordinate_ps : 0,
            .state = is_apart ? c->state_bytes : 0,
            .elements = is_apart ? cz_counts_length(counts, k) : 0};
        for (int j = 0; j < 2; j++) {
            partition.side[j].load_ps -=
                had[j] * (kind->cost_ps + kind->coordinate_ps);
            partition.side[j].others_ps -= had[j] * kind->coordinate_ps;
            partition.side[j].state -= had[j] * kind->state;
            partition.side[j].elements -= had[j] * kind->elements;
        }
    }
    return partition;
}

/* Goes up when what the slot's rank has changes. */
static int64_t *changes_of(improver *im, int slot)
{
    return &im->changes[slot / im->counts->problem->n_hosts % N_REMEMBERED];
}

static void note_change(improver *im, int slot)
{
    const int rank = slot / im->counts->problem->n_hosts;
    ++*changes_of(im, slot);
    im->fullest[rank % N_REMEMBERED].is_known = false;
}

static void apply(improver *im, int layer, const cz_partition *partition,
                  const int *kinds, int a, int b)
{
    im->is_known = false;
    note_change(im, a);
    note_change(im, b);
    for (int k = 0; k < partition->n_kinds; k++) {
        const int n = partition->given[k] - partition->kinds[k].had;
        if (n == 0)
            continue;
        cz_counts_put(im->counts, layer, a, kinds[k], n);
        cz_counts_put(im->counts, layer, b, kinds[k], -n);
    }
}

/* A better deal between the fullest slot and another. */
static bool relieve_in(improver *im, int layer, int hot, int partner)
{
    int kinds[CZ_PARTITION_MAX_KINDS] = {0};
    if (partner == hot)
        return false;
    cz_partition partition = deal_of(im, layer, hot, partner, kinds);
    cz_partition_measure(&partition);
    cz_partition_search(&partition, DEALS);
    if (partition.is_found)
        apply(im, layer, &partition, kinds, hot, partner);
    return partition.is_found;
}

static bool is_same(const failure *a, const failure *b)
{
    return a->hot == b->hot && a->partner == b->partner &&
           a->hot_changes == b->hot_changes && a->changes == b->changes;
}

/* A better deal between the two in any layer.  What was searched in vain while
 * both ranks had the same is not searched again, only paid for: it would take
 * as much work.  Deals that draw their kinds may fare better. */
static bool relieve(improver *im, int hot, int partner)
{
    const cz_counts *counts = im->counts;
    const int64_t work = im->work;
    const failure now = {hot, partner, *changes_of(im, hot),
                         *changes_of(im, partner), 0};
    failure *failed = &im->failed[partner % N_REMEMBERED];

    if (is_same(failed, &now) && failed->work < work) {
        im->work -= failed->work;
        return false;
    }
    for (int layer = 0; layer < counts->n_layers && im->work > 0; layer++)
        if (relieve_in(im, layer, hot, partner))
            return true;
    if (im->work > 0 && counts->n_kinds <= CZ_PARTITION_MAX_KINDS) {
        *failed = now;
        failed->work = work - im->work;
    }
    return false;
}

static bool relieve_by_any(improver *im)
{
    const int n = im->counts->n_slots, hot = im->hot;
    if (relieve(im, hot, im->cold))
        return true;
    for (int i = 0; i < n - 1 && i < MAX_PARTNERS && im->work > 0; i++) {
        im->next = (im->next + 1) % n;
        if (relieve(im, hot, im->next))
            return true;
    }
    return false;
}

void cz_counts_improve(cz_counts *counts, int64_t work)
{
    improver im = {.counts = counts, .work = work, .random = 1};
    int failures = 0;
    while (im.work > 0 && failures < MAX_FAILURES && counts->n_slots > 1 &&
           counts->n_kinds > 0) {
        look(&im);
        if (im.is_good)
            return;
        if (relieve_by_any(&im)) {
            failures = 0;
            continue;
        }
        failures++;
        /* Two slots, neither the fullest, exchange something and stay below it.
         */
        const int hot = im.hot;
        int kinds[CZ_PARTITION_MAX_KINDS] = {0};
        const uint64_t n = (uint64_t)im.counts->n_slots;
        const int a = (int)(cz_partition_random(&im.random) % n);
        const int b = (int)(cz_partition_random(&im.random) % n);
        const int layer = (int)(cz_partition_random(&im.random) %
                                (uint64_t)im.counts->n_layers);
        if (a == b || a == hot || b == hot)
            continue;
        cz_partition partition = deal_of(&im, layer, a, b, kinds);
        cz_partition_measure(&partition);
        partition.below_ps = im.counts->load_ps[hot];
        partition.at_random = true;
        cz_partition_search(&partition, RANDOM_DEALS);
        if (partition.is_found)
            apply(&im, layer, &partition, kinds, a, b);
    }
}
