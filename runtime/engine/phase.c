/* t of every parameter, and its phase there: rules may differ from one update
 * to the next, and where they are staggered from one parameter to the next. */
#include "runtime/engine/engine.h"

#include "runtime/base/memory.h"

static int64_t early_by(const czr_event *event, int64_t segment)
{
    return event->staggered ? segment % event->period : 0;
}

static bool fires(const czr_event *event, int64_t segment, int64_t t)
{
    if (t <= event->start || event->period == 0)
        return t == event->start;
    return (t - event->start + early_by(event, segment)) % event->period == 0;
}

/* The number of the phase of update t for a stagger offset, or -1. */
static int phase_at(const czr_phases *phases, int64_t segment, int64_t t)
{
    uint32_t fired = 0;

    for (int e = 0; e < phases->n_events; e++)
        fired |= (uint32_t)fires(&phases->events[e], segment, t) << e;
    for (int p = 0; p < phases->n_phases; p++)
        if (phases->fires[p] == fired)
            return p;
    return -1;
}

/* Neighbours mostly have one rule, one turn and one t. */
czr_status czr_phase_choose(czr_engine *engine, int64_t t)
{
    const czr_program *program = engine->program;
    const czr_place *last = NULL;
    int64_t last_t = 0;
    int phase = 0;

    for (int p = 0; program->phases && p < program->n_params; p++) {
        const czr_place *place = &program->places[p];
        const czr_phases *phases = program->phases[place->rule];
        const int64_t own_t = t - engine->bindings[p].n_skips;
        if (!last || last->rule != place->rule || last_t != own_t ||
            last->stagger_offset != place->stagger_offset)
            phase = phases ? phase_at(phases, place->stagger_offset, own_t) : 0;
        if (phase < 0)
            return czr_engine_poison(engine, CZR_ERR_VERSION,
                                     "rule %d has no phase for update %lld",
                                     (int)place->rule, (long long)own_t);
        engine->phases[p] = (uint8_t)phase;
        last = place;
        last_t = own_t;
    }
    return CZR_OK;
}

czr_kernel czr_phase_body(const czr_engine *engine, int stage, int param)
{
    const czr_program *program = engine->program;
    const czr_variants *variants =
        program->variants ? &program->variants[stage] : NULL;

    return variants && variants->phases ? variants->run[engine->phases[param]]
                                        : program->stages[stage].run;
}

/* ---- parameters without a gradient --------------------------------------- */

/* Nothing of theirs is read or written, and their t stays.  In worlds of one
 * rank, where nobody else has a gradient. */

/* Room for scalars at a t of its own. */
static czr_status take_scalars(czr_engine *engine, int param)
{
    czr_binding *binding = &engine->bindings[param];

    if (!binding->scalars)
        binding->scalars = czr_alloc((size_t)engine->program->n_scalars,
                                     sizeof *binding->scalars);
    return binding->scalars ? CZR_OK
                            : czr_engine_refuse(engine, CZR_ERR_NO_MEMORY,
                                                "no memory for scalars");
}

static czr_status note_absent(czr_engine *engine, int param)
{
    const int b = engine->program->places[param].bucket;
    czr_status status = czr_engine_check_param(engine, param);

    if (status == CZR_OK && (engine->world->size > 1 || engine->cuda ||
                             engine->spaces[b].holds_grad))
        status = czr_engine_refuse(engine, CZR_ERR_STATE,
                                   "parameter %d needs a gradient: only one "
                                   "rank alone, on the host, may lack some",
                                   param);
    if (status == CZR_OK && engine->bindings[param].is_ready)
        status =
            czr_engine_refuse(engine, CZR_ERR_STATE,
                              "parameter %d: czr_grad_ready has come", param);
    if (status == CZR_OK)
        status = take_scalars(engine, param);
    if (status == CZR_OK) {
        engine->bindings[param].is_absent = true;
        engine->bindings[param].is_reduced = true;
        engine->bindings[param].largest = 0;
    }
    return status;
}

czr_status czr_grad_absent(czr_engine *engine, int param)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const czr_status status = note_absent(engine, param);
    czr_engine_unlock(engine);
    return status;
}

czr_status czr_param_step_get(czr_engine *engine, int param, int64_t *step)
{
    if (!engine || !step)
        return CZR_ERR_ARGUMENT;
    const czr_status status = czr_engine_check_param(engine, param);
    if (status == CZR_OK)
        *step = engine->steps - engine->bindings[param].n_skips;
    return status;
}

czr_status czr_param_step_set(czr_engine *engine, int param, int64_t step)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    czr_status status = czr_engine_check_param(engine, param);
    if (status == CZR_OK && (step < 0 || step > engine->steps))
        status = czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                   "parameter %d: update %lld of %lld", param,
                                   (long long)step, (long long)engine->steps);
    if (status == CZR_OK && step < engine->steps && engine->world->size > 1)
        status = czr_engine_refuse(engine, CZR_ERR_STATE,
                                   "parameter %d: of several ranks all are at "
                                   "one update",
                                   param);
    if (status == CZR_OK && step < engine->steps)
        status = take_scalars(engine, param);
    if (status == CZR_OK)
        engine->bindings[param].n_skips = engine->steps - step;
    czr_engine_unlock(engine);
    return status;
}

void czr_phase_fill_scalars(czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int param = 0; param < program->n_params; param++) {
        const czr_binding *own = &engine->bindings[param];
        if (own->n_skips)
            program->prologue((double)(engine->steps + 1 - own->n_skips),
                              engine->clip, engine->hypers, own->scalars);
    }
}

void czr_phase_note_absent(czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++)
        engine->bindings[param].n_skips += engine->bindings[param].is_absent;
}

bool czr_phase_any_absent(const czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++)
        if (engine->bindings[param].n_skips)
            return true;
    return false;
}

void czr_phase_close(czr_engine *engine)
{
    for (int param = 0; engine->bindings && param < engine->program->n_params;
         param++)
        czr_free(engine->bindings[param].scalars);
}
