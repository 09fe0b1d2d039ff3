/* Factorisations of stages on the doubles of driver and NVRTC: those that the
 * host does are the host's to the bit; eigenvalues of small matrices come from
 * the device's own kernel.
 *
 * factorise_test [SEED]
 * factorise_test gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves; exit status 77 without either: skipped. */
#include "runtime/factor.h"
#include "runtime/library.h"
#include "runtime/memory.h"
#include "runtime/product.h"
#include "tests/cuda/driver/stages.h"

#include <math.h>
#include <string.h>

enum { WORK = 1 << 20, N_OUT = 2 };

static unsigned seed = 1;

/* ---- a factorisation ---------------------------------------------------- */

typedef struct trial {
    czr_factor f; /* memory of the host */
    size_t n_a, n_b, n_out[N_OUT];
    czr_address a, b, out[N_OUT], skip, status;
    int32_t skipped, failed; /* what lies at skip, and at status before */
} trial;

static float *draw_numbers(size_t n)
{
    float *x = malloc(n * sizeof *x + 1);

    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)stages_draw(-1000, 1000) / 1000;
    return x;
}

/* g g' + I, symmetric to the bit. */
static void make_positive(float *x, size_t n)
{
    float *g = draw_numbers(n * n);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j;
            for (size_t k = 0; k < n; k++)
                sum += (double)g[i * n + k] * (double)g[j * n + k];
            x[i * n + j] = x[j * n + i] = (float)sum;
        }
    free(g);
}

static trial make_trial(czr_factor_kind kind, size_t m, size_t n, size_t k)
{
    const size_t s = m < n ? m : n;
    const bool is_qr = kind == CZR_FACTOR_QR;
    const bool is_eigh = kind == CZR_FACTOR_EIGH;
    const bool is_solve =
        kind >= CZR_FACTOR_SOLVE_LOWER && kind <= CZR_FACTOR_SOLVE_UPPER_T;
    trial t = {.f = {.kind = kind,
                     .m = m,
                     .n = n,
                     .k = k,
                     .parameters = {-0.25, 1e-3, 1e-5, 50},
                     .work_bytes = WORK},
               .n_a = m * n,
               .n_b = is_solve ? n * k : 0,
               .n_out = {is_qr     ? m * s
                         : is_eigh ? n
                                   : n * (is_solve ? k : n),
                         is_qr     ? s * n
                         : is_eigh ? n * n
                                   : 0}};
    float *a = draw_numbers(t.n_a);

    if (!is_qr)
        make_positive(a, n);
    t.f.a = a;
    t.f.b = draw_numbers(t.n_b);
    for (int i = 0; i < N_OUT; i++)
        t.f.out[i] = draw_numbers(t.n_out[i]);
    t.f.work = czr_alloc(WORK, 1);
    assert_non_null(t.f.work);
    return t;
}

static void drop_trial(trial *t)
{
    const union {
        const float *given;
        float *taken;
    } a = {t->f.a}, b = {t->f.b};

    free(a.taken);
    free(b.taken);
    free(t->f.out[0]);
    free(t->f.out[1]);
    czr_free(t->f.work);
}

static czr_status factorise_on_host(const trial *t)
{
    czr_host_math math;

    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    const czr_status status = czr_factor_host(&math.math, &t->f);
    czr_host_math_close(&math);
    return status;
}

/* ---- on the device ------------------------------------------------------ */

static czr_status send_all(test_stages *s, trial *t)
{
    const struct {
        czr_address *to;
        const void *from;
        size_t bytes;
    } rows[] = {{&t->a, t->f.a, t->n_a * sizeof(float)},
                {&t->b, t->f.b, t->n_b * sizeof(float)},
                {&t->out[0], t->f.out[0], t->n_out[0] * sizeof(float)},
                {&t->out[1], t->f.out[1], t->n_out[1] * sizeof(float)},
                {&t->skip, &t->skipped, sizeof t->skipped},
                {&t->status, &t->failed, sizeof t->failed}};
    czr_status status = CZR_OK;

    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == CZR_OK; i++)
        status = stages_send(s, rows[i].to, rows[i].from, rows[i].bytes);
    return status;
}

static czr_factor on_device(const trial *t)
{
    czr_factor f = t->f;

    f.a = czr_pointer_of(t->a);
    f.b = czr_pointer_of(t->b);
    f.out[0] = czr_pointer_of(t->out[0]);
    f.out[1] = czr_pointer_of(t->out[1]);
    f.work = NULL;
    return f;
}

