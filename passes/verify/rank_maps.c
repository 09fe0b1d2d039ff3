/* Where all ranks are.  Axes that several lists have in common are walked
 * once, and so are residents that patterns share. */
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

static const bool *first_resident(cz_arena *arena, const cz_plan_view *view,
                                  const rank_maps *maps, int pattern)
{
    bool *is_resident;

    if (view->patterns[pattern].fact->resident_axes == 0)
        return NULL;
    for (int other = 0; other < pattern; other++)
        if (cz_view_same_residents(view->patterns[other].fact,
                                   view->patterns[pattern].fact))
            return maps->of_pattern[other];
    is_resident = CZ_NEW(arena, bool, view->n_ranks);
    for (int rank = 0; rank < view->n_ranks; rank++)
        is_resident[rank] = cz_view_is_resident(view, pattern, rank);
    return is_resident;
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
    maps.of_pattern = CZ_NEW(arena, const bool *, view->n_patterns);
    for (int i = 0; i < view->n_patterns; i++)
        maps.of_pattern[i] = first_resident(arena, view, &maps, i);
    return maps;
}
