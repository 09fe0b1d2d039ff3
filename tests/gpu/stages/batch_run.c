/* Equal matrices computed as one: batches.cz on the model of the device and the
 * doubles of products, as the compiler has it, in smaller batches of which the
 * last is not full, and without any: the same bits of parameters and states on
 * all ranks, in every order of streams that the double draws, captured or not,
 * and as many launches of products as there are batches.  Then calls of the
 * driver fail while ranks are opened, one in each run, and there is
 * memory for all but batches.
 *
 * batch_run [ORDERS [FAILURES]]
 * batch_run library [ORDERS [FAILURES]]: all products that are not symmetric by
 * cuBLASLt, which the loader finds: a double of it that counts them. */
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/plan/host_plan.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"

#include "runtime/cuda/world/loopback.h"
#include "runtime/engine/engine.h"

#include <dlfcn.h>
#include <string.h>

enum { STEPS = 4, MAX_ROWS = 256, MAX_TABLES = 64, MOST_BATCH = 8 };
enum { MAX_TILINGS = 256 };
/* Of a matrix in a step, and which of them are symmetric. */
enum { PRODUCTS = 15, SYMMETRIC = 10 };
/* Where steps are replayed so many are put: the first, and what is captured. */
enum { CAPTURED = 2 };

extern const czr_cuda_program batches_cuda;
void batches_kernels(void);
void collect_kernels(void);

/* The compiler's, or with the library at all that it may have. */
static czr_cuda_program compiled;
static int *library_products; /* NULL: it is not asked for */
static int n_copies;

/* What a run is to be, and what it was. */
typedef struct wish {
    const czr_cuda_program *program;
    bool is_captured, is_opened_alone;
    size_t memory_bytes;
    outcome *out;
    int64_t launches;
    char message[512];
} wish;

/* ---- programs ----------------------------------------------------------- */

static int64_t count_rows(const czr_table *table)
{
    return table->starts[czr_program_extent(rank_program, table->selector)];
}

/* The same units in batches of `most` at most; 1: in none. */
typedef struct smaller {
    czr_cuda_program program;
    czr_cuda_batches of[MAX_TABLES];
    czr_cuda_batch list[MAX_TABLES][MAX_ROWS];
    int32_t of_row[MAX_TABLES][MAX_ROWS];
} smaller;

static int count_units_behind(const czr_cuda_batches *from, int64_t row,
                              int32_t batch, int64_t n_rows)
{
    int n = 0;

    for (; row < n_rows; row++)
        n += from->of_row[row] == batch;
    return n / from->list[batch - 1].n_rows;
}

/* Units `most` by `most`; `filled` are those of the batch at hand. */
static void cut_batch(const czr_cuda_batches *from, int32_t batch, int most,
                      int64_t n_rows, int *n, czr_cuda_batch *list,
                      int32_t *of_row)
{
    const czr_cuda_batch *whole = &from->list[batch - 1];
    int filled = 0, wanted = 0;

    for (int64_t row = whole->first; row < n_rows;) {
        if (from->of_row[row] != batch) {
            row++;
            continue;
        }
        const int left = count_units_behind(from, row, batch, n_rows);
        if (filled == wanted) {
            filled = 0;
            wanted = left < most ? left : most;
            list[*n] = *whole;
            list[*n].first = row;
            list[*n].n_calls = wanted;
            *n += wanted > 1;
        }
        for (int i = 0; i < whole->n_rows; i++)
            of_row[row++] = wanted > 1 ? *n : 0;
        filled++;
    }
}

static void make_smaller(smaller *s, int most)
{
    *s = (smaller){.program = compiled};
    for (int t = 0; t < rank_program->n_tables; t++) {
        const czr_cuda_batches *from = &compiled.batches[t];
        const int64_t n_rows = count_rows(&rank_program->tables[t]);
        int n = 0;
        if (!from->list)
            continue;
        for (int64_t row = 0; row < n_rows; row++)
            if (from->of_row[row] &&
                from->list[from->of_row[row] - 1].first == row)
                cut_batch(from, from->of_row[row], most, n_rows, &n, s->list[t],
                          s->of_row[t]);
        s->of[t] = (czr_cuda_batches){s->list[t], s->of_row[t]};
    }
    s->program.batches = s->of;
}

static bool is_whole(const czr_kernel_entry *row)
{
    return rank_program->stages[row->stage].is_full_matrix;
}

