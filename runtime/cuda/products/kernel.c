#include "runtime/cuda/products/kernel.h"

#include "runtime/cuda/driver/source.h"
#include "runtime/cuda/driver/target.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = 8 };

#define OF(x) (int)sizeof(x)
#define BEHIND_OPERANDS                                                        \
    OF(czr_product_epilogue), OF(int), OF(int), OF(int), OF(czr_product_list), \
        OF(czr_address)
#define FOUR(type) OF(type), OF(type), OF(type), OF(type)
const int czr_product_kernel_bytes[2][CZR_PRODUCT_ARGUMENTS] = {
    {FOUR(czr_product_operand), BEHIND_OPERANDS},
    {FOUR(czr_tensor_map), BEHIND_OPERANDS}};

czr_nvrtc_status czr_product_kernel_compile(const czr_context *context,
                                            czr_cache *cache, czr_nvrtc *nvrtc,
                                            const czr_cuda_product_plan *plan,
                                            czr_nvrtc_code *code)
{
    const char *const options[] = {czr_target_arch(context), "-default-device"};
    char *text = czr_source_make(plan->is_sm90 ? CZR_SOURCE_PRODUCT_SM90
                                               : CZR_SOURCE_PRODUCT_SM80,
                                 plan->header, "");
    const czr_cache_source source = {
        .name = plan->kernel, .text = text, .options = options, .n_options = 2};

    *code = (czr_nvrtc_code){0};
    if (!text)
        return CZR_NVRTC_NO_MEMORY;
    const czr_nvrtc_status status =
        czr_cache_compile(cache, nvrtc, &source, code, NULL);
    free(text);
    return status;
}

/* ---- arguments ---------------------------------------------------------- */

static czr_status encode(czr_context *context, int type,
                         const czr_cuda_product_map *map, czr_tensor_map *out)
{
    const czr_tiled tiled = {
        .type = type,
        .rank = 3,
        .address = map->address,
        .dims = {map->dims[0], map->dims[1], map->dims[2]},
        .strides = {map->stride_bytes[0], map->stride_bytes[1]},
        .box = {map->box[0], map->box[1], map->box[2]},
        .swizzle = CZR_TENSOR_MAP_SWIZZLE_128B,
    };

    return czr_module_encode(context, &tiled, out);
}

static czr_status encode_maps(czr_product_kernel *k,
                              const czr_cuda_product *product,
                              const czr_cuda_product_plan *plan)
{
    const int type =
        product->is_f16 ? CZR_TENSOR_MAP_FLOAT16 : CZR_TENSOR_MAP_BFLOAT16;
    const czr_cuda_product_map *const maps[CZR_PRODUCT_OPERANDS] = {
        &plan->x, &plan->y, &plan->s, &plan->c};
    czr_status status = CZR_OK;

    for (int i = 0; i < CZR_PRODUCT_OPERANDS && status == CZR_OK; i++)
        status = encode(k->context, type, maps[i], &k->maps[i]);
    return status;
}

static czr_product_operand operand(const czr_cuda_product_matrix *matrix)
{
    return (czr_product_operand){matrix->address, (uint64_t)matrix->stride,
                                 (uint64_t)matrix->batch_stride};
}

static void set_arguments(czr_product_kernel *k,
                          const czr_cuda_product *product,
                          const czr_cuda_product_plan *plan)
{
    const czr_cuda_product_matrix *const of[CZR_PRODUCT_OPERANDS] = {
        &product->x, &product->y, &product->s, &product->c};

    for (int i = 0; i < CZR_PRODUCT_OPERANDS; i++) {
        k->matrices[i] = operand(of[i]);
        k->arguments[i] =
            plan->is_sm90 ? (void *)&k->maps[i] : (void *)&k->matrices[i];
    }
    k->epilogue = (czr_product_epilogue){product->alpha, product->beta};
    k->rows = plan->rows;
    k->cols = plan->cols;
    k->depth = plan->depth;
    k->list.n_tiles = plan->n_tiles;
    k->list.n_full = plan->n_full;
    k->list.splits = plan->splits;
    void *const rest[] = {&k->epilogue, &k->rows, &k->cols,
                          &k->depth,    &k->list, &k->skip};
    memcpy(&k->arguments[CZR_PRODUCT_OPERANDS], rest, sizeof rest);
}

/* ---- open, put, close --------------------------------------------------- */

static czr_status take_tiles(czr_product_kernel *k, const uint64_t *tiles,
                             int n, void *stream)
{
    const size_t bytes = (size_t)n * TILE_BYTES;
    czr_status status = czr_context_alloc(k->context, bytes, &k->list.tiles);

    if (status == CZR_OK)
        status = czr_context_copy(k->context, k->list.tiles,
                                  czr_address_of(tiles), bytes, stream);
    if (status == CZR_OK)
        status = czr_context_synchronize(k->context, stream, 0);
    if (status != CZR_OK)
        czr_context_drain(k->context, stream);
    return status;
}

czr_status czr_product_kernel_open(czr_context *context,
                                   const czr_cuda_product_plan *plan,
                                   void *kernel, const uint64_t *tiles,
                                   void *stream, czr_product_kernel *out)
{
    *out = (czr_product_kernel){
        .context = context,
        .kernel = kernel,
        .launch = {.grid = {(unsigned)plan->n_blocks, 1, 1},
                   .block = {(unsigned)plan->n_threads, 1, 1},
                   .shared_memory_bytes = (unsigned)plan->shared_memory_bytes}};
    const czr_status status = take_tiles(out, tiles, plan->n_tiles, stream);
    if (status != CZR_OK)
        czr_product_kernel_close(out);
    return status;
}

czr_status czr_product_kernel_aim(czr_product_kernel *kernel,
                                  const czr_cuda_product *product,
                                  const czr_cuda_product_plan *plan,
                                  czr_address sums, czr_address skip)
{
    set_arguments(kernel, product, plan);
    kernel->launch.grid[0] = (unsigned)plan->n_blocks;
    kernel->list.sums = sums;
    kernel->skip = skip;
    return plan->is_sm90 ? encode_maps(kernel, product, plan) : CZR_OK;
}

static czr_status launch(czr_product_kernel *k, bool is_end, void *stream)
{
    const int n_split = k->list.n_tiles - k->list.n_full;
    czr_launch at = k->launch;

    if (is_end && at.grid[0] > (unsigned)n_split)
        at.grid[0] = (unsigned)n_split;
    k->list.is_end = is_end;
    return czr_module_launch(k->context, k->kernel, &at, k->arguments, stream);
}

czr_status czr_product_kernel_put(czr_product_kernel *kernel, void *stream)
{
    const bool is_split = kernel->list.n_full < kernel->list.n_tiles;
    const czr_status status = launch(kernel, false, stream);

    return status == CZR_OK && is_split ? launch(kernel, true, stream) : status;
}

void czr_product_kernel_close(czr_product_kernel *kernel)
{
    czr_context_free(kernel->context, kernel->list.tiles);
    kernel->list.tiles = 0;
}
