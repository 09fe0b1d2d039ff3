/* Ceil-chunks. */
#include "frontend/chunk.h"

#include "dsl/base/checked.h"

static bool is_cut(const cz_mesh *mesh, const cz_family *family, int d)
{
    return cz_mesh_extent(mesh, family->shard[d]) > 1;
}

static bool chunk(const cz_policy *policy, const cz_mesh *mesh, cz_arena *arena,
                  cz_diags *diags, cz_family *family)
{
    if (policy->chunk_dim >= family->n_dims)
        return true;
    if (family->n_dims > 2 && policy->chunk_dim == 0) {
        cz_diag_error(diags, CZ_UNSUPPORTED, policy->chunk->span,
                      "chunks of a batch of matrices, as %s is, are not "
                      "supported yet",
                      cz_family_first_name(arena, family));
        return false;
    }
    for (int d = 0; d < family->n_dims; d++)
        if (is_cut(mesh, family, d)) {
            cz_diag_error(diags, CZ_UNSUPPORTED, policy->chunk->span,
                          "%s is cut by %s already: two axes on one tensor are "
                          "not supported yet",
                          cz_family_first_name(arena, family),
                          cz_mesh_text(arena, mesh, family->shard[d]));
            return false;
        }
    family->shard[policy->chunk_dim] = policy->chunk_axes;
    family->chunked = true;
    family->chunk_dim = policy->chunk_dim;
    return true;
}

bool cz_chunk_model(const cz_policy *policy, const cz_mesh *mesh,
                    cz_arena *arena, cz_diags *diags, cz_model *model)
{
    if (!policy->chunk || cz_mesh_extent(mesh, policy->chunk_axes) == 1)
        return true;
    for (int i = 0; i < model->n; i++)
        if (!chunk(policy, mesh, arena, diags, &model->families[i]))
            return false;
    return true;
}

int64_t cz_chunk_start(const cz_family *family, int d, int64_t parts,
                       int64_t part)
{
    const int64_t size = family->stored[d];
    if (!family->chunked || family->chunk_dim != d)
        return size / parts * part;
    const int64_t start = cz_ceil_div(size, parts) * part;
    return start < size ? start : size;
}
