/* Lines are broken at spaces, and nothing else is changed. */
#include "frontend/report/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *text, const char *wrapped)
{
    cz_text out = {0};
    cz_report_wrap(text, 20, &out);
    assert_string_equal(cz_text_string(&out), wrapped);
    cz_text_fini(&out);
}

static void test_short_lines_stay(void **unused)
{
    (void)unused;
    expect("", "");
    expect("one\n\n  two\n", "one\n\n  two\n");
    expect("exactly twenty bytes", "exactly twenty bytes");
}

static void test_long_lines_hang(void **unused)
{
    (void)unused;
    expect("exactly twenty bytes and more\nnext",
           "exactly twenty bytes\n  and more\nnext");
    expect("  - a list item that is long enough for three",
           "  - a list item that\n    is long enough\n    for three");
    expect("it ends here, there.  Then on", "it ends here, there.\n  Then on");
    expect("a sentence that ends.  Two", "a sentence that\n  ends.  Two");
    expect("some words then ends.  Two", "some words then\n  ends.  Two");
}

static void test_a_long_word_stands_alone(void **unused)
{
    (void)unused;
    expect("as decoder.layers.0.mlp.linear_fc1 [1 x 2]",
           "as\n  decoder.layers.0.mlp.linear_fc1\n  [1 x 2]");
    expect("    decoder.layers.0.mlp.linear_fc1",
           "    decoder.layers.0.mlp.linear_fc1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_lines_stay),
        cmocka_unit_test(test_long_lines_hang),
        cmocka_unit_test(test_a_long_word_stands_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
