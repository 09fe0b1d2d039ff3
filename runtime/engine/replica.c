/* Copies of parameters, which ranks have alike: of one parameter after the
 * other, from time to time.  Each rank hashes its copy before a step.  Behind
 * its decision, when all are known to be in the same step, they compare. */
#include "runtime/engine/engine.h"

/* Axes that partition the tensor, or the parameters of that number. */
static uint32_t parted_by(const czr_program *program, int param)
{
    const czr_pattern *pattern = czr_program_pattern(program, param);
    uint32_t axes = pattern->expert_axes;

    for (int d = 0; d < pattern->n_dims; d++)
        axes |= pattern->shard[d];
    return axes;
}

/* The next parameter that several ranks may have a copy of; -1: none. */
static int choose(czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int i = 0; i < program->n_params; i++) {
        const int param = engine->next_replica;
        engine->next_replica = (param + 1) % program->n_params;
        if (czr_program_extent(program, parted_by(program, param)) <
            engine->world->size)
            return param;
    }
    return -1;
}

void czr_replica_hash(czr_engine *engine)
{
    const czr_program *program = engine->program;
    czr_device *device = engine->device;

    engine->replica = -1;
    if (!engine->replica_check ||
        ++engine->since_replica < engine->replica_check)
        return;
    engine->since_replica = 0;
    const int param = engine->replica = choose(engine);
    if (param < 0 || !czr_program_has_param(program, param, engine->rank))
        return;
    const czr_place *place = &program->places[param];
    const czr_dtype dtype = program->buckets[place->bucket].dtype;
    device->ops->hash(
        device, engine->hash, czr_param_at(engine, param, place->offset),
        czr_dtype_bytes(dtype),
        (size_t)czr_program_shard(program, param, engine->rank).n);
}

void czr_replica_put(czr_engine *engine, int64_t *words)
{
    uint64_t hash = 0;

    if (!czr_program_has_param(engine->program, engine->replica, engine->rank))
        return;
    engine->device->ops->copy(engine->device, &hash, engine->hash, sizeof hash);
    words[engine->rank] = hash ? (int64_t)hash : 1; /* 0: no copy */
}

/* The ranks of a group are those at `key` over `axes`, in order of `others`. */
static czr_status compare(czr_engine *engine, const int64_t *words,
                          uint32_t axes, int key)
{
    const czr_program *program = engine->program;
    const uint32_t others = czr_program_all_axes(program) & ~axes;
    const int first = czr_program_rank_at(program, axes, key, 0);
    const int n = czr_program_extent(program, others);
    int64_t *group = engine->copies;
    char name[128];
    int at[2];

    for (int c = 0; c < n; c++)
        group[c] = words[czr_program_rank_at(program, others, c, first)];
    if (!czr_identity_find(group, n, at))
        return CZR_OK;
    const int rank = czr_program_rank_at(program, others, at[0], first);
    czr_program_name(program, engine->replica, rank, name, sizeof name);
    return czr_engine_stop(
        engine, CZR_ERR_MISMATCH,
        "%s: before this step the copy of rank %d was not that of rank %d",
        name, rank, czr_program_rank_at(program, others, at[1], first));
}

czr_status czr_replica_compare(czr_engine *engine, const int64_t *words)
{
    const uint32_t axes = parted_by(engine->program, engine->replica);
    const int n = czr_program_extent(engine->program, axes);
    czr_status status = CZR_OK;

    for (int key = 0; key < n && status == CZR_OK; key++)
        status = compare(engine, words, axes, key);
    return status;
}

czr_status czr_replica_check(czr_engine *engine)
{
    const size_t n = (size_t)engine->world->size;
    int64_t *words = engine->rank_words;

    if (engine->replica < 0)
        return CZR_OK;
    memset(words, 0, n * sizeof *words);
    czr_replica_put(engine, words);
    const czr_status status = czr_handshake_sum(engine, words, n);
    return status == CZR_OK ? czr_replica_compare(engine, words) : status;
}
