/* Owned items by owner, or anything cut where it is said. */
#include "passes/grid/bucket.h"

#include "dsl/base/checked.h"

static void put(const cz_bucket_problem *problem, cz_bucket *bucket, int item)
{
    const cz_bucket_item *it = &problem->items[item];
    bucket->params[bucket->n] = it->param;
    bucket->offsets[bucket->n++] = bucket->length;
    bucket->length = cz_round_up(bucket->length + it->elements, problem->align);
}

static int64_t longest_slice(cz_arena *arena, const cz_bucket_problem *problem)
{
    int64_t *lengths = CZ_NEW(arena, int64_t, problem->n_slices);
    int64_t longest = 0;
    for (int i = 0; i < problem->n_items; i++) {
        int64_t *length = &lengths[problem->items[i].owner];
        *length += cz_round_up(problem->items[i].elements, problem->align);
        if (*length > longest)
            longest = *length;
    }
    return longest;
}

static void lay_out_owned(cz_arena *arena, const cz_bucket_problem *problem,
                          cz_bucket *bucket)
{
    /* Items by owner: a counting sort, stable. */
    int *sorted = CZ_NEW(arena, int, problem->n_items);
    int *start = CZ_NEW(arena, int, problem->n_slices + 1);
    for (int i = 0; i < problem->n_items; i++)
        start[problem->items[i].owner + 1]++;
    for (int r = 0; r < problem->n_slices; r++)
        start[r + 1] += start[r];
    for (int i = 0; i < problem->n_items; i++)
        sorted[start[problem->items[i].owner]++] = i;
    const int64_t least =
        problem->is_padded ? longest_slice(arena, problem) : 0;
    int i = 0;
    for (int r = 0; r < problem->n_slices; r++) {
        bucket->slices[r] = bucket->length;
        for (; i < problem->n_items && problem->items[sorted[i]].owner == r;
             i++)
            put(problem, bucket, sorted[i]);
        if (bucket->length < bucket->slices[r] + least)
            bucket->length = bucket->slices[r] + least;
    }
    bucket->slices[problem->n_slices] = bucket->length;
}

static void cut_evenly(const cz_bucket_problem *problem, cz_bucket *bucket)
{
    const int n_slices = problem->n_slices;
    const int64_t slice =
        cz_round_up(cz_ceil_div(bucket->length, n_slices), problem->align);
    if (problem->is_padded)
        bucket->length = slice * n_slices;
    for (int r = 0; r <= n_slices; r++) {
        const int64_t bound = slice * r;
        bucket->slices[r] = bound < bucket->length ? bound : bucket->length;
    }
}

cz_bucket cz_bucket_lay_out(cz_arena *arena, const cz_bucket_problem *problem)
{
    cz_bucket bucket = {.slices = CZ_NEW(arena, int64_t, problem->n_slices + 1),
                        .params = CZ_NEW(arena, int64_t, problem->n_items),
                        .offsets = CZ_NEW(arena, int64_t, problem->n_items)};
    if (problem->items[0].owner >= 0) {
        lay_out_owned(arena, problem, &bucket);
        return bucket;
    }
    for (int i = 0; i < problem->n_items; i++)
        put(problem, &bucket, i);
    if (problem->is_padded || !problem->amounts) {
        cut_evenly(problem, &bucket);
        return bucket;
    }
    for (int r = 0; r < problem->n_slices; r++)
        bucket.slices[r + 1] = bucket.slices[r] + problem->amounts[r];
    return bucket;
}

bool cz_buckets_check(int64_t n, cz_diags *diags)
{
    if (n <= CZ_MAX_BUCKETS)
        return true;
    cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){0},
                  "a plan has at most %d buckets, and this one would have "
                  "%lld: a larger `bucket` makes fewer",
                  CZ_MAX_BUCKETS, (long long)n);
    return false;
}
