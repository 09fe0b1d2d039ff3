/* The engine on a hand-written program: any mesh, device and way of binding
 * gives the bits of a loop that knows of none of them. */
#include "tests/unit/unit.h"
#include "runtime/base/testing.h"
#include "runtime/czr.h"
#include "tests/unit/runtime/engine/toy.h"

enum { STEPS = 4 };

static const double rate = 0.01;

/* Where a trainer has its tensors. */
typedef enum binding { IN_PLACE, OF_ONE_RUN, WITH_GAPS, BINDINGS } binding;

/* What one run is, for all its ranks. */
typedef struct job {
    toy_options options;
    czr_options engine;
    binding binding;
    int with_hooks;
    toy toy;
} job;

/* A parameter as a trainer has it. */
typedef struct shard {
    czr_layout_info info;
    float values[TOY_ELEMENTS * 2]; /* columns a stride of 2 apart */
    float grads[TOY_LEAVES][TOY_ELEMENTS];
    void *param, *grad;
    int64_t param_step, grad_stride;
} shard;

static void put(void *data, czr_dtype dtype, int64_t i, float value)
{
    if (dtype == CZR_F32)
        ((float *)data)[i] = value;
    else
        ((czr_bf16 *)data)[i] = czr_f32_to_bf16(value);
}

static float get(const void *data, czr_dtype dtype, int64_t i)
{
    return dtype == CZR_F32 ? ((const float *)data)[i]
                            : czr_bf16_to_f32(((const czr_bf16 *)data)[i]);
}

/* The number in the whole tensor of element i of the shard. */
static int64_t global_of(const czr_layout_info *info, int64_t i)
{
    return info->n_dims == 2 ? info->start[0] * info->shape[1] + i
                             : info->start[0] + i;
}

static czr_status bind_in_place(czr_engine *engine, int param, shard *tensor)
{
    tensor->param = tensor->info.param;
    tensor->grad = tensor->info.grad;
    tensor->param_step = 1;
    tensor->grad_stride = tensor->info.grad_stride;
    return czr_bind(engine, names[param], NULL, NULL);
}

/* Elements of the parameter are `step` apart. */
static czr_status bind_loose(czr_engine *engine, int param, int step,
                             shard *tensor)
{
    const czr_layout_info *info = &tensor->info;
    const int lead = info->n_grads > 1;
    int64_t shape[3] = {info->n_grads, info->shape[0], info->shape[1]};
    int64_t strides[3] = {step * info->shape[1], step, 0};
    int64_t grad_strides[3] = {TOY_ELEMENTS, info->shape[1], 1};

    if (info->n_dims == 1) {
        strides[0] = step;
        grad_strides[1] = 1;
    }
    tensor->param = tensor->values;
    tensor->grad = tensor->grads;
    tensor->param_step = step;
    tensor->grad_stride = TOY_ELEMENTS;
    const czr_tensor value = {tensor->param, info->param_dtype, info->n_dims,
                              shape + 1, strides};
    const czr_tensor grad = {tensor->grad, info->grad_dtype,
                             info->n_dims + lead, shape + !lead,
                             grad_strides + !lead};
    return czr_bind(engine, names[param], &value, &grad);
}

static czr_status bind_all(czr_engine *engine, const job *run, shard *tensors)
{
    czr_status status = CZR_OK;

    for (int param = 0; param < TOY_PARAMS && status == CZR_OK; param++) {
        shard *tensor = &tensors[param];
        status = czr_layout(engine, names[param], &tensor->info);
        if (status == CZR_OK)
            status =
                run->binding == IN_PLACE
                    ? bind_in_place(engine, param, tensor)
                    : bind_loose(engine, param,
                                 run->binding == OF_ONE_RUN ? 1 : 2, tensor);
        for (int64_t i = 0; i < tensor->info.n; i++)
            put(tensor->param, tensor->info.param_dtype, i * tensor->param_step,
                toy_param(param, global_of(&tensor->info, i)));
    }
    return status == CZR_OK ? czr_seal(engine) : status;
}

static void fill_grads(const czr_world *world, shard *tensors, int step)
{
    for (int param = 0; param < TOY_PARAMS; param++) {
        shard *t = &tensors[param];
        const int n_grads = (int)t->info.n_grads;
        const int first = czr_world_coordinate(world, "dp") * n_grads;
        for (int leaf = 0; leaf < n_grads; leaf++)
            for (int64_t i = 0; i < t->info.n; i++)
                put(t->grad, t->info.grad_dtype, leaf * t->grad_stride + i,
                    toy_grad(param, global_of(&t->info, i), first + leaf,
                             step));
    }
}

static int is_equal(const shard *t, int param, const toy_reference *reference)
{
    for (int64_t i = 0; i < t->info.n; i++) {
        float expected = reference->master[param][global_of(&t->info, i)];
        if (t->info.param_dtype == CZR_BF16)
            expected = czr_bf16_to_f32(czr_f32_to_bf16(expected));
        const float found =
            get(t->param, t->info.param_dtype, i * t->param_step);
        if (memcmp(&found, &expected, sizeof found) != 0)
            return 0;
    }
    return 1;
}

