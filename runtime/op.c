/* One operation of the plan on this rank: by kind, once its turn has come. */
#include "runtime/engine.h"

static czr_status (*const kinds[])(czr_engine *, int) = {
    [CZR_REDUCE_SCATTER] = czr_op_reduce_scatter,
    [CZR_ALL_GATHER] = czr_op_all_gather,
    [CZR_ALL_REDUCE] = czr_op_all_reduce,
    [CZR_TRANSFER] = czr_op_transfer,
    [CZR_GROUP_SUM] = czr_op_group_sum,
    [CZR_KERNEL] = czr_op_kernel,
    [CZR_SQUARE_SUM] = czr_op_square_sum,
    [CZR_DECIDE] = czr_op_decide,
    [CZR_PROLOGUE] = czr_op_prologue,
};

bool czr_op_is_skipped(const czr_engine *engine, int op)
{
    const czr_op *row = &engine->program->ops[op];

    if (row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER)
        return !czr_program_is_home(engine->program, row->bucket, engine->rank);
    return row->table >= 0 &&
           czr_program_rows(engine->program, row->table, engine->rank).n == 0;
}

czr_status czr_op_run(void *user, int op)
{
    czr_engine *engine = user;
    const czr_op *row = &engine->program->ops[op];

    if (engine->is_skipped && row->section == CZR_SECTION_UPDATE)
        return CZR_OK;
    return kinds[row->kind](engine, op);
}

czr_status czr_op_communicate(czr_engine *engine, int op, czr_unit *unit)
{
    char why[CZR_WHY_BYTES];

    unit->op = op;
    const czr_status status = czr_comm_run(engine->comms[op], unit, why);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(
                     engine, status, "operation %d, %s: %s", op,
                     czr_op_kind_name(engine->program->ops[op].kind), why);
}
