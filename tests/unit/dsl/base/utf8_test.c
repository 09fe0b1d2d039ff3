/* UTF-8: every code point there and back, and what is none. */
#include "dsl/base/utf8.h"
#include "tests/unit/unit.h"

/* The textbook encoder; also of what it should not encode. */
static size_t encode(uint32_t point, size_t length, char *out)
{
    static const unsigned char leads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1;) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(leads[length] | point);
    return length;
}

static size_t shortest(uint32_t point)
{
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static void every_scalar_is_read(void **state)
{
    char bytes[4];
    for (uint32_t point = 1; point <= 0x10ffff; point++) {
        const size_t n = encode(point, shortest(point), bytes);
        const int is_surrogate = point >= 0xd800 && point <= 0xdfff;
        assert_int_equal(cz_utf8_length(bytes, n), is_surrogate ? 0 : n);
        assert_int_equal(cz_utf8_length(bytes, n - 1), 0);
    }
}

static void longer_forms_are_refused(void **state)
{
    char bytes[4];
    for (uint32_t point = 0; point < 0x10000; point += 7)
        for (size_t n = shortest(point) + 1; n <= 4; n++)
            assert_int_equal(cz_utf8_length(bytes, encode(point, n, bytes)), 0);
}

static void other_bytes_are_refused(void **state)
{
    assert_int_equal(cz_utf8_length("\0", 1), 0);
    assert_int_equal(cz_utf8_length("\x80", 1), 0);
    assert_int_equal(cz_utf8_length("\xff", 1), 0);
    assert_int_equal(cz_utf8_length("\xc3(", 2), 0);
    assert_int_equal(cz_utf8_length("\xf4\x90\x80\x80", 4), 0);
    assert_int_equal(cz_utf8_length("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scalar_is_read),
        cmocka_unit_test(longer_forms_are_refused),
        cmocka_unit_test(other_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
