/* The products of a plan that tensor cores may compute. */
#include "passes/gpu/gpu.h"

/* What such kernels take, by runtime/cuda/products/tensor.c: bf16 or f16 alone,
 * rows that begin at multiples of 16 bytes, of a first operand that is
 * transposed, too. */
enum { ROW_ELEMENTS = 8 };

static bool is_for_tensor_cores(const cz_view_step *step, const cz_dtype *types)
{
    /* No body ends it, and its result is that of the step. */
    if (!step->is_product || step->body >= 0 || step->offsets[1] < 0)
        return false;
    const cz_dtype dtype = step->out_dtype[0];
    return cz_dtype_is_narrow(dtype) && types[step->in[0]] == dtype &&
           types[step->in[1]] == dtype &&
           (step->beta == 0 || types[step->in[2]] == dtype) &&
           step->blocks.inner <= 1 && step->inner > 0 &&
           step->inner % ROW_ELEMENTS == 0 &&
           step->columns % ROW_ELEMENTS == 0 &&
           (!step->transpose_a || step->rows % ROW_ELEMENTS == 0);
}

typedef struct list {
    cz_gpu_product *v;
    int n;
} list;

static cz_gpu_product product_of(int stage, const cz_view_step *step)
{
    return (cz_gpu_product){
        stage,
        {.m = step->rows,
         .n = step->columns,
         .k = step->inner,
         .batch = 1,
         .is_symmetric = step->symmetric && step->partition <= 1,
         .is_gram = step->in[0] == step->in[1],
         .has_addend = step->beta != 0}};
}

/* Of a shared stage, the steps of its own segment; of others, all. */
static bool is_own_step(const cz_view_stage *stage, int s)
{
    return !stage->subgroup ||
           stage->steps[s].segment == stage->subgroup->segment;
}

static void add_body(cz_arena *arena, list *out, int number,
                     const cz_view_stage *stage)
{
    /* Types of all values of a stage. */
    const int n_scalars = stage->fact->scalars.n;
    cz_dtype *types = NULL;
    int n = 0;

    for (int i = 0; i < stage->n_in; i++)
        *CZ_PUSH(arena, types, n) = stage->in[i].dtype;
    for (int i = 0; i < n_scalars; i++)
        *CZ_PUSH(arena, types, n) = CZ_F32;
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_out; i++)
            *CZ_PUSH(arena, types, n) = stage->steps[s].out_dtype[i];

    for (int s = 0; s < stage->n_steps; s++)
        if (is_own_step(stage, s) &&
            is_for_tensor_cores(&stage->steps[s], types))
            *CZ_PUSH(arena, out->v, out->n) =
                product_of(number, &stage->steps[s]);
}

cz_gpu_products cz_gpu_products_of(cz_arena *arena, const cz_plan_view *view)
{
    list all = {NULL, 0};

    for (int i = 0; i < view->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[i];
        for (int k = 0; k < cz_view_n_bodies(stage); k++)
            if (cz_view_first_alike(stage, k) == k)
                add_body(arena, &all, i, cz_view_variant(stage, k));
    }
    return (cz_gpu_products){all.v, all.n};
}
