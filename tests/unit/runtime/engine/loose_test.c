/* Tensors of the trainer's on one rank, where nothing travels: steps use them
 * where they lie, and the engine's own places stay empty. */
#include "tests/unit/unit.h"

#include "runtime/base/testing.h"
#include "runtime/czr_checkpoint.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

enum { STEPS = 3, WEIGHT = 0 };

/* A weight of the trainer's, of rows `pitch` apart, and a new gradient for each
 * step. */
typedef struct trainer {
    czr_dtype dtype;
    int64_t pitch;
    bool undoes;
    bool looks;    /* before each step, twice */
    bool is_empty; /* the engine's places of both, at the end */
    float weight[96];
    czr_bf16 rounded[96];
    float grads[STEPS][TOY_ELEMENTS];
} trainer;

static toy plan;

/* One leaf, which is the sum. */
static void make_plan(czr_dtype dtype)
{
    const toy_options options = {1, 1, dtype, CZR_F32, 1, 0};

    toy_init(&plan, &options);
    for (int b = 0; b < 2; b++)
        plan.buckets[b].n_grads = 1, plan.buckets[b].divisor = 1;
}

static void *weight_of(trainer *own)
{
    return own->dtype == CZR_F32 ? (void *)own->weight : own->rounded;
}

static bool is_zero(const void *data, size_t n_bytes)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < n_bytes; i++)
        if (bytes[i])
            return false;
    return true;
}

static czr_status open(trainer *own, czr_world *world, czr_engine **engine)
{
    const int64_t shape[] = {6, 8}, strides[] = {own->pitch, 1};
    const czr_tensor weight = {weight_of(own), own->dtype, 2, shape, strides};
    const czr_options options = {.undo = own->undoes};
    czr_status status = czr_open(&plan.program, world, &options, engine);

    for (int i = 0; i < TOY_PARAMS && status == CZR_OK; i++)
        status = czr_bind(*engine, names[i],
                          i == WEIGHT && own->pitch ? &weight : NULL, NULL);
    return status == CZR_OK ? czr_seal(*engine) : status;
}

static czr_status one_step(trainer *own, czr_engine *engine, int step,
                           const czr_layout_info *info)
{
    const int64_t shape[] = {6, 8};
    const czr_tensor grad = {own->grads[step], CZR_F32, 2, shape, NULL};
    czr_status status = CZR_OK;

    for (int i = 0; i < TOY_ELEMENTS; i++)
        own->grads[step][i] = toy_grad(WEIGHT, i, 0, step);
    if (own->pitch)
        status = czr_grad_bind(engine, names[WEIGHT], &grad);
    else
        memcpy(info->grad, own->grads[step], sizeof own->grads[step]);
    for (int i = 0; own->looks && i < 2 * TOY_PARAMS && status == CZR_OK; i++)
        status = czr_grad_check(engine, i % TOY_PARAMS);
    if (status == CZR_OK)
        status = czr_step(engine, &hyper, NULL, NULL);
    memset(own->grads[step], 0xff, sizeof own->grads[step]); /* freed */
    return status;
}

static czr_status body(czr_world *world, void *user)
{
    trainer *own = user;
    const size_t element = czr_dtype_bytes(own->dtype);
    czr_layout_info info;
    czr_engine *engine = NULL;
    czr_status status = open(own, world, &engine);

    if (status == CZR_OK)
        status = czr_layout(engine, names[WEIGHT], &info);
    for (int i = 0; i < TOY_ELEMENTS && status == CZR_OK; i++) {
        const int64_t at = own->pitch ? i / 8 * own->pitch + i % 8 : i;
        own->weight[at] = toy_param(WEIGHT, i);
        own->rounded[at] = czr_f32_to_bf16(own->weight[at]);
    }
    if (status == CZR_OK && !own->pitch)
        memcpy(info.param, weight_of(own), TOY_ELEMENTS * element);
    for (int step = 0; step < STEPS && status == CZR_OK; step++)
        status = one_step(own, engine, step, &info);
    if (status == CZR_OK && !own->pitch)
        memcpy(weight_of(own), info.param, TOY_ELEMENTS * element);
    own->is_empty = status == CZR_OK &&
                    is_zero(info.param, TOY_ELEMENTS * element) &&
                    is_zero(info.grad, sizeof own->grads[0]);
    if (status != CZR_OK)
        print_message("%s\n", czr_error(engine));
    czr_close(engine);
    return status;
}

