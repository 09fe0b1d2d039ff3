/* Products: the fixed order against a plain loop, bit for bit, at sizes on
 * both sides of every block; libraries against it within rounding. */
#include "tests/unit/unit.h"
#include "runtime/math/product.h"

enum { LARGEST = 300 };

static uint32_t seed = 1;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return ((float)(seed >> 8) / (float)(1 << 23)) - 1;
}

static void put(void *data, czr_dtype dtype, size_t i, float value)
{
    if (dtype == CZR_BF16)
        ((czr_bf16 *)data)[i] = czr_f32_to_bf16(value);
    else
        ((float *)data)[i] = value;
}

static void fill(void *data, czr_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(data, dtype, i, next_value());
}

static float element(const void *data, czr_dtype dtype, int transposed,
                     size_t rows, size_t columns, size_t i, size_t j)
{
    const size_t at = transposed ? j * rows + i : i * columns + j;

    return dtype == CZR_BF16 ? czr_bf16_to_f32(((const czr_bf16 *)data)[at])
                             : ((const float *)data)[at];
}

static float expected(const czr_product *p, size_t i, size_t j)
{
    float sum = 0;

    for (size_t k = 0; k < p->k; k++) {
        const float term =
            element(p->a, p->a_dtype, p->transpose_a, p->m, p->k, i, k) *
            element(p->b, p->b_dtype, p->transpose_b, p->k, p->n, k, j);
        sum += term;
    }
    return sum;
}

typedef struct buffers {
    float *a, *b, *c, *addend, *out;
    czr_host_math math;
} buffers;

static int setup(void **state)
{
    buffers *self = calloc(1, sizeof *self);
    const size_t n = (size_t)LARGEST * LARGEST;

    self->a = calloc(n, sizeof(float));
    self->b = calloc(n, sizeof(float));
    self->c = calloc(n, sizeof(float));
    self->addend = calloc(n, sizeof(float));
    self->out = calloc(n, sizeof(float));
    *state = self;
    return czr_host_math_open(&self->math, 0, 1) != CZR_OK;
}

static int setup_threads(void **state)
{
    const int failed = setup(state);
    buffers *self = *state;

    czr_host_math_close(&self->math);
    return failed || czr_host_math_open(&self->math, 0, 3) != CZR_OK;
}

static int teardown(void **state)
{
    buffers *self = *state;

    czr_host_math_close(&self->math);
    free(self->a);
    free(self->b);
    free(self->c);
    free(self->addend);
    free(self->out);
    free(self);
    return 0;
}

static const size_t sizes[][3] = {{1, 1, 1},      {3, 5, 7},       {16, 16, 16},
                                  {64, 256, 128}, {65, 257, 129},  {2, 300, 3},
                                  {130, 17, 260}, {140, 140, 140}, {0, 4, 4},
                                  {4, 4, 0}};

/* Variant: bits 0 and 1 transposes, 2 and 3 bf16 operands. */
static czr_product make(const buffers *self, const size_t *size, int variant)
{
    const czr_product p = {
        .m = size[0],
        .n = size[1],
        .k = size[2],
        .a = self->a,
        .b = self->b,
        .c = self->c,
        .a_dtype = variant & 4 ? CZR_BF16 : CZR_F32,
        .b_dtype = variant & 8 ? CZR_BF16 : CZR_F32,
        .transpose_a = variant & 1,
        .transpose_b = variant >> 1 & 1,
    };

    fill(self->a, p.a_dtype, p.m * p.k);
    fill(self->b, p.b_dtype, p.k * p.n);
    return p;
}

static void fixed_order_has_the_bits_of_a_plain_loop(void **state)
{
    enum { VARIANTS = 16 };
    const buffers *self = *state;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            const czr_product p = make(self, sizes[s], variant);
            czr_product_fixed_order(&self->math.math, &p);
            for (size_t i = 0; i < p.m; i++)
                for (size_t j = 0; j < p.n; j++) {
                    const float value = expected(&p, i, j);
                    assert_memory_equal(&p.c[i * p.n + j], &value,
                                        sizeof value);
                }
        }
}

