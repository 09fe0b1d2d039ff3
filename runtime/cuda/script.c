/* Graphs of whole steps.  Counters of the host are not part of a graph: what
 * they were and what they became around a capture says what a launch adds. */
#include "runtime/cuda/script.h"

#include "runtime/cuda/multiply.h"
#include "runtime/memory.h"

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

czr_status czr_cuda_scripts_open(czr_cuda_team *team)
{
    const czr_program *program = program_of(team);
    const size_t n = (size_t)team->n;

    team->scripts = czr_alloc(CZR_CUDA_SCRIPTS, sizeof *team->scripts);
    if (!team->scripts)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < CZR_CUDA_SCRIPTS; i++) {
        czr_cuda_script *script = &team->scripts[i];
        script->phases = czr_alloc((size_t)program->n_params, 1);
        script->counts =
            czr_alloc(n * n_counts(program), sizeof *script->counts);
        if (!script->phases || !script->counts)
            return CZR_ERR_NO_MEMORY;
        if (!program->phases)
            break;
    }
    return CZR_OK;
}

void czr_cuda_scripts_close(czr_cuda_team *team)
{
    for (int i = 0; team->scripts && i < CZR_CUDA_SCRIPTS; i++) {
        czr_graph_close(&team->scripts[i].graph);
        czr_free(team->scripts[i].phases);
        czr_free(team->scripts[i].counts);
    }
    czr_free(team->scripts);
    team->scripts = NULL;
}

/* ---- which -------------------------------------------------------------- */

czr_cuda_script *czr_cuda_script_find(const czr_cuda_team *team)
{
    const uint8_t *phases = team->members[0].rank->engine->phases;
    const size_t n = (size_t)program_of(team)->n_params;

    for (int i = 0; i < team->n_scripts; i++)
        if (memcmp(team->scripts[i].phases, phases, n) == 0)
            return &team->scripts[i];
    return NULL;
}

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

bool czr_cuda_script_is_possible(const czr_cuda_team *team)
{
    const int room = program_of(team)->phases ? CZR_CUDA_SCRIPTS : 1;

    if (!team->scripts || !team->has_run || team->n_scripts == room ||
        !czr_cuda_products_is_capturable(team->members[0].rank->parts.stages))
        return false;
    for (int i = 0; i < team->n; i++)
        if (has_loose(team->members[i].rank->engine))
            return false;
    return true;
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
static void take_back(czr_cuda_team *team, czr_cuda_script *script)
{
    read_counts(team, script->counts, 1);
    add_counts(team, script->counts, -1);
    for (int i = 0; i < team->n; i++)
        team->members[i].rank->sequence--;
}

czr_status czr_cuda_script_capture(czr_cuda_team *team,
                                   czr_status (*put)(czr_cuda_team *team))
{
    const czr_program *program = program_of(team);
    czr_cuda_script *script = &team->scripts[team->n_scripts];

    memset(script->counts, 0,
           (size_t)team->n * n_counts(program) * sizeof *script->counts);
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
    if (status != CZR_OK)
        return status;
    take_back(team, script);
    memcpy(script->phases, team->members[0].rank->engine->phases,
           (size_t)program->n_params);
    team->n_scripts++;
    return CZR_OK;
}

czr_status czr_cuda_script_launch(czr_cuda_team *team,
                                  const czr_cuda_script *script)
{
    czr_status status = meet(team, true);

    if (status == CZR_OK)
        status = czr_graph_launch(&script->graph, origin_of(team));
    for (int i = 0; i < team->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = team->members[i].rank;
        status = czr_context_record(context_of(team), rank->decided,
                                    origin_of(team));
        rank->sequence++;
    }
    if (status == CZR_OK)
        status = meet(team, false);
    add_counts(team, script->counts, 1);
    return check(team, status);
}
