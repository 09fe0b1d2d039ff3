/* Numbers for people, by integer arithmetic alone, so that a report never
 * depends on a printf's rounding or a locale. */
#ifndef CZ_FRONTEND_DOCUMENT_NUMBER_H
#define CZ_FRONTEND_DOCUMENT_NUMBER_H

#include <stdint.h>

/* A value of its own, for a %s: printf("%s", cz_number_time(ps).text). */
typedef struct cz_number {
    char text[40];
} cz_number;

/* 32,762,123,264 */
cz_number cz_number_full(int64_t value);
/* Three digits or four and a decimal prefix: 13.95 T, 488.2 M, 0; then the
 * unit, a letter or none.  Rounded half up. */
cz_number cz_number_short(int64_t value, const char *unit);
/* Picoseconds: 18.13 ms, 450 ns, 1.20 s, in the same way. */
cz_number cz_number_time(int64_t ps);
/* numerator * factor / denominator, three decimals, half up: 1.058.
 * A dash when the denominator is 0.  Both non-negative. */
/* "45 %", "12.50 %" */
cz_number cz_number_percent(int64_t millionths);
cz_number cz_number_ratio(int64_t numerator, int64_t factor,
                          int64_t denominator);

#endif
