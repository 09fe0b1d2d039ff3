/* Homes in the plan view: tests/unit/dsl/ir/sample.mlir with a third axis, of
 * whose three coordinates only some have a pattern. */
#include "tests/unit/dsl/module.h"

#define MESH "axes = [\"dp\", \"tp\"], sizes = array<i64: 2, 2>"
#define MESH3 "axes = [\"dp\", \"tp\", \"pp\"], sizes = array<i64: 2, 2, 3>"
#define NO_HOME "resident_axes = 0 : i64, residents = array<i64>"
#define HOME(axes, home)                                                       \
    "resident_axes = " axes " : i64, residents = array<i64" home ">"

/* The sample on twelve ranks, its patterns resident as given. */
static const char *homed(fixture *f, const char *w, const char *v)
{
    const char *text = with(f, f->sample.bytes, MESH, MESH3);
    const char *second = strstr(text, "sym_name = \"v\"");
    const int n = (int)(second - text);
    text = cz_arena_printf(&f->arena, "%.*s", n, text);
    return cz_arena_printf(&f->arena, "%s%s", with(f, text, NO_HOME, w),
                           with(f, second, NO_HOME, v));
}

static void patterns_and_buckets_are_where_their_home_says(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view =
        view_of(f, homed(f, HOME("4", ": 0, 2"), HOME("4", ": 1")));
    assert_string_equal(messages(f), "");
    assert_int_equal(view->n_ranks, 12);
    for (int64_t rank = 0; rank < 12; rank++) {
        assert_int_equal(cz_view_is_resident(view, 0, rank), rank % 3 != 1);
        assert_int_equal(cz_view_is_resident(view, 1, rank), rank % 3 == 1);
        assert_int_equal(cz_view_bucket_is_resident(view, 0, rank),
                         rank % 3 != 1);
        assert_int_equal(cz_view_resident_rank(view, 0, 1, rank),
                         rank / 3 * 3 + 2);
    }
    assert_int_equal(cz_view_n_residents(view, 0), 2);
    assert_int_equal(cz_view_n_residents(view, 1), 1);
    assert_false(
        cz_view_same_residents(view->patterns[0].fact, view->patterns[1].fact));
}

static void without_axes_every_rank_is_home(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, homed(f, NO_HOME, HOME("4", ": 1")));
    assert_string_equal(messages(f), "");
    for (int64_t rank = 0; rank < 12; rank++) {
        assert_true(cz_view_is_resident(view, 0, rank));
        assert_true(cz_view_bucket_is_resident(view, 0, rank));
        assert_int_equal(cz_view_resident_rank(view, 0, 0, rank), rank);
    }
    assert_int_equal(cz_view_n_residents(view, 0), 1);
}

static void a_home_that_cannot_be_is_an_error(void **state)
{
    static const struct {
        const char *residents, *message;
    } cases[] = {
        {HOME("8", ": 0"), "pattern: resident_axes is 8, not in [0, 7]"},
        {HOME("4", ": 3"), "pattern: residents is 3, not in [0, 2]"},
        {HOME("4", ": 1, 1"), "pattern 'w': its home does not ascend"},
        {HOME("4", ""), "pattern 'w': a home is axes and coordinates"},
        {HOME("0", ": 0"), "pattern 'w': a home is axes and coordinates"},
        {HOME("2", ": 0"),
         "pattern 'w': an axis of its home holds parts of it"},
        {HOME("1", ": 0"), "pattern 'w': axis 'dp' both reduces or splits and"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = homed(f, cases[i].residents, NO_HOME);
        if (view_of(f, text) || f->diags.n_errors == 0)
            fail_msg("'%s' was accepted", cases[i].residents);
        if (!strstr(messages(f), cases[i].message))
            fail_msg("'%s' gave %s", cases[i].residents, messages(f));
    }
}

/* One more pattern like w, resident elsewhere, in the bucket of w. */
static void a_bucket_has_one_home(void **state)
{
    fixture *f = *state;
    const char *second =
        "\"canzona.pattern\"() {sym_name = \"u\", name = \"u\", first = "
        "array<i64>, extents = array<i64>, shape = array<i64: 4, 6>, shard = "
        "array<i64: 2, 0>, dtype = \"bf16\", rule = @mat, reduction = @r, "
        "expert_axes = 0 : i64, expert_index = 0 : i64, " HOME(
            "4", ": 2") "} : () -> ()\n  \"canzona.frozen\"";
    const char *text = homed(f, HOME("4", ": 0"), HOME("4", ": 1"));
    text = with(f, text, "\"canzona.frozen\"", second);
    text = with(f, text, "params = array<i64: 0, 1, 2>",
                "params = array<i64: 0, 1, 7>");
    assert_null(view_of(f, text));
    assert_non_null(strstr(messages(f), "parameter 'u' has not the "
                                        "reduction, home and type of bucket "
                                        "'b0'"));
}

#define STORED                                                                 \
    "\"canzona.storage\"() {sym_name = \"box\", name = \"box.{0}\", "          \
    "first = array<i64: 1>, extents = array<i64: 3>, shape = array<i64: 8, "   \
    "6>, shard = array<i64: 2, 0>, dtype = \"bf16\", expert_axes = 0 : i64, "  \
    "expert_index = 0 : i64} : () -> () \"canzona.pattern\"() {sym_name = "    \
    "\"u\", name = \"u.{0}\", first = array<i64: 1>, extents = array<i64: "    \
    "3>, shape = array<i64: 4, 6>, shard = array<i64: 2, 0>, dtype = "         \
    "\"bf16\", rule = @mat, reduction = @r, expert_axes = 0 : i64, "           \
    "expert_index = "                                                          \
    "0 : i64, resident_axes = 4 : i64, residents = array<i64: %d>} : () -> "   \
    "() "                                                                      \
    "\"canzona.stored\"() {pattern = @w, storage = @box, map = array<i64: 0, " \
    "2, "                                                                      \
    "4, 0, 6, 6>, batch = 0 : i64} : () -> () \"canzona.stored\"() {pattern "  \
    "= "                                                                       \
    "@u, storage = @box, map = array<i64: 2, 2, 4, 0, 6, 6>, batch = 0 : "     \
    "i64} : () -> () \"canzona.frozen\""

/* The pieces of one tensor go where it goes. */
static void a_storage_has_one_home(void **state)
{
    fixture *f = *state;
    for (int home = 0; home < 2; home++) {
        const char *text = homed(f, HOME("4", ": 0"), HOME("4", ": 1"));
        text = with(f, text, "\"canzona.frozen\"",
                    cz_arena_printf(&f->arena, STORED, home));
        text = cz_arena_printf(&f->arena, "%.*s}\n",
                               (int)(strstr(text, "\"canzona.stage\"") - text),
                               text);
        const cz_plan_view *view = view_of(f, text);
        if (home == 1) {
            assert_null(view);
            assert_non_null(strstr(messages(f), "storage 'box' has pieces of "
                                                "several homes"));
            continue;
        }
        assert_string_equal(messages(f), "");
        assert_true(
            cz_view_is_resident(view, view->storages[0].patterns[0], 0));
        assert_false(
            cz_view_is_resident(view, view->storages[0].patterns[0], 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patterns_and_buckets_are_where_their_home_says),
        TEST(without_axes_every_rank_is_home),
        TEST(a_home_that_cannot_be_is_an_error),
        TEST(a_bucket_has_one_home),
        TEST(a_storage_has_one_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
