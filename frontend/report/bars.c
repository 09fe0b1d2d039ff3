/* Bars on a screen: eight heights, and nothing below the first. */
#include "frontend/report/bars.h"

#include "frontend/report/classes.h"

enum { N_HEIGHTS = 9 };

static const char *const heights[][N_HEIGHTS] = {
    [CZ_BARS_ASCII] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"},
    [CZ_BARS_BLOCKS] = {" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                        "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                        "\xe2\x96\x87", "\xe2\x96\x88"}};

__extension__ typedef __int128 wide;

/* Rounded up, so that what is not 0 is seen. */
static int height_of(int64_t value, int64_t most)
{
    return most > 0 ? (int)(((wide)value * (N_HEIGHTS - 1) + most - 1) / most)
                    : 0;
}

void cz_bars_put(cz_arena *arena, const int64_t *values, int n, int n_columns,
                 cz_bar_style style, cz_text *out)
{
    const int *sorted = cz_ranks_sorted(arena, values, n);
    const int together = (n + n_columns - 1) / n_columns;
    for (int i = 0; i < n; i += together)
        cz_text_puts(
            out,
            heights[style][height_of(values[sorted[i]], values[sorted[0]])]);
}
