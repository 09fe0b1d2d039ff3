/* Numbers for people, by integer arithmetic alone, so that a report never
 * depends on a printf's rounding or a locale. */
#ifndef CZ_FRONTEND_DOCUMENT_NUMBER_H
#define CZ_FRONTEND_DOCUMENT_NUMBER_H

#include "dsl/base/text.h"

#include <stdint.h>

/* 32,762,123,264 */
void cz_number_full(cz_text *out, int64_t value);
/* Three digits or four and a decimal prefix: 13.95 T, 488.2 M, 0; then the
 * unit.  Rounded half up. */
void cz_number_short(cz_text *out, int64_t value, const char *unit);
/* Picoseconds: 18.13 ms, 450 ns, 1.20 s, in the same way. */
void cz_number_time(cz_text *out, int64_t ps);
/* numerator * factor / denominator, three decimals, half up: 1.058.
 * A dash when the denominator is 0.  Both non-negative. */
void cz_number_ratio(cz_text *out, int64_t numerator, int64_t factor,
                     int64_t denominator);

#endif
