/* Roots by the coupled Newton iteration on the doubles of driver, NVRTC and
 * cuBLASLt: in strict plans the host's to the bit, else as near to the root as
 * the host's; where f32 does not end, in f64; and what has no root.
 *
 * factorise_newton_test [SEED]
 * factorise_newton_test gpu NVRTC...: on the machine's GPU with its own
 * cuBLASLt, and the first NVRTC that serves; exit status 77 without: skipped.
 */
#include "runtime/math/library.h"
#include "tests/gpu/products/factor_trial.h"

#include <string.h>

void factor_kernels(void);

static bool is_on_gpu;
static bool is_narrow;    /* in f64 nothing is multiplied */
static int wide_products; /* that came nevertheless */

static void count_wide_product(void **arguments)
{
    (void)arguments;
    wide_products++;
}

/* The first of a name is the one that runs. */
static void register_kernels(void)
{
    static const int bytes[] = {8, 8, 8, 8};

    if (is_narrow)
        fake_register_sized("newton_multiply", count_wide_product, 4, bytes);
    factor_kernels();
}

/* ---- matrices ----------------------------------------------------------- */

/* Eigenvalues fall evenly on a scale of logarithms, from 1 to least. */
static double eigenvalue(size_t i, size_t n, double least)
{
    return n > 1 ? pow(least, (double)i / (double)(n - 1)) : 1;
}

/* x = H diag(values) H, H the reflection by v with v' v = 1; row by row. */
static void reflect(const double *v, const double *values, size_t n, double *x)
{
    double middle = 0;

    for (size_t i = 0; i < n; i++)
        middle += v[i] * v[i] * values[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            x[i * n + j] =
                (i == j ? values[i] : 0) +
                v[i] * v[j] * (4 * middle - 2 * values[i] - 2 * values[j]);
}

static void draw_direction(double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        v[i] = stages_draw(1, 1000);
        sum += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++)
        v[i] /= sqrt(sum);
}

typedef struct of_matrix {
    size_t n;
    int k;        /* of (a + eps I)^(-1/k) */
    double least; /* eigenvalue */
    double eps;
    double tolerance;
} of_matrix;

static double *take_numbers(size_t n)
{
    double *x = calloc(n, sizeof *x);

    assert_non_null(x);
    return x;
}

/* In *root what it is in f64, [n, n]. */
static trial newton_trial(const of_matrix *m, double **root)
{
    const size_t n = m->n;
    trial t = make_trial(CZR_FACTOR_NEWTON_ROOT, n, n, 0);
    double *v = take_numbers(n), *values = take_numbers(n);
    double *x = *root = take_numbers(n * n);

    const double parameters[] = {-1.0 / m->k, m->eps, m->tolerance, 40};
    memcpy(t.f.parameters, parameters, sizeof parameters);
    draw_direction(v, n);
    for (size_t i = 0; i < n; i++)
        values[i] = eigenvalue(i, n, m->least);
    reflect(v, values, n, x);
    for (size_t i = 0; i < n * n; i++)
        trial_operand(&t)[i] = (float)x[i];
    for (size_t i = 0; i < n; i++)
        values[i] = pow(values[i] + m->eps, -1.0 / m->k);
    reflect(v, values, n, x);
    free(v);
    free(values);
    return t;
}

/* ---- as the host -------------------------------------------------------- */

/* Well conditioned, and so far that f32 only just gets there; n odd, and more
 * than one tile. */
static const of_matrix matrices[] = {
    {1, 4, 1, 1e-3, 1e-6},    {2, 2, 0.5, 1e-3, 1e-6},
    {13, 4, 0.1, 1e-3, 1e-5}, {13, 1, 0.1, 1e-3, 1e-5},
    {37, 3, 1e-2, 0, 1e-5},   {37, 8, 1e-3, 1e-6, 1e-5},
    {65, 2, 1e-2, 0, 1e-5},   {45, 4, 1e-4, 1e-6, 1e-4},
};
/* f32 does not come so near, or runs away; f64 does. */
static const of_matrix wide_matrices[] = {
    {17, 2, 0.1, 1e-3, 1e-12},
    {18, 4, 1e-9, 1e-7, 1e-6},
    {66, 1, 0.2, 0, 1e-9},
};
enum {
    N_MATRICES = sizeof matrices / sizeof *matrices,
    N_WIDE = sizeof wide_matrices / sizeof *wide_matrices
};

static double error(const float *x, const double *root, size_t n)
{
    double most = 0, largest = 0;

    for (size_t i = 0; i < n * n; i++) {
        if (!isfinite(x[i]))
            fail_msg("element %zu is not finite", i);
        most = fmax(most, fabs((double)x[i] - root[i]));
        largest = fmax(largest, fabs(root[i]));
    }
    return most / largest;
}

