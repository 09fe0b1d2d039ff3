/* Before the first step all ranks compare what they are about to run: equal
 * sizes of unequal plans would otherwise give wrong numbers in silence. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/engine/engine.h"

#include "runtime/base/memory.h"

enum { RUNTIME_VERSION = 1, HASH_BYTES = 64 };

typedef struct descriptor {
    char hash[HASH_BYTES];
    uint32_t abi, runtime;
    int32_t world_size, status, undoes;
    int64_t replica_check;
} descriptor;

static bool is_same_plan(const descriptor *a, const descriptor *b)
{
    return memcmp(a->hash, b->hash, HASH_BYTES) == 0 && a->abi == b->abi &&
           a->runtime == b->runtime && a->world_size == b->world_size;
}

static czr_status compare(czr_engine *engine, const descriptor *descriptors,
                          int n)
{
    const descriptor *mine = &descriptors[engine->rank];

    for (int rank = 1; rank < n; rank++)
        if (!is_same_plan(&descriptors[0], &descriptors[rank]))
            return czr_engine_refuse(
                engine, CZR_ERR_MISMATCH,
                "ranks 0 and %d run different plans (%.8s, %.8s)", rank,
                descriptors[0].hash, descriptors[rank].hash);
    if (mine->status != CZR_OK)
        return (czr_status)mine->status;
    for (int rank = 1; rank < n; rank++)
        if (descriptors[0].status == CZR_OK &&
            descriptors[rank].status == CZR_OK &&
            (descriptors[rank].undoes != descriptors[0].undoes ||
             descriptors[rank].replica_check != descriptors[0].replica_check))
            return czr_engine_refuse(
                engine, CZR_ERR_MISMATCH,
                "ranks 0 and %d are not asked alike to %s", rank,
                descriptors[rank].undoes != descriptors[0].undoes
                    ? "undo steps"
                    : "compare copies of parameters");
    for (int rank = 0; rank < n; rank++)
        if (descriptors[rank].status != CZR_OK)
            return czr_engine_refuse(
                engine, CZR_ERR_ABORTED, "rank %d cannot open: %s", rank,
                czr_status_text((czr_status)descriptors[rank].status));
    return CZR_OK;
}

czr_status czr_handshake_sum(czr_engine *engine, int64_t *words, size_t n)
{
    char why[CZR_WHY_BYTES];
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .op = -1,
        .of.all_reduce = {.data = words, .count = n, .type = CZR_SUM_I64}};

    const czr_status status = czr_comm_run(
        engine->world->everyone[CZR_CHANNEL_PLAN], &collective, why);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(engine, status,
                                   "agreeing with other ranks: %s", why);
}

czr_status czr_handshake(czr_engine *engine, czr_status own)
{
    czr_world *world = engine->world;
    const char *hash = engine->program->plan_hash;
    char why[CZR_WHY_BYTES];
    descriptor mine = {.abi = engine->program->abi,
                       .runtime = RUNTIME_VERSION,
                       .world_size = world->size,
                       .status = (int32_t)own,
                       .undoes = engine->undoes,
                       .replica_check = engine->replica_check};
    descriptor *descriptors =
        czr_alloc((size_t)world->size, sizeof *descriptors);

    if (!descriptors)
        return czr_engine_poison(engine, CZR_ERR_NO_MEMORY,
                                 "no memory to compare plans");
    if (hash)
        memcpy(mine.hash, hash, strnlen(hash, HASH_BYTES));
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_GATHER,
        .op = -1,
        .of.all_gather = {&mine, sizeof mine, (size_t)world->rank * sizeof mine,
                          (unsigned char *)descriptors}};
    czr_status status =
        czr_comm_run(world->everyone[CZR_CHANNEL_PLAN], &collective, why);
    if (status != CZR_OK)
        czr_engine_refuse(engine, status, "comparing plans: %s", why);
    else
        status = compare(engine, descriptors, world->size);
    czr_free(descriptors);
    return status;
}
