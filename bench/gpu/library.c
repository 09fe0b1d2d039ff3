/* cuBLASLt by the runtime: stages of a program that has no more than a row
 * which says that a product is the library's. */
#include "bench/gpu/gpu.h"
#include "runtime/cuda/products/multiply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENT = 2, SKIP_BYTES = 256 };

struct gpu_library {
    const gpu_machine *machine;
    czr_program program;
    czr_cuda_program cuda;
    czr_cuda_tiling tiling;
    czr_cuda_stages stages;
    czr_address workspace, skip;
    bool is_used; /* what the stages say */
};

static czr_product product_of(int64_t m, int64_t n, int64_t k)
{
    return (czr_product){.m = (size_t)m,
                         .n = (size_t)n,
                         .k = (size_t)k,
                         .a_dtype = CZR_BF16,
                         .b_dtype = CZR_BF16,
                         .out_dtype = CZR_BF16,
                         .alpha = 1};
}

/* ---- opening ------------------------------------------------------------ */

/* Tiles, which it must have, are for where there is no library. */
static void say_library(gpu_library *l, const cz_tile_product *of)
{
    const cz_tile_shape shape = cz_tile_shapes[0];

    l->tiling = (czr_cuda_tiling){.m = of->m,
                                  .n = of->n,
                                  .k = of->k,
                                  .batch = of->batch,
                                  .rows = (int16_t)shape.rows,
                                  .cols = (int16_t)shape.cols,
                                  .stages = (uint8_t)shape.stages,
                                  .splits = 1,
                                  .is_library = true};
    l->program = (czr_program){.name = "bench"};
    l->cuda = (czr_cuda_program){.program = &l->program,
                                 .tiled_sms = l->machine->context->n_processors,
                                 .n_tilings = 1,
                                 .tilings = &l->tiling};
}

static void hear(void *user, const char *line)
{
    gpu_library *l = user;

    if (!strncmp(line, "not by cuBLASLt", strlen("not by cuBLASLt")))
        fprintf(stderr, "%s\n", line);
    l->is_used |= strstr(line, ": cuBLASLt,") != NULL;
}

static czr_status prepare(gpu_library *l, const cz_tile_product *of)
{
    const czr_product product = product_of(of->m, of->n, of->k);

    l->stages = (czr_cuda_stages){.program = &l->cuda,
                                  .context = l->machine->context,
                                  .nvrtc = l->machine->nvrtc,
                                  .cublas = l->machine->cublaslt};
    const czr_status status =
        czr_cuda_product_prepare(&l->stages, &product, of->batch, NULL);
    czr_cuda_products_describe(&l->stages, hear, l);
    return status;
}

/* Of a step that is not skipped. */
static czr_status take(gpu_library *l)
{
    const gpu_machine *m = l->machine;
    czr_status status = czr_context_alloc(
        m->context, czr_cuda_stages_workspace(&l->stages) + 1, &l->workspace);

    if (status == CZR_OK)
        status = czr_context_alloc(m->context, SKIP_BYTES, &l->skip);
    return status == CZR_OK
               ? czr_context_fill(m->context, l->skip, 0, SKIP_BYTES, m->stream)
               : status;
}

gpu_library *gpu_library_open(const gpu_machine *machine,
                              const cz_tile_product *of)
{
    gpu_library *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->machine = machine;
    say_library(l, of);
    const bool is_prepared = gpu_is_ok(machine, prepare(l, of));
    if (is_prepared && l->is_used && gpu_is_ok(machine, take(l)))
        return l;
    if (is_prepared && !l->is_used)
        fprintf(stderr, "no product of ours is by cuBLASLt here\n");
    gpu_library_close(l);
    return NULL;
}

void gpu_library_close(gpu_library *library)
{
    if (!library)
        return;
    czr_context *context = library->machine->context;
    czr_context_synchronize(context, library->machine->stream, 0);
    czr_context_free(context, library->workspace);
    czr_context_free(context, library->skip);
    czr_cuda_products_close(&library->stages);
    free(library);
}

/* ---- a product ---------------------------------------------------------- */

bool gpu_library_multiply(gpu_library *library, const czr_cuda_product *product)
{
    const czr_cuda_product *p = product;
    czr_product one = product_of(p->m, p->n, p->k);
    const czr_cuda_apart apart = {.a = p->x.batch_stride * ELEMENT,
                                  .b = p->y.batch_stride * ELEMENT,
                                  .out = p->c.batch_stride * ELEMENT};
    const czr_cuda_call call = {.workspace = czr_pointer_of(library->workspace),
                                .skip = czr_pointer_of(library->skip),
                                .scratch = czr_pointer_of(p->c.address),
                                .scratch_bytes =
                                    (size_t)(p->c.batch_stride * p->batch) *
                                    (size_t)ELEMENT,
                                .stream = library->machine->stream,
                                .stages = &library->stages};
    czr_status status = CZR_OK;

    one.a = czr_pointer_of(p->x.address);
    one.b = czr_pointer_of(p->y.address);
    one.out = czr_pointer_of(p->c.address);
    if (p->batch == 1)
        status = czr_cuda_multiply(&call, &one);
    else if (!czr_cuda_multiply_batch(&call, &one, (size_t)p->batch, &apart,
                                      &status))
        return false;
    return gpu_is_ok(library->machine, status);
}
