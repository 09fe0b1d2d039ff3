/* What a GPU target adds to a plan, for the passes that choose it: equal
 * matrices that run as one, and tiles of products.  No pass here knows how
 * either is printed. */
#ifndef CZ_PASSES_GPU_GPU_H
#define CZ_PASSES_GPU_GPU_H

#include "dsl/ir/ir.h"
#include "dsl/plan/plan.h"
#include "passes/gpu/tile_model.h"

/* Makes a plan one for a GPU, too: adds the fact gpu, for the machine that the
 * plan was made for, and of `measured`, a table as bench/tiles.txt, the times
 * on such GPUs.  A plan that is for a GPU stays as it is.  False after
 * reporting. */
bool cz_gpu_target(cz_ir *ir, const char *measured, cz_diags *diags);

/* What tiles are chosen by.  The times live in the arena. */
typedef struct cz_gpu_model {
    cz_tile_machine machine;
    int n_times;
    const cz_tile_measured *times;
} cz_gpu_model;

/* False where nobody tiles products: the plan has no machine, or one that the
 * model cannot reckon with, or it is strict: the fixed order has tiles of its
 * own. */
bool cz_gpu_model_of(cz_arena *arena, const cz_plan_view *view,
                     cz_gpu_model *out);

/* A product of a stage, as tensor cores may compute it; one at a time. */
typedef struct cz_gpu_product {
    int stage;
    cz_tile_product shape;
} cz_gpu_product;

typedef struct cz_gpu_products {
    const cz_gpu_product *list; /* in order of the stages */
    int n;
} cz_gpu_products;

/* Those of all bodies of all stages, again where they come again. */
cz_gpu_products cz_gpu_products_of(cz_arena *arena, const cz_plan_view *view);

#endif
