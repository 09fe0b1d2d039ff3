/* Canonical JSON: commas, lines, escapes; trees; entries by table. */
#include "frontend/document/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_commas_and_lines(void **unused)
{
    cz_text out = {0};
    cz_json json;
    (void)unused;
    cz_json_init(&json, &out);
    cz_json_open(&json, NULL, '{');
    cz_json_int(&json, "a", -3);
    cz_json_open(&json, "b", '[');
    cz_json_open(&json, NULL, '{');
    cz_json_ints(&json, "c", (const int64_t[]){1, 2}, 2);
    cz_json_optional(&json, "d", -1);
    cz_json_close(&json);
    cz_json_bool(&json, NULL, true);
    cz_json_close(&json);
    cz_json_close(&json);
    assert_string_equal(
        cz_text_string(&out),
        "{\n\"a\":-3,\n\"b\":[\n{\"c\":[1,2],\"d\":null},\ntrue]}\n");
    cz_text_fini(&out);
}

static void test_strings_are_escaped(void **unused)
{
    cz_text out = {0};
    cz_json json;
    (void)unused;
    cz_json_init(&json, &out);
    cz_json_string(&json, NULL, "a\"b\\c\n\x01 \xc3\xa9");
    assert_string_equal(cz_text_string(&out),
                        "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9\"");
    cz_text_fini(&out);
}

static void test_for_people_it_is_indented(void **unused)
{
    cz_text out = {0};
    cz_json json;
    (void)unused;
    cz_json_init(&json, &out);
    json.is_indented = true;
    cz_json_open(&json, NULL, '{');
    cz_json_string(&json, "a", "\t\n\x1f\xff");
    cz_json_open(&json, "b", '[');
    cz_json_int(&json, NULL, 1);
    cz_json_open(&json, NULL, '[');
    cz_json_close(&json);
    cz_json_close(&json);
    cz_json_close(&json);
    assert_string_equal(cz_text_string(&out),
                        "{\n  \"a\": \"\\t\\n\\u001F\xef\xbf\xbd\",\n"
                        "  \"b\": [\n    1,\n    []\n  ]\n}\n");
    cz_text_fini(&out);
}

static void put_one_of_each(cz_json *json)
{
    cz_json_open(json, NULL, '{');
    cz_json_int(json, "least", INT64_MIN);
    cz_json_string(json, "word", "a\"b\\c\n\x01 \xc3\xa9\xff");
    cz_json_string(json, "none", NULL);
    cz_json_open(json, "list", '[');
    cz_json_open(json, NULL, '{');
    cz_json_ints(json, "numbers", (const int64_t[]){1, 2}, 2);
    cz_json_optional(json, "optional", -1);
    cz_json_close(json);
    cz_json_bool(json, NULL, true);
    cz_json_bool(json, NULL, false);
    cz_json_open(json, NULL, '[');
    cz_json_close(json);
    cz_json_close(json);
    cz_json_close(json);
}

static void test_a_tree_is_what_its_text_is_read_as(void **unused)
{
    cz_text out = {0};
    cz_json written, tree;
    (void)unused;
    cz_json_init(&written, &out);
    put_one_of_each(&written);
    cz_json_init_tree(&tree);
    put_one_of_each(&tree);
    json_t *read = json_loadb(cz_text_string(&out), out.n, 0, NULL);
    assert_non_null(read);
    assert_true(json_equal(read, cz_json_tree(&tree)));
    json_decref(read);
    json_decref(cz_json_tree(&tree));
    cz_text_fini(&out);
}

/* ---- tables ---- */

typedef struct entry {
    const char *word, *none, *shape;
    int64_t large, missing;
    int small;
    bool is_true;
} entry;

static const cz_json_field fields[] = {
    CZ_JSON_FIELD(entry, word, "word", WORD, 0, 0),
    CZ_JSON_FIELD(entry, none, "none", WORD_OR_NULL, 0, 0),
    CZ_JSON_FIELD(entry, shape, "shape", SHAPE, 0, 0),
    CZ_JSON_FIELD(entry, large, "large", NUMBER, 0, INT64_MAX),
    CZ_JSON_FIELD(entry, missing, "missing", OPTIONAL, 0, 9),
    CZ_JSON_FIELD(entry, small, "small", NUMBER, -1, 3),
    CZ_JSON_FIELD(entry, is_true, "true", TRUTH, 0, 0),
    {0}};

