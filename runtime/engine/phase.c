/* The phase of every parameter at an update: rules may differ from one update
 * to the next, and where they are staggered from one parameter to the next. */
#include "runtime/engine/engine.h"

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

/* Neighbours mostly have one rule and one turn. */
czr_status czr_phase_choose(czr_engine *engine, int64_t t)
{
    const czr_program *program = engine->program;
    const czr_place *last = NULL;
    int phase = 0;

    for (int p = 0; program->phases && p < program->n_params; p++) {
        const czr_place *place = &program->places[p];
        const czr_phases *phases = program->phases[place->rule];
        if (!last || last->rule != place->rule ||
            last->stagger_offset != place->stagger_offset)
            phase = phases ? phase_at(phases, place->stagger_offset, t) : 0;
        if (phase < 0)
            return czr_engine_poison(engine, CZR_ERR_VERSION,
                                     "rule %d has no phase for update %lld",
                                     (int)place->rule, (long long)t);
        engine->phases[p] = (uint8_t)phase;
        last = place;
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
