/* Shapes of parameters. */
#include "frontend/model/internal.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "frontend/model/model.h"

typedef struct shaper {
    cz_env *env;
    const cz_mesh *mesh;
    cz_cuts *cuts;
    cz_diags *diags;
    bool *expert; /* set when an axis of the experts appears */
} shaper;

static bool unsupported(const shaper *s, cz_span span, const char *what)
{
    cz_diag_error(s->diags, CZ_UNSUPPORTED, span, "%s not supported yet", what);
    return false;
}

/* `axis` also divides this dimension, and stands before those so far. */
static bool take_axis(const shaper *s, const cz_node *name, int64_t *shard)
{
    int64_t set;
    if (strcmp(name->text, "pp") == 0) {
        cz_diag_error(s->diags, CZ_BAD_DIMENSION, name->span,
                      "pp cuts no dimension: `[i < n/pp]` deals the values of "
                      "one index out to stages");
        return false;
    }
    *s->expert = *s->expert || cz_mesh_is_expert_axis(name->text);
    cz_mesh_find(s->mesh, name->text, &set);
    const bool cuts = cz_mesh_extent(s->mesh, set) > 1;
    if (cuts &&
        (strcmp(name->text, "dp") == 0 || strcmp(name->text, "edp") == 0))
        return unsupported(
            s, name->span,
            cz_arena_printf(s->env->arena, "sharding over %s is", name->text));
    if (set & *shard) {
        cz_diag_error(s->diags, CZ_BAD_DIMENSION, name->span,
                      "axis %s cuts this dimension twice", name->text);
        return false;
    }
    /* the pieces of what is major come first in the mesh */
    if (cz_mesh_extent(s->mesh, *shard) > 1 && cuts &&
        (set & -set) > (*shard & -*shard))
        return unsupported(s, name->span,
                           "axes in another order than the mesh's are");
    *shard |= set;
    return true;
}

static bool is_axis(const cz_node *node)
{
    return node->kind == CZ_AST_NAME && cz_mesh_is_axis(node->text);
}

bool cz_shape_is_partitioned(const cz_node *count)
{
    return count->kind == CZ_AST_DIV && is_axis(cz_binary_right(count));
}

/* Split `V/dp/tp` into V and its axes. */
static const cz_node *peel(const shaper *s, const cz_node *dim, int64_t *shard)
{
    while (cz_shape_is_partitioned(dim)) {
        if (!take_axis(s, cz_binary_right(dim), shard))
            return NULL;
        dim = cz_binary_left(dim);
    }
    return dim;
}

/* The axes that divide a dimension, as the text has them: "dp/tp". */
static const char *axes_of(const shaper *s, const cz_node *dim)
{
    const char *out = "";
    for (; dim->kind == CZ_AST_DIV && is_axis(cz_binary_right(dim));
         dim = cz_binary_left(dim))
        out = *out ? cz_arena_printf(s->env->arena, "%s/%s",
                                     cz_binary_right(dim)->text, out)
                   : cz_binary_right(dim)->text;
    return out;
}

