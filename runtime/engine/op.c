/* One operation of the plan on this rank: by kind, once its turn has come. */
#include "runtime/engine/engine.h"

#include <stdio.h>
#include <string.h>

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

/* The parameter of its first entry; -1: none. */
static int first_param(const czr_engine *engine, int op, const czr_table *table,
                       int first)
{
    switch (table->kind) {
    case CZR_ENTRY_KERNEL:
        return ((const czr_kernel_entry *)table->rows)[first].param;
    case CZR_ENTRY_TRANSFER:
        return engine->boxes[op].v[0].param;
    case CZR_ENTRY_SUM:
        return ((const czr_sum_entry *)table->rows)[first].param;
    case CZR_ENTRY_SPAN:
        return ((const czr_span_entry *)table->rows)[first].param;
    case CZR_ENTRY_EXCHANGE:
        break;
    }
    return -1;
}

static void count_kernels(const czr_engine *engine, const czr_table *table,
                          czr_range range, czr_record_work *work)
{
    const czr_kernel_entry *entries = (const czr_kernel_entry *)table->rows;

    work->flops = 0;
    for (int64_t i = range.first; i < range.first + range.n; i++) {
        const czr_stage *stage = &engine->program->stages[entries[i].stage];
        work->flops += stage->flops + stage->element_flops * entries[i].count;
    }
}

czr_record_work czr_op_record_work(const czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const czr_op *row = &program->ops[op];
    czr_record_work work = {.matrices = -1, .flops = -1};
    char name[CZR_LABEL_BYTES / 2] = "";

    if (row->bucket >= 0)
        snprintf(name, sizeof name, "bucket %d", row->bucket);
    if (row->table >= 0 && !czr_op_is_skipped(engine, op)) {
        const czr_table *table = &program->tables[row->table];
        const czr_range range =
            czr_program_rows(program, row->table, engine->rank);
        const int param = first_param(engine, op, table, (int)range.first);
        const bool is_kernel = table->kind == CZR_ENTRY_KERNEL;
        if (row->bucket < 0 && param >= 0)
            czr_program_name(program, param, engine->rank, name, sizeof name);
        if (is_kernel) {
            const czr_kernel_entry *entries =
                (const czr_kernel_entry *)table->rows;
            count_kernels(engine, table, range, &work);
            if (row->bucket < 0)
                work.matrices = range.n;
            snprintf(work.label, sizeof work.label, "%.60s, ",
                     program->stages[entries[range.first].stage].name);
        }
    }
    const size_t n = strlen(work.label);
    snprintf(work.label + n, sizeof work.label - n, "%s", name);
    return work;
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
                               engine->steps + 1, &engine->works[op]);
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
