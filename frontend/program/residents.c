/* Homes. */
#include "frontend/program/internal.h"

/* Stages are outermost: their axis is the major one. */
cz_ints cz_residents_find(cz_arena *arena, const cz_mesh *mesh,
                          const cz_pattern *pattern, int64_t *axes)
{
    const int64_t n_stages = cz_mesh_stages(mesh);
    const int64_t n_shares = cz_mesh_extent(mesh, pattern->held_axes);
    int64_t *residents = CZ_NEW(arena, int64_t, n_stages);
    int64_t pp = 0;
    int n = 0;
    for (int64_t s = 0; s < n_stages; s++)
        if (pattern->residents >> s & 1)
            residents[n++] = s * n_shares + pattern->held_at;
    *axes = pattern->held_axes;
    if (n > 0 && n < n_stages) {
        cz_mesh_find(mesh, "pp", &pp);
        *axes |= pp;
    } else {
        residents[0] = pattern->held_at;
        n = pattern->held_axes ? 1 : 0;
    }
    return (cz_ints){residents, n};
}
