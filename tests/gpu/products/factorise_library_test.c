/* Factorisations by cuSOLVER on the doubles of driver, NVRTC and cuSOLVER,
 * beside the host's; where it is missing, fails, or does not come to an end;
 * and those that the host does, as in strict plans: with its bits.
 *
 * factorise_library_test [SEED]
 * factorise_library_test gpu NVRTC...: on the machine's GPU with its own
 * cuSOLVER, and the first NVRTC that serves.
 * factorise_library_test library PATH: whether that cuSOLVER has all that we
 * call; it need not start.  Exit status 77: skipped. */
#include "runtime/cuda/library/cusolver.h"
#include "runtime/math/library.h"
#include "tests/gpu/products/factor_trial.h"

#include <dlfcn.h>
#include <string.h>

void factor_kernels(void);

static int *fails, *diverges, *launches; /* the double's; NULL: on a GPU */

typedef struct shape {
    czr_factor_kind kind;
    size_t m, n, k;
} shape;

static const shape shapes[] = {
    {CZR_FACTOR_EIGH, 130, 130, 0},
    {CZR_FACTOR_QR, 9, 5, 0},
    {CZR_FACTOR_QR, 5, 9, 0},
    {CZR_FACTOR_QR, 70, 33, 0},
    {CZR_FACTOR_CHOLESKY, 7, 7, 0},
    {CZR_FACTOR_CHOLESKY, 45, 45, 0},
    {CZR_FACTOR_SOLVE_LOWER, 6, 6, 4},
    {CZR_FACTOR_SOLVE_LOWER_T, 6, 6, 4},
    {CZR_FACTOR_SOLVE_UPPER, 6, 6, 4},
    {CZR_FACTOR_SOLVE_UPPER_T, 6, 6, 4},
    {CZR_FACTOR_SOLVE_LOWER, 40, 40, 1},
    {CZR_FACTOR_ROOT, 12, 12, 0},
    {CZR_FACTOR_ROOT, 1, 1, 0},
    {CZR_FACTOR_ROOT, 37, 37, 0},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static trial trial_of(const shape *s)
{
    return make_trial(s->kind, s->m, s->n, s->k);
}

/* ---- as the host -------------------------------------------------------- */

static void expect_near(const float *mine, const float *its, size_t n)
{
    float largest = 0, off = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(mine[i]))
            fail_msg("element %zu is not finite", i);
        largest = fmaxf(largest, fabsf(its[i]));
        off = fmaxf(off, fabsf(mine[i] - its[i]));
    }
    if (off > 1e-4F * largest)
        fail_msg("off by %g of %g", (double)off, (double)largest);
}

/* Of the host's computed into t->f.out. */
static void expect_right(const trial *t, float *const results[N_OUT],
                         bool has_bits)
{
    const bool is_eigh = t->f.kind == CZR_FACTOR_EIGH;

    for (int o = 0; o < N_OUT; o++) {
        const size_t n = t->n_out[o];
        if (has_bits && memcmp(results[o], t->f.out[o], n * sizeof(float)) != 0)
            fail_msg("kind %d of [%zu, %zu]: result %d is another than the "
                     "host's",
                     (int)t->f.kind, t->f.m, t->f.n, o);
        if (!has_bits && !(is_eigh && o == 1))
            expect_near(results[o], t->f.out[o], n);
    }
    if (is_eigh)
        assert_true(residual(t, results) <= (double)t->f.n / 8388608);
}

static void results_are_those_of_the_host(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        const bool is_root = shapes[i].kind == CZR_FACTOR_ROOT;
        trial t = trial_of(&shapes[i]);
        float *results[N_OUT];
        if (launches)
            *launches = 0;
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(t.failed, CZR_OK);
        if (launches)
            assert_true(*launches > 0);
        assert_int_equal(factorise_on_host(&t), CZR_OK);
        expect_right(&t, results, false);
        if (is_root)
            expect_mirror(results[0], t.f.n);
        drop_results(results);
        drop_trial(&t);
    }
}

/* ---- what is not done --------------------------------------------------- */

