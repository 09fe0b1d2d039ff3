/* Products of bf16 by tensor cores: the bodies product_sm90.cu and
 * product_sm80.cu, in front of them an operand turned where they want rows, and
 * behind them a mirror image where they would not see that c is symmetric. */
#include "runtime/cuda/products/internal.h"

#include "runtime/cuda/products/plain.h"
#include "runtime/cuda/products/tiles.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 8, TURN_SIDE = 32, BF16_BYTES = 2, SUMS_ALIGNMENT = 256 };

/* ---- what a product becomes --------------------------------------------- */

/* Whether b is in rows as a is, if they are one matrix: x' @ x, or x @ x, which
 * is x @ x' as x = x'. */
static bool can_be_own(const czr_product *p)
{
    return p->symmetric && !p->transpose_b;
}

/* Matrices that are so many bytes apart, a multiple of an element's. */
static czr_cuda_product_matrix matrix_at(czr_address address, size_t columns,
                                         int64_t apart)
{
    return (czr_cuda_product_matrix){.address = address,
                                     .stride = (int64_t)columns,
                                     .batch_stride = apart / BF16_BYTES};
}

/* Of the call's room: op(a) in rows; so many as keep what is behind it aligned.
 */
static size_t turned_bytes(const czr_product *p)
{
    const size_t bytes = p->transpose_a ? p->m * p->k * BF16_BYTES : 0;

    return (bytes + SUMS_ALIGNMENT - 1) / SUMS_ALIGNMENT * SUMS_ALIGNMENT;
}

/* is_own: y is x, whatever b is said to be.  `x` is where op(a) lies in rows.
 */
static czr_cuda_product product_of(const czr_product *p,
                                   const czr_cuda_batched *batched, bool is_own,
                                   czr_address x)
{
    const bool is_n_major = !is_own && !p->transpose_b;
    const czr_cuda_apart *by = &batched->apart;
    const int64_t x_by = p->transpose_a ? (int64_t)turned_bytes(p) : by->a;

    return (czr_cuda_product){
        .m = (int64_t)p->m,
        .n = (int64_t)p->n,
        .k = (int64_t)p->k,
        .batch = batched->n,
        .is_symmetric = p->symmetric && !is_n_major,
        .is_n_major = is_n_major,
        .x = matrix_at(x, p->k, x_by),
        .y = is_own ? matrix_at(x, p->k, x_by)
                    : matrix_at(czr_address_of(p->b), is_n_major ? p->n : p->k,
                                by->b),
        .s = matrix_at(czr_address_of(p->addend), p->n, by->addend),
        .c = matrix_at(czr_address_of(p->out), p->n, by->out),
        .alpha = p->alpha,
        .beta = p->beta};
}

static bool is_for_tensor_cores(const czr_cuda_stages *stages,
                                const czr_product *p)
{
    return !stages->program->program->strict && stages->context->major >= 8 &&
           p->a_dtype == CZR_BF16 && p->b_dtype == CZR_BF16 &&
           p->out_dtype == CZR_BF16 &&
           (p->beta == 0 || p->addend_dtype == CZR_BF16) && p->blocks <= 1 &&
           p->k > 0 && p->k % ALIGNMENT == 0 && p->n % ALIGNMENT == 0;
}

/* ---- while stages are opened -------------------------------------------- */

static czr_cuda_product_device device_of(const czr_context *context)
{
    return (czr_cuda_product_device){10 * context->major + context->minor,
                                     context->n_processors};
}

/* So many of them, wherever they lie. */
static czr_cuda_product shape_of(const czr_product *p, int64_t batch,
                                 bool is_own)
{
    const czr_cuda_batched batched = {.n = batch};

    return product_of(p, &batched, is_own, 0);
}

typedef czr_cuda_product_status planner(const czr_cuda_product *product,
                                        const czr_cuda_product_device *device,
                                        const czr_cuda_product_tiles *tiles,
                                        czr_cuda_product_plan *plan,
                                        char *message);

