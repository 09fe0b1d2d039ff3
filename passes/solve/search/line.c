/* Rows of weights, and cuts of them. */
#include "passes/solve/search/line.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

enum { LITTLE = 2048 }; /* of a rank's mean weight: not worth a cut */

typedef struct measures {
    int64_t ps, elements, bytes;
} measures;

typedef struct weigher {
    const cz_solve_problem *problem;
    cz_weigh weigh;
    measures all;
} weigher;

static measures measure(const cz_solve_problem *problem, int item)
{
    const cz_solve_class *c = &problem->classes[problem->class_of[item]];
    return (measures){(c->divisible ? 0 : c->cost_ps) +
                          problem->n_hosts *
                              (c->divisible ? c->cost_ps : c->coordinate_ps),
                      cz_round_up(c->elements, problem->align), c->state_bytes};
}

static int64_t weight_of(const weigher *w, measures m)
{
    const int64_t item = (int64_t)1 << 40;
    const cz_weigh by = w->weigh;
    if (by.elements == 0 && by.state == 0)
        return m.ps;
    if (by.time == 0 && by.state == 0)
        return m.elements;
    if (by.time == 0 && by.elements == 0)
        return m.bytes;
    return cz_solve_fraction(item * by.time, m.ps, w->all.ps) +
           cz_solve_fraction(item * by.elements, m.elements, w->all.elements) +
           cz_solve_fraction(item * by.state, m.bytes, w->all.bytes);
}

static int64_t *find_bases(cz_arena *arena, const weigher *w)
{
    const cz_solve_problem *problem = w->problem;
    const int hosts = problem->n_hosts;
    int64_t *base = CZ_NEW(arena, int64_t, problem->n_ranks);
    for (int r = 0; r < problem->n_ranks; r++) {
        measures m = {0, 0, 0};
        for (int h = 0; h < hosts && problem->initial_ps; h++)
            m.ps += problem->initial_ps[r * hosts + h];
        if (problem->initial_bytes)
            m.bytes = problem->initial_bytes[r];
        base[r] = weight_of(w, m);
    }
    return base;
}

/* Items of a bucket into items: little that is divisible joins the item before
 * it. */
static void add_items(const weigher *w, cz_line_item *items, int *n, int bucket,
                      int64_t little)
{
    const cz_solve_problem *problem = w->problem;
    const int first = *n;
    int64_t end = 0;
    for (int i = problem->bucket_start[bucket];
         i < problem->bucket_start[bucket + 1]; i++) {
        const measures m = measure(problem, i);
        const int64_t length = m.elements, weight = weight_of(w, m);
        const bool divisible = problem->classes[problem->class_of[i]].divisible;
        if (divisible && weight<little && * n> first &&
            !items[*n - 1].divisible) {
            items[*n - 1].weight += weight;
            items[*n - 1].end += length;
        } else {
            items[(*n)++] =
                (cz_line_item){weight, end, end + length, divisible};
        }
        end += length;
    }
}

cz_line cz_line_make(cz_arena *arena, const cz_solve_problem *problem,
                     cz_weigh weigh)
{
    weigher w = {.problem = problem, .weigh = weigh};
    cz_line_item *items = CZ_NEW(arena, cz_line_item, problem->n_items + 1);
    int64_t *before = CZ_NEW(arena, int64_t, problem->n_items + 1);
    int *start = CZ_NEW(arena, int, problem->n_buckets + 1);
    int n = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const measures m = measure(problem, i);
        w.all.ps += m.ps;
        w.all.elements += m.elements;
        w.all.bytes += m.bytes;
    }
    const int64_t little = weight_of(&w, w.all) / problem->n_ranks / LITTLE;
    cz_line line = {.n_ranks = problem->n_ranks,
                    .n_buckets = problem->n_buckets,
                    .align = problem->align,
                    .start = start,
                    .items = items,
                    .before = before,
                    .base = find_bases(arena, &w)};
    for (int b = 0; b < problem->n_buckets; b++) {
        start[b] = n;
        add_items(&w, items, &n, b, little);
    }
    start[problem->n_buckets] = n;
    for (int u = 0; u < n; u++)
        before[u + 1] = before[u] + items[u].weight;
    line.total = before[n];
    for (int r = 0; r < line.n_ranks; r++)
        line.total += line.base[r];
    return line;
}

cz_cut cz_line_begin(const cz_line *line, int bucket)
{
    return (cz_cut){line->start[bucket], 0};
}

