/* Graphs of a step's parts.  Counters of the host are not part of a graph: what
 * they were and what they became around a capture says what a launch adds. */
#include "runtime/cuda/exec/script.h"

#include "runtime/cuda/products/multiply.h"
#include "runtime/base/memory.h"

static const czr_program *program_of(const czr_cuda_team *team)
{
    return team->members[0].rank->engine->program;
}

static czr_context *context_of(const czr_cuda_team *team)
{
    return team->members[0].rank->parts.context;
}

/* The stream that the others fork from. */
static void *origin_of(const czr_cuda_team *team)
{
    return team->members[0].rank->main;
}

/* ---- counters ----------------------------------------------------------- */

/* Of one member. */
static size_t n_counts(const czr_program *program)
{
    return 2 * ((size_t)program->n_params + (size_t)program->n_ops);
}

/* counters += sign * counts, of all members. */
static void add_counts(const czr_cuda_team *team, const int64_t *counts,
                       int sign)
{
    const czr_program *program = program_of(team);

    for (int i = 0; i < team->n; i++) {
        const czr_engine *engine = team->members[i].rank->engine;
        int64_t *const counters[] = {engine->updates, engine->whole,
                                     engine->sent, engine->received};
        for (int k = 0; k < 4; k++) {
            const int n = k < 2 ? program->n_params : program->n_ops;
            for (int j = 0; j < n; j++)
                counters[k][j] += sign * counts[j];
            counts += n;
        }
    }
}

