/* The public groupings of matrices, by elements. */
#include "passes/timeline/group.h"

#include <stdlib.h>

typedef struct ranked {
    int64_t elements;
    int item;
} ranked;

/* Ties: `later` is 1 where the public code puts the later one first. */
static int by_falling_size(const void *left, const void *right, int later)
{
    const ranked *a = left, *b = right;
    if (a->elements != b->elements)
        return a->elements < b->elements ? 1 : -1;
    return later ? b->item - a->item : a->item - b->item;
}

static int earlier_first(const void *left, const void *right)
{
    return by_falling_size(left, right, 0);
}

static int later_first(const void *left, const void *right)
{
    return by_falling_size(left, right, 1);
}

static ranked *rank_items(cz_arena *arena, const cz_pipeline_problem *problem,
                          cz_pipeline_public kind)
{
    ranked *order = CZ_NEW(arena, ranked, problem->n_items);
    for (int i = 0; i < problem->n_items; i++)
        order[i] = (ranked){problem->items[i].elements, i};
    if (kind != CZ_PIPELINE_NO)
        qsort(order, (size_t)problem->n_items, sizeof *order,
              kind == CZ_PIPELINE_GLOBAL ? later_first : earlier_first);
    return order;
}

static int least_loaded(const int64_t *load, int n)
{
    int best = 0;
    for (int r = 1; r < n; r++)
        if (load[r] < load[best])
            best = r;
    return best;
}

static void clear(int64_t *load, int n)
{
    for (int r = 0; r < n; r++)
        load[r] = 0;
}

static void deal_rows(const cz_pipeline_problem *problem, const ranked *order,
                      cz_pipeline_groups *groups)
{
    for (int i = 0; i < problem->n_items; i++) {
        groups->group[order[i].item] = i / problem->n_ranks;
        groups->owner[order[i].item] = i % problem->n_ranks;
    }
    groups->n_groups =
        (problem->n_items + problem->n_ranks - 1) / problem->n_ranks;
}

/* A group is closed behind the item with which a rank is full. */
static void fill_slots(cz_arena *arena, const cz_pipeline_problem *problem,
                       const ranked *order, int64_t slot_elements,
                       cz_pipeline_groups *groups)
{
    int64_t *load = CZ_NEW(arena, int64_t, problem->n_ranks);
    int group = 0, n_in_group = 0;
    if (problem->n_items > 0 && slot_elements < order[0].elements)
        slot_elements = order[0].elements;
    for (int i = 0; i < problem->n_items; i++) {
        const int r = least_loaded(load, problem->n_ranks);
        groups->group[order[i].item] = group;
        groups->owner[order[i].item] = r;
        n_in_group++;
        load[r] += order[i].elements;
        if (load[r] < slot_elements)
            continue;
        group++;
        n_in_group = 0;
        clear(load, problem->n_ranks);
    }
    groups->n_groups = group + (n_in_group > 0);
}

/* A group is closed before the item with which a rank would be too full; an
 * item beyond the slot is alone. */
static void fill_globally(cz_arena *arena, const cz_pipeline_problem *problem,
                          const ranked *order, int64_t slot_elements,
                          cz_pipeline_groups *groups)
{
    int64_t *load = CZ_NEW(arena, int64_t, problem->n_ranks);
    int group = 0, n_in_group = 0;
    for (int i = 0; i < problem->n_items; i++) {
        int r = least_loaded(load, problem->n_ranks);
        if (n_in_group > 0 && load[r] + order[i].elements > slot_elements) {
            group++;
            n_in_group = 0;
            clear(load, problem->n_ranks);
            r = 0;
        }
        groups->group[order[i].item] = group;
        groups->owner[order[i].item] = r;
        load[r] += order[i].elements;
        n_in_group++;
    }
    groups->n_groups = group + (n_in_group > 0);
}

cz_pipeline_groups cz_pipeline_publish(cz_arena *arena,
                                       const cz_pipeline_problem *problem,
                                       cz_pipeline_public kind,
                                       int64_t slot_elements,
                                       cz_pipeline_overlap overlap)
{
    static const char *const names[] = {"no", "single", "slot", "global"};
    const ranked *order = rank_items(arena, problem, kind);
    cz_pipeline_groups groups = {names[kind], overlap, 0,
                                 CZ_NEW(arena, int, problem->n_items),
                                 CZ_NEW(arena, int, problem->n_items)};
    switch (kind) {
    case CZ_PIPELINE_NO:
    case CZ_PIPELINE_SINGLE:
        deal_rows(problem, order, &groups);
        break;
    case CZ_PIPELINE_SLOT:
        fill_slots(arena, problem, order, slot_elements, &groups);
        break;
    case CZ_PIPELINE_GLOBAL:
        fill_globally(arena, problem, order, slot_elements, &groups);
        break;
    case CZ_PIPELINE_N_PUBLIC:
        break;
    }
    return groups;
}
