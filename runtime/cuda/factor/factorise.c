/* Factorisations: roots of Newton's by products, others by cuSOLVER where it is
 * found and the plan is not strict, and all else by the host, which the stream
 * waits for. */
#include "runtime/cuda/factor/internal.h"

#include "runtime/math/factor.h"
#include "runtime/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- sizes -------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t count_a(const czr_factor *f)
{
    return (f->kind == CZR_FACTOR_QR ? f->m : f->n) * f->n;
}

/* Elements of b or, where there is none, 0; of both results. */
typedef struct counts {
    size_t b, out[2];
} counts;

static counts count(const czr_factor *f)
{
    const size_t s = least(f->m, f->n), square = f->n * f->n;

    switch (f->kind) {
    case CZR_FACTOR_EIGH:
        return (counts){0, {f->n, square}};
    case CZR_FACTOR_QR:
        return (counts){0, {f->m * s, s * f->n}};
    case CZR_FACTOR_SOLVE_LOWER:
    case CZR_FACTOR_SOLVE_LOWER_T:
    case CZR_FACTOR_SOLVE_UPPER:
    case CZR_FACTOR_SOLVE_UPPER_T:
        return (counts){f->n * f->k, {f->n * f->k, 0}};
    case CZR_FACTOR_CHOLESKY:
    case CZR_FACTOR_ROOT:
    case CZR_FACTOR_NEWTON_ROOT:
    case CZR_N_FACTORS:
        break;
    }
    return (counts){0, {square, 0}};
}

/* Nothing is to be computed. */
static bool is_empty(const czr_factor *f)
{
    const counts n = count(f);

    return n.out[0] + n.out[1] == 0;
}

/* ---- by the host -------------------------------------------------------- */

/* What the host has of a call, in pinned memory. */
typedef struct copies {
    int32_t *words; /* the skip flag, the status */
    float *a, *b, *out[2];
    size_t bytes; /* of all */
} copies;

static float *take(unsigned char *base, size_t *bytes, size_t n)
{
    float *const at = base ? (void *)(base + *bytes) : NULL;

    *bytes += czr_round_up(n * sizeof(float));
    return at;
}

/* base NULL: for the bytes alone. */
static copies lay_out(unsigned char *base, const czr_factor *f)
{
    const counts n = count(f);
    copies c = {.words = (void *)base, .bytes = CZR_ALIGN};

    c.a = take(base, &c.bytes, count_a(f));
    c.b = take(base, &c.bytes, n.b);
    for (int i = 0; i < 2; i++)
        c.out[i] = take(base, &c.bytes, n.out[i]);
    return c;
}

czr_status czr_cuda_host_put(const czr_cuda_call *call, const czr_factor *f)
{
    const czr_cuda_host *host = &call->stages->products->host;
    const counts n = count(f);
    const copies c = lay_out(host->pinned, f);
    int32_t *skip = &c.words[0];
    czr_cuda_work w = {.call = call, .word = &c.words[1]};
    czr_factor there = *f;

    *skip = 0;
    if (!czr_cuda_work_copy(&w, c.a, f->a, count_a(f) * sizeof *c.a) ||
        !czr_cuda_work_copy(&w, c.b, f->b, n.b * sizeof *c.b) ||
        (call->skip &&
         !czr_cuda_work_copy(&w, skip, call->skip, sizeof *skip)) ||
        !czr_cuda_work_wait(&w) || *skip)
        return w.status;
    there.a = c.a;
    there.b = c.b;
    there.out[0] = c.out[0];
    there.out[1] = c.out[1];
    there.work = host->work;
    const czr_status status = czr_factor_host(&host->math.math, &there);
    if (status != CZR_OK)
        czr_cuda_work_tell(&w, status);
    for (int i = 0; i < 2; i++)
        czr_cuda_work_copy(&w, f->out[i], c.out[i], n.out[i] * sizeof *c.a);
    czr_cuda_work_wait(&w);
    return w.status;
}

/* Room for the largest call so far. */
static czr_status make_room(czr_cuda_stages *stages, const czr_factor *f)
{
    czr_cuda_host *host = &stages->products->host;
    const size_t bytes = lay_out(NULL, f).bytes;

    if (host->work_bytes < f->work_bytes || !host->work) {
        czr_free(host->work);
        host->work_bytes = f->work_bytes;
        host->work = czr_alloc(f->work_bytes, 1);
        if (!host->work)
            return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                     "%zu bytes for the host's factorisations",
                                     f->work_bytes);
    }
    if (host->pinned_bytes >= bytes)
        return CZR_OK;
    czr_context_free_pinned(stages->context, host->pinned);
    host->pinned = NULL;
    host->pinned_bytes = bytes;
    return czr_context_alloc_pinned(stages->context, bytes, &host->pinned);
}