static void read_counts(const czr_cuda_team *team, int64_t *counts, int sign)
{
    const czr_program *program = program_of(team);

    for (int i = 0; i < team->n; i++) {
        const czr_engine *engine = team->members[i].rank->engine;
        const int64_t *const counters[] = {engine->updates, engine->whole,
                                           engine->sent, engine->received};
        for (int k = 0; k < 4; k++) {
            const int n = k < 2 ? program->n_params : program->n_ops;
            for (int j = 0; j < n; j++)
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

static bool take_counts(const czr_cuda_team *team, czr_cuda_script *script)
{
    script->counts = czr_alloc((size_t)team->n * n_counts(program_of(team)),
                               sizeof *script->counts);
    return script->counts != NULL;
}

czr_status czr_cuda_scripts_open(czr_cuda_team *team)
{
    const czr_program *program = program_of(team);
    const int n = n_reductions(program);

    team->scripts = czr_alloc(CZR_CUDA_SCRIPTS, sizeof *team->scripts);
    team->reductions = czr_alloc((size_t)n, sizeof *team->reductions);
    if (!team->scripts || !team->reductions)
        return CZR_ERR_NO_MEMORY;
    team->n_reductions = n;
    for (int op = 0; op < n; op++)
        if (!take_counts(team, &team->reductions[op]))
            return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < (program->phases ? CZR_CUDA_SCRIPTS : 1); i++) {
        czr_cuda_script *script = &team->scripts[i];
        script->phases = czr_alloc((size_t)program->n_params, 1);
        if (!script->phases || !take_counts(team, script))
            return CZR_ERR_NO_MEMORY;
    }
    return CZR_OK;
}

static void close_script(czr_cuda_script *script)
{
    czr_graph_close(&script->graph);
    czr_free(script->phases);
    czr_free(script->counts);
}

void czr_cuda_scripts_close(czr_cuda_team *team)
{
    for (int i = 0; team->scripts && i < CZR_CUDA_SCRIPTS; i++)
        close_script(&team->scripts[i]);
    for (int op = 0; op < team->n_reductions; op++)
        close_script(&team->reductions[op]);
    czr_free(team->scripts);
    czr_free(team->reductions);
    team->scripts = team->reductions = NULL;
    team->n_reductions = 0;
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

static bool can_capture(const czr_cuda_team *team)
{
    if (!czr_cuda_products_is_capturable(team->members[0].rank->parts.stages))
        return false;
    for (int i = 0; i < team->n; i++)
        if (has_loose(team->members[i].rank->engine))
            return false;
    return true;
}

czr_status czr_cuda_scripts_agree(czr_cuda_team *team)
{
    czr_engine *engine = team->members[0].rank->engine;
    const int size = engine->world->size;
    int64_t n = can_capture(team) ? team->n : 0;
    czr_status status = CZR_OK;

    if (!team->scripts || team->has_agreed)
        return CZR_OK;
    if (team->n < size)
        status = czr_handshake_sum(engine, &n);
    team->has_agreed = status == CZR_OK;
    team->is_captured = status == CZR_OK && n == size;
    return status;
}

bool czr_cuda_scripts_are_used(const czr_cuda_team *team)
{
    return team->is_captured;
}

int czr_cuda_scripts_count(const czr_cuda_team *team)
{
    int n = team->n_scripts;

    for (int op = 0; op < team->n_reductions; op++)
        n += team->reductions[op].graph.exec != NULL;
    return n;
}

/* ---- main streams ------------------------------------------------------- */

/* The origin goes on when the others have come there, or these when it has. */
static czr_status meet(const czr_cuda_team *team, bool at_origin)
{
    czr_context *context = context_of(team);
    czr_status status = CZR_OK;

    if (!at_origin)
        status = czr_context_record(context, team->members[0].rank->event,
                                    origin_of(team));
    for (int i = 1; i < team->n && status == CZR_OK; i++) {
        const czr_cuda_rank *rank = team->members[i].rank;
        if (at_origin)
            status = czr_context_record(context, rank->event, rank->main);
        if (status == CZR_OK)
            status = at_origin ? czr_context_wait(context, origin_of(team),
                                                  rank->event)
                               : czr_context_wait(context, rank->main,
                                                  team->members[0].rank->event);
    }
    return status;
}

static czr_status check(const czr_cuda_team *team, czr_status status)
{
    return czr_cuda_rank_check(team->members[0].rank, status,
                               "a step as a graph");
}

/* ---- capture and launch ------------------------------------------------- */

static czr_status put_between(czr_cuda_team *team,
                              czr_status (*put)(czr_cuda_team *team))
{
    czr_status status = check(team, meet(team, false));

    if (status == CZR_OK)
        status = put(team);
    return status == CZR_OK ? check(team, meet(team, true)) : status;
}

/* Decisions that were captured have not been made. */
static void take_back(czr_cuda_team *team, czr_cuda_script *script,
                      int64_t sequence)
{
    read_counts(team, script->counts, 1);
    add_counts(team, script->counts, -1);
    script->decisions = team->members[0].rank->sequence - sequence;
    for (int i = 0; i < team->n; i++)
        team->members[i].rank->sequence -= script->decisions;
}

/* No unit waits for what was captured. */
static czr_status begin_units(const czr_cuda_team *team)
{
    return team->begin
               ? czr_cuda_rank_check(team->members[0].rank,
                                     team->begin(team->user, origin_of(team)),
                                     "beginning a graph")
               : CZR_OK;
}

static czr_status capture(czr_cuda_team *team, czr_cuda_script *script,
                          czr_status (*put)(czr_cuda_team *team))
{
    const size_t n = (size_t)team->n * n_counts(program_of(team));
    const int64_t sequence = team->members[0].rank->sequence;

    memset(script->counts, 0, n * sizeof *script->counts);
    read_counts(team, script->counts, -1);
    czr_status status =
        check(team, czr_graph_begin(context_of(team), origin_of(team)));
    if (status != CZR_OK)
        return status;
    status = put_between(team, put);
    const czr_status ended =
        czr_graph_end(context_of(team), origin_of(team), &script->graph);
    if (status == CZR_OK)
        status = check(team, ended);
    if (status == CZR_OK)
        take_back(team, script, sequence);
    return status;
}

static czr_status note_decisions(const czr_cuda_team *team,
                                 const czr_cuda_script *script)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < team->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = team->members[i].rank;
        rank->sequence += script->decisions;
        if (script->decisions)
            status = czr_context_record(context_of(team), rank->decided,
                                        origin_of(team));
    }
    return status;
}

/* Behind what the members' main streams have. */
static czr_status launch(czr_cuda_team *team, const czr_cuda_script *script)
{
    czr_status status = begin_units(team);

    if (status == CZR_OK)
        status = meet(team, true);
    if (status == CZR_OK)
        status = czr_graph_launch(&script->graph, origin_of(team));
    if (status == CZR_OK)
        status = note_decisions(team, script);
    if (status == CZR_OK)
        status = meet(team, false);
    add_counts(team, script->counts, 1);
    return check(team, status);
}

/* ---- parts of a step ---------------------------------------------------- */

static czr_status run(czr_cuda_team *team, czr_cuda_script *script,
                      czr_status (*put)(czr_cuda_team *team))
{
    const czr_status status =
        script->graph.exec ? CZR_OK : capture(team, script, put);

    return status == CZR_OK ? launch(team, script) : status;
}

czr_status czr_cuda_script_reduce(czr_cuda_team *team, int op,
                                  czr_status (*put)(czr_cuda_team *team))
{
    return run(team, &team->reductions[op], put);
}

/* That of the phases of the update under way, or the next; NULL: no room. */
static czr_cuda_script *find(czr_cuda_team *team)
{
    const uint8_t *phases = team->members[0].rank->engine->phases;
    const size_t n = (size_t)program_of(team)->n_params;
    const int room = program_of(team)->phases ? CZR_CUDA_SCRIPTS : 1;

    for (int i = 0; i < team->n_scripts; i++)
        if (memcmp(team->scripts[i].phases, phases, n) == 0)
            return &team->scripts[i];
    if (team->n_scripts == room)
        return NULL;
    memcpy(team->scripts[team->n_scripts].phases, phases, n);
    return &team->scripts[team->n_scripts++];
}

czr_status czr_cuda_script_follow(czr_cuda_team *team,
                                  czr_status (*put)(czr_cuda_team *team))
{
    czr_cuda_script *script = find(team);

    return script ? run(team, script, put) : put(team);
}