static void assert_bits(trainer *own, bool is_empty)
{
    trainer engines = {.dtype = own->dtype};

    make_plan(own->dtype);
    assert_int_equal(czr_world_threads_run(1, body, &engines), CZR_OK);
    assert_int_equal(czr_world_threads_run(1, body, own), CZR_OK);
    for (int i = 0; i < TOY_ELEMENTS; i++) {
        const int64_t at = i / 8 * own->pitch + i % 8;
        assert_memory_equal(&engines.weight[i], &own->weight[at], 4);
        assert_memory_equal(&engines.rounded[i], &own->rounded[at], 2);
    }
    assert_false(engines.is_empty);
    assert_int_equal(own->is_empty, is_empty);
}

static void a_tensor_of_one_run_is_used_where_it_lies(void **state)
{
    trainer f32 = {.dtype = CZR_F32, .pitch = 8};
    trainer bf16 = {.dtype = CZR_BF16, .pitch = 8};
    trainer looks = {.dtype = CZR_F32, .pitch = 8, .looks = true};

    assert_bits(&f32, true);
    assert_bits(&bf16, true);
    assert_bits(&looks, true);
}

static void rows_apart_and_what_is_undone_are_copied(void **state)
{
    trainer apart = {.dtype = CZR_F32, .pitch = 16};
    trainer undone = {.dtype = CZR_F32, .pitch = 8, .undoes = true};

    assert_bits(&apart, false);
    assert_bits(&undone, false);
}

/* ---- gradients that were looked at -------------------------------------- */

typedef struct looked {
    czr_engine *engine;
    czr_layout_info info;
    trainer own;
} looked;

/* A step with the first gradient as it is; whether the weight has changed. */
static czr_status step_once(looked *of, bool *has_changed)
{
    float before[96];

    memcpy(before, of->own.weight, sizeof before);
    const czr_status status = czr_step(of->engine, &hyper, NULL, NULL);
    *has_changed = memcmp(before, of->own.weight, sizeof before) != 0;
    return status;
}

static czr_status bind_grad(looked *of)
{
    const int64_t shape[] = {6, 8};
    const czr_tensor grad = {of->own.grads[0], CZR_F32, 2, shape, NULL};

    return czr_grad_bind(of->engine, names[WEIGHT], &grad);
}

/* What the last look, or the step itself, has seen decides. */
static czr_status look_and_step(czr_world *world, void *user)
{
    looked *of = user;
    float *grad = of->own.grads[0];
    bool has_changed;

    assert_int_equal(open(&of->own, world, &of->engine), CZR_OK);
    assert_int_equal(czr_grad_check(of->engine, TOY_PARAMS), CZR_ERR_ARGUMENT);
    for (int i = 0; i < TOY_ELEMENTS; i++)
        grad[i] = 1;
    assert_int_equal(bind_grad(of), CZR_OK);

    grad[7] = NAN;
    assert_int_equal(step_once(of, &has_changed), CZR_ERR_GRADIENT);
    assert_false(has_changed);
    assert_int_equal(czr_grad_check(of->engine, WEIGHT), CZR_OK);
    assert_int_equal(step_once(of, &has_changed), CZR_ERR_GRADIENT);
    assert_false(has_changed);

    assert_int_equal(czr_grad_check(of->engine, WEIGHT), CZR_OK);
    grad[7] = 1; /* nobody looks again */
    assert_int_equal(step_once(of, &has_changed), CZR_ERR_GRADIENT);
    assert_false(has_changed);
    assert_int_equal(step_once(of, &has_changed), CZR_OK);
    assert_true(has_changed);

    grad[7] = NAN;
    assert_int_equal(czr_grad_check(of->engine, WEIGHT), CZR_OK);
    grad[7] = 1;
    assert_int_equal(czr_grad_check(of->engine, WEIGHT), CZR_OK);
    assert_int_equal(step_once(of, &has_changed), CZR_OK);
    assert_true(has_changed);

    grad[7] = NAN;
    assert_int_equal(czr_grad_check(of->engine, WEIGHT), CZR_OK);
    grad[7] = 1;
    assert_int_equal(bind_grad(of), CZR_OK);
    assert_int_equal(step_once(of, &has_changed), CZR_OK);
    assert_true(has_changed);
    czr_close(of->engine);
    return CZR_OK;
}