/* What is wrong with an entry; "" where nothing is. */
static const char *read_entry(cz_arena *arena, const char *string, entry *out)
{
    cz_text text = {0};
    cz_diags diags;
    cz_diags_init(&diags, arena);
    cz_json_reading reading = {arena, &diags, "test", false};
    cz_json_at root = {&reading, NULL, NULL, 0, NULL};
    cz_text_puts(&text, string);
    json_t *tree = cz_json_parse(&root, &text);
    if (tree)
        cz_json_read_fields(&root, fields, out);
    json_decref(tree);
    cz_text_fini(&text);
    return diags.n > 0 ? diags.list[0].message : "";
}

static void test_entries_are_read_by_table(void **unused)
{
    cz_arena arena;
    entry out;
    (void)unused;
    cz_arena_init(&arena);
    assert_string_equal(
        read_entry(&arena,
                   "{\"word\":\"w\",\"none\":null,\"shape\":[2,3],\"large\":"
                   "9223372036854775807,\"missing\":null,\"small\":-1,"
                   "\"true\":true}",
                   &out),
        "");
    assert_string_equal(out.word, "w");
    assert_string_equal(out.none, "");
    assert_string_equal(out.shape, "2 x 3");
    assert_true(out.large == INT64_MAX);
    assert_int_equal(out.missing, -1);
    assert_int_equal(out.small, -1);
    assert_true(out.is_true);
    cz_arena_fini(&arena);
}

static void test_the_first_wrong_member_is_named(void **unused)
{
    static const char *const rows[][2] = {
        {"[]", "test: is no object"},
        {"{}", "test: word is missing"},
        {"{\"word\":1}", "test: word is no string"},
        {"{\"word\":\"\",\"none\":null,\"shape\":[],\"large\":-1}",
         "test: large is no whole number from 0 on"},
        {"{\"a\":1,\"a\":2}", "test: line 1 is not JSON: duplicate object key "
                              "near '\"a\"'"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
         "test: is nested deeper than 32"},
    };
    cz_arena arena;
    entry out;
    (void)unused;
    cz_arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(read_entry(&arena, rows[i][0], &out), rows[i][1]);
    cz_arena_fini(&arena);
}

static void test_entries_are_written_by_table(void **unused)
{
    static const cz_json_field some[] = {
        CZ_JSON_FIELD(entry, word, "word", WORD, 0, 0),
        CZ_JSON_FIELD(entry, missing, "missing", OPTIONAL, 0, 9),
        CZ_JSON_FIELD(entry, small, "small", NUMBER, 0, 3),
        CZ_JSON_FIELD(entry, is_true, "true", TRUTH, 0, 0),
        {0}};
    const entry list[] = {{.word = "a", .missing = -1, .small = -2},
                          {.word = "b", .missing = 7, .is_true = true}};
    cz_text out = {0};
    cz_json json;
    (void)unused;
    cz_json_init(&json, &out);
    cz_json_put_list(&json, NULL, some, sizeof *list, list, 2);
    assert_string_equal(
        cz_text_string(&out),
        "[\n{\n\"word\":\"a\",\n\"missing\":null,\n\"small\":-2,\n\"true\":"
        "false},\n{\n\"word\":\"b\",\n\"missing\":7,\n\"small\":0,\n\"true\":"
        "true}]\n");
    cz_text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_and_lines),
        cmocka_unit_test(test_strings_are_escaped),
        cmocka_unit_test(test_for_people_it_is_indented),
        cmocka_unit_test(test_a_tree_is_what_its_text_is_read_as),
        cmocka_unit_test(test_entries_are_read_by_table),
        cmocka_unit_test(test_the_first_wrong_member_is_named),
        cmocka_unit_test(test_entries_are_written_by_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
