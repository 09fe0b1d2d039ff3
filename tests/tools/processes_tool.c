/* Runs a compiled program for a few steps, ranks as threads and ranks as
 * processes, and compares what all ranks have, byte by byte: parameters,
 * states, masters, norms and counters; and bytes of messages with the counters.
 *
 *     processes_tool PROGRAM.so SYMBOL [late|planted]
 *     mpirun -n N processes_mpi_tool PROGRAM.so SYMBOL [stop]
 *
 * Planted: processes add up gradients in another order, to be found out.  Stop:
 * rank 1 stands still, and the others print what they are told. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/testing.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/world/processes.h"
#ifdef TOOL_MPI
#include "runtime/czr_mpi.h"
#endif

enum { STEPS = 3, MOST_BYTES = 1 << 23 };

/* What a rank has in the end. */
typedef struct outcome {
    czr_status status;
    char said[CZR_WHY_BYTES];
    double norms[STEPS];
    int64_t sent, received, allocations; /* by the engine's counters */
    int64_t moved[2];                    /* by messages, in steps alone */
    int64_t agreed; /* bytes of words that ranks agree on, in a step */
    size_t n;
    unsigned char bytes[MOST_BYTES];
} outcome;

/* A transport that counts bytes. */
typedef struct counted {
    czr_transport inner;
    int64_t sent[CZR_CHANNELS], received[CZR_CHANNELS];
    int until_stop; /* exchanges; 0: never */
} counted;

typedef struct run {
    const czr_program *program;
    int late, planted, stop, ranks;
    outcome *outcomes;
} run;

static double mix(uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    key ^= key >> 33;
    return (double)(key >> 11) / 4503599627370496.0 - 1.0;
}

/* Of an element's place in the whole tensor, so that replicas have the same. */
static void fill(void *data, czr_dtype dtype, const czr_layout_info *layout,
                 uint64_t seed, double scale)
{
    for (int64_t i = 0; i < layout->n; i++) {
        int64_t rest = i, at = 0, stride = 1;
        for (int d = layout->n_dims - 1; d >= 0; d--) {
            at += (layout->start[d] + rest % layout->shape[d]) * stride;
            stride *= layout->global[d];
            rest /= layout->shape[d];
        }
        const float value =
            (float)(scale *
                    mix(seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)at));
        if (dtype == CZR_F32)
            ((float *)data)[i] = value;
        else
            ((czr_bf16 *)data)[i] = czr_f32_to_bf16(value);
    }
}

/* The shard of a parameter here; false: other ranks have it. */
static bool find(czr_engine *engine, int param, char name[512],
                 czr_layout_info *layout)
{
    return czr_param_name(engine, param, name, 512) == CZR_OK &&
           czr_layout(engine, name, layout) == CZR_OK && layout->bucket >= 0;
}

static czr_status begin(czr_engine *engine)
{
    czr_status status = CZR_OK;

    for (int p = 0; p < czr_param_count(engine) && status == CZR_OK; p++) {
        char name[512];
        czr_layout_info layout;
        if (!find(engine, p, name, &layout))
            continue;
        fill(layout.param, layout.param_dtype, &layout, (uint64_t)p + 1, 0.05);
        status = czr_bind(engine, name, NULL, NULL);
    }
    return status == CZR_OK ? czr_seal(engine) : status;
}

/* Gradients of this rank: replicas have others, as their data are others. */
static czr_status give(czr_engine *engine, int step)
{
    czr_status status = CZR_OK;

    for (int p = 0; p < czr_param_count(engine); p++) {
        char name[512];
        czr_layout_info layout;
        if (!find(engine, p, name, &layout))
            continue;
        for (int g = 0; g < layout.n_grads; g++)
            fill((char *)layout.grad +
                     g * layout.grad_stride *
                         (int64_t)czr_dtype_bytes(layout.grad_dtype),
                 layout.grad_dtype, &layout,
                 (uint64_t)(((p * STEPS + step) * 64 + g) * 64 + engine->rank) +
                     1000,
                 0.1);
    }
    for (int i = 0; i < czr_extern_count(engine) && status == CZR_OK; i++) {
        char name[512];
        czr_extern_info info;
        czr_extern_get(engine, i, &info);
        czr_param_name(engine, info.param, name, sizeof name);
        const size_t n = (size_t)(info.rows * info.columns);
        float *values = malloc(n * sizeof *values);
        for (size_t k = 0; k < n; k++)
            values[k] = (float)fabs(mix(k + (uint64_t)step)) + 0.1f;
        status = czr_extern_set(engine, name, info.name, values, n);
        free(values);
    }
    return status;
}

static void put(outcome *o, const void *data, size_t bytes)
{
    if (bytes > MOST_BYTES - o->n) {
        o->status = CZR_ERR_NO_MEMORY;
        return;
    }
    if (bytes)
        memcpy(o->bytes + o->n, data, bytes);
    o->n += bytes;
}

