/* What is dealt out: products of which nothing is cut, and what becomes of
 * sums, by rows, where the rows have that many equal parts. */
#include "passes/cost/step_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/cost/fixture.h"

static cz_step_cut *shares_of(fixture *f, const cz_view_stage *stage)
{
    cz_step_cut *step_cuts = CZ_NEW(&f->arena, cz_step_cut, stage->n_steps);
    assert_true(cz_step_cuts_find(
        &f->arena, stage, cz_share_find(&f->arena, stage), step_cuts, NULL));
    return step_cuts;
}

/* b G + c G G in each of the five steps, and nothing besides. */
static void squares_of_gram_matrices_are_dealt_out(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "qkv.weight");
    cz_step_cut *step_cuts = shares_of(f, stage);
    int n_dealt = 0;
    assert_true(cz_step_cuts_partition(stage, 4, step_cuts));
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const bool is_square = step->is_product && step->rows == 5120 &&
                               step->columns == 5120 && step->inner == 5120 &&
                               !step_cuts[s].inner &&
                               step_cuts[s].space == CZ_CUT_NONE;
        assert_int_equal(step_cuts[s].gather_bytes,
                         is_square ? (int64_t)5120 * 5120 * 2 : 0);
        n_dealt += is_square;
    }
    assert_int_equal(n_dealt, 5);
}

/* 5120 rows have no three equal parts. */
static void rows_without_equal_parts_are_not_dealt_out(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "qkv.weight");
    cz_step_cut *step_cuts = shares_of(f, stage);
    assert_false(cz_step_cuts_partition(stage, 3, step_cuts));
    for (int s = 0; s < stage->n_steps; s++)
        assert_int_equal(step_cuts[s].gather_bytes, 0);
}

/* X X', rounded to bf16, in each of the five steps: rows of the sum to each,
 * and of what is symmetric 4 ranks x 16 blocks. */
static void sums_that_are_rounded_are_scattered(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "qkv.weight");
    cz_step_cut *step_cuts = shares_of(f, stage);
    int n_scattered = 0, n_banded = 0;
    cz_step_cuts_partition(stage, 4, step_cuts);
    cz_share_scatter(&f->arena, stage, 4, step_cuts);
    for (int s = 0; s < stage->n_steps; s++) {
        assert_int_equal(step_cuts[s].scatter, step_cuts[s].inner);
        assert_int_equal(step_cuts[s].band,
                         step_cuts[s].gather_bytes > 0 ? 64 : 0);
        n_scattered += step_cuts[s].scatter;
        n_banded += step_cuts[s].band > 0;
    }
    assert_int_equal(n_scattered, 5);
    assert_int_equal(n_banded, 10);
    step_cuts = shares_of(f, stage);
    cz_share_scatter(&f->arena, stage, 3, step_cuts);
    for (int s = 0; s < stage->n_steps; s++)
        assert_false(step_cuts[s].scatter || step_cuts[s].band > 0);
}

/* s + a b is not symmetric where s is no band: all of it travels. */
static void bands_are_made_of_bands_alone(void **state)
{
    static const int in[] = {0, 1, 2};
    static const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT,
                                       CZ_ACCESS_ELEMENT};
    static const cz_dtype bf16[] = {CZ_BF16};
    const cz_fact_stage fact = {.scalars = {.n = 0}};
    cz_view_step step = {.is_product = true,
                         .n_in = 3,
                         .in = in,
                         .access = access,
                         .n_out = 1,
                         .out_dtype = bf16,
                         .rows = 20,
                         .columns = 20,
                         .inner = 4,
                         .symmetric = true};
    const cz_view_stage stage = {
        .fact = &fact, .n_in = 3, .n_steps = 1, .steps = &step};
    fixture *f = *state;
    cz_step_cut share = {.inner = true};
    cz_share_scatter(&f->arena, &stage, 2, &share);
    assert_true(share.scatter);
    assert_int_equal(share.band, 0);
    step.n_in = 2;
    cz_share_scatter(&f->arena, &stage, 2, &share);
    assert_int_equal(share.band, 20);
}

