/* The phase of every rule and the body of every stage at an update: rules may
 * differ from one update to the next. */
#include "runtime/engine.h"

static bool fires(const czr_event *event, int64_t t)
{
    if (t < event->start)
        return false;
    return event->period == 0 ? t == event->start
                              : (t - event->start) % event->period == 0;
}

int czr_phase_at(const czr_phases *phases, int64_t t)
{
    uint32_t fired = 0;

    for (int e = 0; e < phases->n_events; e++)
        fired |= (uint32_t)fires(&phases->events[e], t) << e;
    for (int p = 0; p < phases->n_phases; p++)
        if (phases->fires[p] == fired)
            return p;
    return -1;
}

static czr_status choose_phases(czr_engine *engine, int64_t t)
{
    const czr_program *program = engine->program;

    for (int r = 0; program->phases && r < program->n_rules; r++) {
        const int phase =
            program->phases[r] ? czr_phase_at(program->phases[r], t) : 0;
        if (phase < 0)
            return czr_engine_poison(engine, CZR_ERR_VERSION,
                                     "rule %d has no phase for update %lld", r,
                                     (long long)t);
        engine->phases[r] = (uint8_t)phase;
    }
    return CZR_OK;
}

static czr_status choose_bodies(czr_engine *engine, int64_t t)
{
    const czr_program *program = engine->program;

    for (int s = 0; s < program->n_stages; s++) {
        const czr_variants *variants =
            program->variants ? &program->variants[s] : NULL;
        engine->bodies[s] = program->stages[s].run;
        if (!variants || !variants->phases)
            continue;
        const int phase = czr_phase_at(variants->phases, t);
        if (phase < 0)
            return czr_engine_poison(engine, CZR_ERR_VERSION,
                                     "stage %d has no body for update %lld", s,
                                     (long long)t);
        engine->bodies[s] = variants->run[phase];
    }
    return CZR_OK;
}

czr_status czr_phase_choose(czr_engine *engine, int64_t t)
{
    const czr_status status = choose_bodies(engine, t);

    return status == CZR_OK ? choose_phases(engine, t) : status;
}
