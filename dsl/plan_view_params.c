/* Parameters: families, their expansion to names, owners and buckets. */
#include "dsl/base/checked.h"
#include "dsl/plan_view_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- families ---- */

/* Every {i} of the pattern names an index, and every index appears once: else
 * two parameters would have one name. */
static bool check_pattern(cz_view_builder *b, const cz_fact_family *family)
{
    int seen[CZ_VIEW_MAX_INDICES] = {0};

    for (const char *c = strchr(family->pattern, '{'); c;
         c = strchr(c + 1, '{')) {
        const int i = c[1] - '0';
        if (i < 0 || i >= family->extents.n || c[2] != '}' || seen[i]++)
            return cz_view_fail(b,
                                "family '%s': the pattern's {} are not its "
                                "%d indices",
                                family->sym_name, family->extents.n);
    }
    for (int i = 0; i < family->extents.n; i++)
        if (!seen[i])
            return cz_view_fail(b, "family '%s': the pattern lacks {%d}",
                                family->sym_name, i);
    return true;
}

static bool check_indices(cz_view_builder *b, const cz_fact_family *family,
                          int64_t *n_params)
{
    const int n = family->extents.n;
    return cz_view_in(b, "family: number of indices", n, 0,
                      CZ_VIEW_MAX_INDICES) &&
           cz_view_all_in(b, "family: first", &family->first, n, 0,
                          CZ_VIEW_MAX_PARAMS) &&
           cz_view_all_in(b, "family: extents", &family->extents, n, 1,
                          CZ_VIEW_MAX_PARAMS) &&
           check_pattern(b, family) &&
           ((cz_checked_product(family->extents.v, n, n_params) &&
             *n_params <= CZ_VIEW_MAX_PARAMS - b->view->n_params) ||
            cz_view_fail(b, "more than %d parameters", CZ_VIEW_MAX_PARAMS));
}

static bool is_sharded_twice(const cz_ints *shard, int dim)
{
    for (int i = 0; i < dim; i++)
        if (shard->v[i] >= 0 && shard->v[i] == shard->v[dim])
            return true;
    return false;
}

static bool read_shape(cz_view_builder *b, cz_view_family *view)
{
    const cz_fact_family *family = view->fact;
    const cz_ints *sizes = &b->view->mesh->sizes;
    const int n = family->shape.n;

    if (!cz_view_in(b, "family: rank", n, 1, CZ_VIEW_MAX_DIMS) ||
        !cz_view_all_in(b, "family: shape", &family->shape, n, 1, CZ_MAX_DIM) ||
        !cz_view_all_in(b, "family: shard", &family->shard, n, -1,
                        sizes->n - 1))
        return false;
    view->n_dims = n;
    for (int i = 0; i < n; i++) {
        const int64_t axis = family->shard.v[i];
        const int64_t parts = axis < 0 ? 1 : sizes->v[axis];
        if (is_sharded_twice(&family->shard, i))
            return cz_view_fail(b, "family '%s': one axis shards twice",
                                family->sym_name);
        if (family->shape.v[i] % parts != 0)
            return cz_view_fail(b,
                                "family '%s': axis '%s' does not divide "
                                "dimension %d",
                                family->sym_name, b->view->mesh->axes.v[axis],
                                i);
        view->local_shape[i] = family->shape.v[i] / parts;
    }
    if (!cz_checked_product(family->shape.v, n, &view->elements) ||
        view->elements > CZ_VIEW_MAX_NUMBER)
        return cz_view_fail(b, "family '%s' is too large", family->sym_name);
    return cz_checked_product(view->local_shape, n, &view->local_elements);
}

/* A rule of a shape serves that shape alone. */
static bool check_rule(cz_view_builder *b, const cz_view_family *family)
{
    const cz_ints *want = &b->view->rules[family->rule].fact->shape;
    const cz_ints *have = &family->fact->shape;
    const size_t n = (size_t)have->n;
    return want->n == 0 ||
           (want->n == have->n &&
            memcmp(want->v, have->v, n * sizeof *have->v) == 0) ||
           cz_view_fail(b, "family '%s' and its rule '%s' differ in shape",
                        family->fact->sym_name, family->fact->rule);
}

