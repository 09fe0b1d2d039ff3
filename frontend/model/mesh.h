/* The mesh: axes and sizes.  Rank numbers follow from the order: the last
 * axis is contiguous.
 *
 * Experts may factor the same ranks differently.  The mesh then consists of the
 * pieces that both factorings are made of, and every axis that the user names
 * is a set of pieces: dp = 4, tp = 2 with edp = 2, ep = 4 is dp.0 = 2 (edp),
 * dp.1 = 2 and tp = 2 (together ep). */
#ifndef CZ_FRONTEND_MODEL_MESH_H
#define CZ_FRONTEND_MODEL_MESH_H

#include "frontend/names/eval.h"
#include "frontend/names/options.h"

enum {
    CZ_MAX_AXES = 8,
    CZ_MAX_RANKS = 1 << 20,
    CZ_MAX_STAGES = 64,
    CZ_MAX_CHUNKS = 64 /* of a stage */
};

typedef struct cz_mesh {
    const char *axes[CZ_MAX_AXES]; /* the pieces, major to minor */
    int64_t sizes[CZ_MAX_AXES];
    int n;
    const char *names[CZ_MAX_AXES]; /* what the user calls them; dp is always
                                     * there, the experts' axes stand last */
    int64_t sets[CZ_MAX_AXES];      /* bit a: piece a */
    int n_names;
    bool has_experts; /* factored in a way of their own */
} cz_mesh;

/* The axes of the main file that -D can set. */
void cz_mesh_allow(const cz_node *file, cz_options *options);
/* From the MESH statements of the main file and -D options; `one_rank` makes
 * every axis 1.  What is wrong is reported; an axis whose size is wrong has
 * size 1. */
void cz_mesh_build(const cz_node *file, const cz_options *options,
                   bool one_rank, cz_env *globals, cz_diags *diags,
                   cz_mesh *out);
/* The pieces of an axis; false when the mesh does not have it.  Without a mesh
 * of their own, experts follow the dense axes: edp is dp, etp is tp, and ep is
 * no piece at all. */
bool cz_mesh_find(const cz_mesh *mesh, const char *axis, int64_t *set);
/* How many coordinates a set of pieces has. */
int64_t cz_mesh_extent(const cz_mesh *mesh, int64_t set);
/* A set of pieces in the user's words: "dp x tp". */
const char *cz_mesh_text(cz_arena *arena, const cz_mesh *mesh, int64_t set);
/* Every name that an axis may have, the experts' last. */
int cz_mesh_n_names(void);
const char *cz_mesh_name(int i);
/* Coordinates over pp; at most CZ_MAX_STAGES. */
int64_t cz_mesh_stages(const cz_mesh *mesh);
/* Make `inner`, in which axes are names of their sizes (1 where absent). */
void cz_mesh_bind(const cz_mesh *mesh, cz_env *outer, cz_env *inner);
/* Whether some mesh could have an axis of this name, the experts' too. */
bool cz_mesh_is_axis(const char *name);
bool cz_mesh_is_expert_axis(const char *name);

#endif
