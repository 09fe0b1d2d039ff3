/* Shapes of families, and how they are cut to shards. */
#include "dsl/base/checked.h"
#include "dsl/plan_view_internal.h"

/* ---- uneven shards ---- */

/* The place of its family, frozen family or storage among those that are
 * uneven. */
static const cz_fact_uneven **uneven_of(cz_view_builder *b,
                                        const cz_fact_uneven *fact)
{
    const struct owner {
        cz_fact_kind kind;
        const char *name;
        const cz_fact_uneven **places;
    } owners[] = {{CZ_FACT_family, fact->family, b->uneven},
                  {CZ_FACT_frozen, fact->frozen, b->frozen_uneven},
                  {CZ_FACT_storage, fact->storage, b->storage_uneven}};
    const struct owner *found = NULL;
    int number, n = 0;

    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (*owners[i].name) {
            found = &owners[i];
            n++;
        }
    if (n != 1) {
        cz_view_fail(b, "uneven: names %d things instead of one", n);
        return NULL;
    }
    return cz_view_find(b, found->kind, found->name, &number)
               ? &found->places[number]
               : NULL;
}

bool cz_view_read_uneven(cz_view_builder *b)
{
    int n;
    const cz_fact_uneven *facts = cz_ir_read_uneven(b->ir, b->arena, &n);

    b->uneven = CZ_NEW(b->arena, const cz_fact_uneven *,
                       cz_ir_count(b->ir, CZ_FACT_family));
    b->frozen_uneven = CZ_NEW(b->arena, const cz_fact_uneven *,
                              cz_ir_count(b->ir, CZ_FACT_frozen));
    b->storage_uneven = CZ_NEW(b->arena, const cz_fact_uneven *,
                               cz_ir_count(b->ir, CZ_FACT_storage));
    for (int i = 0; i < n; i++) {
        const cz_fact_uneven **place = uneven_of(b, &facts[i]);
        if (!place)
            return false;
        if (*place)
            return cz_view_fail(b, "uneven: '%s%s%s' is cut twice",
                                facts[i].family, facts[i].frozen,
                                facts[i].storage);
        *place = &facts[i];
    }
    return true;
}

static int64_t parts_of(const cz_view_builder *b, const cz_view_family *family,
                        int d)
{
    return cz_view_parts(b->view, family->fact->shard.v[d]);
}

/* The length of the longest shard of the dimension that bounds cut. */
static bool read_bounds(cz_view_builder *b, cz_view_family *family,
                        int64_t *longest)
{
    const cz_ints *bounds = &family->uneven->bounds;
    int n_cut = 0;

    for (int d = 0; d < family->n_dims; d++)
        if (parts_of(b, family, d) > 1) {
            family->uneven_dim = d;
            n_cut++;
        }
    if (n_cut != 1)
        return cz_view_fail(b,
                            "family '%s': uneven shards need one dimension "
                            "that is cut, not %d",
                            family->fact->sym_name, n_cut);
    const int d = family->uneven_dim;
    if (!cz_view_bounds(b, "uneven: bounds", bounds, parts_of(b, family, d),
                        family->fact->shape.v[d]))
        return false;
    *longest = 0;
    for (int i = 1; i < bounds->n; i++)
        if (bounds->v[i] - bounds->v[i - 1] > *longest)
            *longest = bounds->v[i] - bounds->v[i - 1];
    return true;
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
    if (family->uneven && d == family->uneven_dim)
        return true; /* known already */
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
    int64_t local[CZ_VIEW_MAX_DIMS], longest = 0;

    if (!cz_view_in(b, "family: rank", n, 1, CZ_VIEW_MAX_DIMS) ||
        !cz_view_all_in(b, "family: shape", &fact->shape, n, 1, CZ_MAX_DIM) ||
        !cz_view_all_in(b, "family: shard", &fact->shard, n, 0,
                        ((int64_t)1 << b->view->mesh->axes.n) - 1))
        return false;
    family->n_dims = n;
    if (family->uneven && !read_bounds(b, family, &longest))
        return false;
    for (int d = 0; d < n; d++) {
        local[d] = longest;
        if (!read_dimension(b, family, d, &local[d]))
            return false;
    }
    if (!cz_checked_product(fact->shape.v, n, &family->elements) ||
        family->elements > CZ_VIEW_MAX_NUMBER)
        return cz_view_fail(b, "family '%s' is too large", fact->sym_name);
    return cz_checked_product(local, n, &family->local_elements);
}
