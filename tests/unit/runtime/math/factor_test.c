/* Factorisations by LAPACK: what they give, from no more workspace than the
 * compiler's table says; the second try in float64; every failure by name. */
#include "runtime/math/factor.h"
#include "tests/unit/unit.h"
#include "runtime/math/library.h"
#include "runtime/math/product.h"
#include "runtime/base/testing.h"

enum { LARGEST = 139, COLUMNS = 5, GUARD = 64 };

static const size_t sizes[] = {1, 2, 3, 17, 64, 139};

typedef struct room {
    czr_host_math math;
    float *a, *b, *out[2];
    unsigned char *work;
} room;

static uint32_t seed = 5;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return ((float)(seed >> 8) / (float)(1 << 23)) - 1;
}

static int set_up(void **state)
{
    static room r;
    const size_t area = LARGEST * LARGEST;

    r = (room){.a = calloc(area, sizeof *r.a),
               .b = calloc(area, sizeof *r.b),
               .out = {calloc(area, sizeof *r.a), calloc(area, sizeof *r.a)},
               .work = aligned_alloc(64, 64 * (area + LARGEST * 16))};
    *state = &r;
    return czr_host_math_open(&r.math, 1, 1) == CZR_OK &&
                   czr_library_has_lapack()
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    room *r = *state;

    czr_host_math_close(&r->math);
    free(r->a);
    free(r->b);
    free(r->out[0]);
    free(r->out[1]);
    free(r->work);
    return 0;
}

/* Bytes as the compiler has them. */
static size_t work_of(czr_factor_kind kind, size_t m, size_t n)
{
    const size_t k = COLUMNS, s = m < n ? m : n;
    static size_t bytes[CZR_N_FACTORS];

#define CZ_FACTOR(tag, name, operands, results, parameters, square, work,      \
                  flops, part, launches)                                       \
    bytes[CZR_FACTOR_##tag] = (work);
#include "dsl/vocab/factor.def"
    (void)k, (void)s;
    return bytes[kind];
}

/* Nothing is written behind the workspace. */
static czr_status run_with(room *r, czr_factor_kind kind, size_t m, size_t n,
                           const double *parameters)
{
    const size_t bytes = work_of(kind, m, n);
    const czr_factor factor = {.kind = kind,
                               .m = m,
                               .n = n,
                               .k = COLUMNS,
                               .a = r->a,
                               .b = r->b,
                               .out = {r->out[0], r->out[1]},
                               .parameters = {parameters[0], parameters[1],
                                              parameters[2], parameters[3]},
                               .work = r->work,
                               .work_bytes = bytes};

    memset(r->work + bytes, 0x5a, GUARD);
    const czr_status status = czr_factor_host(&r->math.math, &factor);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(r->work[bytes + i], 0x5a);
    return status;
}

static czr_status run(room *r, czr_factor_kind kind, size_t m, size_t n)
{
    return run_with(r, kind, m, n, (const double[]){-0.5, 1e-3, 1e-6, 100});
}

/* x x' of n rows and `rank` columns, each weighed. */
static void make_gram(room *r, size_t n, size_t rank)
{
    static float x[LARGEST * LARGEST];

    for (size_t i = 0; i < n * rank; i++)
        x[i] = next_value();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < rank; k++)
                sum += (double)x[i * rank + k] * x[j * rank + k];
            r->a[i * n + j] = r->a[j * n + i] = (float)sum;
        }
}

static double dot(const float *a, size_t a_step, const float *b, size_t b_step,
                  size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)a[i * a_step] * b[i * b_step];
    return sum;
}

static double largest(const float *x, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* Columns of q [m, s] are orthonormal. */
static void check_columns(const float *q, size_t m, size_t s)
{
    for (size_t i = 0; i < s; i++)
        for (size_t j = 0; j < s; j++)
            assert_true(fabs(dot(q + i, s, q + j, s, m) - (i == j)) <
                        3e-6 * sqrt((double)m));
}

static void check_eigh(const room *r, size_t n)
{
    const float *w = r->out[0], *q = r->out[1];
    const double bound = 3e-7 * (double)(n + 4) * largest(w, n) + 1e-30;

    check_columns(q, n, n);
    for (size_t i = 1; i < n; i++)
        assert_true(w[i - 1] <= w[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (double)q[i * n + k] * w[k] * q[j * n + k];
            assert_true(fabs(sum - r->a[i * n + j]) <= bound);
        }
}

static void eigh_gives_the_matrix_back(void **state)
{
    room *r = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t rank = sizes[i]; rank > 0; rank /= 3) {
            make_gram(r, sizes[i], rank);
            assert_int_equal(run(r, CZR_FACTOR_EIGH, sizes[i], sizes[i]),
                             CZR_OK);
            check_eigh(r, sizes[i]);
        }
}

static void eigh_of_zeros_is_zeros(void **state)
{
    room *r = *state;

    memset(r->a, 0, 17 * 17 * sizeof *r->a);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, 17, 17), CZR_OK);
    assert_true(largest(r->out[0], 17) == 0);
    check_columns(r->out[1], 17, 17);
}

