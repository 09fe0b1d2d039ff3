/* Roots by the coupled Newton iteration on the device: products by what
 * multiplies there, f64 and all else by kernels of newton.cu.
 *
 * The host waits for a number in each iteration, how far it is from its end, so
 * that no graph holds it.  Without that as many iterations as there may be, a
 * hundred in f32 and as many in f64, would be put always, where some twenty do:
 * kernels can be reported to do nothing, a library's products cannot.  Beside
 * an iteration's products a wait is short from some n = 256 on.
 *
 * In a strict plan iterations in f32 are the host's to the bit; if these do not
 * end, the host computes the whole, as its f64 is a BLAS's. */
#include "runtime/cuda/factor/internal.h"

#include "runtime/math/newton.h"

#include <math.h>

typedef struct device {
    czr_newton newton;
    czr_cuda_work *work;
    czr_cuda_call behind; /* of products: the room behind what is below */
    const czr_factor *f;
    double *parts; /* one of each block */
    uint32_t is_wide;
} device;

static device *device_of(czr_newton *it)
{
    return (device *)it;
}

/* ---- room --------------------------------------------------------------- */

static size_t count(const czr_factor *f)
{
    return f->n * f->n;
}

static size_t parts_bytes(const czr_cuda_stages *stages, const czr_factor *f)
{
    return czr_cuda_work_blocks(stages, count(f)) * sizeof(double);
}

/* Behind the words that the device says; base NULL: for the bytes alone. */
static size_t lay_out(unsigned char *base, const czr_cuda_stages *stages,
                      device *d)
{
    const size_t matrix =
        count(d->f) * (d->is_wide ? sizeof(double) : sizeof(float));
    czr_newton *it = &d->newton;
    void **const all[] = {&it->x, &it->m, &it->t, &it->other};
    size_t bytes = CZR_CUDA_WORK_ALIGN;

    d->parts = czr_cuda_work_take(base, &bytes, parts_bytes(stages, d->f));
    for (int i = 0; i < CZR_NEWTON_N_MATRICES; i++)
        *all[i] = czr_cuda_work_take(base, &bytes, matrix);
    return bytes;
}

static czr_product product_of(const czr_factor *f, const void *b, const void *a,
                              void *product)
{
    return (czr_product){.m = f->n,
                         .n = f->n,
                         .k = f->n,
                         .a = b,
                         .b = a,
                         .out = product,
                         .a_dtype = CZR_F32,
                         .b_dtype = CZR_F32,
                         .out_dtype = CZR_F32,
                         .symmetric = 1,
                         .alpha = 1};
}

czr_status czr_cuda_newton_prepare(czr_cuda_stages *stages,
                                   czr_cuda_factored *known)
{
    const czr_factor *f = &known->shape;
    const czr_product product = product_of(f, NULL, NULL, NULL);
    const bool is_strict = stages->program->program->strict;
    device wide = {.f = f, .is_wide = 1}, narrow = {.f = f};
    /* Of each block one, and in strict plans the matrix itself. */
    const size_t parts = parts_bytes(stages, f);
    const size_t whole = is_strict ? count(f) * sizeof(float) : 0;
    size_t of_product;

    known->is_iterated = true;
    known->iteration_bytes = lay_out(NULL, stages, &narrow);
    czr_status status =
        czr_cuda_product_prepare(stages, &product, 1, &of_product);
    czr_cuda_stages_need(stages, known->iteration_bytes + of_product);
    if (!is_strict)
        czr_cuda_stages_need(stages, lay_out(NULL, stages, &wide));
    return status == CZR_OK
               ? czr_cuda_work_prepare(stages, parts > whole ? parts : whole)
               : status;
}

/* ---- the norm ----------------------------------------------------------- */

/* Numbers of the blocks come to the host, behind what the stream has. */
static bool fetch_parts(const device *d, size_t *n)
{
    czr_cuda_work *w = d->work;

    *n = czr_cuda_work_blocks(w->call->stages, count(d->f));
    return czr_cuda_work_copy(w, w->numbers, d->parts, *n * sizeof(double));
}

/* Of the matrix itself: the host's sum. */
static bool find_norm_of_host(const device *d, double *norm)
{
    czr_cuda_work *w = d->work;
    czr_factor there = *d->f;

    if (!czr_cuda_work_copy(w, w->numbers, d->f->a,
                            count(d->f) * sizeof(float)) ||
        !czr_cuda_work_begin(w))
        return false;
    there.a = w->numbers;
    *norm = czr_newton_norm(&there);
    return true;
}

/* False: the step is skipped, or something fails. */
static bool find_norm(const device *d, double *norm)
{
    czr_cuda_work *w = d->work;
    double shift = d->f->parameters[1], sum = 0;
    uint64_t n = d->f->n;
    const float *a = d->f->a;
    double *parts = d->parts;
    void *arguments[] = {&a, &n, &shift, &parts};
    size_t n_parts;

    if (!czr_cuda_work_clear(w))
        return false;
    if (w->call->stages->program->program->strict)
        return find_norm_of_host(d, norm);
    if (!czr_cuda_work_put(w, CZR_CUDA_NEWTON_NORM, count(d->f), arguments) ||
        !fetch_parts(d, &n_parts) || !czr_cuda_work_begin(w))
        return false;
    for (size_t i = 0; i < n_parts; i++)
        sum += ((const double *)w->numbers)[i];
    *norm = sqrt(sum);
    return true;
}

