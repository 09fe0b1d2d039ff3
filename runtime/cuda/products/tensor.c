/* Products of bf16 or f16 by tensor cores: the bodies product_sm90.cu and
 * product_sm80.cu, which read operands in either order. */
#include "runtime/cuda/products/internal.h"

#include "runtime/cuda/products/plain.h"
#include "runtime/cuda/products/tiles.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 8, HALF_BYTES = 2 };

/* ---- what a product becomes --------------------------------------------- */

/* Matrices that are so many bytes apart, a multiple of an element's. */
static czr_cuda_product_matrix matrix_at(czr_address address, size_t columns,
                                         int64_t apart)
{
    return (czr_cuda_product_matrix){.address = address,
                                     .stride = (int64_t)columns,
                                     .batch_stride = apart / HALF_BYTES};
}

static czr_cuda_product product_of(const czr_product *p,
                                   const czr_cuda_batched *batched)
{
    const czr_cuda_apart *by = &batched->apart;

    return (czr_cuda_product){
        .m = (int64_t)p->m,
        .n = (int64_t)p->n,
        .k = (int64_t)p->k,
        .batch = batched->n,
        .is_symmetric = p->symmetric,
        .is_m_major = p->transpose_a,
        .is_n_major = !p->transpose_b,
        .is_f16 = p->out_dtype == CZR_F16,
        .x = matrix_at(czr_address_of(p->a), p->transpose_a ? p->m : p->k,
                       by->a),
        .y = matrix_at(czr_address_of(p->b), p->transpose_b ? p->k : p->n,
                       by->b),
        .s = matrix_at(czr_address_of(p->addend), p->n, by->addend),
        .c = matrix_at(czr_address_of(p->out), p->n, by->out),
        .alpha = p->alpha,
        .beta = p->beta};
}

static bool is_for_tensor_cores(const czr_cuda_stages *stages,
                                const czr_product *p)
{
    const czr_dtype dtype = p->out_dtype;

    return !stages->program->program->strict && stages->context->major >= 8 &&
           (dtype == CZR_BF16 || dtype == CZR_F16) && p->a_dtype == dtype &&
           p->b_dtype == dtype && (p->beta == 0 || p->addend_dtype == dtype) &&
           p->blocks <= 1 && p->k > 0 && p->k % ALIGNMENT == 0 &&
           p->n % ALIGNMENT == 0 && (!p->transpose_a || p->m % ALIGNMENT == 0);
}

/* ---- while stages are opened -------------------------------------------- */

static czr_cuda_product_device device_of(const czr_context *context)
{
    return (czr_cuda_product_device){10 * context->major + context->minor,
                                     context->n_processors};
}

/* So many of them, wherever they lie. */
static czr_cuda_product shape_of(const czr_product *p, int64_t batch)
{
    const czr_cuda_batched batched = {.n = batch};

    return product_of(p, &batched);
}

typedef bool planner(const czr_cuda_product *product,
                     const czr_cuda_product_device *device,
                     const czr_cuda_product_tiles *tiles,
                     czr_cuda_product_plan *plan, char *message);

static bool plan_product(planner *plan_of, const czr_cuda_product *product,
                         const czr_cuda_product_device *device,
                         const czr_cuda_tensor *tensor,
                         czr_cuda_product_plan *plan)
{
    char message[CZR_CUDA_PRODUCT_MESSAGE];

    if (!plan_of(product, device, &tensor->tiles, plan, message))
        return false;
    czr_cuda_product_plan_split(product, device, &tensor->tiles, tensor->splits,
                                plan);
    return true;
}

/* A plan that has no kernel is none: *out stays as it is. */
static czr_status take(czr_cuda_stages *stages,
                       const czr_cuda_product_plan *plan, const uint64_t *table,
                       czr_product_kernel *out)
{
    czr_module *module;
    void *kernel, *stream;

    czr_status status = czr_cuda_products_load(
        stages,
        plan->is_sm90 ? CZR_SOURCE_PRODUCT_SM90 : CZR_SOURCE_PRODUCT_SM80,
        plan->kernel, plan->header, &module);
    if (status == CZR_OK)
        status = czr_module_find(module, plan->kernel,
                                 plan->shared_memory_bytes, &kernel);
    if (status == CZR_OK)
        status = czr_context_open_stream(stages->context, &stream);
    if (status != CZR_OK)
        return status;
    status = czr_product_kernel_open(stages->context, plan, kernel, table,
                                     stream, out);
    czr_context_close_stream(stages->context, stream);
    return status;
}

/* As the program says, or by the rule of thumb. */
static bool choose(const czr_cuda_program *program,
                   const czr_cuda_product *product,
                   const czr_cuda_product_device *device, czr_cuda_tensor *out)
{
    if (czr_tiles_find(program, product, device, &out->tiles, &out->splits))
        return true;
    if (!czr_tiles_choose(product, device, &out->tiles))
        return false;
    out->splits = czr_tiles_splits(product, device, &out->tiles);
    return true;
}