static void eigh_of_extreme_scales(void **state)
{
    room *r = *state;
    static const float scales[] = {1e-30f, 1e30f};

    for (int k = 0; k < 2; k++) {
        make_gram(r, 17, 17);
        for (size_t i = 0; i < 17 * 17; i++)
            r->a[i] *= scales[k];
        assert_int_equal(run(r, CZR_FACTOR_EIGH, 17, 17), CZR_OK);
        check_eigh(r, 17);
    }
}

static void eigh_tries_once_more_in_f64(void **state)
{
    room *r = *state;
    float first[17];

    make_gram(r, 17, 17);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, 17, 17), CZR_OK);
    memcpy(first, r->out[0], sizeof first);
    czr_testing_fail_eigh(1);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, 17, 17), CZR_OK);
    check_eigh(r, 17);
    assert_memory_not_equal(first, r->out[0], sizeof first);
    czr_testing_fail_eigh(2);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, 17, 17), CZR_ERR_NO_CONVERGENCE);
    czr_testing_fail_eigh(2);
    assert_int_equal(run(r, CZR_FACTOR_ROOT, 17, 17), CZR_ERR_NO_CONVERGENCE);
}

/* root root (a + d) = 1 for the exponent -1/2. */
static void check_root(const room *r, size_t n, double shift)
{
    const float *root = r->out[0];

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            assert_true(root[i * n + j] == root[j * n + i]);
            for (size_t k = 0; k < n; k++)
                sum += dot(root + i * n, 1, root + k, n, n) *
                       (r->a[k * n + j] + (k == j ? shift : 0));
            assert_true(fabs(sum - (i == j)) < 1e-2);
        }
}

static void a_root_inverts(void **state)
{
    room *r = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_gram(r, sizes[i], sizes[i]);
        assert_int_equal(run(r, CZR_FACTOR_ROOT, sizes[i], sizes[i]), CZR_OK);
        check_root(r, sizes[i], 1e-3);
        assert_int_equal(run(r, CZR_FACTOR_NEWTON_ROOT, sizes[i], sizes[i]),
                         CZR_OK);
        check_root(r, sizes[i], 1e-3);
    }
}

static void a_root_of_zeros_is_that_of_the_shift(void **state)
{
    room *r = *state;

    static const czr_factor_kind kinds[] = {CZR_FACTOR_ROOT,
                                            CZR_FACTOR_NEWTON_ROOT};

    for (int k = 0; k < 2; k++) {
        memset(r->a, 0, 9 * sizeof *r->a);
        assert_int_equal(run(r, kinds[k], 3, 3), CZR_OK);
        for (size_t i = 0; i < 9; i++)
            assert_true(fabs(r->out[0][i] - (i % 4 ? 0 : sqrt(1e3))) < 1e-4);
    }
}

/* f32 does not come as near as the second tolerance wants; f64 does. */
static void a_newton_root_tries_once_more_in_f64(void **state)
{
    room *r = *state;
    static float first[17 * 17];
    const double coarse[] = {-0.5, 1e-3, 1e-6, 100};
    const double fine[] = {-0.5, 1e-3, 1e-12, 100};
    const double short_of[] = {-0.5, 1e-3, 1e-12, 3};

    make_gram(r, 17, 17);
    assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, 17, 17, coarse),
                     CZR_OK);
    memcpy(first, r->out[0], sizeof first);
    assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, 17, 17, fine), CZR_OK);
    check_root(r, 17, 1e-3);
    assert_memory_not_equal(first, r->out[0], sizeof first);
    assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, 17, 17, short_of),
                     CZR_ERR_NO_CONVERGENCE);
}

static int n_products;

static void count_product(const czr_math *math, const czr_product *product)
{
    n_products++;
    czr_product_fixed_order(math, product);
}

