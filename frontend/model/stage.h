/* Stages of a pipeline: which coordinates over pp have which parameters.
 *
 * `[i < n/pp]` deals the values of an index out, in order, to the chunks of the
 * clause `pipeline`; chunk k lives on stage k mod pp.  `stage E, ...` names
 * stages.  What is said nearest to a parameter counts.  Where pp is 1, both
 * mean nothing. */
#ifndef CZ_FRONTEND_MODEL_STAGE_H
#define CZ_FRONTEND_MODEL_STAGE_H

#include "frontend/names/eval.h"
#include "frontend/model/mesh.h"

/* The clause `pipeline`. */
typedef struct cz_pipeline {
    const cz_node *node;   /* PIPELINE; NULL: equal parts, one chunk a stage */
    const int64_t *layers; /* [n_chunks]; NULL: equal parts */
    int n_chunks;          /* of all stages; pp or a multiple of it */
    bool broken;           /* what is wrong with it was reported */
} cz_pipeline;

/* Values [first, first + extent) of an index live on stage `home`. */
typedef struct cz_run {
    int64_t first, extent;
    uint64_t home; /* bit s: stage s; 0 where pp is 1 */
} cz_run;

typedef struct cz_runs {
    cz_run *list; /* ascending, none of them empty */
    int n;
} cz_runs;

/* Read the clause, or take the default where `node` is NULL.  False after
 * reporting. */
bool cz_pipeline_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                      cz_diags *diags, cz_pipeline *out);

/* Whether a bound deals its index out: `n/pp`, or `n/pp + m`, which has m
 * further values on the last stage. */
bool cz_stage_is_dealt(const cz_node *bound);
/* Deal out.  False after reporting. */
bool cz_stage_deal(const cz_node *bound, const cz_pipeline *pipeline,
                   const cz_mesh *mesh, cz_env *env, cz_diags *diags,
                   int64_t high, cz_runs *out);

/* The stages that a STAGE node names, which is a child of `node`; *home stays
 * as it is where there is none, or pp is 1.  False after reporting. */
bool cz_stage_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                   cz_diags *diags, uint64_t *home);

#endif
