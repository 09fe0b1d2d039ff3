/* Numbers for people. */
#include "frontend/report_number.h"

#include <inttypes.h>

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

void cz_number_short(cz_text *out, int64_t value, const char *unit)
{
    static const char prefixes[] = " kMGTPE";
    int64_t scale = 1;
    int power = 0;
    while (power < 6 && value / scale >= 1000) {
        scale *= 1000;
        power++;
    }
    if (power == 0) {
        cz_text_printf(out, "%" PRId64 "%s%s", value, *unit ? " " : "", unit);
        return;
    }
    const int decimals = value / scale >= 100 ? 10 : 100; /* places kept */
    const int64_t step = scale / decimals, shown = (value + step / 2) / step;
    cz_text_printf(out, "%" PRId64 ".%0*" PRId64 " %c%s", shown / decimals,
                   decimals == 10 ? 1 : 2, shown % decimals, prefixes[power],
                   unit);
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
