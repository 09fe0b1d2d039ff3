/* Loops as launches: grids from extents and multiprocessors, partial sums in
 * the call's room, and the kernels that end them. */
#include "runtime/cuda/products/deferred.h"

/* As in elementwise.cuh. */
enum {
    THREADS = 256,
    WARPS = 8,
    CHUNK = 16 * THREADS,
    STRIP_ROWS = 64,
    WARP_COLUMNS = 1024,
    SIDE = 32
};

/* Blocks of a multiprocessor at most: kernels go on where the grid ends. */
enum { BLOCKS_EACH = 8 };

/* Extents, what says what is not finite, and the skip pointer. */
enum { MAX_ARGUMENTS = UINT8_MAX + 5 };

static size_t divide_up(size_t n, size_t by)
{
    return n / by + (n % by != 0);
}

static size_t parts_of(const czr_cuda_kernel *kernel)
{
    return (size_t)kernel->row_parts * kernel->column_parts;
}

/* Elements that a rank_group of threads has at once. */
static size_t row_length(const czr_cuda_kernel *kernel, size_t columns)
{
    return columns / kernel->column_parts;
}

static bool is_sum(unsigned argument)
{
    return argument >= CZR_CUDA_SUM && argument != CZR_CUDA_STATUS;
}

static bool is_largest(unsigned argument)
{
    return argument >= CZR_CUDA_LARGEST;
}

static bool has_sums(const czr_cuda_kernel *kernel)
{
    for (int i = 0; i < kernel->n_arguments; i++)
        if (is_sum(kernel->arguments[i]))
            return true;
    return false;
}

/* Partial sums of each part of a result; of columns, strips. */
static size_t sums_of_part(const czr_cuda_kernel *kernel, size_t rows,
                           size_t columns)
{
    switch ((czr_cuda_form)kernel->form) {
    case CZR_CUDA_RUN:
        return divide_up(rows * columns / parts_of(kernel), CHUNK);
    case CZR_CUDA_ROWS:
        return rows / kernel->row_parts;
    case CZR_CUDA_COLUMNS:
        return divide_up(rows, STRIP_ROWS);
    case CZR_CUDA_SQUARES:
        break;
    }
    return 0;
}

/* Partial sums of one result. */
static size_t n_sums(const czr_cuda_kernel *kernel, size_t rows, size_t columns)
{
    const size_t n = sums_of_part(kernel, rows, columns);

    return n * (kernel->form == CZR_CUDA_COLUMNS ? columns : parts_of(kernel));
}

/* Blocks that each have something to do, all at once. */
static size_t blocks_wanted(const czr_cuda_kernel *kernel, size_t rows,
                            size_t columns)
{
    switch ((czr_cuda_form)kernel->form) {
    case CZR_CUDA_RUN:
        return has_sums(kernel)
                   ? n_sums(kernel, rows, columns)
                   : divide_up(rows * columns, (size_t)kernel->width * THREADS);
    case CZR_CUDA_ROWS:
        return row_length(kernel, columns) > WARP_COLUMNS
                   ? rows
                   : divide_up(rows, WARPS);
    case CZR_CUDA_SQUARES:
        return divide_up(rows, SIDE) * divide_up(columns, SIDE);
    case CZR_CUDA_COLUMNS:
        return divide_up(rows, STRIP_ROWS) * divide_up(columns, THREADS);
    }
    return 0;
}

/* Nothing where there is nothing to do. */
static czr_status put(const czr_cuda_stages *stages, void *kernel,
                      size_t n_blocks, void **arguments, void *stream)
{
    const size_t most = (size_t)stages->context->n_processors * BLOCKS_EACH;
    const czr_launch launch = {
        .grid = {(unsigned)(n_blocks < most ? n_blocks : most), 1, 1},
        .block = {THREADS, 1, 1}};

    return n_blocks == 0 ? CZR_OK
                         : czr_module_launch(stages->context, kernel, &launch,
                                             arguments, stream);
}

/* ---- one kernel --------------------------------------------------------- */

/* What a kernel is launched on. */
typedef struct space {
    const czr_cuda_call *call;
    const czr_cuda_kernel *kernel;
    uint64_t rows, columns;
    const void *const *pointers;
} space;

static void *partial_sums(const space *s, int number)
{
    double *const room = (void *)s->call->room;

    return room + (size_t)number * n_sums(s->kernel, s->rows, s->columns);
}

static czr_status put_kernel(const space *s, void *kernel)
{
    uint64_t n = s->rows * s->columns, rows = s->rows, columns = s->columns;
    const void *values[MAX_ARGUMENTS];
    void *arguments[MAX_ARGUMENTS] = {&n};
    int failure = CZR_ERR_PARAM, at = 1, n_values = 0, sums = 0;

    if (!s->kernel->is_flat) {
        arguments[0] = &rows;
        arguments[at++] = &columns;
    }
    for (int i = 0; i < s->kernel->n_arguments; i++) {
        const unsigned argument = s->kernel->arguments[i];
        const bool is_status = argument == CZR_CUDA_STATUS;
        values[n_values] = is_status          ? s->call->status
                           : is_sum(argument) ? partial_sums(s, sums++)
                                              : s->pointers[argument];
        arguments[at++] = &values[n_values++];
        if (is_status)
            arguments[at++] = &failure;
    }
    values[n_values] = s->call->skip;
    arguments[at] = &values[n_values];
    return put(s->call->stages, kernel,
               blocks_wanted(s->kernel, s->rows, s->columns), arguments,
               s->call->stream);
}

