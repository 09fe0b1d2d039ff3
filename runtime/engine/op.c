/* One operation of the plan on this rank: by kind, once its turn has come. */
#include "runtime/engine/engine.h"

const czr_op_body czr_op_host_bodies[CZR_N_OP_KINDS] = {
#define ABI_OP(tag, name, ...) [CZR_##tag] = czr_op_##name,
#include "runtime/abi.def"
};

bool czr_op_is_skipped(const czr_engine *engine, int op)
{
    const czr_op *row = &engine->program->ops[op];

    if (row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER)
        return !czr_program_is_resident(engine->program, row->bucket,
                                        engine->rank);
    if (row->kind == CZR_KEEP)
        return !engine->undoes;
    return row->table >= 0 &&
           czr_program_rows(engine->program, row->table, engine->rank).n == 0;
}

czr_status czr_op_run(void *user, int op)
{
    czr_engine *engine = user;

    if (engine->is_skipped &&
        engine->program->ops[op].section == CZR_SECTION_UPDATE)
        return CZR_OK;
    return czr_op_carry_out(engine, op);
}

czr_status czr_op_run_segment(czr_engine *engine, int op, czr_segment *segment)
{
    segment->is_last = segment->has_collective = false;
    const czr_status status =
        engine->bodies[engine->program->ops[op].kind](engine, op, segment);
    segment->collective.op = op;
    segment->collective.stream = engine->stream;
    segment->number++;
    return status;
}

static czr_status communicate(czr_engine *engine, int op,
                              const czr_collective *collective)
{
    char why[CZR_WHY_BYTES];
    const czr_status status = czr_comm_run(engine->comms[op], collective, why);

    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(
                     engine, status, "operation %d, %s: %s", op,
                     czr_op_kind_name(engine->program->ops[op].kind), why);
}

czr_status czr_op_carry_out(czr_engine *engine, int op)
{
    czr_segment segment = {.is_last = false};
    czr_status status = CZR_OK;

    while (status == CZR_OK && !segment.is_last) {
        status = czr_op_run_segment(engine, op, &segment);
        if (status == CZR_OK && segment.has_collective)
            status = communicate(engine, op, &segment.collective);
    }
    return status;
}
