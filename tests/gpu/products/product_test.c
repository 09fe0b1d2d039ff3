/* Products from plan to launch, on the double of the driver: kernels that
 * compute what their arguments say.
 *
 * product_test [TRIALS [SEED]] */
#include "passes/gpu/tile_model.h"
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/bodies/product_bodies.h"

#include <math.h>
#include <string.h>

enum { MARGIN = 64 };

static int trials = 30;
static unsigned first_seed = 1;
static cz_tile_shape shape;
static bool is_symmetric, is_m_major, is_n_major, is_f16;
static int n_split; /* plans whose last wave is in parts */

/* ---- one product -------------------------------------------------------- */

typedef struct trial {
    czr_cuda_product product;
    int64_t rows[4], cols[4]; /* of x, y, s, c */
    uint16_t *host[4];
    size_t bytes[4];
    bool is_sm90;
    uint64_t *tiles;
    int splits;
    czr_address sums;
    void *stream;
    czr_product_kernel kernel;
} trial;

static int64_t draw(int64_t least, int64_t most)
{
    return least + rand() % (most - least + 1);
}

static uint16_t element_of(float x)
{
    return is_f16 ? czr_f32_to_f16(x) : bf16_of(x);
}

static float number_of(uint16_t x)
{
    return is_f16 ? czr_f16_to_f32(x) : bf16_to_f32(x);
}

static void draw_matrix(trial *t, int i, czr_cuda_product_matrix *m)
{
    m->stride = (t->cols[i] + 7) / 8 * 8 + 8 * draw(0, 2);
    m->batch_stride = m->stride * t->rows[i] + 8 * draw(0, 3);
    t->bytes[i] = (size_t)(m->batch_stride * t->product.batch + MARGIN) *
                  sizeof(uint16_t);
    t->host[i] = malloc(t->bytes[i]);
    assert_non_null(t->host[i]);
    for (size_t e = 0; e < t->bytes[i] / 2; e++)
        t->host[i][e] = element_of((float)draw(-8, 8) / 4);
}

static czr_cuda_product_matrix *matrix_of(trial *t, int i)
{
    czr_cuda_product_matrix *const of[] = {&t->product.x, &t->product.y,
                                           &t->product.s, &t->product.c};
    return of[i];
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    t->is_sm90 = draw(0, 1);
    is_symmetric = draw(0, 1);
    is_m_major = draw(0, 1);
    is_n_major = draw(0, 1);
    is_f16 = draw(0, 1);
    czr_cuda_product *p = &t->product;
    p->m = draw(1, 300);
    p->n = is_symmetric ? p->m : draw(1, 300);
    p->k = draw(1, 150);
    p->batch = draw(1, 3);
    t->splits = (int)draw(1, 3);
    p->is_symmetric = is_symmetric;
    p->is_m_major = is_m_major;
    p->is_n_major = is_n_major;
    p->is_f16 = is_f16;
    p->alpha = (float)draw(-4, 4) / 2;
    p->beta = (float)draw(-1, 1);
    p->delta = (float)draw(-1, 1);
    const int64_t rows[] = {is_m_major ? p->k : p->m, is_n_major ? p->k : p->n,
                            p->m, p->m};
    const int64_t cols[] = {is_m_major ? p->m : p->k, is_n_major ? p->n : p->k,
                            p->n, p->n};
    memcpy(t->rows, rows, sizeof rows);
    memcpy(t->cols, cols, sizeof cols);
    for (int i = 0; i < 4; i++)
        draw_matrix(t, i, matrix_of(t, i));
    shape = t->is_sm90 ? cz_tile_shapes[draw(0, CZ_TILE_SHAPES - 1)]
                       : (cz_tile_shape){128, 128, 3};
}

static double expected(const trial *t, int64_t z, int64_t i, int64_t j)
{
    const czr_cuda_product *p = &t->product;
    const uint16_t *x = t->host[0] + z * p->x.batch_stride;
    const uint16_t *y = t->host[1] + z * p->y.batch_stride;
    double sum = 0;

    for (int64_t k = 0; k < p->k; k++)
        sum += (double)number_of(is_m_major ? x[k * p->x.stride + i]
                                            : x[i * p->x.stride + k]) *
               number_of(is_n_major ? y[k * p->y.stride + j]
                                    : y[j * p->y.stride + k]);
    sum *= (double)p->alpha;
    sum += p->beta *
           number_of(t->host[2][z * p->s.batch_stride + i * p->s.stride + j]);
    return sum + (i == j ? p->delta : 0.f);
}

/* Of a symmetric product the upper triangle counts, as x and y differ. */
static void compare(const trial *t, const uint16_t *c)
{
    const czr_cuda_product *p = &t->product;

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const bool is_below = is_symmetric && i > j;
                const double want =
                    is_below ? expected(t, z, j, i) : expected(t, z, i, j);
                const int64_t at = z * p->c.batch_stride + i * p->c.stride + j;
                const double got = number_of(c[at]);
                if (fabs(got - want) > 1e-2 * (1 + fabs(want)))
                    fail_msg("c[%d, %d, %d] is %g, not %g", (int)z, (int)i,
                             (int)j, got, want);
            }
}

