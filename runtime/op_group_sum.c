/* Partial sums of shared matrices, added up by the ranks that share them. */
#include "runtime/engine.h"

/* Bytes that a member sends, and receives: the other members' shares of its
 * elements, then its own share to each of them. */
static int64_t moved_bytes(const czr_comm *comm, const czr_sum_row *row)
{
    const int64_t members = comm->size;
    const int64_t own =
        row->count / members + (comm->position < row->count % members);

    return (row->count - own + own * (members - 1)) *
           (int64_t)czr_dtype_bytes(row->dtype);
}

czr_status czr_op_group_sum(czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_sum_row *rows = program->tables[table].rows;
    czr_status status = CZR_OK;

    for (int64_t i = range.first; i < range.first + range.n && status == CZR_OK;
         i++) {
        const czr_sum_row *row = &rows[i];
        const int64_t bytes = moved_bytes(engine->comms[op], row);
        czr_unit unit = {
            .kind = CZR_UNIT_ALL_REDUCE,
            .of.all_reduce = {.data = engine->scratch + row->offset,
                              .count = (size_t)row->count,
                              .type = row->dtype == CZR_F64 ? CZR_SUM_F64
                                                            : CZR_SUM_F32}};
        engine->sent[op] += bytes;
        engine->received[op] += bytes;
        status = czr_op_communicate(engine, op, &unit);
    }
    return status;
}
