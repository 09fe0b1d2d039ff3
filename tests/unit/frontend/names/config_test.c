/* Configurations: kinds of values, absent keys, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/names/config.h"

typedef struct world {
    cz_arena arena;
    cz_diags diags;
    cz_config config;
} world;

static bool read_config(world *w, const char *json)
{
    cz_arena_init(&w->arena);
    cz_diags_init(&w->diags, &w->arena);
    cz_source *source = CZ_NEW(&w->arena, cz_source, 1);
    *source = (cz_source){"c.json", json, strlen(json)};
    return cz_config_read(&w->arena, source, (cz_span){0}, &w->diags,
                          &w->config);
}

static void values_keep_their_kind(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text;
        cz_value_kind kind;
    } expected[] = {
        {"i", "9223372036854775807", CZ_VALUE_INT},
        {"n", "-9223372036854775808", CZ_VALUE_INT},
        {"exact", "9007199254740993", CZ_VALUE_INT},
        {"r", "0.5", CZ_VALUE_REAL},
        {"t", "true", CZ_VALUE_BOOL},
        {"s", "\"gelu\"", CZ_VALUE_STRING},
    };
    world w;
    assert_true(read_config(
        &w, "{\"i\": 9223372036854775807, \"n\": -9223372036854775808, "
            "\"exact\": 9007199254740993, \"r\": 0.5, \"t\": true, "
            "\"s\": \"gelu\", \"none\": null, \"list\": [1, {\"x\": \"]\"}]}"));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const cz_config_entry *entry =
            cz_config_find(&w.config, expected[i].key);
        assert_non_null(entry);
        assert_true(entry->is_scalar);
        assert_int_equal(entry->value.kind, expected[i].kind);
        assert_string_equal(cz_value_text(&w.arena, entry->value),
                            expected[i].text);
    }
    assert_null(cz_config_find(&w.config, "none"));
    assert_null(cz_config_find(&w.config, "x"));
    assert_false(cz_config_find(&w.config, "list")->is_scalar);
    cz_arena_fini(&w.arena);
}

static void infinity_is_absent_where_no_string_says_it(void **state)
{
    (void)state;
    world w;
    assert_true(
        read_config(&w, "{\"a\": [0.0, Infinity], \"b\": -Infinity, "
                        "\"c\": \"-Infinity \\\"Infinity\", \"d\": Infinity}"));
    assert_false(cz_config_find(&w.config, "a")->is_scalar);
    assert_null(cz_config_find(&w.config, "b"));
    assert_string_equal(cz_config_find(&w.config, "c")->value.string,
                        "-Infinity \"Infinity");
    assert_null(cz_config_find(&w.config, "d"));
    cz_arena_fini(&w.arena);
}

static void second_names_count_labels_experts_and_layers(void **state)
{
    (void)state;
    static const struct {
        const char *json, *key;
        int64_t value;
    } cases[] = {
        {"{\"id2label\": {\"0\": \"cat\", \"1\": \"dog\", \"2\": \"cow\"}}",
         "num_labels", 3},
        {"{\"id2label\": {\"0\": \"cat\"}, \"num_labels\": 9}", "num_labels",
         9},
        {"{\"num_local_experts\": 4}", "num_experts", 4},
        {"{\"num_local_experts\": 4, \"num_experts\": 8}", "num_experts", 8},
        {"{\"layer_types\": [\"x\", \"full_attention\", \"x\"]}",
         "full_attention_interval", 2},
        {"{\"layer_types\": [\"full_attention\", \"full_attention\"]}",
         "full_attention_interval", 1},
        {"{\"layer_types\": [\"x\", \"x\"]}", "full_attention_interval", 3},
        {"{\"layer_types\": [], \"full_attention_interval\": 7}",
         "full_attention_interval", 7}};
    static const char *const irregular[] = {
        "{\"layer_types\": [\"x\", \"full_attention\", \"x\", \"x\"]}",
        "{\"layer_types\": [\"x\", \"full_attention\", \"full_attention\"]}"};
    world w;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(read_config(&w, cases[i].json));
        assert_int_equal(cz_config_find(&w.config, cases[i].key)->value.integer,
                         cases[i].value);
        cz_arena_fini(&w.arena);
    }
    for (size_t i = 0; i < sizeof irregular / sizeof *irregular; i++) {
        assert_true(read_config(&w, irregular[i]));
        assert_false(
            cz_config_find(&w.config, "full_attention_interval")->is_scalar);
        cz_arena_fini(&w.arena);
    }
    assert_true(read_config(&w, "{\"num_local_experts\": null}"));
    assert_null(cz_config_find(&w.config, "num_experts"));
    cz_arena_fini(&w.arena);
}

static void assert_rejected(const char *json, cz_code code, unsigned line)
{
    world w;
    assert_false(read_config(&w, json));
    assert_int_equal(w.diags.n_errors, 1);
    assert_int_equal(w.diags.list[0].code, code);
    assert_int_equal(w.diags.list[0].span.line, line);
    cz_arena_fini(&w.arena);
}

static void wrong_texts_are_rejected(void **state)
{
    (void)state;
    assert_rejected("", CZ_BAD_CONFIG, 1);
    assert_rejected("{\"a\": 1\n\"b\": 2}", CZ_BAD_CONFIG, 2);
    assert_rejected("{\"a\": 1,\n\"a\": 2}", CZ_BAD_CONFIG, 2);
    assert_rejected("{\"a\": 9223372036854775808}", CZ_BAD_CONFIG, 1);
    assert_rejected("{\"a\": 1e999}", CZ_BAD_CONFIG, 1);
    assert_rejected("{\"a\": \"\\u0000\"}", CZ_BAD_CONFIG, 1);
    assert_rejected("{\"a\": \"\xff\"}", CZ_BAD_CONFIG, 1);
    assert_rejected("{} {}", CZ_BAD_CONFIG, 1);
    assert_rejected("[1]", CZ_BAD_CONFIG, 0);
}

static void nesting_ends_at_64(void **state)
{
    (void)state;
    char json[256] = "{\"a\": ";
    const size_t at = strlen(json);
    world w;
    memset(json + at, '[', CZ_MAX_CONFIG_DEPTH - 1);
    memset(json + at + CZ_MAX_CONFIG_DEPTH - 1, ']', CZ_MAX_CONFIG_DEPTH - 1);
    strcpy(json + at + 2 * (CZ_MAX_CONFIG_DEPTH - 1), "}");
    assert_true(read_config(&w, json));
    cz_arena_fini(&w.arena);
    memset(json + at, '[', CZ_MAX_CONFIG_DEPTH);
    assert_rejected(json, CZ_TOO_LARGE, 1);
    assert_true(read_config(&w,
                            "{\"a\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}"));
    cz_arena_fini(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_kind),
        cmocka_unit_test(infinity_is_absent_where_no_string_says_it),
        cmocka_unit_test(second_names_count_labels_experts_and_layers),
        cmocka_unit_test(wrong_texts_are_rejected),
        cmocka_unit_test(nesting_ends_at_64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
