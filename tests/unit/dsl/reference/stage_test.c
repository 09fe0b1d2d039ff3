/* The interpreter of kernel form: single steps, from a view made by hand. */
#include "dsl/reference/reference.h"
#include "tests/unit/unit.h"
#include "tests/unit/dsl/reference/reals.h"

static void run_step(const cz_view_step *step, const cz_view_body *bodies,
                     int n_in, const double *const *in, double *const *out)
{
    int values[8];
    for (int i = 0; i < step->n_out; i++)
        values[i] = n_in + i;
    const cz_fact_stage fact = {0};
    const cz_view_stage stage = {.fact = &fact,
                                 .where = CZ_WHERE_FULL_MATRIX,
                                 .n_in = n_in,
                                 .n_out = step->n_out,
                                 .n_steps = 1,
                                 .steps = step,
                                 .out_value = values};
    const cz_plan_view view = {.stages = &stage, .bodies = bodies};
    cz_reference_stage(&view, 0, false, 0, in, NULL, out);
}

static void a_body_takes_rows_and_columns_behind_operands(void **state)
{
    /* x * row + column */
    const cz_view_expr exprs[] = {{.op = CZ_OP_MUL, .args = {0, 2, 0}},
                                  {.op = CZ_OP_ADD, .args = {3, 1, 0}}};
    const int out_numbers[] = {4}, in_numbers[] = {0};
    const cz_view_body body = {.n_in = 3,
                               .n_exprs = 2,
                               .exprs = exprs,
                               .n_out = 1,
                               .out = out_numbers};
    const cz_access access[] = {CZ_ACCESS_ELEMENT};
    const cz_generator generated[] = {CZ_GENERATE_COLUMN, CZ_GENERATE_ROW};
    const cz_view_step step = {.n_in = 1,
                               .in = in_numbers,
                               .access = access,
                               .n_generated = 2,
                               .generated = generated,
                               .n_out = 1,
                               .out_access = access,
                               .rows = 2,
                               .columns = 3};
    const double x[] = {5, 6, 7, 8, 9, 10}, *in[] = {x};
    double y[6], *out[] = {y};
    run_step(&step, &body, 1, in, out);
    assert_close(y, (const double[]){0, 1, 2, 8, 10, 12}, 6);
}

static void a_map_reaches_and_sums_as_it_says(void **state)
{
    /* x * row + column - all, stored, and its sums */
    const cz_view_expr exprs[] = {{.op = CZ_OP_MUL, .args = {0, 1, 0}},
                                  {.op = CZ_OP_ADD, .args = {5, 2, 0}},
                                  {.op = CZ_OP_SUB, .args = {6, 3, 0}},
                                  {.op = CZ_OP_SUB, .args = {7, 4, 0}}};
    const int out_numbers[] = {8, 8, 8, 8, 8};
    const cz_view_body body = {.n_in = 5,
                               .n_exprs = 4,
                               .exprs = exprs,
                               .n_out = 5,
                               .out = out_numbers};
    const int in_numbers[] = {0, 1, 2, 3, 4};
    const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ROW,
                                CZ_ACCESS_COLUMN, CZ_ACCESS_ALL,
                                CZ_ACCESS_TRANSPOSED};
    const cz_access out_access[] = {CZ_ACCESS_ELEMENT, CZ_SUM_ALL, CZ_SUM_ROWS,
                                    CZ_SUM_COLUMNS, CZ_ACCESS_TRANSPOSED};
    const cz_view_step step = {.body = 0,
                               .n_in = 5,
                               .in = in_numbers,
                               .access = access,
                               .n_out = 5,
                               .out_access = out_access,
                               .rows = 2,
                               .columns = 3};
    double x[6], row[2], column[3], all[1], t[6], expected[6], turned[6];
    double sum = 0.0, sum_rows[2] = {0}, sum_columns[3] = {0};
    fill(x, 6);
    fill(row, 2);
    fill(column, 3);
    fill(all, 1);
    fill(t, 6);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            const double y =
                x[i * 3 + j] * row[i] + column[j] - all[0] - t[j * 2 + i];
            expected[i * 3 + j] = turned[j * 2 + i] = y;
            sum += y;
            sum_rows[i] += y;
            sum_columns[j] += y;
        }
    const double *in[] = {x, row, column, all, t};
    double o0[6], o1[1], o2[2], o3[3], o4[6];
    double *out[] = {o0, o1, o2, o3, o4};
    run_step(&step, &body, 5, in, out);
    assert_close(o0, expected, 6);
    assert_close(o1, &sum, 1);
    assert_close(o2, sum_rows, 2);
    assert_close(o3, sum_columns, 3);
    assert_close(o4, turned, 6);
}

static void a_product_transposes_and_adds(void **state)
{
    const int in_numbers[] = {0, 1, 2};
    const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT,
                                CZ_ACCESS_ELEMENT};
    const cz_dtype dtype = CZ_F32;
    for (int flags = 0; flags < 4; flags++) {
        const bool ta = flags & 1, tb = flags & 2;
        const cz_view_step step = {.is_product = true,
                                   .body = -1,
                                   .n_in = 3,
                                   .in = in_numbers,
                                   .access = access,
                                   .n_out = 1,
                                   .out_access = access,
                                   .out_dtype = &dtype,
                                   .rows = 2,
                                   .columns = 3,
                                   .inner = 4,
                                   .transpose_a = ta,
                                   .transpose_b = tb,
                                   .alpha = 0.5,
                                   .beta = -2.0};
        double a[8], b[12], s[6], expected[6], got[6];
        fill(a, 8);
        fill(b, 12);
        fill(s, 6);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0.0;
                for (int k = 0; k < 4; k++)
                    sum += a[ta ? k * 2 + i : i * 4 + k] *
                           b[tb ? j * 4 + k : k * 3 + j];
                expected[i * 3 + j] = 0.5 * sum - 2.0 * s[i * 3 + j];
            }
        const double *in[] = {a, b, s};
        double *out[] = {got};
        run_step(&step, NULL, 3, in, out);
        assert_close(got, expected, 6);
    }
}

/* Half of a symmetric product is computed: a wrong flag shows. */
static void a_symmetric_product_is_its_upper_half(void **state)
{
    const int in_numbers[] = {0, 1};
    const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT};
    const cz_dtype dtype = CZ_F32;
    const cz_view_step step = {.is_product = true,
                               .body = -1,
                               .n_in = 2,
                               .in = in_numbers,
                               .access = access,
                               .n_out = 1,
                               .out_access = access,
                               .out_dtype = &dtype,
                               .rows = 2,
                               .columns = 2,
                               .inner = 1,
                               .symmetric = true,
                               .alpha = 1.0};
    const double a[] = {2, 3}, b[] = {5, 7};
    const double *in[] = {a, b};
    double got[4], *out[] = {got};
    run_step(&step, NULL, 2, in, out);
    assert_close(got, (const double[]){10, 14, 14, 21}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_reaches_and_sums_as_it_says),
        cmocka_unit_test(a_body_takes_rows_and_columns_behind_operands),
        cmocka_unit_test(a_product_transposes_and_adds),
        cmocka_unit_test(a_symmetric_product_is_its_upper_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
