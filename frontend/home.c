/* Homes. */
#include "frontend/home.h"

/* Stages are outermost: their axis is the major one. */
cz_ints cz_home_find(cz_arena *arena, const cz_mesh *mesh,
                     const cz_family *family, int64_t *axes)
{
    const int64_t n_stages = cz_mesh_stages(mesh);
    const int64_t n_shares = cz_mesh_extent(mesh, family->share_axes);
    int64_t *home = CZ_NEW(arena, int64_t, n_stages);
    int64_t pp = 0;
    int n = 0;
    for (int64_t s = 0; s < n_stages; s++)
        if (family->home >> s & 1)
            home[n++] = s * n_shares + family->share;
    *axes = family->share_axes;
    if (n > 0 && n < n_stages) {
        cz_mesh_find(mesh, "pp", &pp);
        *axes |= pp;
    } else {
        home[0] = family->share;
        n = family->share_axes ? 1 : 0;
    }
    return (cz_ints){home, n};
}

/* ---- what cannot be planned ---- */

static int64_t shard_set(const cz_family *family)
{
    int64_t set = 0;
    for (int d = 0; d < family->n_dims; d++)
        set |= family->shard[d];
    return set;
}

bool cz_home_check(const cz_choices *choices, const cz_uses *uses,
                   const cz_mesh *mesh, cz_arena *arena, cz_diags *diags)
{
    const cz_family *share = NULL;
    int64_t shares = 0;
    for (int i = 0; i < choices->n; i++) {
        const cz_family *family = &choices->list[i].family;
        shares |= family->share_axes;
        share = share ? share : family->share_axes ? family : NULL;
    }
    for (int i = 0; i < choices->n && shares; i++) {
        const cz_choice *choice = &choices->list[i];
        const int64_t cut = shard_set(&choice->family) & shares;
        if (cz_mesh_extent(mesh, cut) == 1 || choice->use < 0 ||
            uses->list[choice->use].signature.n_dims < 0)
            continue;
        cz_diag_error(diags, CZ_UNSUPPORTED, share->node->span,
                      "a path tells apart what ranks along %s share out, and "
                      "these cut the matrix %s: not supported yet",
                      cz_mesh_text(arena, mesh, cut),
                      cz_family_first_name(arena, &choice->family));
        return false;
    }
    return true;
}
