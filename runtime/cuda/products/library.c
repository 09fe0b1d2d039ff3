/* Products by cuBLASLt, where it is found.  Of what our tensor cores' kernels
 * do not take, its sums go to the call's room, and a kernel of ours scales,
 * adds, rounds and mirrors.  Of bf16 or f16 that the program says it is faster
 * at, it does all but mirror.  It knows nothing of skipped steps: results go
 * where they belong if that is scratch, as most do, else to the room, from
 * where a copy takes them or not: 4 bytes more an element, where sums would
 * be 8. */
#include "runtime/cuda/products/internal.h"

#include "runtime/cuda/products/plain.h"

#include <stdio.h>

/* Bytes that an algorithm may take besides; what kernels of sm_90 want. */
enum { WORKSPACE = 32 << 20, ROOM_ALIGNMENT = 256 };
/* Of copies, as in elementwise.cuh; blocks of a multiprocessor at most. */
enum { COPY_BYTES = 16, BLOCKS_EACH = 8 };

/* ---- while stages are opened -------------------------------------------- */

static czr_dtype dtype_of(const czr_cuda_known *known)
{
    return known->is_chosen ? known->shape.out_dtype : CZR_F32;
}

static size_t result_bytes(const czr_cuda_known *known)
{
    const czr_product *p = &known->shape;

    return p->m * p->n * czr_dtype_bytes(dtype_of(known));
}

