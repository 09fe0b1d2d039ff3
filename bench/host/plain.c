/* Muon as one would write it, for one type of the iterate: PLAIN_F32 or
 * PLAIN_BF16.  The library is the one that the runtime calls. */
#include "bench/host/bench.h"

#include <stdbool.h>

#include "runtime/math/library.h"

#ifdef PLAIN_BF16
typedef czr_bf16 real;
#define NAME plain_muon_bf16
static float load(real x)
{
    return czr_bf16_to_f32(x);
}
static real store(float x)
{
    return czr_f32_to_bf16(x);
}
static void multiply(const czr_gemm *gemm)
{
    if (!czr_library_bf16(gemm, CZR_F32, 1))
        memset(gemm->c, 0, gemm->m * gemm->c_stride * sizeof(float));
}
#else
typedef float real;
#define NAME plain_muon_f32
static float load(real x)
{
    return x;
}
static real store(float x)
{
    return x;
}
static void multiply(const czr_gemm *gemm)
{
    czr_library_sgemm(gemm);
}
#endif

enum { ITERATIONS = 5 };

typedef struct spaces {
    float *update, *acc;
    real *x, *gram, *polynomial;
} spaces;

static double timed(const czr_gemm *gemm)
{
    const double start = bench_now();

    multiply(gemm);
    return bench_now() - start;
}

static void update_momentum(const bench_matrix *m, float *update)
{
    const float keep = (float)BENCH_MOMENTUM,
                take = (float)(1 - BENCH_MOMENTUM);

    for (size_t i = 0; i < m->rows * m->columns; i++)
        m->momentum[i] = keep * m->momentum[i] + take * m->grad[i];
    for (size_t i = 0; i < m->rows * m->columns; i++)
        update[i] = take * m->grad[i] + keep * m->momentum[i];
}

/* Rounded before the norm is taken, as ours. */
static void normalise(const float *update, real *x, size_t n)
{
    double sum = 0;
    float norm;

    for (size_t i = 0; i < n; i++) {
        x[i] = store(update[i]);
        sum += (double)load(x[i]) * (double)load(x[i]);
    }
    norm = (float)sqrt(sum) + 1e-7f;
    for (size_t i = 0; i < n; i++)
        x[i] = store(load(x[i]) / norm);
}

/* x x', or x' x of a tall x, which is the smaller. */
static double make_gram(const bench_matrix *m, const spaces *s)
{
    const bool tall = m->rows > m->columns;
    const size_t side = tall ? m->columns : m->rows;
    const czr_operand x = {s->x, m->columns, tall};
    const czr_operand turned = {s->x, m->columns, !tall};
    const double seconds =
        timed(&(czr_gemm){side, side, tall ? m->rows : m->columns, x, turned,
                          s->acc, side, 1, 0});

    for (size_t i = 0; i < side * side; i++)
        s->gram[i] = store(s->acc[i]);
    return seconds;
}

/* b g + c g g */
static double make_polynomial(size_t side, const spaces *s)
{
    const czr_operand gram = {s->gram, side, false};
    const double seconds =
        timed(&(czr_gemm){side, side, side, gram, gram, s->acc, side, 1, 0});

    for (size_t i = 0; i < side * side; i++)
        s->polynomial[i] =
            store(-4.7750f * load(s->gram[i]) + 2.0315f * s->acc[i]);
    return seconds;
}

/* x = a x + p x, or x p of a tall x. */
static double apply(const bench_matrix *m, const spaces *s)
{
    const bool tall = m->rows > m->columns;
    const size_t side = tall ? m->columns : m->rows;
    const czr_operand x = {s->x, m->columns, false};
    const czr_operand p = {s->polynomial, side, false};
    const double seconds =
        timed(&(czr_gemm){m->rows, m->columns, side, tall ? x : p, tall ? p : x,
                          s->acc, m->columns, 1, 0});

    for (size_t i = 0; i < m->rows * m->columns; i++)
        s->x[i] = store(3.4445f * load(s->x[i]) + s->acc[i]);
    return seconds;
}

static double step(const bench_matrix *m, const spaces *s)
{
    const bool tall = m->rows > m->columns;
    const size_t side = tall ? m->columns : m->rows;
    const size_t longer = tall ? m->rows : m->columns;
    const float keep = (float)(1 - BENCH_LR * BENCH_DECAY);
    const float scale = (float)(BENCH_LR * 0.2 * sqrt((double)longer));
    double seconds = 0;

    update_momentum(m, s->update);
    normalise(s->update, s->x, m->rows * m->columns);
    for (int i = 0; i < ITERATIONS; i++) {
        seconds += make_gram(m, s);
        seconds += make_polynomial(side, s);
        seconds += apply(m, s);
    }
    for (size_t i = 0; i < m->rows * m->columns; i++)
        m->param[i] = m->param[i] * keep - scale * load(s->x[i]);
    return seconds;
}

double NAME(const bench_matrix *matrices, int n, float *space)
{
    size_t largest = 0;
    double seconds = 0;

    for (int i = 0; i < n; i++)
        if (matrices[i].rows * matrices[i].columns > largest)
            largest = matrices[i].rows * matrices[i].columns;
    const spaces s = {space, space + largest, (void *)(space + 2 * largest),
                      (void *)(space + 3 * largest),
                      (void *)(space + 4 * largest)};
    for (int i = 0; i < n; i++)
        seconds += step(&matrices[i], &s);
    return seconds;
}