static bool read_family(cz_view_builder *b, cz_view_family *family)
{
    int64_t n_params = 0;
    bool ok = check_indices(b, family->fact, &n_params);

    ok &=
        cz_view_dtype(b, "family: dtype", family->fact->dtype, &family->dtype);
    ok &= cz_view_find(b, CZ_FACT_rule, family->fact->rule, &family->rule);
    if (!ok || !read_shape(b, family) || !check_rule(b, family))
        return false;
    family->first_param = b->view->n_params;
    family->n_params = (int)n_params;
    b->view->n_params += family->n_params;
    return true;
}

/* ---- names ---- */

static const char *make_name(cz_arena *arena, const char *pattern,
                             const int64_t *index)
{
    cz_text text;
    cz_text_init(&text);
    for (const char *c = pattern; *c; c++)
        if (*c == '{') {
            cz_text_printf(&text, "%" PRId64, index[c[1] - '0']);
            c += 2;
        } else {
            cz_text_put(&text, c, 1);
        }
    const char *name = cz_arena_copy(arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return name;
}

static void expand(cz_view_builder *b, int number, cz_view_param *params)
{
    const cz_view_family *family = &b->view->families[number];
    const cz_fact_family *fact = family->fact;

    for (int k = 0; k < family->n_params; k++) {
        cz_view_param *param = &params[family->first_param + k];
        int64_t rest = k;
        for (int i = fact->extents.n - 1; i >= 0; i--) {
            param->index[i] = fact->first.v[i] + rest % fact->extents.v[i];
            rest /= fact->extents.v[i];
        }
        param->family = number;
        param->name = make_name(b->arena, fact->pattern, param->index);
        param->bucket = -1;
        param->split_owner = param->shard_owner = -1;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_names(cz_view_builder *b)
{
    const int n = b->view->n_params;
    const char **names = CZ_NEW(b->arena, const char *, n + 1);

    for (int i = 0; i < n; i++)
        names[i] = b->view->params[i].name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            return cz_view_fail(b, "two parameters are named '%s'", names[i]);
    return true;
}

bool cz_view_read_families(cz_view_builder *b)
{
    int n;
    const cz_fact_family *facts = cz_ir_read_family(b->ir, b->arena, &n);
    cz_view_family *families = CZ_NEW(b->arena, cz_view_family, n);

    for (int i = 0; i < n; i++) {
        families[i].fact = &facts[i];
        if (!read_family(b, &families[i]))
            return false;
    }
    b->view->n_families = n;
    b->view->families = families;
    cz_view_param *params = CZ_NEW(b->arena, cz_view_param, b->view->n_params);
    for (int i = 0; i < n; i++)
        expand(b, i, params);
    b->view->params = params;
    return check_names(b);
}

/* ---- owners ---- */

static cz_view_param *params_of(cz_view_builder *b)
{
    /* They were made here and are not yet handed out. */
    union {
        const cz_view_param *given;
        cz_view_param *made;
    } params = {.given = b->view->params};
    return params.made;
}

static bool read_assign(cz_view_builder *b, const cz_fact_assign *fact,
                        bool *is_assigned)
{
    const cz_plan_view *view = b->view;
    int64_t storage[CZ_VIEW_MAX_AXES];
    int number;

    if (!cz_view_find(b, CZ_FACT_family, fact->family, &number))
        return false;
    if (is_assigned[number])
        return cz_view_fail(b, "family '%s' is assigned twice", fact->family);
    is_assigned[number] = true;
    const cz_view_family *family = &view->families[number];
    const cz_ints axes = cz_view_shard_axes(view, number, storage);
    if (!cz_view_all_in(b, "assign: split_owner", &fact->split_owner,
                        family->n_params, -1,
                        cz_view_extent(view, &view->policy->split_axes) - 1) ||
        !cz_view_all_in(b, "assign: shard_owner", &fact->shard_owner,
                        family->n_params, -1, cz_view_extent(view, &axes) - 1))
        return false;
    for (int i = 0; i < family->n_params; i++) {
        cz_view_param *param = &params_of(b)[family->first_param + i];
        param->split_owner = fact->split_owner.v[i];
        param->shard_owner = fact->shard_owner.v[i];
    }
    return true;
}

bool cz_view_read_assigns(cz_view_builder *b)
{
    int n;
    const cz_fact_assign *facts = cz_ir_read_assign(b->ir, b->arena, &n);
    bool *is_assigned = CZ_NEW(b->arena, bool, b->view->n_families);
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
    cz_view_param *param = &params_of(b)[fact->params.v[i]];
    const cz_view_family *family = &b->view->families[param->family];

    if (param->bucket >= 0)
        return cz_view_fail(b, "parameter '%s' lies in two buckets",
                            param->name);
    if (family->dtype != bucket->dtype ||
        b->view->rules[family->rule].use != bucket->use)
        return cz_view_fail(b,
                            "parameter '%s' has not the use and type of "
                            "bucket '%s'",
                            param->name, fact->sym_name);
    if (fact->offsets.v[i] > fact->length - family->local_elements)
        return cz_view_fail(b, "parameter '%s' goes beyond bucket '%s'",
                            param->name, fact->sym_name);
    param->bucket = number;
    param->offset = fact->offsets.v[i];
    return true;
}

/* States of the bucket: those of its parameters' rules, which must agree. */
static bool read_states(cz_view_builder *b, cz_view_bucket *bucket, int rule,
                        bool is_first)
{
    const cz_fact_rule *fact = b->view->rules[rule].fact;
    const int n = fact->states.n;

    if (is_first) {
        cz_dtype *states = CZ_NEW(b->arena, cz_dtype, n);
        for (int i = 0; i < n; i++)
            cz_dtype_find(fact->state_dtypes.v[i], &states[i]);
        bucket->n_states = n;
        bucket->states = states;
        return true;
    }
    bool same = bucket->n_states == n;
    for (int i = 0; same && i < n; i++)
        same = strcmp(cz_dtype_name(bucket->states[i]),
                      fact->state_dtypes.v[i]) == 0;
    return same || cz_view_fail(b,
                                "bucket '%s' holds parameters with "
                                "different states",
                                bucket->fact->sym_name);
}

static bool read_bucket(cz_view_builder *b, cz_view_bucket *bucket, int number)
{
    const cz_fact_bucket *fact = bucket->fact;
    const int64_t n_slices =
        cz_view_extent(b->view, &b->view->policy->split_axes);
    cz_dtype master;
    bool ok = cz_view_find(b, CZ_FACT_use, fact->use, &bucket->use);

    ok &= cz_view_dtype(b, "bucket: dtype", fact->dtype, &bucket->dtype);
    ok &= cz_view_in(b, "bucket: length", fact->length, 0, CZ_VIEW_MAX_NUMBER);
    ok &= cz_view_all_in(b, "bucket: params", &fact->params, fact->params.n, 0,
                         b->view->n_params - 1);
    ok &= cz_view_all_in(b, "bucket: offsets", &fact->offsets, fact->params.n,
                         0, fact->length);
    ok &= cz_view_bounds(b, "bucket: slices", &fact->slices, n_slices,
                         fact->length);
    for (int i = 0; ok && i < fact->params.n; i++) {
        const cz_view_param *param = &b->view->params[fact->params.v[i]];
        const int rule = b->view->families[param->family].rule;
        ok =
            place(b, bucket, number, i) && read_states(b, bucket, rule, i == 0);
    }
    cz_dtype_find(b->view->policy->master_dtype, &master);
    bucket->has_master =
        ok && cz_dtype_bytes(master) > cz_dtype_bytes(bucket->dtype);
    return ok;
}

bool cz_view_read_buckets(cz_view_builder *b)
{
    int n;
    const cz_fact_bucket *facts = cz_ir_read_bucket(b->ir, b->arena, &n);
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
