/* Opening, sealing and closing an engine, and its failures. */
#include "runtime/engine/engine.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/program/check.h"
#include "runtime/base/memory.h"

/* ---- failures ----------------------------------------------------------- */

static void write_error(czr_engine *engine, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void write_error(czr_engine *engine, const char *format, va_list args)
{
    const int n = snprintf(engine->error, sizeof engine->error,
                           "rank %d: ", engine->rank);

    vsnprintf(engine->error + n, sizeof engine->error - (size_t)n, format,
              args);
}

czr_status czr_engine_refuse(czr_engine *engine, czr_status status,
                             const char *format, ...)
{
    va_list args;

    if (engine->status != CZR_OK)
        return engine->status;
    va_start(args, format);
    write_error(engine, format, args);
    va_end(args);
    return status;
}

/* Whether it is the first failure that stays. */
static bool stop(czr_engine *engine, czr_status status, const char *format,
                 va_list args) __attribute__((format(printf, 3, 0)));

static bool stop(czr_engine *engine, czr_status status, const char *format,
                 va_list args)
{
    if (engine->status != CZR_OK)
        return false;
    write_error(engine, format, args);
    engine->status = status;
    return true;
}

czr_status czr_engine_poison(czr_engine *engine, czr_status status,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (stop(engine, status, format, args)) {
        const czr_recorder *recorder = &engine->world->recorder;
        char name[32];
        engine->world->ops->abort(engine->world, engine->error);
        snprintf(name, sizeof name, "canzona-rank%d", engine->rank);
        if (!engine->world->ops->writes_trace)
            czr_recorder_write(name, &recorder, engine->rank, 1, engine->error);
    }
    va_end(args);
    return engine->status;
}

czr_status czr_engine_stop(czr_engine *engine, czr_status status,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    stop(engine, status, format, args);
    va_end(args);
    return engine->status;
}

const char *czr_error(const czr_engine *engine)
{
    return engine ? engine->error : "";
}

void czr_engine_lock(czr_engine *engine)
{
    pthread_mutex_lock(engine->lock_at);
}

void czr_engine_unlock(czr_engine *engine)
{
    pthread_mutex_unlock(engine->lock_at);
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_step_memory(czr_engine *engine)
{
    const czr_program *program = engine->program;
    const size_t n_ops = (size_t)program->n_ops;
    const size_t n_params = (size_t)program->n_params;
    const size_t n_scalars = (size_t)program->n_scalars;
    const size_t n_ranks = (size_t)engine->world->size;

    engine->comms = czr_alloc(n_ops, sizeof(czr_comm *));
    engine->works = czr_alloc(n_ops, sizeof *engine->works);
    engine->bindings = czr_alloc(n_params, sizeof *engine->bindings);
    engine->n_awaited =
        czr_alloc((size_t)program->n_buckets, sizeof *engine->n_awaited);
    engine->hypers = czr_alloc((size_t)program->n_hypers, sizeof(double));
    engine->scalars = czr_alloc(n_scalars, sizeof(float));
    engine->call_scalars =
        czr_alloc(n_scalars + CZR_NAME_SCALARS, sizeof(float));
    engine->names = czr_alloc(n_params, sizeof *engine->names);
    engine->call_in = czr_alloc(CZR_MAX_SLOTS, sizeof(void *));
    engine->call_out = czr_alloc(CZR_MAX_SLOTS, sizeof(void *));
    engine->updates = czr_alloc(n_params, sizeof(int64_t));
    engine->full_matrix = czr_alloc(n_params, sizeof(int64_t));
    engine->sent = czr_alloc(n_ops, sizeof(int64_t));
    engine->received = czr_alloc(n_ops, sizeof(int64_t));
    engine->faults = czr_alloc(n_ranks, sizeof *engine->faults);
    int64_t *words =
        czr_alloc(CZR_NORM_WORDS + n_ranks + CZR_ENGINE_COUNTS, sizeof *words);
    engine->norm = (czr_norm *)(void *)words;
    engine->rank_words = words ? words + CZR_NORM_WORDS : NULL;
    engine->counts = words ? engine->rank_words + n_ranks : NULL;
    if (engine->bindings && engine->n_awaited)
        czr_step_await(engine);
    return engine->comms && engine->works && engine->bindings &&
                   engine->n_awaited && engine->hypers && engine->scalars &&
                   engine->call_scalars && engine->names && engine->call_in &&
                   engine->call_out && engine->updates && engine->full_matrix &&
                   engine->sent && engine->received && engine->faults &&
                   engine->norm
               ? CZR_OK
               : CZR_ERR_NO_MEMORY;
}

static czr_status open_host(const void *user, czr_engine *engine,
                            const czr_options *options)
{
    const czr_program *program = engine->program;
    const bool is_strict = program->strict || options->fixed_order_product;
    const czr_status status =
        options->late_device
            ? czr_device_late_open(program, czr_op_run, engine, &engine->device)
            : czr_device_host_open(program, czr_op_run, engine,
                                   &engine->device);

    (void)user;
    engine->bodies = czr_op_host_bodies;
    engine->largest_at = &engine->largest;
    if (status == CZR_OK && czr_written_open(engine) != CZR_OK)
        return CZR_ERR_NO_MEMORY;
    const int n_threads = options->threads > 0
                              ? options->threads
                              : czr_threads_per_rank(engine->world->size);

    return status != CZR_OK
               ? status
               : czr_host_math_open(&engine->math, is_strict, n_threads);
}

/* FNV-1a of the name that a parameter has here: its first 24 bits, and 24
 * behind these, exact in f32. */
static void name_params(czr_engine *engine)
{
    char name[512];

    for (int param = 0; param < engine->program->n_params; param++) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        czr_program_name(engine->program, param, engine->rank, name,
                         sizeof name);
        for (const char *c = name; *c; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        engine->names[param][0] = (float)(hash >> 40);
        engine->names[param][1] = (float)(hash >> 16 & 0xffffff);
    }
}

static czr_status open_replicas(czr_engine *engine)
{
    czr_device *device = engine->device;

    engine->hash = device->ops->alloc(device, 1, sizeof *engine->hash);
    engine->copies =
        czr_alloc((size_t)engine->world->size, sizeof *engine->copies);
    return engine->hash && engine->copies ? CZR_OK : CZR_ERR_NO_MEMORY;
}

/* All that this rank can find out and take alone. */
static czr_status prepare(czr_engine *engine, const czr_options *options,
                          const czr_device_source *source)
{
    char why[CZR_ERROR_BYTES] = "";
    czr_status status = czr_check_program(engine->program, engine->world->size,
                                          engine->rank, why, sizeof why);

    if (status != CZR_OK)
        return czr_engine_refuse(engine, status, "%s", why);
    if (options->assume_finite && engine->program->skip)
        return czr_engine_refuse(
            engine, CZR_ERR_ARGUMENT,
            "assume_finite, where the plan has to see what "
            "is not, for it says `skip nonfinite`");
    status = engine->has_lock ? open_step_memory(engine) : CZR_ERR_NO_MEMORY;
    if (status == CZR_OK)
        status = source->open(source->user, engine, options);
    if (status == CZR_OK)
        status = czr_spaces_open(engine);
    engine->undoes = options->undo != 0;
    engine->assumes_finite = options->assume_finite != 0;
    engine->replica_check =
        options->replica_check > 0 ? options->replica_check : 0;
    engine->replica = -1;
    if (status == CZR_OK && engine->replica_check)
        status = open_replicas(engine);
    if (status == CZR_OK && engine->undoes)
        status = czr_undo_open(engine);
    if (status != CZR_OK)
        return czr_engine_refuse(engine, status, "%s",
                                 status == CZR_ERR_NO_MEMORY
                                     ? "no memory for the plan"
                                     : czr_status_text(status));
    name_params(engine);
    for (int op = 0; op < engine->program->n_ops; op++)
        engine->works[op] = czr_op_record_work(engine, op);
    return CZR_OK;
}

czr_status czr_engine_join(czr_engine *engine)
{
    const czr_program *program = engine->program;
    czr_status status = czr_world_set_mesh(engine->world, program);

    for (int op = 0; op < program->n_ops && status == CZR_OK; op++)
        if (czr_op_is_communication(&program->ops[op]))
            status = czr_world_join_axes(
                engine->world, CZR_CHANNEL_PLAN, program, program->ops[op].comm,
                program->ops[op].block_size, program->ops[op].stride,
                &engine->comms[op]);
    if (status == CZR_OK)
        czr_loose_prepare(engine);
    if (status == CZR_OK && engine->world->ops->prepare)
        status =
            engine->world->ops->prepare(engine->world, program, engine->comms);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(engine, status, "no communicators: %s",
                                   czr_status_text(status));
}

czr_status czr_engine_open(const czr_program *program, czr_world *world,
                           const czr_options *options,
                           const czr_device_source *source, czr_engine **out)
{
    world->deadline_ms = options->deadline_ms > 0 ? options->deadline_ms
                                                  : CZR_DEFAULT_DEADLINE_MS;
    czr_engine *engine = *out = czr_alloc(1, sizeof *engine);
    if (!engine) {
        world->ops->abort(world, czr_status_text(CZR_ERR_NO_MEMORY));
        return CZR_ERR_NO_MEMORY;
    }
    engine->program = program;
    engine->world = world;
    engine->rank = world->rank;
    engine->number = ++world->n_engines;
    engine->clip = 1;
    engine->lock_at = &engine->lock;
    engine->has_lock = pthread_mutex_init(&engine->lock, NULL) == 0;
    return prepare(engine, options, source);
}

czr_status czr_open(const czr_program *program, czr_world *world,
                    const czr_options *options, czr_engine **out)
{
    static const czr_options defaults = {.late_device = 0};
    static const czr_device_source host = {.open = open_host};

    if (!program || !world || !out)
        return CZR_ERR_ARGUMENT;
    options = options ? options : &defaults;
    czr_status status = czr_engine_open(program, world, options, &host, out);
    if (!*out)
        return status;
    status = czr_handshake(*out, status);
    if (status != CZR_OK)
        return (*out)->status = status;
    return czr_engine_join(*out);
}

/* ---- sealing and closing ------------------------------------------------ */

static czr_status check_all_bound(czr_engine *engine)
{
    char name[128];

    for (int param = 0; param < engine->program->n_params; param++) {
        if (engine->bindings[param].is_bound ||
            !czr_program_has_param(engine->program, param, engine->rank))
            continue;
        czr_program_name(engine->program, param, engine->rank, name,
                         sizeof name);
        return czr_engine_refuse(engine, CZR_ERR_UNBOUND, "%s is not bound",
                                 name);
    }
    return CZR_OK;
}

static czr_status check_overlap(czr_engine *engine)
{
    char name[128], other_name[128];
    int param, other;
    czr_status status = CZR_OK;

    if (!czr_loose_find_overlap(engine, &param, &other, &status))
        return status == CZR_OK
                   ? CZR_OK
                   : czr_engine_refuse(engine, status, "no memory to seal");
    czr_program_name(engine->program, param, engine->rank, name, sizeof name);
    if (other < 0)
        return czr_engine_refuse(engine, CZR_ERR_OVERLAP,
                                 "%s shares memory with the engine", name);
    czr_program_name(engine->program, other, engine->rank, other_name,
                     sizeof other_name);
    return czr_engine_refuse(engine, CZR_ERR_OVERLAP, "%s and %s share memory",
                             name, other_name);
}

/* Of parameters that steps use where they lie. */
static void prefer_large_pages(const czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++) {
        const czr_place *place = &engine->program->places[param];
        const size_t element =
            czr_dtype_bytes(engine->program->buckets[place->bucket].dtype);
        if (engine->bindings[param].param.used)
            czr_prefer_large_pages(engine->bindings[param].param.used,
                                   (size_t)engine->held[param].range.n *
                                       element);
    }
}

czr_status czr_seal(czr_engine *engine)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (engine->status != CZR_OK)
        return engine->status;
    if (engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "sealed already");
    czr_status status = check_all_bound(engine);
    if (status == CZR_OK)
        status = check_overlap(engine);
    if (status != CZR_OK)
        return status;
    prefer_large_pages(engine);
    engine->is_sealed = true;
    return CZR_OK;
}

void czr_close(czr_engine *engine)
{
    if (!engine)
        return;
    czr_spaces_close(engine);
    czr_phase_close(engine);
    czr_host_math_close(&engine->math);
    if (engine->hash)
        engine->device->ops->release(engine->device, engine->hash);
    if (engine->device)
        engine->device->ops->close(engine->device);
    czr_free(engine->comms);
    czr_free(engine->works);
    czr_free(engine->bindings);
    czr_free(engine->n_awaited);
    czr_free(engine->hypers);
    czr_free(engine->scalars);
    czr_free(engine->call_scalars);
    czr_free(engine->names);
    czr_free(engine->call_in);
    czr_free(engine->call_out);
    czr_free(engine->updates);
    czr_free(engine->full_matrix);
    czr_free(engine->sent);
    czr_free(engine->received);
    czr_free(engine->faults);
    czr_free(engine->norm);
    czr_free(engine->copies);
    czr_free(engine->param_hashes);
    if (engine->has_lock)
        pthread_mutex_destroy(&engine->lock);
    czr_free(engine);
}
