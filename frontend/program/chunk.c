/* Shards that the schedule lays over patterns.  Families that paths tell apart
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
    cz_pattern *patterns;
    int n;
} chunker;

/* The last clause over that axis that matches, or that of all others; NULL:
 * none is there. */
static const cz_shards *clause_of(const chunker *c, const cz_pattern *pattern,
                                  int over)
{
    const char *words[CZ_MAX_WORDS];
    int chosen = over;
    cz_pattern_words(c->arena, pattern, pattern->first, words);
    for (int i = CZ_N_CHUNKS; i < c->policy->n_shards; i++)
        if (c->policy->shards[i].over == over &&
            cz_match_paths(c->policy->shards[i].paths, words, pattern->n_words))
            chosen = i;
    const cz_shards *shards = &c->policy->shards[chosen];
    return shards->node ? shards : NULL;
}

static bool unsupported(const chunker *c, const cz_shards *shards,
                        const cz_pattern *pattern, const char *what)
{
    cz_diag_error(c->diags, CZ_UNSUPPORTED, shards->node->span,
                  "%s, as %s is, are not supported yet", what,
                  cz_pattern_first_name(c->arena, pattern));
    return false;
}

/* Equal shards divide what the dimension's other axes leave. */
static bool check_divides(const chunker *c, const cz_shards *shards,
                          int64_t axes, const cz_pattern *pattern)
{
    const int64_t others = cz_mesh_extent(c->mesh, pattern->shard[shards->dim]);
    const int64_t ways = cz_mesh_extent(c->mesh, axes);
    for (int64_t p = 0; p < others && !shards->chunk; p++) {
        int64_t shard[2];
        cz_chunk_shard(c->mesh, pattern, shards->dim, p, shard);
        if ((shard[1] - shard[0]) % ways == 0)
            continue;
        cz_diag_error(c->diags, CZ_NOT_DIVISIBLE, shards->node->span,
                      "dimension %d of %s, %lld on %s rank, cannot be cut by "
                      "%s = %lld: `chunk` allows shards of unequal length",
                      shards->dim, cz_pattern_first_name(c->arena, pattern),
                      (long long)(shard[1] - shard[0]), p ? "a" : "each",
                      cz_mesh_text(c->arena, c->mesh, axes), (long long)ways);
        return false;
    }
    return true;
}

static bool chunk(const chunker *c, const cz_shards *shards,
                  cz_pattern *pattern)
{
    int64_t taken = pattern->expert_axes;
    if (!shards || (shards->dim >= pattern->n_dims && !pattern->folded))
        return true;
    for (int d = 0; d < pattern->n_dims; d++)
        taken |= pattern->shard[d];
    /* Of experts FSDP has what their own axes leave. */
    const int64_t axes = pattern->expert && shards->over == CZ_CHUNK_FSDP
                             ? shards->axes & ~taken
                             : shards->axes;
    if (cz_mesh_extent(c->mesh, axes) == 1)
        return true;
    if (pattern->folded && shards->dim > 0)
        return unsupported(
            c, shards, pattern,
            "shards of what lies in the rows of a `view matrix`");
    if (pattern->n_dims > 2 && shards->dim == 0)
        return unsupported(c, shards, pattern, "shards of a batch of matrices");
    if (cz_mesh_extent(c->mesh, taken & axes) > 1) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, shards->node->span,
                      "%s cuts %s already, as the model says",
                      cz_mesh_text(c->arena, c->mesh, taken & axes),
                      cz_pattern_first_name(c->arena, pattern));
        return false;
    }
    if (!check_divides(c, shards, axes, pattern))
        return false;
    pattern->shard[shards->dim] |= axes;
    pattern->chunks[shards->over] =
        (cz_chunk){axes, shards->dim, shards->chunk};
    return true;
}

/* ---- runs of indices ---- */

static bool are_alike(const chunker *c, int64_t a, int64_t b)
{
    char first[24], other[24];
    snprintf(first, sizeof first, "%lld", (long long)a);
    snprintf(other, sizeof other, "%lld", (long long)b);
    for (int i = CZ_N_CHUNKS; i < c->policy->n_shards; i++)
        if (cz_match_tells_apart(c->policy->shards[i].paths, first, other))
            return false;
    return true;
}

