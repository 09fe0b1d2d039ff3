/* Functions carried out with results of somebody else's, and with rounding that
 * is drawn. */
#include "dsl/reference/internal.h"
#include "tests/unit/dsl/module.h"
#include "tests/unit/dsl/reference/reals.h"

enum {
    ROWS = 2,
    COLUMNS = 3,
    N = ROWS * COLUMNS,
    SIDE = 4,
    AREA = SIDE * SIDE
};

static cz_ir_type matrix(int64_t rows, int64_t columns)
{
    return cz_ir_tensor_type(CZ_F32, 2, (const int64_t[]){rows, columns});
}

/* x -> (2 x, (2 x)' (2 x)') element by element, by way of x'. */
static cz_ir_op doubled_and_squared(fixture *f)
{
    const cz_ir_type in = matrix(ROWS, COLUMNS);
    const cz_ir_type out[] = {in, matrix(COLUMNS, ROWS)};
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){
            .name = "doubled", .n_in = 1, .in = &in, .n_out = 2, .out = out},
        (cz_span){0});
    const cz_ir_value turned =
        cz_ir_transpose(&b, cz_ir_function_in(b.function, 0));
    const cz_ir_value twice = cz_ir_binary(&b, CZ_OP_ADD, turned, turned);

    cz_ir_return(
        &b,
        (const cz_ir_value[]){cz_ir_transpose(&b, twice),
                              cz_ir_binary(&b, CZ_OP_MUL, twice, twice)},
        2);
    return b.function;
}

static void what_reads_a_settled_result_reads_what_was_given(void **state)
{
    const double x[N] = {1, 2, 3, 4, 5, 6}, given[N] = {7, 0, -1, 2, 3, 10};
    double twice[N], squares[N];
    fixture *f = *state;
    const cz_ir_op function = doubled_and_squared(f);
    const cz_reference_mode way = {.settled =
                                       (const double *const[]){given, NULL}};
    cz_reference_function_in_mode(function, &way, 0, (const double *const[]){x},
                                  (double *const[]){twice, squares});
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            const double it = given[i * COLUMNS + j];
            assert_true(twice[i * COLUMNS + j] == 2 * x[i * COLUMNS + j]);
            assert_true(squares[j * ROWS + i] == it * it);
        }
}

/* An argument that is a result is nobody's to give. */
static void an_argument_is_not_settled(void **state)
{
    const cz_ir_type type = matrix(ROWS, COLUMNS);
    const double x[N] = {1, 2, 3, 4, 5, 6}, given[N] = {0};
    double same[N], twice[N];
    fixture *f = *state;
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){.name = "kept",
                           .n_in = 1,
                           .in = &type,
                           .n_out = 2,
                           .out = (const cz_ir_type[]){type, type}},
        (cz_span){0});
    const cz_ir_value in = cz_ir_function_in(b.function, 0);
    cz_ir_return(
        &b, (const cz_ir_value[]){in, cz_ir_binary(&b, CZ_OP_ADD, in, in)}, 2);
    const cz_reference_mode way = {.settled =
                                       (const double *const[]){given, NULL}};
    cz_reference_function_in_mode(b.function, &way, 0,
                                  (const double *const[]){x},
                                  (double *const[]){same, twice});
    for (int i = 0; i < N; i++) {
        assert_true(same[i] == x[i]);
        assert_true(twice[i] == 2 * x[i]);
    }
}

/* ---- rounding that is drawn ---- */

static void what_f32_holds_stays(void **state)
{
    cz_reference_noise noise = {1}, none = {0};

    for (int i = 0; i < 1000; i++) {
        const double x = (double)(float)random_real();
        const double wide = random_real();
        assert_true(cz_reference_scatter(&noise, x) == x);
        assert_true(cz_reference_scatter(&none, wide) == wide);
    }
    assert_true(isnan(cz_reference_scatter(&noise, NAN)));
    assert_true(isinf(cz_reference_scatter(&noise, INFINITY)));
}

/* A quarter of the way up: one in four goes up, within five deviations. */
static void others_go_up_as_often_as_they_are_near(void **state)
{
    enum { DRAWS = 40000 };
    const double x = 1 + 0x1p-25;
    cz_reference_noise noise = {20261122};
    int ups = 0;

    for (int i = 0; i < DRAWS; i++) {
        const double y = cz_reference_scatter(&noise, x);
        assert_true(y == 1 || y == 1 + 0x1p-23);
        ups += y > 1;
    }
    assert_true(fabs(ups - DRAWS * 0.25) < 5 * sqrt(DRAWS * 0.25 * 0.75));
}

