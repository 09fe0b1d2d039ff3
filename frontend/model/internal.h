/* How a model is read.  Private to frontend/model. */
#ifndef CZ_FRONTEND_MODEL_INTERNAL_H
#define CZ_FRONTEND_MODEL_INTERNAL_H

#include "frontend/model/model.h"
#include "frontend/names/eval.h"

/* ---- factorings of the ranks, and what two of them have in common ---- */

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

/* ---- shapes ---- */

/* Shapes of parameters: `[V/tp, d]` is both the size and the layout. */

/* Evaluate DIMS into the pattern's shape and shard.  False after reporting:
 * sizes that are no positive integers, axes that do not divide, layouts that
 * are not supported yet. */
bool cz_shape_build(const cz_node *dims, cz_env *env, const cz_mesh *mesh,
                    cz_diags *diags, cz_pattern *out);

/* How many values an index has, `E` or `E/ep`: then the values are dealt out,
 * in order and equally many, to the coordinates over `*spread`.  Sets *expert
 * when an axis of the experts is named. */
bool cz_shape_count(const cz_node *count, cz_env *env, const cz_mesh *mesh,
                    cz_diags *diags, int64_t high, int64_t *extent,
                    int64_t *expert_extent, bool *expert);

/* Whether the bound of an index names axes, of whatever size, that share its
 * values out. */
bool cz_shape_is_partitioned(const cz_node *count);

/* ---- the model as a whole ---- */

/* No name twice, ties that mean something, a stage for every parameter where
 * there are several.  Counts parameters and elements.  A parameter with names
 * on several stages lives on all of them.  False after reporting. */
bool cz_model_check(cz_model *model, cz_arena *arena, const cz_mesh *mesh,
                    cz_diags *diags);

#endif
