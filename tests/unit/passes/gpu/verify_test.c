/* V11 and V12: what the verifier says of batches and tiles that are wrong.  A
 * plan for a GPU is made and printed, its text changed in one or two places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "passes/gpu/gpu.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"
#include "runtime/cuda/products/tiles.h"

#include <string.h>

/* Three matrices of one shape and one of another.  Their rows are, in order,
 * those of `last`, and of h[2], h[1], h[0]: before, whole, after. */
static const char source[] =
    "mesh tp = 1\n"
    "model batched() {\n"
    "    params f32 {\n"
    "        h[i < 3] : [16, 32]\n"
    "        last     : [16, 64]\n"
    "    }\n"
    "}\n"
    "use muon(lr = 0.1, momentum = 0, coefficients = [(3.4445, -4.7750, "
    "2.0315)]) as all on **\n";

static cz_text good;

static int make_plan(void **state)
{
    cz_text text = {0};
    cz_compile_options options = {
        .path = "batched.cz", .text = &text, .compiler = "test"};
    cz_arena arena;
    cz_diags diags;

    (void)state;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_puts(&text, source);
    cz_ir *ir = cz_compile(&arena, &options, &diags);
    assert_non_null(ir);
    assert_true(cz_passes_run(ir, "schedule", &diags));
    assert_true(cz_gpu_target(ir, "", &diags));
    assert_true(cz_passes_gpu(ir, NULL, &diags));
    cz_ir_print(ir, &good);
    cz_ir_close(ir);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return 0;
}

static int drop_plan(void **state)
{
    (void)state;
    cz_text_fini(&good);
    return 0;
}

typedef struct bad_plan {
    const char *change[4][2]; /* text and replacement, which comes once */
    const char *sentence;     /* "": the plan is good */
} bad_plan;

static void replace_once(cz_text *text, const char *const change[2])
{
    const char *string = cz_text_string(text);
    const char *place = strstr(string, change[0]);
    cz_text changed = {0};

    if (!place || strstr(place + 1, change[0]))
        fail_msg("not there, or not once: %s", change[0]);
    cz_text_put(&changed, string, (size_t)(place - string));
    cz_text_puts(&changed, change[1]);
    cz_text_puts(&changed, place + strlen(change[0]));
    cz_text_fini(text);
    *text = changed;
}

static void check_bad_plan(const bad_plan *bad)
{
    cz_text text = {0};
    cz_arena arena;
    cz_diags diags;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_puts(&text, cz_text_string(&good));
    for (int i = 0; i < 4 && bad->change[i][0]; i++)
        replace_once(&text, bad->change[i]);
    cz_ir *ir = cz_ir_parse(cz_text_string(&text), text.n, &diags);
    assert_non_null(ir);
    const cz_plan_view *view = cz_plan_view_build(&arena, ir, &diags);
    if (view)
        assert_int_equal(cz_verify(view, &diags), *bad->sentence == '\0');
    if (*bad->sentence)
        assert_string_equal(diags.list[0].message, bad->sentence);
    cz_ir_close(ir);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
}

#define CHECK_BAD_PLANS(list)                                                  \
    do {                                                                       \
        for (size_t i_ = 0; i_ < sizeof(list) / sizeof *(list); i_++)          \
            check_bad_plan(&(list)[i_]);                                       \
    } while (0)

/* ---- batches ------------------------------------------------------------ */

#define OF_ROW "of_row = array<i64: 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1>"
#define ONE(name, value) name " = array<i64: " value ">"
#define AT "operation 4 (kernel) on rank 0, "

