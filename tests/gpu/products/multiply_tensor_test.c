/* Products of bf16 or f16 where a program is not strict, on the doubles of
 * driver and NVRTC: all forms that tensor cores' kernels take, with numbers of
 * which sums are exact, so that each is the host's to the bit; and some of
 * matrices that commute but for rounding, beside float64.
 *
 * multiply_tensor_test [TRIALS [SEED]]
 * multiply_tensor_test gpu NVRTC...: on the machine's GPU, with the first NVRTC
 * that serves; exit status 77 without either: skipped. */
#include "tests/gpu/products/product_trial.h"

#include <math.h>

/* Extents: units, numbers. */
enum { MOST = 9, UNIT = 8, DEEP = 40 };

/* On a GPU NVRTC compiles for each. */
enum { ON_GPU = 20 };
static int trials = 60;
static unsigned first_seed = 1;
static char line_said[LINES]; /* of the last product */

static void set_dtype(czr_product *p, czr_dtype dtype)
{
    p->a_dtype = p->b_dtype = p->out_dtype = p->addend_dtype = dtype;
}

static void draw_form(trial *t)
{
    /* What is 0 has a sign that kernels may lose: alpha is above 0. */
    static const float factors[] = {0.5F, 1, 2, 0.25F};
    czr_product *p = &t->p;
    const bool is_square = stages_draw(0, 1);

    *p = (czr_product){.symmetric = stages_draw(0, 1),
                       .transpose_a = stages_draw(0, 1),
                       .transpose_b = stages_draw(0, 1),
                       .alpha = factors[stages_draw(0, 3)],
                       .beta = -factors[stages_draw(0, 3)]};
    p->n = (size_t)stages_draw(1, MOST) * UNIT;
    p->m = p->symmetric     ? p->n
           : p->transpose_a ? (size_t)stages_draw(1, MOST) * UNIT
                            : (size_t)stages_draw(1, MOST * UNIT);
    /* Some so deep that k is in parts. */
    const size_t depth = stages_draw(0, 7) ? 1 : DEEP;
    p->k = is_square ? p->n : (size_t)stages_draw(1, MOST) * UNIT * depth;
    t->is_own = p->symmetric && stages_draw(0, 1) &&
                (p->transpose_a != p->transpose_b || p->k == p->n);
    t->skipped = stages_draw(0, 7) == 0;
    set_dtype(p, stages_draw(0, 1) ? CZR_F16 : CZR_BF16);
}

static float exact_number(void)
{
    return (float)stages_draw(-8, 8) / 4;
}

static void make_symmetric(void *matrix, size_t n)
{
    uint16_t *x = matrix;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i];
}

/* op(b) becomes op(a)': the product is symmetric, and b another matrix. */
static void make_own(trial *t)
{
    const czr_product *p = &t->p;
    const uint16_t *a = (void *)t->host[A];
    uint16_t *b = (void *)t->host[B];

    for (size_t i = 0; i < p->m; i++)
        for (size_t k = 0; k < p->k; k++)
            b[p->transpose_b ? i * p->k + k : k * p->n + i] =
                a[p->transpose_a ? k * p->m + i : i * p->k + k];
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    draw_form(t);
    const czr_product *p = &t->p;
    const bool has_addend = stages_draw(0, 1);
    const size_t n[] = {p->m * p->k, p->k * p->n, p->m * p->n, p->m * p->n};
    for (int i = 0; i <= OUT; i++)
        if (i != ADDEND || has_addend)
            draw_operand(t, i, n[i], p->out_dtype, exact_number);
    if (t->is_own && p->transpose_a == p->transpose_b)
        make_symmetric(t->host[A], p->n);
    if (p->symmetric)
        make_own(t);
    if (p->symmetric && has_addend)
        make_symmetric(t->host[ADDEND], p->n);
}

static void run(trial *t, unsigned seed)
{
    static const trial_setting usual;

    assert_int_equal(run_trial(t, seed, &usual, line_said), CZR_OK);
}

/* ---- tests -------------------------------------------------------------- */

/* None falls back to the plain kernel.  Some are in parts of k, which another
 * launch ends. */
static void tensor_products_are_the_hosts(void **state)
{
    static const trial_setting of[] = {{.capability = 90}, {.capability = 86}};
    int n_split = 0;

    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        trial t;
        draw_trial(&t, seed);
        assert_int_equal(run_trial(&t, seed, &of[i % 2], line_said), CZR_OK);
        const bool is_split = strstr(line_said, "last wave") != NULL;
        if (bench_path)
            assert_int_equal(bodies_launches(), 1 + is_split);
        n_split += is_split;
        drop_trial(&t);
    }
    assert_true(trials < 60 || (n_split > 0 && n_split < trials));
}