/* A rank's rows of a transposed factor are columns of what lies there. */
static void transposed_factors_are_not_dealt_out(void **state)
{
    static const int in[] = {0, 1, 0};
    static const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT,
                                       CZ_ACCESS_TRANSPOSED};
    static const cz_dtype f32[] = {CZ_F32};
    cz_view_step step = {.is_product = true,
                         .n_in = 3,
                         .in = in,
                         .access = access,
                         .n_out = 1,
                         .out_dtype = f32,
                         .rows = 8,
                         .columns = 8,
                         .inner = 8};
    const cz_view_stage stage = {.n_steps = 1, .steps = &step};
    cz_step_cut share = {.space = CZ_CUT_NONE};
    (void)state;
    assert_false(cz_step_cuts_partition(&stage, 2, &share));
    step.n_in = 2;
    assert_true(cz_step_cuts_partition(&stage, 2, &share));
    share.gather_bytes = 0;
    step.transpose_a = true;
    assert_false(cz_step_cuts_partition(&stage, 2, &share));
}

/* What becomes of a step where a rank has some rows, or columns, of the matrix.
 */
static void check_cut(fixture *f, const cz_view_stage *stage, cz_cut_of cut,
                      bool is_apart, int64_t sum_bytes)
{
    cz_step_cut *step_cuts = CZ_NEW(&f->arena, cz_step_cut, stage->n_steps);
    int64_t bytes = 0;
    assert_true(cz_step_cuts_find(&f->arena, stage, cut, step_cuts, NULL));
    for (int s = 0; s < stage->n_steps; s++) {
        assert_int_equal(step_cuts[s].space != CZ_CUT_NONE,
                         is_apart || step_cuts[s].partial ||
                             stage->steps[s].rows > 1);
        bytes += step_cuts[s].sum_bytes;
    }
    assert_int_equal(bytes, sum_bytes);
    assert_int_equal(cz_share_is_apart(&f->arena, stage, cut), is_apart);
    assert_true(cz_share_keeps_shards(&f->arena, f->view, stage, cut));
    assert_int_equal(cz_share_along(&f->arena, f->view, stage, cut), cut);
}

/* 768 norms of rows, in f64. */
static void norms_of_rows_stay_with_rows(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "normed.weight");
    check_cut(f, stage, CZ_CUT_ROWS, true, 0);
    check_cut(f, stage, CZ_CUT_COLUMNS, false, 768 * 8);
    assert_int_equal(cz_share_find(&f->arena, stage), CZ_CUT_COLUMNS);
    assert_int_equal(cz_share_along(&f->arena, f->view, stage, CZ_CUT_NONE),
                     CZ_CUT_COLUMNS);
}

/* Shards of rows add up 512 norms, rather than that columns are gathered. */
static void norms_of_columns_are_added_up_where_shards_are_rows(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "columned.weight");
    check_cut(f, stage, CZ_CUT_COLUMNS, true, 0);
    check_cut(f, stage, CZ_CUT_ROWS, false, 512 * 8);
}

/* X X' is summed over columns, whichever way shards lie. */
static void products_are_cut_alike_however_shards_lie(void **state)
{
    fixture *f = *state;
    const cz_view_stage *stage = fixture_stage(f, "qkv.weight");
    assert_int_equal(cz_share_along(&f->arena, f->view, stage, CZ_CUT_ROWS),
                     cz_share_find(&f->arena, stage));
    assert_false(cz_share_keeps_shards(&f->arena, f->view, stage, CZ_CUT_ROWS));
    assert_false(
        cz_share_keeps_shards(&f->arena, f->view, stage, CZ_CUT_COLUMNS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_of_gram_matrices_are_dealt_out),
        cmocka_unit_test(rows_without_equal_parts_are_not_dealt_out),
        cmocka_unit_test(norms_of_rows_stay_with_rows),
        cmocka_unit_test(norms_of_columns_are_added_up_where_shards_are_rows),
        cmocka_unit_test(products_are_cut_alike_however_shards_lie),
        cmocka_unit_test(transposed_factors_are_not_dealt_out),
        cmocka_unit_test(sums_that_are_rounded_are_scattered),
        cmocka_unit_test(bands_are_made_of_bands_alone),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
