/* How gradients of a family are reduced: what the clauses of the schedule and
 * the mesh make of it. */
#ifndef CZ_FRONTEND_PROGRAM_REDUCTION_H
#define CZ_FRONTEND_PROGRAM_REDUCTION_H

#include "frontend/program/choose.h"
#include "frontend/program/compile.h"
#include "frontend/program/policy.h"

typedef struct cz_reduction {
    int64_t reduce, split; /* sets of pieces of the mesh */
    cz_dtype dtype;
    int64_t leaves, terms; /* as in the fact */
} cz_reduction;

/* For a choice.  Experts reduce and split over edp, and are divided by as many
 * terms as the dense parameters.  Strict mode sums all microbatches as leaves,
 * in one order that no mesh changes.  False after reporting. */
bool cz_reduction_find(const cz_compile_options *options, const cz_mesh *mesh,
                       const cz_policy *policy, bool strict,
                       const cz_choice *choice, cz_arena *arena,
                       cz_diags *diags, cz_reduction *out);
bool cz_reduction_equal(const cz_reduction *a, const cz_reduction *b);

#endif
