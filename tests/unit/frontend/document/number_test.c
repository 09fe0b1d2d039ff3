/* Numbers for people. */
#include "frontend/document/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_full(void **unused)
{
    (void)unused;
    assert_string_equal(cz_number_full(0).text, "0");
    assert_string_equal(cz_number_full(1000).text, "1,000");
    assert_string_equal(cz_number_full(32762123264).text, "32,762,123,264");
    assert_string_equal(cz_number_full(INT64_MAX).text,
                        "9,223,372,036,854,775,807");
}

typedef struct example {
    int64_t value;
    const char *text;
} example;

static void test_short(void **unused)
{
    static const example cases[] = {{0, "0 B"},
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
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cz_number_short(cases[i].value, "B").text,
                            cases[i].text);
    assert_string_equal(cz_number_short(999, "").text, "999");
    assert_string_equal(cz_number_short(1000, "").text, "1.00 k");
}

static void test_ratio(void **unused)
{
    (void)unused;
    assert_string_equal(cz_number_ratio(3, 1, 2).text, "1.500");
    assert_string_equal(cz_number_ratio(2, 1, 3).text, "0.667");
    assert_string_equal(cz_number_ratio(INT64_MAX, 256, INT64_MAX).text,
                        "256.000");
    assert_string_equal(cz_number_ratio(1, 1, 0).text, "-");
}

static void test_times_have_their_unit(void **unused)
{
    static const example cases[] = {{0, "0 ps"},
                                    {999, "999 ps"},
                                    {1000, "1.00 ns"},
                                    {18126183083, "18.13 ms"},
                                    {999949, "999.9 ns"},
                                    {999950, "1.00 us"},
                                    {3953570397031, "3.95 s"},
                                    {4000000000000000, "4000.0 s"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cz_number_time(cases[i].value).text, cases[i].text);
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
