/* What is said of a checkpoint's tensors; `run_checkpoint` moves them between
 * meshes. */
#include "runtime/czr_checkpoint.h"
#include "tests/unit/unit.h"

#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

static czr_status refusals(czr_world *world, void *user)
{
    czr_checkpoint_tensor tensor;
    czr_checkpoint_box box;
    czr_engine *engine;
    int64_t step = -1;

    assert_int_equal(czr_open(user, world, &quick, &engine), CZR_OK);
    const int n = czr_checkpoint_count(engine);
    assert_int_equal(czr_checkpoint_get(engine, 0, &tensor), CZR_ERR_STATE);
    for (int i = 0; i < TOY_PARAMS; i++)
        czr_bind(engine, names[i], NULL, NULL);
    assert_int_equal(czr_seal(engine), CZR_OK);
    const int wrong[] = {-1, n, n + 7};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(czr_checkpoint_get(engine, wrong[i], &tensor),
                         CZR_ERR_ARGUMENT);
        assert_int_equal(czr_checkpoint_get_box(engine, wrong[i], 0, &box),
                         CZR_ERR_ARGUMENT);
    }
    assert_int_equal(czr_checkpoint_get(engine, 0, NULL), CZR_ERR_ARGUMENT);
    assert_int_equal(czr_checkpoint_get(NULL, 0, &tensor), CZR_ERR_ARGUMENT);
    assert_int_equal(czr_checkpoint_get(engine, n - 1, &tensor), CZR_OK);
    assert_int_equal(czr_checkpoint_get(engine, 0, &tensor), CZR_OK);
    assert_int_equal(czr_checkpoint_get_box(engine, 0, tensor.n_boxes, &box),
                     CZR_ERR_ARGUMENT);
    assert_int_equal(czr_checkpoint_get_box(engine, 0, -1, &box),
                     CZR_ERR_ARGUMENT);
    assert_int_equal(czr_step_get(engine, &step), CZR_OK);
    assert_int_equal(step, 0);
    assert_int_equal(czr_step_set(engine, 41), CZR_OK);
    assert_int_equal(czr_step(engine, &hyper, NULL, NULL), CZR_OK);
    assert_int_equal(czr_step_get(engine, &step), CZR_OK);
    assert_int_equal(step, 42);
    assert_int_equal(czr_step_get(engine, NULL), CZR_ERR_ARGUMENT);
    assert_int_equal(czr_step_get(NULL, &step), CZR_ERR_ARGUMENT);
    czr_close(engine);
    return CZR_OK;
}

static void wrong_numbers_are_refused(void **state)
{
    const toy_options options = toy_usual(1);
    toy plan;

    assert_int_equal(czr_checkpoint_count(NULL), 0);
    toy_init(&plan, &options);
    assert_int_equal(czr_world_threads_run(1, refusals, &plan.program), CZR_OK);
}

/* Of four parameters in bf16 on 2 x 2 ranks: the list and its boxes. */
static czr_status lists(czr_world *world, void *user)
{
    static const char *const states[] = {"", "master", "m", "v"};
    const int rank = czr_world_rank(world);
    czr_engine *engine;

    assert_int_equal(toy_open(user, world, &quick, &engine), CZR_OK);
    assert_int_equal(czr_checkpoint_count(engine), 4 * TOY_PARAMS);
    for (int i = 0; i < 4 * TOY_PARAMS; i++) {
        czr_checkpoint_tensor tensor;
        int64_t elements = 0;
        assert_int_equal(czr_checkpoint_get(engine, i, &tensor), CZR_OK);
        assert_int_equal(tensor.param, i / 4);
        assert_string_equal(tensor.name, names[i / 4]);
        assert_string_equal(tensor.state ? tensor.state : "", states[i % 4]);
        assert_int_equal(tensor.dtype, i % 4 ? CZR_F32 : CZR_BF16);
        assert_int_equal(tensor.shape[0], toy_shapes[i / 4][0]);
        for (int64_t k = 0; k < tensor.n_boxes; k++) {
            czr_checkpoint_box box;
            int64_t n = 1;
            assert_int_equal(czr_checkpoint_get_box(engine, i, k, &box),
                             CZR_OK);
            for (int d = 0; d < tensor.n_dims; d++) {
                n *= box.shape[d];
                assert_in_range(box.start[d] + box.shape[d], 1,
                                tensor.shape[d]);
            }
            elements += n;
        }
        /* Matrices are halved by tp; dp = 1 has a copy, slices are its own. */
        if (i % 4 == 0)
            assert_int_equal(elements, toy_elements(i / 4) /
                                           (toy_is_matrix(i / 4) ? 2 : 1));
        if (i % 4 == 0)
            assert_int_equal(tensor.is_main,
                             toy_is_matrix(i / 4) ? rank < 2 : rank == 0);
    }
    czr_close(engine);
    return CZR_OK;
}

static void all_ranks_have_one_list(void **state)
{
    const toy_options options = {2, 2, CZR_BF16, CZR_F32, 1, 1};
    toy plan;

    toy_init(&plan, &options);
    assert_int_equal(czr_world_threads_run(4, lists, &plan), CZR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(all_ranks_have_one_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
