/* Lower bounds, each a few lines of arithmetic on its own. */
#include "passes/solve/bound/bound.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/bound/pigeonhole.h"

/* Initial loads: their sum, and the least of them. */
static int64_t initial_sum(const cz_solve_problem *problem, int64_t *least)
{
    int64_t sum = 0;
    *least = problem->initial_ps ? INT64_MAX : 0;
    for (int s = 0;
         problem->initial_ps && s < problem->n_ranks * problem->n_hosts; s++) {
        sum += problem->initial_ps[s];
        *least = cz_solve_min(*least, problem->initial_ps[s]);
    }
    return sum;
}

/* What all ranks together have to do with an item of the class. */
static int64_t work_of(const cz_solve_class *c, int64_t n_hosts)
{
    return c->divisible ? n_hosts * c->cost_ps
                        : c->cost_ps + n_hosts * c->shared_ps;
}

/* [classes] whole items of each, named by the first, with the time that their
 * owner spends on one; the work of all items is added to *total_ps. */
static cz_bin *bin_up(cz_arena *scratch, const cz_solve_problem *problem,
                      int64_t *total_ps)
{
    cz_bin *bins = CZ_NEW(scratch, cz_bin, problem->n_classes + 1);
    for (int i = 0; i < problem->n_items; i++) {
        const int class = problem->class_of[i];
        const cz_solve_class *c = &problem->classes[class];
        cz_bin *bin = &bins[class];
        *total_ps += work_of(c, problem->n_hosts);
        if (c->divisible)
            continue;
        if (bin->n++ == 0)
            *bin = (cz_bin){c->cost_ps + c->shared_ps, 1, i};
    }
    return bins;
}

cz_solve_bound cz_solve_bound_find(cz_arena *scratch,
                                   const cz_solve_problem *problem)
{
    const int n_slots = problem->n_ranks * problem->n_hosts;
    cz_solve_bound bound = {.item = -1};
    int64_t least, total = initial_sum(problem, &least);
    cz_bin *bins = bin_up(scratch, problem, &total);

    bound.mean_ps = bound.max_ps = cz_ceil_div(total, n_slots);
    /* The longest whole item; of equal ones the first. */
    const int n = problem->n_classes;
    for (int c = 0; c < n; c++) {
        const cz_bin *bin = &bins[c];
        if (bin->n == 0 ||
            (bound.item >= 0 &&
             (bin->time_ps < bound.item_ps ||
              (bin->time_ps == bound.item_ps && bin->of > bound.item))))
            continue;
        bound.item = bin->of;
        bound.item_ps = bin->time_ps;
    }
    const cz_pigeons pigeons =
        cz_pigeonhole_find(bins, problem->n_classes, n_slots);
    bound.item_ps += bound.item >= 0 ? least : 0;
    if (pigeons.k > 0) {
        bound.pigeonhole_ps = least + pigeons.time_ps;
        bound.n_longest = (int)pigeons.k * n_slots + 1;
    }
    if (bound.item_ps > bound.max_ps) {
        bound.max_ps = bound.item_ps;
        bound.binding = CZ_BOUND_ITEM;
    }
    if (bound.pigeonhole_ps > bound.max_ps) {
        bound.max_ps = bound.pigeonhole_ps;
        bound.binding = CZ_BOUND_PIGEONHOLE;
    }
    return bound;
}

int64_t cz_solve_bound_padded(const cz_solve_problem *problem)
{
    int64_t sum = 0;
    for (int b = 0; b < problem->n_buckets; b++)
        sum += problem->n_ranks * cz_solve_least_share(problem, b);
    return sum;
}
