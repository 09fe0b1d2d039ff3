/* What an engine refuses, with which status, on which ranks; and what it
 * survives: skipped steps and planted faults. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/unit.h"

#include <time.h>

#include "runtime/engine/engine.h"
#include "runtime/base/testing.h"
#include "tests/unit/runtime/engine/toy.h"

enum { MAX_RANKS = 4 };

static toy programs[MAX_RANKS]; /* one per rank, so that they may differ */
static czr_status seen[MAX_RANKS];
static char said[MAX_RANKS][CZR_ERROR_BYTES];

static void make_programs(int ranks)
{
    const toy_options options = toy_usual(ranks);

    for (int rank = 0; rank < ranks; rank++)
        toy_init(&programs[rank], &options);
}

static czr_status open_all(czr_world *world, czr_engine **engine)
{
    return toy_open(&programs[world->rank], world, &quick, engine);
}

static void run(int ranks, czr_status (*body)(czr_world *, void *), void *user,
                czr_status expected)
{
    assert_int_equal(czr_world_threads_run(ranks, body, user), expected);
}

static czr_status keep(const czr_world *world, czr_engine *engine,
                       czr_status status)
{
    snprintf(said[world->rank], sizeof *said, "%s", czr_error(engine));
    czr_close(engine);
    return seen[world->rank] = status;
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_body(czr_world *world, void *user)
{
    czr_engine *engine;
    const czr_status status = open_all(world, &engine);

    return keep(world, engine, status);
}

static void unequal_plans_are_refused_everywhere(void **state)
{
    make_programs(3);
    programs[1].program.plan_hash = "0123456789abcdef0123456789abcdef"
                                    "0123456789abcdef0123456789abcdee";
    run(3, open_body, NULL, CZR_ERR_MISMATCH);
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(seen[rank], CZR_ERR_MISMATCH);
    make_programs(3);
    programs[2].program.abi++;
    run(3, open_body, NULL, CZR_ERR_MISMATCH);
    assert_non_null(strstr(said[0], "different plans"));
}

static void versions_and_sizes_are_checked(void **state)
{
    make_programs(3);
    for (int rank = 0; rank < 3; rank++)
        programs[rank].program.abi++;
    run(3, open_body, NULL, CZR_ERR_VERSION);
    make_programs(3);
    run(2, open_body, NULL, CZR_ERR_WORLD_SIZE);
}

static void malformed_tables_are_refused(void **state)
{
    static const struct {
        size_t offset;
        int32_t value;
    } faults[] = {
        {offsetof(toy, kernel_rows[0][0].stage), 2},
        {offsetof(toy, kernel_rows[0][0].param), 4},
        {offsetof(toy, span_rows[0][0].param), -1},
        {offsetof(toy, places[1].bucket), 2},
        {offsetof(toy, ops[9].table), 2},
        {offsetof(toy, ops[0].bucket), -1},
        {offsetof(toy, patterns[1].first_param), 3},
        {offsetof(toy, buckets[0].n_grads), 0},
        {offsetof(toy, starts[0][0]), 1},
        {offsetof(toy, starts[2][1]), -1},
        {offsetof(toy, sizes[1]), 0},
        {offsetof(toy, program.n_axes), 32},
        {offsetof(toy, program.n_axes), -1},
        {offsetof(toy, buckets[0].split_axes), 4},
        {offsetof(toy, buckets[0].grad_dtype), CZR_F64},
        {offsetof(toy, program.n_params), 5},
        {offsetof(toy, sizes[0]), -1},
        {offsetof(toy, patterns[0].extents[0]), 0},
        {offsetof(toy, buckets[0].dtype), 9},
        {offsetof(toy, tables[0].selector), 8},
        {offsetof(toy, tables[0].kind), 9},
        {offsetof(toy, ops[5].comm), 8},
        {offsetof(toy, ops[5].bucket), 2},
        {offsetof(toy, ops[0].table), 0},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        make_programs(1);
        memcpy((char *)&programs[0] + faults[i].offset, &faults[i].value,
               sizeof faults[i].value);
        run(1, open_body, NULL, CZR_ERR_VERSION);
        assert_non_null(strstr(said[0], "form is wrong"));
    }
}

/* Makes the program anew behind it. */
static void assert_form_is_refused(void)
{
    run(1, open_body, NULL, CZR_ERR_VERSION);
    make_programs(1);
}

static void malformed_references_are_refused(void **state)
{
    static const int32_t later[] = {11}, lists[] = {1};

    make_programs(1);
    programs[0].tables[0].lists = lists; /* of which the first must be 0 */
    assert_form_is_refused();
    programs[0].ops[11].waits = later;
    programs[0].ops[11].n_waits = 1;
    assert_form_is_refused();
    programs[0].slices[0][1]++;
    assert_form_is_refused();
    programs[0].patterns[0].name = "layers.{1}.w";
    assert_form_is_refused();
    programs[0].program.prologue = NULL;
    assert_form_is_refused();
    programs[0].ops[6].kind = CZR_N_OP_KINDS;
    assert_form_is_refused();
    programs[0].program.plan_hash = "short";
    assert_form_is_refused();
    programs[0].kernel_rows[0][0].offset = -1;
    assert_form_is_refused();
    programs[0].kernel_rows[0][0].count++; /* its neighbour has other states */
    assert_form_is_refused();
    programs[0].span_rows[0][0].count = INT64_MAX;
    assert_form_is_refused();
}

/* ---- binding ------------------------------------------------------------ */

/* Rank 0 alone: the world has one. */
static czr_status bind_body(czr_world *world, void *user)
{
    float data[600];
    const int64_t shape[] = {6, 8}, wrong[] = {8, 6}, one[] = {48};
    const int64_t stacked[] = {TOY_LEAVES, 6, 8};
    const czr_tensor good = {data, CZR_F32, 2, shape, NULL};
    const czr_tensor grad = {data + 10, CZR_F32, 3, stacked, NULL};
    const czr_tensor bad_shape = {data, CZR_F32, 2, wrong, NULL};
    const czr_tensor bad_dims = {data, CZR_F32, 1, one, NULL};
    const czr_tensor bad_type = {data, CZR_BF16, 2, shape, NULL};
    czr_engine *e;
    czr_result result;
    int n_wrong = 0;

    czr_status status = czr_open(&programs[0].program, world, &quick, &e);
    if (status != CZR_OK)
        return keep(world, e, status);
    n_wrong += czr_bind(e, "nobody", &good, NULL) != CZR_ERR_NOT_FOUND;
    n_wrong += czr_bind(e, names[0], &bad_shape, NULL) != CZR_ERR_SHAPE;
    n_wrong += czr_bind(e, names[0], &bad_dims, NULL) != CZR_ERR_SHAPE;
    n_wrong += czr_bind(e, names[0], &bad_type, NULL) != CZR_ERR_SHAPE;
    n_wrong += czr_bind(e, names[0], NULL, &good) != CZR_ERR_SHAPE;
    n_wrong += czr_step(e, &hyper, NULL, &result) != CZR_ERR_STATE;
    n_wrong += czr_seal(e) != CZR_ERR_UNBOUND;
    n_wrong += strstr(czr_error(e), "layers.0.w is not bound") == NULL;
    for (int i = 0; i < TOY_PARAMS; i++)
        n_wrong += czr_bind(e, names[i], NULL, NULL) != CZR_OK;
    n_wrong += czr_bind(e, names[0], &good, &grad) != CZR_OK;
    n_wrong += czr_seal(e) != CZR_ERR_OVERLAP;
    n_wrong += czr_bind(e, names[0], NULL, NULL) != CZR_OK;
    n_wrong += czr_seal(e) != CZR_OK;
    n_wrong += czr_bind(e, names[0], NULL, NULL) != CZR_ERR_STATE;
    n_wrong += czr_grad_ready(e, TOY_PARAMS, NULL) != CZR_ERR_ARGUMENT;
    n_wrong += czr_step(e, NULL, NULL, &result) != CZR_ERR_HYPER;
    n_wrong += strstr(czr_error(e), "all.lr has no default") == NULL;
    n_wrong += czr_step(e, &hyper, NULL, &result) != CZR_ERR_HYPER;
    status = n_wrong ? CZR_ERR_ARGUMENT : CZR_OK;
    return keep(world, e, status);
}

static void wrong_tensors_and_orders_are_refused(void **state)
{
    make_programs(1);
    run(1, bind_body, NULL, CZR_OK);
}

/* A tensor that lies in its place is used there, if its strides say so. */
static czr_status in_place_body(czr_world *world, void *user)
{
    static float elsewhere[1];
    const int64_t turned[] = {1, 6};
    czr_layout_info info;
    char name[32];
    czr_engine *e;
    int n_wrong = 0;
    czr_status status = czr_open(&programs[0].program, world, &quick, &e);

    for (int i = 0; i < czr_param_count(e) && status == CZR_OK; i++) {
        status = czr_param_name(e, i, name, sizeof name);
        n_wrong += strcmp(name, names[i]) != 0;
        n_wrong += czr_layout(e, name, &info) != CZR_OK;
        const czr_tensor param = {info.param, CZR_F32, info.n_dims, info.shape,
                                  NULL};
        n_wrong += czr_bind(e, name, &param, NULL) != CZR_OK;
        if (i > 1)
            continue;
        int64_t shape[] = {info.n_grads, info.shape[0], info.shape[1]};
        const int64_t strides[] = {info.grad_stride, info.shape[1], 1};
        const czr_tensor grad = {info.grad, CZR_F32, 3, shape, strides};
        const czr_tensor stacked = {info.grad, CZR_F32, 3, shape, NULL};
        const czr_tensor bad = {info.param, CZR_F32, 2, info.shape, turned};
        n_wrong += czr_bind(e, name, &bad, NULL) != CZR_ERR_SHAPE;
        for (int k = 40; k < 63; k += 11) { /* 40, 51, 62 */
            const int64_t far[] = {INT64_C(1) << k, 1};
            const czr_tensor reaching = {elsewhere, CZR_F32, 2, info.shape,
                                         far};
            n_wrong += czr_bind(e, name, &reaching, NULL) !=
                       (k > 47 ? CZR_ERR_SHAPE : CZR_OK);
        }
        n_wrong += czr_bind(e, name, &param, &stacked) != CZR_ERR_SHAPE;
        n_wrong += czr_bind(e, name, &param, &grad) != CZR_OK;
    }
    n_wrong += czr_param_name(e, 0, name, 4) != CZR_ERR_ARGUMENT;
    n_wrong += czr_param_name(e, -1, name, 4) != CZR_ERR_ARGUMENT;
    n_wrong += czr_layout(e, "nobody", &info) != CZR_ERR_NOT_FOUND;
    n_wrong += czr_state_get(e, 1000, NULL) != CZR_ERR_ARGUMENT;
    n_wrong += czr_param_wait(e, -1, NULL) != CZR_ERR_ARGUMENT;
    if (status == CZR_OK)
        status = czr_seal(e);
    n_wrong += czr_seal(e) != CZR_ERR_STATE;
    if (status == CZR_OK && n_wrong)
        status = CZR_ERR_ARGUMENT;
    return keep(world, e, status);
}

static void tensors_in_their_place_are_used_there(void **state)
{
    make_programs(1);
    run(1, in_place_body, NULL, CZR_OK);
}

static czr_status interleaved_body(czr_world *world, void *user)
{
    const int *distance = user;
    float data[200] = {0};
    const int64_t shape[] = {6, 8}, strides[] = {16, 1};
    const czr_tensor first = {data, CZR_F32, 2, shape, strides};
    const czr_tensor second = {data + *distance, CZR_F32, 2, shape, strides};
    czr_engine *e;
    czr_status status = czr_open(&programs[0].program, world, &quick, &e);

    if (status == CZR_OK) {
        czr_bind(e, names[0], &first, NULL);
        czr_bind(e, names[1], &second, NULL);
        czr_bind(e, names[2], NULL, NULL);
        czr_bind(e, names[3], NULL, NULL);
        status = czr_seal(e);
    }
    return keep(world, e, status);
}

/* Columns of one fused matrix are two tensors. */
static void interleaved_views_do_not_overlap(void **state)
{
    int apart = 8, touching = 7;

    make_programs(1);
    run(1, interleaved_body, &apart, CZR_OK);
    run(1, interleaved_body, &touching, CZR_ERR_OVERLAP);
}

/* ---- steps -------------------------------------------------------------- */

/* Fills this rank's part: `poison` in one leaf of one element of rank 1. */
static void fill(czr_engine *engine, int rank, float poison)
{
    czr_layout_info info;

    for (int param = 0; param < TOY_PARAMS; param++) {
        czr_layout(engine, names[param], &info);
        for (int64_t leaf = 0; leaf < info.n_grads; leaf++)
            for (int64_t i = 0; i < info.n; i++)
                ((float *)info.grad)[leaf * info.grad_stride + i] = 0.1f;
    }
    if (rank == 1)
        ((float *)info.grad)[3] = poison;
}

static czr_status skip_body(czr_world *world, void *user)
{
    const float *poison = user;
    czr_layout_info info;
    czr_state state;
    czr_result result;
    czr_engine *engine;
    float before[TOY_ELEMENTS];
    czr_status status = open_all(world, &engine);

    czr_layout(engine, names[0], &info);
    memcpy(before, info.param, sizeof before);
    fill(engine, world->rank, *poison);
    if (status == CZR_OK)
        status = czr_step(engine, &hyper, NULL, &result);
    if (status == CZR_OK &&
        (!result.skipped || result.step != 0 || isfinite(result.grad_norm) ||
         memcmp(before, info.param, sizeof before) != 0))
        status = CZR_ERR_ARGUMENT;
    for (int k = 0; status == CZR_OK && k < czr_state_count(engine); k++) {
        status = czr_state_get(engine, k, &state);
        for (int64_t i = 0; i < state.n; i++)
            if (((float *)state.data)[i] != 0)
                status = CZR_ERR_ARGUMENT;
    }
    fill(engine, world->rank, 0.1f);
    if (status == CZR_OK)
        status = czr_step(engine, &hyper, NULL, &result);
    if (status == CZR_OK && (result.skipped || result.step != 1 ||
                             memcmp(before, info.param, sizeof before) == 0))
        status = CZR_ERR_ARGUMENT;
    return keep(world, engine, status);
}

static void non_finite_gradients_skip_on_every_rank(void **state)
{
    float poisons[] = {INFINITY, -INFINITY, NAN};

    for (size_t i = 0; i < sizeof poisons / sizeof *poisons; i++) {
        make_programs(3);
        run(3, skip_body, &poisons[i], CZR_OK);
    }
}

static czr_status absent_body(czr_world *world, void *user)
{
    const czr_options options = {.deadline_ms = 60};
    czr_engine *engine;
    czr_status status = open_all(world, &engine);

    world->deadline_ms = options.deadline_ms;
    if (status == CZR_OK && world->rank != 2)
        status = czr_step(engine, &hyper, NULL, NULL);
    if (world->rank == 2)
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    if (status != CZR_OK && czr_step(engine, &hyper, NULL, NULL) != status)
        status = CZR_ERR_ARGUMENT; /* not poisoned */
    return keep(world, engine, status);
}

static void a_rank_that_does_not_step_is_named(void **state)
{
    int n_named = 0;

    make_programs(3);
    run(3, absent_body, NULL, CZR_ERR_TIMEOUT);
    for (int rank = 0; rank < 2; rank++) {
        assert_true(seen[rank] == CZR_ERR_TIMEOUT ||
                    seen[rank] == CZR_ERR_ABORTED);
        assert_non_null(strstr(said[rank], "operation 0, reduce_scatter"));
        n_named += strstr(said[rank], "for rank 2") != NULL;
    }
    assert_int_equal(n_named, 2);
}

/* ---- planted faults ----------------------------------------------------- */

static czr_status no_memory_body(czr_world *world, void *user)
{
    const int64_t *allocation = user;
    czr_engine *engine = NULL;

    if (world->rank == 0)
        czr_testing_fail_allocation(*allocation);
    czr_status status = open_all(world, &engine);
    if (world->rank == 0)
        czr_testing_fail_allocation(0);
    if (status == CZR_OK) /* the other rank may have failed at the very end */
        status = czr_step(engine, &hyper, NULL, NULL);
    if (status != CZR_OK && engine && czr_error(engine)[0] == '\0')
        return CZR_ERR_ARGUMENT; /* without a sentence */
    czr_close(engine);
    return seen[world->rank] = status;
}

/* Each allocation of an opening rank fails in turn, until none is left. */
static void every_failing_allocation_is_survived(void **state)
{
    czr_status status = CZR_ERR_NO_MEMORY;
    int64_t allocation = 1;

    make_programs(2);
    for (; status != CZR_OK; allocation++) {
        status = czr_world_threads_run(2, no_memory_body, &allocation);
        if (status == CZR_OK)
            break;
        assert_int_equal(status, CZR_ERR_NO_MEMORY);
        assert_int_equal(seen[0], CZR_ERR_NO_MEMORY);
        assert_int_equal(seen[1], CZR_ERR_ABORTED);
    }
    assert_in_range(allocation, 30, 1000);
}

static czr_status sum_body(czr_world *world, void *user)
{
    float *out = user;
    czr_engine *engine;
    czr_status status = open_all(world, &engine);

    czr_testing_rank_order_reduction(world, out[0] > 0);
    for (int param = 0; param < TOY_PARAMS; param++) {
        czr_layout_info info;
        czr_layout(engine, names[param], &info);
        for (int64_t leaf = 0; leaf < info.n_grads; leaf++)
            for (int64_t i = 0; i < info.n; i++)
                ((float *)info.grad)[leaf * info.grad_stride + i] = sinf(
                    (float)(i + 100 * (leaf + info.n_grads * world->rank)));
    }
    if (status == CZR_OK)
        status = czr_step(engine, &hyper, NULL, NULL);
    if (status == CZR_OK && world->rank == 0)
        memcpy(out + 1, engine->spaces[0].param, TOY_ELEMENTS * sizeof *out);
    return keep(world, engine, status);
}

/* The fault that `run --check` must be able to see. */
static void rank_order_reduction_changes_bits(void **state)
{
    float out[4][TOY_ELEMENTS + 1] = {{0}, {0}, {1}, {1}};

    for (int i = 0; i < 4; i++) {
        const int ranks = i % 2 ? 4 : 1;
        make_programs(ranks);
        run(ranks, sum_body, out[i], CZR_OK);
    }
    const size_t n = TOY_ELEMENTS * sizeof(float);
    assert_memory_equal(out[0] + 1, out[1] + 1, n);
    assert_memory_equal(out[0] + 1, out[2] + 1, n);
    assert_memory_not_equal(out[0] + 1, out[3] + 1, n);
}

static void a_null_engine_or_world_crashed_all_but_open_and_close(void **state)
{
    czr_layout_info layout;
    czr_state one;
    czr_extern_info given;
    czr_counters counters;
    czr_hyper_desc value_of_group;
    char name[8];
    float value = 0;
    void *nowhere = NULL;
    const czr_status statuses[] = {
        czr_param_name(NULL, 0, name, sizeof name),
        czr_layout(NULL, "bias", &layout),
        czr_bind(NULL, "bias", NULL, NULL),
        czr_grad_bind(NULL, "bias", NULL),
        czr_grads_move(NULL, &nowhere, 1),
        czr_hyper_get(NULL, 0, &value_of_group),
        czr_seal(NULL),
        czr_extern_set(NULL, "bias", "x", &value, 1),
        czr_extern_get(NULL, 0, &given),
        czr_step(NULL, &hyper, NULL, NULL),
        czr_step_set(NULL, 1),
        czr_grad_ready(NULL, 0, NULL),
        czr_param_wait(NULL, 0, NULL),
        czr_state_get(NULL, 0, &one),
        czr_master_get(NULL, 0, &one),
        czr_masters_renew(NULL),
        czr_counters_get(NULL, &counters),
        czr_world_all_reduce(NULL, NULL, &value, 1, CZR_F32),
        czr_world_all_gather(NULL, "dp", &value, &value, 1, CZR_F32),
        czr_world_barrier(NULL),
    };

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        assert_int_equal(statuses[i], CZR_ERR_ARGUMENT);
    assert_int_equal(czr_param_count(NULL) + czr_extern_count(NULL) +
                         czr_state_count(NULL) + czr_hyper_count(NULL) +
                         czr_world_rank(NULL) + czr_world_size(NULL) +
                         czr_world_coordinate(NULL, "dp") +
                         czr_world_extent(NULL, NULL),
                     0);
    assert_string_equal(czr_error(NULL), "");
    assert_null(czr_param_group(NULL, 0));
    czr_close(NULL);
}

static czr_status no_shape_body(czr_world *world, void *user)
{
    float data[5];
    const czr_tensor tensor = {data, CZR_F32, 1, NULL, NULL};
    czr_engine *engine;
    czr_status status = czr_open(&programs[0].program, world, &quick, &engine);

    if (status == CZR_OK)
        status = czr_bind(engine, "bias", &tensor, NULL);
    return keep(world, engine, status);
}

static void a_tensor_without_shape_has_2_dimensions_not_2(void **state)
{
    make_programs(1);
    run(1, no_shape_body, NULL, CZR_ERR_SHAPE);
    assert_non_null(strstr(said[0], "bias: the parameter has no shape"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unequal_plans_are_refused_everywhere),
        cmocka_unit_test(versions_and_sizes_are_checked),
        cmocka_unit_test(malformed_tables_are_refused),
        cmocka_unit_test(malformed_references_are_refused),
        cmocka_unit_test(wrong_tensors_and_orders_are_refused),
        cmocka_unit_test(tensors_in_their_place_are_used_there),
        cmocka_unit_test(interleaved_views_do_not_overlap),
        cmocka_unit_test(non_finite_gradients_skip_on_every_rank),
        cmocka_unit_test(a_rank_that_does_not_step_is_named),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(rank_order_reduction_changes_bits),
        cmocka_unit_test(a_null_engine_or_world_crashed_all_but_open_and_close),
        cmocka_unit_test(a_tensor_without_shape_has_2_dimensions_not_2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
