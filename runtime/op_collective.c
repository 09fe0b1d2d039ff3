/* Operations on whole buckets: gradients to the owners of slices, parameters
 * from them.  What they do is said in dsl/SCHEDULE.md. */
#include "runtime/engine.h"

/* Elements of a bucket that the other members own. */
static int64_t others_elements(const czr_engine *engine, int op, int bucket)
{
    const czr_comm *comm = engine->comms[op];
    int64_t n = 0;

    for (int i = 0; i < comm->size; i++)
        if (i != comm->position)
            n += czr_program_slice(engine->program, bucket, comm->ranks[i]).n;
    return n;
}

czr_status czr_op_reduce_scatter(czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const int number = program->ops[op].bucket;
    const czr_bucket *bucket = &program->buckets[number];
    const czr_spaces *spaces = &engine->spaces[number];
    const int members = engine->comms[op]->size;
    const int64_t element =
        bucket->leaves * (int64_t)czr_dtype_bytes(bucket->grad_dtype);

    czr_unit unit = {
        .kind = CZR_UNIT_REDUCE_SCATTER,
        .of.reduce_scatter = {.grad = spaces->grad,
                              .dtype = bucket->grad_dtype,
                              .leaves = bucket->leaves,
                              .leaf_stride = bucket->length,
                              .first = spaces->slice.first,
                              .n = spaces->slice.n,
                              .out = spaces->reduced,
                              .scale = (float)(1.0 / (double)bucket->terms)}};
    engine->sent[op] += others_elements(engine, op, number) * element;
    engine->received[op] += spaces->slice.n * element * (members - 1);
    return czr_op_communicate(engine, op, &unit);
}

czr_status czr_op_all_gather(czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const int bucket = program->ops[op].bucket;
    const czr_spaces *spaces = &engine->spaces[bucket];
    const size_t element = czr_dtype_bytes(program->buckets[bucket].dtype);
    const size_t at = (size_t)spaces->slice.first * element;
    const size_t bytes = (size_t)spaces->slice.n * element;

    czr_unit unit = {.kind = CZR_UNIT_ALL_GATHER,
                     .of.all_gather = {.send = spaces->param + at,
                                       .bytes = bytes,
                                       .at = at,
                                       .receive = spaces->param}};
    engine->sent[op] += (int64_t)bytes * (engine->comms[op]->size - 1);
    engine->received[op] +=
        others_elements(engine, op, bucket) * (int64_t)element;
    return czr_op_communicate(engine, op, &unit);
}
