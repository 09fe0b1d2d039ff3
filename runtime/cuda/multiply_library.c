/* Products that our tensor cores' kernels do not take, by cuBLASLt where it is
 * found: its sums go to the call's room, and a kernel of ours scales, adds,
 * rounds, mirrors, and leaves out what is skipped. */
#include "runtime/cuda/multiply_internal.h"

#include "runtime/cuda/product_plain.h"

#include <stdio.h>

/* Bytes that an algorithm may take besides; what kernels of sm_90 want. */
enum { WORKSPACE = 32 << 20, ROOM_ALIGNMENT = 256 };

static size_t sums_bytes(const czr_product *p)
{
    const size_t bytes = p->m * p->n * sizeof(float);

    return (bytes + ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT * ROOM_ALIGNMENT;
}

static bool is_for_library(const czr_cuda_stages *stages,
                           const czr_cuda_known *known)
{
    const czr_product *p = &known->shape;

    return !stages->program->program->strict && !known->tensor.kernel.context &&
           p->a_dtype == p->b_dtype && p->blocks <= 1 && p->k > 0;
}

/* Once; what is missing stays missing, and is no failure. */
static czr_cublas *open_library(czr_cuda_stages *stages)
{
    czr_cuda_products *products = stages->products;
    char message[CZR_CUBLAS_MESSAGE];

    if (!products->is_cublas_tried &&
        czr_cublas_open(stages->cublas, &products->cublas, message) != CZR_OK)
        snprintf(products->warning, sizeof products->warning, "%s", message);
    products->is_cublas_tried = true;
    return products->cublas;
}

czr_status czr_cuda_library_prepare(czr_cuda_stages *stages,
                                    czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    char message[CZR_CUBLAS_MESSAGE];
    czr_module *module;
    czr_cublas *cublas;

    if (!is_for_library(stages, known) || !(cublas = open_library(stages)) ||
        czr_cublas_plan_open(cublas, p, WORKSPACE, &known->library, message) !=
            CZR_OK)
        return CZR_OK;
    czr_cuda_stages_need(stages, sums_bytes(p) +
                                     czr_cublas_plan_workspace(known->library));
    const czr_status status = czr_cuda_plain_module(stages, p, &module);
    return status == CZR_OK
               ? czr_module_find(module, "product_finish", 0, &known->finish)
               : status;
}

static czr_status put_finish(const czr_cuda_call *call, void *kernel,
                             const czr_product *p)
{
    czr_plain_product product = czr_plain_product_of(p);
    const void *sums = call->room;
    const int32_t *skip = call->skip;
    void *arguments[] = {&product, &sums, &skip};
    const czr_launch launch = {.grid = {czr_plain_blocks(p), 1, 1},
                               .block = {CZR_PLAIN_THREADS, 1, 1}};

    return czr_module_launch(call->stages->context, kernel, &launch, arguments,
                             call->stream);
}

static bool is_aligned(const void *p)
{
    return czr_address_of(p) % CZR_CUBLAS_ALIGNMENT == 0;
}

bool czr_cuda_library_put(const czr_cuda_call *call,
                          const czr_cuda_known *known, const czr_product *p,
                          czr_status *status)
{
    void *const sums = call->room;

    if (!known->library || !is_aligned(p->a) || !is_aligned(p->b))
        return false;
    *status =
        czr_cublas_put(known->library, p->a, p->b, sums,
                       call->room + sums_bytes(p), call->stream)
            ? CZR_OK
            : czr_context_check(call->stages->context, CZR_CUDA_INVALID_VALUE,
                                "cuBLASLt: a product [%zu, %zu] x [%zu, "
                                "%zu]",
                                p->m, p->k, p->k, p->n);
    if (*status == CZR_OK)
        *status = put_finish(call, known->finish, p);
    return true;
}