/* Into results, and t->failed. */
static czr_status fetch_all(test_stages *s, trial *t, float *results[N_OUT])
{
    czr_status status =
        stages_fetch(s, &t->failed, t->status, sizeof t->failed);

    for (int i = 0; i < N_OUT && status == CZR_OK; i++)
        status =
            stages_fetch(s, results[i], t->out[i], t->n_out[i] * sizeof(float));
    return status;
}

/* What the call of the stage returns; what is before or behind it fails as
 * *other. */
static czr_status factorise(test_stages *s, trial *t, float *results[N_OUT],
                            czr_status *other)
{
    czr_factor f = on_device(t);
    czr_cuda_call call = {.stages = &s->stages};

    *other = czr_cuda_factorise(&call, &f);
    s->stages.is_opening = false;
    if (*other == CZR_OK)
        *other = send_all(s, t);
    if (*other != CZR_OK)
        return *other;
    f = on_device(t);
    call.stream = s->stream;
    call.skip = czr_pointer_of(t->skip);
    call.status = czr_pointer_of(t->status);
    const czr_status status = czr_cuda_factorise(&call, &f);
    if (s->bench.context->status == CZR_OK)
        *other = fetch_all(s, t, results);
    return status;
}

static void free_all(test_stages *s, trial *t)
{
    const czr_address all[] = {t->a,      t->b,    t->out[0],
                               t->out[1], t->skip, t->status};

    if (!s->stream)
        return;
    czr_context_synchronize(s->bench.context, s->stream, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        czr_context_free(s->bench.context, all[i]);
}

/* One factorisation from opening to closing; results are the caller's. */
static czr_status run(trial *t, float *results[N_OUT])
{
    test_stages s;
    czr_status other;

    stages_restart(seed);
    for (int i = 0; i < N_OUT; i++)
        results[i] = draw_numbers(t->n_out[i]);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    const czr_status status = factorise(&s, t, results, &other);
    assert_int_equal(other, CZR_OK);
    free_all(&s, t);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
    return status;
}

static void drop_results(float *results[N_OUT])
{
    free(results[0]);
    free(results[1]);
}

/* ---- tests -------------------------------------------------------------- */

static const struct {
    czr_factor_kind kind;
    size_t m, n, k;
} on_host[] = {
    {CZR_FACTOR_EIGH, 130, 130, 0},    {CZR_FACTOR_QR, 9, 5, 0},
    {CZR_FACTOR_QR, 5, 9, 0},          {CZR_FACTOR_CHOLESKY, 7, 7, 0},
    {CZR_FACTOR_SOLVE_LOWER, 6, 6, 4}, {CZR_FACTOR_SOLVE_LOWER_T, 6, 6, 4},
    {CZR_FACTOR_SOLVE_UPPER, 6, 6, 4}, {CZR_FACTOR_SOLVE_UPPER_T, 6, 6, 4},
    {CZR_FACTOR_ROOT, 12, 12, 0},      {CZR_FACTOR_NEWTON_ROOT, 12, 12, 0},
};

static void the_hosts_are_the_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++) {
        trial t = make_trial(on_host[i].kind, on_host[i].m, on_host[i].n,
                             on_host[i].k);
        float *results[N_OUT];
        const czr_status status = run(&t, results);
        assert_int_equal(status, factorise_on_host(&t));
        assert_int_equal(t.failed, status);
        for (int o = 0; o < N_OUT; o++)
            if (memcmp(results[o], t.f.out[o], t.n_out[o] * sizeof(float)) != 0)
                fail_msg("kind %d: result %d is another than the host's",
                         (int)on_host[i].kind, o);
        drop_results(results);
        drop_trial(&t);
    }
}

static double residual(const trial *t, float *const results[N_OUT])
{
    const size_t n = t->f.n;
    double worst = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (double)results[1][i * n + k] * (double)results[0][k] *
                       (double)results[1][j * n + k];
            worst = fmax(worst, fabs(sum - (double)t->f.a[i * n + j]));
        }
    return worst / fabs((double)results[0][n - 1]);
}