static bool plan_product(planner *plan_of, const czr_cuda_product *product,
                         const czr_cuda_product_device *device,
                         const czr_cuda_tensor *tensor,
                         czr_cuda_product_plan *plan)
{
    char message[CZR_CUDA_PRODUCT_MESSAGE];

    if (plan_of(product, device, &tensor->tiles, plan, message) !=
        CZR_CUDA_PRODUCT_OK)
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
    status = czr_product_kernel_take(stages->context, plan, kernel, table,
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

static czr_status prepare(czr_cuda_stages *stages, const czr_product *p,
                          int64_t batch, bool is_own, czr_cuda_tensor *out)
{
    const czr_cuda_product product = shape_of(p, batch, is_own);
    const czr_cuda_product_device device = device_of(stages->context);
    czr_cuda_product_plan plan;

    if (!choose(stages->program, &product, &device, out) ||
        !plan_product(czr_cuda_product_plan_shape, &product, &device, out,
                      &plan))
        return CZR_OK;
    czr_cuda_stages_need(stages, (size_t)batch * turned_bytes(p) +
                                     most_sums(&product, &device, out));
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

czr_status czr_cuda_tensor_prepare(czr_cuda_stages *stages,
                                   czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    czr_module *module;
    czr_status status = CZR_OK;

    if (!is_for_tensor_cores(stages, p))
        return CZR_OK;
    if (can_be_own(p))
        status = prepare(stages, p, known->batch, true, &known->own);
    if (status == CZR_OK)
        status = prepare(stages, p, known->batch, false, &known->tensor);
    if (status == CZR_OK)
        status = czr_cuda_plain_module(stages, p, &module);
    return status == CZR_OK
               ? czr_module_find(module, "product_turn", 0, &known->transpose)
               : status;
}

bool czr_cuda_tensor_is_left(const czr_cuda_stages *stages,
                             const czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    const czr_cuda_product_device device = device_of(stages->context);
    const czr_cuda_product product = shape_of(p, known->batch, false);

    return !p->symmetric && is_for_tensor_cores(stages, p) &&
           czr_tiles_is_library(stages->program, &product, &device);
}

void czr_cuda_tensor_close(czr_cuda_known *known)
{
    if (known->own.kernel.context)
        czr_product_kernel_close(&known->own.kernel);
    if (known->tensor.kernel.context)
        czr_product_kernel_close(&known->tensor.kernel);
}

/* ---- in a step ---------------------------------------------------------- */

static czr_status put_turn(const czr_cuda_call *call, void *kernel,
                           const void *from, void *to, uint64_t rows,
                           uint64_t columns, uint32_t is_mirror)
{
    const int32_t *skip = call->skip;
    void *arguments[] = {&from, &to, &rows, &columns, &is_mirror, &skip};
    const uint64_t side = TURN_SIDE, most = 1 << 20;
    const uint64_t tiles =
        ((rows + side - 1) / side) * ((columns + side - 1) / side);
    const czr_launch launch = {
        .grid = {(unsigned)(tiles < most ? tiles : most), 1, 1},
        .block = {CZR_PLAIN_THREADS, 1, 1}};

    return czr_module_launch(call->stages->context, kernel, &launch, arguments,
                             call->stream);
}

/* What a known product is put with. */
typedef struct aimed {
    czr_cuda_tensor *tensor;
    czr_cuda_product product;
    czr_cuda_product_plan plan;
    czr_cuda_batched batched;
} aimed;

/* Whether all lies as elements, and as copies want it. */
static bool make_plan(const czr_cuda_call *call, const czr_cuda_known *known,
                      aimed *of)
{
    const czr_cuda_product_device device = device_of(call->stages->context);
    const czr_cuda_apart *by = &of->batched.apart;

    return of->tensor->kernel.context &&
           (of->batched.n == 1 ||
            (by->a | by->b | by->addend | by->out) % BF16_BYTES == 0) &&
           plan_some(czr_cuda_product_plan_make, &of->product, &device,
                     of->tensor, known->batch, &of->plan);
}

/* op(a) of each in rows. */
static czr_status put_turns(const czr_cuda_call *call,
                            const czr_cuda_known *known, const aimed *of,
                            const czr_product *p)
{
    czr_status status = CZR_OK;

    for (int64_t i = 0; i < of->batched.n && status == CZR_OK; i++)
        status = put_turn(call, known->transpose,
                          czr_cuda_behind(p->a, of->batched.apart.a, i),
                          call->workspace + turned_bytes(p) * (size_t)i, p->k,
                          p->m, 0);
    return status;
}

static czr_status put_mirrors(const czr_cuda_call *call,
                              const czr_cuda_known *known, const aimed *of,
                              const czr_product *p)
{
    czr_status status = CZR_OK;

    for (int64_t i = 0; i < of->batched.n && status == CZR_OK; i++) {
        void *const out = czr_cuda_behind(p->out, of->batched.apart.out, i);
        status = put_turn(call, known->transpose, out, out, p->n, p->n, 1);
    }
    return status;
}

/* Operands and results are where the plan says. */
static czr_status put(const czr_cuda_call *call, const czr_cuda_known *known,
                      const aimed *of, const czr_product *p)
{
    czr_product_kernel *kernel = &of->tensor->kernel;
    const size_t turned = turned_bytes(p) * (size_t)of->batched.n;
    czr_status status = CZR_OK;

    if (p->transpose_a)
        status = put_turns(call, known, of, p);
    if (status == CZR_OK)
        status =
            czr_product_kernel_aim(kernel, &of->product, &of->plan,
                                   czr_address_of(call->workspace + turned),
                                   czr_address_of(call->skip));
    if (status == CZR_OK)
        status = czr_product_kernel_put(kernel, call->stream);
    if (status == CZR_OK && p->symmetric && !of->product.is_symmetric)
        status = put_mirrors(call, known, of, p);
    return status;
}

bool czr_cuda_tensor_put(const czr_cuda_call *call, czr_cuda_known *known,
                         const czr_product *p, const czr_cuda_batched *batched,
                         czr_status *status)
{
    const bool is_own = p->a == p->b && can_be_own(p);
    const czr_address x =
        czr_address_of(p->transpose_a ? (const void *)call->workspace : p->a);
    aimed of = {.tensor = is_own ? &known->own : &known->tensor,
                .product = product_of(p, batched, is_own, x),
                .batched = *batched};

    if (!make_plan(call, known, &of))
        return false;
    *status = put(call, known, &of, p);
    return true;
}
