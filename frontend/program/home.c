/* Homes. */
#include "frontend/program/internal.h"

/* Stages are outermost: their axis is the major one. */
cz_ints cz_home_find(cz_arena *arena, const cz_mesh *mesh,
                     const cz_family *family, int64_t *axes)
{
    const int64_t n_stages = cz_mesh_stages(mesh);
    const int64_t n_shares = cz_mesh_extent(mesh, family->held_axes);
    int64_t *home = CZ_NEW(arena, int64_t, n_stages);
    int64_t pp = 0;
    int n = 0;
    for (int64_t s = 0; s < n_stages; s++)
        if (family->home >> s & 1)
            home[n++] = s * n_shares + family->held_at;
    *axes = family->held_axes;
    if (n > 0 && n < n_stages) {
        cz_mesh_find(mesh, "pp", &pp);
        *axes |= pp;
    } else {
        home[0] = family->held_at;
        n = family->held_axes ? 1 : 0;
    }
    return (cz_ints){home, n};
}
