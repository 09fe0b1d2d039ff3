/* Opening a rank: its engine's device first, then what the engine's memory
 * lets it know. */
#include "runtime/cuda/exec/rank.h"

#include "runtime/base/memory.h"

enum { ROOM_ALIGN = 256 };

czr_status czr_cuda_rank_check(czr_cuda_rank *rank, czr_status status,
                               const char *what)
{
    if (status == CZR_OK)
        return CZR_OK;
    const char *why = rank->device.context->error;
    return czr_engine_poison(rank->engine, status, "%s: %s", what,
                             *why ? why : czr_status_text(status));
}

czr_status czr_cuda_rank_enter(czr_cuda_rank *rank)
{
    return czr_cuda_rank_check(rank, czr_context_enter(rank->device.context),
                               "the device");
}

/* ---- before the engine has its memory ----------------------------------- */

static void *take(czr_engine *engine, size_t n, size_t bytes)
{
    return engine->device->ops->alloc(engine->device, n, bytes);
}

static czr_status open_streams(czr_cuda_rank *rank)
{
    czr_context *context = rank->device.context;
    czr_status status = czr_context_open_stream(context, &rank->main);

    if (status == CZR_OK)
        status = czr_context_open_stream(context, &rank->poll);
    if (status == CZR_OK)
        status = czr_context_open_event(context, &rank->event);
    if (status == CZR_OK)
        status = czr_context_open_event(context, &rank->decided);
    if (status == CZR_OK)
        status = czr_context_open_event(context, &rank->ended);
    return status;
}

static czr_status open_result(czr_cuda_rank *rank, bool undoes)
{
    const size_t bytes = (1 + (size_t)undoes) * sizeof *rank->result;
    void *pinned;
    const czr_status status =
        czr_context_alloc_pinned(rank->device.context, bytes, &pinned);

    if (status != CZR_OK)
        return status;
    memset(pinned, 0, bytes);
    rank->result = pinned;
    rank->draft = rank->result + undoes;
    return CZR_OK;
}

/* What the engine needs of its device before it takes memory there. */
static czr_status open_device(const void *user, czr_engine *engine,
                              const czr_options *options)
{
    czr_cuda_rank *rank = *(czr_cuda_rank *const *)user;
    const czr_device_cuda_options of_device = {.context = rank->device.context,
                                               .collect = rank->device.collect,
                                               .deadline_ms =
                                                   engine->world->deadline_ms};

    rank->engine = engine;
    engine->cuda = rank;
    engine->bodies = czr_op_cuda_bodies;
    engine->batch_bytes = czr_cuda_batch_bytes(rank->device.stages->program,
                                               czr_world_rank(engine->world));
    czr_status status =
        czr_device_cuda_open(&of_device, engine->program, &engine->device);
    if (status == CZR_OK)
        status = open_streams(rank);
    if (status == CZR_OK)
        status = open_result(rank, options->undo != 0);
    if (status != CZR_OK)
        return status;
    const size_t n_ranks = (size_t)engine->world->size;
    int64_t *words =
        take(engine, 1, n_ranks * sizeof *words + sizeof(czr_collect_decision));
    if (!words)
        return CZR_ERR_NO_MEMORY;
    rank->rank_words =
        (czr_collect_rank_words){.words = words,
                                 .rank = engine->rank,
                                 .n_ranks = (int)n_ranks,
                                 .number = engine->number,
                                 .n_hypers = engine->program->n_hypers};
    rank->decision = (czr_collect_decision *)(void *)(words + n_ranks);
    engine->largest_at = &rank->decision->largest;
    return CZR_OK;
}

_Static_assert(offsetof(czr_collect_decision, norm) == 0 &&
                   sizeof(czr_norm) ==
                       sizeof(((czr_collect_decision *)0)->norm),
               "the words of a norm come first");

/* ---- behind it ---------------------------------------------------------- */

/* Elements of REDUCED of this rank, from element `first` of the bucket on. */
static czr_collect_span span_of(const czr_engine *engine, int param,
                                int64_t first, int64_t n)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_spaces *spaces = &engine->spaces[place->bucket];

    return (czr_collect_span){
        .data = spaces->reduced + (first - spaces->slice.first),
        .n = (uint64_t)n,
        .param = param,
        .limit = czr_guard_limit(&program->states[place->rule])};
}

/* Lists them into spans[], and tells the tables where theirs will lie; with
 * `spans` NULL it only counts. */
typedef struct span_list {
    czr_collect_span *spans;
    size_t n, first; /* of the table that is being made */
} span_list;

static void put_span(span_list *list, const czr_engine *engine, int param,
                     czr_range range)
{
    if (range.n > 0 && list->spans)
        list->spans[list->n] = span_of(engine, param, range.first, range.n);
    list->n += range.n > 0;
}

static void end_table(span_list *list, const czr_cuda_rank *rank,
                      czr_collect_spans *table)
{
    const size_t n = list->n - list->first;

    if (list->spans) {
        table->rows = rank->spans + list->first;
        table->n = (int)n;
        czr_collect_number(list->spans + list->first, n, &table->n_jobs);
    }
    list->first = list->n;
}

static void list_summed(span_list *list, czr_cuda_rank *rank, int op)
{
    const czr_engine *engine = rank->engine;
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_span_entry *rows = program->tables[table].rows;

    for (int64_t i = range.first; i < range.first + range.n; i++)
        put_span(list, engine, rows[i].param,
                 (czr_range){rows[i].offset, rows[i].count});
    end_table(list, rank, &rank->summed[op]);
}