static void expect_untouched(const trial *t, float *const results[N_OUT])
{
    for (int o = 0; o < N_OUT; o++)
        assert_memory_equal(results[o], t->f.out[o],
                            t->n_out[o] * sizeof(float));
}

static void skipped_steps_ask_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_SHAPES; i++) {
        trial t = trial_of(&shapes[i / 2]);
        float *results[N_OUT];
        t.skipped = 1;
        trial_is_strict = i % 2;
        if (launches)
            *launches = 0;
        assert_int_equal(run(&t, results), CZR_OK);
        trial_is_strict = false;
        assert_int_equal(t.failed, CZR_OK);
        if (launches)
            assert_int_equal(*launches, 0);
        expect_untouched(&t, results);
        drop_results(results);
        drop_trial(&t);
    }
}

/* A spoiled element of operand a, and what that is called. */
static const struct {
    shape of;
    size_t at;
    float value;
    czr_status status;
} spoiled[] = {
    {{CZR_FACTOR_EIGH, 130, 130, 0}, 200, NAN, CZR_ERR_NOT_FINITE},
    {{CZR_FACTOR_ROOT, 12, 12, 0}, 140, INFINITY, CZR_ERR_NOT_FINITE},
    {{CZR_FACTOR_QR, 9, 5, 0}, 44, -INFINITY, CZR_ERR_NOT_FINITE},
    {{CZR_FACTOR_CHOLESKY, 7, 7, 0}, 6, NAN, CZR_ERR_NOT_FINITE},
    {{CZR_FACTOR_SOLVE_LOWER, 6, 6, 4}, 3, NAN, CZR_ERR_NOT_FINITE},
    {{CZR_FACTOR_SOLVE_UPPER_T, 6, 6, 4}, 28, 0, CZR_ERR_SINGULAR},
    {{CZR_FACTOR_CHOLESKY, 7, 7, 0}, 48, -1, CZR_ERR_NOT_POSITIVE},
    {{CZR_FACTOR_ROOT, 12, 12, 0}, 0, -1, CZR_ERR_NOT_POSITIVE},
};

/* Of two failures the first stays.  Results stay where the host has them. */
static void what_fails_has_a_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * (sizeof spoiled / sizeof *spoiled); i++) {
        const size_t which = i / 4;
        trial t = trial_of(&spoiled[which].of);
        const czr_status before = i % 2 ? CZR_ERR_PARAM : CZR_OK;
        float *results[N_OUT];
        trial_operand(&t)[spoiled[which].at] = spoiled[which].value;
        t.failed = (int32_t)before;
        trial_is_strict = i / 2 % 2;
        assert_int_equal(run(&t, results), spoiled[which].status);
        assert_int_equal(t.failed,
                         before == CZR_OK ? spoiled[which].status : before);
        if (trial_is_strict)
            expect_untouched(&t, results);
        trial_is_strict = false;
        drop_results(results);
        drop_trial(&t);
    }
}

/* ---- once more ---------------------------------------------------------- */

static const shape with_eigenvalues[] = {{CZR_FACTOR_EIGH, 130, 130, 0},
                                         {CZR_FACTOR_ROOT, 12, 12, 0}};

static void what_f32_does_not_find_f64_does(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        trial t = trial_of(&with_eigenvalues[i]);
        float *results[N_OUT];
        *diverges = 1;
        *launches = 0;
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(*diverges, 0);
        assert_true(*launches >= 2);
        assert_int_equal(t.failed, CZR_OK);
        assert_int_equal(factorise_on_host(&t), CZR_OK);
        expect_right(&t, results, false);
        drop_results(results);
        drop_trial(&t);
    }
}

static void what_f64_does_not_find_is_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        trial t = trial_of(&with_eigenvalues[i / 2]);
        float *results[N_OUT];
        const czr_status before = i % 2 ? CZR_ERR_PARAM : CZR_OK;
        t.failed = (int32_t)before;
        *diverges = 2;
        assert_int_equal(run(&t, results), CZR_ERR_NO_CONVERGENCE);
        assert_int_equal(*diverges, 0);
        assert_int_equal(t.failed,
                         before == CZR_OK ? CZR_ERR_NO_CONVERGENCE : before);
        drop_results(results);
        drop_trial(&t);
    }
}

