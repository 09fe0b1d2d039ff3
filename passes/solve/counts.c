/* Books of loads and state as items are put and taken. */
#include "passes/solve/counts.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

typedef struct sorted_class {
    int64_t cost_ps, elements;
    int number;
} sorted_class;

static int by_falling_cost(const void *left, const void *right)
{
    const sorted_class *a = left, *b = right;
    if (a->cost_ps != b->cost_ps)
        return a->cost_ps > b->cost_ps ? -1 : 1;
    if (a->elements != b->elements)
        return a->elements > b->elements ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int *invert(cz_arena *arena, const cz_counts *counts)
{
    const int n = counts->problem->n_classes;
    int *kind_of = CZ_NEW(arena, int, n + 1);
    for (int c = 0; c < n; c++)
        kind_of[c] = -1;
    for (int k = 0; k < counts->n_kinds; k++)
        kind_of[counts->kinds[k]] = k;
    return kind_of;
}

/* Items of each kind in each layer. */
static int *number_kinds(cz_arena *arena, const cz_counts *counts)
{
    const cz_solve_problem *problem = counts->problem;
    int *numbers = CZ_NEW(arena, int, counts->n_layers * counts->n_kinds + 1);
    for (int b = 0; b < problem->n_buckets; b++) {
        const int layer = counts->n_layers > 1 ? b : 0;
        for (int i = problem->bucket_start[b]; i < problem->bucket_start[b + 1];
             i++) {
            const int k = counts->kind_of[problem->class_of[i]];
            if (k >= 0)
                numbers[layer * counts->n_kinds + k]++;
        }
    }
    return numbers;
}

static void sort_kinds(cz_arena *arena, cz_counts *counts)
{
    const cz_solve_problem *problem = counts->problem;
    int *numbers = CZ_NEW(arena, int, problem->n_classes + 1);
    int n_kinds = 0;
    for (int i = 0; i < problem->n_items; i++)
        numbers[problem->class_of[i]]++;
    for (int c = 0; c < problem->n_classes; c++)
        n_kinds += numbers[c] > 0 && !problem->classes[c].divisible;
    counts->n_kinds = n_kinds;
    sorted_class *list = CZ_NEW(arena, sorted_class, counts->n_kinds + 1);
    int *kinds = CZ_NEW(arena, int, counts->n_kinds + 1);
    int n = 0;
    for (int c = 0; c < problem->n_classes; c++)
        if (numbers[c] > 0 && !problem->classes[c].divisible)
            list[n++] = (sorted_class){problem->classes[c].cost_ps +
                                           problem->classes[c].coordinate_ps,
                                       problem->classes[c].elements, c};
    qsort(list, (size_t)n, sizeof *list, by_falling_cost);
    for (int k = 0; k < n; k++)
        kinds[k] = list[k].number;
    counts->kinds = kinds;
    counts->kind_of = invert(arena, counts);
    counts->numbers = number_kinds(arena, counts);
}

/* The mean over slots of all there is, divisible or not. */
static int64_t mean_of_all(const cz_counts *counts)
{
    const cz_solve_problem *problem = counts->problem;
    int64_t load = 0;
    for (int s = 0; s < counts->n_slots; s++)
        load += counts->load_ps[s];
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        load += c->divisible ? c->cost_ps * problem->n_hosts
                             : c->cost_ps + c->coordinate_ps * problem->n_hosts;
    }
    return cz_ceil_div(load, counts->n_slots);
}

cz_counts cz_counts_make(cz_arena *arena, const cz_solve_problem *problem,
                         bool by_bucket)
{
    cz_counts counts = {.problem = problem,
                        .n_slots = problem->n_ranks * problem->n_hosts,
                        .n_layers = by_bucket ? problem->n_buckets : 1};
    const size_t slots = (size_t)counts.n_slots;
    const size_t layers = (size_t)counts.n_layers;
    const size_t ranks = (size_t)problem->n_ranks;
    sort_kinds(arena, &counts);
    counts.count =
        CZ_NEW(arena, int, layers *slots *(size_t)counts.n_kinds + 1);
    counts.load_ps = CZ_NEW(arena, int64_t, slots);
    counts.state = CZ_NEW(arena, int64_t, ranks);
    counts.elements = CZ_NEW(arena, int64_t, layers * ranks + 1);
    counts.most = CZ_NEW(arena, int64_t, layers + 1);
    if (problem->initial_ps)
        memcpy(counts.load_ps, problem->initial_ps,
               slots * sizeof *counts.load_ps);
    if (problem->initial_bytes)
        memcpy(counts.state, problem->initial_bytes,
               ranks * sizeof *counts.state);
    for (int layer = 0; layer < counts.n_layers; layer++)
        counts.most[layer] = INT64_MAX;
    counts.goal_ps = mean_of_all(&counts);
    counts.state_cap = cz_solve_state_cap(problem);
    return counts;
}

void cz_counts_put(cz_counts *counts, int layer, int slot, int kind, int n)
{
    const cz_solve_class *c = cz_counts_class(counts, kind);
    const int hosts = counts->problem->n_hosts, rank = slot / hosts;
    *cz_counts_at(counts, layer, slot, kind) += n;
    counts->load_ps[slot] += n * c->cost_ps;
    for (int h = 0; h < hosts; h++)
        counts->load_ps[rank * hosts + h] += n * c->coordinate_ps;
    counts->state[rank] += n * c->state_bytes;
    *cz_counts_elements(counts, layer, rank) +=
        n * cz_counts_length(counts, kind);
}

int64_t cz_counts_length(const cz_counts *counts, int kind)
{
    return cz_round_up(cz_counts_class(counts, kind)->elements,
                       counts->problem->align);
}

/* Kinds fall by cost, and insertion keeps that among equals. */
int *cz_counts_longest(cz_arena *arena, const cz_counts *counts)
{
    int *order = CZ_NEW(arena, int, counts->n_kinds + 1);
    for (int k = 0; k < counts->n_kinds; k++) {
        const int64_t length = cz_counts_length(counts, k);
        int at = k;
        for (; at > 0 && cz_counts_length(counts, order[at - 1]) < length; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    return order;
}

int64_t cz_counts_max(const cz_counts *counts)
{
    int64_t most = 0;
    for (int s = 0; s < counts->n_slots; s++)
        most = cz_solve_max(most, counts->load_ps[s]);
    return most;
}

int64_t cz_counts_mean(const cz_counts *counts)
{
    int64_t sum = 0;
    for (int s = 0; s < counts->n_slots; s++)
        sum += counts->load_ps[s];
    return cz_ceil_div(sum, counts->n_slots);
}

int64_t cz_counts_state_excess(const cz_counts *counts)
{
    int64_t sum = 0;
    for (int r = 0; r < counts->problem->n_ranks; r++)
        sum += cz_solve_max(0, counts->state[r] - counts->state_cap);
    return sum;
}