static void a_good_plan_holds(void **state)
{
    static const bad_plan list[] = {
        {{{NULL}}, ""},
        /* One less, which runs alone. */
        {{{OF_ROW, "of_row = array<i64: 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1>"},
          {ONE("n_matrices", "3"), ONE("n_matrices", "2")}},
         AT "h.2: tiles of 128 x 128 of bf16 [16, 16, 32], 3 at once, are of "
            "another number of them than the largest batch"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

static void each_matrix_is_in_one_batch_or_alone(void **state)
{
    static const bad_plan list[] = {
        /* A matrix in none, which the batch counts. */
        {{{OF_ROW, "of_row = array<i64: 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1>"}},
         AT "h.2: batch 1 has fewer matrices than it says"},
        /* In none with one of its rows. */
        {{{OF_ROW, "of_row = array<i64: 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1>"}},
         AT "h.1: batch 1 has rows of a matrix that is not in it with all of "
            "them"},
        {{{ONE("n_rows", "3"), ONE("n_rows", "2")}},
         AT "h.2: batch 1 has rows of a matrix that is not in it with all of "
            "them"},
        {{{ONE("n_matrices", "3"), ONE("n_matrices", "2")}},
         AT "h.2: batch 1 has other rows than those of its matrices"},
        {{{ONE("n_matrices", "3"), ONE("n_matrices", "1")}},
         AT "h.2: batch 1 is not of two matrices or more"},
        /* The others would wait for the first row for ever. */
        {{{OF_ROW, "of_row = array<i64: 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1>"},
          {ONE("n_matrices", "3"), ONE("n_matrices", "2")}},
         AT "h.2: batch 1 begins with a row that is not in it"},
        {{{ONE("first", "3"), ONE("first", "6")}},
         AT "h.1: batch 1 has fewer matrices than it says"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

static void a_matrix_is_not_in_two_batches(void **state)
{
    static const bad_plan list[] = {
        {{{"bytes = array<i64: 4608>, first = array<i64: 3>, n_matrices = "
           "array<i64: 3>, n_rows = array<i64: 3>, " OF_ROW
           ", scratch = array<i64: 0>",
           "bytes = array<i64: 4608, 4608>, first = array<i64: 3, 0>, "
           "n_matrices = array<i64: 2, 2>, n_rows = array<i64: 3, 3>, "
           "of_row = array<i64: 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2>, "
           "scratch = array<i64: 0, 0>"}},
         AT "h.2: batch 1 has other rows than those of its matrices"},
        {{{"bytes = array<i64: 4608>, first = array<i64: 3>, n_matrices = "
           "array<i64: 3>, n_rows = array<i64: 3>, " OF_ROW
           ", scratch = array<i64: 0>",
           "bytes = array<i64: 4608, 4608>, first = array<i64: 3, 9>, "
           "n_matrices = array<i64: 2, 2>, n_rows = array<i64: 3, 3>, "
           "of_row = array<i64: 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2>, "
           "scratch = array<i64: 0, 0>"}},
         AT "h.1: batch 1 has rows of a matrix that is not in it with all of "
            "them"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

static void matrices_of_a_batch_are_alike(void **state)
{
    static const bad_plan list[] = {
        {{{OF_ROW, "of_row = array<i64: 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>"},
          {ONE("first", "3"), ONE("first", "0")}},
         AT "h.2: batch 1 has matrices of unequal shape"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

/* Slots of 1,024 bytes at 0 and 1024, 2,560 of workspace behind them. */
static void members_do_not_overlap(void **state)
{
    static const bad_plan list[] = {
        {{{ONE("bytes", "4608") ", first", ONE("bytes", "2560") ", first"},
          {ONE("scratch", "0"), ONE("scratch", "2048")}},
         AT "h.2: batch 1 comes in no order with last, which has scratch byte "
            "0, too"},
        {{{ONE("bytes", "4608") ", first", ONE("bytes", "3584") ", first"},
          {ONE("scratch", "0"), ONE("scratch", "1024")}},
         AT "h.2: batch 1 comes in no order with last, which has scratch byte "
            "0, too"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

static void what_each_has_for_itself_is_enough(void **state)
{
    static const bad_plan list[] = {
        {{{ONE("bytes", "4608") ", first", ONE("bytes", "4544") ", first"}},
         AT "h.2: batch 1 moves a part of what one of its rows has"},
        {{{ONE("scratch", "0"), ONE("scratch", "64")}},
         AT "h.2: batch 1 moves a part of what one of its rows has"},
        {{{ONE("scratch", "0"), ONE("scratch", "32")}},
         AT "h.2: batch 1 moves bytes to where they are not aligned"},
        {{{ONE("bytes", "4608") ", first", ONE("bytes", "8768") ", first"}},
         AT "h.2: batch 1 moves bytes outside the scratch"},
        {{{ONE("bytes", "13824"), ONE("bytes", "13760")}},
         AT "h.2: batch 1 has more bytes behind the arena than the plan says"},
        {{{"micro_group_bytes = 0", "micro_group_bytes = 13823"}},
         AT "h.2: batch 1 has more bytes than the cap of a group"},
        {{{"memory_bytes = 0", "memory_bytes = 1000000"}},
         AT "h.2: batch 1 has bytes that no cap on memory counts"},
        {{{"strict = 0", "strict = 1"}},
         AT "h.2: batch 1 is one of a strict plan, whose matrices run one by "
            "one"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

/* ---- tiles -------------------------------------------------------------- */

/* A tiling of three products x x' of x [16, k]; WHOLE is in the plan. */
#define TILE(columns, k, rows, rest)                                           \
    "batch = 3 : i64, columns = " columns " : i64, k = " k                     \
    " : i64, library = 0 : i64, library_time = 0 : i64, "                      \
    "m = 16 : i64, n = 16 : i64, rows = " rows " : i64, "                      \
    "splits = " rest
#define WHOLE TILE("128", "32", "128", "1 : i64, stages = 5")
#define SAID(tile, k)                                                          \
    AT "h.2: tiles of " tile " of bf16 [16, 16, " k "], 3 at once, "

static void tiles_are_of_products_and_kernels(void **state)
{
    static const bad_plan list[] = {
        {{{WHOLE, TILE("128", "40", "128", "1 : i64, stages = 5")}},
         "operation 4 (kernel) on rank 0, last: tiles of 128 x 128 of bf16 "
         "[16, "
         "16, 40], 3 at once, are of a product that no stage computes"},
        {{{WHOLE, TILE("96", "32", "128", "1 : i64, stages = 5")}},
         SAID("128 x 96", "32") "are of no kernel"},
        {{{WHOLE, TILE("128", "32", "128", "1 : i64, stages = 7")}},
         SAID("128 x 128", "32") "are of no kernel"},
        {{{WHOLE, TILE("256", "32", "256", "1 : i64, stages = 2")}},
         SAID("256 x 256", "32") "are of no kernel"},
        {{{WHOLE, TILE("128", "32", "128", "2 : i64, stages = 5")}},
         SAID("128 x 128", "32") "are cut to other parts of k than it has"},
        {{{"sms = 132 : i64", "sms = 0 : i64"}},
         "operation 4 (kernel) on rank 0, h.2: tiles of 128 x 128 of bf16 [16, "
         "16, 32], 1 at once, want more processors than there are"},
    };

    (void)state;
    CHECK_BAD_PLANS(list);
}

/* Of the first tiling of a plan the verifier says what the runtime does. */
static void kernels_are_those_of_the_runtime(void **state)
{
    cz_arena arena;
    cz_diags diags;
    int n_right = 0;

    (void)state;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_parse(cz_text_string(&good), good.n, &diags);
    assert_non_null(ir);
    const cz_plan_view *view = cz_plan_view_build(&arena, ir, &diags);
    assert_non_null(view);
    for (int i = 0; i < 10 * 9 * 8; i++) {
        cz_fact_tiling tiling = view->tilings[0];
        tiling.rows = 32 * (i % 10 + 1);
        tiling.columns = 32 * (i / 10 % 9 + 1);
        tiling.stages = i / 90 + 1;
        cz_plan_view changed = *view;
        changed.tilings = &tiling;
        changed.n_tilings = 1;
        const czr_cuda_product_tiles tiles = {
            (int)tiling.rows, (int)tiling.columns, (int)tiling.stages, 0};
        czr_cuda_product_split split;
        const bool is_right = czr_cuda_product_is_legal(&tiles, &split);
        cz_diags said;
        cz_diags_init(&said, &arena);
        assert_int_equal(cz_verify(&changed, &said), is_right);
        n_right += is_right;
    }
    assert_in_range(n_right, 20, 200);
    for (int i = 0; i < CZ_TILE_SHAPES; i++) {
        const cz_tile_shape *s = &cz_tile_shapes[i];
        const czr_cuda_product_tiles tiles = {s->rows, s->cols, s->stages, 0};
        czr_cuda_product_split split;
        assert_true(czr_cuda_product_is_legal(&tiles, &split));
    }
    cz_ir_close(ir);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_plan_holds),
        cmocka_unit_test(each_matrix_is_in_one_batch_or_alone),
        cmocka_unit_test(a_matrix_is_not_in_two_batches),
        cmocka_unit_test(matrices_of_a_batch_are_alike),
        cmocka_unit_test(members_do_not_overlap),
        cmocka_unit_test(what_each_has_for_itself_is_enough),
        cmocka_unit_test(tiles_are_of_products_and_kernels),
        cmocka_unit_test(kernels_are_those_of_the_runtime),
    };

    return cmocka_run_group_tests(tests, make_plan, drop_plan);
}