/* The nearest size of an axis that divides; below before above. */
static int64_t nearest_divisor(int64_t dim, int64_t size)
{
    for (int64_t step = 1; step < size; step++) {
        if (dim % (size - step) == 0)
            return size - step;
        if (dim % (size + step) == 0)
            return size + step;
    }
    return 1;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool check_divides(const shaper *s, const cz_node *dim, const char *what,
                          int64_t size, int64_t set)
{
    if (set == 0)
        return true;
    const int64_t ways = cz_mesh_extent(s->mesh, set);
    const char *axes = axes_of(s, dim);
    cz_cut *cut = NULL;
    for (int i = 0; i < s->cuts->n && !cut; i++)
        if (strcmp(s->cuts->list[i].axes, axes) == 0)
            cut = &s->cuts->list[i];
    if (!cut) {
        cut = CZ_PUSH(s->env->arena, s->cuts->list, s->cuts->n);
        *cut = (cz_cut){.axes = axes, .extent = ways};
    }
    cut->divisor = common_divisor(cut->divisor, size);
    if (size % ways == 0)
        return true;
    if (!cut->what) {
        cut->what = what;
        cut->size = size;
        cut->place = dim->span;
    }
    return false;
}

void cz_cuts_report(const cz_cuts *cuts, cz_diags *diags)
{
    for (int i = 0; i < cuts->n; i++) {
        const cz_cut *cut = &cuts->list[i];
        if (!cut->what)
            continue;
        cz_diag_error(diags, CZ_NOT_DIVISIBLE, cut->place,
                      "%s of %lld cannot be cut by %s = %lld", cut->what,
                      (long long)cut->size, cut->axes, (long long)cut->extent);
        cz_diag_note(diags, cut->place,
                     "the nearest size that works is %s = %lld", cut->axes,
                     (long long)nearest_divisor(cut->divisor, cut->extent));
    }
}

static bool is_pad(const cz_node *e)
{
    return e->kind == CZ_AST_CALL && strcmp(e->text, "pad") == 0;
}

/* The size, and what is stored of it with padding. */
static bool eval_dim(const shaper *s, const cz_node *e, int64_t *size,
                     int64_t *stored)
{
    if (is_pad(e))
        return cz_pad_read(e, s->env, s->mesh, s->diags, size, stored);
    if (!cz_eval_size(e, s->env, s->diags, "dimension", 1, CZ_MAX_DIM, size))
        return false;
    *stored = *size;
    return true;
}

static bool build_dim(const shaper *s, const cz_node *dim, cz_pattern *pattern,
                      int d)
{
    int64_t *shard = &pattern->shard[d];
    *shard = 0;
    const cz_node *e = peel(s, dim, shard);
    if (!e)
        return false;
    pattern->is_padded |= is_pad(e);
    return eval_dim(s, e, &pattern->shape[d], &pattern->stored[d]) &&
           check_divides(s, dim, "a dimension", pattern->stored[d], *shard);
}

/* A dimension of the text behind the second lies within dimension 1 of
 * the matrix that the parameter is. */
static bool fold_dim(const shaper *s, const cz_node *dim, cz_pattern *pattern)
{
    int64_t size, stored, shard = 0;
    const cz_node *e = peel(s, dim, &shard);
    if (!e || !eval_dim(s, e, &size, &stored))
        return false;
    if (shard || stored != size)
        return unsupported(s, dim->span,
                           "cutting or padding this dimension, which lies in "
                           "the rows of a matrix, is");
    if (cz_checked_mul(pattern->shape[1], size, &pattern->shape[1]) &&
        cz_checked_mul(pattern->stored[1], size, &pattern->stored[1]) &&
        pattern->stored[1] <= CZ_MAX_DIM)
        return true;
    cz_diag_error(s->diags, CZ_TOO_LARGE, dim->span,
                  "the rows of this matrix have more than 2^40 elements");
    return false;
}

/* What is written as one element is a vector of it. */
static bool check_dims(const shaper *s, const cz_node *dims, cz_pattern *out)
{
    const int n = cz_n_items(dims);
    if (out->folded && n < 2) {
        cz_diag_error(s->diags, CZ_SHAPE_MISMATCH, dims->span,
                      "what has fewer than two dimensions is no matrix");
        return false;
    }
    out->folded = out->folded && n > 2;
    out->n_dims = out->folded ? 2 : n == 0 ? 1 : n;
    out->shape[0] = out->stored[0] = 1;
    if (out->n_dims <= CZ_MAX_NDIM)
        return true;
    unsupported(s, dims->span,
                "a parameter with more than three dimensions is");
    cz_diag_note(s->diags, dims->span,
                 "`view matrix` behind it makes [out, in, ...] the matrix "
                 "[out, in*...], as convolutions are updated");
    return false;
}

bool cz_shape_build(const cz_node *dims, cz_env *env, const cz_mesh *mesh,
                    cz_cuts *cuts, cz_diags *diags, cz_pattern *out)
{
    const shaper s = {env, mesh, cuts, diags, &out->expert};
    int64_t numel;
    bool good = check_dims(&s, dims, out);
    if (!good)
        return false;
    for (int i = 0; i < cz_n_items(dims); i++)
        good &= i < out->n_dims ? build_dim(&s, cz_item(dims, i), out, i)
                                : fold_dim(&s, cz_item(dims, i), out);
    if (good && !cz_checked_product(out->stored, out->n_dims, &numel)) {
        cz_diag_error(diags, CZ_TOO_LARGE, dims->span,
                      "a parameter has at most 2^62 elements");
        return false;
    }
    if (!good)
        return false;
    int64_t seen = 0;
    for (int d = 0; d < out->n_dims; d++) {
        if (seen & out->shard[d]) {
            cz_diag_error(s.diags, CZ_BAD_DIMENSION, dims->span,
                          "%s cuts two dimensions",
                          axes_of(&s, cz_item(dims, d)));
            return false;
        }
        seen |= out->shard[d];
    }
    return true;
}

bool cz_shape_count(const cz_node *count, cz_env *env, const cz_mesh *mesh,
                    cz_cuts *cuts, cz_diags *diags, int64_t high,
                    int64_t *extent, int64_t *expert_axes, bool *expert)
{
    const shaper s = {env, mesh, cuts, diags, expert};
    *expert_axes = 0;
    const cz_node *e = peel(&s, count, expert_axes);
    if (!e ||
        !cz_eval_size(e, env, diags, "number of indices", 0, high, extent) ||
        !check_divides(&s, count, "an index", *extent, *expert_axes))
        return false;
    if (cz_mesh_extent(mesh, *expert_axes) == 1)
        *expert_axes = 0;
    return true;
}
