/* Storages: tensors of the trainer that hold pieces of several patterns, or
 * padding.  A piece lies in equal blocks at equal strides along each
 * dimension, in order: so a shard of the storage holds one run of it. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <string.h>

enum { MAP_NUMBERS = 3 };

/* ---- the tensors ---- */

static bool list_names(cz_view_builder *b, const cz_view_pattern *box,
                       cz_view_storage *storage)
{
    storage->expert_extent = box->expert_extent;
    storage->n_names = box->n_params * box->expert_extent;
    const char **names = CZ_NEW(b->arena, const char *, storage->n_names);
    for (int k = 0; k < box->n_params; k++) {
        const char **own = cz_view_names_of(b, box, k);
        for (int64_t c = 0; c < box->expert_extent; c++)
            names[k * box->expert_extent + c] = own[c];
    }
    storage->names = names;
    return true;
}

static bool read_storage(cz_view_builder *b, cz_view_storage *storage,
                         cz_view_pattern *box, int *n)
{
    const cz_fact_storage *f = storage->fact;
    cz_fact_pattern *fact = CZ_NEW(b->arena, cz_fact_pattern, 1);

    *fact = (cz_fact_pattern){.sym_name = f->sym_name,
                              .name = f->name,
                              .first = f->first,
                              .extents = f->extents,
                              .shape = f->shape,
                              .shard = f->shard,
                              .dtype = f->dtype,
                              .expert_axes = f->expert_axes,
                              .expert_index = f->expert_index};
    *box =
        (cz_view_pattern){.fact = fact, .rule = -1, .bounds = storage->bounds};
    if (!cz_view_read_box(b, box, n))
        return false;
    storage->dtype = box->dtype;
    storage->n_dims = box->n_dims;
    storage->n_members = box->n_params;
    return cz_view_read_expert_axes(b, box) && list_names(b, box, storage);
}

/* ---- their pieces ---- */

static bool same_ints(const cz_ints *a, const cz_ints *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v) == 0);
}

/* Length of a piece along dimension d of the storage. */
static int64_t length_of(const cz_view_pattern *pattern, int d)
{
    const int own = d - (int)pattern->stored->batch;
    return own < 0 ? 1 : pattern->fact->shape.v[own];
}

/* Base, block and stride of one dimension stay inside the storage. */
static bool check_map(cz_view_builder *b, const cz_view_pattern *pattern,
                      const cz_view_storage *storage, int d)
{
    const int64_t *map = pattern->stored->map.v + (size_t)d * MAP_NUMBERS;
    const int64_t size = length_of(pattern, d);
    const int64_t last = (size - 1) / map[1];
    int64_t end;

    if (last == 0 && (map[1] != size || map[2] != size))
        return cz_view_fail(b, "piece '%s': one block has the piece's length",
                            pattern->fact->sym_name);
    if (cz_checked_mul(last, map[2], &end) && map[1] <= map[2] &&
        end <= storage->fact->shape.v[d] - map[0] - (size - last * map[1]))
        return true;
    return cz_view_fail(b, "piece '%s': dimension %d does not lie in '%s'",
                        pattern->fact->sym_name, d, storage->fact->sym_name);
}

/* Number i of the bounds that cut a dimension to `parts`. */
static int64_t bound_of(const int64_t *bounds, int64_t size, int64_t parts,
                        int64_t i)
{
    return bounds ? bounds[i] : size / parts * ((i + 1) / 2);
}

/* Shards of the piece are what shards of the storage hold of it. */
static bool check_cuts(cz_view_builder *b, const cz_view_pattern *pattern,
                       const cz_view_storage *storage, int d)
{
    const int64_t *map = pattern->stored->map.v + (size_t)d * MAP_NUMBERS;
    const int64_t size = length_of(pattern, d);
    const int64_t parts =
        cz_view_set_extent(b->view, storage->fact->shard.v[d]);
    const int64_t *bounds = pattern->bounds.of[d - (int)pattern->stored->batch];
    const int64_t stored = storage->fact->shape.v[d];

    for (int64_t i = 0; i < 2 * parts; i++) {
        const int64_t cut = bound_of(storage->bounds.of[d], stored, parts, i);
        if (bound_of(bounds, size, parts, i) != cz_view_before(map, size, cut))
            return cz_view_fail(
                b, "piece '%s': shards are not those of storage '%s'",
                pattern->fact->sym_name, storage->fact->sym_name);
    }
    return true;
}

