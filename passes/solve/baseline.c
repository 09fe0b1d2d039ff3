/* Layer-wise and equal-slice baselines. */
#include "passes/solve/baseline.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

static int64_t elements_of(const cz_solve_problem *problem, int item)
{
    return problem->classes[problem->class_of[item]].elements;
}

typedef struct sized {
    int64_t elements;
    int item;
} sized;

static int by_falling_elements(const void *left, const void *right)
{
    const sized *a = left, *b = right;
    if (a->elements != b->elements)
        return a->elements > b->elements ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static void longest_first(cz_arena *arena, const cz_solve_problem *problem,
                          cz_solve_plan *plan)
{
    sized *order = CZ_NEW(arena, sized, problem->n_items + 1);
    int64_t *load = CZ_NEW(arena, int64_t, problem->n_ranks);
    for (int i = 0; i < problem->n_items; i++)
        order[i] = (sized){elements_of(problem, i), i};
    qsort(order, (size_t)problem->n_items, sizeof *order, by_falling_elements);
    for (int i = 0; i < problem->n_items; i++) {
        int best = 0;
        for (int r = 1; r < problem->n_ranks; r++)
            if (load[r] < load[best])
                best = r;
        load[best] += order[i].elements;
        plan->owner[order[i].item] = best;
    }
}

static const char *const names[] = {
    [CZ_BASELINE_ROUND_ROBIN] = "layer-wise round robin",
    [CZ_BASELINE_LPT_ELEMENTS] = "layer-wise longest first by elements",
    [CZ_BASELINE_EQUAL] = "equal slices",
    [CZ_BASELINE_GREEDY] = "published greedy"};

cz_solve_baseline cz_solve_baseline_make(cz_arena *arena,
                                         const cz_solve_problem *problem,
                                         cz_solve_baseline_kind kind,
                                         int alpha_percent)
{
    cz_solve_baseline result = {.problem = cz_solve_undivided(arena, problem)};
    cz_solve_problem *whole = &result.problem;
    const bool is_sorted =
        kind == CZ_BASELINE_ROUND_ROBIN || kind == CZ_BASELINE_LPT_ELEMENTS;
    whole->order = is_sorted ? CZ_ORDER_ENGINE : CZ_ORDER_TRAINER;
    whole->geometry = problem->geometry == CZ_SLICES_PADDED ? CZ_SLICES_PADDED
                                                            : CZ_SLICES_UNEVEN;
    if (kind == CZ_BASELINE_GREEDY) {
        result.plan = cz_solve_greedy(arena, whole, alpha_percent);
        return result;
    }
    result.plan = cz_solve_plan_make(arena, whole);
    if (kind == CZ_BASELINE_ROUND_ROBIN) {
        cz_solve_plan *plan = &result.plan;
        for (int i = 0; i < whole->n_items; i++)
            plan->owner[i] = (whole->n_items - 1 - i) % whole->n_ranks;
    } else if (kind == CZ_BASELINE_LPT_ELEMENTS)
        longest_first(arena, whole, &result.plan);
    else {
        cz_solve_plan *plan = &result.plan;
        for (int b = 0; b < whole->n_buckets; b++)
            for (int i = whole->bucket_start[b]; i < whole->bucket_start[b + 1];
                 i++)
                plan->owner[i] = (int)cz_solve_fraction(
                    whole->n_ranks, plan->offset[i], plan->length[b]);
    }
    if (is_sorted) {
        cz_solve_plan_sort(arena, whole, &result.plan);
        cz_solve_plan_lay_out(whole, &result.plan);
    }
    cz_solve_plan_slice(whole, &result.plan);
    cz_solve_plan_host(arena, whole, &result.plan);
    result.plan.method = names[kind];
    return result;
}

cz_solve_score cz_solve_replicated(cz_arena *arena,
                                   const cz_solve_problem *problem)
{
    const int slots = problem->n_ranks * problem->n_hosts;
    cz_solve_score score = {.load_ps = CZ_NEW(arena, int64_t, slots),
                            .state_bytes =
                                CZ_NEW(arena, int64_t, problem->n_ranks)};
    int64_t load = 0, state = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        load += c->cost_ps + c->coordinate_ps;
        state += c->state_bytes;
        score.length_elements += c->elements;
    }
    for (int s = 0; s < slots; s++) {
        score.load_ps[s] =
            load + (problem->initial_ps ? problem->initial_ps[s] : 0);
        score.max_load_ps = cz_solve_max(score.max_load_ps, score.load_ps[s]);
        score.total_load_ps += score.load_ps[s];
    }
    for (int r = 0; r < problem->n_ranks; r++) {
        score.state_bytes[r] =
            state + (problem->initial_bytes ? problem->initial_bytes[r] : 0);
        score.max_state_bytes =
            cz_solve_max(score.max_state_bytes, score.state_bytes[r]);
        score.total_state_bytes += score.state_bytes[r];
    }
    /* All have all: an all-reduce, and nothing to gather. */
    score.padded_elements = score.length_elements;
    score.wire_elements =
        2 * ((int64_t)problem->n_ranks - 1) * score.length_elements;
    score.wire_ps = cz_solve_fraction(
        problem->wire_ps, score.wire_elements / problem->n_ranks, 1024);
    score.time_ps = score.max_load_ps + score.wire_ps;
    return score;
}