static size_t list_spans(czr_cuda_rank *rank, czr_collect_span *spans)
{
    const czr_engine *engine = rank->engine;
    const czr_program *program = engine->program;
    span_list list = {.spans = spans};

    for (int param = 0; param < program->n_params; param++)
        put_span(&list, engine, param, engine->held[param].range);
    end_table(&list, rank, &rank->guarded);
    for (int op = 0; op < program->n_ops; op++)
        if (program->ops[op].kind == CZR_SQUARE_SUM)
            list_summed(&list, rank, op);
    return list.n;
}

static czr_status open_spans(czr_cuda_rank *rank)
{
    czr_engine *engine = rank->engine;
    const size_t n = list_spans(rank, NULL);

    rank->summed =
        czr_alloc((size_t)engine->program->n_ops, sizeof *rank->summed);
    rank->spans = take(engine, n, sizeof *rank->spans);
    czr_collect_span *spans = czr_alloc(n, sizeof *spans);
    if (rank->summed && rank->spans && spans) {
        list_spans(rank, spans);
        engine->device->ops->copy(engine->device, rank->spans, spans,
                                  n * sizeof *spans);
    }
    czr_free(spans);
    return rank->summed && rank->spans && spans ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static czr_status open_scalars(czr_cuda_rank *rank)
{
    czr_engine *engine = rank->engine;
    const czr_program *program = engine->program;
    const size_t n_scalars = (size_t)program->n_scalars;
    const size_t n_names = (size_t)program->n_params * CZR_NAME_SCALARS;

    rank->hypers = take(engine, (size_t)program->n_hypers, sizeof(double));
    rank->rank_words.hypers = rank->hypers;
    rank->scalars = take(engine, n_scalars + n_names, sizeof(float));
    if (!rank->hypers || !rank->scalars)
        return CZR_ERR_NO_MEMORY;
    engine->device->ops->copy(engine->device, rank->scalars + n_scalars,
                              engine->names, n_names * sizeof(float));
    return CZR_OK;
}

static czr_status open_rooms(czr_cuda_rank *rank)
{
    const size_t n_streams = (size_t)czr_program_streams(rank->engine->program);
    const size_t bytes = czr_cuda_stages_workspace(rank->device.stages);

    rank->workspace_bytes = (bytes + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
    rank->workspaces = take(rank->engine, n_streams, rank->workspace_bytes);
    return rank->workspaces ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static czr_status open_rest(czr_cuda_rank *rank)
{
    czr_engine *engine = rank->engine;
    czr_status status = open_spans(rank);

    for (int op = 0; op < engine->program->n_ops; op++)
        rank->has_decision |= engine->program->ops[op].kind == CZR_DECIDE;
    if (status == CZR_OK)
        status = open_scalars(rank);
    if (status == CZR_OK)
        status = open_rooms(rank);
    if (status == CZR_OK)
        status = czr_cuda_calls_open(rank);
    if (status == CZR_OK)
        status = czr_cuda_faults_open(rank);
    if (status == CZR_OK)
        status = czr_cuda_param_ready_open(rank->device.context, engine,
                                           &rank->param_ready);
    /* Nothing that was asked for in between has failed. */
    if (status == CZR_OK)
        status = czr_device_cuda_use(engine->device, NULL);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_refuse(engine, status, "no memory for the plan");
}

czr_status czr_cuda_rank_open(const czr_cuda_device_common *device,
                              czr_world *world, const czr_options *options,
                              czr_cuda_rank **out)
{
    czr_cuda_rank *rank = *out = czr_alloc(1, sizeof *rank);
    const czr_device_source source = {.open = open_device, .user = out};
    czr_engine *engine;

    if (!rank)
        return CZR_ERR_NO_MEMORY;
    rank->device = *device;
    czr_status status = czr_engine_open(device->stages->program->program, world,
                                        options, &source, &engine);
    rank->engine = engine;
    return status == CZR_OK ? open_rest(rank) : status;
}

/* ---- closing ------------------------------------------------------------ */

/* No stream of the engine's has anything to do any more. */
static void release_all(czr_cuda_rank *rank, czr_device *device)
{
    void *const memory[] = {
        rank->rank_words.words, rank->hypers, rank->scalars,
        rank->workspaces,       rank->spans,  rank->marks.words};

    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        device->ops->release(device, memory[i]);
}

void czr_cuda_rank_drain(czr_cuda_rank *rank)
{
    if (!rank)
        return;
    if (rank->main)
        czr_context_drain(rank->device.context, rank->main);
    if (rank->poll)
        czr_context_drain(rank->device.context, rank->poll);
    if (rank->engine && rank->engine->device)
        czr_queue_drain(czr_device_cuda_queue(rank->engine->device));
}

void czr_cuda_rank_close(czr_cuda_rank *rank)
{
    if (!rank)
        return;
    czr_context *context = rank->device.context;
    czr_cuda_rank_drain(rank);
    czr_context_close_stream(context, rank->main);
    czr_context_close_stream(context, rank->poll);
    czr_context_close_event(context, rank->event);
    czr_context_close_event(context, rank->decided);
    czr_context_close_event(context, rank->ended);
    czr_cuda_param_ready_close(context, &rank->param_ready);
    if (rank->engine && rank->engine->device)
        release_all(rank, rank->engine->device);
    czr_context_free_pinned(context, rank->result);
    czr_close(rank->engine);
    czr_free(rank->summed);
    czr_cuda_calls_close(rank);
    czr_free(rank->first_marks);
    czr_free(rank);
}
