/* UTF-8 as RFC 3629 has it. */
#include "dsl/base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Forms by length: the bits of the first byte that say which one it is, what
 * they say, and the least code point that needs the form. */
static const struct form {
    unsigned char mask, lead;
    uint32_t least;
} forms[] = {{0x80, 0x00, 0x1},
             {0xe0, 0xc0, 0x80},
             {0xf0, 0xe0, 0x800},
             {0xf8, 0xf0, 0x10000}};

static bool is_scalar(uint32_t point, uint32_t least)
{
    const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= least && point <= 0x10ffff && !is_surrogate;
}

/* The code point whose first byte gave `point`, or UINT32_MAX. */
static uint32_t read_tail(const char *at, size_t length, uint32_t point)
{
    for (size_t i = 1; i < length; i++) {
        const unsigned char byte = (unsigned char)at[i];
        if ((byte & 0xc0) != 0x80)
            return UINT32_MAX;
        point = point << 6 | (byte & 0x3f);
    }
    return point;
}

size_t cz_utf8_length(const char *at, size_t n)
{
    const unsigned char first = n > 0 ? (unsigned char)at[0] : 0;

    for (size_t length = 1; length <= 4 && length <= n; length++) {
        const struct form *form = &forms[length - 1];
        if ((first & form->mask) != form->lead)
            continue;
        const uint32_t bits = first & ~(uint32_t)form->mask & 0xff;
        const uint32_t point = read_tail(at, length, bits);
        return is_scalar(point, form->least) ? length : 0;
    }
    return 0;
}
