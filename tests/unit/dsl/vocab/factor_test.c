/* The interpreter's factorisations by what defines them: products that give the
 * operand back, orthonormal columns, order, triangles; and what the table
 * admits. */
#include "dsl/vocab/factor.h"
#include "tests/unit/unit.h"
#include "dsl/base/checked.h"
#include "dsl/reference/internal.h"
#include "tests/unit/dsl/reference/reals.h"

enum { MOST = 33, AREA = MOST * MOST };

static const int sizes[] = {1, 2, 3, 17, 33};

/* ---- small matrices ---- */

static void transpose(const double *a, int m, int n, double *out)
{
    cz_reference_transpose(a, out, m, n);
}

static void assert_near(const double *a, const double *b, int n, double bound)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= bound))
            fail_msg("element %d: %.17g is not %.17g", i, a[i], b[i]);
}

/* q' q = I for the n columns of q [m, n]. */
static void assert_orthonormal(const double *q, int m, int n)
{
    double turned[AREA], product[AREA];

    transpose(q, m, n, turned);
    cz_reference_matmul(turned, q, product, n, m, n);
    for (int i = 0; i < n * n; i++)
        assert_true(fabs(product[i] - (i / n == i % n)) < 1e-13);
}

/* q diag(w) q' for a random orthonormal q. */
static void make_symmetric(const double *w, int n, double *a)
{
    double x[AREA], r[AREA], q[AREA], turned[AREA];
    const cz_factor_size size = {n, n, 1};

    fill(x, n * n);
    cz_reference_factor(CZ_FACTOR_QR, &size, NULL, (const double *[]){x},
                        (double *[]){q, r});
    transpose(q, n, n, turned);
    for (int i = 0; i < n * n; i++)
        q[i] *= w[i % n];
    cz_reference_matmul(q, turned, a, n, n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
}

/* ---- eigenvalues ---- */

typedef double (*spectrum)(int i, int n);

static double spread_out(int i, int n)
{
    return i - n / 2.5;
}

static double clustered(int i, int n)
{
    return 1 + (double)(i % 3) + 1e-9 * i / n;
}

static double deficient(int i, int n)
{
    return i < n / 2 ? 0 : i;
}

static double graded(int i, int n)
{
    return pow(10, -12.0 * i / n);
}

static double nothing(int i, int n)
{
    (void)i, (void)n;
    return 0;
}

static void check_eigh(const double *a, int n)
{
    double w[MOST], q[AREA], scaled[AREA], turned[AREA], back[AREA], most = 0;
    const cz_factor_size size = {n, n, 1};

    cz_reference_factor(CZ_FACTOR_EIGH, &size, NULL, (const double *[]){a},
                        (double *[]){w, q});
    assert_orthonormal(q, n, n);
    for (int i = 0; i < n; i++) {
        assert_true(i == 0 || w[i - 1] <= w[i]);
        most = fmax(most, fabs(w[i]));
    }
    for (int i = 0; i < n * n; i++)
        scaled[i] = q[i] * w[i % n];
    transpose(q, n, n, turned);
    cz_reference_matmul(scaled, turned, back, n, n, n);
    assert_near(back, a, n * n, 1e-14 * n * most + 1e-300);
}

static void eigenvalues_ascend_and_give_the_matrix_back(void **state)
{
    static const spectrum spectra[] = {spread_out, clustered, deficient, graded,
                                       nothing};
    double w[MOST], a[AREA];

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof spectra / sizeof *spectra; k++) {
            for (int i = 0; i < sizes[s]; i++)
                w[i] = spectra[k](i, sizes[s]);
            make_symmetric(w, sizes[s], a);
            check_eigh(a, sizes[s]);
        }
}

static void eigenvalues_of_known_matrices(void **state)
{
    const double a[] = {2, 1, 1, 2}, b[] = {0, 3, 3, 0};
    const cz_factor_size size = {2, 2, 1};
    double w[2], q[4];

    cz_reference_factor(CZ_FACTOR_EIGH, &size, NULL, (const double *[]){a},
                        (double *[]){w, q});
    assert_near(w, (const double[]){1, 3}, 2, 1e-15);
    cz_reference_factor(CZ_FACTOR_EIGH, &size, NULL, (const double *[]){b},
                        (double *[]){w, q});
    assert_near(w, (const double[]){-3, 3}, 2, 1e-15);
}

/* ---- roots ---- */

static void run_root(const double *a, int n, double p, double eps, double *out)
{
    const double parameters[] = {p, eps};
    const cz_factor_size size = {n, n, 1};

    cz_reference_factor(CZ_FACTOR_ROOT, &size, parameters,
                        (const double *[]){a}, (double *[]){out});
}

