/* Shapes of parameters: `[V/tp, d]` is both the size and the layout. */
#ifndef CZ_FRONTEND_MODEL_SHAPE_H
#define CZ_FRONTEND_MODEL_SHAPE_H

#include "frontend/names/eval.h"
#include "frontend/model/family.h"
#include "frontend/model/mesh.h"

/* Evaluate DIMS into the family's shape and shard.  False after reporting:
 * sizes that are no positive integers, axes that do not divide, layouts that
 * are not supported yet. */
bool cz_shape_build(const cz_node *dims, cz_env *env, const cz_mesh *mesh,
                    cz_diags *diags, cz_family *out);

/* How many values an index has, `E` or `E/ep`: then the values are dealt out,
 * in order and equally many, to the coordinates over `*spread`.  Sets *expert
 * when an axis of the experts is named. */
bool cz_shape_count(const cz_node *count, cz_env *env, const cz_mesh *mesh,
                    cz_diags *diags, int64_t high, int64_t *extent,
                    int64_t *spread, bool *expert);

/* Whether the bound of an index names axes, of whatever size, that share its
 * values out. */
bool cz_shape_is_shared(const cz_node *count);

#endif
