/* Uneven shards and storage in the plan view: how tests/unit/dsl/ir/sample.mlir
 * reads with some of them added. */
#include "tests/unit/dsl/module.h"

#define UNEVEN(pattern, bounds)                                                \
    "\"canzona.uneven\"() {" pattern                                           \
    ", dim = 0 : i64, bounds = array<i64: " bounds ">} : () -> () "

#define TIE "\"canzona.tie\""
#define STORAGE(first)                                                         \
    "\"canzona.storage\"() {sym_name = \"box\", name = \"box.{0}\", first "    \
    "= array<i64: " first ">, extents = array<i64: 3>, shape = array<i64: 8, " \
    "6>, shard = array<i64: 2, 0>, dtype = \"bf16\", expert_axes = 0 : i64, "  \
    "expert_index = 0 : i64} : () -> () "
#define PIECE(pattern, map)                                                    \
    "\"canzona.stored\"() {pattern = @" pattern ", storage = @box, map = "     \
    "array<i64: " map ">, batch = 0 : i64} : () -> () "
/* Like w under another name. */
#define SECOND SECOND_OF("r")
#define SECOND_OF(reduction)                                                   \
    "\"canzona.pattern\"() {sym_name = \"second\", name = \"second.{0}\", "    \
    "first = array<i64: 1>, extents = array<i64: 3>, shape = array<i64: 4, "   \
    "6>, shard = array<i64: 2, 0>, dtype = \"bf16\", rule = @mat, reduction "  \
    "= @" reduction                                                            \
    ", expert_axes = 0 : i64, expert_index = 0 : i64, resident_axes = "        \
    "0 : i64, residents = array<i64>} : () -> () "
#define REDUCTION(dtype, n_grads)                                              \
    "\"canzona.reduction\"() {dtype = \"" dtype "\", sym_name = \"other\", "   \
    "reduce_axes = array<i64: 0>, split_axes = array<i64: 0>, n_grads "        \
    "= " n_grads " : i64, divisor = 4 : i64} : () -> () "

/* w as a batch of matrices in one tensor; N of them on a rank. */
#define BATCH(n, shape, map)                                                   \
    "\"canzona.storage\"() {sym_name = \"box\", name = \"box\", first = "      \
    "array<i64>, extents = array<i64>, shape = array<i64: " shape              \
    ">, shard = array<i64: 0, 2, 0>, dtype = \"bf16\", expert_axes = 0 : "     \
    "i64, "                                                                    \
    "expert_index = 0 : i64} : () -> () \"canzona.pattern\"() {sym_name = "    \
    "\"each\", name = \"each.{0}\", first = array<i64: 0>, extents = "         \
    "array<i64: " n ">, shape = array<i64: 4, 6>, shard = array<i64: 2, 0>, "  \
    "dtype = \"bf16\", rule = @mat, reduction = @r, expert_axes = 0 : i64, "   \
    "expert_index = 0 : i64, resident_axes = 0 : i64, residents = "            \
    "array<i64>} : () -> "                                                     \
    "() \"canzona.stored\"() {pattern = @each, "                               \
    "storage = @box, map = array<i64: " map ">, batch = 1 : i64} : () -> () "

/* A shard may be empty; a slot in the bucket has room for the longest. */
static void uneven_shards_begin_where_bounds_say(void **state)
{
    fixture *f = *state;
    const char *at = strstr(f->sample.bytes, "\"canzona.tie\"");
    const char *text = cz_arena_printf(
        &f->arena, "%.*s%s%s", (int)(at - f->sample.bytes), f->sample.bytes,
        UNEVEN("pattern = @w, frozen = \"\", storage = \"\"", "0, 0, 0, 4")
            UNEVEN("pattern = \"\", frozen = @still, storage = \"\"",
                   "0, 3, 3, 8"),
        at);
    /* the sample's buckets have no room for it */
    const char *end = strstr(text, "\"canzona.stage\"");
    const cz_plan_view *view = view_of(
        f, cz_arena_printf(&f->arena, "%.*s}\n", (int)(end - text), text));
    assert_string_equal(messages(f), "");
    const cz_view_pattern *w = &view->patterns[0];
    const cz_view_pattern *still = &view->frozen_patterns[0];
    assert_int_equal(w->local_elements, 24);
    assert_int_equal(cz_view_shard_of(view, w, 0).elements, 0);
    assert_int_equal(cz_view_shard_of(view, w, 3).elements, 24);
    assert_int_equal(cz_view_shard_of(view, w, 3).shape[1], 6);
    assert_int_equal(still->local_elements, 5);
    assert_int_equal(cz_view_shard_elements(view, still, 2), 3);
    assert_int_equal(cz_view_shard_of(view, still, 1).start[0], 3);
}

