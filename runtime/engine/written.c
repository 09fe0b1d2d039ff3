/* What a debug build notices: a trainer wrote a parameter between steps, and
 * its master does not know.  The next step would undo that without a word. */
#include "runtime/engine/engine.h"

#include <stdlib.h>

#include "runtime/base/memory.h"

static bool is_debug(void)
{
#ifdef CZR_DEBUG
    return true;
#else
    const char *asked = getenv("CZR_DEBUG");

    return asked && strcmp(asked, "1") == 0;
#endif
}

czr_status czr_written_open(czr_engine *engine)
{
    if (!is_debug())
        return CZR_OK;
    engine->param_hashes = czr_alloc((size_t)engine->program->n_params,
                                     sizeof *engine->param_hashes);
    return engine->param_hashes ? CZR_OK : CZR_ERR_NO_MEMORY;
}

/* Of all that this rank has of a parameter, with its master or a part of that;
 * 0: it has none. */
static uint64_t hash_of(const czr_engine *engine, int param)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_bucket *bucket = &program->buckets[place->bucket];
    const size_t element = czr_dtype_bytes(bucket->dtype);

    if (!bucket->has_master || engine->held[param].range.n == 0)
        return 0;
    return czr_hash(czr_param_at(engine, param, place->offset), element,
                    (size_t)czr_program_shard(program, param, engine->rank).n);
}

/* Who has the master may write both. */
static const uint64_t ANY = UINT64_MAX;

void czr_written_allow(czr_engine *engine, int param)
{
    if (engine->param_hashes)
        engine->param_hashes[param] = ANY;
}

void czr_written_note(czr_engine *engine, bool is_step)
{
    for (int p = 0; engine->param_hashes && p < engine->program->n_params; p++)
        if (is_step || engine->param_hashes[p] != ANY)
            engine->param_hashes[p] = hash_of(engine, p);
}

czr_status czr_written_check(czr_engine *engine)
{
    char name[128];

    if (!engine->param_hashes || !engine->has_masters)
        return CZR_OK;
    for (int p = 0; p < engine->program->n_params; p++) {
        if (engine->param_hashes[p] == ANY ||
            hash_of(engine, p) == engine->param_hashes[p])
            continue;
        czr_program_name(engine->program, p, engine->rank, name, sizeof name);
        return czr_engine_poison(
            engine, CZR_ERR_WRITTEN,
            "%s was written since the last step, and has a master, which the "
            "step would take: call czr_masters_renew behind writing",
            name);
    }
    return CZR_OK;
}
