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
            n += czr_program_range(engine->program, op, comm->ranks[i]).n;
    return n;
}

/* Sums of the part, behind the slice, to where owners have theirs. */
static void send_to_owners(czr_engine *engine, int op, czr_segment *segment)
{
    const int number = engine->program->ops[op].bucket;
    const czr_spaces *spaces = &engine->spaces[number];
    const czr_exchange exchange = {.bucket = number,
                                   .to_owners = true,
                                   .base = (unsigned char *)spaces->reduced,
                                   .element = sizeof(float),
                                   .equal_part_shift = spaces->slice.n -
                                                       spaces->equal_part.first,
                                   .slice_shift = -spaces->slice.first};
    czr_op_exchange(engine, op, &exchange, segment);
}

/* Everybody's share of the sums; of an equal bucket, the next turn sends. */
czr_status czr_op_reduce_scatter(czr_engine *engine, int op,
                                 czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int number = program->ops[op].bucket;
    const czr_bucket *bucket = &program->buckets[number];
    const czr_spaces *spaces = &engine->spaces[number];
    const bool equal = czr_program_has_equal_parts(program, op);
    const czr_range own = equal ? spaces->equal_part : spaces->slice;
    const int members = engine->comms[op]->size;
    const int64_t element =
        bucket->n_grads * (int64_t)czr_dtype_bytes(bucket->grad_dtype);

    segment->is_last = segment->number == equal;
    if (!spaces->holds_grad) {
        czr_loose_reduce(engine, number);
        return CZR_OK;
    }
    if (segment->number == 1) {
        send_to_owners(engine, op, segment);
        return CZR_OK;
    }
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_REDUCE_SCATTER,
        .of.reduce_scatter = {.grad = spaces->grad,
                              .dtype = bucket->grad_dtype,
                              .n_grads = bucket->n_grads,
                              .grad_stride = bucket->length,
                              .first = own.first,
                              .n = own.n,
                              .out = spaces->reduced +
                                     (equal ? spaces->slice.n : 0),
                              .scale = (float)(1.0 / (double)bucket->divisor),
                              .largest = engine->largest_at}};
    engine->sent[op] += others_elements(engine, op) * element;
    engine->received[op] += own.n * element * (members - 1);
    return CZR_OK;
}

/* Parameters of owners to whoever has the part they lie in. */
static void fetch_from_owners(czr_engine *engine, int op, czr_segment *segment)
{
    const int number = engine->program->ops[op].bucket;
    const czr_bucket *bucket = &engine->program->buckets[number];
    const czr_exchange exchange = {.bucket = number,
                                   .base = engine->spaces[number].param,
                                   .element =
                                       (int64_t)czr_dtype_bytes(bucket->dtype)};
    czr_op_exchange(engine, op, &exchange, segment);
}

czr_status czr_op_all_gather(czr_engine *engine, int op, czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int bucket = program->ops[op].bucket;
    const czr_spaces *spaces = &engine->spaces[bucket];
    const bool equal = czr_program_has_equal_parts(program, op);
    const czr_range own = equal ? spaces->equal_part : spaces->slice;
    const size_t element = czr_dtype_bytes(program->buckets[bucket].dtype);
    const size_t at = (size_t)own.first * element;
    const size_t bytes = (size_t)own.n * element;

    segment->is_last = segment->number == equal;
    if (!segment->is_last) {
        fetch_from_owners(engine, op, segment);
        return CZR_OK;
    }
    segment->has_collective = true;
    segment->collective =
        (czr_collective){.kind = CZR_COLLECTIVE_ALL_GATHER,
                         .of.all_gather = {.send = spaces->param + at,
                                           .bytes = bytes,
                                           .at = at,
                                           .receive = spaces->param}};
    engine->sent[op] += (int64_t)bytes * (engine->comms[op]->size - 1);
    engine->received[op] += others_elements(engine, op) * (int64_t)element;
    return CZR_OK;
}
