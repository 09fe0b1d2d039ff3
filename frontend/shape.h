/* Shapes of parameters: `[V/tp, d]` is both the size and the layout. */
#ifndef CZ_FRONTEND_SHAPE_H
#define CZ_FRONTEND_SHAPE_H

#include "frontend/eval.h"
#include "frontend/family.h"
#include "frontend/mesh.h"

/* Evaluate DIMS into the family's shape and shard.  False after reporting:
 * sizes that are no positive integers, axes that do not divide, layouts that
 * are not supported yet. */
bool cz_shape_build(const cz_node *dims, cz_env *env, const cz_mesh *mesh,
                    cz_diags *diags, cz_family *out);

#endif