static void a_root_to_its_power_is_the_inverse(void **state)
{
    double w[MOST], a[AREA], root[AREA], second[AREA], fourth[AREA], one[AREA];

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int n = sizes[s];
        for (int i = 0; i < n; i++)
            w[i] = 1 + i;
        make_symmetric(w, n, a);
        run_root(a, n, -0.25, 0, root);
        cz_reference_matmul(root, root, second, n, n, n);
        cz_reference_matmul(second, second, fourth, n, n, n);
        cz_reference_matmul(fourth, a, one, n, n, n);
        for (int i = 0; i < n * n; i++)
            assert_true(fabs(one[i] - (i / n == i % n)) < 1e-11);
    }
}

/* Least eigenvalue -3: all are raised by 3 and the shift. */
static void a_root_shifts_by_the_least_eigenvalue(void **state)
{
    const double a[] = {-3, 0, 0, 1}, b[] = {5, 0, 0, 1};
    double root[4];

    run_root(a, 2, -0.5, 0.25, root);
    assert_near(root, (const double[]){2, 0, 0, 1 / sqrt(4.25)}, 4, 1e-15);
    run_root(b, 2, -1, 0.25, root);
    assert_near(root, (const double[]){1 / 5.25, 0, 0, 0.8}, 4, 1e-15);
}

/* A Newton root is the same power, but raises no eigenvalue: there is none. */
static void a_newton_root_of_what_is_indefinite_is_no_number(void **state)
{
    const double parameters[] = {-0.5, 0.25, 1e-6, 100};
    const double a[] = {3.75, 0, 0, 0.75}, b[] = {-3, 0, 0, 1};
    const cz_factor_size size = {2, 2, 1};
    double root[4];

    cz_reference_factor(CZ_FACTOR_NEWTON_ROOT, &size, parameters,
                        (const double *[]){a}, (double *[]){root});
    assert_near(root, (const double[]){0.5, 0, 0, 1}, 4, 1e-15);
    cz_reference_factor(CZ_FACTOR_NEWTON_ROOT, &size, parameters,
                        (const double *[]){b}, (double *[]){root});
    assert_true(isnan(root[0]));
}

static void newton_roots_are_of_whole_degrees(void **state)
{
    const struct {
        double parameters[4];
        bool ok;
    } cases[] = {
        {{-0.25, 0, 1e-6, 100}, true},    {{-1, 1, 1e-6, 1}, true},
        {{-1.0 / 3, 0, 1e-6, 100}, true}, {{-0.3, 0, 1e-6, 100}, false},
        {{-2, 0, 1e-6, 100}, false},      {{0.25, 0, 1e-6, 100}, false},
        {{-0.25, -1, 1e-6, 100}, false},  {{-1.0 / 65, 0, 1e-6, 9}, false},
        {{-0.25, 0, 0, 100}, false},      {{-0.25, 0, 1, 100}, false},
        {{-0.25, 0, 1e-6, 0}, false},     {{-0.25, 0, 1e-6, 2.5}, false},
        {{-0.25, 0, 1e-6, 1001}, false},  {{-0.25, 0, NAN, 100}, false},
        {{NAN, 0, 1e-6, 100}, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            cz_factor_takes(CZ_FACTOR_NEWTON_ROOT, cases[i].parameters),
            cases[i].ok);
}

/* ---- qr ---- */

static void check_qr(int m, int n)
{
    const int s = m < n ? m : n;
    const cz_factor_size size = {m, n, 1};
    double a[AREA], q[AREA], r[AREA], back[AREA];

    fill(a, m * n);
    if (m > 2) /* two rows alike: of low rank where m is small */
        memcpy(a, a + n, (size_t)n * sizeof *a);
    cz_reference_factor(CZ_FACTOR_QR, &size, NULL, (const double *[]){a},
                        (double *[]){q, r});
    assert_orthonormal(q, m, s);
    cz_reference_matmul(q, r, back, m, s, n);
    assert_near(back, a, m * n, 1e-13);
    for (int i = 0; i < s; i++) {
        assert_true(r[i * n + i] >= 0);
        for (int j = 0; j < i; j++)
            assert_true(r[i * n + j] == 0);
    }
}

static void qr_gives_the_matrix_back(void **state)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            check_qr(sizes[i], sizes[j]);
}

/* ---- triangles ---- */