static void describe(czr_cuda_tensor *tensor, const czr_cuda_product_plan *plan)
{
    if (plan->splits > 1)
        snprintf(tensor->name, sizeof tensor->name,
                 "%s (last wave in %d parts)", plan->kernel, plan->splits);
    else
        snprintf(tensor->name, sizeof tensor->name, "%s", plan->kernel);
}

/* Of the whole batch, or of as many first ones as there are: their tiles come
 * first in the table, which is in order of matrices. */
static bool plan_some(planner *plan_of, const czr_cuda_product *product,
                      const czr_cuda_product_device *device,
                      const czr_cuda_tensor *tensor, int64_t batch,
                      czr_cuda_product_plan *plan)
{
    czr_cuda_tensor some = {.tiles = tensor->tiles, .splits = tensor->splits};

    if (product->batch != batch) {
        some.tiles.n = tensor->tiles.n / batch * product->batch;
        some.splits = czr_tiles_splits(product, device, &some.tiles);
    }
    return plan_product(plan_of, product, device, &some, plan);
}

/* The most that sums of splits take of any number of matrices. */
static size_t most_sums(const czr_cuda_product *product,
                        const czr_cuda_product_device *device,
                        const czr_cuda_tensor *tensor)
{
    czr_cuda_product some = *product;
    czr_cuda_product_plan plan;
    size_t most = 0;

    for (some.batch = 1; some.batch <= product->batch; some.batch++)
        if (plan_some(czr_cuda_product_plan_shape, &some, device, tensor,
                      product->batch, &plan) &&
            plan.sums_bytes > most)
            most = plan.sums_bytes;
    return most;
}

czr_status czr_cuda_tensor_prepare(czr_cuda_stages *stages,
                                   czr_cuda_known *known)
{
    const czr_cuda_product product = shape_of(&known->shape, known->batch);
    const czr_cuda_product_device device = device_of(stages->context);
    czr_cuda_tensor *out = &known->tensor;
    czr_cuda_product_plan plan;

    if (!is_for_tensor_cores(stages, &known->shape) ||
        !choose(stages->program, &product, &device, out) ||
        !plan_product(czr_cuda_product_plan_shape, &product, &device, out,
                      &plan))
        return CZR_OK;
    czr_cuda_stages_need(stages, most_sums(&product, &device, out));
    uint64_t *table = calloc((size_t)out->tiles.n, sizeof *table);
    if (!table)
        return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                 "a table of %lld tiles",
                                 (long long)out->tiles.n);
    czr_tiles_fill(&product, &out->tiles, table);
    describe(out, &plan);
    const czr_status status = take(stages, &plan, table, &out->kernel);
    free(table);
    return status;
}

bool czr_cuda_tensor_is_left(const czr_cuda_stages *stages,
                             const czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    const czr_cuda_product_device device = device_of(stages->context);
    const czr_cuda_product product = shape_of(p, known->batch);

    return !p->symmetric && is_for_tensor_cores(stages, p) &&
           czr_tiles_is_library(stages->program, &product, &device);
}

void czr_cuda_tensor_close(czr_cuda_known *known)
{
    if (known->tensor.kernel.context)
        czr_product_kernel_close(&known->tensor.kernel);
}

/* ---- in a step ---------------------------------------------------------- */

/* Whether all lies as elements, and as copies want it. */
static bool make_plan(const czr_cuda_call *call, const czr_cuda_known *known,
                      const czr_cuda_product *product,
                      const czr_cuda_apart *apart, czr_cuda_product_plan *plan)
{
    const czr_cuda_product_device device = device_of(call->stages->context);

    return known->tensor.kernel.context &&
           (product->batch == 1 ||
            (apart->a | apart->b | apart->addend | apart->out) % HALF_BYTES ==
                0) &&
           plan_some(czr_cuda_product_plan_make, product, &device,
                     &known->tensor, known->batch, plan);
}

bool czr_cuda_tensor_put(const czr_cuda_call *call, czr_cuda_known *known,
                         const czr_product *p, const czr_cuda_batched *batched,
                         czr_status *status)
{
    const czr_cuda_product product = product_of(p, batched);
    czr_product_kernel *kernel = &known->tensor.kernel;
    czr_cuda_product_plan plan;

    if (!make_plan(call, known, &product, &batched->apart, &plan))
        return false;
    *status = czr_product_kernel_aim(kernel, &product, &plan,
                                     czr_address_of(call->workspace),
                                     czr_address_of(call->skip));
    if (*status == CZR_OK)
        *status = czr_product_kernel_put(kernel, call->stream);
    return true;
}