static bool check_dimension(cz_view_builder *b, const cz_view_pattern *pattern,
                            const cz_view_storage *storage, int d)
{
    const int64_t *map = pattern->stored->map.v + (size_t)d * MAP_NUMBERS;

    if (d >= (int)pattern->stored->batch)
        return check_map(b, pattern, storage, d) &&
               check_cuts(b, pattern, storage, d);
    return (map[0] == 0 && map[1] == 1 && map[2] == 1) ||
           cz_view_fail(b, "piece '%s': a batch has one matrix after the other",
                        pattern->fact->sym_name);
}

/* The last index of a batch counts the first dimension of the storage, and the
 * ranks that cut it share its values out. */
static bool is_batch_of(const cz_view_builder *b, const cz_fact_pattern *f,
                        const cz_fact_storage *s)
{
    const int last = f->extents.n - 1;
    return f->first.v[last] == 0 && s->expert_axes == 0 &&
           f->expert_axes == s->shard.v[0] && f->expert_index == last &&
           f->extents.v[last] * cz_view_set_extent(b->view, s->shard.v[0]) ==
               s->shape.v[0];
}

/* Same indices, same shard: those of a batch apart. */
static bool is_alike(const cz_view_builder *b, const cz_view_pattern *pattern,
                     const cz_fact_storage *s)
{
    const cz_fact_pattern *f = pattern->fact;
    const int batch = (int)pattern->stored->batch;
    const cz_ints first = {f->first.v, f->first.n - batch};
    const cz_ints extents = {f->extents.v, f->extents.n - batch};
    const cz_ints shard = {s->shard.v + batch, s->shard.n - batch};

    if (first.n < 0 || shard.n < 1 || !same_ints(&first, &s->first) ||
        !same_ints(&extents, &s->extents) || !same_ints(&f->shard, &shard) ||
        f->dtype != s->dtype)
        return false;
    return batch ? is_batch_of(b, f, s)
                 : f->expert_axes == s->expert_axes &&
                       f->expert_index == s->expert_index;
}

/* One tensor holds the gradients of all pieces, and one dimension of it their
 * leaves. */
static bool check_gradients(cz_view_builder *b, const cz_view_pattern *pattern,
                            const cz_view_storage *storage)
{
    if (storage->n_patterns == 0)
        return true;
    const cz_view_pattern *first = &b->patterns[storage->patterns[0]];
    const cz_fact_reduction *own = &b->view->reductions[pattern->reduction];
    const cz_fact_reduction *other = &b->view->reductions[first->reduction];
    return (own->dtype == other->dtype && own->n_grads == other->n_grads) ||
           cz_view_fail(b, "pieces '%s' and '%s' differ in their gradients",
                        first->fact->sym_name, pattern->fact->sym_name);
}

static bool check_piece(cz_view_builder *b, const cz_view_pattern *pattern,
                        const cz_view_storage *storage)
{
    const cz_fact_pattern *f = pattern->fact;
    const cz_fact_storage *s = storage->fact;
    const cz_ints *map = &pattern->stored->map;

    if (!is_alike(b, pattern, s))
        return cz_view_fail(b,
                            "piece '%s' and storage '%s' differ in indices, "
                            "shard, expert axes or type",
                            f->sym_name, s->sym_name);
    if (!cz_view_all_in(b, "piece: map", map, MAP_NUMBERS * storage->n_dims, 0,
                        CZ_MAX_DIM))
        return false;
    for (int d = 0; d < storage->n_dims; d++)
        if (!cz_view_in(b, "piece: block", map->v[d * MAP_NUMBERS + 1], 1,
                        CZ_MAX_DIM) ||
            !check_dimension(b, pattern, storage, d))
            return false;
    return true;
}

/* ---- no element twice ---- */

