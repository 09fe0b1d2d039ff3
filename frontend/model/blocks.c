/* Fused storage. */
#include "frontend/model/model.h"

#include <string.h>

#include "dsl/base/checked.h"

/* ---- padding ---- */

bool cz_pad_read(const cz_node *call, cz_env *env, const cz_mesh *mesh,
                 cz_diags *diags, int64_t *size, int64_t *stored)
{
    cz_env inner;
    int64_t multiple;
    if (cz_n_items(call) != 2 || cz_item(call, 0)->text ||
        cz_item(call, 1)->text) {
        cz_diag_error(diags, CZ_WRONG_ARGUMENT, call->span,
                      "pad() takes a size and what to make it a multiple of");
        return false;
    }
    cz_mesh_bind(mesh, env, &inner);
    if (!cz_eval_size(cz_arg_value(cz_item(call, 0)), &inner, diags,
                      "dimension", 1, CZ_MAX_DIM, size) ||
        !cz_eval_size(cz_arg_value(cz_item(call, 1)), &inner, diags, "multiple",
                      1, CZ_MAX_DIM, &multiple))
        return false;
    *stored = cz_round_up(*size, multiple);
    if (*stored <= CZ_MAX_DIM)
        return true;
    cz_diag_error(diags, CZ_TOO_LARGE, call->span,
                  "a dimension is at most 2^%d", CZ_MAX_DIM_BITS);
    return false;
}

/* ---- blocks ---- */

int cz_matrix_dim(const cz_pattern *pattern, int k)
{
    if (pattern->n_dims < 2)
        return 0;
    return pattern->n_dims - ((k == 0) == pattern->transposed ? 1 : 2);
}

/* The dimension that the optimizer sees as rows. */
static int row_dim(const cz_pattern *pattern)
{
    return cz_matrix_dim(pattern, 0);
}

static bool add_piece(cz_blocks *blocks, cz_strip *strips, const cz_node *node,
                      int64_t size, cz_diags *diags)
{
    for (int i = 0; i < blocks->n_strips; i++)
        if (strcmp(strips[i].name, node->text) == 0) {
            cz_diag_error(diags, CZ_DUPLICATE_NAME, node->span,
                          "two pieces are called '%s'", node->text);
            return false;
        }
    strips[blocks->n_strips++] = (cz_strip){node->text, blocks->period, size};
    return cz_checked_add(blocks->period, size, &blocks->period);
}

bool cz_blocks_build(const cz_node *node, cz_env *env, const cz_mesh *mesh,
                     cz_diags *diags, cz_pattern *pattern)
{
    cz_env inner;
    cz_blocks *blocks = CZ_NEW(env->arena, cz_blocks, 1);
    cz_strip *strips = CZ_NEW(env->arena, cz_strip, cz_n_items(node));
    cz_mesh_bind(mesh, env, &inner);
    if (!cz_eval_size(cz_blocks_count(node), &inner, diags,
                      "number of repetitions", 1, CZ_MAX_DIM, &blocks->n))
        return false;
    for (int i = 0; i < cz_n_items(node); i++) {
        int64_t size;
        if (!cz_eval_size(cz_strip_rows(cz_item(node, i)), &inner, diags,
                          "size of a piece", 1, CZ_MAX_DIM, &size) ||
            !add_piece(blocks, strips, cz_item(node, i), size, diags))
            return false;
    }
    blocks->strips = strips;
    for (int d = 0; d < pattern->n_dims; d++)
        if (pattern->stored[d] != pattern->shape[d]) {
            cz_diag_error(diags, CZ_UNSUPPORTED, node->span,
                          "padding of storage that holds several matrices is "
                          "not supported yet");
            return false;
        }
    pattern->blocks = blocks;
    const int64_t rows = pattern->shape[row_dim(pattern)];
    int64_t sum;
    if (cz_checked_mul(blocks->n, blocks->period, &sum) && sum == rows)
        return true;
    cz_diag_error(diags, CZ_SHAPE_MISMATCH, node->span,
                  "%lld times %lld rows of pieces are not the %lld rows of the "
                  "tensor",
                  (long long)blocks->n, (long long)blocks->period,
                  (long long)rows);
    return false;
}

/* ---- parts ---- */

cz_storage_view cz_storage_view_all(void)
{
    return (cz_storage_view){.strip = -1, .repeat = -1};
}

