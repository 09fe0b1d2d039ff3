/* The mesh: axes and sizes.  Rank numbers follow from the order: the last
 * axis is contiguous. */
#ifndef CZ_FRONTEND_MESH_H
#define CZ_FRONTEND_MESH_H

#include "frontend/eval.h"
#include "frontend/options.h"

enum { CZ_MAX_AXES = 5, CZ_MAX_RANKS = 1 << 20 };

typedef struct cz_mesh {
    const char *axes[CZ_MAX_AXES]; /* major to minor; dp is always there */
    int64_t sizes[CZ_MAX_AXES];
    int n;
} cz_mesh;

/* The axes that -D can set. */
void cz_mesh_allow(cz_options *options);
/* From the MESH statements of the main file and -D options.  What is wrong is
 * reported; an axis whose size is wrong has size 1. */
void cz_mesh_build(const cz_node *file, const cz_options *options,
                   cz_env *globals, cz_diags *diags, cz_mesh *out);
/* The axis' number, or -1 when the mesh does not have it. */
int cz_mesh_find(const cz_mesh *mesh, const char *axis);
/* Whether some mesh could have an axis of this name, the experts' too. */
/* Every name that an axis may have. */
int cz_mesh_n_names(void);
const char *cz_mesh_name(int i);
bool cz_mesh_is_axis(const char *name);

#endif
