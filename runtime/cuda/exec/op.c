/* Operations that compute, on a device: each puts kernels on the engine's
 * stream.  Those that communicate are the host's. */
#include "runtime/cuda/exec/rank.h"

/* ---- kernels ------------------------------------------------------------ */

static czr_cuda_stage steps_of(const czr_cuda_rank *rank,
                               const czr_kernel_entry *row)
{
    const czr_cuda_program *program = rank->device.stages->program;
    const czr_cuda_stage *variants =
        program->variants ? program->variants[row->stage] : NULL;

    return variants ? variants[rank->engine->phases[row->param]]
                    : program->stages[row->stage];
}

void czr_cuda_make_call(czr_cuda_rank *rank, size_t matrix, int op,
                        int64_t number, const czr_kernel_entry *row)
{
    czr_engine *engine = rank->engine;
    const czr_program *program = engine->program;
    const czr_stage *stage = &program->stages[row->stage];
    const size_t stream = program->ops[op].stream;
    const float *names = rank->scalars + program->n_scalars +
                         (size_t)row->param * CZR_NAME_SCALARS;
    const void **in = rank->call_in + matrix * CZR_MAX_SLOTS;
    void **out = rank->call_out + matrix * CZR_MAX_SLOTS;
    const float **scalars =
        rank->call_scalars +
        matrix * ((size_t)program->n_scalars + CZR_NAME_SCALARS);

    czr_op_find_slots(engine, row, in, out);
    czr_op_count_row(engine, row);
    for (int i = 0; i < stage->n_scalars; i++) {
        const unsigned scalar = stage->scalars[i];
        scalars[i] = scalar < CZR_NAME_SCALAR
                         ? rank->scalars + scalar
                         : names + (scalar - CZR_NAME_SCALAR);
    }
    rank->calls[matrix] = (czr_cuda_call){
        .stages = rank->device.stages,
        .next = steps_of(rank, row),
        .in = in,
        .out = out,
        .scalars = scalars,
        .count = (size_t)row->count,
        .equal_part = (size_t)row->offset,
        .work = row->work < 0 ? NULL : engine->scratch + row->work,
        .workspace = rank->workspaces + stream * rank->workspace_bytes,
        .scratch = engine->scratch,
        .scratch_bytes = (size_t)(engine->scratch_bytes + engine->batch_bytes),
        .status = rank->marks.words + rank->first_marks[op] + number,
        .skip = &rank->decision->skip,
        .stream = engine->stream};
}

/* Row `number` of this rank's, or the batch that begins with it; one that has
 * come with another is left out. */
static czr_status run_row(czr_cuda_rank *rank, int op, czr_range range,
                          int64_t number)
{
    const czr_program *program = rank->engine->program;
    const czr_kernel_entry *rows = program->tables[program->ops[op].table].rows;
    const czr_cuda_batches of =
        czr_cuda_batches_of(rank->device.stages->program, op);
    const int64_t row = range.first + number;
    const int32_t batch = of.list ? of.of_row[row] : 0;

    if (batch)
        return of.list[batch - 1].first == row
                   ? czr_cuda_run_batch(rank, op, &of, batch)
                   : CZR_OK;
    czr_cuda_make_call(rank, 0, op, number, &rows[row]);
    return czr_cuda_stages_put(rank->calls, 1);
}

static czr_status kernel(czr_engine *engine, int op, czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    czr_status status = CZR_OK;

    segment->is_last = true;
    for (int64_t i = 0; i < range.n && status == CZR_OK; i++)
        status = run_row(engine->cuda, op, range, i);
    return czr_cuda_rank_check(engine->cuda, status, "kernels");
}

/* ---- the decision and what it is made from ------------------------------ */

static czr_status square_sum(czr_engine *engine, int op, czr_segment *segment)
{
    czr_cuda_rank *rank = engine->cuda;

    segment->is_last = true;
    return czr_cuda_rank_check(rank,
                               czr_collect_norm(rank->device.collect,
                                                &rank->summed[op],
                                                rank->decision, engine->stream),
                               "the norm of gradients");
}

/* With the event that a poll waits for, which comes again where an update
 * may be undone. */
