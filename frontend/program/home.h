/* Which ranks have a family: its stages, and, where paths tell apart what ranks
 * share out, those that hold this part of it. */
#ifndef CZ_FRONTEND_PROGRAM_HOME_H
#define CZ_FRONTEND_PROGRAM_HOME_H

#include "dsl/vocab/facts.h"
#include "frontend/program/choose.h"

/* The coordinates over *axes, a set of pieces of the mesh, of the ranks that
 * have it, as in the fact; none, and no axes, where all have. */
cz_ints cz_home_find(cz_arena *arena, const cz_mesh *mesh,
                     const cz_family *family, int64_t *axes);

#endif
