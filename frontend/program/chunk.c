/* Shards that the schedule lays over families.  Families that paths tell apart
 * are cut to runs of their indices first. */
#include "frontend/program/internal.h"

#include <stdio.h>

#include "dsl/base/checked.h"
#include "frontend/names/match.h"
#include "frontend/model/model.h"

typedef struct chunker {
    const cz_policy *policy;
    const cz_mesh *mesh;
    cz_arena *arena;
    cz_diags *diags;
    cz_family *families;
    int n;
} chunker;

/* The last clause that matches, or that of all others; NULL: none is there. */
static const cz_shards *clause_of(chunker *c, const cz_family *family)
{
    const char *words[CZ_MAX_WORDS];
    int chosen = 0;
    cz_family_words(c->arena, family, family->first, words);
    for (int i = 1; i < c->policy->n_shards; i++)
        if (cz_match_paths(c->policy->shards[i].paths, words, family->n_words))
            chosen = i;
    const cz_shards *shards = &c->policy->shards[chosen];
    return shards->node ? shards : NULL;
}

static bool unsupported(const chunker *c, const cz_shards *shards,
                        const cz_family *family, const char *what)
{
    cz_diag_error(c->diags, CZ_UNSUPPORTED, shards->node->span,
                  "%s, as %s is, are not supported yet", what,
                  cz_family_first_name(c->arena, family));
    return false;
}

/* Equal shards divide what the dimension's other axes leave. */
static bool check_divides(const chunker *c, const cz_shards *shards,
                          const cz_family *family)
{
    const int64_t size = family->stored[shards->dim];
    const int64_t others = cz_mesh_extent(c->mesh, family->shard[shards->dim]);
    const int64_t ways = cz_mesh_extent(c->mesh, shards->axes);
    if (shards->chunk || size / others % ways == 0)
        return true;
    cz_diag_error(c->diags, CZ_NOT_DIVISIBLE, shards->node->span,
                  "dimension %d of %s, %lld on each rank, cannot be cut by "
                  "fsdp = %lld: `chunk` allows shards of unequal length",
                  shards->dim, cz_family_first_name(c->arena, family),
                  (long long)(size / others), (long long)ways);
    return false;
}

static bool chunk(const chunker *c, const cz_shards *shards, cz_family *family)
{
    int64_t taken = family->spread;
    if (!shards || shards->dim >= family->n_dims ||
        cz_mesh_extent(c->mesh, shards->axes) == 1)
        return true;
    for (int d = 0; d < family->n_dims; d++)
        taken |= family->shard[d];
    if (family->n_dims > 2 && shards->dim == 0)
        return unsupported(c, shards, family, "shards of a batch of matrices");
    if (cz_mesh_extent(c->mesh, taken & shards->axes) > 1)
        return unsupported(c, shards, family,
                           "shards over ranks that experts are cut over or "
                           "dealt out to");
    if (!check_divides(c, shards, family))
        return false;
    family->shard[shards->dim] |= shards->axes;
    family->chunk_axes = shards->axes;
    family->chunk_dim = shards->dim;
    family->ceil = shards->chunk;
    return true;
}

/* ---- runs of indices ---- */

static bool are_alike(const chunker *c, int64_t a, int64_t b)
{
    char first[24], other[24];
    snprintf(first, sizeof first, "%lld", (long long)a);
    snprintf(other, sizeof other, "%lld", (long long)b);
    for (int i = 1; i < c->policy->n_shards; i++)
        if (cz_match_tells_apart(c->policy->shards[i].paths, first, other))
            return false;
    return true;
}

/* All runs of `family` whose indices below `k` are fixed in `some`. */
static bool cut(chunker *c, const cz_family *family, cz_family *some, int k)
{
    if (k == family->n_indices) {
        cz_family *made = CZ_PUSH(c->arena, c->families, c->n);
        *made = *some;
        return chunk(c, clause_of(c, some), made);
    }
    const int64_t end = family->first[k] + family->extents[k];
    for (int64_t from = family->first[k], to; from < end; from = to) {
        for (to = from + 1; to < end && are_alike(c, from, to);)
            to++;
        if (to < end && some->spread && k == some->spread_index) {
            cz_diag_error(c->diags, CZ_UNSUPPORTED, some->node->span,
                          "a path tells apart parameters that ranks share "
                          "out among them: not supported yet");
            return false;
        }
        some->first[k] = from;
        some->extents[k] = to - from;
        if (!cut(c, family, some, k + 1))
            return false;
    }
    return true;
}

bool cz_chunk_model(const cz_policy *policy, const cz_mesh *mesh,
                    cz_arena *arena, cz_diags *diags, cz_model *model)
{
    bool ok = true;
    chunker c = {
        .policy = policy, .mesh = mesh, .arena = arena, .diags = diags};
    for (int i = 0; i < model->n; i++) {
        cz_family some = model->families[i];
        if (!cut(&c, &model->families[i], &some, 0))
            return false;
    }
    for (int i = 1; i < policy->n_shards; i++)
        ok = cz_paths_check(arena, diags, policy->shards[i].paths, model,
                            true) &&
             ok;
    model->families = c.families;
    model->n = c.n;
    return ok;
}

/* ---- shards ---- */

/* Coordinate over the pieces of `part`, of one over those of `set`. */
static int64_t coordinate_over(const cz_mesh *mesh, int64_t set, int64_t view,
                               int64_t coordinate)
{
    int64_t result = 0, weight = 1;
    for (int a = mesh->n - 1; a >= 0; a--) {
        if (!(set >> a & 1))
            continue;
        if (view >> a & 1) {
            result += coordinate % mesh->sizes[a] * weight;
            weight *= mesh->sizes[a];
        }
        coordinate /= mesh->sizes[a];
    }
    return result;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void cz_chunk_shard(const cz_mesh *mesh, const cz_family *family, int d,
                    int64_t coordinate, int64_t shard[2])
{
    const int64_t set = family->shard[d];
    const int64_t inner = d == family->chunk_dim ? family->chunk_axes : 0;
    const int64_t outer = set & ~inner, parts = cz_mesh_extent(mesh, inner);
    const int64_t size = family->stored[d] / cz_mesh_extent(mesh, outer);
    const int64_t length =
        family->ceil ? cz_ceil_div(size, parts) : size / parts;
    const int64_t base = coordinate_over(mesh, set, outer, coordinate) * size;
    const int64_t first =
        least(coordinate_over(mesh, set, inner, coordinate) * length, size);
    shard[0] = base + first;
    shard[1] = base + least(first + length, size);
}