/* All runs of `pattern` whose indices below `k` are fixed in `some`. */
static bool cut(chunker *c, const cz_pattern *pattern, cz_pattern *some, int k)
{
    if (k == pattern->n_indices) {
        cz_pattern *made = CZ_PUSH(c->arena, c->patterns, c->n);
        *made = *some;
        for (int over = 0; over < CZ_N_CHUNKS; over++)
            if (!chunk(c, clause_of(c, some, over), made))
                return false;
        return true;
    }
    const int64_t end = pattern->first[k] + pattern->extents[k];
    for (int64_t from = pattern->first[k], to; from < end; from = to) {
        for (to = from + 1; to < end && are_alike(c, from, to);)
            to++;
        if (to < end && some->expert_axes && k == some->expert_index) {
            cz_diag_error(c->diags, CZ_UNSUPPORTED, some->node->span,
                          "a path tells apart parameters that ranks share "
                          "out among them: not supported yet");
            return false;
        }
        some->first[k] = from;
        some->extents[k] = to - from;
        if (!cut(c, pattern, some, k + 1))
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
        cz_pattern some = model->patterns[i];
        if (!cut(&c, &model->patterns[i], &some, 0))
            return false;
    }
    for (int i = CZ_N_CHUNKS; i < policy->n_shards; i++)
        ok = cz_paths_check(arena, diags, policy->shards[i].paths, model,
                            true) &&
             ok;
    model->patterns = c.patterns;
    model->n = c.n;
    return ok;
}

static bool is_cut_over(const cz_model *model, int64_t set)
{
    bool any = false;
    for (int i = 0; i < model->n; i++) {
        any = any || (model->patterns[i].expert_axes & set);
        for (int d = 0; d < model->patterns[i].n_dims; d++)
            any = any || (model->patterns[i].shard[d] & set);
    }
    return any;
}

/* Ranks that hold the same would be taken for ranks that share the work. */
void cz_chunk_warn(const cz_model *model, const cz_mesh *mesh, cz_diags *diags)
{
    static const struct {
        const char *axis, *remedy;
    } table[] = {{"fsdp", "`shard dim 0 over fsdp chunk` in the schedule cuts "
                          "all as torch does"},
                 {"tp", "a shape says it, as `[d/tp, d]`, or `shard dim 0 over "
                        "tp` in the schedule"},
                 {"ep", "a path says it, as `experts[e < n/ep]`"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t set = 0;
        if (cz_mesh_find(mesh, table[i].axis, &set) &&
            cz_mesh_extent(mesh, set) > 1 && !is_cut_over(model, set))
            cz_diag_warning(diags, CZ_BAD_SCHEDULE, (cz_span){0},
                            "no parameter is cut over %s, of %lld ranks: %s",
                            table[i].axis, (long long)cz_mesh_extent(mesh, set),
                            table[i].remedy);
    }
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

void cz_chunk_shard(const cz_mesh *mesh, const cz_pattern *pattern, int d,
                    int64_t coordinate, int64_t shard[2])
{
    const int64_t set = pattern->shard[d];
    int64_t outer = set;
    for (int k = 0; k < CZ_N_CHUNKS; k++)
        if (pattern->chunks[k].dim == d)
            outer &= ~pattern->chunks[k].axes;
    int64_t size = pattern->stored[d] / cz_mesh_extent(mesh, outer);
    int64_t base = coordinate_over(mesh, set, outer, coordinate) * size;
    for (int k = 0; k < CZ_N_CHUNKS; k++) {
        const cz_chunk *inner = &pattern->chunks[k];
        if (!inner->axes || inner->dim != d)
            continue;
        const int64_t parts = cz_mesh_extent(mesh, inner->axes);
        const int64_t length =
            inner->ceil ? cz_ceil_div(size, parts) : size / parts;
        const int64_t first =
            coordinate_over(mesh, set, inner->axes, coordinate) * length;
        base += least(first, size);
        size = least(length, size - least(first, size));
    }
    shard[0] = base;
    shard[1] = base + size;
}
