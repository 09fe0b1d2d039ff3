/* Products by cuBLASLt on the doubles of driver, NVRTC and cuBLASLt, whose bits
 * are those of the host's fixed order: f32, and bf16 or f16 in forms that our
 * kernels of tensor cores do not take.  Also where it is missing or fails.
 *
 * multiply_library_test [TRIALS [SEED]] */
#include "tests/gpu/double/cublaslt.h"
#include "tests/gpu/products/product_trial.h"

enum { MOST = 60 };

static int trials = 60;
static unsigned first_seed = 1;
static int *fails, *products; /* the double's */

static czr_dtype draw_dtype(void)
{
    static const czr_dtype dtypes[] = {CZR_F32, CZR_BF16, CZR_F16};

    return dtypes[stages_draw(0, 2)];
}

/* n is odd: no kernel of tensor cores takes it. */
static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    czr_product *p = &t->p;
    const czr_dtype of_operands = draw_dtype();
    *p = (czr_product){.symmetric = stages_draw(0, 2) == 0,
                       .n = (size_t)stages_draw(0, MOST / 2) * 2 + 1,
                       .k = (size_t)stages_draw(1, MOST),
                       .a_dtype = of_operands,
                       .b_dtype = of_operands,
                       .out_dtype = draw_dtype(),
                       .addend_dtype = draw_dtype(),
                       .transpose_a = stages_draw(0, 1),
                       .transpose_b = stages_draw(0, 1),
                       .alpha = (float)stages_draw(-9, 9) / 7,
                       .beta = (float)stages_draw(1, 9) /
                               (stages_draw(0, 1) ? 7 : -7)};
    p->m = p->symmetric ? p->n : (size_t)stages_draw(1, MOST);
    draw_operand(t, A, p->m * p->k, of_operands, any_number);
    draw_operand(t, B, p->k * p->n, of_operands, any_number);
    if (stages_draw(0, 1))
        draw_operand(t, ADDEND, p->m * p->n, p->addend_dtype, any_number);
    draw_operand(t, OUT, p->m * p->n, p->out_dtype, any_number);
    t->skipped = stages_draw(0, 7) == 0;
}

/* With the double of the library. */
static czr_status run(trial *t, unsigned seed)
{
    const trial_setting with = {.cublas = CUBLASLT_PATH};

    *products = 0;
    return run_trial(t, seed, &with, NULL);
}

/* ---- tests -------------------------------------------------------------- */

static void the_library_is_used(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        trial t;
        draw_trial(&t, seed);
        assert_int_equal(run(&t, seed), CZR_OK);
        assert_int_equal(*products, 1);
        drop_trial(&t);
    }
}

static void odd_places_are_for_the_plain_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        t.shift[i % 2 ? A : B] = sizeof(float);
        assert_int_equal(run(&t, first_seed), CZR_OK);
        assert_int_equal(*products, 0);
        drop_trial(&t);
    }
}

/* Of the library's calls the last is the product itself; without the others
 * the plain kernel computes it. */
static void failures_are_no_wrong_results(void **state)
{
    int n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        trial t;
        draw_trial(&t, first_seed);
        *fails = n + 1;
        const czr_status status = run(&t, first_seed);
        has_failed = *fails == 0;
        if (status != CZR_OK)
            assert_int_equal(status, CZR_ERR_DEVICE);
        assert_true(status == CZR_OK || n == 15);
        *fails = 0;
        drop_trial(&t);
    }
    assert_int_equal(n, 17);
}

static void failures_of_the_driver_leave_nothing(void **state)
{
    const trial_setting with = {.cublas = CUBLASLT_PATH};

    (void)state;
    fail_in_turn(draw_trial, first_seed, &with);
}

/* What computes an f32 product with the library at `path`. */
static void list(const char *path, char *lines)
{
    const czr_product p = {.m = 3, .n = 5, .k = 7};
    const trial_setting with = {.cublas = path};
    test_stages s;

    stages_restart(1);
    assert_int_equal(open_trial(&s, &with), CZR_OK);
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL), CZR_OK);
    lines[0] = '\0';
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    stages_close(&s);
}

static void what_is_missing_is_said(void **state)
{
    char lines[LINES];

    (void)state;
    list(CUBLASLT_PATH, lines);
    assert_string_equal(lines, "f32[3, 7] x f32[7, 5] to f32: cuBLASLt, where "
                               "they lie at odd places product_plain\n");
    list("/nowhere/libcublasLt.so", lines);
    assert_string_equal(lines, "f32[3, 7] x f32[7, 5] to f32: product_plain\n"
                               "not by cuBLASLt: cuBLASLt is missing\n");
    list(NVRTC_PATH, lines);
    assert_non_null(strstr(lines, "cuBLASLt has no cublasLtGetVersion\n"));
    *fails = 1;
    list(CUBLASLT_PATH, lines);
    assert_non_null(strstr(lines, "cuBLASLt does not start (14)\n"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_used),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
        cmocka_unit_test(failures_are_no_wrong_results),
        cmocka_unit_test(failures_of_the_driver_leave_nothing),
        cmocka_unit_test(what_is_missing_is_said),
    };
    const test_cublaslt library = test_cublaslt_open();

    fails = library.fails;
    products = library.products;
    gpu_bench_arguments(argc, argv, &trials, &first_seed, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