static czr_status plan_tiles(trial *t, czr_cuda_product_plan *plan)
{
    const czr_cuda_product_device device = {t->is_sm90 ? 90 : 86, 7};
    const cz_tiling tiling = {t->product.m,
                              t->product.n,
                              t->product.batch,
                              shape.rows,
                              shape.cols,
                              is_symmetric,
                              2};
    czr_cuda_product_tiles tiles = {shape.rows, shape.cols, shape.stages, 0};
    char message[CZR_CUDA_PRODUCT_MESSAGE];

    assert_true(cz_tile_count(&tiling, &tiles.n));
    t->tiles = malloc((size_t)tiles.n * sizeof *t->tiles);
    assert_non_null(t->tiles);
    cz_tile_order(&tiling, t->tiles);
    if (czr_cuda_product_plan_make(&t->product, &device, &tiles, plan,
                                   message) == CZR_CUDA_PRODUCT_OK) {
        n_split += czr_cuda_product_plan_split(&t->product, &device, &tiles,
                                               t->splits, plan);
        return CZR_OK;
    }
    fail_msg("%s", message);
    return CZR_ERR_ARGUMENT;
}

static czr_status open_kernel(test_bench *bench, trial *t)
{
    char text[BODIES_CODE];
    czr_cuda_product_plan plan;

    czr_status status = plan_tiles(t, &plan);
    if (status != CZR_OK)
        return status;
    bodies_write_code(plan.kernel, t->is_sm90, text);
    const czr_nvrtc_code code = {.bytes = (unsigned char *)text};
    status = czr_product_kernel_open(bench->context, &t->product, &plan, &code,
                                     t->tiles, t->stream, &t->kernel);
    if (status == CZR_OK && plan.sums_bytes)
        status = czr_context_alloc(bench->context, plan.sums_bytes, &t->sums);
    return status == CZR_OK && plan.sums_bytes
               ? czr_product_kernel_aim(&t->kernel, &t->product, &plan, t->sums,
                                        0)
               : status;
}

static czr_status send(test_bench *bench, trial *t)
{
    czr_status status = czr_context_open_stream(bench->context, &t->stream);

    for (int i = 0; i < 4 && status == CZR_OK; i++) {
        czr_cuda_product_matrix *m = matrix_of(t, i);
        status = czr_context_alloc(bench->context, t->bytes[i], &m->address);
        if (status == CZR_OK)
            status = czr_context_copy(bench->context, m->address,
                                      czr_address_of(t->host[i]), t->bytes[i],
                                      t->stream);
    }
    return status;
}

static czr_status compute_all(test_bench *bench, trial *t, uint16_t *c)
{
    czr_status status = send(bench, t);

    if (status == CZR_OK)
        status = open_kernel(bench, t);
    if (status == CZR_OK)
        status = czr_product_kernel_put(&t->kernel, t->stream);
    if (status == CZR_OK)
        status = czr_context_copy(bench->context, czr_address_of(c),
                                  t->product.c.address, t->bytes[3], t->stream);
    if (status == CZR_OK)
        status = czr_context_synchronize(bench->context, t->stream, 0);
    return status;
}

static void drop_trial(test_bench *bench, trial *t)
{
    if (t->stream)
        czr_context_synchronize(bench->context, t->stream, 0);
    if (t->kernel.context)
        czr_product_kernel_close(&t->kernel);
    for (int i = 0; i < 4; i++) {
        czr_context_free(bench->context, matrix_of(t, i)->address);
        free(t->host[i]);
    }
    czr_context_free(bench->context, t->sums);
    czr_context_close_stream(bench->context, t->stream);
    free(t->tiles);
}

/* ---- tests -------------------------------------------------------------- */

static void computes_what_was_asked_for(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        test_bench bench;
        trial t;
        print_message("seed %u\n", seed);
        draw_trial(&t, seed);
        bench_reset(seed, 50);
        bodies_register();
        assert_int_equal(bench_open(&bench), CZR_OK);
        uint16_t *c = malloc(t.bytes[3]);
        assert_non_null(c);
        if (compute_all(&bench, &t, c) != CZR_OK)
            fail_msg("%s", bench.context->error);
        compare(&t, c);
        free(c);
        drop_trial(&bench, &t);
        bench_close(&bench);
        assert_int_equal(bench_leftovers(), 0);
    }
    assert_true(trials < 30 || n_split > 0);
}

static void fails_cleanly_at_every_call(void **state)
{
    int64_t n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        test_bench bench;
        trial t;
        draw_trial(&t, first_seed);
        bench_reset(first_seed, 50);
        bodies_register();
        assert_int_equal(bench_open(&bench), CZR_OK);
        fake_fail(NULL, n + 1, 2);
        uint16_t *c = malloc(t.bytes[3]);
        assert_non_null(c);
        const czr_status status = compute_all(&bench, &t, c);
        has_failed = fake_has_failed();
        assert_true((status != CZR_OK) == has_failed);
        if (has_failed)
            assert_true(bench.context->error[0]);
        free(c);
        drop_trial(&bench, &t);
        bench_close(&bench);
        assert_int_equal(bench_leftovers(), 0);
    }
    print_message("%d calls failed in turn\n", (int)n - 1);
    assert_true(n > 15);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_what_was_asked_for),
        cmocka_unit_test(fails_cleanly_at_every_call),
    };

    if (argc > 1)
        trials = atoi(argv[1]);
    if (argc > 2)
        first_seed = (unsigned)atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
