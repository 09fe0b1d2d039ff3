/* Numbers of ranks as a line of bars, for a screen. */
#ifndef CZ_FRONTEND_REPORT_BARS_H
#define CZ_FRONTEND_REPORT_BARS_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"

#include <stdint.h>

/* What a bar is made of. */
typedef enum cz_bar_style {
    CZ_BARS_ASCII,
    CZ_BARS_BLOCKS /* U+2581 to U+2588 */
} cz_bar_style;

/* Appends n_columns characters at most: ranks by falling value, as many to a
 * column as need be, each as high as the first of them over the largest. */
void cz_bars_put(cz_arena *arena, const int64_t *values, int n, int n_columns,
                 cz_bar_style style, cz_text *out);

#endif
