/* Gradients of patterns. */
#include "frontend/program/internal.h"

bool cz_reduction_equal(const cz_reduction *a, const cz_reduction *b)
{
    return a->reduce == b->reduce && a->split == b->split &&
           a->dtype == b->dtype && a->n_grads == b->n_grads &&
           a->divisor == b->divisor;
}

typedef struct finder {
    const cz_compile_options *options;
    const cz_mesh *mesh;
    cz_arena *arena;
    cz_diags *diags;
    bool strict;
} finder;

/* Gradients that each of the ranks along `set` hands over. */
static bool count_leaves(const finder *f, int64_t set, int64_t *n_grads)
{
    const int64_t microbatches = f->options->microbatches;
    const int64_t ranks = cz_mesh_extent(f->mesh, set);
    *n_grads = 1;
    if (!f->strict || microbatches == 0)
        return true;
    *n_grads = microbatches / ranks;
    if (microbatches > 0 && microbatches % ranks == 0)
        return true;
    const int64_t more = ranks * (microbatches / ranks + 1);
    const char *message = cz_arena_printf(
        f->arena,
        "%lld microbatches cannot be shared by %lld ranks; try "
        "--microbatches=%lld",
        (long long)microbatches, (long long)ranks, (long long)more);
    if (!cz_diag_has(f->diags, CZ_NOT_DIVISIBLE, message))
        cz_diag_error(f->diags, CZ_NOT_DIVISIBLE, (cz_span){0}, "%s", message);
    return false;
}

static bool overlaps(const finder *f, int64_t set, const cz_pattern *pattern,
                     cz_span place, const char *what)
{
    int64_t distinct = pattern->expert_axes | pattern->held_axes;
    for (int d = 0; d < pattern->n_dims; d++)
        distinct |= pattern->shard[d];
    set &= distinct;
    if (cz_mesh_extent(f->mesh, set) == 1)
        return false;
    cz_diag_error(f->diags, CZ_BAD_SCHEDULE, place,
                  "%s over %s, along which ranks hold different parts of %s",
                  what, cz_mesh_text(f->arena, f->mesh, set),
                  cz_pattern_first_name(f->arena, pattern));
    return true;
}

bool cz_reduction_find(const cz_compile_options *options, const cz_mesh *mesh,
                       const cz_policy *policy, bool strict,
                       const cz_choice *choice, cz_arena *arena,
                       cz_diags *diags, cz_reduction *out)
{
    const finder f = {options, mesh, arena, diags, strict};
    const cz_grads *dense = &policy->grads[0];
    const cz_grads *grads = &policy->grads[choice->grads];
    const bool expert = choice->pattern.expert && mesh->has_experts;
    int64_t edp;
    cz_mesh_find(mesh, "edp", &edp);
    edp &= ~choice->pattern.chunks[CZ_CHUNK_FSDP].axes;
    *out = (cz_reduction){
        .dtype = grads->dtype,
        .reduce =
            expert && grads == dense && !dense->reduced ? edp : grads->axes,
        .split = expert && policy->split ? edp : policy->split};
    const cz_span place =
        grads->node ? grads->node->span : choice->pattern.node->span;
    if (overlaps(&f, out->reduce, &choice->pattern, place,
                 "gradients cannot be summed") ||
        overlaps(&f, out->split, &choice->pattern, choice->pattern.node->span,
                 "states cannot be split"))
        return false;
    if (grads->reduced)
        out->n_grads = 1;
    else if (!count_leaves(&f, out->reduce, &out->n_grads))
        return false;
    /* Terms of a mean: those of the dense gradients, which say how many ranks
     * and microbatches there are; or, where these arrive reduced, one's own. */
    int64_t *divisor = &out->divisor;
    int64_t n_grads = out->n_grads;
    const int64_t set = dense->reduced ? out->reduce : dense->axes;
    *divisor = 1;
    if (grads->sum || grads->reduced)
        return true;
    if (!dense->reduced && !count_leaves(&f, dense->axes, &n_grads))
        return false;
    *divisor = cz_mesh_extent(f.mesh, set) * n_grads;
    return true;
}
