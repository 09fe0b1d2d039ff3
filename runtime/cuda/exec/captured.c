/* Graphs of a step's parts.  Counters of the host are not part of a graph: what
 * they were and what they became around a capture says what a launch adds. */
#include "runtime/cuda/exec/captured.h"

#include "runtime/cuda/driver/profile.h"
#include "runtime/cuda/products/multiply.h"
#include "runtime/base/memory.h"

static const czr_program *program_of(const czr_cuda_rank_group *rank_group)
{
    return rank_group->members[0].rank->engine->program;
}

static czr_context *context_of(const czr_cuda_rank_group *rank_group)
{
    return rank_group->members[0].rank->device.context;
}

/* The stream that the others fork from. */
static void *origin_of(const czr_cuda_rank_group *rank_group)
{
    return rank_group->members[0].rank->main;
}

/* ---- counters ----------------------------------------------------------- */

/* Of one member. */
static size_t n_counts(const czr_program *program)
{
    return 2 * ((size_t)program->n_params + (size_t)program->n_ops);
}

/* Of all members the counters and `counts`: to one of them, sign times the
 * other. */
static void move_counts(const czr_cuda_rank_group *rank_group, int64_t *counts,
                        bool to_counters, int sign)
{
    const czr_program *program = program_of(rank_group);

    for (int i = 0; i < rank_group->n; i++) {
        const czr_engine *engine = rank_group->members[i].rank->engine;
        int64_t *const counters[] = {engine->updates, engine->full_matrix,
                                     engine->sent, engine->received};
        for (int k = 0; k < 4; k++) {
            const int n = k < 2 ? program->n_params : program->n_ops;
            for (int j = 0; j < n; j++)
                if (to_counters)
                    counters[k][j] += sign * counts[j];
                else
                    counts[j] += sign * counters[k][j];
            counts += n;
        }
    }
}

/* ---- opening ------------------------------------------------------------ */

/* Reductions come first in the list. */
static int n_reductions(const czr_program *program)
{
    int n = 0;

    while (n < program->n_ops && program->ops[n].section == CZR_SECTION_REDUCE)
        n++;
    return n;
}

static bool take_counts(const czr_cuda_rank_group *rank_group,
                        czr_cuda_captured *captured)
{
    captured->counts =
        czr_alloc((size_t)rank_group->n * n_counts(program_of(rank_group)),
                  sizeof *captured->counts);
    return captured->counts != NULL;
}

czr_status czr_cuda_captured_open(czr_cuda_rank_group *rank_group)
{
    const czr_program *program = program_of(rank_group);
    const int n = n_reductions(program);

    rank_group->captured =
        czr_alloc(CZR_CUDA_CAPTURED, sizeof *rank_group->captured);
    rank_group->reductions =
        czr_alloc((size_t)n, sizeof *rank_group->reductions);
    if (!rank_group->captured || !rank_group->reductions)
        return CZR_ERR_NO_MEMORY;
    rank_group->n_reductions = n;
    for (int op = 0; op < n; op++)
        if (!take_counts(rank_group, &rank_group->reductions[op]))
            return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < (program->phases ? CZR_CUDA_CAPTURED : 1); i++) {
        czr_cuda_captured *captured = &rank_group->captured[i];
        captured->phases = czr_alloc((size_t)program->n_params, 1);
        if (!captured->phases || !take_counts(rank_group, captured))
            return CZR_ERR_NO_MEMORY;
    }
    return CZR_OK;
}

static void close_captured(czr_cuda_captured *captured)
{
    czr_graph_close(&captured->graph);
    czr_free(captured->phases);
    czr_free(captured->counts);
}

void czr_cuda_captured_close(czr_cuda_rank_group *rank_group)
{
    for (int i = 0; rank_group->captured && i < CZR_CUDA_CAPTURED; i++)
        close_captured(&rank_group->captured[i]);
    for (int op = 0; op < rank_group->n_reductions; op++)
        close_captured(&rank_group->reductions[op]);
    czr_free(rank_group->captured);
    czr_free(rank_group->reductions);
    rank_group->captured = rank_group->reductions = NULL;
    rank_group->n_reductions = rank_group->n_captured = 0;
    rank_group->is_captured = false;
}

