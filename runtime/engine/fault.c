/* Rules that fail: what each rank notes, and how all come to say the same.
 * Where steps are undone they agree at the end of each; else a parameter that
 * is not finite is told with the next decision, of the guard or by the norm. */
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

/* Has a rule failed on any rank?  Without undo the next step asks. */
static void ask(czr_engine *engine, czr_segment *segment)
{
    segment->is_last = !engine->undoes || engine->is_skipped;
    if (segment->is_last)
        return;
    engine->counts[0] = engine->fault.status != CZR_OK;
    czr_guard_sum(engine->counts, 1, segment);
}

/* All ranks learn each other's. */
static void tell(czr_engine *engine, czr_segment *segment)
{
    const size_t bytes = sizeof engine->fault;

    segment->is_last = !engine->is_faulty && engine->counts[0] == 0;
    if (segment->is_last)
        return;
    engine->faults[engine->rank] = engine->fault;
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_GATHER,
        .of.all_gather = {.send = &engine->fault,
                          .bytes = bytes,
                          .at = (size_t)engine->rank * bytes,
                          .receive = (unsigned char *)engine->faults}};
}

/* Where a decision before this update has found a failure, nobody asks. */
czr_status czr_op_undo(czr_engine *engine, int op, czr_segment *segment)
{
    enum { ASK, TELL, SETTLE };

    (void)op;
    switch (segment->number + engine->is_faulty) {
    case ASK:
        ask(engine, segment);
        return CZR_OK;
    case TELL:
        tell(engine, segment);
        return CZR_OK;
    default:
        segment->is_last = true;
        /* What all ranks say alike, of the first that failed. */
        char name[128];
        /* The lowest rank that has one; some rank has. */
        int rank = 0;

        while (rank < engine->world->size - 1 &&
               engine->faults[rank].status == CZR_OK)
            rank++;
        const czr_fault *fault = &engine->faults[rank];
        const czr_status why = (czr_status)fault->status;

        czr_program_name(engine->program, fault->param, rank, name,
                         sizeof name);
        if (engine->undoes)
            return undo(engine, why, name, rank);
        return czr_engine_stop(engine, why,
                               "%s, on rank %d, in update %lld: %s", name, rank,
                               (long long)fault->update, czr_status_text(why));
    }
}
