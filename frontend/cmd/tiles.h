/* Tiles of products on a GPU, by the solver's model or by what was measured. */
#ifndef CZ_FRONTEND_CMD_TILES_H
#define CZ_FRONTEND_CMD_TILES_H

#include "codegen/emit.h"
#include "passes/gpu/tile_model.h"

typedef struct cz_build_tiles {
    cz_tile_machine machine;
    cz_tile_measured
        *measured; /* bench/tiles.txt, as of the compiler's build */
    int n_measured;
    cz_text *said;
    cz_emit_tiler tiler;
} cz_build_tiles;

/* For the machine that the plan was made for; NULL where it has none, or one
 * that the model cannot reckon with.  What is returned points to *out, and adds
 * a line to *said for each product that cuBLASLt computes. */
const cz_emit_tiler *cz_build_tiles_open(cz_arena *arena,
                                         const cz_plan_view *view,
                                         cz_text *said, cz_build_tiles *out);

#endif
