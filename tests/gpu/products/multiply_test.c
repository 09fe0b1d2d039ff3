/* Products of stages from opening to results, on the doubles of driver and
 * NVRTC: drawn ones beside the host's in a fixed order, to the bit, where a
 * program is strict.
 *
 * multiply_test [TRIALS [SEED]]
 * multiply_test gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves; exit status 77 without either: skipped. */
#include "tests/gpu/products/product_trial.h"

enum { MOST = 80 };

/* On a GPU NVRTC compiles for each. */
enum { ON_GPU = 20 };
static int trials = 60;
static unsigned first_seed = 1;

static const trial_setting strict = {.is_strict = true};

static czr_dtype draw_dtype(void)
{
    static const czr_dtype dtypes[] = {CZR_F32, CZR_BF16, CZR_F16};

    return dtypes[stages_draw(0, 2)];
}

static void draw_form(trial *t)
{
    czr_product *p = &t->p;

    p->symmetric = stages_draw(0, 2) == 0;
    p->m = (size_t)stages_draw(stages_draw(0, 9) > 0, MOST);
    p->n = p->symmetric ? p->m : (size_t)stages_draw(1, MOST);
    p->k = (size_t)stages_draw(stages_draw(0, 9) > 0, 20);
    p->blocks = 1 << stages_draw(0, 3);
    p->narrow = stages_draw(0, 1);
    p->k *= (size_t)p->blocks;
    p->a_dtype = draw_dtype();
    p->b_dtype = draw_dtype();
    p->out_dtype = draw_dtype();
    p->addend_dtype = draw_dtype();
    p->transpose_a = stages_draw(0, 1);
    p->transpose_b = stages_draw(0, 1);
    p->alpha = (float)stages_draw(-9, 9) / 7;
    p->beta = (float)stages_draw(1, 9) / (stages_draw(0, 1) ? 7 : -7);
    t->skipped = stages_draw(0, 7) == 0;
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    draw_form(t);
    const czr_product *p = &t->p;
    const int form = stages_draw(0, 3);
    const size_t n = p->m * p->n;
    t->is_in_place = form == 3;
    draw_operand(t, A, p->m * p->k, p->a_dtype, any_number);
    draw_operand(t, B, p->k * p->n, p->b_dtype, any_number);
    draw_operand(t, C, n, CZR_F32, any_number);
    if (form == 2)
        draw_operand(t, ADDEND, n, p->addend_dtype, any_number);
    if (form > 0)
        draw_operand(t, OUT, n, p->out_dtype, any_number);
}

/* ---- tests -------------------------------------------------------------- */

static void strict_products_are_the_hosts(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        trial t;
        draw_trial(&t, seed);
        assert_int_equal(run_trial(&t, seed, &strict, NULL), CZR_OK);
        drop_trial(&t);
    }
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    fail_in_turn(draw_trial, first_seed, &strict);
}

/* One line for each kind, however often it is asked for; one that nobody asked
 * for is refused. */
static void products_are_listed(void **state)
{
    char lines[LINES] = "";
    czr_product p = {.m = 3, .n = 5, .k = 7, .a_dtype = CZR_BF16};
    test_stages s;

    (void)state;
    stages_restart(1);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL), CZR_OK);
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL), CZR_OK);
    p.transpose_b = 1;
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL), CZR_OK);
    p.k = 8;
    p.blocks = 2;
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL), CZR_OK);
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    assert_string_equal(lines,
                        "bf16[3, 7] x f32[7, 5] to f32: product_plain\n"
                        "bf16[3, 7] x f32'[7, 5] to f32: product_plain\n"
                        "bf16[3, 8] x f32'[8, 5] to f32: product_parts\n");
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    p.k = 9;
    const czr_cuda_call call = {.stages = &s.stages};
    assert_int_not_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_products_are_the_hosts),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(products_are_listed),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(strict_products_are_the_hosts),
    };

    gpu_bench_arguments(argc, argv, &trials, &first_seed, ON_GPU);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