cz_cut cz_line_end(const cz_line *line, int bucket)
{
    return (cz_cut){line->start[bucket + 1], 0};
}

int64_t cz_line_weight(const cz_line *line, cz_cut cut)
{
    if (cut.within == 0)
        return line->before[cut.item];
    const cz_line_item *item = &line->items[cut.item];
    return line->before[cut.item] +
           cz_solve_fraction(item->weight, cut.within, item->end - item->begin);
}

/* Elements from the bucket's start; n_ranks + 1 cuts of each bucket make a
 * plan in the trainer's order. */
static int64_t position_of(const cz_line *line, int bucket, cz_cut cut)
{
    if (cut.item < line->start[bucket + 1])
        return line->items[cut.item].begin + cut.within;
    return cut.item == line->start[bucket] ? 0 : line->items[cut.item - 1].end;
}

/* The last item of [low, high] with at most `weight` before it; low has. */
static int last_below(const cz_line *line, int low, int high, int64_t weight)
{
    while (low < high) {
        const int middle = high - (high - low) / 2;
        if (line->before[middle] <= weight)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

cz_cut cz_line_extend(const cz_line *line, int bucket, cz_cut from,
                      int64_t budget)
{
    const int end = line->start[bucket + 1];
    const int64_t weight = cz_line_weight(line, from) + budget;
    cz_cut cut = {last_below(line, from.item, end, weight), 0};
    if (cut.item < end && line->items[cut.item].divisible) {
        const cz_line_item *item = &line->items[cut.item];
        cut.within =
            cz_solve_fraction(item->end - item->begin,
                              weight - line->before[cut.item], item->weight) /
            line->align * line->align;
    }
    if (cut.item == from.item && cut.within < from.within)
        return from;
    return cut;
}

cz_cut cz_line_retreat(const cz_line *line, int bucket, cz_cut to,
                       int64_t budget)
{
    const int begin = line->start[bucket];
    const int64_t weight = cz_line_weight(line, to) - budget;
    if (weight <= line->before[begin])
        return (cz_cut){begin, 0};
    const int item = last_below(line, begin, to.item, weight);
    if (line->before[item] == weight)
        return (cz_cut){item, 0};
    if (item == to.item && to.within == 0)
        return to;
    if (!line->items[item].divisible)
        return (cz_cut){item + 1, 0};
    const int64_t n = line->items[item].end - line->items[item].begin;
    const int64_t within =
        cz_round_up(n - cz_solve_fraction(n, line->before[item + 1] - weight,
                                          line->items[item].weight),
                    line->align);
    return within >= n ? (cz_cut){item + 1, 0} : (cz_cut){item, within};
}

int64_t cz_line_max(cz_arena *scratch, const cz_line *line, const cz_cut *cuts)
{
    int64_t *load = CZ_NEW(scratch, int64_t, line->n_ranks);
    int64_t most = 0;
    for (int r = 0; r < line->n_ranks; r++) {
        load[r] = line->base[r];
        for (int b = 0; b < line->n_buckets; b++) {
            const cz_cut *row =
                cuts + (size_t)b * ((size_t)line->n_ranks + 1) + r;
            load[r] +=
                cz_line_weight(line, row[1]) - cz_line_weight(line, row[0]);
        }
        most = cz_solve_max(most, load[r]);
    }
    return most;
}

cz_solve_plan cz_line_plan(cz_arena *arena, const cz_solve_problem *problem,
                           const cz_line *line, const cz_cut *cuts)
{
    cz_solve_plan plan = cz_solve_plan_make(arena, problem);
    const size_t row = (size_t)problem->n_ranks + 1;
    for (int b = 0; b < problem->n_buckets; b++) {
        int rank = 0;
        for (size_t r = 0; r < row; r++)
            plan.slices[(size_t)b * row + r] =
                position_of(line, b, cuts[(size_t)b * row + r]);
        for (int i = problem->bucket_start[b]; i < problem->bucket_start[b + 1];
             i++) {
            while (plan.slices[(size_t)b * row + (size_t)rank + 1] <=
                       plan.offset[i] &&
                   rank < problem->n_ranks - 1)
                rank++;
            if (!problem->classes[problem->class_of[i]].divisible)
                plan.owner[i] = rank;
        }
    }
    cz_solve_plan_host(arena, problem, &plan);
    return plan;
}
