/* Values of shared matrices, added up, gathered or scattered by the ranks that
 * share them. */
#include "runtime/engine/engine.h"

static czr_band band_of(const czr_sum_entry *row)
{
    return (czr_band){(size_t)row->side, (size_t)row->band};
}

/* Ranks with two of the members' parts would have sent their sum as bf16. */
static czr_sum type_of(const czr_sum_entry *row)
{
    static const czr_sum types[CZR_N_DTYPES] = {[CZR_F64] = CZR_SUM_F64,
                                                [CZR_F32] = CZR_SUM_F32,
                                                [CZR_BF16] = CZR_SUM_BF16_EACH};

    return types[row->dtype];
}

static czr_collective sum_of(const czr_engine *engine, const czr_sum_entry *row)
{
    return (czr_collective){
        .kind = row->how == CZR_EXCHANGE_SUM ? CZR_COLLECTIVE_ALL_REDUCE
                                             : CZR_COLLECTIVE_SUM_SCATTER,
        .of.all_reduce = {.data = engine->scratch + row->offset,
                          .count = (size_t)row->count,
                          .type = type_of(row),
                          .band = band_of(row)}};
}

/* Every member has its part where all want it. */
static czr_collective gather_of(const czr_engine *engine, const czr_comm *comm,
                                const czr_sum_entry *row)
{
    const size_t bytes =
        (size_t)row->count / (size_t)comm->size * czr_dtype_bytes(row->dtype);
    const size_t at = (size_t)comm->position * bytes;
    unsigned char *const all = engine->scratch + row->offset;

    return (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_GATHER,
        .of.all_gather = {
            .send = all + at, .bytes = bytes, .at = at, .receive = all}};
}

static czr_collective band_gather_of(const czr_engine *engine,
                                     const czr_sum_entry *row)
{
    return (czr_collective){
        .kind = CZR_COLLECTIVE_BAND_GATHER,
        .of.band_gather = {.data = engine->scratch + row->offset,
                           .element_bytes = czr_dtype_bytes(row->dtype),
                           .band = band_of(row)}};
}

static czr_collective unit_of(const czr_engine *engine, const czr_comm *comm,
                              const czr_sum_entry *row)
{
    if (row->how != CZR_EXCHANGE_GATHER)
        return sum_of(engine, row);
    return row->band > 0 ? band_gather_of(engine, row)
                         : gather_of(engine, comm, row);
}

/* Behind a row's unit. */
static void mirror(czr_engine *engine, const czr_sum_entry *row)
{
    const czr_band band = band_of(row);

    if (row->how == CZR_EXCHANGE_GATHER && row->band > 0)
        engine->device->ops->mirror(engine->device, &band,
                                    engine->scratch + row->offset,
                                    czr_dtype_bytes(row->dtype));
}

/* Row after row. */
czr_status czr_op_group_sum(czr_engine *engine, int op, czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_sum_entry *rows =
        (const czr_sum_entry *)program->tables[table].rows + range.first;

    if (segment->number > 0)
        mirror(engine, &rows[segment->number - 1]);
    segment->is_last = segment->number == range.n;
    if (!segment->is_last) {
        const czr_sum_entry *row = &rows[segment->number];
        /* Bytes that a member sends, and receives.  Of sums for all: the other
         * members' shares of its elements, then its own share to each of them.
         * What is gathered or scattered moves once. */
        const czr_comm *comm = engine->comms[op];
        const int64_t members = comm->size;
        int64_t own =
            row->count / members + (comm->position < row->count % members);
        const int64_t others =
            row->how == CZR_EXCHANGE_SUM ? row->count - own : 0;

        if (row->band > 0)
            own = own / row->band * (row->band / 2 + 1);
        const int64_t bytes = (others + own * (members - 1)) *
                              (int64_t)czr_dtype_bytes(row->dtype);

        segment->has_collective = true;
        segment->collective = unit_of(engine, engine->comms[op], row);
        engine->sent[op] += bytes;
        engine->received[op] += bytes;
    }
    return CZR_OK;
}
