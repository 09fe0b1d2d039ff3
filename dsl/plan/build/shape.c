/* Shapes of families, and how they are cut to shards. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- uneven shards ---- */

/* What a fact cuts: its shape, and its place among those of its kind. */
typedef struct cut {
    const cz_ints *shape, *shard;
    cz_view_cuts *place;
} cut;

/* Shapes and shards by number; they are not checked yet. */
typedef struct shapes {
    const cz_fact_family *families;
    const cz_fact_frozen *frozen;
    const cz_fact_storage *storages;
} shapes;

static bool find_cut(cz_view_builder *b, const shapes *all,
                     const cz_fact_uneven *fact, cut *out)
{
    const bool is_family = *fact->family, is_frozen = *fact->frozen,
               is_storage = *fact->storage;
    const int n_named = is_family + is_frozen + is_storage;
    int i;

    if (n_named != 1)
        return cz_view_fail(b, "uneven: names %d things instead of one",
                            n_named);
    if (is_family) {
        if (!cz_view_find(b, CZ_FACT_family, fact->family, &i))
            return false;
        *out = (cut){&all->families[i].shape, &all->families[i].shard,
                     &b->bounds[i]};
    } else if (is_frozen) {
        if (!cz_view_find(b, CZ_FACT_frozen, fact->frozen, &i))
            return false;
        *out = (cut){&all->frozen[i].shape, &all->frozen[i].shard,
                     &b->frozen_bounds[i]};
    } else {
        if (!cz_view_find(b, CZ_FACT_storage, fact->storage, &i))
            return false;
        *out = (cut){&all->storages[i].shape, &all->storages[i].shard,
                     &b->storage_bounds[i]};
    }
    return true;
}

static int by_first(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

/* Shards are apart, and together the whole dimension. */
static bool check_bounds(cz_view_builder *b, const cz_ints *bounds,
                         int64_t parts, int64_t size)
{
    int64_t end = 0;
    if (bounds->n != 2 * parts)
        return cz_view_fail(b,
                            "uneven: bounds has %d numbers instead of "
                            "%" PRId64,
                            bounds->n, 2 * parts);
    const size_t n = (size_t)parts, pair = 2 * sizeof *bounds->v;
    int64_t *sorted = CZ_NEW(b->arena, int64_t, 2 * parts);
    memcpy(sorted, bounds->v, n * pair);
    qsort(sorted, n, pair, by_first);
    for (size_t i = 0; i < n; i++) {
        const int64_t *shard = sorted + 2 * i;
        if (shard[0] < 0 || shard[0] > shard[1] || shard[1] > size)
            return cz_view_fail(
                b, "uneven: there is no shard [%" PRId64 ", %" PRId64 ")",
                shard[0], shard[1]);
        if (shard[0] == shard[1])
            continue;
        if (shard[0] != end)
            return cz_view_fail(b, "uneven: the shards' %s element %" PRId64,
                                shard[0] < end ? "bounds share" : "bounds lack",
                                shard[0] < end ? shard[0] : end);
        end = shard[1];
    }
    return end == size ||
           cz_view_fail(b, "uneven: the shards' bounds lack element %" PRId64,
                        end);
}

static bool read_uneven(cz_view_builder *b, const shapes *all,
                        const cz_fact_uneven *fact)
{
    cut c = {NULL, NULL, NULL};
    if (!find_cut(b, all, fact, &c))
        return false;
    const int n = c.shape->n < c.shard->n ? c.shape->n : c.shard->n;
    if (!cz_view_in(b, "uneven: dim", fact->dim, 0,
                    (n < CZ_VIEW_MAX_DIMS ? n : CZ_VIEW_MAX_DIMS) - 1))
        return false;
    if (c.place->of[fact->dim])
        return cz_view_fail(b, "uneven: '%s%s%s' is cut twice", fact->family,
                            fact->frozen, fact->storage);
    const int64_t parts = cz_view_parts(b->view, c.shard->v[fact->dim]);
    if (parts == 1)
        return cz_view_fail(
            b, "uneven: no axes cut dimension %" PRId64 " of '%s%s%s'",
            fact->dim, fact->family, fact->frozen, fact->storage);
    c.place->of[fact->dim] = fact->bounds.v;
    return check_bounds(b, &fact->bounds, parts, c.shape->v[fact->dim]);
}

bool cz_view_read_uneven(cz_view_builder *b)
{
    int n, n_families, n_frozen, n_storages;
    const cz_fact_uneven *facts = cz_ir_read_uneven(b->ir, b->arena, &n);
    const shapes all = {cz_ir_read_family(b->ir, b->arena, &n_families),
                        cz_ir_read_frozen(b->ir, b->arena, &n_frozen),
                        cz_ir_read_storage(b->ir, b->arena, &n_storages)};

    b->bounds = CZ_NEW(b->arena, cz_view_cuts, n_families);
    b->frozen_bounds = CZ_NEW(b->arena, cz_view_cuts, n_frozen);
    b->storage_bounds = CZ_NEW(b->arena, cz_view_cuts, n_storages);
    for (int i = 0; i < n; i++)
        if (!read_uneven(b, &all, &facts[i]))
            return false;
    return true;
}

static int64_t parts_of(const cz_view_builder *b, const cz_view_family *family,
                        int d)
{
    return cz_view_parts(b->view, family->fact->shard.v[d]);
}

static int64_t longest_of(const int64_t *bounds, int64_t parts)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < parts; i++)
        if (bounds[2 * i + 1] - bounds[2 * i] > longest)
            longest = bounds[2 * i + 1] - bounds[2 * i];
    return longest;
}

/* ---- shapes ---- */

static bool is_sharded_twice(const cz_ints *shard, int dim)
{
    for (int i = 0; i < dim; i++)
        if (shard->v[i] & shard->v[dim])
            return true;
    return false;
}

/* The largest length of a shard along dimension d. */
static bool read_dimension(cz_view_builder *b, const cz_view_family *family,
                           int d, int64_t *local)
{
    const cz_fact_family *fact = family->fact;
    const int64_t parts = parts_of(b, family, d);

    if (is_sharded_twice(&fact->shard, d))
        return cz_view_fail(b, "family '%s': one axis shards twice",
                            fact->sym_name);
    if (family->bounds.of[d]) {
        *local = longest_of(family->bounds.of[d], parts);
        return true;
    }
    if (fact->shape.v[d] % parts != 0)
        return cz_view_fail(b,
                            "family '%s': its axes do not divide dimension %d",
                            fact->sym_name, d);
    *local = fact->shape.v[d] / parts;
    return true;
}

bool cz_view_read_shape(cz_view_builder *b, cz_view_family *family)
{
    const cz_fact_family *fact = family->fact;
    const int n = fact->shape.n;
    int64_t local[CZ_VIEW_MAX_DIMS];

    if (!cz_view_in(b, "family: rank", n, 1, CZ_VIEW_MAX_DIMS) ||
        !cz_view_all_in(b, "family: shape", &fact->shape, n, 1, CZ_MAX_DIM) ||
        !cz_view_all_in(b, "family: shard", &fact->shard, n, 0,
                        ((int64_t)1 << b->view->mesh->axes.n) - 1))
        return false;
    family->n_dims = n;
    for (int d = 0; d < n; d++)
        if (!read_dimension(b, family, d, &local[d]))
            return false;
    if (!cz_checked_product(fact->shape.v, n, &family->elements) ||
        family->elements > CZ_VIEW_MAX_NUMBER)
        return cz_view_fail(b, "family '%s' is too large", fact->sym_name);
    return cz_checked_product(local, n, &family->local_elements);
}
