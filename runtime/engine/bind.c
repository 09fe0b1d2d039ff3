/* Where parameters lie, and what the caller binds to them. */
#include "runtime/engine/engine.h"

int czr_param_count(const czr_engine *engine)
{
    return engine ? engine->program->n_params : 0;
}

czr_status czr_param_name(const czr_engine *engine, int param, char *name,
                          size_t n)
{
    if (!engine || param < 0 || param >= engine->program->n_params || !name ||
        !n)
        return CZR_ERR_ARGUMENT;
    return czr_program_name(engine->program, param, engine->rank, name, n) < n
               ? CZR_OK
               : CZR_ERR_ARGUMENT;
}

const char *czr_param_group(const czr_engine *engine, int param)
{
    if (!engine || param < 0 || param >= engine->program->n_params)
        return NULL;
    return engine->program->states[engine->program->places[param].rule]
        .param_group;
}

int czr_hyper_count(const czr_engine *engine)
{
    return engine ? engine->program->n_hypers : 0;
}

czr_status czr_hyper_get(const czr_engine *engine, int number,
                         czr_hyper_desc *out)
{
    if (!out || number < 0 || number >= czr_hyper_count(engine))
        return CZR_ERR_ARGUMENT;
    *out = engine->program->hypers[number];
    return CZR_OK;
}

static void fill_layout(const czr_engine *engine, int param,
                        czr_layout_info *out)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_bucket *bucket = &program->buckets[place->bucket];
    const czr_spaces *spaces = &engine->spaces[place->bucket];
    const czr_shard shard = czr_program_shard(program, param, engine->rank);
    const size_t offset = (size_t)place->offset;

    *out = (czr_layout_info){
        .bucket = place->bucket,
        .offset = place->offset,
        .n = shard.n,
        .param = spaces->param + offset * czr_dtype_bytes(bucket->dtype),
        .grad = spaces->grad + offset * czr_dtype_bytes(bucket->grad_dtype),
        .param_dtype = bucket->dtype,
        .grad_dtype = bucket->grad_dtype,
        .n_grads = bucket->n_grads,
        .grad_stride = bucket->length,
        .n_dims = shard.n_dims};
    memcpy(out->shape, shard.shape, sizeof out->shape);
    memcpy(out->start, shard.start, sizeof out->start);
    memcpy(out->global, czr_program_pattern(program, param)->shape,
           sizeof out->global);
}

/* A stored tensor's shard; it has no place in the engine. */
static void fill_storage(const czr_engine *engine, const czr_storage *storage,
                         czr_layout_info *out)
{
    const czr_program *program = engine->program;
    /* The bucket of one of its pieces; all of them have gradients alike. */
    const int first =
        program->patterns[storage->patterns[0].pattern].first_param;

    const czr_bucket *bucket = &program->buckets[program->places[first].bucket];
    const czr_shard shard =
        czr_pattern_shard(program, &storage->of, engine->rank);

    *out = (czr_layout_info){.bucket = -1,
                             .offset = -1,
                             .n = shard.n,
                             .param_dtype = (czr_dtype)storage->of.dtype,
                             .grad_dtype = bucket->grad_dtype,
                             .n_grads = bucket->n_grads,
                             .n_dims = shard.n_dims};
    memcpy(out->shape, shard.shape, sizeof out->shape);
    memcpy(out->start, shard.start, sizeof out->start);
    memcpy(out->global, storage->of.shape, sizeof out->global);
}

static const czr_storage *find_storage(const czr_engine *engine,
                                       const char *name, int *member)
{
    return name ? czr_program_find_storage(engine->program, name, engine->rank,
                                           member)
                : NULL;
}

static int find(const czr_engine *engine, const char *name)
{
    return name ? czr_program_find(engine->program, name, engine->rank) : -1;
}

static czr_status why_absent(const czr_engine *engine, const char *name)
{
    if (!name)
        return CZR_ERR_NOT_FOUND;
    if (czr_program_is_frozen(engine->program, name))
        return CZR_ERR_FROZEN;
    int member;
    return czr_program_find(engine->program, name, -1) >= 0 ||
                   czr_program_find_storage(engine->program, name, -1, &member)
               ? CZR_ERR_ELSEWHERE
               : CZR_ERR_NOT_FOUND;
}

static czr_status refuse_absent(czr_engine *engine, const char *name)
{
    const czr_status status = why_absent(engine, name);

    if (status == CZR_ERR_FROZEN)
        return czr_engine_refuse(engine, status,
                                 "%s is frozen: nothing trains it", name);
    if (status == CZR_ERR_ELSEWHERE)
        return czr_engine_refuse(engine, status,
                                 "%s is a parameter of other ranks", name);
    return czr_engine_refuse(engine, status, "no tensor %s",
                             name ? name : "without a name");
}