/* What row i begins: a matrix, or a batch of units, of which the rows of one
 * matrix or of none. */
static int count_whole(const czr_kernel_entry *rows, const czr_cuda_batches *of,
                       int64_t i)
{
    if (!of || !of->list || !of->of_row[i])
        return is_whole(&rows[i]);
    const czr_cuda_batch *batch = &of->list[of->of_row[i] - 1];
    int n = 0;

    for (int k = 0; batch->first == i && k < batch->n_rows; k++)
        n += is_whole(&rows[i + k]);
    return n;
}

/* Matrices that are in no batch, and batches of some, of a step of all ranks;
 * batches of element-wise rows have no products. */
static int64_t count_matrices(const czr_cuda_program *program)
{
    int64_t n = 0;

    for (int op = 0; op < rank_program->n_ops; op++)
        for (int rank = 0; rank_program->ops[op].kind == CZR_KERNEL &&
                           rank < czr_program_ranks(rank_program);
             rank++) {
            const int t = rank_program->ops[op].table;
            const czr_range range = czr_program_rows(rank_program, t, rank);
            const czr_kernel_entry *rows = rank_program->tables[t].rows;
            const czr_cuda_batches *of =
                program->batches ? &program->batches[t] : NULL;
            for (int64_t i = range.first; i < range.first + range.n; i++)
                n += count_whole(rows, of, i);
        }
    return n;
}

/* Launches of our products in a step of all ranks. */
static int64_t count_launches(const czr_cuda_program *program)
{
    return count_matrices(program) * (library_products ? SYMMETRIC : PRODUCTS);
}

/* The library has matrices of batches one by one. */
static int64_t count_library(void)
{
    return count_matrices(&(czr_cuda_program){.program = rank_program}) *
           (PRODUCTS - SYMMETRIC);
}

/* False: there is no double of the library, or a table too many. */
static bool use_library(void)
{
    static czr_cuda_tiling tilings[MAX_TILINGS];
    void *const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!library ||
        !(library_products = dlsym(library, "double_cublaslt_narrow")))
        return false;
    compiled.tilings = tilings;
    compiled.n_tilings = 0;
    for (int i = 0; i < batches_cuda.n_tilings; i++)
        for (int n = 1; n <= MOST_BATCH && batches_cuda.tilings[i].batch == 1;
             n++) {
            if (compiled.n_tilings == MAX_TILINGS)
                return false;
            czr_cuda_tiling *added = &tilings[compiled.n_tilings++];
            *added = batches_cuda.tilings[i];
            added->batch = n;
            added->is_library = true;
        }
    return true;
}

/* ---- one run ------------------------------------------------------------ */

static czr_status run_steps(run *r, czr_loopback *loopback, wish *w)
{
    const int n_ranks = czr_program_ranks(rank_program);
    czr_status status = CZR_OK;

    for (int step = 0; step < STEPS && status == CZR_OK; step++) {
        double values[RANK_MAX_HYPERS];
        czr_result results[RANK_MAX] = {{0}};
        const czr_hyper hyper = rank_hyper(r, step, values);
        for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
            status =
                rank_give(r, czr_loopback_engine(loopback, rank), rank, step);
        if (status == CZR_OK)
            status =
                czr_loopback_step(loopback, &hyper, rank_stream(r), results);
        for (int rank = 0; rank < n_ranks && w->out; rank++)
            rank_note_step(r, czr_loopback_engine(loopback, rank),
                           &w->out->of[rank], status, &results[rank]);
    }
    for (int rank = 0; rank < n_ranks && status == CZR_OK && w->out; rank++)
        rank_note(r, czr_loopback_engine(loopback, rank), rank,
                  &w->out->of[rank]);
    return status;
}

static czr_status run_ranks(czr_context *context, czr_nvrtc *nvrtc, wish *w)
{
    const int n_ranks = czr_program_ranks(rank_program);
    const czr_loopback_options options = {
        .context = context, .nvrtc = nvrtc, .is_captured = w->is_captured};
    run r = {.is_device = true, .is_placed = true, .context = context};
    czr_loopback *loopback;

    czr_status status = czr_loopback_open(&options, w->program, &loopback);
    for (int rank = 0;
         rank < n_ranks && status == CZR_OK && !w->is_opened_alone; rank++)
        status = rank_open(&r, czr_loopback_engine(loopback, rank), rank);
    if (status == CZR_OK && !w->is_opened_alone)
        status = run_steps(&r, loopback, w);
    if (loopback && status != CZR_OK)
        snprintf(w->message, sizeof w->message, "%s",
                 czr_loopback_error(loopback));
    czr_loopback_close(loopback);
    for (int rank = 0; rank < n_ranks; rank++)
        rank_close(&r, rank);
    return status == CZR_OK ? context->status : status;
}