static const sample_change changes[] = {
    {"\"canzona.tie\"",
     UNEVEN("pattern = \"\", frozen = @still, storage = \"\"",
            "0, 3, 3, 8") "\"canzona.tie\"",
     ""},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = \"\", storage = \"\"",
            "0, 2, 2, 4") "\"canzona.tie\"",
     ""},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = \"\", storage = \"\"",
            "0, 4") "\"canzona.tie\"",
     "2 numbers instead of 4"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = \"\", storage = \"\"",
            "0, 5, 5, 4") "\"canzona.tie\"",
     "no shard [0, 5)"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = \"\", storage = \"\"",
            "0, 3, 3, 3") "\"canzona.tie\"",
     "bounds lack element 3"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @v, frozen = \"\", storage = \"\"",
            "0, 3") "\"canzona.tie\"",
     "no axes cut dimension 0 of 'v'"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @vectors, frozen = \"\", storage = \"\"",
            "0, 3") "\"canzona.tie\"",
     "names no canzona.pattern"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = \"\", storage = \"\"", "0, 1, 1, 4")
         UNEVEN("pattern = @w, frozen = \"\", storage = \"\"",
                "0, 2, 2, 4") "\"canzona.tie\"",
     "cut twice"},
    {"\"canzona.tie\"",
     UNEVEN("pattern = @w, frozen = @still, storage = \"\"",
            "0, 1, 1, 4") "\"canzona.tie\"",
     "names 2 things"},
    {TIE, STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6") TIE, ""},
    {TIE, STORAGE("1") PIECE("w", "0, 1, 2, 0, 6") TIE, "piece: map has 5"},
    {TIE, STORAGE("1") PIECE("w", "0, 0, 2, 0, 6, 6") TIE, "piece: block"},
    {TIE, STORAGE("1") PIECE("w", "2, 1, 2, 0, 6, 6") TIE, "does not lie in"},
    {TIE, STORAGE("1") PIECE("w", "0, 2, 1, 0, 6, 6") TIE, "does not lie in"},
    {TIE, STORAGE("1") PIECE("w", "0, 1, 2, 1, 6, 6") TIE, "does not lie in"},
    {TIE, STORAGE("1") PIECE("w", "0, 4, 4, 0, 6, 6") TIE, "not those of"},
    {TIE, STORAGE("1") PIECE("w", "0, 1, 2, 0, 7, 7") TIE, "one block has"},
    {TIE, STORAGE("2") PIECE("w", "0, 1, 2, 0, 6, 6") TIE, "differ in indices"},
    {TIE, STORAGE("1") PIECE("v", "0, 3, 3, 3") TIE, "differ in indices"},
    {TIE,
     STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6") UNEVEN(
         "pattern = \"\", frozen = \"\", storage = @box", "0, 4, 4, 8") TIE,
     ""},
    {TIE,
     STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6") UNEVEN(
         "pattern = \"\", frozen = \"\", storage = @box", "0, 5, 5, 8") TIE,
     "not those of"},
    {TIE, STORAGE("1") TIE, "has no pieces"},
    {TIE, BATCH("3", "3, 4, 6", "0, 1, 1, 0, 4, 4, 0, 6, 6") TIE, ""},
    {TIE, BATCH("2", "3, 4, 6", "0, 1, 1, 0, 4, 4, 0, 6, 6") TIE,
     "differ in indices"},
    {TIE, BATCH("3", "3, 4, 6", "0, 3, 3, 0, 4, 4, 0, 6, 6") TIE,
     "one matrix after the other"},
    {TIE, BATCH("3", "3, 4, 6", "0, 4, 4, 0, 6, 6") TIE, "piece: map has 6"},
    {TIE,
     STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6") PIECE("w", "1, 1, 2, 0, 6, 6")
         TIE,
     "a piece twice"},
    {TIE,
     SECOND STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6")
         PIECE("second", "1, 1, 2, 0, 6, 6") TIE,
     ""},
    {TIE,
     SECOND STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6")
         PIECE("second", "0, 1, 2, 0, 6, 6") TIE,
     "overlap"},
    {TIE,
     REDUCTION("f32", "2") SECOND_OF("other") STORAGE("1")
         PIECE("w", "0, 1, 2, 0, 6, 6") PIECE("second", "1, 1, 2, 0, 6, 6") TIE,
     ""},
    {TIE,
     REDUCTION("bf16", "2") SECOND_OF("other") STORAGE("1")
         PIECE("w", "0, 1, 2, 0, 6, 6") PIECE("second", "1, 1, 2, 0, 6, 6") TIE,
     "differ in their gradients"},
    {TIE,
     REDUCTION("f32", "1") SECOND_OF("other") STORAGE("1")
         PIECE("w", "0, 1, 2, 0, 6, 6") PIECE("second", "1, 1, 2, 0, 6, 6") TIE,
     "differ in their gradients"},
    {TIE,
     SECOND STORAGE("1") PIECE("w", "0, 1, 2, 0, 6, 6")
         UNEVEN("pattern = @second, frozen = \"\", storage = \"\"",
                "0, 3, 3, 4") PIECE("second", "1, 4, 4, 0, 6, 6") TIE,
     "overlap"},
};

static void a_change_is_rejected_with_a_sentence(void **state)
{
    check_changes(*state, NULL, changes, sizeof changes / sizeof *changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(uneven_shards_begin_where_bounds_say),
        TEST(a_change_is_rejected_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