static double apart(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* x -> x^-1/4. */
static cz_ir_op root_function(fixture *f)
{
    const cz_ir_type type = matrix(SIDE, SIDE);
    const double parameters[] = {-0.25, 0};
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){
            .name = "root", .n_in = 1, .in = &type, .n_out = 1, .out = &type},
        (cz_span){0});
    const cz_ir_value in = cz_ir_function_in(b.function, 0);
    const cz_ir_value root =
        cz_ir_factor(&b, CZ_FACTOR_ROOT, parameters, &in, 0);

    cz_ir_return(&b, &root, 1);
    return b.function;
}

/* The root of diag(1, ..., low) without rounding and with it: how far apart, in
 * parts of the first. */
static double root_moves(cz_ir_op root, double low, uint64_t seed)
{
    const double zeros[AREA] = {0};
    double x[AREA] = {0}, exact[AREA], noisy[AREA];
    const cz_reference_mode way = {.noise = seed};

    for (int i = 0; i < SIDE; i++)
        x[i * SIDE + i] = i + 1 < SIDE ? 1 : low;
    cz_reference_function(root, false, 0, (const double *const[]){x},
                          (double *const[]){exact});
    cz_reference_function_in_mode(root, &way, 0, (const double *const[]){x},
                                  (double *const[]){noisy});
    return apart(noisy, exact, AREA) / apart(exact, zeros, AREA);
}

/* By 1/4 of 2^-24 |a| / w at the least eigenvalue w, about. */
static void a_root_moves_as_its_matrix_is_nearly_singular(void **state)
{
    double well = 0, badly = 0;
    fixture *f = *state;
    const cz_ir_op root = root_function(f);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        well = fmax(well, root_moves(root, 1, seed));
        badly = fmax(badly, root_moves(root, 1e-4, seed));
    }
    assert_true(well > 1e-9 && well < 3e-7);
    assert_true(badly > 1e-5 && badly < 1e-3);
}

/* Sums of f32 wander by their terms, not by what is left of them. */
static void a_product_moves_by_its_terms(void **state)
{
    const double a[] = {1, 1.0 / 3, -1, 1e-7}, b[] = {1, 1, 1, 1};
    double exact, noisy, most = 0;
    cz_reference_noise noise = {7};

    cz_reference_matmul(a, b, &exact, 1, 4, 1);
    for (int i = 0; i < 100; i++) {
        cz_reference_matmul_noisy(&noise, a, b, &noisy, 1, 4, 1);
        most = fmax(most, fabs(noisy - exact));
    }
    assert_true(most > 0x1p-25 && most < 0x1p-21);
}

/* What moves a symmetric matrix leaves it so, and a triangle's zeros. */
static void a_moved_operand_keeps_its_form(void **state)
{
    const cz_factor_size size = {SIDE, SIDE, 1};
    const cz_factor symmetric[] = {CZ_FACTOR_EIGH, CZ_FACTOR_ROOT,
                                   CZ_FACTOR_NEWTON_ROOT, CZ_FACTOR_CHOLESKY};
    cz_reference_noise noise = {3};

    for (int k = 0; k < 4; k++) {
        double x[AREA];
        for (int i = 0; i < AREA; i++)
            x[i] = 1 + (i / SIDE == i % SIDE);
        cz_reference_factor_noise(&noise, symmetric[k], &size, x);
        assert_true(x[1] != 1 && fabs(x[1] - 1) < 1e-5);
        for (int i = 0; i < AREA; i++)
            assert_true(x[i] == x[i % SIDE * SIDE + i / SIDE]);
    }
    double lower[AREA] = {0};
    for (int i = 0; i < AREA; i++)
        lower[i] = i % SIDE <= i / SIDE;
    cz_reference_factor_noise(&noise, CZ_FACTOR_SOLVE_LOWER, &size, lower);
    for (int i = 0; i < AREA; i++)
        assert_true((lower[i] == 0) == (i % SIDE > i / SIDE));
    assert_true(lower[0] != 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_reads_a_settled_result_reads_what_was_given),
        TEST(an_argument_is_not_settled),
        cmocka_unit_test(what_f32_holds_stays),
        cmocka_unit_test(others_go_up_as_often_as_they_are_near),
        TEST(a_root_moves_as_its_matrix_is_nearly_singular),
        cmocka_unit_test(a_product_moves_by_its_terms),
        cmocka_unit_test(a_moved_operand_keeps_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
