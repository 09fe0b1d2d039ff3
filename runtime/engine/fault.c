/* Rules that fail: what each rank notes, and how all come to say the same.
 * Where steps are undone they agree at the end of each; else a parameter that
 * is not finite is told with the next agreement that they have anyway. */
#include "runtime/engine/engine.h"

bool czr_fault_note(czr_engine *engine, czr_status status, int param)
{
    if (!engine->undoes && status != CZR_ERR_PARAM)
        return false;
    if (engine->fault.status == CZR_OK)
        engine->fault = (czr_fault){.status = (int32_t)status,
                                    .param = param,
                                    .update = engine->steps + 1};
    return true;
}

/* All ranks learn each other's. */
static czr_status tell(czr_engine *engine)
{
    char why[CZR_WHY_BYTES];
    const size_t bytes = sizeof engine->fault;
    const czr_unit unit = {
        .kind = CZR_UNIT_ALL_GATHER,
        .op = -1,
        .of.all_gather = {.send = &engine->fault,
                          .bytes = bytes,
                          .at = (size_t)engine->rank * bytes,
                          .receive = (unsigned char *)engine->faults}};

    engine->faults[engine->rank] = engine->fault;
    const czr_status status =
        czr_comm_run(engine->world->everyone[CZR_CHANNEL_PLAN], &unit, why);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(engine, status,
                                   "comparing how rules failed: %s", why);
}

/* The lowest rank that has one; some rank has. */
static int find_first(const czr_engine *engine)
{
    int rank = 0;

    while (rank < engine->world->size - 1 &&
           engine->faults[rank].status == CZR_OK)
        rank++;
    return rank;
}

/* Whether a rule failed on any rank, in this step where it can be undone. */
static czr_status is_any(czr_engine *engine, bool *any)
{
    int64_t n = engine->fault.status != CZR_OK;

    *any = engine->is_faulty;
    if (!engine->undoes || engine->is_skipped)
        return CZR_OK;
    const czr_status status = czr_guard_sum(engine, &n, 1);
    *any = n > 0;
    return status;
}

static czr_status undo(czr_engine *engine, czr_status why, const char *name,
                       int rank)
{
    const czr_status status = czr_undo_restore(engine);

    engine->fault = (czr_fault){0};
    engine->is_skipped = true;
    engine->refusal =
        czr_engine_refuse(engine, why, "%s, on rank %d: %s; the step is undone",
                          name, rank, czr_status_text(why));
    return status;
}

czr_status czr_fault_settle(czr_engine *engine)
{
    char name[128];
    bool any;
    czr_status status = is_any(engine, &any);

    if (status != CZR_OK || !any)
        return status;
    status = tell(engine);
    if (status != CZR_OK)
        return status;
    const int rank = find_first(engine);
    const czr_fault *fault = &engine->faults[rank];
    const czr_status why = (czr_status)fault->status;
    czr_program_name(engine->program, fault->param, rank, name, sizeof name);
    if (engine->undoes)
        return undo(engine, why, name, rank);
    return czr_engine_stop(engine, why, "%s, on rank %d, in update %lld: %s",
                           name, rank, (long long)fault->update,
                           czr_status_text(why));
}
