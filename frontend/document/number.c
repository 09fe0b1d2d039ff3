/* Numbers for people. */
#include "frontend/document/number.h"

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

/* Three digits or four, in thousands to a power of at most `most`, which is
 * returned.  One decimal fewer from 99.995 on, one power more from 999.95. */
static int put_digits(cz_text *out, int64_t value, int most)
{
    int64_t scale = 1000;
    int power = 1;
    if (value < 1000) {
        cz_text_printf(out, "%" PRId64, value);
        return 0;
    }
    for (; power < most && round_to(value, scale / 10) >= 10000; power++)
        scale *= 1000;
    const bool is_long = round_to(value, scale / 100) >= 10000;
    const int64_t parts = is_long ? 10 : 100;
    const int64_t shown = round_to(value, scale / parts);
    cz_text_printf(out, "%" PRId64 ".%0*" PRId64, shown / parts,
                   is_long ? 1 : 2, shown % parts);
    return power;
}

void cz_number_short(cz_text *out, int64_t value, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    const int power = put_digits(out, value, 6);
    cz_text_printf(out, "%s%s%s", power > 0 || *unit ? " " : "",
                   prefixes[power], unit);
}

void cz_number_time(cz_text *out, int64_t ps)
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    const int power = put_digits(out, ps, 4);
    cz_text_printf(out, " %s", units[power]);
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
