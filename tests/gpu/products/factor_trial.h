/* What tests of factorisations have in common: one that is drawn, by the host
 * and on the device, from opening to closing. */
#ifndef TESTS_CUDA_FACTOR_TRIAL_H
#define TESTS_CUDA_FACTOR_TRIAL_H

#include "runtime/math/factor.h"
#include "runtime/base/memory.h"
#include "runtime/math/product.h"
#include "tests/gpu/stages/stages.h"

#include <math.h>

enum { WORK = 1 << 20, N_OUT = 2 };

/* What tests say before they try. */
static unsigned seed = 1;
static bool trial_is_strict = true;
/* Where they are; not asked of strict plans. */
static const char *trial_cusolver, *trial_cublas;
/* Kernels of factor.cu, behind fake_reset; NULL: not run. */
static void (*trial_kernels)(void);

/* ---- a factorisation ---------------------------------------------------- */

typedef struct trial {
    czr_factor f; /* memory of the host */
    size_t n_a, n_b, n_out[N_OUT];
    czr_address a, b, out[N_OUT], skip, status, room;
    int32_t skipped, failed; /* what lies at skip, and at status before */
} trial;

static inline float *draw_numbers(size_t n)
{
    float *x = malloc(n * sizeof *x + 1);

    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)stages_draw(-1000, 1000) / 1000;
    return x;
}

/* g g' + I, symmetric to the bit. */
static inline void make_positive(float *x, size_t n)
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

static inline trial make_trial(czr_factor_kind kind, size_t m, size_t n,
                               size_t k)
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

static inline float *trial_operand(const trial *t)
{
    const union {
        const float *given;
        float *taken;
    } a = {t->f.a};

    return a.taken;
}

static inline void drop_trial(trial *t)
{
    const union {
        const float *given;
        float *taken;
    } b = {t->f.b};

    free(trial_operand(t));
    free(b.taken);
    free(t->f.out[0]);
    free(t->f.out[1]);
    czr_free(t->f.work);
}

static inline czr_status factorise_on_host(const trial *t)
{
    czr_host_math math;

    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    const czr_status status = czr_factor_host(&math.math, &t->f);
    czr_host_math_close(&math);
    return status;
}

/* ---- on the device ------------------------------------------------------ */

static inline void trial_restart(void)
{
    stages_restart(seed);
    if (trial_kernels) {
        fake_share_addresses();
        trial_kernels();
    }
}

static inline czr_status trial_open(test_stages *s)
{
    const czr_status status = stages_open(s, trial_is_strict);

    s->stages.cusolver = trial_cusolver;
    s->stages.cublas = trial_cublas;
    return status;
}

static inline czr_status send_all(test_stages *s, trial *t)
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
    czr_status status = czr_context_alloc(
        s->bench.context, s->stages.workspace_bytes + 1, &t->room);

    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == CZR_OK; i++)
        status = stages_send(s, rows[i].to, rows[i].from, rows[i].bytes);
    return status;
}

static inline czr_factor on_device(const trial *t)
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
static inline czr_status fetch_all(test_stages *s, trial *t,
                                   float *results[N_OUT])
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
static inline czr_status factorise(test_stages *s, trial *t,
                                   float *results[N_OUT], czr_status *other)
{
    czr_cuda_call call = {.stages = &s->stages};

    *other = czr_cuda_factor_prepare(&s->stages, &t->f);
    if (*other == CZR_OK)
        *other = send_all(s, t);
    if (*other != CZR_OK)
        return *other;
    const czr_factor f = on_device(t);
    call.stream = s->stream;
    call.workspace = czr_pointer_of(t->room);
    call.skip = czr_pointer_of(t->skip);
    call.status = czr_pointer_of(t->status);
    const czr_status status = czr_cuda_factorise(&call, &f);
    if (s->bench.context->status == CZR_OK)
        *other = fetch_all(s, t, results);
    return status;
}

static inline void free_all(test_stages *s, trial *t)
{
    const czr_address all[] = {t->a,    t->b,      t->out[0], t->out[1],
                               t->skip, t->status, t->room};

    if (!s->stream)
        return;
    czr_context_synchronize(s->bench.context, s->stream, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        czr_context_free(s->bench.context, all[i]);
}

/* One factorisation from opening to closing; results are the caller's. */
static inline czr_status run(trial *t, float *results[N_OUT])
{
    test_stages s;
    czr_status other;

    trial_restart();
    for (int i = 0; i < N_OUT; i++)
        results[i] = draw_numbers(t->n_out[i]);
    assert_int_equal(trial_open(&s), CZR_OK);
    const czr_status status = factorise(&s, t, results, &other);
    assert_int_equal(other, CZR_OK);
    free_all(&s, t);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
    return status;
}

static inline void drop_results(float *results[N_OUT])
{
    free(results[0]);
    free(results[1]);
}

/* Of EIGH, beside the largest eigenvalue. */
static inline double residual(const trial *t, float *const results[N_OUT])
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

static inline void expect_mirror(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_equal(&x[i * n + j], &x[j * n + i], sizeof *x);
}

static inline void note_warning(void *user, const char *line)
{
    *(bool *)user |= strstr(line, "not by cu") != NULL;
}

/* Each call of the driver fails in turn: a status, and nothing is left. */
static inline void fail_in_turn(czr_factor_kind kind, size_t n_rows)
{
    for (int64_t n = 1;; n++) {
        trial t = make_trial(kind, n_rows, n_rows, 2);
        float *results[N_OUT] = {draw_numbers(t.n_out[0]),
                                 draw_numbers(t.n_out[1])};
        test_stages s;
        czr_status other = CZR_OK;
        trial_restart();
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = trial_open(&s);
        if (status == CZR_OK)
            status = factorise(&s, &t, results, &other);
        const bool has_failed = fake_has_failed();
        bool is_warned = false; /* and others take over */
        if (s.stages.context)
            czr_cuda_products_describe(&s.stages, note_warning, &is_warned);
        free_all(&s, &t);
        stages_close(&s);
        const bool is_over = !fake_has_failed();
        assert_int_equal(bench_leftovers(), 0);
        drop_results(results);
        drop_trial(&t);
        if (has_failed && status == CZR_OK && other == CZR_OK && !is_warned)
            fail_msg("call %d fails, and nobody says so", (int)n);
        if (is_over)
            break;
    }
}

#endif
