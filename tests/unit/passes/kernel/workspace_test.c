/* Workspace and flops of a stage by hand: g = bf16(x @ x'), y = bf16(g @ x),
 * s = sum(y * y), and z = f32 of y over s, the output. */
#include "passes/kernel/flops.h"
#include "passes/kernel/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { X, G, Y, S, Z, ROWS = 32, COLUMNS = 40, LENGTH = 4 * ROWS * COLUMNS };

static const int x_x[] = {X, X}, g_x[] = {G, X}, y_only[] = {Y}, y_s[] = {Y, S};
static const cz_access accesses[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ALL};
static const cz_access total[] = {CZ_SUM_ALL};
static const cz_dtype bf16[] = {CZ_BF16}, f32[] = {CZ_F32}, f64[] = {CZ_F64};

static const cz_view_expr square[] = {{.op = CZ_OP_EXTEND, .dtype = CZ_F64},
                                      {.op = CZ_OP_MUL, .dtype = CZ_F64}};
static const cz_view_expr quotient[] = {{.op = CZ_OP_CONSTANT},
                                        {.op = CZ_OP_DIV}};
static const cz_view_body bodies[] = {{.n_exprs = 2, .exprs = square},
                                      {.n_exprs = 2, .exprs = quotient}};

static const cz_view_step steps[] = {
    {.is_product = true,
     .body = -1,
     .n_in = 2,
     .in = x_x,
     .n_out = 1,
     .out_access = accesses,
     .out_dtype = bf16,
     .rows = ROWS,
     .columns = ROWS,
     .inner = COLUMNS,
     .alpha = 1},
    {.is_product = true,
     .body = -1,
     .n_in = 2,
     .in = g_x,
     .n_out = 1,
     .out_access = accesses,
     .out_dtype = f32,
     .rows = ROWS,
     .columns = COLUMNS,
     .inner = ROWS,
     .alpha = 1},
    {.body = 0,
     .n_in = 1,
     .in = y_only,
     .access = accesses,
     .n_out = 1,
     .out_access = total,
     .out_dtype = f64,
     .rows = ROWS,
     .columns = COLUMNS},
    {.body = 1,
     .n_in = 2,
     .in = y_s,
     .access = accesses,
     .n_out = 1,
     .out_access = accesses,
     .out_dtype = f32,
     .rows = ROWS,
     .columns = COLUMNS},
};

static const cz_fact_stage fact = {.where = CZ_WHERE_FULL_MATRIX};
static const int out_value[] = {Z};
static const cz_view_stage stage = {.fact = &fact,
                                    .where = CZ_WHERE_FULL_MATRIX,
                                    .n_in = 1,
                                    .n_out = 1,
                                    .n_steps = 4,
                                    .steps = steps,
                                    .out_value = out_value};

static bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static void test_workspace(void **state)
{
    cz_arena arena;
    cz_places places;
    int64_t **offsets, bytes;
    const int64_t g_bytes = 2 * ROWS * ROWS, acc_bytes = 4 * ROWS * ROWS;

    (void)state;
    cz_arena_init(&arena);
    bytes = cz_workspace_solve(&arena, &stage, &places);
    offsets = places.offsets;
    assert_int_equal(offsets[3][0], -1);
    assert_int_equal(offsets[1][1], -1); /* f32 accumulates in place */
    assert_true(offsets[0][1] >= 0);
    assert_false(overlap(offsets[0][0], g_bytes, offsets[0][1], acc_bytes));
    assert_false(overlap(offsets[0][0], g_bytes, offsets[1][0], LENGTH));
    assert_false(overlap(offsets[1][0], LENGTH, offsets[2][0], 8));
    for (int s = 0; s < 3; s++)
        assert_int_equal(offsets[s][0] % CZ_ALIGN_BYTES, 0);
    /* y and g live together; accumulator and sum fit beside */
    assert_int_equal(bytes, LENGTH + g_bytes);
    cz_arena_fini(&arena);
}

/* Where a body follows it reads all of the accumulator. */
static void accumulators_of_large_products_hold_a_strip(void **state)
{
    const cz_view_step large = {.rows = 1000, .body = -1},
                       small = {.rows = 5, .body = -1},
                       followed = {.rows = 1000, .body = 0};

    (void)state;
    assert_int_equal(cz_view_accumulator_rows(&large), 192);
    assert_int_equal(cz_view_accumulator_rows(&small), 5);
    assert_int_equal(cz_view_accumulator_rows(&followed), 1000);
}

static void test_flops(void **state)
{
    const cz_plan_view view = {.n_bodies = 2, .bodies = bodies};

    (void)state;
    assert_int_equal(cz_flops_stage(&view, &stage),
                     2 * ROWS * ROWS * COLUMNS + 2 * ROWS * COLUMNS * ROWS +
                         3 * ROWS * COLUMNS + ROWS * COLUMNS);
}

/* alpha * acc + beta * s: factors of 1 are no operations. */
static void test_flops_of_affine(void **state)
{
    static const struct {
        double alpha, beta;
        int64_t flops;
    } rows[] = {{1, 0, 0}, {2, 0, 1}, {1, 1, 1}, {1, 3, 2}, {2, 3, 3}};
    const cz_plan_view view = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cz_view_step step = steps[0];
        cz_view_stage one = stage;
        step.alpha = rows[i].alpha;
        step.beta = rows[i].beta;
        one.steps = &step;
        one.n_steps = 1;
        assert_int_equal(cz_flops_stage(&view, &one),
                         ROWS * ROWS * (2 * COLUMNS + rows[i].flops));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workspace),
        cmocka_unit_test(accumulators_of_large_products_hold_a_strip),
        cmocka_unit_test(test_flops),
        cmocka_unit_test(test_flops_of_affine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