/* ---- calls of the iteration --------------------------------------------- */

static void start(czr_newton *it, double z, double root)
{
    device *d = device_of(it);
    uint64_t n = d->f->n;
    const float *a = d->f->a;
    double shift = d->f->parameters[1];
    void *arguments[] = {&a,    &n,          &shift, &z,
                         &root, &d->is_wide, &it->m, &it->x};

    czr_cuda_work_put(d->work, CZR_CUDA_NEWTON_START, count(d->f), arguments);
}

static void turn(czr_newton *it)
{
    device *d = device_of(it);
    uint64_t n = d->f->n;
    double k = it->k;
    void *arguments[] = {&it->m, &n, &k, &d->is_wide, &it->t};

    czr_cuda_work_put(d->work, CZR_CUDA_NEWTON_TRANSPOSE, count(d->f),
                      arguments);
}

/* A block has a tile of 64 rows and columns, or several. */
static void multiply_wide(device *d, const void *b, const void *a,
                          void *product)
{
    enum { TILE = 64, THREADS = 256 };
    const size_t across = (d->f->n + TILE - 1) / TILE;
    uint64_t n = d->f->n;
    void *arguments[] = {&b, &a, &product, &n};

    czr_cuda_work_put(d->work, CZR_CUDA_NEWTON_MULTIPLY,
                      across * across * THREADS, arguments);
}

static void multiply(czr_newton *it, const void *b, const void *a,
                     void *product)
{
    device *d = device_of(it);
    const czr_product p = product_of(d->f, b, a, product);

    if (d->work->status != CZR_OK)
        return;
    if (d->is_wide)
        multiply_wide(d, b, a, product);
    else
        czr_cuda_work_note(d->work, czr_cuda_multiply(&d->behind, &p));
}

static double distance(czr_newton *it)
{
    device *d = device_of(it);
    uint64_t n = d->f->n;
    void *arguments[] = {&it->m, &n, &d->is_wide, &d->parts};
    const double *parts = d->work->numbers;
    size_t n_parts;
    double most = 0;

    if (!czr_cuda_work_put(d->work, CZR_CUDA_NEWTON_DISTANCE, count(d->f),
                           arguments) ||
        !fetch_parts(d, &n_parts) || !czr_cuda_work_wait(d->work))
        return (double)INFINITY;
    for (size_t i = 0; i < n_parts; i++)
        most = fmax(most, parts[i]);
    return most;
}

static bool take(czr_newton *it)
{
    device *d = device_of(it);
    czr_cuda_work *w = d->work;
    uint64_t n = d->f->n;
    float *out = d->f->out[0];
    void *arguments[] = {&it->x, &n, &d->is_wide, &out, &w->reported};

    return czr_cuda_work_clear(w) &&
           czr_cuda_work_put(w, CZR_CUDA_NEWTON_TAKE, count(d->f), arguments) &&
           czr_cuda_work_read(w) && !w->seen->reported[CZR_REPORT_NOT_FINITE];
}

/* ---- one call ----------------------------------------------------------- */

static czr_status try_in(device *d, double norm, bool is_wide)
{
    const czr_cuda_call *call = d->work->call;

    d->is_wide = is_wide;
    lay_out(call->workspace, call->stages, d);
    return czr_newton_iterate(&d->newton, d->f, norm);
}

static czr_status iterate(device *d, double norm)
{
    czr_cuda_work *w = d->work;
    const czr_status status = czr_newton_check_norm(norm);

    if (status != CZR_OK || try_in(d, norm, false) == CZR_OK ||
        w->status != CZR_OK)
        return status;
    if (!w->call->stages->program->program->strict)
        return try_in(d, norm, true);
    czr_cuda_work_note(w, czr_cuda_host_put(w->call, d->f));
    return CZR_OK;
}

czr_status czr_cuda_newton_put(const czr_cuda_call *call,
                               const czr_cuda_factored *known,
                               const czr_factor *f)
{
    static const czr_newton_calls calls = {start, turn, multiply, distance,
                                           take};
    czr_cuda_work w = czr_cuda_work_of(call);
    device d = {
        .newton = {.calls = &calls}, .work = &w, .behind = *call, .f = f};
    double norm;

    d.behind.workspace = call->workspace + known->iteration_bytes;
    lay_out(call->workspace, call->stages, &d);
    if (!find_norm(&d, &norm))
        return w.status;
    const czr_status status = iterate(&d, norm);
    if (status != CZR_OK && w.status == CZR_OK)
        czr_cuda_work_tell(&w, status);
    return w.status;
}