/* The result that a sum belongs to. */
static const void *result_of(const space *s, unsigned argument)
{
    return s->pointers[argument - (is_largest(argument) ? CZR_CUDA_LARGEST
                                                        : CZR_CUDA_SUM)];
}

/* One block adds up parts, a thread each column of strips. */
static czr_status put_end(const space *s, unsigned argument, int number)
{
    const czr_cuda_stages *stages = s->call->stages;
    const bool is_strips = s->kernel->form == CZR_CUDA_COLUMNS;
    const czr_cuda_common which =
        is_strips ? (is_largest(argument) ? CZR_CUDA_LARGEST_STRIPS
                                          : CZR_CUDA_SUM_STRIPS)
                  : (is_largest(argument) ? CZR_CUDA_LARGEST_BLOCKS
                                          : CZR_CUDA_SUM_BLOCKS);
    void *sums = partial_sums(s, number);
    uint64_t length = sums_of_part(s->kernel, s->rows, s->columns);
    uint64_t columns = s->columns;
    int parts = (int)parts_of(s->kernel);
    const void *y = result_of(s, argument), *skip = s->call->skip;
    void *arguments[] = {&sums, &length,
                         is_strips ? (void *)&columns : (void *)&parts, &y,
                         &skip};

    return put(stages, stages->shared[which],
               is_strips ? divide_up(s->columns, THREADS) : 1, arguments,
               s->call->stream);
}

static czr_status put_ends(const space *s)
{
    czr_status status = CZR_OK;
    int sums = 0;

    for (int i = 0; i < s->kernel->n_arguments && status == CZR_OK; i++)
        if (is_sum(s->kernel->arguments[i]))
            status = put_end(s, s->kernel->arguments[i], sums++);
    return status;
}

/* While stages are opened. */
static void ask_for_room(const space *s)
{
    size_t n = 0;

    for (int i = 0; i < s->kernel->n_arguments; i++)
        if (is_sum(s->kernel->arguments[i]))
            n += n_sums(s->kernel, s->rows, s->columns);
    czr_cuda_stages_need(s->call->stages, n * sizeof(double));
}

/* How many of the loop's pointers the kernels are given. */
static size_t count_pointers(const czr_cuda_program *program, int number)
{
    const czr_cuda_loop_kernels loop = program->loops[number];
    size_t n = 0;

    for (int i = loop.first; i < loop.first + loop.n; i++) {
        const czr_cuda_kernel *kernel = &program->kernels[i];
        for (int k = 0; k < kernel->n_arguments; k++) {
            const unsigned argument = kernel->arguments[k];
            const size_t at = argument % CZR_CUDA_SUM;
            if (argument != CZR_CUDA_STATUS && at >= n)
                n = at + 1;
        }
    }
    return n;
}

/* ---- what stages call --------------------------------------------------- */

czr_status czr_cuda_loop(const czr_cuda_call *call, int number, size_t rows,
                         size_t columns, const void *const *pointers)
{
    const czr_cuda_stages *stages = call->stages;
    const czr_cuda_loop_kernels loop = stages->program->loops[number];
    czr_status status = CZR_OK;

    if (stages->is_opening || call->notes)
        status = czr_cuda_defer_loop(call, number, rows, columns, pointers,
                                     count_pointers(stages->program, number));
    for (int i = loop.first;
         !call->notes && i < loop.first + loop.n && status == CZR_OK; i++) {
        const space s = {.call = call,
                         .kernel = &stages->program->kernels[i],
                         .rows = rows,
                         .columns = columns,
                         .pointers = pointers};
        if (stages->is_opening) {
            ask_for_room(&s);
            continue;
        }
        status = put_kernel(&s, stages->kernels[i]);
        if (status == CZR_OK)
            status = put_ends(&s);
    }
    return status;
}

czr_status czr_cuda_copy(const czr_cuda_call *call, void *to, const void *from,
                         size_t bytes)
{
    const czr_cuda_stages *stages = call->stages;
    const void *skip = call->skip;
    uint64_t n = bytes;
    void *arguments[] = {&from, &to, &n, &skip};

    if (stages->is_opening || call->notes)
        return czr_cuda_defer_copy(call, to, from, bytes);
    return put(stages, stages->shared[CZR_CUDA_COPY],
               divide_up(bytes, 16 * (size_t)THREADS), arguments, call->stream);
}

czr_status czr_cuda_prologue(const czr_cuda_stages *stages, const double *t,
                             const double *clip, const double *hypers,
                             float *scalars, void *stream)
{
    const czr_launch one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    void *arguments[] = {&t, &clip, &hypers, &scalars};

    return czr_module_launch(stages->context, stages->shared[CZR_CUDA_PROLOGUE],
                             &one, arguments, stream);
}