/* A trial whose program says these tiles of it, for so many processors. */
static void run_in_tiles(trial *t, const czr_cuda_tiling *tiles, int sms)
{
    const czr_product *p = &t->p;
    czr_cuda_tiling tiling = *tiles;
    const trial_setting with = {.tiling = &tiling, .tiled_sms = sms};

    tiling.m = (int64_t)p->m;
    tiling.n = (int64_t)p->n;
    tiling.k = (int64_t)p->k;
    tiling.batch = 1;
    tiling.is_symmetric = p->symmetric != 0;
    tiling.has_addend = t->host[ADDEND] != NULL;
    assert_int_equal(run_trial(t, first_seed, &with, line_said), CZR_OK);
}

/* Parts are said where k has as many steps, and taken. */
static bool said_parts(const trial *t, int parts)
{
    char said[32];
    const bool has_steps = (t->p.k + 63) / 64 >= (size_t)parts;

    snprintf(said, sizeof said, "in %d parts", parts);
    if (!strstr(line_said, said) == has_steps)
        fail_msg("k %zu: %s", t->p.k, line_said);
    return has_steps;
}

/* On the GPU that a program was compiled for, and on no other; nor where no
 * kernel has such tiles. */
static void programs_say_their_tiles(void **state)
{
    static const struct {
        czr_cuda_tiling tiling;
        const char *name;
    } said[] = {
        {{.rows = 192, .cols = 192, .stages = 3}, "_192x192x3"},
        {{.rows = 128, .cols = 256, .stages = 4}, "_128x256x4"},
        {{.rows = 128, .cols = 192, .stages = 4, .splits = 7}, "_128x192x4"},
        {{.rows = 192, .cols = 256, .stages = 3}, "_192x256x3"},
    };
    const int n = (int)(sizeof said / sizeof *said);
    int n_split = 0;

    (void)state;
    for (int i = 0; i < trials; i++) {
        const int sms = i / n % 3 ? 132 : 131, illegal = n - 1;
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        run_in_tiles(&t, &said[i % n].tiling, sms);
        const bool is_said = sms == 132 && i % n != illegal;
        if (is_said && i % n == 2)
            n_split += said_parts(&t, 7);
        if (!strstr(line_said, is_said ? said[i % n].name : "_128x128x5") ||
            (!is_said && strstr(line_said, said[i % n].name)))
            fail_msg("seed %u: %s", first_seed + (unsigned)i, line_said);
        drop_trial(&t);
    }
    assert_true(trials < 60 || n_split > 0);
}

/* An operand that begins at no multiple of 16 bytes. */
static void odd_places_are_for_the_plain_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * (OUT + 1); i++) {
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        t.shift[i % (OUT + 1)] = (1 + (size_t)i) * sizeof(uint16_t);
        run(&t, first_seed);
        drop_trial(&t);
    }
}

/* ---- beside float64 ----------------------------------------------------- */

enum { SIDE = 200, OTHER = 136, DEPTH = 328 };

static double number_at(const void *matrix, czr_dtype dtype, size_t i)
{
    double x;

    czr_convert(&x, CZR_F64, (const uint16_t *)matrix + i, dtype, 1);
    return x;
}

/* Two polynomials of one symmetric matrix m [SIDE, SIDE]: 0.5 I + m and m m -
 * 0.3 m, whose product is symmetric but for rounding. */
static void make_polynomials(trial *t)
{
    double *m = calloc(SIDE * SIDE, sizeof *m);

    assert_non_null(m);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j <= i; j++)
            m[i * SIDE + j] = m[j * SIDE + i] = (double)any_number() / 20;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            const double a = m[i * SIDE + j] + (i == j ? 0.5 : 0);
            double b = -0.3 * m[i * SIDE + j];
            for (size_t k = 0; k < SIDE; k++)
                b += m[i * SIDE + k] * m[k * SIDE + j];
            czr_convert((uint16_t *)(void *)t->host[A] + i * SIDE + j,
                        t->p.a_dtype, &a, CZR_F64, 1);
            czr_convert((uint16_t *)(void *)t->host[B] + i * SIDE + j,
                        t->p.b_dtype, &b, CZR_F64, 1);
        }
    free(m);
}