/* Results of the library lie in scratch, so that none are copied; and the plan
 * itself has no copies. */
static void note_copy(void **arguments)
{
    (void)arguments;
    n_copies++;
}

/* In front of kernels that have the name, too. */
static void refuse_copies(void)
{
    static const int bytes[] = {8, 8, 8, 8};

    n_copies = 0;
    fake_register_sized("copy_bytes", note_copy, 4, bytes);
}

/* The double has just been reset. */
static czr_status run_on_double(wish *w)
{
    test_bench bench;
    czr_nvrtc *nvrtc = NULL;

    w->message[0] = 0;
    fake_set_memory(w->memory_bytes ? w->memory_bytes : (size_t)1 << 32);
    fake_share_addresses();
    if (library_products)
        refuse_copies();
    batches_kernels();
    collect_kernels();
    plain_bodies_register();
    bodies_register();
    if (czr_nvrtc_open(NVRTC_PATH, &nvrtc, w->message) != CZR_NVRTC_OK) {
        printf("%s\n", w->message);
        exit(1);
    }
    czr_status status = bench_open(&bench);
    if (status == CZR_OK)
        status = run_ranks(bench.context, nvrtc, w);
    w->launches = bodies_launches();
    if (status != CZR_OK && !w->message[0])
        snprintf(w->message, sizeof w->message, "%s",
                 bench.context && bench.context->error[0] ? bench.context->error
                                                          : bench.message);
    bench_close(&bench);
    czr_nvrtc_close(nvrtc);
    return status;
}

/* ---- what is said ------------------------------------------------------- */

/* Calls of the library: of each step, or of those that are put to be captured.
 */
static bool is_by_library(const wish *w, int order)
{
    const int64_t wanted =
        count_library() * (w->is_captured ? CAPTURED : STEPS);

    if (!library_products || (*library_products == wanted && !n_copies))
        return true;
    printf("order %d: %d products by cuBLASLt, not %lld, %d copies\n", order,
           *library_products, (long long)wanted, n_copies);
    return false;
}

static bool run_rightly(const czr_cuda_program *program, int order,
                        outcome *out)
{
    wish w = {.program = program, .is_captured = order % 2 == 1, .out = out};

    fake_reset((uint64_t)order + rank_seed, order % 3 * 40);
    if (library_products)
        *library_products = 0;
    if (run_on_double(&w) != CZR_OK || bench_leftovers()) {
        printf("order %d: %s, %lld left\n", order, w.message,
               (long long)bench_leftovers());
        exit(1);
    }
    const int64_t wanted = count_launches(program) * STEPS;
    if (!is_by_library(&w, order))
        return false;
    if (w.launches != wanted)
        printf("order %d: %lld launches of products, not %lld\n", order,
               (long long)w.launches, (long long)wanted);
    return w.launches == wanted;
}

/* The plan's scratch that was used, which batches have less of: of counters at
 * the end of a rank's trace the first (loopback_rank.c). */
static int64_t take_peak(trace *t)
{
    const size_t n_counters =
        2 * (size_t)(1 + rank_program->n_params + rank_program->n_ops);
    unsigned char *at = t->bytes + t->n - n_counters * sizeof(int64_t);
    int64_t peak;

    memcpy(&peak, at, sizeof peak);
    memset(at, 0, sizeof peak);
    return peak;
}

/* What batches of 1 leave has no peak any more behind the first time. */
static bool is_same(outcome *alone, outcome *b)
{
    for (int rank = 0; rank < czr_program_ranks(rank_program); rank++) {
        trace *x = &alone->of[rank], *y = &b->of[rank];
        const int64_t most = take_peak(x), peak = take_peak(y);
        if (x->n != y->n || (most && peak > most) || peak < 0 ||
            memcmp(x->bytes, y->bytes, x->n) != 0)
            return false;
    }
    return true;
}

