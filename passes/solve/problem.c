/* Buckets, and the parts of a plan that follow from owners and order. */
#include "passes/solve/problem.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

void cz_solve_fill_buckets(cz_arena *arena, cz_solve_problem *problem,
                           int64_t capacity)
{
    int *start = CZ_NEW(arena, int, problem->n_items + 1);
    int64_t filled = 0;
    int n = 0;
    for (int i = 0; i < problem->n_items; i++) {
        if (filled == 0)
            start[n] = i;
        filled += problem->classes[problem->class_of[i]].elements;
        if (filled >= capacity || i == problem->n_items - 1) {
            n++;
            filled = 0;
        }
    }
    start[n] = problem->n_items;
    problem->n_buckets = n;
    problem->bucket_start = start;
}

/* Two arrays, each perhaps NULL, of n entries of a size. */
static bool same_array(const void *a, const void *b, int n, size_t size)
{
    if (!a || !b || n == 0)
        return !a == !b;
    return memcmp(a, b, (size_t)n * size) == 0;
}

static bool same_cap(cz_solve_cap a, cz_solve_cap b)
{
    return a.numerator == b.numerator && a.denominator == b.denominator;
}

static bool same_sizes(const cz_solve_problem *a, const cz_solve_problem *b)
{
    return a->n_ranks == b->n_ranks && a->n_hosts == b->n_hosts &&
           a->n_classes == b->n_classes && a->n_items == b->n_items &&
           a->n_buckets == b->n_buckets && a->align == b->align &&
           a->order == b->order && a->geometry == b->geometry &&
           same_cap(a->state, b->state) && a->state_mean == b->state_mean &&
           a->most_padded == b->most_padded && a->wire_ps == b->wire_ps &&
           a->cut_ps == b->cut_ps && a->is_joined == b->is_joined;
}

bool cz_solve_problem_equals(const cz_solve_problem *a,
                             const cz_solve_problem *b)
{
    const int slots = a->n_ranks * a->n_hosts;
    if (!same_sizes(a, b))
        return false;
    for (int c = 0; c < a->n_classes; c++) {
        const cz_solve_class *p = &a->classes[c], *q = &b->classes[c];
        if (p->elements != q->elements || p->cost_ps != q->cost_ps ||
            p->coordinate_ps != q->coordinate_ps ||
            p->state_bytes != q->state_bytes || p->divisible != q->divisible ||
            p->kind != q->kind || p->matrix_ps != q->matrix_ps ||
            p->n_batches != q->n_batches ||
            !same_array(p->batch_ps, q->batch_ps, p->n_batches,
                        sizeof *p->batch_ps))
            return false;
    }
    return same_array(a->class_of, b->class_of, a->n_items,
                      sizeof *a->class_of) &&
           same_array(a->bucket_start, b->bucket_start, a->n_buckets + 1,
                      sizeof *a->bucket_start) &&
           same_array(a->initial_ps, b->initial_ps, slots,
                      sizeof *a->initial_ps) &&
           same_array(a->initial_bytes, b->initial_bytes, a->n_ranks,
                      sizeof *a->initial_bytes);
}

int64_t cz_solve_state_cap(const cz_solve_problem *problem)
{
    const cz_solve_cap cap = problem->state;
    int64_t total = 0;
    if (cap.denominator == 0)
        return INT64_MAX;
    if (problem->state_mean)
        return cz_solve_fraction(problem->state_mean, cap.numerator,
                                 cap.denominator);
    for (int r = 0; problem->initial_bytes && r < problem->n_ranks; r++)
        total += problem->initial_bytes[r];
    for (int i = 0; i < problem->n_items; i++)
        total += problem->classes[problem->class_of[i]].state_bytes;
    return cz_solve_fraction(total, cap.numerator,
                             cap.denominator * problem->n_ranks);
}

int64_t cz_solve_least_elements(const cz_solve_problem *problem, int bucket)
{
    int64_t longest = 0, length = 0;
    for (int i = problem->bucket_start[bucket];
         i < problem->bucket_start[bucket + 1]; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        const int64_t n = cz_round_up(c->elements, problem->align);
        length += n;
        if (!c->divisible)
            longest = cz_solve_max(longest, n);
    }
    return cz_solve_max(
        longest,
        cz_round_up(cz_ceil_div(length, problem->n_ranks), problem->align));
}

cz_solve_problem cz_solve_undivided(cz_arena *arena,
                                    const cz_solve_problem *problem)
{
    cz_solve_problem whole = *problem;
    cz_solve_class *classes =
        CZ_NEW(arena, cz_solve_class, problem->n_classes + 1);
    for (int c = 0; c < problem->n_classes; c++) {
        classes[c] = problem->classes[c];
        if (!classes[c].divisible)
            continue;
        classes[c].divisible = false;
        classes[c].coordinate_ps = classes[c].cost_ps;
        classes[c].cost_ps = 0;
    }
    whole.classes = classes;
    return whole;
}

