/* Steps as launches.  Loops: grids from extents and multiprocessors, partial
 * sums in the call's room, and the kernels that end them.  Products of several
 * calls, and loops that are runs: those that go together. */
#include "runtime/cuda/products/internal.h"

/* As in elementwise.cuh. */
enum {
    THREADS = 256,
    WARPS = 8,
    CHUNK = 16 * THREADS,
    STRIP_ROWS = 64,
    WARP_COLUMNS = 1024,
    SIDE = 32,
    MAX_ENDS = 64
};

/* Blocks of a multiprocessor at most: kernels go on where the grid ends. */
enum { BLOCKS_EACH = 8 };

/* Extents, what says what is not finite, and the skip pointer. */
enum { MAX_ARGUMENTS = UINT8_MAX + 5 };

/* Of all parameters of a kernel: what any driver takes. */
enum { PARAMETER_WORDS = 4096 / sizeof(uint64_t) };

static size_t divide_up(size_t n, size_t by)
{
    return n / by + (n % by != 0);
}

static size_t parts_of(const czr_cuda_kernel *kernel)
{
    return (size_t)kernel->row_blocks * kernel->column_blocks;
}

/* Elements that a rank_group of threads has at once. */
static size_t row_length(const czr_cuda_kernel *kernel, size_t columns)
{
    return columns / kernel->column_blocks;
}

static bool is_sum(unsigned argument)
{
    return argument >= CZR_CUDA_SUM && argument != CZR_CUDA_STATUS;
}

static bool is_largest(unsigned argument)
{
    return argument >= CZR_CUDA_LARGEST;
}

/* Sums, and largest of many, that it makes. */
static int n_results(const czr_cuda_kernel *kernel)
{
    int n = 0;

    for (int i = 0; i < kernel->n_arguments; i++)
        n += is_sum(kernel->arguments[i]);
    return n;
}

