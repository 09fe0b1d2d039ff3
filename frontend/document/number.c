/* Numbers for people. */
#include "frontend/document/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

__extension__ typedef __int128 wide;

cz_number cz_number_full(int64_t value)
{
    cz_number out;
    if (value < 1000)
        snprintf(out.text, sizeof out.text, "%" PRId64, value);
    else
        snprintf(out.text, sizeof out.text, "%.32s,%03" PRId64,
                 cz_number_full(value / 1000).text, value % 1000);
    return out;
}

/* Rounds to the last place kept, which may carry into a longer number. */
static int64_t round_to(int64_t value, int64_t step)
{
    return value / step + (value % step >= (step + 1) / 2);
}

/* Three digits or four, in thousands to a power of at most `most`, then the
 * unit of that power.  One decimal fewer from 99.995 on, one power more from
 * 999.95. */
static cz_number digits(int64_t value, const char *const *units, int most)
{
    cz_number out;
    int64_t scale = 1000;
    int power = 1;
    if (value < 1000) {
        snprintf(out.text, sizeof out.text, "%" PRId64 "%s", value, units[0]);
        return out;
    }
    for (; power < most && round_to(value, scale / 10) >= 10000; power++)
        scale *= 1000;
    const bool is_long = round_to(value, scale / 100) >= 10000;
    const int64_t parts = is_long ? 10 : 100;
    const int64_t shown = round_to(value, scale / parts);
    snprintf(out.text, sizeof out.text, "%" PRId64 ".%0*" PRId64 "%s",
             shown / parts, is_long ? 1 : 2, shown % parts, units[power]);
    return out;
}

cz_number cz_number_short(int64_t value, const char *unit)
{
    static const char *const prefixes[] = {"",   " k", " M", " G",
                                           " T", " P", " E"};
    cz_number out = digits(value, prefixes, 6), with_unit;
    snprintf(with_unit.text, sizeof with_unit.text, "%.32s%s%.4s", out.text,
             value < 1000 && *unit ? " " : "", unit);
    return with_unit;
}

cz_number cz_number_time(int64_t ps)
{
    static const char *const units[] = {" ps", " ns", " us", " ms", " s"};
    return digits(ps, units, 4);
}

cz_number cz_number_ratio(int64_t numerator, int64_t factor,
                          int64_t denominator)
{
    cz_number out = {"-"};
    if (denominator == 0)
        return out;
    const wide scaled = (wide)numerator * factor * 1000 + (wide)denominator / 2;
    const int64_t thousandths = (int64_t)(scaled / denominator);
    snprintf(out.text, sizeof out.text, "%" PRId64 ".%03" PRId64,
             thousandths / 1000, thousandths % 1000);
    return out;
}

cz_number cz_number_percent(int64_t millionths)
{
    cz_number out;
    if (millionths % 10000 == 0)
        snprintf(out.text, sizeof out.text, "%" PRId64 " %%",
                 millionths / 10000);
    else
        snprintf(out.text, sizeof out.text, "%" PRId64 ".%02" PRId64 " %%",
                 millionths / 10000, millionths % 10000 / 100);
    return out;
}
