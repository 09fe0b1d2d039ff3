/* States: where each lies on the rank, how it begins, the list of them. */
#include "runtime/engine/engine.h"

#include "runtime/base/memory.h"

static const czr_states *states_of(const czr_engine *engine, int param)
{
    return &engine->program->states[engine->program->places[param].rule];
}

static bool is_whole(const czr_state_desc *state)
{
    return state->rows > 0;
}

/* ---- memory -------------------------------------------------------------- */

static czr_held find_held(const czr_engine *engine, int param)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_range slice = engine->spaces[place->bucket].slice;
    const int64_t n = czr_program_shard(program, param, engine->rank).n;

    return (czr_held){
        .range = czr_range_overlap(slice, (czr_range){place->offset, n}),
        .owns = czr_program_is_owner(program, param, engine->rank)};
}

/* Elements of a state that this rank has. */
static int64_t count_elements(const czr_held *held, const czr_state_desc *state)
{
    if (!is_whole(state))
        return held->range.n;
    return held->owns ? state->rows * state->columns : 0;
}

/* Of the first `n` states of what is held. */
static int64_t state_bytes(const czr_states *states, int n,
                           const czr_held *held)
{
    int64_t bytes = 0;

    for (int k = 0; k < n; k++)
        bytes +=
            (int64_t)czr_round_up((size_t)count_elements(held, &states->of[k]) *
                                  czr_dtype_bytes(states->of[k].dtype));
    return bytes;
}

unsigned char *czr_spaces_state(const czr_engine *engine, int param, int k,
                                int64_t offset)
{
    const czr_states *states = states_of(engine, param);
    const czr_state_desc *state = &states->of[k];
    const czr_held *held = &engine->held[param];
    const int bucket = engine->program->places[param].bucket;
    unsigned char *first =
        engine->spaces[bucket].states + held->at + state_bytes(states, k, held);

    return is_whole(state) ? first
                           : first + (offset - held->range.first) *
                                         (int64_t)czr_dtype_bytes(state->dtype);
}

/* ---- first values -------------------------------------------------------- */

static void fill_state(czr_engine *engine, int param, int k)
{
    const czr_state_desc *state = &states_of(engine, param)->of[k];
    const czr_held *held = &engine->held[param];
    const int64_t n = count_elements(held, state);
    unsigned char *data = czr_spaces_state(engine, param, k, held->range.first);

    const size_t side = (size_t)state->columns;

    if (n == 0)
        return;
    engine->device->ops->fill(engine->device, data, state->dtype,
                              state->diagonal ? 0 : (double)state->init,
                              (size_t)n, 1);
    if (state->diagonal)
        engine->device->ops->fill(engine->device, data, state->dtype,
                                  (double)state->init, side, side + 1);
}

static czr_status open_memory(czr_engine *engine)
{
    const czr_program *program = engine->program;
    int64_t *bytes = czr_alloc((size_t)program->n_buckets, sizeof *bytes);
    czr_status status = bytes ? CZR_OK : CZR_ERR_NO_MEMORY;

    engine->held = czr_alloc((size_t)program->n_params, sizeof *engine->held);
    if (!engine->held)
        status = CZR_ERR_NO_MEMORY;
    if (status == CZR_OK) {
        /* Bytes of each bucket's states into `bytes`. */
        for (int p = 0; p < program->n_params; p++) {
            int64_t *end = &bytes[program->places[p].bucket];
            const czr_states *states = states_of(engine, p);
            engine->held[p] = find_held(engine, p);
            engine->held[p].at = *end;
            *end += state_bytes(states, states->n, &engine->held[p]);
        }
    }
    for (int b = 0; b < program->n_buckets && status == CZR_OK; b++) {
        engine->spaces[b].state_bytes = (size_t)bytes[b];
        engine->spaces[b].states =
            engine->device->ops->alloc(engine->device, (size_t)bytes[b], 1);
        if (!engine->spaces[b].states)
            status = CZR_ERR_NO_MEMORY;
        else if (!engine->cuda)
            czr_prefer_large_pages(engine->spaces[b].states, (size_t)bytes[b]);
    }
    czr_free(bytes);
    return status;
}