static void collect(czr_engine *engine, outcome *o)
{
    const czr_program *program = engine->program;
    czr_counters counters;

    for (int p = 0; p < czr_param_count(engine); p++) {
        char name[512];
        czr_layout_info layout;
        czr_state master;
        if (!find(engine, p, name, &layout))
            continue;
        put(o, layout.param,
            (size_t)layout.n * czr_dtype_bytes(layout.param_dtype));
        if (czr_master_get(engine, p, &master) == CZR_OK)
            put(o, master.data,
                (size_t)master.n * czr_dtype_bytes(master.dtype));
    }
    for (int i = 0; i < czr_state_count(engine); i++) {
        czr_state state;
        czr_state_get(engine, i, &state);
        put(o, state.data, (size_t)state.n * czr_dtype_bytes(state.dtype));
    }
    czr_counters_get(engine, &counters);
    for (int op = 0; op < program->n_ops; op++) {
        o->sent += counters.bytes_sent[op];
        o->received += counters.bytes_received[op];
    }
    o->allocations = counters.step_allocations;
    put(o, counters.updates,
        (size_t)program->n_params * sizeof *counters.updates);
    put(o, counters.bytes_sent,
        (size_t)program->n_ops * sizeof *counters.bytes_sent);
}

/* Words of a step, which no counter has: those of the guard or the norm. */
static int64_t agreed_bytes(const czr_engine *engine)
{
    const czr_program *program = engine->program;
    int64_t words = 0;

    for (int op = 0; op < program->n_ops; op++)
        if (program->ops[op].kind == CZR_GUARD)
            words += engine->world->size + CZR_ENGINE_COUNTS;
        else if (program->ops[op].kind == CZR_ALL_REDUCE)
            words += engine->world->size + CZR_NORM_WORDS;
    return words * (int64_t)sizeof words * (engine->world->size - 1);
}

static czr_status count_and_exchange(void *user, int channel, int n,
                                     const czr_message *messages,
                                     int64_t deadline_ms, char *why)
{
    counted *self = user;

    for (int i = 0; i < n; i++) {
        self->sent[channel] += (int64_t)messages[i].send_bytes;
        self->received[channel] += (int64_t)messages[i].receive_bytes;
    }
    if (self->until_stop && --self->until_stop == 0)
        raise(SIGSTOP);
    return self->inner.exchange(self->inner.user, channel, n, messages,
                                deadline_ms, why);
}

static void abort_counted(void *user, const char *why)
{
    const counted *self = user;

    self->inner.abort(self->inner.user, why);
}

static void close_counted(void *user)
{
    const counted *self = user;

    self->inner.close(self->inner.user);
}

static czr_status train(const run *r, czr_world *world, const counted *self)
{
    static double values[256];
    const czr_options options = {.fixed_order_product = 1,
                                 .threads = 1,
                                 .late_device = r->late,
                                 .deadline_ms = r->stop ? 1500 : 60000};
    const czr_hyper hyper = {values, (size_t)r->program->n_hypers};
    outcome *o = &r->outcomes[czr_world_rank(world)];
    czr_engine *engine = NULL;
    int64_t before[2] = {0, 0};

    for (int i = 0; i < 256; i++)
        values[i] =
            i < r->program->n_hypers && !r->program->hypers[i].has_default
                ? 0.01
                : NAN;
    o->status = czr_open(r->program, world, &options, &engine);
    if (o->status == CZR_OK)
        o->status = begin(engine);
    if (self) {
        before[0] = self->sent[CZR_CHANNEL_PLAN];
        before[1] = self->received[CZR_CHANNEL_PLAN];
    }
    for (int step = 0; step < STEPS && o->status == CZR_OK; step++) {
        czr_result result;
        o->status = give(engine, step);
        if (o->status == CZR_OK)
            o->status = czr_step(engine, &hyper, NULL, &result);
        o->norms[step] = result.grad_norm;
    }
    if (self) {
        o->moved[0] = self->sent[CZR_CHANNEL_PLAN] - before[0];
        o->moved[1] = self->received[CZR_CHANNEL_PLAN] - before[1];
    }
    if (o->status == CZR_OK) {
        o->agreed = agreed_bytes(engine);
        collect(engine, o);
    }
    snprintf(o->said, sizeof o->said, "%.255s",
             engine ? czr_error(engine) : "");
    czr_close(engine);
    return o->status;
}

static czr_status thread_body(czr_world *world, void *user)
{
    return train(user, world, NULL);
}

/* On a world over the transport. */
static int train_over(const run *r, const czr_transport *inner)
{
    counted self = {.inner = *inner,
                    .until_stop = r->stop && inner->rank == 1 ? 9 : 0};
    czr_transport transport = *inner;
    czr_world *world;

    alarm(100);
    transport.user = &self;
    transport.exchange = count_and_exchange;
    transport.abort = abort_counted;
    transport.close = close_counted;
    if (czr_world_open(&transport, &world) != CZR_OK)
        return 1;
    czr_testing_rank_order_reduction(world, r->planted);
    const czr_status status = train(r, world, &self);
    if (r->stop)
        printf("%s: %s\n", czr_status_name(status),
               r->outcomes[inner->rank].said);
    czr_world_close(world);
    return status != CZR_OK;
}