static float kept(const czr_product *p, float sum)
{
    return p->narrow ? czr_bf16_to_f32(czr_f32_to_bf16(sum)) : sum;
}

/* Parts [first, first + n) of the sum, halved until one is left. */
static float sum_of_parts(const czr_product *p, size_t first, size_t n,
                          size_t i, size_t j)
{
    const size_t length = p->k / (size_t)p->blocks;
    float sum = 0;

    if (n > 1)
        return kept(p, sum_of_parts(p, first, n / 2, i, j) +
                           sum_of_parts(p, first + n / 2, n / 2, i, j));
    for (size_t k = first * length; k < (first + 1) * length; k++) {
        const float term =
            element(p->a, p->a_dtype, p->transpose_a, p->m, p->k, i, k) *
            element(p->b, p->b_dtype, p->transpose_b, p->k, p->n, k, j);
        sum += term;
    }
    return kept(p, sum);
}

static void parts_are_added_as_a_tree_and_narrow_ones_rounded(void **state)
{
    static const size_t shapes[][3] = {
        {3, 5, 8}, {65, 257, 264}, {130, 17, 256}};
    const buffers *self = *state;
    czr_host_math strict;

    assert_int_equal(czr_host_math_open(&strict, 1, 1), CZR_OK);
    for (int variant = 0; variant < 3 * 4 * 2; variant++) {
        czr_product p = make(self, shapes[variant % 3], 4 | 8 | 2);
        p.blocks = 1 << variant / 3 % 4;
        p.narrow = variant / 12;
        czr_product_fixed_order(&strict.math, &p);
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < p.n; j++) {
                const float value =
                    p.blocks > 1 ? sum_of_parts(&p, 0, (size_t)p.blocks, i, j)
                                 : expected(&p, i, j);
                assert_memory_equal(&p.c[i * p.n + j], &value, sizeof value);
            }
    }
    czr_host_math_close(&strict);
}

static void symmetric_products_have_the_same_bits(void **state)
{
    const buffers *self = *state;
    const size_t n = 150, k = 140;
    czr_product p = {.m = n,
                     .n = n,
                     .k = k,
                     .a = self->a,
                     .b = self->a,
                     .a_dtype = CZR_F32,
                     .b_dtype = CZR_F32,
                     .transpose_b = 1};

    fill(self->a, CZR_F32, n * k);
    p.c = self->c;
    czr_product_fixed_order(&self->math.math, &p);
    p.c = self->b;
    p.symmetric = 1;
    czr_product_fixed_order(&self->math.math, &p);
    assert_memory_equal(self->b, self->c, n * n * sizeof(float));
}

static void libraries_agree_within_rounding(void **state)
{
    enum { VARIANTS = 16 };
    const buffers *self = *state;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            const czr_product p = make(self, sizes[s], variant);
            czr_product_library(&self->math.math, &p);
            for (size_t i = 0; i < p.m; i++)
                for (size_t j = 0; j < p.n; j++)
                    assert_float_equal(p.c[i * p.n + j], expected(&p, i, j),
                                       2e-4);
        }
}

/* x @ x', x' @ x and, of a symmetric x, x @ x. */
static czr_product make_square(const buffers *self, size_t n, size_t k,
                               int variant)
{
    czr_product p = make(self, (size_t[]){n, n, k}, variant & 4 ? 12 : 0);
    const size_t bytes = czr_dtype_bytes(p.a_dtype);
    char *a = (char *)self->a;

    p.b = p.a;
    p.symmetric = 1;
    p.transpose_a = variant & 1;
    p.transpose_b = !p.transpose_a;
    if (!(variant & 2))
        return p;
    p.transpose_b = p.transpose_a;
    p.k = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            memcpy(a + (j * n + i) * bytes, a + (i * n + j) * bytes, bytes);
    return p;
}

