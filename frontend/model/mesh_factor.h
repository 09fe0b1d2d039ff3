/* Factorings of the ranks, and the pieces that two of them have in common.
 * Private to frontend/model. */
#ifndef CZ_FRONTEND_MODEL_MESH_FACTOR_H
#define CZ_FRONTEND_MODEL_MESH_FACTOR_H

#include "frontend/model/mesh.h"

/* Axes from major to minor. */
typedef struct cz_factoring {
    const char *axes[CZ_MAX_AXES];
    int64_t sizes[CZ_MAX_AXES];
    int n;
} cz_factoring;

/* The axis' number, or -1. */
int cz_factoring_find(const cz_factoring *factoring, const char *axis);
void cz_factoring_insert(cz_factoring *factoring, int at, const char *axis,
                         int64_t size);
/* How many ranks there are; false beyond CZ_MAX_RANKS. */
bool cz_factoring_ranks(const cz_factoring *factoring, int64_t *ranks);

/* The mesh of both; `experts` may be empty.  Both have the same number of
 * ranks.  False, with the experts' axis whose boundary does not lie evenly in
 * a dense axis, when they have no pieces in common. */
bool cz_factoring_join(cz_arena *arena, const cz_factoring *dense,
                       const cz_factoring *experts, cz_mesh *out,
                       const char **uneven);

#endif