cz_solve_plan cz_solve_plan_make(cz_arena *arena,
                                 const cz_solve_problem *problem)
{
    const size_t bounds =
        (size_t)problem->n_buckets * ((size_t)problem->n_ranks + 1);
    const int n = problem->n_items;
    cz_solve_plan plan = {.method = "",
                          .owner = CZ_NEW(arena, int, n + 1),
                          .host = CZ_NEW(arena, int, n + 1),
                          .order = CZ_NEW(arena, int, n + 1),
                          .offset = CZ_NEW(arena, int64_t, n + 1),
                          .length =
                              CZ_NEW(arena, int64_t, problem->n_buckets + 1),
                          .slices = CZ_NEW(arena, int64_t, bounds + 1),
                          .fills = CZ_NEW(arena, int64_t, bounds + 1)};
    for (int i = 0; i < n; i++) {
        plan.owner[i] = plan.host[i] = -1;
        plan.order[i] = i;
    }
    cz_solve_plan_lay_out(problem, &plan);
    return plan;
}

void cz_solve_plan_lay_out(const cz_solve_problem *problem, cz_solve_plan *plan)
{
    const int bounds = problem->n_ranks + 1;
    for (int b = 0; b < problem->n_buckets; b++) {
        int64_t end = 0;
        for (int at = problem->bucket_start[b];
             at < problem->bucket_start[b + 1]; at++) {
            const int item = plan->order[at];
            plan->offset[item] = end;
            end = cz_round_up(
                end + problem->classes[problem->class_of[item]].elements,
                problem->align);
        }
        plan->length[b] = end;
        for (int r = 0; r < bounds; r++) {
            plan->slices[(size_t)b * (size_t)bounds + (size_t)r] =
                r == 0 ? 0 : end;
            plan->fills[(size_t)b * (size_t)bounds + (size_t)r] = end;
        }
    }
}

void cz_solve_plan_slice(const cz_solve_problem *problem, cz_solve_plan *plan)
{
    for (int b = 0; b < problem->n_buckets; b++) {
        int64_t *bounds =
            plan->slices + (size_t)b * ((size_t)problem->n_ranks + 1);
        int at = problem->bucket_start[b];
        for (int r = 1; r < problem->n_ranks; r++) {
            while (at < problem->bucket_start[b + 1] &&
                   plan->owner[plan->order[at]] < r)
                at++;
            bounds[r] = at < problem->bucket_start[b + 1]
                            ? plan->offset[plan->order[at]]
                            : plan->length[b];
        }
    }
}

void cz_solve_plan_slice_equally(const cz_solve_problem *problem,
                                 cz_solve_plan *plan)
{
    for (int b = 0; b < problem->n_buckets; b++) {
        int64_t *bounds =
            plan->slices + (size_t)b * ((size_t)problem->n_ranks + 1);
        const int64_t slice = cz_round_up(
            cz_ceil_div(plan->length[b], problem->n_ranks), problem->align);
        for (int r = 1; r <= problem->n_ranks; r++)
            bounds[r] = cz_solve_min(plan->length[b], bounds[r - 1] + slice);
    }
}

typedef struct owned {
    int64_t cost_ps;
    int owner, item;
} owned;

static int by_owner_then_falling_cost(const void *left, const void *right)
{
    const owned *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->cost_ps != b->cost_ps)
        return a->cost_ps > b->cost_ps ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

void cz_solve_plan_host(cz_arena *scratch, const cz_solve_problem *problem,
                        cz_solve_plan *plan)
{
    owned *list = CZ_NEW(scratch, owned, problem->n_items + 1);
    int64_t *load = CZ_NEW(scratch, int64_t, problem->n_hosts);
    int n = 0;
    for (int i = 0; i < problem->n_items; i++)
        if (plan->owner[i] >= 0)
            list[n++] = (owned){problem->classes[problem->class_of[i]].cost_ps,
                                plan->owner[i], i};
    qsort(list, (size_t)n, sizeof *list, by_owner_then_falling_cost);
    for (int i = 0; i < n; i++) {
        int best = 0;
        if (i == 0 || list[i].owner != list[i - 1].owner)
            for (int h = 0; h < problem->n_hosts; h++)
                load[h] =
                    problem->initial_ps
                        ? problem
                              ->initial_ps[list[i].owner * problem->n_hosts + h]
                        : 0;
        for (int h = 1; h < problem->n_hosts; h++)
            if (load[h] < load[best])
                best = h;
        load[best] += list[i].cost_ps;
        plan->host[list[i].item] = best;
    }
}

/* ---- order by owner ---- */

typedef struct placed {
    int owner, item;
} placed;

static int by_owner(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    if (a->owner != b->owner)
        return (unsigned)a->owner < (unsigned)b->owner ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

void cz_solve_plan_sort(cz_arena *scratch, const cz_solve_problem *problem,
                        cz_solve_plan *plan)
{
    placed *list = CZ_NEW(scratch, placed, problem->n_items + 1);
    for (int i = 0; i < problem->n_items; i++)
        list[i] = (placed){plan->owner[i], i};
    for (int b = 0; b < problem->n_buckets; b++)
        qsort(list + problem->bucket_start[b],
              (size_t)(problem->bucket_start[b + 1] - problem->bucket_start[b]),
              sizeof *list, by_owner);
    for (int at = 0; at < problem->n_items; at++)
        plan->order[at] = list[at].item;
}