static czr_status open_host(czr_cuda_stages *stages, const czr_factor *f)
{
    czr_cuda_host *host = &stages->products->host;

    if (!host->is_open) {
        host->is_open = true;
        if (czr_host_math_open(&host->math, stages->program->program->strict,
                               czr_threads_per_rank(1)) != CZR_OK)
            return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                     "the host's products");
    }
    return make_room(stages, f);
}

void czr_cuda_factored_close(czr_cuda_stages *stages)
{
    czr_cuda_host *host = &stages->products->host;

    while (stages->products->factored) {
        czr_cuda_factored *known = stages->products->factored;
        stages->products->factored = known->next;
        free(known);
    }
    if (host->is_open)
        czr_host_math_close(&host->math);
    czr_free(host->work);
    czr_context_free_pinned(stages->context, host->pinned);
}

/* ---- what stages call --------------------------------------------------- */

static czr_cuda_factored *find(const czr_cuda_products *products,
                               const czr_factor *f)
{
    czr_cuda_factored *known = products ? products->factored : NULL;

    while (known && (known->shape.kind != f->kind || known->shape.m != f->m ||
                     known->shape.n != f->n || known->shape.k != f->k ||
                     known->shape.work_bytes != f->work_bytes))
        known = known->next;
    return known;
}

/* Whether the host may have to do it. */
static bool is_for_host(const czr_cuda_stages *stages,
                        const czr_cuda_factored *known)
{
    return known->is_iterated ? stages->program->program->strict
                              : !known->is_solved;
}

czr_status czr_cuda_factor_prepare(czr_cuda_stages *stages, const czr_factor *f)
{
    czr_status status = czr_cuda_products_make(stages);

    if (is_empty(f) || status != CZR_OK || find(stages->products, f))
        return status;
    czr_cuda_factored *known = calloc(1, sizeof *known);
    if (!known)
        return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                 "a factorisation of %s",
                                 stages->program->program->name);
    known->shape = *f;
    *stages->products->factored_end = known;
    stages->products->factored_end = &known->next;
    status = f->kind == CZR_FACTOR_NEWTON_ROOT
                 ? czr_cuda_newton_prepare(stages, known)
                 : czr_cuda_solver_prepare(stages, known);
    return status == CZR_OK && is_for_host(stages, known) ? open_host(stages, f)
                                                          : status;
}

czr_status czr_cuda_factorise(const czr_cuda_call *call,
                              const czr_factor *factor)
{
    if (is_empty(factor))
        return CZR_OK;
    const czr_cuda_factored *known = find(call->stages->products, factor);
    if (!known)
        return czr_context_check(call->stages->context, CZR_CUDA_NOT_FOUND,
                                 "a factorisation of [%zu, %zu] that no stage "
                                 "had when they were opened",
                                 factor->m, factor->n);
    if (known->is_iterated)
        return czr_cuda_newton_put(call, known, factor);
    return known->is_solved ? czr_cuda_solver_put(call, known, factor)
                            : czr_cuda_host_put(call, factor);
}

/* ---- the list ----------------------------------------------------------- */

static const char *by_whom(const czr_cuda_factored *known)
{
    if (known->is_iterated)
        return "products and kernels of newton.cu, for which the host waits";
    if (!known->is_solved)
        return "the host, for which its stream waits";
    return count(&known->shape).b ? "cuBLAS, behind a look of the host's"
                                  : "cuSOLVER, for which the host waits";
}

void czr_cuda_factored_describe(const czr_cuda_factored *known,
                                char line[CZR_CUDA_LINE])
{
    static const char *const names[CZR_N_FACTORS] = {
        [CZR_FACTOR_EIGH] = "eigh",
        [CZR_FACTOR_QR] = "qr",
        [CZR_FACTOR_CHOLESKY] = "cholesky",
        [CZR_FACTOR_SOLVE_LOWER] = "solve_lower",
        [CZR_FACTOR_SOLVE_LOWER_T] = "solve_lower_transposed",
        [CZR_FACTOR_SOLVE_UPPER] = "solve_upper",
        [CZR_FACTOR_SOLVE_UPPER_T] = "solve_upper_transposed",
        [CZR_FACTOR_ROOT] = "root",
        [CZR_FACTOR_NEWTON_ROOT] = "newton_root",
    };
    const czr_factor *f = &known->shape;
    const bool is_square = f->kind != CZR_FACTOR_QR;

    snprintf(line, CZR_CUDA_LINE, "%s of f32[%zu, %zu]: %s", names[f->kind],
             is_square ? f->n : f->m, f->n, by_whom(known));
}
