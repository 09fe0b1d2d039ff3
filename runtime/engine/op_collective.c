/* Operations on whole buckets: gradients to the owners of slices, parameters
 * from them.  What they do is said in dsl/SCHEDULE.md. */
#include "runtime/engine/engine.h"

/* Elements of a bucket that the other members have. */
static int64_t others_elements(const czr_engine *engine, int op)
{
    const czr_comm *comm = engine->comms[op];
    int64_t n = 0;

    for (int i = 0; i < comm->size; i++)
        if (i != comm->position)
            n += czr_program_share(engine->program, op, comm->ranks[i]).n;
    return n;
}

/* Sums of the part, behind the slice, to where owners have theirs. */
static void send_to_owners(czr_engine *engine, int op, czr_turn *turn)
{
    const int number = engine->program->ops[op].bucket;
    const czr_spaces *spaces = &engine->spaces[number];
    const czr_exchange exchange = {.bucket = number,
                                   .to_owners = true,
                                   .base = (unsigned char *)spaces->reduced,
                                   .element = sizeof(float),
                                   .part_shift =
                                       spaces->slice.n - spaces->part.first,
                                   .slice_shift = -spaces->slice.first};
    czr_op_exchange(engine, op, &exchange, turn);
}

/* Everybody's share of the sums; of an equal bucket, the next turn sends. */
czr_status czr_op_reduce_scatter(czr_engine *engine, int op, czr_turn *turn)
{
    const czr_program *program = engine->program;
    const int number = program->ops[op].bucket;
    const czr_bucket *bucket = &program->buckets[number];
    const czr_spaces *spaces = &engine->spaces[number];
    const bool equal = czr_program_has_parts(program, op);
    const czr_range own = equal ? spaces->part : spaces->slice;
    const int members = engine->comms[op]->size;
    const int64_t element =
        bucket->leaves * (int64_t)czr_dtype_bytes(bucket->grad_dtype);

    turn->is_last = turn->number == equal;
    if (turn->number == 1) {
        send_to_owners(engine, op, turn);
        return CZR_OK;
    }
    turn->has_unit = true;
    turn->unit =
        (czr_unit){.kind = CZR_UNIT_REDUCE_SCATTER,
                   .of.reduce_scatter = {
                       .grad = spaces->grad,
                       .dtype = bucket->grad_dtype,
                       .leaves = bucket->leaves,
                       .microbatch_stride = bucket->length,
                       .first = own.first,
                       .n = own.n,
                       .out = spaces->reduced + (equal ? spaces->slice.n : 0),
                       .scale = (float)(1.0 / (double)bucket->terms),
                       .largest = engine->largest_at}};
    engine->sent[op] += others_elements(engine, op) * element;
    engine->received[op] += own.n * element * (members - 1);
    return CZR_OK;
}

/* Parameters of owners to whoever has the part they lie in. */
static void fetch_from_owners(czr_engine *engine, int op, czr_turn *turn)
{
    const int number = engine->program->ops[op].bucket;
    const czr_bucket *bucket = &engine->program->buckets[number];
    const czr_exchange exchange = {.bucket = number,
                                   .base = engine->spaces[number].param,
                                   .element =
                                       (int64_t)czr_dtype_bytes(bucket->dtype)};
    czr_op_exchange(engine, op, &exchange, turn);
}

czr_status czr_op_all_gather(czr_engine *engine, int op, czr_turn *turn)
{
    const czr_program *program = engine->program;
    const int bucket = program->ops[op].bucket;
    const czr_spaces *spaces = &engine->spaces[bucket];
    const bool equal = czr_program_has_parts(program, op);
    const czr_range own = equal ? spaces->part : spaces->slice;
    const size_t element = czr_dtype_bytes(program->buckets[bucket].dtype);
    const size_t at = (size_t)own.first * element;
    const size_t bytes = (size_t)own.n * element;

    turn->is_last = turn->number == equal;
    if (!turn->is_last) {
        fetch_from_owners(engine, op, turn);
        return CZR_OK;
    }
    turn->has_unit = true;
    turn->unit = (czr_unit){.kind = CZR_UNIT_ALL_GATHER,
                            .of.all_gather = {.send = spaces->param + at,
                                              .bytes = bytes,
                                              .at = at,
                                              .receive = spaces->param}};
    engine->sent[op] += (int64_t)bytes * (engine->comms[op]->size - 1);
    engine->received[op] += others_elements(engine, op) * (int64_t)element;
    return CZR_OK;
}
