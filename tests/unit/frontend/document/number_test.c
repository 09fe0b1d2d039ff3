/* Numbers for people. */
#include "frontend/document/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(cz_text *out, const char *text)
{
    assert_string_equal(cz_text_string(out), text);
    cz_text_fini(out);
    cz_text_init(out);
}

static void test_full(void **unused)
{
    cz_text out = {0};
    (void)unused;
    cz_number_full(&out, 0);
    expect(&out, "0");
    cz_number_full(&out, 1000);
    expect(&out, "1,000");
    cz_number_full(&out, 32762123264);
    expect(&out, "32,762,123,264");
}

static void test_short(void **unused)
{
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {999, "999 B"},
                 {1000, "1.00 kB"},
                 {1005, "1.01 kB"},
                 {99994, "99.99 kB"},
                 {99996, "100.0 kB"},
                 {999949, "999.9 kB"},
                 {999950, "1.00 MB"},
                 {123456789, "123.5 MB"},
                 {13950000000000, "13.95 TB"},
                 {INT64_MAX, "9.22 EB"}};
    cz_text out = {0};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cz_number_short(&out, cases[i].value, "B");
        expect(&out, cases[i].text);
    }
}

static void test_ratio(void **unused)
{
    cz_text out = {0};
    (void)unused;
    cz_number_ratio(&out, 3, 1, 2);
    expect(&out, "1.500");
    cz_number_ratio(&out, 2, 1, 3);
    expect(&out, "0.667");
    cz_number_ratio(&out, INT64_MAX, 256, INT64_MAX);
    expect(&out, "256.000");
    cz_number_ratio(&out, 1, 1, 0);
    expect(&out, "-");
}

static void test_times_have_their_unit(void **unused)
{
    static const struct {
        int64_t ps;
        const char *text;
    } cases[] = {{0, "0 ps"},
                 {999, "999 ps"},
                 {1000, "1.00 ns"},
                 {18126183083, "18.13 ms"},
                 {999949, "999.9 ns"},
                 {999950, "1.00 us"},
                 {3953570397031, "3.95 s"},
                 {4000000000000000, "4000.0 s"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cz_text out = {0};
        cz_number_time(&out, cases[i].ps);
        assert_string_equal(cz_text_string(&out), cases[i].text);
        cz_text_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_times_have_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