static czr_status put_decision(czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;
    czr_status status = czr_collect_decide(
        rank->device.collect, rank->decision, rank->has_decision,
        engine->program->clip, &rank->rank_words, rank->draft, engine->stream);

    if (status == CZR_OK)
        status = czr_context_record(rank->device.context, rank->decided,
                                    engine->stream);
    rank->sequence += status == CZR_OK;
    return czr_cuda_rank_check(rank, status, "the decision");
}

/* The words of ranks, and the first of the decision. */
static void sum_words(const czr_cuda_rank *rank, size_t n, czr_segment *segment)
{
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .of.all_reduce = {.data = rank->rank_words.words,
                          .count = (size_t)rank->rank_words.n_ranks + n,
                          .type = CZR_SUM_I64}};
}

static czr_status all_reduce(czr_engine *engine, int op, czr_segment *segment)
{
    czr_cuda_rank *rank = engine->cuda;

    (void)op;
    segment->is_last = true;
    sum_words(rank, CZR_NORM_WORDS, segment);
    return czr_cuda_rank_check(
        rank,
        czr_collect_ask(rank->device.collect, rank->decision,
                        &rank->decision->norm[CZR_NORM_NONFINITE],
                        czr_guard_limit(NULL), &rank->rank_words,
                        engine->stream),
        "the norm of gradients");
}

static czr_status decide(czr_engine *engine, int op, czr_segment *segment)
{
    (void)op;
    segment->is_last = true;
    return put_decision(engine->cuda);
}

static czr_status prologue(czr_engine *engine, int op, czr_segment *segment)
{
    czr_cuda_rank *rank = engine->cuda;

    (void)op;
    segment->is_last = true;
    return czr_cuda_rank_check(
        rank,
        czr_cuda_prologue(rank->device.stages, &rank->decision->t,
                          &rank->decision->clip, rank->hypers, rank->scalars,
                          engine->stream),
        "the step's scalars");
}

/* ---- the guard ---------------------------------------------------------- */

/* Counts [first, first + n) of all ranks. */
static void sum_counts(const czr_cuda_rank *rank, int first, size_t n,
                       czr_segment *segment)
{
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .of.all_reduce = {.data = rank->decision->counts + first,
                          .count = n,
                          .type = CZR_SUM_I64}};
}

static int32_t least_limit(const czr_program *program)
{
    int32_t least = INT32_MAX;

    for (int rule = 0; rule < program->n_rules; rule++) {
        const int32_t limit = czr_guard_limit(&program->states[rule]);
        least = limit < least ? limit : least;
    }
    return least;
}

/* Could it be; is it; so be it.  Where an operation decides, the norm and words
 * of ranks are its own to sum. */
static czr_status guard(czr_engine *engine, int op, czr_segment *segment)
{
    enum { ASK, LOOK, DECIDE };
    czr_cuda_rank *rank = engine->cuda;
    czr_collect *collect = rank->device.collect;
    czr_status status = CZR_OK;

    (void)op;
    segment->is_last = segment->number == DECIDE;
    switch (segment->number) {
    case ASK:
        status = czr_collect_ask(
            collect, rank->decision,
            &rank->decision->counts[CZR_COLLECT_MAY_BE_BEYOND],
            least_limit(engine->program), &rank->rank_words, engine->stream);
        if (rank->has_decision)
            sum_counts(rank, 0, CZR_COLLECT_BEYOND, segment);
        else
            sum_words(rank, CZR_NORM_WORDS + CZR_COLLECT_BEYOND, segment);
        break;
    case LOOK:
        status = czr_collect_guard(collect, &rank->guarded, rank->decision,
                                   engine->stream);
        sum_counts(rank, CZR_COLLECT_BEYOND, 1, segment);
        break;
    default:
        if (!rank->has_decision)
            status = put_decision(rank);
        break;
    }
    return czr_cuda_rank_check(rank, status, "the guard of gradients");
}

/* ---- all kinds ---------------------------------------------------------- */

/* What the host's bodies do with the world of a GPU, and what others have. */
#define reduce_scatter czr_op_reduce_scatter
#define all_gather czr_op_all_gather
#define transfer czr_op_transfer
#define group_sum czr_op_group_sum
#define keep czr_op_keep
#define undo czr_cuda_undo

const czr_op_body czr_op_cuda_bodies[CZR_N_OP_KINDS] = {
#define ABI_OP(tag, name, ...) [CZR_##tag] = name,
#include "runtime/abi.def"
};