static int process_body(process *self, void *user)
{
    const czr_transport transport = process_transport(self);

    return train_over(user, &transport);
}

static int complain(const outcome *o, int rank, const char *what)
{
    printf("rank %d: %s: %s\n", rank, what, o->said);
    return 1;
}

static int compare(const outcome *threads, const outcome *found, int rank)
{
    const int64_t words = STEPS * found->agreed;

    if (threads->status != CZR_OK)
        return complain(threads, rank, "threads failed");
    if (found->status != CZR_OK)
        return complain(found, rank, "processes failed");
    if (threads->n != found->n ||
        memcmp(threads->bytes, found->bytes, found->n) != 0 ||
        memcmp(threads->norms, found->norms, sizeof found->norms) != 0)
        return complain(found, rank, "other bytes than of threads");
    if (found->allocations)
        return complain(found, rank, "memory was taken in a step");
    if (found->moved[0] != found->sent + words ||
        found->moved[1] != found->received + words) {
        printf("%lld and %lld bytes of messages, %lld and %lld of counters, "
               "%lld of words\n",
               (long long)found->moved[0], (long long)found->moved[1],
               (long long)found->sent, (long long)found->received,
               (long long)words);
        return complain(found, rank, "messages are not the plan's");
    }
    return 0;
}

/* Which units a program has, one bit each. */
static unsigned find_kinds(const czr_program *program)
{
    unsigned kinds = 0;

    for (int op = 0; op < program->n_ops; op++) {
        const czr_op *row = &program->ops[op];
        const bool has_table = row->table >= 0;
        const int64_t n =
            has_table ? czr_program_all_rows(program, row->table) : 0;
        if (row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER)
            kinds |= (row->kind == CZR_REDUCE_SCATTER ? 1u : 2u) |
                     (has_table && n > 0 ? 4u : 0);
        if (row->kind == CZR_TRANSFER)
            kinds |= 8;
        if (row->kind == CZR_ALL_REDUCE || row->kind == CZR_GUARD)
            kinds |= row->kind == CZR_GUARD ? 16 : 32;
        for (int64_t i = 0; row->kind == CZR_GROUP_SUM && i < n; i++) {
            const czr_sum_entry *sum =
                (const czr_sum_entry *)program->tables[row->table].rows + i;
            kinds |= 64u << (sum->how + (sum->band ? CZR_N_EXCHANGES : 0));
        }
    }
    return kinds;
}

static void print_kinds(unsigned kinds)
{
    static const char *const names[] = {
        "reduce_scatter", "all_gather", "equal_parts", "transfer",
        "guard",          "norm",       "sum",         "gather",
        "scatter",        "band_sum",   "band_gather", "band_scatter"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kinds >> i & 1)
            printf(" %s", names[i]);
    puts("");
}

#ifdef TOOL_MPI
/* Every process compares its own rank. */
static int compare_mpi(run *r, outcome *threads, outcome *found)
{
    czr_transport transport;

    if (czr_mpi_start(&transport) != CZR_OK || transport.ranks != r->ranks) {
        printf("MPI has not %d processes\n", r->ranks);
        return 1;
    }
    const int rank = transport.rank;
    r->outcomes = threads;
    if (!r->stop)
        czr_world_threads_run(r->ranks, thread_body, r);
    r->outcomes = found;
    train_over(r, &transport);
    return compare(&threads[rank], &found[rank], rank);
}
#endif

int main(int argc, char **argv)
{
    int how[PROCESSES_MOST], wrong = 0;
    size_t bytes = 0;
    int64_t moved = 0;

    if (argc < 3)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    run r = {.program = library ? dlsym(library, argv[2]) : NULL,
             .late = argc > 3 && strcmp(argv[3], "late") == 0,
             .planted = argc > 3 && strcmp(argv[3], "planted") == 0,
             .stop = argc > 3 && strcmp(argv[3], "stop") == 0};
    if (!r.program) {
        printf("%s\n", dlerror());
        return 2;
    }
    r.ranks = czr_program_ranks(r.program);
    outcome *threads = calloc((size_t)r.ranks, sizeof *threads);
    outcome *found = process_memory((size_t)r.ranks * sizeof *found);
    if (!threads || !found)
        return 2;
#ifdef TOOL_MPI
    return compare_mpi(&r, threads, found);
#endif
    r.outcomes = threads;
    czr_world_threads_run(r.ranks, thread_body, &r);
    r.outcomes = found;
    if (!process_run(r.ranks, process_body, &r, how))
        return 2;
    for (int rank = 0; rank < r.ranks; rank++) {
        wrong += compare(&threads[rank], &found[rank], rank);
        bytes += found[rank].n;
        moved += found[rank].moved[0];
    }
    printf("%s, %d of %d ranks equal, %zu bytes, %lld bytes of messages:",
           argv[2], r.ranks - wrong, r.ranks, bytes, (long long)moved);
    print_kinds(find_kinds(r.program));
    free(threads);
    return wrong != 0 || moved == 0;
}