/* ---- by the host -------------------------------------------------------- */

/* Strict plans do not ask.  Without LAPACK neither side has some. */
static void others_are_the_hosts(void **state)
{
    const char *const usual = trial_cusolver;

    (void)state;
    for (int i = 0; i < 2 * N_SHAPES; i++) {
        trial t = trial_of(&shapes[i / 2]);
        float *results[N_OUT];
        if (launches)
            *launches = 0;
        trial_is_strict = i % 2;
        if (!trial_is_strict)
            trial_cusolver = "/nowhere/libcusolver.so";
        const czr_status status = run(&t, results);
        trial_is_strict = false;
        trial_cusolver = usual;
        if (launches)
            assert_int_equal(*launches, 0);
        assert_int_equal(t.failed, status);
        assert_int_equal(status, factorise_on_host(&t));
        assert_true(status == CZR_OK || !czr_library_has_lapack());
        if (status == CZR_OK)
            expect_right(&t, results, i % 2);
        drop_results(results);
        drop_trial(&t);
    }
}

static void what_waits_is_in_no_graph(void **state)
{
    czr_factor f = {.kind = CZR_FACTOR_EIGH, .m = 9, .n = 9};
    char lines[LINES] = "";
    test_stages s;

    (void)state;
    trial_restart();
    assert_int_equal(stages_open(&s, true), CZR_OK);
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    assert_int_equal(czr_cuda_factor_prepare(&s.stages, &f), CZR_OK);
    assert_int_equal(czr_cuda_factor_prepare(&s.stages, &f), CZR_OK);
    assert_false(czr_cuda_products_is_capturable(&s.stages));
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    assert_string_equal(
        lines, "eigh of f32[9, 9]: the host, for which its stream waits\n");
    const czr_cuda_call call = {.stages = &s.stages};
    f.n = 10;
    assert_int_not_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    f.n = 0;
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

/* Who computes two factorisations with the library at `path`. */
static void list(const char *path, char *lines)
{
    const czr_factor both[] = {
        {.kind = CZR_FACTOR_QR, .m = 3, .n = 5},
        {.kind = CZR_FACTOR_SOLVE_LOWER, .m = 4, .n = 4, .k = 2}};
    test_stages s;

    trial_restart();
    assert_int_equal(stages_open(&s, false), CZR_OK);
    s.stages.cusolver = path;
    for (int i = 0; i < 2; i++)
        assert_int_equal(czr_cuda_factor_prepare(&s.stages, &both[i]), CZR_OK);
    assert_false(czr_cuda_products_is_capturable(&s.stages));
    lines[0] = '\0';
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

static void what_is_missing_is_said(void **state)
{
    static const char host[] = "the host, for which its stream waits\n";
    char lines[LINES], expected[1024];

    (void)state;
    list(CUSOLVER_PATH, lines);
    snprintf(expected, sizeof expected,
             "qr of f32[3, 5]: cuSOLVER, for which the host waits\n"
             "solve_lower of f32[4, 4]: cuBLAS, behind a look of the host's\n");
    assert_string_equal(lines, expected);
    list("/nowhere/libcusolver.so", lines);
    snprintf(expected, sizeof expected,
             "qr of f32[3, 5]: %ssolve_lower of f32[4, 4]: %snot by cuSOLVER: "
             "cuSOLVER is missing\n",
             host, host);
    assert_string_equal(lines, expected);
    list(NVRTC_PATH, lines);
    assert_non_null(strstr(lines, "cuSOLVER has no cusolverGetVersion\n"));
    for (int i = 2; i <= 4; i++) {
        *fails = i;
        list(CUSOLVER_PATH, lines);
        assert_non_null(strstr(lines, "cuSOLVER does not start (7)\n"));
    }
    *fails = 5;
    list(CUSOLVER_PATH, lines);
    assert_non_null(strstr(lines, "cuSOLVER has nothing for [3, 5]\n"));
    assert_non_null(strstr(lines, "qr of f32[3, 5]: the host"));
    assert_non_null(strstr(lines, "solve_lower of f32[4, 4]: cuBLAS"));
}

/* ---- calls that fail ---------------------------------------------------- */

/* Before the step the host takes over; in it there is one status. */
static void failures_of_the_library_are_no_wrong_results(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        int n_failures = 0;
        for (int n = 1;; n++) {
            trial t = trial_of(&shapes[i]);
            float *results[N_OUT];
            *fails = n;
            const czr_status status = run(&t, results);
            const bool is_over = *fails > 0;
            *fails = 0;
            assert_true(status == CZR_OK || status == CZR_ERR_DEVICE);
            n_failures += status != CZR_OK;
            assert_int_equal(factorise_on_host(&t), CZR_OK);
            if (status == CZR_OK)
                expect_right(&t, results, false);
            drop_results(results);
            drop_trial(&t);
            if (is_over)
                break;
        }
        assert_true(n_failures >= 2); /* a stream is set, and it is called */
    }
}

static void failures_of_the_driver_leave_nothing(void **state)
{
    (void)state;
    fail_in_turn(CZR_FACTOR_QR, 5);
    fail_in_turn(CZR_FACTOR_ROOT, 5);
    fail_in_turn(CZR_FACTOR_CHOLESKY, 5);
    fail_in_turn(CZR_FACTOR_SOLVE_LOWER, 5);
    trial_is_strict = true;
    fail_in_turn(CZR_FACTOR_EIGH, 5);
    fail_in_turn(CZR_FACTOR_CHOLESKY, 5);
    trial_is_strict = false;
}

static int *variable(void *library, const char *name)
{
    void *const found = dlsym(library, name);

    assert_non_null(found);
    return found;
}

static void open_double(void)
{
    void *const library = dlopen(CUSOLVER_PATH, RTLD_NOW);

    assert_non_null(library);
    fails = variable(library, "double_cusolver_fails");
    diverges = variable(library, "double_cusolver_diverges");
    launches = variable(library, "double_cusolver_launches");
    trial_cusolver = CUSOLVER_PATH;
    trial_kernels = factor_kernels;
}

static int look_at_library(const char *path)
{
    char message[CZR_CUSOLVER_MESSAGE];
    czr_cusolver *library;
    const czr_status status = czr_cusolver_open(path, &library, message);

    printf("%s: %s\n", path, *message ? message : "starts");
    czr_cusolver_close(library);
    if (strstr(message, "is missing"))
        return GPU_BENCH_SKIPPED;
    return status != CZR_OK && !strstr(message, "does not start");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_host),
        cmocka_unit_test(skipped_steps_ask_nothing),
        cmocka_unit_test(what_fails_has_a_name),
        cmocka_unit_test(what_f32_does_not_find_f64_does),
        cmocka_unit_test(what_f64_does_not_find_is_reported),
        cmocka_unit_test(others_are_the_hosts),
        cmocka_unit_test(what_waits_is_in_no_graph),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(failures_of_the_library_are_no_wrong_results),
        cmocka_unit_test(failures_of_the_driver_leave_nothing),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(results_are_those_of_the_host),
        cmocka_unit_test(skipped_steps_ask_nothing),
        cmocka_unit_test(what_fails_has_a_name),
        cmocka_unit_test(others_are_the_hosts),
    };
    const struct CMUnitTest without_lapack[] = {
        cmocka_unit_test(others_are_the_hosts),
    };
    const bool is_on_gpu = argc > 1 && !strcmp(argv[1], "gpu");

    if (argc > 2 && !strcmp(argv[1], "library"))
        return look_at_library(argv[2]);
    if (argc > 1 && !is_on_gpu)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    if (!is_on_gpu)
        open_double();
    trial_is_strict = false;
    srand(seed);
    printf("seed %u\n", seed);
    if (czr_library_has_lapack())
        return STAGES_RUN(argc, argv, tests, on_gpu);
    printf("without LAPACK\n");
    return STAGES_RUN(argc, argv, without_lapack, without_lapack);
}