czr_status czr_bind_find(czr_engine *engine, const char *name, int *param)
{
    int member;

    if (find_storage(engine, name, &member))
        return czr_engine_refuse(engine, CZR_ERR_NOT_FOUND,
                                 "%s holds several matrices: name one", name);
    *param = find(engine, name);
    return *param < 0 ? refuse_absent(engine, name) : CZR_OK;
}

czr_status czr_layout(const czr_engine *engine, const char *name,
                      czr_layout_info *out)
{
    if (!engine || !out || !engine->spaces)
        return CZR_ERR_ARGUMENT;
    const int param = find(engine, name);
    int member;
    const czr_storage *storage = find_storage(engine, name, &member);
    if (storage) {
        fill_storage(engine, storage, out);
        return CZR_OK;
    }
    if (param < 0)
        return why_absent(engine, name);
    fill_layout(engine, param, out);
    return CZR_OK;
}

/* What a bound tensor has to be. */
typedef struct wanted {
    const char *what;
    czr_dtype dtype;
    int n_dims;
    int64_t shape[9];
    int64_t outer_stride; /* of the place, for its leading dimension */
    void *place;
} wanted;

static wanted wanted_param(const czr_layout_info *info)
{
    wanted result = {.what = "parameter",
                     .dtype = info->param_dtype,
                     .n_dims = info->n_dims,
                     .place = info->param};

    memcpy(result.shape, info->shape, sizeof info->shape);
    return result;
}

static wanted wanted_grad(const czr_layout_info *info)
{
    const int lead = info->n_grads > 1;
    wanted result = {.what = "gradient",
                     .dtype = info->grad_dtype,
                     .n_dims = info->n_dims + lead,
                     .outer_stride = lead ? info->grad_stride : 0,
                     .place = info->grad};

    result.shape[0] = info->n_grads;
    memcpy(result.shape + lead, info->shape, sizeof info->shape);
    return result;
}

/* Strides as they are with none given, of an array of the wanted shape. */
static void contiguous_strides(const wanted *want, int64_t *strides)
{
    int64_t stride = 1;

    for (int d = want->n_dims - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= want->shape[d];
    }
}

static bool is_in_place(const wanted *want, const int64_t *strides)
{
    int64_t expected[9];

    contiguous_strides(want, expected);
    if (want->outer_stride)
        expected[0] = want->outer_stride;
    for (int d = 0; d < want->n_dims; d++)
        if (want->shape[d] > 1 && strides[d] != expected[d])
            return false;
    return true;
}

/* Elements that no memory has: what is behind them is out of reach, and so is
 * arithmetic with their places. */
static const int64_t FARTHEST = INT64_C(1) << 47;

/* Takes one tensor, or says why not. */
static czr_status bind_one(czr_engine *engine, const char *name,
                           const wanted *want, const czr_tensor *tensor,
                           czr_loose *out)
{
    *out = (czr_loose){.data = NULL};
    if (!tensor || !tensor->data)
        return CZR_OK;
    if (tensor->dtype != want->dtype)
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "%s: the %s has another type", name,
                                 want->what);
    if (want->n_dims && !tensor->shape)
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "%s: the %s has no shape", name, want->what);
    if (tensor->n_dims != want->n_dims)
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "%s: the %s has %d dimensions, not %d", name,
                                 want->what, tensor->n_dims, want->n_dims);
    contiguous_strides(want, out->strides);
    for (int d = 0; d < want->n_dims; d++) {
        if (tensor->shape[d] != want->shape[d])
            return czr_engine_refuse(
                engine, CZR_ERR_SHAPE,
                "%s: dimension %d of the %s is %lld, not %lld", name, d,
                want->what, (long long)tensor->shape[d],
                (long long)want->shape[d]);
        out->shape[d] = want->shape[d];
        if (tensor->strides)
            out->strides[d] = tensor->strides[d];
        const int64_t most = FARTHEST / (want->shape[d] ? want->shape[d] : 1);
        if (out->strides[d] > most || out->strides[d] < -most)
            return czr_engine_refuse(
                engine, CZR_ERR_SHAPE,
                "%s: the stride of dimension %d of the %s is %lld", name, d,
                want->what, (long long)out->strides[d]);
    }
    if (tensor->data == want->place)
        return is_in_place(want, out->strides)
                   ? CZR_OK
                   : czr_engine_refuse(
                         engine, CZR_ERR_SHAPE,
                         "%s: the %s lies in its place with other strides",
                         name, want->what);
    out->n_dims = want->n_dims;
    out->data = tensor->data;
    return CZR_OK;
}

