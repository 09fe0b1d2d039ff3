/* Tiles of matrices. */
#include "frontend/program/internal.h"

#include "dsl/base/checked.h"

/* ---- what uses ask for ---- */

static void read_use(cz_use *use, const cz_node *tiles, cz_env *globals,
                     cz_diags *diags)
{
    use->broken = !cz_eval_size(cz_tiles_size(tiles), globals, diags,
                                "size of tiles", 1, CZ_MAX_DIM, &use->tile);
    if (use->broken || use->signature.n_dims == 2)
        return;
    cz_diag_error(diags, CZ_SHAPE_MISMATCH, tiles->span,
                  "tiles are cut of matrices, and %s is not for matrices",
                  use->rule.optimizer->text);
    use->broken = true;
}

void cz_tiles_read(cz_uses *uses, cz_env *globals, cz_diags *diags)
{
    for (int i = 0; i < uses->n; i++) {
        cz_use *use = &uses->list[i];
        const cz_node *tiles = cz_use_tiles(use->node);
        use->tile = 0;
        if (tiles && !use->broken)
            read_use(use, tiles, globals, diags);
    }
}

/* ---- of one part ---- */

void cz_tile_grid(const cz_pattern *pattern, cz_storage_view view, int64_t tile,
                  int64_t grid[2])
{
    const cz_pattern seen = cz_storage_view_pattern(pattern, view);
    grid[0] = grid[1] = 1;
    for (int k = 0; k < 2 && tile > 0 && seen.n_dims == 2; k++)
        grid[k] = cz_ceil_div(seen.shape[cz_matrix_dim(&seen, k)], tile);
}

bool cz_tile_is_mapped(const cz_pattern *pattern, cz_storage_view view,
                       int64_t tile)
{
    int64_t map[CZ_MAX_NDIM][3], grid[2];
    cz_storage_view_map(pattern, view, map);
    cz_tile_grid(pattern, view, tile, grid);
    const int64_t block = map[cz_matrix_dim(pattern, 0)][1];
    const int64_t stride = map[cz_matrix_dim(pattern, 0)][2];
    return grid[0] == 1 || block == stride || block % tile == 0 ||
           tile % block == 0;
}