static void draw_rounded(trial *t, czr_dtype dtype, bool is_symmetric,
                         int orders, bool has_addend)
{
    *t = (trial){.p = {.m = SIDE,
                       .n = is_symmetric ? SIDE : OTHER,
                       .k = is_symmetric ? SIDE : DEPTH,
                       .symmetric = is_symmetric,
                       .transpose_a = orders & 1,
                       .transpose_b = orders >> 1,
                       .alpha = 1.5F,
                       .beta = -0.7F}};
    czr_product *p = &t->p;
    const size_t n[] = {p->m * p->k, p->k * p->n, p->m * p->n, p->m * p->n};

    srand(first_seed + (unsigned)orders);
    set_dtype(p, dtype);
    for (int i = 0; i <= OUT; i++)
        if (i != ADDEND || has_addend)
            draw_operand(t, i, n[i], dtype, any_number);
    if (is_symmetric)
        make_polynomials(t);
    if (is_symmetric && has_addend)
        make_symmetric(t->host[ADDEND], p->n);
}

/* Half a unit in the last place of an element, and what sums in f32 may lose.
 */
static bool is_close(const trial *t, const uint16_t *got, size_t i, size_t j)
{
    const czr_product *p = &t->p;
    const double unit = p->out_dtype == CZR_F16 ? 0x1p-11 : 0x1p-8;
    double sum = 0, size = 0;

    for (size_t k = 0; k < p->k; k++) {
        const size_t at_a = p->transpose_a ? k * p->m + i : i * p->k + k;
        const size_t at_b = p->transpose_b ? j * p->k + k : k * p->n + j;
        const double term = number_at(t->host[A], p->a_dtype, at_a) *
                            number_at(t->host[B], p->b_dtype, at_b);
        sum += term;
        size += fabs(term);
    }
    sum *= (double)p->alpha;
    if (t->host[ADDEND])
        sum += (double)p->beta *
               number_at(t->host[ADDEND], p->addend_dtype, i * p->n + j);
    return fabs(number_at(got, p->out_dtype, i * p->n + j) - sum) <=
           unit * fabs(sum) + 1e-5 * (size + 1);
}

/* Those above the diagonal count; the others are theirs to the bit. */
static void compare_rounded(const trial *t, const uint16_t *got)
{
    const czr_product *p = &t->p;

    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            const bool is_below = p->symmetric && j < i;
            const bool is_right = is_below
                                      ? got[i * p->n + j] == got[j * p->n + i]
                                      : is_close(t, got, i, j);
            if (!is_right)
                fail_msg("%s: (%zu, %zu) is %g", line_said, i, j,
                         number_at(got, p->out_dtype, i * p->n + j));
        }
}

static void run_rounded(trial *t)
{
    static const trial_setting usual;
    uint16_t *const got = calloc(1, t->bytes[OUT]);
    test_stages s;

    assert_non_null(got);
    stages_restart(first_seed);
    assert_int_equal(open_trial(&s, &usual), CZR_OK);
    assert_int_equal(multiply(&s, t, got), CZR_OK);
    *line_said = '\0';
    czr_cuda_products_describe(&s.stages, keep_line, line_said);
    if (!strstr(line_said, "product_symmetric_") != !t->p.symmetric ||
        !strstr(line_said, "_f16") != (t->p.out_dtype != CZR_F16))
        fail_msg("%s", line_said);
    compare_rounded(t, got);
    close_trial(&s, t);
    free(got);
}

/* In all orders of operands that are not equal: f16 with an addend, bf16
 * without.
 */
static void rounded_products_are_close(void **state)
{
    (void)state;
    for (int form = 0; form < 16; form++) {
        const bool is_f16 = form < 8;
        trial t;
        draw_rounded(&t, is_f16 ? CZR_F16 : CZR_BF16, form & 1, form >> 1 & 3,
                     is_f16);
        run_rounded(&t);
        drop_trial(&t);
    }
}

static void failures_leave_nothing(void **state)
{
    static const trial_setting usual;

    (void)state;
    fail_in_turn(draw_trial, first_seed, &usual);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_products_are_the_hosts),
        cmocka_unit_test(programs_say_their_tiles),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
        cmocka_unit_test(rounded_products_are_close),
        cmocka_unit_test(failures_leave_nothing),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(tensor_products_are_the_hosts),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
        cmocka_unit_test(rounded_products_are_close),
    };

    gpu_bench_arguments(argc, argv, &trials, &first_seed, ON_GPU);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
