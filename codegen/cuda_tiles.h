/* Tiles of products in NAME_cuda.c.  Private to what emits that file. */
#ifndef CZ_CODEGEN_CUDA_TILES_H
#define CZ_CODEGEN_CUDA_TILES_H

#include "codegen/codegen_internal.h"
#include "codegen/emit.h"

typedef struct cz_tile_rows {
    const cz_emit_tiler *tiler; /* NULL: nobody chooses */
    cz_text text;
    int n; /* rows */
    cz_emit_product *products;
    int n_products; /* that were asked for */
} cz_tile_rows;

/* Adds rows for what the product may become, unless they are there. */
void cz_emit_tiles_of(cz_tile_rows *rows, const cz_loop *loop, cz_arena *arena);

#endif