static czr_status one_step(czr_engine *engine, const job *run,
                           const czr_world *world, shard *tensors, int step,
                           toy_reference *reference)
{
    const double values[] = {rate, (double)NAN};
    const czr_hyper given = {values, 2};
    czr_result result;
    czr_status status = CZR_OK;

    fill_grads(world, tensors, step);
    for (int i = 0; run->with_hooks && i < 3 && status == CZR_OK; i++)
        status = czr_grad_ready(engine, (i + 3) % TOY_PARAMS, NULL);
    if (status == CZR_OK)
        status = czr_step(engine, &given, NULL, &result);
    if (status != CZR_OK)
        return status;
    toy_reference_step(reference, step, run->options.clip, rate);
    if (result.skipped || result.step != step + 1 ||
        fabs(result.grad_norm - reference->norm) > 1e-6 * reference->norm)
        return CZR_ERR_ARGUMENT;
    for (int param = 0; param < TOY_PARAMS; param++)
        if (!is_equal(&tensors[param], param, reference))
            return CZR_ERR_MISMATCH;
    return CZR_OK;
}

static czr_status check_counters(const czr_engine *engine)
{
    czr_counters counters;
    const czr_status status = czr_counters_get(engine, &counters);

    if (status != CZR_OK || counters.steps != STEPS || counters.skips ||
        counters.step_allocations)
        return CZR_ERR_STATE;
    return CZR_OK;
}

static czr_status body(czr_world *world, void *user)
{
    const job *run = user;
    toy_reference reference;
    czr_engine *engine;
    shard *tensors = calloc(TOY_PARAMS, sizeof *tensors);

    toy_reference_init(&reference);
    czr_status status =
        czr_open(&run->toy.program, world, &run->engine, &engine);
    if (status == CZR_OK)
        status = bind_all(engine, run, tensors);
    for (int step = 0; step < STEPS && status == CZR_OK; step++)
        status = one_step(engine, run, world, tensors, step, &reference);
    if (status == CZR_OK)
        status = check_counters(engine);
    else
        print_message("%s: %s\n", czr_status_name(status), czr_error(engine));
    czr_close(engine);
    free(tensors);
    return status;
}

static const toy_options meshes[] = {
    {1, 1, CZR_F32, CZR_F32, 0, 0},   {2, 1, CZR_F32, CZR_F32, 1, 1},
    {3, 1, CZR_BF16, CZR_F32, 1, 1},  {4, 1, CZR_F32, CZR_BF16, 2, 0},
    {1, 2, CZR_BF16, CZR_BF16, 1, 0}, {2, 2, CZR_F32, CZR_F32, 1, 1},
    {3, 2, CZR_BF16, CZR_F32, 1, 1},  {2, 3, CZR_F32, CZR_F32, 1, 1},
    {6, 1, CZR_BF16, CZR_F32, 1, 1},
};

/* The op `unordered`, unless below 0, and undo behind it wait for nothing. */
static czr_status run_mesh(const toy_options *options, int variant,
                           int unordered)
{
    job run = {.options = *options,
               .engine = {.late_device = variant & 1,
                          .threads = variant & 1 ? 3 : 1,
                          .deadline_ms = 20000},
               .with_hooks = variant >> 1 & 1,
               .binding = (binding)(variant >> 2)};

    toy_init(&run.toy, &run.options);
    if (unordered >= 0)
        run.toy.ops[unordered].n_waits = run.toy.ops[TOY_OPS - 1].n_waits = 0;
    print_message("dp %d tp %d variant %d\n", options->dp, options->tp,
                  variant);
    return czr_world_threads_run(options->dp * options->tp, body, &run);
}

/* Steps on every mesh, on both devices, with hooks, wherever tensors lie; on
 * one of the devices threads share them; long runs are computed as streams. */
static void every_mesh_gives_the_same_bits(void **state)
{
    enum { VARIANTS = 4 * BINDINGS, THREAD_ELEMENTS = 5, STREAM_BLOCK = 2 };

    czr_testing_thread_elements(THREAD_ELEMENTS);
    czr_testing_stream_elements(STREAM_BLOCK, 1);

    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        for (int variant = 0; variant < VARIANTS; variant++)
            assert_int_equal(run_mesh(&meshes[i], variant, -1), CZR_OK);
}

/* In list order a missing wait does no harm; late it shows.  That on gradients
 * does not: nothing is updated before all ranks have agreed on them.  Nor does
 * that of the first gather: the second one waits for a later kernel. */
static void the_late_device_tells_a_missing_wait(void **state)
{
    static const struct {
        int op;
        czr_status status;
    } needed[] = {{6, CZR_ERR_ARGUMENT}, {12, CZR_ERR_MISMATCH}};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        assert_int_equal(run_mesh(&meshes[1], 0, needed[i].op), CZR_OK);
        assert_int_equal(run_mesh(&meshes[1], 1, needed[i].op),
                         needed[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mesh_gives_the_same_bits),
        cmocka_unit_test(the_late_device_tells_a_missing_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
