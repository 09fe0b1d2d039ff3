/* Rules that fail on a device.  Each kernel row has a word of its own, so that
 * the first that failed has a name; where steps are undone all ranks agree at
 * the end of each, and what was kept is put back without the host. */
#include "runtime/cuda/exec/rank.h"

#include "runtime/base/memory.h"

/* ---- rows --------------------------------------------------------------- */

/* Kernel rows of a rank in an operation. */
static czr_range rows_of(const czr_program *program, int op, int number)
{
    return program->ops[op].kind == CZR_KERNEL
               ? czr_program_rows(program, program->ops[op].table, number)
               : (czr_range){0};
}

int czr_cuda_fault_param(const czr_program *program, int number, int mark)
{
    int64_t left = mark;

    for (int op = 0; op < program->n_ops; op++) {
        const czr_range range = rows_of(program, op, number);
        if (left < range.n) {
            const czr_kernel_entry *rows =
                program->tables[program->ops[op].table].rows;
            return (int)rows[range.first + left].param;
        }
        left -= range.n;
    }
    return 0; /* there is no such row */
}

static void *take(czr_engine *engine, size_t n, size_t bytes)
{
    return engine->device->ops->alloc(engine->device, n, bytes);
}

czr_status czr_cuda_faults_open(czr_cuda_rank *rank)
{
    czr_engine *engine = rank->engine;
    const czr_program *program = engine->program;
    int64_t n = 0;

    rank->first_marks =
        czr_alloc((size_t)program->n_ops, sizeof *rank->first_marks);
    if (!rank->first_marks)
        return CZR_ERR_NO_MEMORY;
    for (int op = 0; op < program->n_ops; op++) {
        rank->first_marks[op] = n;
        n += rows_of(program, op, engine->rank).n;
    }
    rank->marks.n = (uint64_t)n;
    rank->marks.words = take(engine, (size_t)n, sizeof *rank->marks.words);
    return rank->marks.words ? CZR_OK : CZR_ERR_NO_MEMORY;
}

/* ---- the end of a step -------------------------------------------------- */

static czr_status put_back(const czr_cuda_rank *rank, int b)
{
    const czr_engine *engine = rank->engine;
    czr_undo_regions regions;
    czr_status status = CZR_OK;

    czr_undo_find(engine, b, &regions);
    for (int i = 0; i < CZR_UNDO_REGIONS && status == CZR_OK; i++) {
        const czr_undo_region *r = &regions.of[i];
        const size_t n = r->bytes / czr_dtype_bytes(CZR_BF16);
        status = czr_collect_convert(rank->device.collect, r->at, CZR_BF16,
                                     r->kept, CZR_BF16, n,
                                     &rank->decision->sound, engine->stream);
    }
    return status;
}

static czr_status put_all_back(const czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;
    czr_status status = CZR_OK;

    for (int b = 0; b < engine->program->n_buckets && status == CZR_OK; b++)
        if (engine->spaces[b].kept)
            status = put_back(rank, b);
    return status;
}

static czr_status note(const czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;

    return czr_collect_note(rank->device.collect, &rank->marks, rank->decision,
                            &rank->rank_words, engine->stream);
}

static czr_status settle(const czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;
    czr_status status = czr_collect_settle(rank->device.collect, rank->decision,
                                           &rank->rank_words, rank->draft,
                                           rank->result, engine->stream);

    if (status == CZR_OK)
        status = put_all_back(rank);
    if (status == CZR_OK)
        status = czr_context_record(rank->device.context, rank->decided,
                                    engine->stream);
    return status;
}

/* All ranks learn each other's. */
static void gather(const czr_cuda_rank *rank, czr_segment *segment)
{
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .of.all_reduce = {.data = rank->rank_words.words,
                          .count = (size_t)rank->rank_words.n_ranks,
                          .type = CZR_SUM_I64}};
}

czr_status czr_cuda_undo(czr_engine *engine, int op, czr_segment *segment)
{
    czr_cuda_rank *rank = engine->cuda;
    const bool is_first = segment->number == 0;
    const czr_status status = is_first ? note(rank) : settle(rank);

    (void)op;
    segment->is_last = !is_first || !engine->undoes;
    if (!segment->is_last)
        gather(rank, segment);
    return czr_cuda_rank_check(rank, status, "failures of rules");
}
