/* Externs: what the trainer gives before each step.  They lie among the states
 * of the matrix's owner; every rank that has the parameter keeps account. */
#include "runtime/engine/engine.h"
#include "runtime/base/memory.h"

static const czr_state_desc *desc_of(const czr_engine *engine, int param, int k)
{
    const czr_program *program = engine->program;

    return &program->states[program->places[param].rule].of[k];
}

/* Lists those of parameters resident; with `externs` NULL it only counts. */
static int list_externs(const czr_engine *engine, czr_extern *externs)
{
    const czr_program *program = engine->program;
    int n = 0;

    for (int param = 0; param < program->n_params; param++) {
        const czr_states *states =
            &program->states[program->places[param].rule];
        if (!czr_program_has_param(program, param, engine->rank))
            continue;
        for (int k = 0; k < states->n; k++) {
            if (!states->of[k].is_extern)
                continue;
            if (externs)
                externs[n] = (czr_extern){.param = param, .state = k};
            n++;
        }
    }
    return n;
}

czr_status czr_externs_open(czr_engine *engine)
{
    engine->n_externs = list_externs(engine, NULL);
    engine->externs =
        czr_alloc((size_t)engine->n_externs, sizeof *engine->externs);
    if (!engine->externs)
        return CZR_ERR_NO_MEMORY;
    list_externs(engine, engine->externs);
    return CZR_OK;
}

czr_status czr_externs_check(czr_engine *engine)
{
    char name[CZR_ERROR_BYTES];

    for (int i = 0; i < engine->n_externs; i++) {
        const czr_extern *e = &engine->externs[i];
        if (e->is_given)
            continue;
        czr_program_name(engine->program, e->param, engine->rank, name,
                         sizeof name);
        return czr_engine_poison(
            engine, CZR_ERR_EXTERN, "the extern %s of %s was not given",
            desc_of(engine, e->param, e->state)->name, name);
    }
    return CZR_OK;
}

void czr_externs_take(czr_engine *engine)
{
    for (int i = 0; i < engine->n_externs; i++)
        engine->externs[i].is_given = false;
}

/* ---- for callers ------------------------------------------------------- */

static czr_extern *find_extern(czr_engine *engine, int param, const char *name)
{
    for (int i = 0; i < engine->n_externs; i++) {
        czr_extern *e = &engine->externs[i];
        if (e->param == param &&
            strcmp(desc_of(engine, param, e->state)->name, name) == 0)
            return e;
    }
    return NULL;
}

static czr_status give(czr_engine *engine, const char *param, const char *name,
                       const float *values, size_t n)
{
    int number;
    czr_status status = czr_bind_find(engine, param, &number);

    if (status != CZR_OK)
        return status;
    if (!name || !values)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                 "an extern of %s without name or values",
                                 param);
    czr_extern *e = find_extern(engine, number, name);
    if (!e)
        return czr_engine_refuse(engine, CZR_ERR_NOT_FOUND,
                                 "%s has no extern %s", param, name);
    const czr_state_desc *desc = desc_of(engine, number, e->state);
    const size_t wanted = (size_t)(desc->rows * desc->columns);
    if (n != wanted)
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "the extern %s of %s has %zu elements, not "
                                 "%zu",
                                 name, param, wanted, n);
    if (engine->held[number].owns)
        engine->device->ops->copy(engine->device,
                                  czr_spaces_state(engine, number, e->state, 0),
                                  values, n * sizeof *values);
    e->is_given = true;
    return CZR_OK;
}

czr_status czr_extern_set(czr_engine *engine, const char *param,
                          const char *name, const float *values, size_t n)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    czr_status status = engine->status;
    if (status == CZR_OK && !engine->is_sealed)
        status = czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    if (status == CZR_OK)
        status = give(engine, param, name, values, n);
    czr_engine_unlock(engine);
    return status;
}

int czr_extern_count(const czr_engine *engine)
{
    return engine ? engine->n_externs : 0;
}

czr_status czr_extern_get(czr_engine *engine, int number, czr_extern_info *out)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (!out || number < 0 || number >= engine->n_externs)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT, "no extern %d",
                                 number);
    const czr_extern *e = &engine->externs[number];
    const czr_state_desc *desc = desc_of(engine, e->param, e->state);
    *out = (czr_extern_info){.name = desc->name,
                             .param = e->param,
                             .rows = desc->rows,
                             .columns = desc->columns};
    return CZR_OK;
}
