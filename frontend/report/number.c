/* Numbers for people. */
#include "frontend/report/number.h"

#include <inttypes.h>
#include <stdbool.h>

__extension__ typedef __int128 wide;

void cz_number_full(cz_text *out, int64_t value)
{
    if (value < 1000) {
        cz_text_printf(out, "%" PRId64, value);
        return;
    }
    cz_number_full(out, value / 1000);
    cz_text_printf(out, ",%03" PRId64, value % 1000);
}

/* Rounds to the last place kept, which may carry into a longer number. */
static int64_t round_to(int64_t value, int64_t step)
{
    return value / step + (value % step >= (step + 1) / 2);
}

void cz_number_short(cz_text *out, int64_t value, const char *unit)
{
    static const char prefixes[] = "kMGTPE";
    const char *prefix = prefixes;
    int64_t scale = 1000;
    if (value < 1000) {
        cz_text_printf(out, "%" PRId64 "%s%s", value, *unit ? " " : "", unit);
        return;
    }
    /* One decimal fewer from 99.995 on, one prefix more from 999.95 on. */
    while (prefix[1] && round_to(value, scale / 10) >= 10000) {
        scale *= 1000;
        prefix++;
    }
    const bool is_long = round_to(value, scale / 100) >= 10000;
    const int64_t parts = is_long ? 10 : 100;
    const int64_t shown = round_to(value, scale / parts);
    cz_text_printf(out, "%" PRId64 ".%0*" PRId64 " %c%s", shown / parts,
                   is_long ? 1 : 2, shown % parts, *prefix, unit);
}

void cz_number_ratio(cz_text *out, int64_t numerator, int64_t factor,
                     int64_t denominator)
{
    if (denominator == 0) {
        cz_text_puts(out, "-");
        return;
    }
    const wide scaled = (wide)numerator * factor * 1000 + (wide)denominator / 2;
    const int64_t thousandths = (int64_t)(scaled / denominator);
    cz_text_printf(out, "%" PRId64 ".%03" PRId64, thousandths / 1000,
                   thousandths % 1000);
}
