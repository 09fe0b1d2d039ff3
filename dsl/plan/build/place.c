/* Where parameters go: their owners and their places in buckets. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <string.h>

/* ---- owners ---- */

/* Ranks that share a matrix are a block of those that shard it. */
static bool check_group(cz_view_builder *b, const cz_view_param *param,
                        int64_t n_shards)
{
    const cz_block block = {param->subgroup_size, param->stride};
    if (block.size == 1 ? block.stride == 1
                        : cz_block_divides(block, n_shards) &&
                              cz_view_member_at(param, param->shard_owner) == 0)
        return true;
    return cz_view_fail(b,
                        "'%s': %lld ranks from coordinate %lld on, %lld apart, "
                        "are no block of its %lld shards",
                        param->name, (long long)block.size,
                        (long long)param->shard_owner, (long long)block.stride,
                        (long long)n_shards);
}

static bool read_assign(cz_view_builder *b, const cz_fact_assign *fact,
                        bool *is_assigned)
{
    const cz_plan_view *view = b->view;
    int64_t storage[CZ_VIEW_MAX_AXES];
    int number;

    if (!cz_view_find(b, CZ_FACT_pattern, fact->pattern, &number))
        return false;
    if (is_assigned[number])
        return cz_view_fail(b, "pattern '%s' is assigned twice", fact->pattern);
    is_assigned[number] = true;
    const cz_view_pattern *pattern = &view->patterns[number];
    const cz_ints axes = cz_view_shard_axes(view, number, storage);
    const cz_ints *split = &cz_view_pattern_reduction(view, number)->split_axes;
    if (!cz_view_all_in(b, "assign: split_owner", &fact->split_owner,
                        pattern->n_params, -1,
                        cz_view_extent(view, split) - 1) ||
        !cz_view_all_in(b, "assign: shard_owner", &fact->shard_owner,
                        pattern->n_params, -1,
                        cz_view_extent(view, &axes) - 1) ||
        !cz_view_all_in(b, "assign: subgroup_size", &fact->subgroup_size,
                        pattern->n_params, 1, cz_view_extent(view, &axes)) ||
        !cz_view_all_in(b, "assign: stride", &fact->stride, pattern->n_params,
                        1, cz_view_extent(view, &axes)))
        return false;
    for (int i = 0; i < pattern->n_params; i++) {
        cz_view_param *param = &b->params[pattern->first_param + i];
        param->split_owner = fact->split_owner.v[i];
        param->shard_owner = fact->shard_owner.v[i];
        param->subgroup_size = fact->subgroup_size.v[i];
        param->stride = fact->stride.v[i];
        if (!check_group(b, param, cz_view_extent(view, &axes)))
            return false;
    }
    return true;
}

bool cz_view_read_assigns(cz_view_builder *b)
{
    int n;
    const cz_fact_assign *facts = CZ_VIEW_FACTS(b, assign, &n);
    bool *is_assigned = CZ_NEW(b->arena, bool, b->view->n_patterns);
    bool ok = true;

    for (int i = 0; i < n; i++)
        ok &= read_assign(b, &facts[i], is_assigned);
    return ok;
}

/* ---- buckets ---- */

/* One parameter takes its place in a bucket. */
static bool place(cz_view_builder *b, const cz_view_bucket *bucket, int number,
                  int i)
{
    const cz_fact_bucket *fact = bucket->fact;
    cz_view_param *param = &b->params[fact->params.v[i]];
    const cz_view_pattern *pattern = &b->view->patterns[param->pattern];

    if (param->bucket >= 0)
        return cz_view_fail(b, "parameter '%s' lies in two buckets",
                            param->name);
    if (pattern->dtype != bucket->dtype ||
        pattern->reduction != bucket->reduction ||
        !cz_view_same_residents(pattern->fact,
                                b->view->patterns[bucket->pattern].fact))
        return cz_view_fail(b,
                            "parameter '%s' has not the reduction, home and "
                            "type of bucket '%s'",
                            param->name, fact->sym_name);
    if (fact->offsets.v[i] > fact->length - pattern->local_elements)
        return cz_view_fail(b, "parameter '%s' goes beyond bucket '%s'",
                            param->name, fact->sym_name);
    param->bucket = number;
    param->offset = fact->offsets.v[i];
    return true;
}

/* Slices of one length, where they are padded. */
static bool check_geometry(cz_view_builder *b, const cz_fact_bucket *fact)
{
    const cz_ints slices = fact->slices;
    for (int r = 1; fact->geometry == CZ_GEOMETRY_PADDED && r < slices.n; r++)
        if (slices.v[r] - slices.v[r - 1] != slices.v[1])
            return cz_view_fail(b,
                                "bucket '%s' is padded, but its slices are "
                                "not of one length",
                                fact->sym_name);
    return true;
}

static bool read_bucket(cz_view_builder *b, cz_view_bucket *bucket, int number)
{
    const cz_fact_bucket *fact = bucket->fact;
    if (!cz_view_find(b, CZ_FACT_reduction, fact->reduction,
                      &bucket->reduction))
        return false;
    const int64_t n_slices = cz_view_extent(
        b->view, &b->view->reductions[bucket->reduction].split_axes);

    bucket->dtype = fact->dtype;
    bool ok = cz_view_all_in(b, "bucket: params", &fact->params, fact->params.n,
                             0, b->view->n_params - 1);
    ok &= cz_view_all_in(b, "bucket: offsets", &fact->offsets, fact->params.n,
                         0, fact->length);
    ok &= cz_view_bounds(b, "bucket: slices", &fact->slices, n_slices,
                         fact->length);
    ok = ok && check_geometry(b, fact);
    bucket->pattern = -1;
    if (ok && fact->params.n > 0)
        bucket->pattern = b->view->params[fact->params.v[0]].pattern;
    for (int i = 0; ok && i < fact->params.n; i++)
        ok = place(b, bucket, number, i);
    bucket->has_master = ok && cz_dtype_bytes(b->view->policy->master_dtype) >
                                   cz_dtype_bytes(bucket->dtype);
    return ok;
}

bool cz_view_read_buckets(cz_view_builder *b)
{
    int n;
    const cz_fact_bucket *facts = CZ_VIEW_FACTS(b, bucket, &n);
    cz_view_bucket *buckets = CZ_NEW(b->arena, cz_view_bucket, n);
    bool ok = true;

    for (int i = 0; ok && i < n; i++) {
        buckets[i].fact = &facts[i];
        ok = read_bucket(b, &buckets[i], i);
    }
    b->view->n_buckets = n;
    b->view->buckets = buckets;
    return ok;
}

bool cz_view_read_micro_group_choice(cz_view_builder *b)
{
    int n;
    const cz_fact_micro_group_choice *fact =
        CZ_VIEW_FACTS(b, micro_group_choice, &n);
    b->view->micro_group_choice = n > 0 ? fact : NULL;
    return true;
}