/* Partial sums of each part of a result; of columns, strips. */
static size_t sums_of_part(const czr_cuda_kernel *kernel, size_t rows,
                           size_t columns)
{
    switch ((czr_cuda_form)kernel->form) {
    case CZR_CUDA_RUN:
        return divide_up(rows * columns / parts_of(kernel), CHUNK);
    case CZR_CUDA_ROWS:
        return rows / kernel->row_blocks;
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
        return n_results(kernel)
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
static czr_status put(const czr_cuda_call *call, void *kernel, size_t n_blocks,
                      void **arguments)
{
    czr_context *context = call->stages->context;
    const size_t most = (size_t)context->n_processors * BLOCKS_EACH;
    const czr_launch launch = {
        .grid = {(unsigned)(n_blocks < most ? n_blocks : most), 1, 1},
        .block = {THREADS, 1, 1}};

    return n_blocks == 0 ? CZR_OK
                         : czr_module_launch(context, kernel, &launch,
                                             arguments, call->stream);
}

/* ---- operands ----------------------------------------------------------- */

/* Where it lies in a call; NULL: it is absent. */
static void *find(const czr_cuda_call *call, const czr_cuda_operand *operand)
{
    const size_t offset = (size_t)operand->offset +
                          call->equal_part * (size_t)operand->equal_part_bytes;

    switch (operand->place) {
    case CZR_CUDA_IN:
        return czr_slot_bytes(call->in[operand->number], offset);
    case CZR_CUDA_OUT:
        return czr_slot_bytes(call->out[operand->number], offset);
    case CZR_CUDA_WORK:
        return czr_slot_bytes(call->work, offset);
    case CZR_CUDA_SCALAR:
        return czr_slot_bytes(call->scalars[operand->number], offset);
    case CZR_CUDA_ABSENT:
        break;
    }
    return NULL;
}

/* ---- loops -------------------------------------------------------------- */

/* What a kernel is launched on. */
typedef struct space {
    const czr_cuda_call *call;
    const czr_cuda_kernel *kernel;
    const czr_cuda_operand *operands;
    uint64_t rows, columns;
    double *room; /* of its partial sums */
} space;

static space space_of(const czr_cuda_call *call, const czr_cuda_kernel *kernel,
                      const czr_cuda_loop_step *loop)
{
    return (space){call,
                   kernel,
                   loop->operands,
                   loop->rows ? loop->rows : 1,
                   loop->rows ? loop->columns : call->count,
                   (void *)call->workspace};
}

static double *partial_sums(const space *s, int number)
{
    return s->room + (size_t)number * n_sums(s->kernel, s->rows, s->columns);
}

static double *behind_sums(const space *s)
{
    return partial_sums(s, n_results(s->kernel));
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
        values[n_values] = is_status ? s->call->status
                           : is_sum(argument)
                               ? partial_sums(s, sums++)
                               : find(s->call, &s->operands[argument]);
        arguments[at++] = &values[n_values++];
        if (is_status)
            arguments[at++] = &failure;
    }
    values[n_values] = s->call->skip;
    arguments[at] = &values[n_values];
    return put(s->call, kernel, blocks_wanted(s->kernel, s->rows, s->columns),
               arguments);
}

/* ---- entries ---- */

static bool is_of_entry(unsigned argument)
{
    return (argument & CZR_CUDA_ENTRY) && argument < CZR_CUDA_SUM;
}

/* Whether both calls give the kernel the same but for what entries have. */
static bool is_shared(const czr_cuda_kernel *kernel,
                      const czr_cuda_loop_step *loop, const czr_cuda_call *a,
                      const czr_cuda_call *b)
{
    bool same = a->skip == b->skip && a->stream == b->stream;

    for (int i = 0; i < kernel->n_arguments && same; i++) {
        const unsigned argument = kernel->arguments[i];
        if (!is_of_entry(argument) && !is_sum(argument) &&
            argument != CZR_CUDA_STATUS)
            same = find(a, &loop->operands[argument]) ==
                   find(b, &loop->operands[argument]);
    }
    return same;
}

/* How many of n calls whose next step is this loop have one launch of it, with
 * room for all of their partial sums. */
static size_t n_shared(const czr_cuda_call *calls, size_t n,
                       const czr_cuda_loop_step *loop)
{
    const czr_cuda_program *program = calls->stages->program;
    const czr_cuda_loop_kernels kernels = program->loops[loop->loop];
    const czr_cuda_kernel *kernel = &program->kernels[kernels.first];
    const space first = space_of(calls, kernel, loop);
    const size_t each =
        (size_t)(behind_sums(&first) - first.room) * sizeof(double);
    size_t same = 1;

    if (kernels.n != 1)
        return 1;
    while (same < n && same < kernel->entries &&
           (same + 1) * each <= calls->stages->workspace_bytes &&
           calls[same].next == calls->next &&
           is_shared(kernel, loop, calls, &calls[same]))
        same++;
    return same;
}

/* An entry_table of elementwise.cuh. */
typedef struct entries {
    uint64_t words[PARAMETER_WORDS];
    uint32_t n, n_blocks;
} entries;

static void add_entry(entries *to, const space *s)
{
    const size_t most = s->kernel->entries;
    const uint64_t n = s->rows * s->columns;
    const size_t blocks = blocks_wanted(s->kernel, s->rows, s->columns);
    size_t n_words = 0, at = 0;
    int sums = 0;

    for (int i = 0; i < s->kernel->n_arguments; i++)
        n_words += is_of_entry(s->kernel->arguments[i]) ||
                   is_sum(s->kernel->arguments[i]) ||
                   s->kernel->arguments[i] == CZR_CUDA_STATUS;
    uint64_t *own = to->words + most + to->n * n_words;
    uint32_t *ends = (void *)(to->words + most + most * n_words);

    for (int i = 0; i < s->kernel->n_arguments; i++) {
        const unsigned argument = s->kernel->arguments[i];
        if (argument == CZR_CUDA_STATUS)
            own[at++] = czr_address_of(s->call->status);
        else if (is_sum(argument))
            own[at++] = czr_address_of(partial_sums(s, sums++));
        else if (is_of_entry(argument))
            own[at++] = czr_address_of(
                find(s->call, &s->operands[argument - CZR_CUDA_ENTRY]));
    }
    to->words[to->n] = n;
    to->n_blocks += (uint32_t)blocks;
    ends[to->n++] = to->n_blocks;
    ends[most] = to->n;
}

static czr_status put_entries(const space *spaces, size_t n, void *compiled)
{
    const czr_cuda_kernel *kernel = spaces->kernel;
    const void *values[MAX_ARGUMENTS];
    entries all = {.n = 0};
    void *arguments[MAX_ARGUMENTS] = {all.words};
    int failure = CZR_ERR_PARAM, at = 1, n_values = 0;

    for (size_t i = 0; i < n; i++)
        if (spaces[i].rows * spaces[i].columns > 0)
            add_entry(&all, &spaces[i]);
    for (int i = 0; i < kernel->n_arguments; i++) {
        const unsigned argument = kernel->arguments[i];
        if (argument == CZR_CUDA_STATUS) {
            arguments[at++] = &failure;
        } else if (!is_of_entry(argument) && !is_sum(argument)) {
            values[n_values] = find(spaces->call, &spaces->operands[argument]);
            arguments[at++] = &values[n_values++];
        }
    }
    values[n_values] = spaces->call->skip;
    arguments[at] = &values[n_values];
    return put(spaces->call, compiled, all.n_blocks, arguments);
}

/* ---- sums ---- */

static void *result_of(const space *s, unsigned argument)
{
    const int result = (int)argument -
                       (is_largest(argument) ? CZR_CUDA_LARGEST : CZR_CUDA_SUM);

    return find(s->call, &s->operands[result]);
}

/* A thread for each column of strips. */
static czr_status put_strips(const space *s, unsigned argument, int number)
{
    const void *sums = partial_sums(s, number), *skip = s->call->skip;
    uint64_t length = sums_of_part(s->kernel, s->rows, s->columns);
    uint64_t columns = s->columns;
    const void *y = result_of(s, argument);
    void *arguments[] = {&sums, &length, &columns, &y, &skip};

    return put(
        s->call,
        s->call->stages->common[is_largest(argument) ? CZR_CUDA_LARGEST_STRIPS
                                                     : CZR_CUDA_SUM_STRIPS],
        divide_up(s->columns, THREADS), arguments);
}

/* A part_table of elementwise.cuh. */
typedef struct part_table {
    struct {
        uint64_t partial, length, y;
    } of[MAX_ENDS];
} part_table;

/* A block for each. */
static czr_status put_parts(const space *spaces, size_t n, unsigned argument,
                            int number)
{
    const space *s = spaces;
    const void *skip = s->call->skip;
    int n_ends = (int)n, parts = (int)parts_of(s->kernel);
    part_table ends = {0};
    void *arguments[] = {&ends, &n_ends, &parts, &skip};

    for (size_t i = 0; i < n; i++, s++) {
        ends.of[i].partial = czr_address_of(partial_sums(s, number));
        ends.of[i].length = sums_of_part(s->kernel, s->rows, s->columns);
        ends.of[i].y = czr_address_of(result_of(s, argument));
    }
    return put(spaces->call,
               spaces->call->stages
                   ->common[is_largest(argument) ? CZR_CUDA_LARGEST_BLOCKS
                                                 : CZR_CUDA_SUM_BLOCKS],
               n, arguments);
}

static czr_status put_ends(const space *spaces, size_t n)
{
    const czr_cuda_kernel *kernel = spaces->kernel;
    czr_status status = CZR_OK;
    int sums = 0;

    for (int i = 0; i < kernel->n_arguments && status == CZR_OK; i++) {
        const unsigned argument = kernel->arguments[i];
        if (is_sum(argument))
            status = kernel->form == CZR_CUDA_COLUMNS
                         ? put_strips(spaces, argument, sums++)
                         : put_parts(spaces, n, argument, sums++);
    }
    return status;
}

void czr_cuda_loop_prepare(czr_cuda_stages *stages,
                           const czr_cuda_loop_step *loop, int64_t batch)
{
    const czr_cuda_program *program = stages->program;
    const czr_cuda_loop_kernels kernels = program->loops[loop->loop];

    for (int k = kernels.first; k < kernels.first + kernels.n; k++) {
        const czr_cuda_kernel *kernel = &program->kernels[k];
        const size_t n = (size_t)n_results(kernel) *
                         n_sums(kernel, loop->rows, loop->columns) *
                         (kernel->entries ? (size_t)batch : 1);
        czr_cuda_stages_need(stages, n * sizeof(double));
    }
}

/* One of its kernels, for as many calls as have entries. */
static czr_status put_shared(const czr_cuda_call *calls, size_t n,
                             const czr_cuda_loop_step *loop, int number)
{
    const czr_cuda_stages *stages = calls->stages;
    const czr_cuda_kernel *kernel = &stages->program->kernels[number];
    space spaces[MAX_ENDS];

    spaces[0] = space_of(calls, kernel, loop);
    for (size_t i = 1; i < n; i++) {
        spaces[i] = space_of(&calls[i], kernel, loop);
        spaces[i].room = behind_sums(&spaces[i - 1]);
    }
    const czr_status status =
        kernel->entries ? put_entries(spaces, n, stages->kernels[number])
                        : put_kernel(spaces, stages->kernels[number]);
    return status == CZR_OK ? put_ends(spaces, n) : status;
}

/* As many calls as n_shared says. */
static czr_status put_loop(const czr_cuda_call *calls, size_t n,
                           const czr_cuda_loop_step *loop)
{
    const czr_cuda_loop_kernels kernels =
        calls->stages->program->loops[loop->loop];
    czr_status status = CZR_OK;

    for (int i = kernels.first;
         i < kernels.first + kernels.n && status == CZR_OK; i++)
        status = put_shared(calls, n, loop, i);
    return status;
}

/* ---- other steps -------------------------------------------------------- */

static czr_status put_copy(const czr_cuda_call *call,
                           const czr_cuda_copy_step *copy)
{
    void *kernel = call->stages->common[CZR_CUDA_COPY];
    const void *from = find(call, &copy->from), *skip = call->skip;
    void *to = find(call, &copy->to);
    uint64_t n = call->count * copy->element_bytes;
    void *arguments[] = {&from, &to, &n, &skip};

    return put(call, kernel, divide_up(n, 16 * (size_t)THREADS), arguments);
}

static czr_status put_factor(const czr_cuda_call *call,
                             const czr_cuda_factor_step *step)
{
    czr_factor f = step->shape;

    f.a = find(call, &step->a);
    f.b = find(call, &step->b);
    for (int i = 0; i < 2; i++)
        f.out[i] = find(call, &step->out[i]);
    return czr_cuda_factorise(call, &f);
}

/* The product that is the call's next step. */
static czr_product product_of(const czr_cuda_call *call)
{
    const czr_cuda_product_step *step = &call->next->of.product;
    czr_product p = step->shape;

    p.a = find(call, &step->a);
    p.b = find(call, &step->b);
    p.out = find(call, &step->out);
    p.addend = find(call, &step->addend);
    return p;
}

static int64_t distance(const void *from, const void *to)
{
    return (int64_t)(czr_address_of(to) - czr_address_of(from));
}

static czr_cuda_apart apart_of(const czr_product *x, const czr_product *y)
{
    return (czr_cuda_apart){distance(x->a, y->a), distance(x->b, y->b),
                            distance(x->addend, y->addend),
                            distance(x->out, y->out)};
}

static bool is_as_far(czr_cuda_apart x, czr_cuda_apart y)
{
    return x.a == y.a && x.b == y.b && x.addend == y.addend && x.out == y.out;
}

/* Whether both are one product of two matrices. */
static bool is_same(const czr_product *x, const czr_product *y)
{
    return (x->a == x->b) == (y->a == y->b) && x->alpha == y->alpha &&
           x->beta == y->beta && czr_cuda_product_is_alike(x, y);
}

/* The first call's product, and those of the calls behind it that go with it;
 * returns how many these are. */
static size_t put_products(const czr_cuda_call *calls, size_t n,
                           czr_status *status)
{
    const czr_product first = product_of(calls);
    czr_product last = first;
    czr_cuda_apart apart;
    size_t n_same = 1;

    for (; n_same < n && calls[n_same].next->kind == CZR_CUDA_PRODUCT_STEP;
         n_same++) {
        const czr_product next = product_of(&calls[n_same]);
        const czr_cuda_apart by = apart_of(&last, &next);
        if (!is_same(&last, &next) || (n_same > 1 && !is_as_far(apart, by)))
            break;
        apart = by;
        last = next;
    }
    if (n_same > 1 &&
        czr_cuda_multiply_batch(calls, &first, n_same, &apart, status))
        return n_same;
    *status = czr_cuda_multiply(calls, &first);
    return 1;
}

/* The next step of the first call, and of as many as this returns. */
static size_t put_step(const czr_cuda_call *calls, size_t n, czr_status *status)
{
    const czr_cuda_stage step = calls->next;
    size_t n_put = 1;

    switch (step->kind) {
    case CZR_CUDA_LOOP_STEP:
        n_put = n_shared(calls, n, &step->of.loop);
        *status = put_loop(calls, n_put, &step->of.loop);
        break;
    case CZR_CUDA_COPY_STEP:
        *status = put_copy(calls, &step->of.copy);
        break;
    case CZR_CUDA_PRODUCT_STEP:
        return put_products(calls, n, status);
    case CZR_CUDA_FACTOR_STEP:
        *status = put_factor(calls, &step->of.factor);
        break;
    case CZR_CUDA_END:
        break;
    }
    return n_put;
}

czr_status czr_cuda_stages_put(czr_cuda_call *calls, size_t n)
{
    czr_status status = CZR_OK;

    for (bool is_over = false; !is_over && status == CZR_OK;) {
        is_over = true;
        for (size_t i = 0; i < n && status == CZR_OK;)
            i += put_step(&calls[i], n - i, &status);
        for (size_t i = 0; i < n; i++) {
            calls[i].next += calls[i].next->kind != CZR_CUDA_END;
            is_over = is_over && calls[i].next->kind == CZR_CUDA_END;
        }
    }
    return status;
}

czr_status czr_cuda_prologue(const czr_cuda_stages *stages, const double *t,
                             const double *clip, const double *hypers,
                             float *scalars, void *stream)
{
    const czr_launch one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    void *arguments[] = {&t, &clip, &hypers, &scalars};

    return czr_module_launch(stages->context, stages->common[CZR_CUDA_PROLOGUE],
                             &one, arguments, stream);
}
