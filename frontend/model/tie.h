/* `tie A = B`: more names for one parameter.  A is written like a parameter's
 * name, in its place; B is one whole name. */
#ifndef CZ_FRONTEND_MODEL_TIE_H
#define CZ_FRONTEND_MODEL_TIE_H

#include "dsl/base/diag.h"
#include "frontend/model/family.h"

typedef struct cz_tie {
    cz_family names;  /* A: words and indices alone; its node is the TIE */
    cz_family target; /* B: words alone, without indices */
} cz_tie;

/* B of a TIE node.  False after reporting: a tie means one parameter. */
bool cz_tie_target(cz_arena *arena, const cz_node *node, cz_diags *diags,
                   cz_family *target);
/* Whether the family has the parameter that the tie means; `index` (may be
 * NULL) gets its indices there. */
bool cz_tie_finds(const cz_tie *tie, const cz_family *family, int64_t *index);

#endif
