/* The memory of a rank: spaces of buckets, and scratch. */
#include "runtime/engine/engine.h"

#include "runtime/base/memory.h"

/* Scratch starts as this, so that what was written can be told, and so that
 * nothing relies on zeros. */
enum { UNTOUCHED = 0xa5 };

static unsigned char *take(czr_engine *engine, int64_t n, int64_t n_grads,
                           czr_dtype dtype)
{
    const size_t bytes = czr_dtype_bytes(dtype);

    if (n < 0 || n_grads < 1 || n > INT64_MAX / n_grads)
        return NULL;
    return engine->device->ops->alloc(engine->device, (size_t)(n * n_grads),
                                      bytes);
}

/* ---- buckets ------------------------------------------------------------ */

/* Room for the rows of a bucket's operations, one after the other. */
static bool open_rows(const czr_engine *engine, int b, czr_spaces *spaces)
{
    const czr_program *program = engine->program;
    int64_t most = 0;

    for (int op = 0; op < program->n_ops; op++) {
        const czr_op *row = &program->ops[op];
        const bool exchanges =
            row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER;
        if (!exchanges || row->bucket != b || row->table < 0)
            continue;
        const int64_t n = czr_program_rows(program, row->table, engine->rank).n;
        most = n > most ? n : most;
    }
    if (most == 0)
        return true;
    spaces->rows = czr_alloc((size_t)most, sizeof *spaces->rows);
    return spaces->rows != NULL;
}

static czr_status open_bucket(czr_engine *engine, int b)
{
    const czr_program *program = engine->program;
    const czr_bucket *bucket = &program->buckets[b];
    czr_spaces *spaces = &engine->spaces[b];

    if (!czr_program_is_resident(program, b, engine->rank))
        return CZR_OK;
    spaces->slice = czr_program_slice(program, b, engine->rank);
    spaces->equal_part = bucket->is_equal
                             ? czr_program_equal_part(program, b, engine->rank)
                             : spaces->slice;
    const int64_t n = spaces->slice.n;
    const int64_t staged = bucket->is_equal ? spaces->equal_part.n : 0;
    spaces->param = take(engine, bucket->length, 1, bucket->dtype);
    spaces->grad =
        take(engine, bucket->length, bucket->n_grads, bucket->grad_dtype);
    spaces->reduced = (float *)(void *)take(engine, n + staged, 1, CZR_F32);
    if (bucket->has_master)
        spaces->master = take(engine, n, 1, program->master_dtype);
    if (!spaces->param || !spaces->grad || !spaces->reduced ||
        (bucket->has_master && !spaces->master))
        return CZR_ERR_NO_MEMORY;
    return open_rows(engine, b, spaces) ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static czr_status open_scratch(czr_engine *engine)
{
    const czr_program *program = engine->program;
    const int at =
        czr_program_coordinate(program, program->arena_selector, engine->rank);

    engine->scratch_bytes = program->arena_bytes ? program->arena_bytes[at] : 0;
    engine->scratch = engine->device->ops->alloc(
        engine->device, (size_t)(engine->scratch_bytes + engine->batch_bytes),
        1);
    if (!engine->scratch)
        return CZR_ERR_NO_MEMORY;
    engine->device->ops->fill_bytes(engine->device, engine->scratch, UNTOUCHED,
                                    (size_t)engine->scratch_bytes);
    return CZR_OK;
}

static void note_slots(czr_slot_sizes *sizes, const czr_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i].kind >= CZR_SLOT_GATHER)
            sizes->bytes[slots[i].kind - CZR_SLOT_GATHER][slots[i].index] =
                (uint8_t)czr_dtype_bytes((czr_dtype)slots[i].dtype);
}

/* The boxes of all transfers, and room for those of any of them that travel
 * where some may stay. */
static czr_status open_boxes(czr_engine *engine)
{
    const czr_program *program = engine->program;
    int64_t most = 0;

    engine->boxes = czr_alloc((size_t)program->n_ops, sizeof *engine->boxes);
    for (int op = 0; engine->boxes && op < program->n_ops; op++)
        if (program->ops[op].kind == CZR_TRANSFER) {
            czr_op_boxes *of = &engine->boxes[op];
            of->n = czr_program_boxes(program, op, engine->rank, NULL);
            of->v = czr_alloc((size_t)of->n, sizeof *of->v);
            if (!of->v)
                return CZR_ERR_NO_MEMORY;
            czr_program_boxes(program, op, engine->rank, of->v);
            most = of->n > most ? of->n : most;
        }
    if (engine->boxes && program->phases && most > 0)
        engine->moving = czr_alloc((size_t)most, sizeof *engine->moving);
    return engine->boxes && (engine->moving || !program->phases || most == 0)
               ? CZR_OK
               : CZR_ERR_NO_MEMORY;
}

