/* Plans where we choose the order. */
#include "passes/solve/batch.h"
#include "passes/solve/choice.h"

#include "dsl/base/arithmetic.h"
#include "passes/solve/bound/bound.h"
#include "passes/solve/search/place.h"

enum {
    SMALL = 1 << 14,      /* items times slots: above, less is tried */
    SMALL_WORK = 1 << 19, /* deals that a local search looks at */
    LARGE_WORK = 1 << 17,
    MAX_BY_BUCKET = 1 << 16, /* buckets times slots, for methods by bucket */
    CLOSE = 1024 /* of large problems, a plan is good enough that is within
                  * this part of the bound */
};

/* Elements of each bucket that a rank should have: what is least possible,
 * and a part, a shift to the right, more. */
static int64_t *shares(cz_arena *arena, const cz_solve_problem *problem,
                       int shift)
{
    int64_t *most = CZ_NEW(arena, int64_t, problem->n_buckets + 1);
    for (int b = 0; b < problem->n_buckets; b++) {
        most[b] = cz_solve_least_elements(problem, b);
        most[b] += shift > 0 ? most[b] >> shift : 0;
    }
    return most;
}

static bool is_small(const cz_solve_problem *problem)
{
    return (int64_t)problem->n_items * problem->n_ranks * problem->n_hosts <=
           SMALL;
}

static int64_t work_of(const cz_solve_problem *problem)
{
    return is_small(problem) && !cz_solve_has_batches(problem) ? SMALL_WORK
                                                               : LARGE_WORK;
}

void cz_choice_offer_counts(cz_arena *arena, const cz_solve_problem *problem,
                            cz_solved *best, const cz_counts *counts,
                            const char *method)
{
    int *slot_of = CZ_NEW(arena, int, problem->n_items + 1);
    int64_t *amounts =
        CZ_NEW(arena, int64_t,
               (size_t)problem->n_buckets * (size_t)problem->n_ranks + 1);
    cz_place_items(arena, counts, slot_of);
    cz_place_fill(arena, problem, slot_of, amounts);
    const cz_solve_plan plan = cz_place_plan(arena, problem, slot_of, amounts);
    cz_choice_offer(arena, problem, best, &plan, method);
}

/* Behind the counts, which are then others. */
static void offer_batches(cz_arena *arena, const cz_solve_problem *problem,
                          cz_solved *best, cz_counts *counts)
{
    cz_counts_batch(counts);
    cz_choice_offer_counts(arena, problem, best, counts, "in batches");
}

/* So many of a kind where there is least to do, kind by kind. */
static void put_together(cz_counts *counts, int n_together)
{
    for (int k = 0; k < counts->n_kinds; k++)
        for (int left = counts->numbers[k]; left > 0; left -= n_together) {
            int slot = 0;
            for (int s = 1; s < counts->n_slots; s++)
                slot = counts->load_ps[s] < counts->load_ps[slot] ? s : slot;
            cz_counts_put(counts, 0, slot, k,
                          left < n_together ? left : n_together);
        }
}

/* Of all buckets together: from what is longest first, and from half as many
 * of a kind in one place as a slot has matrices. */
static void try_joined(cz_arena *arena, const cz_solve_problem *problem,
                       cz_solved *best, cz_counts *longest)
{
    cz_counts together = cz_counts_make(arena, problem, false);
    int n = 0;
    for (int k = 0; k < together.n_kinds; k++)
        n += together.numbers[k];
    offer_batches(arena, problem, best, longest);
    const int half = n / together.n_slots / 2;
    if (half < 2)
        return;
    put_together(&together, half);
    offer_batches(arena, problem, best, &together);
}

/* Batches of each bucket, wherever in it they lie. */
static void try_batches(cz_arena *arena, const cz_solve_problem *problem,
                        cz_solved *best)
{
    cz_counts free = cz_counts_make(arena, problem, true);
    cz_counts_pack(arena, &free);
    offer_batches(arena, problem, best, &free);
}

static void try_by_bucket(cz_arena *arena, const cz_solve_problem *problem,
                          cz_solved *best, int64_t full_matrix_ps)
{
    static const int shifts[] = {0, 6, 4, 2};
    const bool has_batches =
        cz_solve_has_batches(problem) && !problem->is_joined;
    const int64_t slots = (int64_t)problem->n_ranks * problem->n_hosts;
    if (problem->n_buckets * slots > MAX_BY_BUCKET)
        return;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        cz_counts packed = cz_counts_make(arena, problem, true);
        packed.most = shares(arena, problem, shifts[i]);
        cz_counts_pack(arena, &packed);
        packed.goal_ps = cz_solve_max(cz_counts_mean(&packed), full_matrix_ps);
        cz_counts_improve(&packed, work_of(problem));
        cz_choice_offer_counts(arena, problem, best, &packed, "by bucket");
        if (has_batches && problem->geometry != CZ_SLICES_UNEVEN)
            offer_batches(arena, problem, best, &packed);
    }
    if (has_batches)
        try_batches(arena, problem, best);
}

void cz_solve_free(cz_arena *arena, const cz_solve_problem *problem,
                   cz_solved *best)
{
    const int64_t full_matrix_ps = cz_solve_bound_find(problem).item_ps;
    cz_counts longest = cz_counts_make(arena, problem, false);
    longest.goal_ps = cz_solve_max(longest.goal_ps, full_matrix_ps);
    cz_counts_lpt(arena, &longest);
    cz_counts_improve(&longest, work_of(problem));
    cz_choice_offer_counts(arena, problem, best, &longest, "longest first");
    if (cz_solve_has_batches(problem) && problem->is_joined)
        try_joined(arena, problem, best, &longest);
    if (!is_small(problem) && cz_solve_excess(problem, &best->score) == 0 &&
        best->score.max_load_ps - longest.goal_ps <= longest.goal_ps / CLOSE)
        return;
    try_by_bucket(arena, problem, best, full_matrix_ps);
    cz_choice_offer_baselines(arena, problem, best);
}
