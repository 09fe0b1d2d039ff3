/* The guard: one decision of all ranks whether rules can compute with the
 * gradients that came.  Reductions note the largest magnitude as they go;
 * only where it is too large for some rule are gradients read again, each with
 * the limit of its own. */
#include "runtime/engine/engine.h"

#include <stdio.h>

/* Of f32: an exponent of 2^128 is that of infinities and NaN. */
enum { FRACTION_BITS = 23, BIAS = 127, ALL_FINITE = 128 };

/* Bits of the least magnitude that is too large. */
int32_t czr_guard_limit(const czr_states *rule)
{
    const int32_t limit = rule && rule->limit ? rule->limit : ALL_FINITE;

    return (limit + BIAS) << FRACTION_BITS;
}

static bool may_be_beyond(const czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int rule = 0; rule < program->n_rules; rule++)
        if (engine->largest >= czr_guard_limit(&program->states[rule]))
            return true;
    return false;
}

static bool is_beyond(const czr_engine *engine, int param)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_range range = engine->held[param].range;
    const float *reduced =
        range.n ? czr_reduced_at(engine, param, range.first) : NULL;
    const int32_t limit = czr_guard_limit(&program->states[place->rule]);

    for (int64_t i = 0; i < range.n; i++) {
        int32_t bits;
        memcpy(&bits, reduced + i, sizeof bits);
        if ((bits & INT32_MAX) >= limit)
            return true;
    }
    return false;
}

/* The first parameter whose gradient is too large; -1: none is. */
static int find_beyond(const czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++)
        if (!engine->bindings[param].is_absent && is_beyond(engine, param))
            return param;
    return -1;
}

void czr_guard_skip_for(czr_engine *engine, int param)
{
    char name[128], why[CZR_ERROR_BYTES];

    if (param < 0) {
        czr_guard_skip(engine, "a gradient of another rank is not finite, or "
                               "too large for its rule");
        return;
    }
    czr_program_name(engine->program, param, engine->rank, name, sizeof name);
    const int limit =
        engine->program->states[engine->program->places[param].rule].limit;
    snprintf(why, sizeof why,
             "%s: an element of its gradient is not finite, or not below 2^%d",
             name, limit ? limit : ALL_FINITE);
    czr_guard_skip(engine, why);
}

void czr_guard_skip(czr_engine *engine, const char *why)
{
    engine->is_skipped = true;
    if (!engine->program->skip)
        engine->refusal =
            czr_engine_refuse(engine, CZR_ERR_GRADIENT, "%s", why);
}

void czr_guard_sum(int64_t *words, int n, czr_segment *segment)
{
    segment->has_collective = true;
    segment->collective = (czr_collective){
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .of.all_reduce = {
            .data = words, .count = (size_t)n, .type = CZR_SUM_I64}};
}

enum { BEYOND, FAULTY, N_COUNTS };
_Static_assert((int)N_COUNTS <= (int)CZR_ENGINE_COUNTS, "room for counts");

/* Could an element be too large for some rule, has a rule failed, and are ranks
 * in the same step? */
static void ask(czr_engine *engine, czr_segment *segment)
{
    engine->counts[BEYOND] = may_be_beyond(engine);
    engine->counts[FAULTY] = engine->fault.status != CZR_OK;
    czr_identity_put(engine);
    czr_guard_sum(engine->rank_words, engine->world->size + N_COUNTS, segment);
}

/* The limit of some rule was reached: is it by a gradient of that rule? */
static czr_status look(czr_engine *engine, czr_segment *segment)
{
    const czr_status status = czr_identity_check(engine);

    if (status != CZR_OK)
        return status;
    engine->is_faulty = engine->counts[FAULTY] > 0;
    engine->is_skipped |= engine->is_faulty;
    segment->is_last = engine->is_faulty || engine->counts[BEYOND] == 0;
    if (segment->is_last)
        return CZR_OK;
    engine->beyond = find_beyond(engine);
    engine->counts[BEYOND] = engine->beyond >= 0;
    czr_guard_sum(engine->counts, 1, segment);
    return CZR_OK;
}

czr_status czr_op_guard(czr_engine *engine, int op, czr_segment *segment)
{
    enum { ASK, LOOK, SKIP };

    (void)op;
    switch (segment->number) {
    case ASK:
        ask(engine, segment);
        break;
    case LOOK:
        return look(engine, segment);
    default:
        segment->is_last = true;
        if (engine->counts[BEYOND] > 0)
            czr_guard_skip_for(engine, engine->beyond);
        break;
    }
    return CZR_OK;
}