static void a_step_believes_the_last_look(void **state)
{
    static looked of = {.own = {.dtype = CZR_F32, .pitch = 8}};

    make_plan(CZR_F32);
    plan.program.skip = 0;
    assert_int_equal(czr_world_threads_run(1, look_and_step, &of), CZR_OK);
}

/* ---- parameters without a gradient --------------------------------------- */

enum { ABSENT = 1 };

/* All parameters, after steps of which `absent` had no gradient of one. */
typedef struct absence {
    int n_steps, absent; /* -1: none */
    int threads;
    float values[TOY_PARAMS][TOY_ELEMENTS];
    int64_t steps;
} absence;

static czr_status step_without(czr_engine *engine, const absence *of, int step)
{
    czr_layout_info info;

    for (int p = 0; p < TOY_PARAMS; p++) {
        /* The same gradients in steps that differ in number. */
        const int nth = p == ABSENT && of->absent >= 0 && step > of->absent
                            ? step - 1
                            : step;
        czr_layout(engine, names[p], &info);
        for (int64_t i = 0; i < info.n; i++)
            ((float *)info.grad)[i] = step == of->absent && p == ABSENT
                                          ? NAN
                                          : toy_grad(p, i, 0, nth);
    }
    const czr_status status =
        step == of->absent ? czr_grad_absent(engine, ABSENT) : CZR_OK;
    return status == CZR_OK ? czr_step(engine, &hyper, NULL, NULL) : status;
}

static czr_status train(czr_world *world, void *user)
{
    absence *of = user;
    const czr_options options = {.threads = of->threads};
    czr_engine *engine = NULL;
    czr_layout_info info;
    czr_status status = czr_open(&plan.program, world, &options, &engine);

    for (int p = 0; p < TOY_PARAMS && status == CZR_OK; p++)
        status = czr_bind(engine, names[p], NULL, NULL);
    assert_int_equal(czr_grad_absent(engine, ABSENT), CZR_ERR_STATE);
    if (status == CZR_OK)
        status = czr_seal(engine);
    for (int p = 0; p < TOY_PARAMS && status == CZR_OK; p++) {
        czr_layout(engine, names[p], &info);
        for (int i = 0; i < info.n; i++)
            ((float *)info.param)[i] = toy_param(p, i);
    }
    for (int step = 0; step < of->n_steps && status == CZR_OK; step++)
        status = step_without(engine, of, step);
    for (int p = 0; p < TOY_PARAMS && status == CZR_OK; p++) {
        czr_layout(engine, names[p], &info);
        memcpy(of->values[p], info.param, (size_t)info.n * sizeof(float));
    }
    if (status == CZR_OK)
        status = czr_param_step_get(engine, ABSENT, &of->steps);
    assert_int_equal(czr_param_step_set(engine, ABSENT, 100), CZR_ERR_ARGUMENT);
    if (of->absent >= 0) /* files have one t */
        assert_int_equal(czr_save(engine, "."), CZR_ERR_STATE);
    czr_close(engine);
    return status;
}

/* Of three steps, one without: that parameter is where two steps lead, all
 * others where three do. */
static void what_has_no_gradient_stays(void **state)
{
    static absence three = {.n_steps = 3, .absent = -1, .threads = 1};
    static absence two = {.n_steps = 2, .absent = -1, .threads = 1};
    static absence without;

    make_plan(CZR_F32);
    plan.program.clip = 0;
    assert_int_equal(czr_world_threads_run(1, train, &three), CZR_OK);
    assert_int_equal(czr_world_threads_run(1, train, &two), CZR_OK);
    czr_testing_thread_elements(5);
    for (int step = 0; step < 3; step++)
        for (int threads = 1; threads < 4; threads += 2) {
            without =
                (absence){.n_steps = 3, .absent = step, .threads = threads};
            assert_int_equal(czr_world_threads_run(1, train, &without), CZR_OK);
            assert_int_equal(without.steps, 2);
            for (int p = 0; p < TOY_PARAMS; p++)
                assert_memory_equal(without.values[p],
                                    p == ABSENT ? two.values[p]
                                                : three.values[p],
                                    sizeof three.values[p]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_of_one_run_is_used_where_it_lies),
        cmocka_unit_test(rows_apart_and_what_is_undone_are_copied),
        cmocka_unit_test(a_step_believes_the_last_look),
        cmocka_unit_test(what_has_no_gradient_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