/* ---- whether ------------------------------------------------------------ */

/* Copies of tensors of the host cannot be captured; those of the device are
 * taken for such. */
static bool has_loose(const czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++)
        if (engine->bindings[param].param.data ||
            engine->bindings[param].grad.data)
            return true;
    return false;
}

static bool can_capture(const czr_cuda_rank_group *rank_group)
{
    if (!czr_cuda_products_is_capturable(
            rank_group->members[0].rank->device.stages))
        return false;
    for (int i = 0; i < rank_group->n; i++)
        if (has_loose(rank_group->members[i].rank->engine))
            return false;
    return true;
}

czr_status czr_cuda_captured_agree(czr_cuda_rank_group *rank_group)
{
    czr_engine *engine = rank_group->members[0].rank->engine;
    const int size = engine->world->size;
    int64_t n = can_capture(rank_group) ? rank_group->n : 0;
    czr_status status = CZR_OK;

    if (!rank_group->captured || rank_group->has_agreed)
        return CZR_OK;
    if (rank_group->n < size)
        status = czr_handshake_sum(engine, &n, 1);
    rank_group->has_agreed = status == CZR_OK;
    rank_group->is_captured = status == CZR_OK && n == size;
    return status;
}

bool czr_cuda_captured_are_used(const czr_cuda_rank_group *rank_group)
{
    return rank_group->is_captured;
}

int czr_cuda_captured_count(const czr_cuda_rank_group *rank_group)
{
    int n = rank_group->n_captured;

    for (int op = 0; op < rank_group->n_reductions; op++)
        n += rank_group->reductions[op].graph.exec != NULL;
    return n;
}

/* ---- main streams ------------------------------------------------------- */

/* The origin goes on when the others have come there, or these when it has. */
static czr_status meet(const czr_cuda_rank_group *rank_group, bool at_origin)
{
    czr_context *context = context_of(rank_group);
    czr_status status = CZR_OK;

    if (!at_origin)
        status = czr_context_record(context, rank_group->members[0].rank->event,
                                    origin_of(rank_group));
    for (int i = 1; i < rank_group->n && status == CZR_OK; i++) {
        const czr_cuda_rank *rank = rank_group->members[i].rank;
        if (at_origin)
            status = czr_context_record(context, rank->event, rank->main);
        if (status == CZR_OK)
            status = at_origin
                         ? czr_context_wait(context, origin_of(rank_group),
                                            rank->event)
                         : czr_context_wait(context, rank->main,
                                            rank_group->members[0].rank->event);
    }
    return status;
}

static czr_status check(const czr_cuda_rank_group *rank_group,
                        czr_status status)
{
    return czr_cuda_rank_check(rank_group->members[0].rank, status,
                               "a step as a graph");
}

/* ---- capture and launch ------------------------------------------------- */

static czr_status
put_between(czr_cuda_rank_group *rank_group,
            czr_status (*put)(czr_cuda_rank_group *rank_group))
{
    czr_status status = check(rank_group, meet(rank_group, false));

    if (status == CZR_OK)
        status = put(rank_group);
    return status == CZR_OK ? check(rank_group, meet(rank_group, true))
                            : status;
}

/* Decisions that were captured have not been made. */
static void take_back(czr_cuda_rank_group *rank_group,
                      czr_cuda_captured *captured, int64_t sequence)
{
    move_counts(rank_group, captured->counts, false, 1);
    move_counts(rank_group, captured->counts, true, -1);
    captured->decisions = rank_group->members[0].rank->sequence - sequence;
    for (int i = 0; i < rank_group->n; i++)
        rank_group->members[i].rank->sequence -= captured->decisions;
}