static void symmetric_products_of_libraries_are_mirrored(void **state)
{
    static const size_t shapes[][2] = {
        {1, 1}, {7, 9}, {16, 300}, {192, 33}, {193, 40}, {230, 230}, {299, 64}};
    const buffers *self = *state;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int variant = 0; variant < 8; variant++) {
            const czr_product p =
                make_square(self, shapes[s][0],
                            variant & 2 ? shapes[s][0] : shapes[s][1], variant);
            czr_product_library(&self->math.math, &p);
            for (size_t i = 0; i < p.m; i++)
                for (size_t j = 0; j <= i; j++) {
                    assert_float_equal(p.c[i * p.n + j], expected(&p, i, j),
                                       2e-4);
                    assert_memory_equal(&p.c[j * p.n + i], &p.c[i * p.n + j],
                                        sizeof *p.c);
                }
        }
}

/* x @ x' of integers, whose sums are exact however they are cut into blocks of
 * rows and of k; with two operands the second is twice the first. */
static void check_long_square(const buffers *self, czr_dtype dtype, size_t n,
                              size_t k, int variant)
{
    const size_t bytes = czr_dtype_bytes(dtype);
    const bool has_two = variant & 2;
    char *x = malloc(2 * n * k * bytes);
    float *c = calloc(n * n, sizeof *c);

    assert_non_null(x);
    assert_non_null(c);
    for (size_t i = 0; i < n * k; i++) {
        const float value = truncf(9 * next_value());
        put(x, dtype, i, value);
        put(x, dtype, n * k + i, 2 * value);
    }
    const czr_product p = {.m = n,
                           .n = n,
                           .k = k,
                           .a = x,
                           .b = has_two ? x + n * k * bytes : x,
                           .c = c,
                           .a_dtype = dtype,
                           .b_dtype = dtype,
                           .transpose_a = variant & 1,
                           .transpose_b = !(variant & 1),
                           .symmetric = 1};
    czr_product_library(&self->math.math, &p);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const float wanted = i < j ? c[j * n + i] : expected(&p, i, j);
            assert_float_equal(c[i * n + j], wanted, 0);
        }
    free(c);
    free(x);
}

static void long_squares_of_integers_are_exact(void **state)
{
    for (int variant = 0; variant < 4; variant++) {
        check_long_square(*state, CZR_BF16, 401, 1031, variant);
        check_long_square(*state, CZR_F32, 401, 1031, variant);
        check_long_square(*state, CZR_F32, 1041, 67, variant);
    }
}

/* Rounded, with room for some rows of sums alone: the same of one thread as of
 * several. */
static void squares_are_the_same_of_any_number_of_threads(void **state)
{
    enum { N = 401, K = 1031 };
    static const size_t rooms[] = {0, 1, 2, 7, 192};
    czr_bf16 *x = calloc((size_t)N * K, sizeof *x);
    czr_bf16 *out = calloc(2 * (size_t)N * N, sizeof *out);
    float *c = calloc((size_t)N * N, sizeof *c);
    const buffers *self = *state;
    czr_host_math one;

    memset(&one, -1, sizeof one); /* whatever was there before */
    assert_int_equal(czr_host_math_open(&one, 0, 1), CZR_OK);
    fill(x, CZR_BF16, (size_t)N * K);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        czr_product p = {.m = N,
                         .n = N,
                         .k = K,
                         .a = x,
                         .b = x,
                         .c = c,
                         .a_dtype = CZR_BF16,
                         .b_dtype = CZR_BF16,
                         .transpose_b = 1,
                         .symmetric = 1,
                         .held_rows = rooms[i],
                         .out = out,
                         .out_dtype = CZR_BF16,
                         .alpha = 1};
        czr_product_library(&one.math, &p);
        p.out = out + (size_t)N * N;
        czr_product_library(&self->math.math, &p);
        assert_memory_equal(out, p.out, (size_t)N * N * sizeof *out);
    }
    czr_host_math_close(&one);
    free(c);
    free(out);
    free(x);
}

/* What follows the sum over k, with room for all rows or some: variant % 4 says
 * which addend there is, bit 0 of variant / 4 the type of the result, bit 1
 * whether they are one. */
