/* Where parameters lie, and what the caller binds to them. */
#include "runtime/engine.h"

int czr_param_count(const czr_engine *engine)
{
    return engine->program->n_params;
}

czr_status czr_param_name(const czr_engine *engine, int param, char *name,
                          size_t n)
{
    if (param < 0 || param >= engine->program->n_params || !name || !n)
        return CZR_ERR_ARGUMENT;
    return czr_program_name(engine->program, param, name, n) < n
               ? CZR_OK
               : CZR_ERR_ARGUMENT;
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
        .grad = spaces->grad + offset * czr_dtype_bytes(program->grad_dtype),
        .param_dtype = bucket->dtype,
        .grad_dtype = program->grad_dtype,
        .leaves = program->leaves,
        .leaf_stride = bucket->length,
        .n_dims = shard.n_dims};
    memcpy(out->shape, shard.shape, sizeof out->shape);
    memcpy(out->start, shard.start, sizeof out->start);
    memcpy(out->global, czr_program_family(program, param)->shape,
           sizeof out->global);
}

czr_status czr_layout(const czr_engine *engine, const char *name,
                      czr_layout_info *out)
{
    const int param = name ? czr_program_find(engine->program, name) : -1;

    if (!out || !engine->spaces)
        return CZR_ERR_ARGUMENT;
    if (param < 0)
        return name && czr_program_is_frozen(engine->program, name)
                   ? CZR_ERR_FROZEN
                   : CZR_ERR_NOT_FOUND;
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
    const int lead = info->leaves > 1;
    wanted result = {.what = "gradient",
                     .dtype = info->grad_dtype,
                     .n_dims = info->n_dims + lead,
                     .outer_stride = lead ? info->leaf_stride : 0,
                     .place = info->grad};

    result.shape[0] = info->leaves;
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
    if (tensor->n_dims != want->n_dims || (want->n_dims && !tensor->shape))
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

czr_status czr_bind(czr_engine *engine, const char *name,
                    const czr_tensor *param, const czr_tensor *grad)
{
    czr_layout_info info;
    czr_binding binding = {.is_bound = true};

    if (engine->status != CZR_OK)
        return engine->status;
    if (engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "sealed already");
    const int number = name ? czr_program_find(engine->program, name) : -1;
    if (number < 0 && name && czr_program_is_frozen(engine->program, name))
        return czr_engine_refuse(engine, CZR_ERR_FROZEN,
                                 "%s is frozen: nothing trains it", name);
    if (number < 0)
        return czr_engine_refuse(engine, CZR_ERR_NOT_FOUND, "no tensor %s",
                                 name ? name : "without a name");
    fill_layout(engine, number, &info);
    const wanted for_param = wanted_param(&info), for_grad = wanted_grad(&info);
    czr_status status =
        bind_one(engine, name, &for_param, param, &binding.param);
    if (status == CZR_OK)
        status = bind_one(engine, name, &for_grad, grad, &binding.grad);
    if (status == CZR_OK)
        engine->bindings[number] = binding;
    return status;
}