/* f32 ends where rounding keeps the distance from falling, far from 100 steps
 * of two products, and f64 comes as near as is asked. */
static void a_newton_root_ends_where_rounding_does(void **state)
{
    room *r = *state;
    const double fine[] = {-0.5, 1e-3, 1e-9, 100};
    const double beyond[] = {-0.5, 1e-3, 1e-30, 100};

    r->math.math.product = count_product;
    for (size_t n = 17; n <= LARGEST; n += 61) {
        make_gram(r, n, n);
        n_products = 0;
        assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, n, n, fine),
                         CZR_OK);
        check_root(r, n, 1e-3);
        assert_in_range(n_products, 2, 90);
        assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, n, n, beyond),
                         CZR_ERR_NO_CONVERGENCE);
    }
    r->math.math.product = czr_product_fixed_order;
}

/* Each 1/k is another way through the powers. */
static void newton_roots_of_each_degree(void **state)
{
    room *r = *state;

    for (int k = 1; k <= 9; k++) {
        memset(r->a, 0, 9 * sizeof *r->a);
        for (size_t i = 0; i < 3; i++)
            r->a[4 * i] = (float)(i + 1);
        assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, 3, 3,
                                  (const double[]){-1.0 / k, 0, 1e-6, 100}),
                         CZR_OK);
        for (size_t i = 0; i < 3; i++)
            assert_true(fabs(r->out[0][4 * i] - pow((double)i + 1, -1.0 / k)) <
                        1e-6);
    }
}

static void check_qr(room *r, size_t m, size_t n)
{
    const size_t s = m < n ? m : n;
    const float *q = r->out[0], *x = r->out[1];

    for (size_t i = 0; i < m * n; i++)
        r->a[i] = next_value();
    assert_int_equal(run(r, CZR_FACTOR_QR, m, n), CZR_OK);
    check_columns(q, m, s);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            assert_true(fabs(dot(q + i * s, 1, x + j, n, s) - r->a[i * n + j]) <
                        1e-5);
    for (size_t i = 0; i < s; i++) {
        assert_true(x[i * n + i] >= 0);
        for (size_t j = 0; j < i; j++)
            assert_true(x[i * n + j] == 0);
    }
}

static void qr_gives_the_matrix_back(void **state)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            check_qr(*state, sizes[i], sizes[j]);
}

/* l from cholesky is a well-conditioned triangle to solve with. */
static void check_triangle(room *r, size_t n)
{
    static const czr_factor_kind kinds[] = {
        CZR_FACTOR_SOLVE_LOWER, CZR_FACTOR_SOLVE_LOWER_T,
        CZR_FACTOR_SOLVE_UPPER, CZR_FACTOR_SOLVE_UPPER_T};

    make_gram(r, n, n);
    for (size_t i = 0; i < n; i++)
        r->a[i * n + i] += (float)n;
    assert_int_equal(run(r, CZR_FACTOR_CHOLESKY, n, n), CZR_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            assert_true(j <= i || r->out[0][i * n + j] == 0);
            assert_true(
                fabs(dot(r->out[0] + i * n, 1, r->out[0] + j * n, 1, n) -
                     r->a[i * n + j]) < 2e-5 * (double)n);
        }
    memcpy(r->a, r->out[0], n * n * sizeof *r->a);
    for (size_t i = 0; i < n * COLUMNS; i++)
        r->b[i] = next_value();
    for (int k = 0; k < 4; k++) {
        const bool is_transposed = k == 1 || k == 3;
        if (k == 2)
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++) {
                    r->a[j * n + i] = r->a[i * n + j];
                    r->a[i * n + j] = 0;
                }
        assert_int_equal(run(r, kinds[k], n, n), CZR_OK);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                assert_true(
                    fabs(dot(is_transposed ? r->a + i : r->a + i * n,
                             is_transposed ? n : 1, r->out[0] + j, COLUMNS, n) -
                         r->b[i * COLUMNS + j]) < 1e-4);
    }
}

static void triangles_multiply_and_solve(void **state)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_triangle(*state, sizes[i]);
}