/* As near as four of the host's errors, and a rounding. */
static void expect_near(const of_matrix *m)
{
    double *root;
    trial t = newton_trial(m, &root);
    float *results[N_OUT];

    assert_int_equal(run(&t, results), CZR_OK);
    assert_int_equal(t.failed, CZR_OK);
    if (!is_on_gpu)
        assert_true(bench_launches() > 6);
    assert_int_equal(factorise_on_host(&t), CZR_OK);
    const double mine = error(results[0], root, m->n);
    const double its = error(t.f.out[0], root, m->n);
    print_message(
        "[%zu, %zu] ^ -1/%d, least %g: off by %.2g, the host's %.2g\n", m->n,
        m->n, m->k, m->least, mine, its);
    if (mine > 4 * its + 0x1p-22)
        fail_msg("too far from the root");
    expect_mirror(results[0], m->n);
    drop_results(results);
    drop_trial(&t);
    free(root);
}

/* In f32. */
static void expect_all_near(void)
{
    is_narrow = true;
    for (int i = 0; i < N_MATRICES; i++)
        expect_near(&matrices[i]);
    is_narrow = false;
    assert_int_equal(wide_products, 0);
}

static void roots_are_as_near_as_the_hosts(void **state)
{
    (void)state;
    expect_all_near();
}

static void what_f32_does_not_reach_f64_does(void **state)
{
    (void)state;
    for (int i = 0; i < N_WIDE; i++)
        expect_near(&wide_matrices[i]);
}

static void without_cublaslt_they_are_as_near(void **state)
{
    const char *const before = trial_cublas;

    (void)state;
    trial_cublas = "/nowhere/libcublasLt.so";
    expect_all_near();
    trial_cublas = before;
}

/* The device's launches in f32, the host's f64, which need not be of the last
 * matrix: that is long. */
static void strict_roots_are_the_hosts_to_the_bit(void **state)
{
    (void)state;
    trial_is_strict = true;
    for (int i = 0; i < N_MATRICES + N_WIDE - 1; i++) {
        double *root;
        trial t = newton_trial(i < N_MATRICES ? &matrices[i]
                                              : &wide_matrices[i - N_MATRICES],
                               &root);
        float *results[N_OUT];
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(t.failed, CZR_OK);
        if (!is_on_gpu)
            assert_true(bench_launches() > 6);
        assert_int_equal(factorise_on_host(&t), CZR_OK);
        if (memcmp(results[0], t.f.out[0], t.n_out[0] * sizeof(float)) != 0)
            fail_msg("matrix %d: other bits than the host's", i);
        drop_results(results);
        drop_trial(&t);
        free(root);
    }
    trial_is_strict = false;
}

/* ---- what is not done --------------------------------------------------- */

static void skipped_steps_write_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        double *root;
        trial t = newton_trial(&matrices[3], &root);
        float *results[N_OUT];
        t.skipped = 1;
        trial_is_strict = i % 2;
        assert_int_equal(run(&t, results), CZR_OK);
        trial_is_strict = false;
        assert_int_equal(t.failed, CZR_OK);
        if (!is_on_gpu)
            assert_true(bench_launches() <= 1);
        assert_memory_equal(results[0], t.f.out[0], t.n_out[0] * sizeof(float));
        drop_results(results);
        drop_trial(&t);
        free(root);
    }
}

/* Element `at` becomes `value`, or where at is n * n all are times it: the root
 * of what is that small is beyond f32. */
static const struct {
    of_matrix of;
    size_t at;
    float value;
    int most; /* iterations */
    czr_status status;
} spoiled[] = {
    {{7, 4, 0.1, 1e-3, 1e-6}, 3, NAN, 100, CZR_ERR_NOT_FINITE},
    {{7, 4, 0.1, 1e-3, 1e-6}, 48, -INFINITY, 100, CZR_ERR_NOT_FINITE},
    {{7, 4, 0.1, 1e-3, 1e-6}, 8, -1, 100, CZR_ERR_NOT_POSITIVE},
    {{7, 2, 0.1, 0, 1e-6}, 49, 0, 100, CZR_ERR_NOT_POSITIVE},
    {{7, 1, 0.5, 0, 1e-6}, 49, 1e-40F, 100, CZR_ERR_NO_CONVERGENCE},
    {{7, 2, 0.1, 1e-3, 1e-6}, 0, 1, 2, CZR_ERR_NO_CONVERGENCE},
    {{7, 2, 0.1, 1e-3, 1e-6}, 0, 1, 0, CZR_ERR_NO_CONVERGENCE},
};