/* Of the room, in front of the workspace. */
static size_t front_bytes(const czr_cuda_known *known)
{
    return (result_bytes(known) + ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT *
           ROOM_ALIGNMENT;
}

/* The first stays: what is missing is no failure. */
static void warn(czr_cuda_products *products, const char *message)
{
    if (!*products->warning)
        snprintf(products->warning, sizeof products->warning, "%s", message);
}

/* Once. */
static czr_cublas *open_library(czr_cuda_stages *stages)
{
    czr_cuda_products *products = stages->products;
    char message[CZR_CUBLAS_MESSAGE];

    if (!products->is_cublas_tried &&
        czr_cublas_open(stages->cublas, &products->cublas, message) != CZR_OK)
        warn(products, message);
    products->is_cublas_tried = true;
    return products->cublas;
}

static czr_status prepare(czr_cuda_stages *stages, czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    czr_cublas *cublas = open_library(stages);
    char message[CZR_CUBLAS_MESSAGE];
    czr_module *module;

    if (!cublas)
        return CZR_OK;
    if (czr_cublas_plan_open(cublas, p, dtype_of(known), WORKSPACE,
                             &known->library, message) != CZR_OK) {
        warn(stages->products, message);
        return CZR_OK;
    }
    czr_cuda_stages_need(stages, front_bytes(known) +
                                     czr_cublas_plan_workspace(known->library));
    const czr_status status = czr_cuda_plain_module(stages, p, &module);
    return status == CZR_OK
               ? czr_module_find(
                     module, known->is_chosen ? "copy_bytes" : "product_finish",
                     0, &known->finish)
               : status;
}

czr_status czr_cuda_library_choose(czr_cuda_stages *stages,
                                   czr_cuda_known *known)
{
    known->is_chosen = czr_cuda_tensor_is_left(stages, known);
    const czr_status status =
        known->is_chosen ? prepare(stages, known) : CZR_OK;
    known->is_chosen = known->library;
    return status;
}

czr_status czr_cuda_library_prepare(czr_cuda_stages *stages,
                                    czr_cuda_known *known)
{
    const czr_product *p = &known->shape;
    const bool is_for_library =
        !stages->program->program->strict && !known->tensor.kernel.context &&
        p->a_dtype == p->b_dtype && p->blocks <= 1 && p->k > 0;

    return is_for_library && !known->library ? prepare(stages, known) : CZR_OK;
}

/* ---- in a step ---------------------------------------------------------- */

static czr_status put_finish(const czr_cuda_call *call, void *kernel,
                             const czr_product *p)
{
    czr_plain_product product = czr_plain_product_of(p);
    const void *sums = call->workspace;
    const int32_t *skip = call->skip;
    void *arguments[] = {&product, &sums, &skip};
    const czr_launch launch = {.grid = {czr_plain_blocks(p), 1, 1},
                               .block = {CZR_PLAIN_THREADS, 1, 1}};

    return czr_module_launch(call->stages->context, kernel, &launch, arguments,
                             call->stream);
}

static czr_status put_copy(const czr_cuda_call *call,
                           const czr_cuda_known *known, void *to)
{
    const czr_context *context = call->stages->context;
    const void *from = call->workspace;
    uint64_t bytes = result_bytes(known);
    const int32_t *skip = call->skip;
    void *arguments[] = {&from, &to, &bytes, &skip};
    const uint64_t of_block = (uint64_t)CZR_PLAIN_THREADS * COPY_BYTES;
    const uint64_t blocks = (bytes + of_block - 1) / of_block;
    const unsigned most = (unsigned)context->n_processors * BLOCKS_EACH;
    const czr_launch launch = {
        .grid = {blocks < most ? (unsigned)blocks : most, 1, 1},
        .block = {CZR_PLAIN_THREADS, 1, 1}};

    return czr_module_launch(call->stages->context, known->finish, &launch,
                             arguments, call->stream);
}

/* NULL, too. */
static bool is_aligned(const void *p, int64_t apart)
{
    return (czr_address_of(p) | (czr_address)apart) % CZR_CUBLAS_ALIGNMENT == 0;
}

static bool is_within(const void *p, size_t bytes, const void *all,
                      size_t all_bytes)
{
    const czr_address at = czr_address_of(p) - czr_address_of(all);

    return all && at <= all_bytes && bytes <= all_bytes - at;
}

static bool do_meet(const void *p, size_t p_bytes, const void *q,
                    size_t q_bytes)
{
    const czr_address a = czr_address_of(p), b = czr_address_of(q);

    return a < b + q_bytes && b < a + p_bytes;
}

/* Whether results may go where they belong: the addend may lie just there. */
static bool is_in_place(const czr_cuda_call *call, const czr_cuda_known *known,
                        const czr_product *p)
{
    const size_t bytes = result_bytes(known);
    const size_t element = czr_dtype_bytes(p->a_dtype);

    return known->is_chosen && is_aligned(p->out, 0) &&
           is_within(p->out, bytes, call->scratch, call->scratch_bytes) &&
           !do_meet(p->out, bytes, p->a, p->m * p->k * element) &&
           !do_meet(p->out, bytes, p->b, p->k * p->n * element) &&
           (p->beta == 0 || p->addend == p->out ||
            !do_meet(p->out, bytes, p->addend, bytes));
}

static czr_status put(const czr_cuda_call *call, const czr_cuda_known *known,
                      const czr_product *p)
{
    const bool in_place = is_in_place(call, known, p);
    const czr_cublas_operands of = {.a = p->a,
                                    .b = p->b,
                                    .c = known->is_chosen ? p->addend : NULL,
                                    .d = in_place ? p->out : call->workspace,
                                    .alpha = known->is_chosen ? p->alpha : 1,
                                    .beta = p->beta};

    if (!czr_cublas_put(known->library, &of,
                        call->workspace + front_bytes(known), call->stream))
        return czr_context_check(call->stages->context, CZR_CUDA_INVALID_VALUE,
                                 "cuBLASLt: a product [%zu, %zu] x [%zu, %zu]",
                                 p->m, p->k, p->k, p->n);
    if (in_place)
        return CZR_OK;
    return known->is_chosen ? put_copy(call, known, p->out)
                            : put_finish(call, known->finish, p);
}

bool czr_cuda_library_put(const czr_cuda_call *call,
                          const czr_cuda_known *known, const czr_product *p,
                          const czr_cuda_batched *batched, czr_status *status)
{
    const czr_cuda_apart *by = &batched->apart;

    if (!known->library || !is_aligned(p->a, by->a) ||
        !is_aligned(p->b, by->b) ||
        (known->is_chosen && !is_aligned(p->addend, by->addend)))
        return false;
    *status = CZR_OK;
    for (int64_t i = 0; i < batched->n && *status == CZR_OK; i++) {
        czr_product one = *p;
        one.a = czr_cuda_behind(p->a, by->a, i);
        one.b = czr_cuda_behind(p->b, by->b, i);
        one.addend =
            p->addend ? czr_cuda_behind(p->addend, by->addend, i) : NULL;
        one.out = p->out ? czr_cuda_behind(p->out, by->out, i) : NULL;
        *status = put(call, known, &one);
    }
    return true;
}