/* Whether two pieces may share an element of one dimension; `a` has at least
 * as many blocks as `b`. */
static bool may_meet(const int64_t *a, int64_t a_size, const int64_t *b,
                     int64_t b_size)
{
    const bool a_repeats = a_size > a[1], b_repeats = b_size > b[1];
    if (!a_repeats && b_repeats)
        return may_meet(b, b_size, a, a_size);
    const int64_t a_length = a_repeats ? a[1] : a_size;
    const int64_t b_length = b_repeats ? b[1] : b_size;
    const int64_t a_end = a[0] + (a_size - 1) / a[1] * a[2] + a[1];
    const int64_t b_end = b[0] + (b_size - 1) / b[1] * b[2] + b_length;
    if (a_end <= b[0] || b_end <= a[0])
        return false;
    if (!a_repeats || (b_repeats && a[2] != b[2]) || b_length > a[2])
        return true;
    const int64_t apart = ((b[0] - a[0]) % a[2] + a[2]) % a[2];
    return apart < a_length || apart + b_length > a[2];
}

static bool are_apart(const cz_view_pattern *a, const cz_view_pattern *b)
{
    const int batch = (int)a->stored->batch;
    if (b->stored->batch != a->stored->batch)
        return false;
    for (int d = batch; d < a->n_dims + batch; d++) {
        const size_t at = (size_t)d * MAP_NUMBERS;
        if (!may_meet(a->stored->map.v + at, length_of(a, d),
                      b->stored->map.v + at, length_of(b, d)))
            return true;
    }
    return false;
}

static bool add_piece(cz_view_builder *b, const cz_fact_stored *fact)
{
    int number, at;

    if (!cz_view_find(b, CZ_FACT_pattern, fact->pattern, &number) ||
        !cz_view_find(b, CZ_FACT_storage, fact->storage, &at))
        return false;
    cz_view_pattern *pattern = &b->patterns[number];
    cz_view_storage *storage = &b->storages[at];
    if (pattern->stored)
        return cz_view_fail(b, "pattern '%s' is a piece twice", fact->pattern);
    pattern->stored = fact;
    pattern->storage = at;
    if (!check_piece(b, pattern, storage) ||
        !check_gradients(b, pattern, storage))
        return false;
    if (storage->n_patterns > 0 &&
        !cz_view_same_residents(b->patterns[storage->patterns[0]].fact,
                                pattern->fact))
        return cz_view_fail(b, "storage '%s' has pieces of several homes",
                            fact->storage);
    for (int i = 0; i < storage->n_patterns; i++)
        if (!are_apart(&b->patterns[storage->patterns[i]], pattern))
            return cz_view_fail(
                b, "pieces '%s' and '%s' overlap",
                b->patterns[storage->patterns[i]].fact->sym_name,
                fact->pattern);
    int *pieces = CZ_NEW(b->arena, int, storage->n_patterns + 1);
    for (int i = 0; i < storage->n_patterns; i++)
        pieces[i] = storage->patterns[i];
    pieces[storage->n_patterns++] = number;
    storage->patterns = pieces;
    return true;
}

bool cz_view_read_storages(cz_view_builder *b)
{
    int n, n_pieces, n_members = 0;
    cz_view_pattern box;
    const cz_fact_storage *facts = CZ_VIEW_FACTS(b, storage, &n);
    const cz_fact_stored *pieces = CZ_VIEW_FACTS(b, stored, &n_pieces);

    b->storages = CZ_NEW(b->arena, cz_view_storage, n);
    for (int i = 0; i < n; i++) {
        b->storages[i].fact = &facts[i];
        b->storages[i].bounds = b->storage_bounds[i];
        if (!read_storage(b, &b->storages[i], &box, &n_members))
            return false;
    }
    for (int i = 0; i < n_pieces; i++)
        if (!add_piece(b, &pieces[i]))
            return false;
    for (int i = 0; i < n; i++)
        if (b->storages[i].n_patterns == 0)
            return cz_view_fail(b, "storage '%s' has no pieces",
                                facts[i].sym_name);
    b->view->n_storages = n;
    b->view->storages = b->storages;
    return true;
}
