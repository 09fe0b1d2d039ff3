/* Fills buckets in the order of gradients, then lays each one out. */
#include "passes/bucket.h"

#include "dsl/base/checked.h"

#include <stdlib.h>

/* A bucket that is being filled: items by number, ascending. */
typedef struct draft {
    int *items;
    int n;
    int64_t elements;
} draft;

static void lay_out_params(cz_arena *arena, const cz_bucket_problem *problem,
                           const draft *filled, cz_bucket *bucket)
{
    int64_t end = 0;
    bucket->params = CZ_NEW(arena, int64_t, filled->n);
    bucket->offsets = CZ_NEW(arena, int64_t, filled->n);
    for (int i = 0; i < filled->n; i++) {
        const cz_bucket_item *item = &problem->items[filled->items[i]];
        bucket->params[i] = item->param;
        bucket->offsets[i] = end;
        end = cz_round_up(end + item->elements, CZ_BUCKET_ALIGN);
    }
    bucket->n = filled->n;
    bucket->length = end;
}

static void cut_evenly(cz_bucket *bucket, int n_slices)
{
    const int64_t slice =
        cz_round_up(cz_ceil_div(bucket->length, n_slices), CZ_BUCKET_ALIGN);
    for (int r = 0; r <= n_slices; r++) {
        const int64_t bound = slice * r;
        bucket->slices[r] = bound < bucket->length ? bound : bucket->length;
    }
}

/* Slice r begins where the first item of an owner >= r begins. */
static void cut_between_owners(const cz_bucket_problem *problem,
                               const draft *filled, cz_bucket *bucket)
{
    int i = 0;
    for (int r = 0; r <= problem->n_slices[bucket->kind]; r++) {
        while (i < filled->n && problem->items[filled->items[i]].owner < r)
            i++;
        bucket->slices[r] = i < filled->n ? bucket->offsets[i] : bucket->length;
    }
}

/* Counting sort of a draft's items by owner: stable. */
static void sort_by_owner(cz_arena *arena, const cz_bucket_problem *problem,
                          int n_slices, draft *filled)
{
    int *sorted = CZ_NEW(arena, int, filled->n);
    int *start = CZ_NEW(arena, int, n_slices + 1);
    for (int i = 0; i < filled->n; i++)
        start[problem->items[filled->items[i]].owner + 1]++;
    for (int r = 0; r < n_slices; r++)
        start[r + 1] += start[r];
    for (int i = 0; i < filled->n; i++)
        sorted[start[problem->items[filled->items[i]].owner]++] =
            filled->items[i];
    filled->items = sorted;
}

static cz_bucket close_bucket(cz_arena *arena, const cz_bucket_problem *problem,
                              draft *filled)
{
    const cz_bucket_item *first = &problem->items[filled->items[0]];
    cz_bucket bucket = {.kind = first->kind};
    const int n_slices = problem->n_slices[first->kind];
    const bool is_owned = first->owner >= 0;

    if (is_owned)
        sort_by_owner(arena, problem, n_slices, filled);
    bucket.slices = CZ_NEW(arena, int64_t, n_slices + 1);
    lay_out_params(arena, problem, filled, &bucket);
    if (is_owned)
        cut_between_owners(problem, filled, &bucket);
    else
        cut_evenly(&bucket, n_slices);
    *filled = (draft){0};
    return bucket;
}

/* The open draft whose newest item came first, or NULL. */
static draft *next_to_close(draft *open, int n)
{
    draft *next = NULL;
    for (int k = 0; k < n; k++)
        if (open[k].n > 0 &&
            (!next || open[k].items[open[k].n - 1] < next->items[next->n - 1]))
            next = &open[k];
    return next;
}

cz_bucket *cz_bucket_solve(cz_arena *arena, const cz_bucket_problem *problem,
                           int *n_buckets)
{
    cz_bucket *list = NULL;
    int n = 0;
    draft *open = CZ_NEW(arena, draft, problem->n_kinds), *rest;

    for (int i = 0; i < problem->n_items; i++) {
        const cz_bucket_item *item = &problem->items[i];
        draft *filling = &open[item->kind];
        *CZ_PUSH(arena, filling->items, filling->n) = i;
        filling->elements += item->elements;
        if (filling->elements >= problem->capacity)
            *CZ_PUSH(arena, list, n) = close_bucket(arena, problem, filling);
    }
    while ((rest = next_to_close(open, problem->n_kinds)) != NULL)
        *CZ_PUSH(arena, list, n) = close_bucket(arena, problem, rest);
    *n_buckets = n;
    return list;
}
