/* First fit decreasing, class by class: all items of a class that fit a slot
 * go there at once, which is what one after the other would do. */
#include "passes/solve/counts.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

/* How many more of a kind fit a slot under the capacity. */
static int64_t fitting(const cz_counts *counts, int slot, int kind,
                       int64_t capacity)
{
    const cz_solve_class *c = cz_counts_class(counts, kind);
    const int hosts = counts->problem->n_hosts, rank = slot / hosts;
    const int64_t on_slot = c->cost_ps + c->shared_ps;
    const int64_t room = capacity - counts->load_ps[slot];
    int64_t n = room < 0 ? 0 : on_slot == 0 ? INT64_MAX : room / on_slot;
    for (int h = rank * hosts; h < (rank + 1) * hosts && c->shared_ps; h++)
        n = cz_solve_min(n, cz_solve_max(0, capacity - counts->load_ps[h]) /
                                c->shared_ps);
    if (c->state_bytes > 0 && counts->state_cap != INT64_MAX)
        n = cz_solve_min(
            n, cz_solve_max(0, counts->state_cap - counts->state[rank]) /
                   c->state_bytes);
    return n;
}

static bool fit(cz_counts *counts, int64_t capacity)
{
    for (int k = 0; k < counts->n_kinds; k++) {
        int64_t left = counts->numbers[k];
        for (int s = 0; s < counts->n_slots && left > 0; s++) {
            const int64_t n =
                cz_solve_min(left, fitting(counts, s, k, capacity));
            if (n > 0)
                cz_counts_put(counts, 0, s, k, (int)n);
            left -= n;
        }
        if (left > 0)
            return false;
    }
    return true;
}

/* Bisection between the goal and what longest first reaches; state above the
 * cap fits nowhere, so there may be no capacity that works. */
void cz_counts_multifit(cz_arena *scratch, cz_counts *counts)
{
    cz_counts best = cz_counts_copy(scratch, counts);
    cz_counts_lpt(scratch, &best);
    int64_t low = cz_solve_min(counts->goal_ps, cz_counts_max(&best)) - 1;
    int64_t high = cz_counts_max(&best);
    for (int step = 0; step < 20 && high - low > 1; step++) {
        const int64_t middle = low + (high - low) / 2;
        cz_counts trial = cz_counts_copy(scratch, counts);
        if (fit(&trial, middle)) {
            best = trial;
            high = middle;
        } else {
            low = middle;
        }
    }
    *counts = best;
}