static void check_triangle(int n)
{
    const cz_factor_size size = {n, n, 3};
    double w[MOST] = {0}, a[AREA], l[AREA], u[AREA], back[AREA];
    double b[3 * MOST], x[3 * MOST], again[3 * MOST];

    for (int i = 0; i < n; i++)
        w[i] = 1 + i;
    make_symmetric(w, n, a);
    cz_reference_factor(CZ_FACTOR_CHOLESKY, &size, NULL, (const double *[]){a},
                        (double *[]){l});
    transpose(l, n, n, u);
    for (int i = 0; i < n * n; i++)
        assert_true(i % n <= i / n || l[i] == 0);
    cz_reference_matmul(l, u, back, n, n, n);
    assert_near(back, a, n * n, 1e-12);
    fill(b, n * 3);
    const struct {
        cz_factor factor;
        const double *stored, *meant;
    } cases[] = {{CZ_FACTOR_SOLVE_LOWER, l, l},
                 {CZ_FACTOR_SOLVE_LOWER_T, l, u},
                 {CZ_FACTOR_SOLVE_UPPER, u, u},
                 {CZ_FACTOR_SOLVE_UPPER_T, u, l}};
    for (int i = 0; i < 4; i++) {
        cz_reference_factor(cases[i].factor, &size, NULL,
                            (const double *[]){cases[i].stored, b},
                            (double *[]){x});
        cz_reference_matmul(cases[i].meant, x, again, n, n, 3);
        assert_near(again, b, n * 3, 1e-11);
    }
}

static void triangles_multiply_and_solve(void **state)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_triangle(sizes[i]);
}

static void what_is_not_positive_has_no_triangle(void **state)
{
    const double indefinite[] = {1, 2, 2, 1}, nothing_at_all[] = {0, 0, 0, 0};
    const cz_factor_size size = {2, 2, 1};
    double l[4];

    cz_reference_factor(CZ_FACTOR_CHOLESKY, &size, NULL,
                        (const double *[]){indefinite}, (double *[]){l});
    assert_true(isnan(l[0]) && isnan(l[3]));
    cz_reference_factor(CZ_FACTOR_CHOLESKY, &size, NULL,
                        (const double *[]){nothing_at_all}, (double *[]){l});
    assert_true(isnan(l[0]));
}

/* ---- the table ---- */

static void names_are_found_again(void **state)
{
    for (int i = 1; i < CZ_N_FACTORS; i++)
        assert_int_equal(cz_factor_find(cz_factor_name((cz_factor)i)), i);
    assert_int_equal(cz_factor_find("svd"), CZ_FACTOR_NONE);
}

static void sizes_are_admitted_up_to_limits(void **state)
{
    const struct {
        cz_factor factor;
        cz_factor_size size;
        bool ok;
    } cases[] = {
        {CZ_FACTOR_EIGH, {1, 1, 1}, true},
        {CZ_FACTOR_EIGH, {3, 4, 1}, false},
        {CZ_FACTOR_EIGH, {0, 0, 1}, false},
        {CZ_FACTOR_EIGH, {CZ_FACTOR_SIDE, CZ_FACTOR_SIDE, 1}, true},
        {CZ_FACTOR_EIGH, {CZ_FACTOR_SIDE + 1, CZ_FACTOR_SIDE + 1, 1}, false},
        {CZ_FACTOR_QR, {3, 4, 1}, true},
        {CZ_FACTOR_QR, {CZ_FACTOR_LENGTH, 4, 1}, true},
        {CZ_FACTOR_QR, {4, CZ_FACTOR_LENGTH + 1, 1}, false},
        {CZ_FACTOR_SOLVE_LOWER, {4, 4, CZ_FACTOR_LENGTH}, true},
        {CZ_FACTOR_SOLVE_LOWER, {4, 4, 0}, false},
        {CZ_FACTOR_SOLVE_LOWER, {4, 4, INT64_MAX}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cz_factor_admits(cases[i].factor, &cases[i].size),
                         cases[i].ok);
}

static void the_largest_amounts_do_not_wrap(void **state)
{
    const int64_t side = CZ_FACTOR_SIDE;
    const cz_factor_size size = {side, side, CZ_FACTOR_LENGTH};

    for (int i = 1; i < CZ_N_FACTORS; i++) {
        const cz_factor factor = (cz_factor)i;
        assert_true(cz_factor_admits(factor, &size));
        assert_in_range(cz_factor_flops(factor, &size), side * side,
                        CZ_MAX_BYTES);
        assert_true(cz_factor_effort(factor, &size) >=
                    cz_factor_flops(factor, &size));
        assert_in_range(cz_factor_work_bytes(factor, &size), 0,
                        32 * side * side);
        assert_in_range(cz_factor_launches(factor, &size), 1, side);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvalues_ascend_and_give_the_matrix_back),
        cmocka_unit_test(eigenvalues_of_known_matrices),
        cmocka_unit_test(a_root_to_its_power_is_the_inverse),
        cmocka_unit_test(a_root_shifts_by_the_least_eigenvalue),
        cmocka_unit_test(a_newton_root_of_what_is_indefinite_is_no_number),
        cmocka_unit_test(newton_roots_are_of_whole_degrees),
        cmocka_unit_test(qr_gives_the_matrix_back),
        cmocka_unit_test(triangles_multiply_and_solve),
        cmocka_unit_test(what_is_not_positive_has_no_triangle),
        cmocka_unit_test(names_are_found_again),
        cmocka_unit_test(sizes_are_admitted_up_to_limits),
        cmocka_unit_test(the_largest_amounts_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
