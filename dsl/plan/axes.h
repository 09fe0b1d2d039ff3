/* Ranks of a mesh and their coordinates over sets of axes: a set has bit a for
 * axis a, and the last axis runs fastest, in ranks as in coordinates. */
#ifndef CZ_DSL_PLAN_AXES_H
#define CZ_DSL_PLAN_AXES_H

#include <stdint.h>

typedef struct cz_axes {
    int n_axes;
    const int64_t *sizes; /* [n_axes] */
} cz_axes;

/* How many coordinates there are over a set. */
int64_t cz_axes_extent(cz_axes axes, int64_t set);
int64_t cz_axes_coordinate(cz_axes axes, int64_t set, int64_t rank);
/* The rank with that coordinate over a set that agrees with `rank` on all other
 * axes. */
int64_t cz_axes_rank_at(cz_axes axes, int64_t set, int64_t coordinate,
                        int64_t rank);

#endif