static void small_eigenvalues_are_the_devices(void **state)
{
    static const size_t orders[] = {1, 2, 7, 40};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        trial t = make_trial(CZR_FACTOR_EIGH, orders[i], orders[i], 0);
        float *results[N_OUT];
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(t.failed, CZR_OK);
        /* As eigen_test.cpp. */
        assert_true(residual(&t, results) <= 1.5 * (double)orders[i] / 8388608);
        drop_results(results);
        drop_trial(&t);
    }
}

static const czr_factor_kind of_each[] = {CZR_FACTOR_EIGH, CZR_FACTOR_CHOLESKY};

/* Results stay as they are; of two failures the first stays. */
static void what_is_not_finite_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_second = i % 2;
        trial t = make_trial(of_each[i / 2], 5, 5, 0);
        const union {
            const float *given;
            float *taken;
        } a = {t.f.a};
        float *results[N_OUT];
        a.taken[2] = NAN;
        t.failed = is_second ? CZR_ERR_PARAM : CZR_OK;
        const czr_status status = run(&t, results);
        if (i >= 2 && czr_library_has_lapack())
            assert_int_equal(status, CZR_ERR_NOT_FINITE);
        if (i < 2 || czr_library_has_lapack())
            assert_int_equal(t.failed,
                             is_second ? CZR_ERR_PARAM : CZR_ERR_NOT_FINITE);
        assert_memory_equal(results[0], t.f.out[0], t.n_out[0] * sizeof(float));
        drop_results(results);
        drop_trial(&t);
    }
}

static void skipped_steps_write_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        trial t = make_trial(of_each[i], 6, 6, 0);
        float *results[N_OUT];
        t.skipped = 1;
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(t.failed, CZR_OK);
        for (int o = 0; o < N_OUT; o++)
            assert_memory_equal(results[o], t.f.out[o],
                                t.n_out[o] * sizeof(float));
        drop_results(results);
        drop_trial(&t);
    }
}

/* Each call of the driver fails in turn: a status, and nothing is left. */
static void fail_in_turn(czr_factor_kind kind)
{
    for (int64_t n = 1;; n++) {
        trial t = make_trial(kind, 5, 5, 0);
        float *results[N_OUT] = {draw_numbers(t.n_out[0]),
                                 draw_numbers(t.n_out[1])};
        test_stages s;
        czr_status other = CZR_OK;
        stages_restart(seed);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = stages_open(&s, true);
        if (status == CZR_OK)
            status = factorise(&s, &t, results, &other);
        const bool has_failed = fake_has_failed();
        free_all(&s, &t);
        stages_close(&s);
        const bool is_over = !fake_has_failed();
        assert_int_equal(bench_leftovers(), 0);
        drop_results(results);
        drop_trial(&t);
        if (has_failed && status == CZR_OK && other == CZR_OK)
            fail_msg("call %d fails, and nobody says so", (int)n);
        if (is_over)
            break;
    }
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    fail_in_turn(CZR_FACTOR_EIGH);
    fail_in_turn(CZR_FACTOR_CHOLESKY);
}

static void keep_line(void *user, const char *line)
{
    strcat(user, line);
    strcat(user, "\n");
}

static void what_waits_is_in_no_graph(void **state)
{
    czr_factor f = {.kind = CZR_FACTOR_EIGH, .m = 9, .n = 9};
    char lines[1024] = "";
    test_stages s;

    (void)state;
    stages_restart(seed);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    const czr_cuda_call call = {.stages = &s.stages};
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    f.m = f.n = 129;
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    assert_false(czr_cuda_products_is_capturable(&s.stages));
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    assert_string_equal(lines, "eigh of f32[9, 9]: eigen\n"
                               "eigh of f32[129, 129]: the host, for which its "
                               "stream waits\n");
    s.stages.is_opening = false;
    f.n = 10;
    assert_int_not_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    f.n = 0;
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hosts_are_the_hosts),
        cmocka_unit_test(small_eigenvalues_are_the_devices),
        cmocka_unit_test(what_is_not_finite_is_told),
        cmocka_unit_test(skipped_steps_write_nothing),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(what_waits_is_in_no_graph),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(the_hosts_are_the_hosts),
        cmocka_unit_test(small_eigenvalues_are_the_devices),
        cmocka_unit_test(what_is_not_finite_is_told),
        cmocka_unit_test(skipped_steps_write_nothing),
    };

    if (argc > 1 && strcmp(argv[1], "gpu") != 0)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    srand(seed);
    printf("seed %u, %s\n", seed,
           czr_library_has_lapack() ? "with LAPACK" : "without LAPACK");
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