/* Of a dimension that lies in one block: as one without blocks. */
static void join_block(czr_loose *loose, int d)
{
    const czr_blocks blocks = loose->blocks[d];
    const int64_t first = blocks.phase % blocks.block;

    if (first + loose->shape[d] > blocks.block)
        return;
    loose->origin +=
        blocks.phase / blocks.block * blocks.jump + first * loose->strides[d];
    loose->blocks[d] = (czr_blocks){.block = 0};
}

/* The part of a bound tensor that holds a piece, or its `k`-th one of a batch.
 * With leaves the tensor has one more dimension, which the piece has whole. */
static void take_piece(const czr_engine *engine, const czr_storage *storage,
                       const czr_stored_pattern *piece, int k, czr_loose *loose)
{
    const czr_program *program = engine->program;
    const czr_pattern *pattern = &program->patterns[piece->pattern];
    const czr_shard all =
        czr_pattern_shard(program, &storage->of, engine->rank);
    const czr_shard own = czr_pattern_shard(program, pattern, engine->rank);
    const int lead = loose->n_dims - own.n_dims - piece->batch;

    if (piece->batch) {
        loose->origin += k * loose->strides[lead];
        loose->shape[lead] = 1;
    }
    for (int own_d = 0; own_d < own.n_dims; own_d++) {
        const int d = own_d + piece->batch;
        const int64_t *map = piece->map[d];
        const int64_t stride = loose->strides[d + lead];
        loose->origin += (map[0] - all.start[d]) * stride;
        loose->shape[d + lead] = own.shape[own_d];
        loose->blocks[d + lead] = (czr_blocks){.phase = own.start[own_d],
                                               .block = map[1],
                                               .jump = map[2] * stride};
        join_block(loose, d + lead);
    }
}

/* Goes through the pieces of a stored tensor, from {storage, member} on. */
typedef struct piece_walk {
    const czr_storage *storage;
    int member;
    int pattern, k; /* of the next piece */
    const czr_stored_pattern *piece;
    int at, param; /* of this one: its place in a batch, its number */
} piece_walk;

static bool next_piece(const czr_program *program, piece_walk *walk)
{
    while (walk->pattern < walk->storage->n_patterns) {
        walk->piece = &walk->storage->patterns[walk->pattern];
        const int n = czr_stored_batch(program, walk->piece);
        walk->at = walk->k++;
        walk->param = program->patterns[walk->piece->pattern].first_param +
                      walk->member * n + walk->at;
        if (walk->at < n)
            return true;
        walk->pattern++;
        walk->k = 0;
    }
    return false;
}

static czr_status bind_storage(czr_engine *engine, const char *name,
                               const czr_storage *storage, int member,
                               const czr_tensor *param, const czr_tensor *grad)
{
    czr_layout_info info;
    czr_loose loose_param, loose_grad;

    if (!param || !param->data || !grad || !grad->data)
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "%s holds several matrices or padding and has "
                                 "no place here: bind both of its tensors",
                                 name);
    fill_storage(engine, storage, &info);
    const wanted for_param = wanted_param(&info), for_grad = wanted_grad(&info);
    czr_status status = bind_one(engine, name, &for_param, param, &loose_param);
    if (status == CZR_OK)
        status = bind_one(engine, name, &for_grad, grad, &loose_grad);
    piece_walk walk = {.storage = storage, .member = member};
    while (status == CZR_OK && next_piece(engine->program, &walk)) {
        czr_binding binding = {
            .is_bound = true, .param = loose_param, .grad = loose_grad};
        take_piece(engine, storage, walk.piece, walk.at, &binding.param);
        take_piece(engine, storage, walk.piece, walk.at, &binding.grad);
        engine->bindings[walk.param] = binding;
        czr_loose_use(engine, walk.param);
    }
    return status;
}

