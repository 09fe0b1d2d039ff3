/* Hooks of a backward pass: from another thread, in an order of each rank's
 * own, while the trainer reduces its loss.  The bits are those of steps that
 * were never told. */
#include "tests/unit/unit.h"

#include <pthread.h>

#include "runtime/czr.h"
#include "tests/unit/runtime/engine/toy.h"

enum { RANKS = 4, STEPS = 5 };

typedef struct job {
    toy program;
    int with_hooks, is_late;
    float first[TOY_ELEMENTS]; /* the first parameter, at the end */
} job;

/* One rank's backward pass. */
typedef struct backward {
    czr_engine *engine;
    int rank, step;
    czr_status status;
} backward;

static void fill(const backward *pass, int param)
{
    czr_layout_info info;

    czr_layout(pass->engine, names[param], &info);
    for (int64_t leaf = 0; leaf < info.n_grads; leaf++)
        for (int64_t i = 0; i < info.n; i++)
            ((float *)info.grad)[leaf * info.grad_stride + i] = toy_grad(
                param, i, (int)(pass->rank * info.n_grads + leaf), pass->step);
}

static void *run_backward(void *argument)
{
    backward *pass = argument;

    for (int i = 0; i < TOY_PARAMS && pass->status == CZR_OK; i++) {
        const int param = (i + pass->rank) % TOY_PARAMS;
        fill(pass, param);
        pass->status = czr_grad_ready(pass->engine, param, NULL);
        if (pass->status == CZR_OK) /* telling twice does no harm */
            pass->status = czr_grad_ready(pass->engine, param, NULL);
    }
    return NULL;
}

/* Both directions at once: hooks in a thread, the loss in this one. */
static czr_status overlapped(czr_world *world, backward *pass)
{
    float loss = 1;
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_backward, pass) != 0)
        return CZR_ERR_NO_MEMORY;
    czr_status status = czr_world_all_reduce(world, "dp", &loss, 1, CZR_F32);
    pthread_join(thread, NULL);
    if (status == CZR_OK)
        status = pass->status;
    return status == CZR_OK && loss != RANKS ? CZR_ERR_MISMATCH : status;
}

static czr_status one_step(czr_world *world, const job *task, backward *pass)
{
    czr_counters counters;
    czr_status status = CZR_OK;

    if (task->with_hooks)
        status = overlapped(world, pass);
    for (int param = 0; !task->with_hooks && param < TOY_PARAMS; param++)
        fill(pass, param);
    czr_counters_get(pass->engine, &counters);
    /* With hooks both reductions are over before the step, if not lazy. */
    const int is_early = task->with_hooks && !task->is_late;
    if (status == CZR_OK && pass->step == 0 &&
        (counters.bytes_sent[1] > 0) != is_early)
        status = CZR_ERR_STATE;
    if (status == CZR_OK)
        status = czr_step(pass->engine, &hyper, NULL, NULL);
    for (int param = 0; param < TOY_PARAMS && status == CZR_OK; param++)
        status = czr_param_wait(pass->engine, param, NULL);
    czr_counters_get(pass->engine, &counters);
    return counters.step_allocations ? CZR_ERR_STATE : status;
}

static czr_status body(czr_world *world, void *user)
{
    job *task = user;
    const czr_options options = {.late_device = task->is_late,
                                 .deadline_ms = 20000};
    backward pass = {.rank = czr_world_rank(world)};
    czr_layout_info info;
    czr_status status = toy_open(&task->program, world, &options, &pass.engine);

    for (; pass.step < STEPS && status == CZR_OK; pass.step++)
        status = one_step(world, task, &pass);
    if (status == CZR_OK && pass.rank == 0) {
        czr_layout(pass.engine, names[0], &info);
        memcpy(task->first, info.param, sizeof task->first);
    }
    czr_close(pass.engine);
    return status;
}

static void hooks_change_no_bit(void **state)
{
    static job plain, hooked;
    const toy_options options = toy_usual(RANKS);

    toy_init(&plain.program, &options);
    assert_int_equal(czr_world_threads_run(RANKS, body, &plain), CZR_OK);
    for (int is_late = 0; is_late < 2; is_late++) {
        toy_init(&hooked.program, &options);
        hooked.with_hooks = 1;
        hooked.is_late = is_late;
        assert_int_equal(czr_world_threads_run(RANKS, body, &hooked), CZR_OK);
        assert_memory_equal(plain.first, hooked.first, sizeof plain.first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_change_no_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