bool cz_storage_view_equal(const cz_storage_view *a, const cz_storage_view *b)
{
    return a->strip == b->strip && a->repeat == b->repeat &&
           a->batch == b->batch && a->tile == b->tile && a->at[0] == b->at[0] &&
           a->at[1] == b->at[1];
}

cz_pattern cz_storage_view_pattern(const cz_pattern *pattern,
                                   cz_storage_view view)
{
    cz_pattern seen = *pattern;
    seen.blocks = NULL;
    if (view.strip >= 0) {
        const int64_t size = pattern->blocks->strips[view.strip].size;
        seen.shape[row_dim(pattern)] =
            view.repeat < 0 ? size * pattern->blocks->n : size;
    }
    if (view.batch) {
        /* The first dimension becomes the last index. */
        const int k = seen.n_indices++;
        seen.first[k] = 0;
        seen.extents[k] = seen.shape[0];
        seen.expert_axes = seen.shard[0];
        seen.expert_index = k;
        seen.partitioned |= 1U << k;
        seen.n_dims--;
        for (int d = 0; d < seen.n_dims; d++) {
            seen.shape[d] = seen.shape[d + 1];
            seen.stored[d] = seen.stored[d + 1];
            seen.shard[d] = seen.shard[d + 1];
        }
    }
    if (view.tile > 0) {
        /* Of a matrix its tile. */
        for (int k = 0; k < 2; k++) {
            int64_t *size = &seen.shape[cz_matrix_dim(&seen, k)];
            const int64_t rest = *size - view.at[k] * view.tile;
            *size = rest < view.tile ? rest : view.tile;
        }
    }
    return seen;
}

bool cz_storage_view_is_stored(const cz_pattern *pattern, cz_storage_view view)
{
    /* Names are the same on all meshes, so that checkpoints are. */
    return !pattern->is_padded && view.strip < 0 && !view.batch &&
           view.tile == 0;
}

const char *cz_storage_view_suffix(cz_arena *arena, const cz_pattern *pattern,
                                   cz_storage_view view)
{
    if (cz_storage_view_is_stored(pattern, view))
        return "";
    if (view.strip < 0 && !view.batch && view.tile == 0)
        return "[unpadded]";
    const char *text =
        view.batch ? cz_arena_printf(arena, "{%d}", pattern->n_indices) : "";
    if (view.strip >= 0)
        text = cz_arena_printf(arena, "%s%s%s", text, *text ? "." : "",
                               pattern->blocks->strips[view.strip].name);
    if (view.repeat >= 0)
        text = cz_arena_printf(arena, "%s.%lld", text, (long long)view.repeat);
    if (view.tile > 0)
        text = cz_arena_printf(arena, "%s%s%lld,%lld", text, *text ? "." : "",
                               (long long)view.at[0], (long long)view.at[1]);
    return cz_arena_printf(arena, "[%s]", text);
}

/* Along the rows: a piece of all repetitions, or of one. */
static void map_piece(const cz_blocks *blocks, cz_storage_view view,
                      int64_t rows[3])
{
    const cz_strip *piece = &blocks->strips[view.strip];
    rows[0] =
        piece->base + (view.repeat < 0 ? 0 : view.repeat * blocks->period);
    rows[1] = piece->size;
    rows[2] = view.repeat < 0 && blocks->n > 1 ? blocks->period : piece->size;
}

/* Elements [first, first + size) of what `map` says: whole blocks of it, the
 * last one perhaps shorter, or a part of one block (tile.h). */
static void map_tile(int64_t map[3], int64_t first, int64_t size)
{
    map[0] += first / map[1] * map[2] + first % map[1];
    if (size <= map[1] || map[1] == map[2])
        map[1] = map[2] = size;
}

void cz_storage_view_map(const cz_pattern *pattern, cz_storage_view view,
                         int64_t map[CZ_MAX_NDIM][3])
{
    for (int d = 0; d < pattern->n_dims; d++) {
        map[d][0] = 0;
        map[d][1] = map[d][2] = view.batch && d == 0 ? 1 : pattern->shape[d];
    }
    if (view.strip >= 0)
        map_piece(pattern->blocks, view, map[row_dim(pattern)]);
    if (view.tile == 0)
        return;
    const cz_pattern seen = cz_storage_view_pattern(pattern, view);
    for (int k = 0; k < 2; k++)
        map_tile(map[cz_matrix_dim(pattern, k)], view.at[k] * view.tile,
                 seen.shape[cz_matrix_dim(&seen, k)]);
}
