/* Stages over a table of parameters: finds each slot and launches. */
#include "runtime/engine/engine.h"
#include "runtime/base/memory.h"
#include "runtime/base/testing.h"

/* Where one row's slots of the kinds that lie in scratch start. */
static int64_t scratch_start(const czr_kernel_entry *row, unsigned kind)
{
    switch (kind) {
    case CZR_SLOT_GATHER:
        return row->gather;
    case CZR_SLOT_SCATTER:
        return row->scatter;
    default:
        return row->temp;
    }
}

static unsigned char *find_slot(const czr_engine *engine,
                                const czr_kernel_entry *row, czr_slot slot)
{
    const czr_program *program = engine->program;
    const int bucket = program->places[row->param].bucket;
    const czr_spaces *spaces = &engine->spaces[bucket];
    switch ((czr_slot_kind)slot.kind) {
    case CZR_SLOT_GRAD:
        return (unsigned char *)czr_reduced_at(engine, row->param, row->offset);
    case CZR_SLOT_PARAM:
        if (spaces->master)
            return spaces->master +
                   (size_t)(row->offset - spaces->slice.first) *
                       czr_dtype_bytes(program->master_dtype);
        return czr_param_at(engine, row->param, row->offset);
    case CZR_SLOT_STORED:
        return czr_param_at(engine, row->param, row->offset);
    case CZR_SLOT_STATE:
        return czr_spaces_state(engine, row->param, slot.index, row->offset);
    case CZR_SLOT_GATHER:
    case CZR_SLOT_SCATTER:
    case CZR_SLOT_TEMP:
        break;
    }
    /* Slots of a kind lie one behind the other, each rounded up. */
    const uint8_t *bytes =
        engine->slot_sizes[row->stage].bytes[slot.kind - CZR_SLOT_GATHER];
    size_t at = (size_t)scratch_start(row, slot.kind);

    for (unsigned i = 0; i < slot.index; i++)
        at += czr_round_up((size_t)row->count * bytes[i]);
    return engine->scratch + at;
}

static float scalar_of(const czr_engine *engine, int param, unsigned number)
{
    const czr_binding *binding = &engine->bindings[param];

    return number < CZR_NAME_SCALAR
               ? (binding->n_skips ? binding->scalars : engine->scalars)[number]
               : engine->names[param][number - CZR_NAME_SCALAR];
}

static bool writes_param(const czr_stage *stage)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZR_SLOT_PARAM)
            return true;
    return false;
}

void czr_op_find_slots(const czr_engine *engine, const czr_kernel_entry *row,
                       const void **in, void **out)
{
    const czr_stage *stage = &engine->program->stages[row->stage];

    for (int i = 0; i < stage->n_in; i++)
        in[i] = find_slot(engine, row, stage->in[i]);
    for (int i = 0; i < stage->n_out; i++)
        out[i] = find_slot(engine, row, stage->out[i]);
}

void czr_op_count_row(czr_engine *engine, const czr_kernel_entry *row)
{
    const czr_stage *stage = &engine->program->stages[row->stage];

    if (writes_param(stage))
        engine->updates[row->param] += row->count;
    engine->full_matrix[row->param] += stage->is_full_matrix;
}

/* What a call of a stage points at: room for one. */
typedef struct call_room {
    const void **in;
    void **out;
    float *scalars;
} call_room;

static czr_call fill_call(const czr_engine *engine, const czr_kernel_entry *row,
                          const call_room *room, czr_status *status)
{
    const czr_stage *stage = &engine->program->stages[row->stage];

    czr_op_find_slots(engine, row, room->in, room->out);
    for (int i = 0; i < stage->n_scalars; i++)
        room->scalars[i] = scalar_of(engine, row->param, stage->scalars[i]);
    *status = CZR_OK;
    return (czr_call){.in = room->in,
                      .out = room->out,
                      .scalars = room->scalars,
                      .count = (size_t)row->count,
                      .equal_part = (size_t)row->offset,
                      .work =
                          row->work < 0 ? NULL : engine->scratch + row->work,
                      .math = &engine->math.math,
                      .status = status};
}

