/* One operation of the plan on this rank: by kind, once its turn has come. */
#include "runtime/engine/engine.h"

#include <stdio.h>

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
    if (row->kind == CZR_TRANSFER)
        return engine->boxes[op].n == 0;
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

void czr_op_print_label(const czr_engine *engine, int op,
                        char label[CZR_LABEL_BYTES])
{
    const czr_program *program = engine->program;
    const czr_op *row = &program->ops[op];
    char name[CZR_LABEL_BYTES] = "";

    if (row->bucket >= 0)
        snprintf(label, CZR_LABEL_BYTES, "bucket %d", row->bucket);
    if (row->bucket >= 0 || row->table < 0 || czr_op_is_skipped(engine, op))
        return;
    const czr_table *table = &program->tables[row->table];
    const czr_range range = czr_program_rows(program, row->table, engine->rank);
    const czr_kernel_entry *kernel = (const czr_kernel_entry *)table->rows;
    const bool is_kernel = table->kind == CZR_ENTRY_KERNEL;
    const int param =
        is_kernel                           ? kernel[range.first].param
        : table->kind == CZR_ENTRY_TRANSFER ? engine->boxes[op].v[0].param
        : table->kind == CZR_ENTRY_SUM
            ? ((const czr_sum_entry *)table->rows)[range.first].param
            : ((const czr_span_entry *)table->rows)[range.first].param;
    if (param >= 0)
        czr_program_name(program, param, engine->rank, name, sizeof name);
    snprintf(label, CZR_LABEL_BYTES, is_kernel ? "%.*s, %s" : "%.*s%s",
             is_kernel ? 16 : 0,
             is_kernel ? program->stages[kernel[range.first].stage].name : "",
             name);
}

static int64_t bytes_of(const czr_engine *engine, int op)
{
    return engine->sent[op] + engine->received[op];
}

void czr_op_end(czr_engine *engine, int op, const czr_segment *segment)
{
    czr_recorder_end(&engine->world->recorder, segment->record,
                     bytes_of(engine, op) - segment->bytes_before);
}

czr_status czr_op_run_segment(czr_engine *engine, int op, czr_segment *segment)
{
    if (segment->number == 0) {
        const char *name = czr_op_kind_name(engine->program->ops[op].kind);
        segment->bytes_before = bytes_of(engine, op);
        segment->record =
            czr_recorder_begin(&engine->world->recorder, name, op,
                               engine->steps + 1, engine->labels[op]);
    }
    segment->is_last = segment->has_collective = false;
    const czr_status status =
        engine->bodies[engine->program->ops[op].kind](engine, op, segment);
    segment->collective.op = op;
    segment->collective.program = engine->program;
    segment->collective.stream = engine->stream;
    segment->number++;
    if (status == CZR_OK && segment->is_last && !segment->has_collective)
        czr_op_end(engine, op, segment);
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
        if (status == CZR_OK && segment.is_last && segment.has_collective)
            czr_op_end(engine, op, &segment);
    }
    return status;
}