/* Batches of 1, of at most 2 and 3, and the compiler's. */
static int compare_orders(int n_orders)
{
    static smaller made[3];
    int n_wrong = 0;

    for (int i = 0; i < 3; i++)
        make_smaller(&made[i], i + 1);
    for (int order = 1; order <= n_orders; order++) {
        outcome alone = {{{0}}};
        n_wrong += !run_rightly(&made[0].program, order, &alone);
        for (int i = 1; i <= 3; i++) {
            outcome out = {{{0}}};
            const czr_cuda_program *program =
                i < 3 ? &made[i].program : &compiled;
            const bool is_counted = run_rightly(program, order, &out);
            const bool is_right = is_counted && is_same(&alone, &out);
            if (!is_right)
                printf("order %d, batches of %d%s: other bits or launches\n",
                       order, i + 1, i < 3 ? "" : " and more");
            n_wrong += !is_right;
            rank_drop(&out);
        }
        rank_drop(&alone);
    }
    return n_wrong;
}

static int fail_calls(int n_failures)
{
    wish w = {.program = &compiled, .is_opened_alone = true};
    int n_unclean = 0;

    fake_reset(3, 30);
    run_on_double(&w);
    const int64_t n_calls = fake_calls();
    for (int i = 0; i < n_failures; i++) {
        fake_reset(3, 30);
        fake_fail(NULL, 1 + n_calls * i / n_failures, 2);
        const czr_status status = run_on_double(&w);
        const bool is_clean = status != CZR_OK && w.message[0] &&
                              !bench_leftovers() && fake_has_failed();
        if (!is_clean)
            printf("call %lld of %lld: %s, %lld left, \"%s\"\n",
                   (long long)(1 + n_calls * i / n_failures),
                   (long long)n_calls, czr_status_name(status),
                   (long long)bench_leftovers(), w.message);
        n_unclean += !is_clean;
    }
    return n_unclean;
}

/* As much memory as a program needs to be opened, to the kilobyte. */
static size_t least_memory(const czr_cuda_program *program)
{
    size_t least = 0, enough = (size_t)1 << 26;

    while (enough - least > 1024) {
        const size_t bytes = least + (enough - least) / 2;
        wish w = {
            .program = program, .is_opened_alone = true, .memory_bytes = bytes};
        fake_reset(5, 30);
        if (run_on_double(&w) == CZR_OK)
            enough = bytes;
        else
            least = bytes;
    }
    return enough;
}

/* With memory for all but what batches have for themselves. */
static int refuse_batches(void)
{
    static smaller alone;

    make_smaller(&alone, 1);
    wish w = {.program = &batches_cuda,
              .is_opened_alone = true,
              .memory_bytes = least_memory(&alone.program)};
    fake_reset(5, 30);
    const czr_status status = run_on_double(&w);
    const bool is_clean =
        status == CZR_ERR_NO_MEMORY && w.message[0] && !bench_leftovers();
    if (!is_clean)
        printf("%zu bytes of memory: %s, \"%s\"\n", w.memory_bytes,
               czr_status_name(status), w.message);
    return !is_clean;
}

int main(int argc, char **argv)
{
    const int by = argc > 1 && !strcmp(argv[1], "library");
    const int n_orders = argc > by + 1 ? atoi(argv[by + 1]) : 3;
    const int n_failures = argc > by + 2 ? atoi(argv[by + 2]) : 20;

    compiled = batches_cuda;
    if (by && !use_library())
        return 2;
    rank_program = batches_cuda.program;
    if (!batches_cuda.batches || rank_program->n_tables > MAX_TABLES)
        return 2;
    for (int t = 0; t < rank_program->n_tables; t++)
        if (count_rows(&rank_program->tables[t]) > MAX_ROWS)
            return 2;
    const int n_wrong = compare_orders(n_orders);
    printf(
        "seed %llu: %d orders of %d steps, %lld launches of products in a "
        "step for %lld: %d differ\n",
        (unsigned long long)rank_seed, n_orders, STEPS,
        (long long)count_launches(&compiled),
        (long long)count_launches(&(czr_cuda_program){.program = rank_program}),
        n_wrong);
    const int n_unclean = fail_calls(n_failures) + refuse_batches();
    printf("%d calls of the driver failed: %d not cleanly\n", n_failures,
           n_unclean);
    return n_wrong || n_unclean;
}