static void what_is_not_positive_is_named(void **state)
{
    room *r = *state;
    const float indefinite[] = {1, 2, 2, 1};

    memcpy(r->a, indefinite, sizeof indefinite);
    assert_int_equal(run(r, CZR_FACTOR_CHOLESKY, 2, 2), CZR_ERR_NOT_POSITIVE);
    assert_int_equal(run(r, CZR_FACTOR_ROOT, 2, 2), CZR_ERR_NOT_POSITIVE);
    assert_int_equal(run(r, CZR_FACTOR_NEWTON_ROOT, 2, 2),
                     CZR_ERR_NOT_POSITIVE);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, 2, 2), CZR_OK);
    memset(r->a, 0, sizeof indefinite);
    assert_int_equal(run(r, CZR_FACTOR_CHOLESKY, 2, 2), CZR_ERR_NOT_POSITIVE);
    assert_int_equal(run_with(r, CZR_FACTOR_NEWTON_ROOT, 2, 2,
                              (const double[]){-1, 0, 1e-6, 100}),
                     CZR_ERR_NOT_POSITIVE);
}

static void what_is_not_finite_is_named(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    room *r = *state;

    for (int v = 0; v < 3; v++)
        for (int kind = 0; kind < CZR_N_FACTORS; kind++) {
            make_gram(r, 3, 3);
            memcpy(r->b, r->a, 9 * sizeof *r->a);
            r->a[7] = values[v];
            assert_int_equal(run(r, (czr_factor_kind)kind, 3, 3),
                             CZR_ERR_NOT_FINITE);
        }
}

static void what_is_singular_is_named(void **state)
{
    room *r = *state;

    make_gram(r, 3, 3);
    r->a[4] = 0;
    for (size_t i = 0; i < 3 * COLUMNS; i++)
        r->b[i] = 1;
    assert_int_equal(run(r, CZR_FACTOR_SOLVE_LOWER, 3, 3), CZR_ERR_SINGULAR);
    assert_int_equal(run(r, CZR_FACTOR_SOLVE_UPPER_T, 3, 3), CZR_ERR_SINGULAR);
}

static void too_little_workspace_is_named(void **state)
{
    static const czr_factor_kind kinds[] = {CZR_FACTOR_EIGH, CZR_FACTOR_QR,
                                            CZR_FACTOR_ROOT,
                                            CZR_FACTOR_NEWTON_ROOT};
    room *r = *state;

    make_gram(r, 64, 64);
    for (int i = 0; i < 4; i++) {
        const czr_factor factor = {.kind = kinds[i],
                                   .m = 64,
                                   .n = 64,
                                   .k = 1,
                                   .a = r->a,
                                   .out = {r->out[0], r->out[1]},
                                   .parameters = {-1, 1, 1e-6, 100},
                                   .work = r->work,
                                   .work_bytes =
                                       work_of(kinds[i], 64, 64) - 512};
        assert_int_equal(czr_factor_host(&r->math.math, &factor),
                         CZR_ERR_ARGUMENT);
    }
}

/* Another place in memory, and what was computed before, change no bit. */
static void equal_operands_have_equal_bits(void **state)
{
    room *r = *state;
    static float values[LARGEST], vectors[LARGEST * LARGEST];

    make_gram(r, LARGEST, LARGEST);
    assert_int_equal(run(r, CZR_FACTOR_EIGH, LARGEST, LARGEST), CZR_OK);
    memcpy(values, r->out[0], sizeof values);
    memcpy(vectors, r->out[1], sizeof vectors);
    memcpy(r->b, r->a, sizeof vectors);
    float *swap = r->a;
    r->a = r->b;
    r->b = swap;
    assert_int_equal(run(r, CZR_FACTOR_EIGH, LARGEST, LARGEST), CZR_OK);
    assert_memory_equal(values, r->out[0], sizeof values);
    assert_memory_equal(vectors, r->out[1], sizeof vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigh_gives_the_matrix_back),
        cmocka_unit_test(eigh_of_zeros_is_zeros),
        cmocka_unit_test(eigh_of_extreme_scales),
        cmocka_unit_test(eigh_tries_once_more_in_f64),
        cmocka_unit_test(a_root_inverts),
        cmocka_unit_test(a_root_of_zeros_is_that_of_the_shift),
        cmocka_unit_test(a_newton_root_tries_once_more_in_f64),
        cmocka_unit_test(a_newton_root_ends_where_rounding_does),
        cmocka_unit_test(newton_roots_of_each_degree),
        cmocka_unit_test(qr_gives_the_matrix_back),
        cmocka_unit_test(triangles_multiply_and_solve),
        cmocka_unit_test(what_is_not_positive_is_named),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(what_is_singular_is_named),
        cmocka_unit_test(too_little_workspace_is_named),
        cmocka_unit_test(equal_operands_have_equal_bits),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