static czr_status open_stages(czr_engine *engine)
{
    const czr_program *program = engine->program;

    engine->slot_sizes =
        czr_alloc((size_t)program->n_stages, sizeof *engine->slot_sizes);
    engine->phases =
        czr_alloc((size_t)program->n_params, sizeof *engine->phases);
    if (!engine->slot_sizes || !engine->phases)
        return CZR_ERR_NO_MEMORY;
    for (int s = 0; s < program->n_stages; s++) {
        const czr_stage *stage = &program->stages[s];
        note_slots(&engine->slot_sizes[s], stage->in, stage->n_in);
        note_slots(&engine->slot_sizes[s], stage->out, stage->n_out);
    }
    return CZR_OK;
}

czr_status czr_spaces_open(czr_engine *engine)
{
    const czr_program *program = engine->program;
    czr_status status = CZR_OK;

    engine->spaces =
        czr_alloc((size_t)program->n_buckets, sizeof *engine->spaces);
    if (!engine->spaces)
        return CZR_ERR_NO_MEMORY;
    for (int b = 0; b < program->n_buckets && status == CZR_OK; b++)
        status = open_bucket(engine, b);
    if (status == CZR_OK)
        status = czr_states_open(engine);
    if (status == CZR_OK)
        status = open_scratch(engine);
    if (status == CZR_OK)
        status = open_stages(engine);
    if (status == CZR_OK)
        status = open_boxes(engine);
    return status;
}

static void close_bucket(czr_engine *engine, int b)
{
    czr_device *device = engine->device;
    czr_spaces *spaces = &engine->spaces[b];

    czr_free(spaces->rows);
    device->ops->release(device, spaces->states);
    device->ops->release(device, spaces->param);
    device->ops->release(device, spaces->grad);
    device->ops->release(device, spaces->reduced);
    device->ops->release(device, spaces->master);
    device->ops->release(device, spaces->kept);
}

void czr_spaces_close(czr_engine *engine)
{
    for (int b = 0; engine->spaces && b < engine->program->n_buckets; b++)
        close_bucket(engine, b);
    if (engine->scratch)
        engine->device->ops->release(engine->device, engine->scratch);
    czr_free(engine->spaces);
    czr_free(engine->held);
    czr_free(engine->slot_sizes);
    czr_free(engine->phases);
    for (int op = 0; engine->boxes && op < engine->program->n_ops; op++)
        czr_free(engine->boxes[op].v);
    czr_free(engine->boxes);
    czr_free(engine->moving);
    czr_free(engine->states);
    czr_free(engine->externs);
}

void czr_spaces_take_masters(czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int b = 0; b < program->n_buckets && !engine->has_masters; b++) {
        const czr_spaces *spaces = &engine->spaces[b];
        const czr_dtype dtype = program->buckets[b].dtype;
        const size_t first = (size_t)spaces->slice.first;
        if (spaces->master)
            engine->device->ops->convert(
                engine->device, spaces->master, program->master_dtype,
                spaces->param + first * czr_dtype_bytes(dtype), dtype,
                (size_t)spaces->slice.n);
    }
    for (int p = 0; p < program->n_params && !engine->has_masters; p++) {
        const czr_place *place = &program->places[p];
        const czr_spaces *spaces = &engine->spaces[place->bucket];
        const czr_range held = engine->held[p].range;
        if (spaces->master && engine->bindings[p].param.used && held.n)
            engine->device->ops->convert(
                engine->device,
                spaces->master + (size_t)(held.first - spaces->slice.first) *
                                     czr_dtype_bytes(program->master_dtype),
                program->master_dtype, czr_param_at(engine, p, held.first),
                program->buckets[place->bucket].dtype, (size_t)held.n);
    }
    if (!engine->has_masters)
        czr_written_note(engine, false);
    engine->has_masters = true;
}

void czr_spaces_take_masters_now(czr_engine *engine)
{
    for (int p = 0; p < engine->program->n_params && !engine->has_masters; p++)
        czr_loose_copy_in(engine, p);
    czr_spaces_take_masters(engine);
}

int64_t czr_spaces_peak_scratch(const czr_engine *engine)
{
    unsigned char piece[4096];
    int64_t n = engine->scratch_bytes, first = n;

    for (; n > 0; n--) {
        if (n == first) {
            first = n > (int64_t)sizeof piece ? n - (int64_t)sizeof piece : 0;
            engine->device->ops->copy(engine->device, piece,
                                      engine->scratch + first,
                                      (size_t)(n - first));
        }
        if (piece[n - 1 - first] != UNTOUCHED)
            break;
    }
    return (int64_t)czr_round_up((size_t)n);
}