/* ---- long runs as two streams ------------------------------------------- */

/* Prefetchers stop at the end of a page.  Of a long run a block of each half is
 * computed in turn, so that one waits for a page while the other goes on. */
static int64_t block_elements = 128;
static int64_t least_stream = 1 << 14; /* elements */

void czr_testing_stream_elements(int64_t block, int64_t least)
{
    block_elements = block;
    least_stream = least;
}

/* Elements of a stream; 0: the run is too short for two.  Of an odd number of
 * blocks, lest lines of both have one place in a cache. */
static int64_t stream_length(int64_t count)
{
    const int64_t blocks = count / 2 / block_elements;

    return blocks < 1 || count / 2 < least_stream
               ? 0
               : ((blocks - 1) / 2 * 2 + 1) * block_elements;
}

/* All slots of the call, by so many elements. */
static void move_call(const czr_stage *stage, const call_room *room,
                      czr_call *call, int64_t elements)
{
    for (int i = 0; i < stage->n_in; i++)
        room->in[i] =
            (const unsigned char *)room->in[i] +
            elements * (int64_t)czr_dtype_bytes((czr_dtype)stage->in[i].dtype);
    for (int i = 0; i < stage->n_out; i++)
        room->out[i] =
            (unsigned char *)room->out[i] +
            elements * (int64_t)czr_dtype_bytes((czr_dtype)stage->out[i].dtype);
    call->equal_part += (size_t)elements;
}

static void launch_streams(const czr_engine *engine,
                           const czr_kernel_entry *row, const call_room *room,
                           czr_call *call, int64_t length)
{
    const czr_stage *stage = &engine->program->stages[row->stage];
    const czr_kernel kernel = czr_phase_body(engine, row->stage, row->param);
    czr_device *device = engine->device;

    call->count = (size_t)block_elements;
    for (int64_t at = 0; at < length; at += block_elements) {
        device->ops->launch(device, kernel, call);
        move_call(stage, room, call, length);
        device->ops->launch(device, kernel, call);
        move_call(stage, room, call, block_elements - length);
    }
    move_call(stage, room, call, length);
    call->count = (size_t)(row->count - 2 * length);
    if (call->count)
        device->ops->launch(device, kernel, call);
}

/* A parameter that has no owner is cut anywhere. */
static bool is_divisible(const czr_engine *engine, const czr_kernel_entry *row)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[row->param];
    const czr_stage *stage = &program->stages[row->stage];

    return place->owner < 0 && place->shard_owner < 0 &&
           !stage->is_full_matrix && row->gather < 0 && row->scatter < 0 &&
           row->temp < 0 && row->work < 0;
}

static czr_status launch(const czr_engine *engine, const czr_kernel_entry *row,
                         const call_room *room)
{
    czr_status status;
    czr_call call = fill_call(engine, row, room, &status);
    const int64_t length =
        is_divisible(engine, row) ? stream_length(row->count) : 0;

    if (length)
        launch_streams(engine, row, room, &call, length);
    else
        engine->device->ops->launch(
            engine->device, czr_phase_body(engine, row->stage, row->param),
            &call);
    return status;
}

static czr_status run_row(czr_engine *engine, const czr_kernel_entry *row)
{
    const call_room room = {engine->call_in, engine->call_out,
                            engine->call_scalars};
    const czr_status status = launch(engine, row, &room);

    czr_op_count_row(engine, row);
    return status;
}

/* Says which parameter; the rest of the step is not run, where it is not
 * undone. */
static czr_status check_row(czr_engine *engine, const czr_kernel_entry *row,
                            czr_status status)
{
    char name[128];

    if (status == CZR_OK || czr_fault_note(engine, status, (int)row->param))
        return CZR_OK;
    czr_program_name(engine->program, (int)row->param, engine->rank, name,
                     sizeof name);
    return czr_engine_poison(engine, status, "%s: %s", name,
                             czr_status_text(status));
}

