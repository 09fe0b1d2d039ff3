/* A model as a whole: names, ties, stages, sizes.  Private to
 * frontend/model*.c. */
#ifndef CZ_FRONTEND_MODEL_CHECK_H
#define CZ_FRONTEND_MODEL_CHECK_H

#include "frontend/model/model.h"

/* No name twice, ties that mean something, a stage for every parameter where
 * there are several.  Counts parameters and elements.  A parameter with names
 * on several stages lives on all of them.  False after reporting. */
bool cz_model_check(cz_model *model, cz_arena *arena, const cz_mesh *mesh,
                    cz_diags *diags);

#endif