/* ---- the list ------------------------------------------------------------ */

/* The part that this rank has. */
static czr_state state_of(const czr_engine *engine, int param, int k)
{
    const czr_state_desc *state = &states_of(engine, param)->of[k];
    const czr_held *held = &engine->held[param];
    const int64_t n = count_elements(held, state);

    return (czr_state){
        .name = state->name,
        .param = param,
        .dtype = state->dtype,
        .first = is_whole(state) ? 0
                                 : held->range.first -
                                       engine->program->places[param].offset,
        .n = n,
        .data = n > 0 ? czr_spaces_state(engine, param, k, held->range.first)
                      : NULL,
        .rows = state->rows,
        .columns = state->columns,
        .symmetric = state->symmetric};
}

/* Lists the states without the externs; with `states` NULL it only counts. */
static int list_states(const czr_engine *engine, czr_state *states)
{
    const czr_program *program = engine->program;
    int n = 0;

    for (int param = 0; param < program->n_params; param++) {
        for (int k = 0; k < states_of(engine, param)->n; k++) {
            const czr_state state = state_of(engine, param, k);
            const bool is_listed =
                state.n > 0 && !states_of(engine, param)->of[k].is_extern;
            if (is_listed && states)
                states[n] = state;
            n += is_listed;
        }
    }
    return n;
}

czr_status czr_states_open(czr_engine *engine)
{
    const czr_program *program = engine->program;
    const czr_status status = open_memory(engine);

    if (status != CZR_OK)
        return status;
    for (int p = 0; p < program->n_params; p++)
        for (int k = 0; k < states_of(engine, p)->n; k++)
            fill_state(engine, p, k);
    engine->n_states = list_states(engine, NULL);
    engine->states =
        czr_alloc((size_t)engine->n_states, sizeof *engine->states);
    if (!engine->states)
        return CZR_ERR_NO_MEMORY;
    list_states(engine, engine->states);
    return czr_externs_open(engine);
}

/* ---- for callers ------------------------------------------------------- */

int czr_state_count(const czr_engine *engine)
{
    return engine ? engine->n_states : 0;
}

czr_status czr_state_get(czr_engine *engine, int state, czr_state *out)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (!out || state < 0 || state >= engine->n_states)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT, "no state %d",
                                 state);
    engine->has_given_states = true;
    *out = engine->states[state];
    return CZR_OK;
}

czr_status czr_master_get(czr_engine *engine, int param, czr_state *out)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    const czr_program *program = engine->program;
    if (!out || param < 0 || param >= program->n_params)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT, "no parameter %d",
                                 param);
    if (engine->status != CZR_OK)
        return engine->status;
    if (!engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    czr_spaces_take_masters_now(engine);
    czr_written_allow(engine, param);
    const czr_place *place = &program->places[param];
    const czr_spaces *spaces = &engine->spaces[place->bucket];
    const czr_range range = engine->held[param].range;
    const bool has_any = spaces->master && range.n > 0;
    const size_t bytes = czr_dtype_bytes(program->master_dtype);
    *out = (czr_state){
        .name = "master",
        .param = param,
        .dtype = program->master_dtype,
        .first = range.first - place->offset,
        .n = has_any ? range.n : 0,
        .data = has_any
                    ? spaces->master +
                          (size_t)(range.first - spaces->slice.first) * bytes
                    : NULL};
    return CZR_OK;
}

czr_status czr_masters_renew(czr_engine *engine)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    engine->has_masters = false;
    return engine->status;
}

/* ---- before a step ------------------------------------------------------ */

void czr_states_mirror(czr_engine *engine)
{
    for (int i = 0; engine->has_given_states && i < engine->n_states; i++) {
        const czr_state *state = &engine->states[i];
        if (state->symmetric)
            engine->device->ops->mirror_lower(
                engine->device, state->data, state->dtype, (size_t)state->rows);
    }
    engine->has_given_states = false;
}
