/* The schedule block: what is reduced, kept, clipped and cut, and how. */
#ifndef CZ_FRONTEND_PROGRAM_POLICY_H
#define CZ_FRONTEND_PROGRAM_POLICY_H

#include "dsl/vocab/dtype.h"
#include "dsl/vocab/facts.h"
#include "frontend/names/eval.h"
#include "frontend/model/mesh.h"
#include "frontend/names/options.h"
#include "frontend/model/stage.h"

/* How some gradients arrive. */
typedef struct cz_grads {
    const cz_node *node;  /* the clause; NULL: the default */
    const cz_node *paths; /* for which; NULL: all others */
    cz_dtype dtype;       /* f32 or bf16 */
    int64_t axes;         /* partial over these pieces of the mesh */
    bool sum, reduced;
} cz_grads;

/* Shards laid over an architecture. */
typedef struct cz_shards {
    const cz_node *node;  /* the clause; NULL: none without a path */
    const cz_node *paths; /* for which; NULL: all others */
    int dim;              /* stored */
    int64_t axes;         /* pieces of the mesh */
    bool chunk;           /* ceil-chunks; else it must divide */
} cz_shards;

typedef struct cz_policy {
    cz_fact_policy fact; /* arrays live in the arena */
    cz_grads *grads;     /* the first is that of all others */
    int n_grads;
    int64_t split;       /* pieces that states are split over */
    cz_span master_none; /* `master none`; source is NULL when not written */
    bool strict;
    cz_shards *shards; /* the first is that of all others */
    int n_shards;
    cz_pipeline pipeline;
} cz_policy;

/* From the SCHEDULE statement of the main file, or the defaults where it, or
 * a clause of it, is missing: gradients f32 and partial over dp and cp,
 * averaged; master and state f32 and split over dp; buckets of 400M elements;
 * no clipping.  False after reporting. */
bool cz_policy_build(const cz_node *file, const cz_mesh *mesh,
                     const cz_options *options, cz_env *globals,
                     cz_diags *diags, cz_policy *out);
/* What -D may set of it. */
void cz_policy_allow(cz_options *options);

#endif
