/* Tiles of products in NAME_cuda.c.  Private to what emits that file. */
#ifndef CZ_CODEGEN_CUDA_TILES_H
#define CZ_CODEGEN_CUDA_TILES_H

#include "codegen/common/internal.h"
#include "codegen/emit.h"

/* A product of a stage; expected: as which it will be computed. */
typedef struct cz_stage_product {
    int stage;
    bool is_expected;
    cz_emit_product product;
} cz_stage_product;

typedef struct cz_tile_rows {
    const cz_emit_tiler *tiler; /* NULL: nobody chooses */
    int stage;                  /* the one under way */
    cz_stage_product *of_stages;
    int n_of_stages;
    cz_text text;
    int n; /* rows */
    cz_emit_product *products;
    int n_products; /* that were asked for */
} cz_tile_rows;

/* Adds rows for what the product may become, unless they are there. */
void cz_emit_tiles_of(cz_tile_rows *rows, const cz_loop *loop, cz_arena *arena);
/* The same for so many at once of all products of a stage. */
void cz_emit_tiles_of_batch(cz_tile_rows *rows, int stage, int64_t batch,
                            cz_arena *arena);

#endif