static void add_affine(const buffers *self, czr_product *p, int variant)
{
    p->out = self->out;
    p->held_rows = variant % 3 == 0 ? 0 : variant % 3 == 1 ? 7 : 64;
    p->out_dtype = variant / 4 & 1 ? CZR_BF16 : CZR_F32;
    p->alpha = variant % 4 == 2 ? 1 : 2.0315f;
    p->beta = -4.775f;
    if (variant % 4 == 0)
        return;
    p->addend_dtype = variant % 4 == 1   ? p->out_dtype
                      : variant % 4 == 2 ? CZR_F32
                                         : CZR_BF16;
    p->addend = self->addend;
    fill(self->addend, p->addend_dtype, p->m * p->n);
    for (size_t i = 0; p->symmetric && i < p->m; i++)
        for (size_t j = 0; j < i; j++) {
            const size_t bytes = czr_dtype_bytes(p->addend_dtype);
            char *addend = (char *)self->addend;
            memcpy(addend + (j * p->n + i) * bytes,
                   addend + (i * p->n + j) * bytes, bytes);
        }
}

static float affine_of(const czr_product *p, const void *addend, size_t i,
                       size_t j)
{
    const float sum = p->alpha * expected(p, i, j);

    return p->addend ? sum + p->beta * element(addend, p->addend_dtype, 0, p->m,
                                               p->n, i, j)
                     : sum;
}

/* All that may follow a product of m, n, k, or a symmetric one of m, m, k. */
static void check_affine(const buffers *self, const size_t *size, int variant,
                         bool is_square, bool is_library)
{
    for (int affine = 0; affine < 16; affine++) {
        czr_product p = is_square ? make_square(self, size[0], size[2], variant)
                                  : make(self, size, variant);
        add_affine(self, &p, affine);
        if (affine / 8 && p.addend && p.addend_dtype == p.out_dtype) {
            memcpy(self->out, self->addend,
                   p.m * p.n * czr_dtype_bytes(p.out_dtype));
            p.addend = p.out;
        }
        (is_library ? czr_product_library
                    : czr_product_fixed_order)(&self->math.math, &p);
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < p.n; j++) {
                const float want = affine_of(&p, self->addend, i, j);
                const float got =
                    element(p.out, p.out_dtype, 0, p.m, p.n, i, j);
                const float near = is_library ? 1e-3f : 0;
                if (p.out_dtype == CZR_F32)
                    assert_true(fabsf(got - want) <= near);
                else /* what some number near it is rounded to */
                    assert_true(
                        got >= czr_bf16_to_f32(czr_f32_to_bf16(want - near)) &&
                        got <= czr_bf16_to_f32(czr_f32_to_bf16(want + near)));
            }
    }
}

static void results_are_scaled_added_to_and_rounded_once(void **state)
{
    static const size_t shapes[][3] = {
        {3, 5, 7}, {65, 40, 129}, {40, 40, 40}, {200, 200, 200}};
    const buffers *self = *state;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int variant = 0; variant < 16; variant++)
            for (int is_library = 0; is_library < 2; is_library++) {
                const bool is_large = shapes[s][0] > 100;
                if (is_large && (variant % 4 || !is_library))
                    continue;
                check_affine(self, shapes[s], variant, false, is_library);
                if (shapes[s][0] == shapes[s][2] && variant < 8)
                    check_affine(self, shapes[s], variant, true, is_library);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            fixed_order_has_the_bits_of_a_plain_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(
            parts_are_added_as_a_tree_and_narrow_ones_rounded, setup, teardown),
        cmocka_unit_test_setup_teardown(symmetric_products_have_the_same_bits,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(libraries_agree_within_rounding, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            symmetric_products_of_libraries_are_mirrored, setup, teardown),
        cmocka_unit_test_setup_teardown(long_squares_of_integers_are_exact,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(long_squares_of_integers_are_exact,
                                        setup_threads, teardown),
        cmocka_unit_test_setup_teardown(
            squares_are_the_same_of_any_number_of_threads, setup_threads,
            teardown),
        cmocka_unit_test_setup_teardown(
            results_are_scaled_added_to_and_rounded_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
