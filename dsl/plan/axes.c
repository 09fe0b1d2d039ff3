/* Coordinates over sets of axes. */
#include "dsl/plan/axes.h"

#include <stdbool.h>

int64_t cz_axes_extent(cz_axes axes, int64_t set)
{
    int64_t extent = 1;
    for (int a = 0; a < axes.n_axes; a++)
        extent *= set >> a & 1 ? axes.sizes[a] : 1;
    return extent;
}

/* Whether one of the first n axes is in the set. */
static bool is_among(int64_t set, int n)
{
    return (set & (((int64_t)1 << n) - 1)) != 0;
}

int64_t cz_axes_coordinate(cz_axes axes, int64_t set, int64_t rank)
{
    int64_t coordinate = 0, weight = 1;
    for (int n = axes.n_axes; is_among(set, n); n--) {
        const int64_t size = axes.sizes[n - 1];
        if (size == 1)
            continue;
        if (set >> (n - 1) & 1) {
            coordinate += rank % size * weight;
            weight *= size;
        }
        rank /= size;
    }
    return coordinate;
}

int64_t cz_axes_rank_at(cz_axes axes, int64_t set, int64_t coordinate,
                        int64_t rank)
{
    int64_t result = 0, weight = 1;
    for (int a = axes.n_axes - 1; a >= 0; a--) {
        const int64_t size = axes.sizes[a];
        const bool is_inside = set >> a & 1;
        if (size == 1)
            continue;
        result += (is_inside ? coordinate : rank) % size * weight;
        coordinate /= is_inside ? size : 1;
        rank /= size;
        weight *= size;
    }
    return result;
}
