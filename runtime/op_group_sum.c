/* Values of shared matrices, added up or gathered by the ranks that share
 * them. */
#include "runtime/engine.h"

/* Bytes that a member sends, and receives: of sums the other members' shares of
 * its elements, then its own share to each of them. */
static int64_t moved_bytes(const czr_comm *comm, const czr_sum_row *row)
{
    const int64_t members = comm->size;
    const int64_t own =
        row->count / members + (comm->position < row->count % members);

    const int64_t others = row->is_gather ? 0 : row->count - own;

    return (others + own * (members - 1)) *
           (int64_t)czr_dtype_bytes(row->dtype);
}

static czr_unit sum_of(const czr_engine *engine, const czr_sum_row *row)
{
    return (czr_unit){.kind = CZR_UNIT_ALL_REDUCE,
                      .of.all_reduce = {.data = engine->scratch + row->offset,
                                        .count = (size_t)row->count,
                                        .type = row->dtype == CZR_F64
                                                    ? CZR_SUM_F64
                                                    : CZR_SUM_F32}};
}

/* Every member has its part where all want it. */
static czr_unit gather_of(const czr_engine *engine, const czr_comm *comm,
                          const czr_sum_row *row)
{
    const size_t bytes =
        (size_t)row->count / (size_t)comm->size * czr_dtype_bytes(row->dtype);
    const size_t at = (size_t)comm->position * bytes;
    unsigned char *const all = engine->scratch + row->offset;

    return (czr_unit){
        .kind = CZR_UNIT_ALL_GATHER,
        .of.all_gather = {
            .send = all + at, .bytes = bytes, .at = at, .receive = all}};
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
        czr_unit unit = row->is_gather
                            ? gather_of(engine, engine->comms[op], row)
                            : sum_of(engine, row);
        engine->sent[op] += bytes;
        engine->received[op] += bytes;
        status = czr_op_communicate(engine, op, &unit);
    }
    return status;
}
