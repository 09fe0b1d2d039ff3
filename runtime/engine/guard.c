/* Between gradients and updates: one decision of all ranks whether rules can
 * compute with what came.  Reductions note the largest magnitude as they go;
 * only where it is too large for some rule are gradients read again, each with
 * the limit of its own. */
#include "runtime/engine/engine.h"

#include <stdio.h>

/* Of f32: an exponent of 2^128 is that of infinities and NaN. */
enum { FRACTION_BITS = 23, BIAS = 127, ALL_FINITE = 128 };

/* Bits of the least magnitude that is too large. */
int32_t czr_guard_limit(const czr_states *rule)
{
    return ((rule->limit ? rule->limit : ALL_FINITE) + BIAS) << FRACTION_BITS;
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
    const czr_spaces *spaces = &engine->spaces[place->bucket];
    const czr_range range = engine->held[param].range;
    const int32_t limit = czr_guard_limit(&program->states[place->rule]);

    for (int64_t i = 0; i < range.n; i++) {
        int32_t bits;
        memcpy(&bits, spaces->reduced + (range.first - spaces->slice.first + i),
               sizeof bits);
        if ((bits & INT32_MAX) >= limit)
            return true;
    }
    return false;
}

/* The first parameter whose gradient is too large; -1: none is. */
static int find_beyond(const czr_engine *engine)
{
    for (int param = 0; param < engine->program->n_params; param++)
        if (is_beyond(engine, param))
            return param;
    return -1;
}

czr_status czr_guard_sum(czr_engine *engine, int64_t *counts, size_t n)
{
    char why[CZR_WHY_BYTES];
    const czr_unit unit = {
        .kind = CZR_UNIT_ALL_REDUCE,
        .op = -1,
        .of.all_reduce = {.data = counts, .count = n, .type = CZR_SUM_I64}};

    const czr_status status =
        czr_comm_run(engine->world->everyone[CZR_CHANNEL_PLAN], &unit, why);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(engine, status,
                                   "agreeing with other ranks: %s", why);
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

/* The limit of some rule was reached: is it by a gradient of that rule? */
static czr_status find_and_skip(czr_engine *engine)
{
    const int param = find_beyond(engine);
    int64_t n = param >= 0;
    const czr_status status = czr_guard_sum(engine, &n, 1);

    if (status == CZR_OK && n > 0)
        czr_guard_skip_for(engine, param);
    return status;
}

void czr_guard_skip(czr_engine *engine, const char *why)
{
    engine->is_skipped = true;
    if (!engine->program->skip)
        engine->refusal =
            czr_engine_refuse(engine, CZR_ERR_GRADIENT, "%s", why);
}

czr_status czr_guard(czr_engine *engine)
{
    enum { BEYOND, FAULTY, N_COUNTS };

    engine->is_guarded = true;
    if (engine->program->clip > 0)
        return CZR_OK; /* the norm says whether all are finite */
    czr_status status = engine->device->ops->finish(engine->device);
    int64_t counts[N_COUNTS] = {[BEYOND] = may_be_beyond(engine),
                                [FAULTY] = engine->fault.status != CZR_OK};
    if (status == CZR_OK)
        status = czr_guard_sum(engine, counts, N_COUNTS);
    if (status != CZR_OK)
        return status;
    if (counts[FAULTY] > 0) {
        engine->is_faulty = engine->is_skipped = true;
        return CZR_OK;
    }
    return counts[BEYOND] > 0 ? find_and_skip(engine) : CZR_OK;
}