/* All that this step writes will be undone. */
static bool is_in_vain(const czr_engine *engine)
{
    return engine->undoes && engine->fault.status != CZR_OK;
}

/* Whether its parameter has no gradient in this step. */
static bool is_left_out(const czr_engine *engine, const czr_kernel_entry *row)
{
    return engine->bindings[row->param].is_absent;
}

/* ---- rows that threads share -------------------------------------------- */

enum { SHARED_SCALARS = 64 };

/* Rows of element-wise rules, and how far each thread came without a fault. */
typedef struct shared_rows {
    const czr_engine *engine;
    const czr_kernel_entry *rows;
    int64_t n, n_elements;
    int n_threads;
    struct {
        const czr_kernel_entry *row;
        czr_status status;
    } faults[CZR_MAX_THREADS];
} shared_rows;

static void run_share(void *user, int thread)
{
    shared_rows *own = user;
    const czr_range share =
        czr_thread_range(own->n_elements, own->n_threads, thread);
    const void *in[CZR_MAX_SLOTS];
    void *out[CZR_MAX_SLOTS];
    float scalars[SHARED_SCALARS];
    const call_room room = {in, out, scalars};
    int64_t at = 0; /* of the row, among all */

    for (int64_t i = 0; i < own->n; i++) {
        czr_kernel_entry row = own->rows[i];
        if (is_left_out(own->engine, &row))
            continue;
        const czr_range run = czr_range_overlap(
            (czr_range){row.offset, row.count},
            (czr_range){row.offset + share.first - at, share.n});
        at += row.count;
        row.offset = run.first;
        row.count = run.n;
        const czr_status status =
            run.n > 0 ? launch(own->engine, &row, &room) : CZR_OK;
        if (status != CZR_OK && own->faults[thread].status == CZR_OK) {
            own->faults[thread].row = &own->rows[i];
            own->faults[thread].status = status;
        }
    }
}

/* The first row that failed is noted, as if one came after the other. */
static czr_status run_shared(czr_engine *engine, shared_rows *own)
{
    czr_threads_run(own->n_threads, run_share, own);
    for (int64_t i = 0; i < own->n; i++)
        if (!is_left_out(engine, &own->rows[i]))
            czr_op_count_row(engine, &own->rows[i]);
    for (int thread = 0; thread < own->n_threads; thread++)
        if (own->faults[thread].status != CZR_OK)
            return check_row(engine, own->faults[thread].row,
                             own->faults[thread].status);
    return CZR_OK;
}

/* Whether threads share the rows. */
static bool is_shared(const czr_engine *engine, shared_rows *own)
{
    for (int64_t i = 0; i < own->n; i++) {
        const czr_kernel_entry *row = &own->rows[i];
        if (!is_divisible(engine, row) ||
            engine->program->stages[row->stage].n_scalars > SHARED_SCALARS)
            return false;
        if (!is_left_out(engine, row))
            own->n_elements += row->count;
    }
    own->n_threads = czr_threads_worth(engine, own->n_elements);
    return own->n_threads > 1;
}

czr_status czr_op_kernel(czr_engine *engine, int op, czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_kernel_entry *rows = program->tables[table].rows;

    shared_rows shared = {
        .engine = engine, .rows = rows + range.first, .n = range.n};
    segment->is_last = true;
    if (!is_in_vain(engine) && is_shared(engine, &shared))
        return run_shared(engine, &shared);
    for (int64_t i = 0; i < range.n && !is_in_vain(engine); i++) {
        const czr_kernel_entry *row = &rows[range.first + i];
        if (is_left_out(engine, row))
            continue;
        const czr_status status = check_row(engine, row, run_row(engine, row));
        if (status != CZR_OK)
            return status;
    }
    return CZR_OK;
}
