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

/* Axes, and the sizes that they cut. */
typedef struct cz_cut {
    const char *axes; /* as the text has them: "dp/tp" */
    int64_t extent;
    int64_t divisor;  /* the greatest that all sizes have in common */
    const char *what; /* the first that is not divided; NULL: all are */
    int64_t size;
    cz_span place;
} cz_cut;

/* Of a whole model, so that a mesh which divides none of its dimensions is one
 * mistake. */
typedef struct cz_cuts {
    cz_cut *list;
    int n;
} cz_cuts;

/* Says which axes do not divide, and the nearest that divide all they cut. */
void cz_cuts_report(const cz_cuts *cuts, cz_diags *diags);

/* Evaluate DIMS into the pattern's shape and shard.  False after reporting:
 * sizes that are no positive integers, layouts that are not supported yet; or
 * where axes do not divide, which `cuts` report. */
bool cz_shape_build(const cz_node *dims, cz_env *env, const cz_mesh *mesh,
                    cz_cuts *cuts, cz_diags *diags, cz_pattern *out);

/* How many values an index has, `E` or `E/ep`: then the values are dealt out,
 * in order and equally many, to the coordinates over `*spread`.  Sets *expert
 * when an axis of the experts is named. */
bool cz_shape_count(const cz_node *count, cz_env *env, const cz_mesh *mesh,
                    cz_cuts *cuts, cz_diags *diags, int64_t high,
                    int64_t *extent, int64_t *expert_extent, bool *expert);

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
