/* The grid of owners, and what is refused before anything is scheduled. */
#include "passes/grid/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/passes/fake_plan.h"
#include "passes/schedule/schedule.h"

/* A plan on dp 2 x tp 2 with one matrix, sharded as `rows` and `columns`. */
typedef struct fixture {
    fake_plan fake;
    cz_diags diags;
    cz_view_pattern pattern;
    cz_fact_pattern fact;
    cz_view_param param;
    int64_t shard[2];
} fixture;

static void open(fixture *f, int64_t rows, int64_t columns)
{
    static const int64_t shape[] = {8, 8};
    fake_plan_init(&f->fake, 1);
    fake_mesh(&f->fake, 2, 2, 1);
    cz_diags_init(&f->diags, &f->fake.arena);
    f->shard[0] = rows;
    f->shard[1] = columns;
    f->fact = (cz_fact_pattern){
        .name = "w", .shape = {shape, 2}, .shard = {f->shard, 2}};
    f->pattern = (cz_view_pattern){.fact = &f->fact,
                                   .n_params = 1,
                                   .dtype = CZ_BF16,
                                   .n_dims = 2,
                                   .elements = 64,
                                   .local_elements = 32,
                                   .expert_extent = 1};
    f->param = (cz_view_param){.name = "w", .split_owner = 0, .shard_owner = 1};
    f->fake.view.patterns = &f->pattern;
    f->fake.view.params = &f->param;
    f->fake.view.n_patterns = f->fake.view.n_params = 1;
    fake_buckets(&f->fake);
}

static void expect_refusal(fixture *f, cz_code code, const char *part)
{
    cz_schedule schedule;
    assert_false(
        cz_schedule_build(&f->fake.arena, &f->fake.view, &f->diags, &schedule));
    assert_int_equal(f->diags.n_errors, 1);
    assert_int_equal(f->diags.list[0].code, code);
    assert_non_null(strstr(f->diags.list[0].message, part));
    fake_plan_fini(&f->fake);
}

static void test_the_grid_has_split_and_shard_axes(void **unused)
{
    fixture f;
    cz_owner_grid grid;
    (void)unused;
    open(&f, 4, 0);
    assert_true(
        cz_owner_grid_find(&f.fake.arena, &f.fake.view, &f.diags, &grid));
    assert_int_equal(grid.n_rows, 2);
    assert_int_equal(grid.n_shard, 2);
    assert_int_equal(grid.axes.n, 2);
    assert_int_equal(grid.axes.v[0], 0);
    assert_int_equal(grid.axes.v[1], 2);
    fake_plan_fini(&f.fake);
}

static void test_rows_count_homes_and_know_who_is_there(void **unused)
{
    static const int64_t home[] = {1};
    fixture f;
    cz_owner_grid grid;
    (void)unused;
    open(&f, 4, 0);
    fake_mesh(&f.fake, 2, 2, 3);
    f.fact.resident_axes = 1 << 1;
    f.fact.residents = (cz_ints){home, 1};
    assert_true(
        cz_owner_grid_find(&f.fake.arena, &f.fake.view, &f.diags, &grid));
    assert_int_equal(grid.row_axes.n, 2);
    assert_int_equal(grid.n_rows, 6);
    for (int row = 0; row < grid.n_rows; row++)
        assert_int_equal(cz_owner_grid_split(&grid, 0, row),
                         row % 3 == 1 ? row / 3 : -1);
    fake_plan_fini(&f.fake);
}

static void test_columns_count_all_axes_that_shard(void **unused)
{
    fixture f;
    cz_owner_grid grid;
    (void)unused;
    open(&f, 4, 2);
    fake_mesh(&f.fake, 2, 3, 2);
    assert_true(
        cz_owner_grid_find(&f.fake.arena, &f.fake.view, &f.diags, &grid));
    assert_int_equal(grid.shard_axes.n, 2);
    assert_int_equal(grid.n_shard, 6);
    for (int column = 0; column < 6; column++)
        assert_int_equal(grid.shard_of_column[0][column], column);
    fake_plan_fini(&f.fake);
}

/* An axis that splits one pattern and shards another is in both. */
static void test_cells_without_ranks_are_known(void **unused)
{
    fixture f;
    cz_owner_grid grid;
    (void)unused;
    open(&f, 1, 4);
    assert_true(
        cz_owner_grid_find(&f.fake.arena, &f.fake.view, &f.diags, &grid));
    assert_int_equal(grid.n_rows, 2);
    assert_int_equal(grid.n_shard, 4);
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 4; column++)
            assert_int_equal(
                cz_owner_grid_has_rank(&grid, &f.fake.view, row, column),
                column / 2 == row);
    fake_plan_fini(&f.fake);
}

static void test_a_matrix_without_owner_is_refused(void **unused)
{
    fixture f;
    cz_view_param param;
    (void)unused;
    open(&f, 4, 0);
    param = f.fake.view.params[0];
    param.split_owner = -1;
    f.fake.view.params = &param;
    expect_refusal(&f, CZ_BAD_IR, "has no owner");
}

static void test_a_shard_without_owner_is_refused(void **unused)
{
    fixture f;
    cz_view_param param;
    (void)unused;
    open(&f, 4, 0);
    param = f.fake.view.params[0];
    param.shard_owner = -1;
    f.fake.view.params = &param;
    expect_refusal(&f, CZ_BAD_IR, "no owner among its shards");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_grid_has_split_and_shard_axes),
        cmocka_unit_test(test_rows_count_homes_and_know_who_is_there),
        cmocka_unit_test(test_columns_count_all_axes_that_shard),
        cmocka_unit_test(test_cells_without_ranks_are_known),
        cmocka_unit_test(test_a_matrix_without_owner_is_refused),
        cmocka_unit_test(test_a_shard_without_owner_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
