/* What factorisations put on their stream, and what they wait for. */
#include "runtime/cuda/factor/internal.h"

enum { THREADS = 256, BLOCKS_AT_ONCE = 8 };

/* ---- while stages are opened -------------------------------------------- */

static czr_status load_kernels(czr_cuda_stages *stages)
{
    static const char *const names[CZR_CUDA_N_FACTOR_KERNELS] = {
        [CZR_CUDA_FACTOR_CHECK] = "factor_check",
        [CZR_CUDA_FACTOR_TRANSPOSE] = "factor_turn",
        [CZR_CUDA_FACTOR_LOWER] = "factor_lower",
        [CZR_CUDA_FACTOR_MIRROR] = "factor_mirror",
        [CZR_CUDA_FACTOR_ROWS] = "factor_rows",
        [CZR_CUDA_FACTOR_SCALE] = "factor_scale",
        [CZR_CUDA_FACTOR_WIDEN] = "factor_widen",
        [CZR_CUDA_FACTOR_NARROW] = "factor_narrow",
        [CZR_CUDA_NEWTON_NORM] = "newton_norm",
        [CZR_CUDA_NEWTON_START] = "newton_start",
        [CZR_CUDA_NEWTON_TRANSPOSE] = "newton_turn",
        [CZR_CUDA_NEWTON_MULTIPLY] = "newton_multiply",
        [CZR_CUDA_NEWTON_DISTANCE] = "newton_distance",
        [CZR_CUDA_NEWTON_TAKE] = "newton_take",
    };
    czr_module *module;
    czr_status status = czr_cuda_products_load(stages, CZR_SOURCE_FACTOR,
                                               "factor", "", &module);

    for (int i = 0; i < CZR_CUDA_N_FACTOR_KERNELS && status == CZR_OK; i++)
        status = czr_module_find(module, names[i], 0,
                                 &stages->products->solver.kernels[i]);
    return status;
}

static size_t seen_bytes(void)
{
    return (sizeof(czr_cuda_seen) + sizeof(double) - 1) / sizeof(double) *
           sizeof(double);
}

czr_status czr_cuda_work_prepare(czr_cuda_stages *stages, size_t n_bytes)
{
    czr_cuda_solver *solver = &stages->products->solver;
    const size_t bytes = seen_bytes() + n_bytes;
    const czr_status status = load_kernels(stages);

    if (status != CZR_OK || solver->pinned_bytes >= bytes)
        return status;
    czr_context_free_pinned(stages->context, solver->pinned);
    solver->pinned = NULL;
    solver->pinned_bytes = bytes;
    return czr_context_alloc_pinned(stages->context, bytes, &solver->pinned);
}

void *czr_cuda_work_take(unsigned char *base, size_t *bytes, size_t n)
{
    void *const at = base ? base + *bytes : NULL;

    *bytes += (n + CZR_CUDA_WORK_ALIGN - 1) / CZR_CUDA_WORK_ALIGN *
              CZR_CUDA_WORK_ALIGN;
    return at;
}

/* ---- one call ----------------------------------------------------------- */

czr_cuda_work czr_cuda_work_of(const czr_cuda_call *call)
{
    unsigned char *const pinned = call->stages->products->solver.pinned;

    return (czr_cuda_work){.call = call,
                           .reported = (void *)call->workspace,
                           .seen = (void *)pinned,
                           .word = &((czr_cuda_seen *)(void *)pinned)->word,
                           .numbers = pinned + seen_bytes()};
}

bool czr_cuda_work_note(czr_cuda_work *w, czr_status status)
{
    if (w->status == CZR_OK)
        w->status = status;
    return w->status == CZR_OK;
}

unsigned czr_cuda_work_blocks(const czr_cuda_stages *stages, size_t n)
{
    const size_t most = (size_t)stages->context->n_processors * BLOCKS_AT_ONCE;
    const size_t blocks = n / THREADS + (n % THREADS > 0);

    return (unsigned)(blocks < most ? blocks : most);
}

bool czr_cuda_work_put(czr_cuda_work *w, czr_cuda_factor_kernel kernel,
                       size_t n, void **arguments)
{
    const czr_cuda_stages *stages = w->call->stages;
    const czr_launch launch = {.grid = {czr_cuda_work_blocks(stages, n), 1, 1},
                               .block = {THREADS, 1, 1}};

    if (w->status != CZR_OK || n == 0)
        return w->status == CZR_OK;
    return czr_cuda_work_note(
        w, czr_module_launch(stages->context,
                             stages->products->solver.kernels[kernel], &launch,
                             arguments, w->call->stream));
}

bool czr_cuda_work_copy(czr_cuda_work *w, void *to, const void *from,
                        size_t bytes)
{
    return w->status == CZR_OK &&
           czr_cuda_work_note(w, czr_context_copy(w->call->stages->context,
                                                  czr_address_of(to),
                                                  czr_address_of(from), bytes,
                                                  w->call->stream));
}

bool czr_cuda_work_wait(czr_cuda_work *w)
{
    return w->status == CZR_OK &&
           czr_cuda_work_note(w,
                              czr_context_synchronize(w->call->stages->context,
                                                      w->call->stream, 0));
}

bool czr_cuda_work_clear(czr_cuda_work *w)
{
    return w->status == CZR_OK &&
           czr_cuda_work_note(w, czr_context_fill(w->call->stages->context,
                                                  czr_address_of(w->reported),
                                                  0, CZR_CUDA_WORK_ALIGN,
                                                  w->call->stream));
}

bool czr_cuda_work_read(czr_cuda_work *w)
{
    return czr_cuda_work_copy(w, w->seen->reported, w->reported,
                              sizeof w->seen->reported) &&
           czr_cuda_work_wait(w);
}

bool czr_cuda_work_begin(czr_cuda_work *w)
{
    w->seen->skip = 0;
    if (w->call->skip && !czr_cuda_work_copy(w, &w->seen->skip, w->call->skip,
                                             sizeof w->seen->skip))
        return false;
    return czr_cuda_work_read(w) && w->seen->skip == 0;
}

bool czr_cuda_work_tell(czr_cuda_work *w, czr_status failure)
{
    int32_t *status = w->call->status;

    if (status && czr_cuda_work_copy(w, w->word, status, sizeof *status) &&
        czr_cuda_work_wait(w) && *w->word == CZR_OK) {
        *w->word = (int32_t)failure;
        if (czr_cuda_work_copy(w, status, w->word, sizeof *status))
            czr_cuda_work_wait(w);
    }
    return czr_cuda_work_note(w, failure);
}
