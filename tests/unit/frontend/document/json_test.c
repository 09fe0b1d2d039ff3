/* Canonical JSON: commas, lines, escapes. */
#include "frontend/document/write.h"

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
    cz_json_open(&json, '{');
    cz_json_put_int(&json, "a", -3);
    cz_json_key(&json, "b");
    cz_json_open(&json, '[');
    cz_json_open(&json, '{');
    cz_json_put_ints(&json, "c", (const int64_t[]){1, 2}, 2);
    cz_json_put_optional(&json, "d", -1);
    cz_json_close(&json, '}');
    cz_json_bool(&json, true);
    cz_json_close(&json, ']');
    cz_json_close(&json, '}');
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
    cz_json_string(&json, "a\"b\\c\n\x01 \xc3\xa9");
    assert_string_equal(cz_text_string(&out),
                        "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9\"");
    cz_text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_and_lines),
        cmocka_unit_test(test_strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
