/* Which parameter follows which use.  Families are split where a path tells
 * their members apart, never expanded. */
#ifndef CZ_FRONTEND_PROGRAM_CHOOSE_H
#define CZ_FRONTEND_PROGRAM_CHOOSE_H

#include "frontend/model/blocks.h"
#include "frontend/model/model.h"
#include "frontend/program/policy.h"
#include "frontend/program/use.h"

/* One part of fused storage, or a tensor as it is. */
typedef struct cz_choice {
    cz_family family; /* as stored: some members of a family of the model */
    cz_part part;     /* of the view that its use chose */
    int use;
    int grads; /* of the policy */
    int cell;  /* parts of the same members have one number */
} cz_choice;

typedef struct cz_choices {
    cz_choice *list; /* in the order of the model's families */
    int n;
} cz_choices;

/* The first use that matches takes a parameter, and the last
 * `grads ... on` clause.  Reports paths that match
 * nothing, parameters that no use covers, uses whose matches were all taken
 * (a warning) and optimizers for another number of dimensions.  `model_place`
 * is where the program names its model. */
void cz_choose(const cz_model *model, cz_uses *uses, const cz_policy *policy,
               const cz_mesh *mesh, cz_span model_place, cz_env *globals,
               cz_diags *diags, cz_choices *out);

#endif