static void what_has_no_root_has_a_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * (sizeof spoiled / sizeof *spoiled); i++) {
        const size_t which = i / 4;
        const of_matrix *m = &spoiled[which].of;
        const czr_status before = i % 2 ? CZR_ERR_PARAM : CZR_OK;
        double *root;
        trial t = newton_trial(m, &root);
        float *results[N_OUT], *a = trial_operand(&t);
        if (spoiled[which].at < m->n * m->n)
            a[spoiled[which].at] = spoiled[which].value;
        for (size_t e = 0; spoiled[which].at == m->n * m->n && e < 49; e++)
            a[e] *= spoiled[which].value;
        t.f.parameters[3] = spoiled[which].most;
        t.failed = (int32_t)before;
        trial_is_strict = i % 4 > 1;
        assert_int_equal(run(&t, results), spoiled[which].status);
        trial_is_strict = false;
        assert_int_equal(t.failed,
                         before == CZR_OK ? spoiled[which].status : before);
        assert_int_equal(factorise_on_host(&t), spoiled[which].status);
        drop_results(results);
        drop_trial(&t);
        free(root);
    }
}

static void zeros_have_the_root_of_the_shift(void **state)
{
    const of_matrix m = {9, 2, 0.1, 1e-4, 1e-6};
    double *root;
    trial t = newton_trial(&m, &root);
    float *results[N_OUT];

    (void)state;
    memset(trial_operand(&t), 0, 81 * sizeof(float));
    assert_int_equal(run(&t, results), CZR_OK);
    for (size_t i = 0; i < 81; i++)
        assert_true(fabsf(results[0][i] - (i % 10 ? 0 : 100)) <= 1e-3F);
    drop_results(results);
    drop_trial(&t);
    free(root);
}

/* ---- who does it -------------------------------------------------------- */

static void who_computes_is_said(void **state)
{
    const czr_factor f = {.kind = CZR_FACTOR_NEWTON_ROOT, .m = 8, .n = 8};
    const char *const products[] = {"cuBLASLt, where they lie at odd places "
                                    "product_plain",
                                    "product_plain"};
    char lines[LINES], expected[1024];

    (void)state;
    for (int i = 0; i < 2; i++) {
        test_stages s;
        trial_restart();
        assert_int_equal(stages_open(&s, i == 1), CZR_OK);
        s.stages.cublas = trial_cublas;
        assert_int_equal(czr_cuda_factor_prepare(&s.stages, &f), CZR_OK);
        assert_false(czr_cuda_products_is_capturable(&s.stages));
        lines[0] = '\0';
        czr_cuda_products_describe(&s.stages, keep_line, lines);
        snprintf(expected, sizeof expected,
                 "f32[8, 8] x f32[8, 8] to f32, symmetric: %s\n"
                 "newton_root of f32[8, 8]: products and kernels of newton.cu, "
                 "for which the host waits\n",
                 products[i]);
        assert_string_equal(lines, expected);
        stages_close(&s);
        assert_int_equal(bench_leftovers(), 0);
    }
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    fail_in_turn(CZR_FACTOR_NEWTON_ROOT, 3);
    trial_is_strict = true;
    fail_in_turn(CZR_FACTOR_NEWTON_ROOT, 3);
    trial_is_strict = false;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_as_near_as_the_hosts),
        cmocka_unit_test(what_f32_does_not_reach_f64_does),
        cmocka_unit_test(without_cublaslt_they_are_as_near),
        cmocka_unit_test(strict_roots_are_the_hosts_to_the_bit),
        cmocka_unit_test(skipped_steps_write_nothing),
        cmocka_unit_test(what_has_no_root_has_a_name),
        cmocka_unit_test(zeros_have_the_root_of_the_shift),
        cmocka_unit_test(who_computes_is_said),
        cmocka_unit_test(failures_leave_nothing),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(roots_are_as_near_as_the_hosts),
        cmocka_unit_test(what_f32_does_not_reach_f64_does),
        cmocka_unit_test(without_cublaslt_they_are_as_near),
        cmocka_unit_test(strict_roots_are_the_hosts_to_the_bit),
        cmocka_unit_test(skipped_steps_write_nothing),
        cmocka_unit_test(what_has_no_root_has_a_name),
    };

    is_on_gpu = argc > 1 && !strcmp(argv[1], "gpu");
    if (argc > 1 && !is_on_gpu)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    if (!is_on_gpu) {
        trial_cublas = CUBLAS_PATH;
        trial_kernels = register_kernels;
    }
    trial_is_strict = false;
    srand(seed);
    printf("seed %u\n", seed);
    if (!czr_library_has_lapack()) {
        printf("no LAPACK\n");
        return GPU_BENCH_SKIPPED;
    }
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
