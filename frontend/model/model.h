/* A model's parameters, as families, from its instance and the mesh. */
#ifndef CZ_FRONTEND_MODEL_MODEL_H
#define CZ_FRONTEND_MODEL_MODEL_H

#include "frontend/model/family.h"
#include "frontend/model/instance.h"
#include "frontend/model/mesh.h"
#include "frontend/model/stage.h"
#include "frontend/model/tie.h"

enum { CZ_MAX_FAMILIES = 4096, CZ_MAX_PARAMS = 1 << 20 };

typedef struct cz_model {
    cz_family *families; /* in the order of the text */
    int n;
    int64_t n_params, n_elements; /* frozen ones too; nothing for a tie */
    cz_tie *ties;
    int n_ties;
} cz_model;

/* Walk the model's params blocks, and say which stages have what.  An index
 * that nothing inside its braces reads stays symbolic; else its values are
 * walked one by one, and neighbours that come out alike are joined.  False
 * after reporting. */
bool cz_model_build(cz_instance *instance, const cz_mesh *mesh,
                    const cz_pipeline *pipeline, cz_diags *diags,
                    cz_model *out);

#endif
