/* A compiled plan on the queue, rank by rank: each operation touches what it
 * touches in that plan (footprint.h), and in every order that the double draws
 * the bits are those of list order.  Then, on the first and on the last rank,
 * each wait of the plan is dropped: what others do not order, too, must be
 * noticed.
 *
 * plan_queue PLAN.so PROGRAM [ORDERS] */
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/plan/footprint.h"

#include "runtime/cuda/exec/queue.h"
#include "runtime/engine/engine.h"

#include <dlfcn.h>
#include <string.h>

/* touch(op, cells). */
#define TOUCH_CODE "FAKE sm_90\ntouch 0 8 8\n"

/* In which a dropped wait has to be noticed. */
enum { DROP_ORDERS = 400 };

static const czr_program *program;
static int rank, n_orders = 6;

static void touch(void **arguments)
{
    const size_t bytes = footprint_size(program, rank) * sizeof(uint64_t);
    footprint f = {.program = program,
                   .rank = rank,
                   .cells = fake_at(*(uint64_t *)arguments[1], bytes)};

    if (f.cells)
        footprint_run(&f, (int)*(int64_t *)arguments[0]);
}

static bool is_skipped(int op)
{
    const czr_engine engine = {.program = program, .rank = rank};

    return czr_op_is_skipped(&engine, op);
}

static void run_in_list_order(uint64_t *cells)
{
    footprint f = {.program = program, .rank = rank, .cells = cells};

    for (int op = 0; op < program->n_ops; op++)
        if (!is_skipped(op))
            footprint_run(&f, op);
}

/* One step's list, and what the host did for it. */
static czr_status put_list(czr_context *context, czr_queue *queue, void *kernel,
                           czr_address cells)
{
    static const czr_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    czr_status status = CZR_OK;
    void *stream;

    for (int op = 0; op < program->n_ops && status == CZR_OK; op++) {
        int64_t number = op;
        void *arguments[] = {&number, &cells};
        if (is_skipped(op))
            continue;
        status = czr_queue_begin(queue, op, &stream);
        if (status == CZR_OK)
            status =
                czr_module_launch(context, kernel, &once, arguments, stream);
        if (status == CZR_OK)
            status = czr_queue_end(queue, op);
    }
    return status;
}

static czr_status run_on_queue(czr_context *context, const czr_program *given,
                               uint64_t *cells, czr_queue_counters *counters)
{
    const size_t bytes = footprint_size(program, rank) * sizeof *cells;
    const czr_address host = czr_address_of(cells);
    czr_address place = 0;
    czr_module module;
    czr_queue *queue = NULL;
    void *kernel;

    czr_status status = czr_module_open(context, TOUCH_CODE, "touch", &module);
    if (status == CZR_OK)
        status = czr_module_find(&module, "touch", 0, &kernel);
    if (status == CZR_OK)
        status = czr_context_alloc(context, bytes, &place);
    if (status == CZR_OK)
        status = czr_queue_open(context, given, NULL, &queue);
    if (status == CZR_OK) {
        void *first = czr_queue_stream(queue, 0);
        czr_context_copy(context, place, host, bytes, first);
        czr_queue_fork(queue, first);
        status = put_list(context, queue, kernel, place);
        if (status == CZR_OK)
            status = czr_queue_finish(queue, 0);
        *counters = czr_queue_count(queue);
        czr_context_copy(context, host, place, bytes, first);
    }
    czr_queue_close(queue);
    czr_context_free(context, place);
    czr_module_close(&module);
    return status == CZR_OK ? context->status : status;
}