/* No unit waits for what was captured. */
static czr_status begin_units(const czr_cuda_rank_group *rank_group)
{
    return rank_group->begin
               ? czr_cuda_rank_check(
                     rank_group->members[0].rank,
                     rank_group->begin(rank_group->user, origin_of(rank_group)),
                     "beginning a graph")
               : CZR_OK;
}

static czr_status capture(czr_cuda_rank_group *rank_group,
                          czr_cuda_captured *captured,
                          czr_status (*put)(czr_cuda_rank_group *rank_group))
{
    const size_t n = (size_t)rank_group->n * n_counts(program_of(rank_group));
    const int64_t sequence = rank_group->members[0].rank->sequence;

    memset(captured->counts, 0, n * sizeof *captured->counts);
    move_counts(rank_group, captured->counts, false, -1);
    czr_status status =
        check(rank_group,
              czr_graph_begin(context_of(rank_group), origin_of(rank_group)));
    if (status != CZR_OK)
        return status;
    rank_group->is_capturing = true;
    status = put_between(rank_group, put);
    rank_group->is_capturing = false;
    const czr_status ended = czr_graph_end(
        context_of(rank_group), origin_of(rank_group), &captured->graph);
    if (status == CZR_OK)
        status = check(rank_group, ended);
    if (status == CZR_OK)
        take_back(rank_group, captured, sequence);
    return status;
}

static czr_status note_decisions(const czr_cuda_rank_group *rank_group,
                                 const czr_cuda_captured *captured)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = rank_group->members[i].rank;
        rank->sequence += captured->decisions;
        if (captured->decisions)
            status = czr_context_record(context_of(rank_group), rank->decided,
                                        origin_of(rank_group));
    }
    return status;
}

/* Behind what the members' main streams have. */
static czr_status launch(czr_cuda_rank_group *rank_group,
                         const czr_cuda_captured *captured)
{
    czr_status status = begin_units(rank_group);

    if (status == CZR_OK)
        status = meet(rank_group, true);
    czr_profile_begin(
        captured->phases ? "graph of a step" : "graph of a reduction", -1);
    if (status == CZR_OK)
        status = czr_graph_launch(&captured->graph, origin_of(rank_group));
    czr_profile_end();
    if (status == CZR_OK)
        status = note_decisions(rank_group, captured);
    if (status == CZR_OK)
        status = meet(rank_group, false);
    move_counts(rank_group, captured->counts, true, 1);
    return check(rank_group, status);
}

/* ---- parts of a step ---------------------------------------------------- */

static czr_status run(czr_cuda_rank_group *rank_group,
                      czr_cuda_captured *captured,
                      czr_status (*put)(czr_cuda_rank_group *rank_group))
{
    const czr_status status =
        captured->graph.exec ? CZR_OK : capture(rank_group, captured, put);

    return status == CZR_OK ? launch(rank_group, captured) : status;
}

czr_status
czr_cuda_captured_reduce(czr_cuda_rank_group *rank_group, int op,
                         czr_status (*put)(czr_cuda_rank_group *rank_group))
{
    return run(rank_group, &rank_group->reductions[op], put);
}

/* That of the phases of the update under way, or the next; NULL: no room. */
static czr_cuda_captured *find(czr_cuda_rank_group *rank_group)
{
    const uint8_t *phases = rank_group->members[0].rank->engine->phases;
    const size_t n = (size_t)program_of(rank_group)->n_params;
    const int room = program_of(rank_group)->phases ? CZR_CUDA_CAPTURED : 1;

    for (int i = 0; i < rank_group->n_captured; i++)
        if (memcmp(rank_group->captured[i].phases, phases, n) == 0)
            return &rank_group->captured[i];
    if (rank_group->n_captured == room)
        return NULL;
    memcpy(rank_group->captured[rank_group->n_captured].phases, phases, n);
    return &rank_group->captured[rank_group->n_captured++];
}

czr_status
czr_cuda_captured_follow(czr_cuda_rank_group *rank_group,
                         czr_status (*put)(czr_cuda_rank_group *rank_group))
{
    czr_cuda_captured *captured = find(rank_group);

    return captured ? run(rank_group, captured, put) : put(rank_group);
}
