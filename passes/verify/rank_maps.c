/* Where all ranks are.  Axes that several lists have in common are walked
 * once, and so are homes that families share. */
#include "passes/verify/rank_maps.h"

static const int *map_of(cz_arena *arena, const cz_plan_view *view,
                         rank_maps *maps, const cz_ints *axes)
{
    uint64_t set = 0;

    for (int i = 0; i < axes->n; i++)
        set |= (uint64_t)1 << axes->v[i];
    rank_map *map;

    for (int i = 0; i < maps->n; i++)
        if (maps->maps[i].set == set)
            return maps->maps[i].of;
    map = CZ_PUSH(arena, maps->maps, maps->n);
    *map = (rank_map){set, CZ_NEW(arena, int, view->n_ranks)};
    for (int rank = 0; rank < view->n_ranks; rank++)
        map->of[rank] = (int)cz_view_coordinate(view, axes, rank);
    return map->of;
}

static const bool *home_of(cz_arena *arena, const cz_plan_view *view,
                           const rank_maps *maps, int family)
{
    bool *is_home;

    if (view->families[family].fact->home_axes == 0)
        return NULL;
    for (int other = 0; other < family; other++)
        if (cz_view_same_home(view->families[other].fact,
                              view->families[family].fact))
            return maps->of_pattern[other];
    is_home = CZ_NEW(arena, bool, view->n_ranks);
    for (int rank = 0; rank < view->n_ranks; rank++)
        is_home[rank] = cz_view_is_home(view, family, rank);
    return is_home;
}

rank_maps rank_maps_build(cz_arena *arena, const cz_plan_view *view)
{
    rank_maps maps = {0, NULL, NULL, NULL, NULL};

    maps.of_table = CZ_NEW(arena, const int *, view->n_tables);
    for (int i = 0; i < view->n_tables; i++)
        maps.of_table[i] =
            map_of(arena, view, &maps, &view->tables[i].fact->selector);
    maps.of_split = CZ_NEW(arena, const int *, view->n_reductions);
    for (int i = 0; i < view->n_reductions; i++)
        maps.of_split[i] =
            map_of(arena, view, &maps, &view->reductions[i].split_axes);
    maps.of_pattern = CZ_NEW(arena, const bool *, view->n_families);
    for (int i = 0; i < view->n_families; i++)
        maps.of_pattern[i] = home_of(arena, view, &maps, i);
    return maps;
}