static void fill(uint64_t *cells)
{
    for (size_t i = 0; i < footprint_size(program, rank); i++)
        cells[i] = i * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Whether one drawn order makes the bits of list order. */
static bool runs_alike(const czr_program *given, const uint64_t *expected,
                       uint64_t *cells, uint64_t order,
                       czr_queue_counters *counters)
{
    const size_t bytes = footprint_size(program, rank) * sizeof *cells;
    test_bench bench;

    fill(cells);
    fake_reset(order, (int)(order % 3) * 40);
    fake_set_memory((size_t)1 << 32);
    fake_register("touch", touch);
    if (bench_open(&bench) != CZR_OK ||
        run_on_queue(bench.context, given, cells, counters) != CZR_OK) {
        printf("rank %d: %s\n", rank,
               bench.context ? bench.context->error : bench.message);
        exit(1);
    }
    bench_close(&bench);
    if (bench_leftovers()) {
        printf("rank %d: not all was given back\n", rank);
        exit(1);
    }
    return !memcmp(cells, expected, bytes);
}

/* Whether `first` comes before `last` by streams and waits of what comes. */
static bool is_before(const czr_op *ops, int first, int last)
{
    for (int op = last - 1; op >= first; op--) {
        bool is_direct = ops[op].stream == ops[last].stream;
        for (int i = 0; i < ops[last].n_waits; i++)
            is_direct |= ops[last].waits[i] == op;
        if (is_direct && !is_skipped(op) &&
            (op == first || is_before(ops, first, op)))
            return true;
    }
    return false;
}

/* Whether the bits change in some order; else whether other waits say the same.
 */
typedef enum outcome { NOTICED, IMPLIED, NOT_NOTICED } outcome;

/* The program without wait `i` of `op`. */
static outcome drop_wait(int op, int i, const uint64_t *expected,
                         uint64_t *cells)
{
    czr_op *ops = calloc((size_t)program->n_ops, sizeof *ops);
    int32_t *waits = calloc((size_t)program->ops[op].n_waits, sizeof *waits);
    czr_program changed = *program;
    czr_queue_counters counters;
    outcome what = NOT_NOTICED;

    if (!ops || !waits)
        exit(1);
    memcpy(ops, program->ops, (size_t)program->n_ops * sizeof *ops);
    memcpy(waits, ops[op].waits, (size_t)ops[op].n_waits * sizeof *waits);
    const int first = waits[i];
    waits[i] = waits[--ops[op].n_waits];
    ops[op].waits = waits;
    changed.ops = ops;
    if (is_skipped(first) || is_before(ops, first, op))
        what = IMPLIED;
    for (int order = 1; order <= DROP_ORDERS && what == NOT_NOTICED; order++)
        if (!runs_alike(&changed, expected, cells, (uint64_t)order + 999,
                        &counters))
            what = NOTICED;
    free(waits);
    free(ops);
    return what;
}

typedef struct wait_tally {
    int n_waits[3]; /* that were dropped, by outcome */
    int n_wrong;
    czr_queue_counters counters;
} wait_tally;

static void try_rank(wait_tally *tally, bool drops)
{
    const size_t n = footprint_size(program, rank);
    uint64_t *expected = calloc(n, sizeof *expected);
    uint64_t *cells = calloc(n, sizeof *cells);

    if (!expected || !cells)
        exit(1);
    fill(expected);
    run_in_list_order(expected);
    for (int order = 1; order <= n_orders; order++)
        tally->n_wrong += !runs_alike(program, expected, cells, (uint64_t)order,
                                      &tally->counters);
    for (int op = 0; drops && op < program->n_ops; op++)
        for (int i = 0; i < program->ops[op].n_waits && !is_skipped(op); i++) {
            tally->n_waits[drop_wait(op, i, expected, cells)]++;
        }
    free(cells);
    free(expected);
}

int main(int argc, char **argv)
{
    wait_tally tally = {0};

    void *plan = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    program = plan ? dlsym(plan, argv[2]) : NULL;
    if (!program) {
        printf("plan_queue PLAN.so PROGRAM [ORDERS]: %s\n",
               argc > 2 ? dlerror() : "usage");
        return 2;
    }
    if (argc > 3)
        n_orders = atoi(argv[3]);
    const int n_ranks = czr_program_ranks(program);
    for (rank = 0; rank < n_ranks; rank++)
        try_rank(&tally, rank == 0 || rank == n_ranks - 1);
    printf("%s: %d ranks, %d operations on %d streams, %d orders each: %d "
           "wrong\n",
           program->name, n_ranks, program->n_ops, czr_program_streams(program),
           n_orders, tally.n_wrong);
    printf("last rank: %lld operations, %lld records, %lld waits a step\n",
           (long long)tally.counters.operations,
           (long long)tally.counters.records, (long long)tally.counters.waits);
    printf("waits dropped: %d noticed, %d of what other waits order, %d not "
           "noticed\n",
           tally.n_waits[NOTICED], tally.n_waits[IMPLIED],
           tally.n_waits[NOT_NOTICED]);
    return tally.n_wrong || tally.n_waits[NOT_NOTICED] ||
           !tally.n_waits[NOTICED];
}