czr_status czr_bind(czr_engine *engine, const char *name,
                    const czr_tensor *param, const czr_tensor *grad)
{
    czr_layout_info info;
    czr_binding binding = {.is_bound = true};

    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (engine->status != CZR_OK)
        return engine->status;
    if (engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "sealed already");
    int member;
    const czr_storage *storage = find_storage(engine, name, &member);
    if (storage)
        return bind_storage(engine, name, storage, member, param, grad);
    const int number = find(engine, name);
    if (number < 0)
        return refuse_absent(engine, name);
    fill_layout(engine, number, &info);
    const wanted for_param = wanted_param(&info), for_grad = wanted_grad(&info);
    czr_status status =
        bind_one(engine, name, &for_param, param, &binding.param);
    if (status == CZR_OK)
        status = bind_one(engine, name, &for_grad, grad, &binding.grad);
    if (status != CZR_OK)
        return status;
    engine->bindings[number] = binding;
    czr_loose_use(engine, number);
    return CZR_OK;
}

/* Whether the gradient of this step may lie elsewhere. */
static czr_status check_grad(czr_engine *engine, const char *name, int param)
{
    if (!engine->bindings[param].is_bound)
        return czr_engine_refuse(engine, CZR_ERR_UNBOUND, "%s is not bound",
                                 name);
    if (engine->bindings[param].is_ready)
        return czr_engine_refuse(engine, CZR_ERR_STATE,
                                 "%s: czr_grad_ready has come", name);
    return CZR_OK;
}

static czr_status bind_grad(czr_engine *engine, const char *name,
                            const czr_tensor *grad)
{
    czr_layout_info info;
    czr_loose loose;
    int member;
    const czr_storage *storage = find_storage(engine, name, &member);
    const int number = storage ? -1 : find(engine, name);

    if (engine->status != CZR_OK)
        return engine->status;
    if (!storage && number < 0)
        return refuse_absent(engine, name);
    if (storage && (!grad || !grad->data))
        return czr_engine_refuse(engine, CZR_ERR_SHAPE,
                                 "%s holds several matrices or padding and has "
                                 "no place here: bind its gradient",
                                 name);
    if (storage)
        fill_storage(engine, storage, &info);
    else
        fill_layout(engine, number, &info);
    const wanted want = wanted_grad(&info);
    czr_status status = bind_one(engine, name, &want, grad, &loose);
    piece_walk walk = {.storage = storage, .member = member};
    if (!storage && status == CZR_OK)
        status = check_grad(engine, name, number);
    while (storage && status == CZR_OK && next_piece(engine->program, &walk))
        status = check_grad(engine, name, walk.param);
    if (status != CZR_OK)
        return status;
    if (!storage) {
        engine->bindings[number].grad = loose;
        engine->bindings[number].is_reduced =
            engine->bindings[number].is_absent = false;
        czr_loose_use(engine, number);
    }
    walk = (piece_walk){.storage = storage, .member = member};
    while (storage && next_piece(engine->program, &walk)) {
        czr_loose *own = &engine->bindings[walk.param].grad;
        *own = loose;
        engine->bindings[walk.param].is_reduced =
            engine->bindings[walk.param].is_absent = false;
        take_piece(engine, storage, walk.piece, walk.at, own);
        czr_loose_use(engine, walk.param);
    }
    return CZR_OK;
}

czr_status czr_grad_bind(czr_engine *engine, const char *name,
                         const czr_tensor *grad)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const czr_status status = bind_grad(engine, name, grad);
    czr_engine_unlock(engine);
    return status;
}

static czr_status refuse_move(czr_engine *engine, int param)
{
    char name[512];

    czr_program_name(engine->program, param, engine->rank, name, sizeof name);
    const czr_status status = check_grad(engine, name, param);
    return status == CZR_OK
               ? czr_engine_refuse(engine, CZR_ERR_UNBOUND,
                                   "%s: its gradient lies in the engine: "
                                   "czr_grad_bind moves it",
                                   name)
               : status;
}

static czr_status move_grads(czr_engine *engine, void *const *data, int n)
{
    if (engine->status != CZR_OK)
        return engine->status;
    if (n != engine->program->n_params)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                 "%d addresses of %d gradients", n,
                                 engine->program->n_params);
    for (int param = 0; param < n; param++) {
        const czr_binding *own = &engine->bindings[param];
        if (data[param] && (!own->grad.data || own->is_ready))
            return refuse_move(engine, param);
    }
    for (int param = 0; param < n; param++) {
        czr_binding *own = &engine->bindings[param];
        if (!data[param] || data[param] == own->grad.data)
            continue;
        own->grad.data = data[param];
        own->is_reduced = own->is_absent = false;
        czr_loose_use(engine, param);
    }
    return CZR_OK;
}

czr_status czr_grads_move(czr_engine *engine, void *const *data, int n)
{
    if (!engine || !data)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const czr_status status = move_grads(engine, data, n);
    czr_engine_unlock(engine);
    return status;
}
