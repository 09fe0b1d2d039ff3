/* Did-you-mean for paths: parameters whose names nearly match. */
#ifndef CZ_FRONTEND_MODEL_SUGGEST_H
#define CZ_FRONTEND_MODEL_SUGGEST_H

#include "frontend/model/model.h"

enum { CZ_MAX_SUGGESTED = 3 };

/* The families that are nearest to the path, the nearest first, and how many:
 * those beyond twice the least distance are left out. */
int cz_suggest_families(cz_arena *arena, const cz_node *path,
                        const cz_model *model,
                        const cz_family *best[CZ_MAX_SUGGESTED]);
/* The family that is nearest to the path, counted in edits of characters,
 * with `*` and `**` free; the first of equals.  NULL for a model without
 * parameters. */
const cz_family *cz_suggest_family(cz_arena *arena, const cz_node *path,
                                   const cz_model *model);
/* Report a path that no parameter matches, with the nearest ones. */
void cz_suggest_report(cz_arena *arena, cz_diags *diags, const cz_node *path,
                       const cz_model *model);

#endif
