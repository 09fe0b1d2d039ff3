/* Pieces in the order in which they are stored. */
#include "passes/place/run.h"

#include "passes/grid/bucket.h"
#include "passes/grid/owned.h"

enum { BASE, BLOCK, STRIDE, N_MAP };

/* Along dimension 0: where in a shard the piece begins, and its rows. */
static const int64_t *rows_of(const cz_plan_view *view, int pattern)
{
    return view->patterns[pattern].stored->map.v;
}

/* Shards of dimension 0. */
static int64_t n_parts(const cz_plan_view *view, const cz_view_storage *storage)
{
    return cz_view_set_extent(view, storage->fact->shard.v[0]);
}

/* Whether a shard of the tensor has one part of the piece, whole rows. */
static bool is_part(const cz_plan_view *view, const cz_view_storage *storage,
                    int pattern)
{
    const cz_view_pattern *f = &view->patterns[pattern];
    const cz_fact_storage *s = storage->fact;
    const int64_t *map = rows_of(view, pattern);
    if (f->stored->batch || cz_view_is_uneven(f))
        return false;
    for (int d = 1; d < s->shape.n; d++)
        if (map[N_MAP * d + BLOCK] != s->shape.v[d])
            return false;
    return map[BLOCK] * n_parts(view, storage) == f->fact->shape.v[0];
}

/* The piece that begins at a row of each shard, or -1. */
static int piece_at(const cz_plan_view *view, const cz_view_storage *storage,
                    int64_t row)
{
    for (int i = 0; i < storage->n_patterns; i++)
        if (rows_of(view, storage->patterns[i])[BASE] == row)
            return storage->patterns[i];
    return -1;
}

/* One bucket has them, cut as one. */
static bool may_touch(const cz_plan_view *view, int piece, int next)
{
    const cz_view_pattern *f = &view->patterns[piece];
    return f->local_elements % CZ_BUCKET_ALIGN == 0 &&
           f->reduction == view->patterns[next].reduction &&
           cz_pattern_is_owned(view, piece) == cz_pattern_is_owned(view, next);
}

/* Its pieces from the first row on, in order[]; false: no run. */
static bool find_order(const cz_plan_view *view, const cz_view_storage *storage,
                       int *order)
{
    int64_t row = 0;
    for (int i = 0; i < storage->n_patterns; i++)
        if (!is_part(view, storage, storage->patterns[i]))
            return false;
    for (int i = 0; i < storage->n_patterns; i++) {
        order[i] = piece_at(view, storage, row);
        if (order[i] < 0 || (i > 0 && !may_touch(view, order[i - 1], order[i])))
            return false;
        row += rows_of(view, order[i])[BLOCK];
    }
    for (int i = 0; i < storage->n_patterns && n_parts(view, storage) > 1; i++)
        if (rows_of(view, order[i])[STRIDE] != row)
            return false;
    return row * n_parts(view, storage) == storage->fact->shape.v[0];
}

const cz_place_runs *cz_place_runs_find(cz_arena *arena,
                                        const cz_plan_view *view)
{
    if (view->policy->layout != CZ_LAYOUT_TRAINER ||
        view->policy->geometry != CZ_GEOMETRY_PADDED)
        return NULL;
    const size_t n = (size_t)view->n_patterns + 1;
    int *next = CZ_NEW(arena, int, n), *order = CZ_NEW(arena, int, n);
    bool *is_behind = CZ_NEW(arena, bool, n);
    cz_place_runs *runs = CZ_NEW(arena, cz_place_runs, 1);
    for (int f = 0; f < view->n_patterns; f++)
        next[f] = -1;
    for (int s = 0; s < view->n_storages; s++) {
        const cz_view_storage *storage = &view->storages[s];
        if (storage->n_patterns < 2 || !find_order(view, storage, order))
            continue;
        for (int i = 1; i < storage->n_patterns; i++) {
            next[order[i - 1]] = order[i];
            is_behind[order[i]] = true;
        }
    }
    *runs = (cz_place_runs){next, is_behind};
    return runs;
}

int cz_place_next(const cz_place_runs *runs, const cz_plan_view *view,
                  int param)
{
    const int pattern = view->params[param].pattern;
    const int next = runs ? runs->next[pattern] : -1;
    return next < 0 ? -1
                    : view->patterns[next].first_param + param -
                          view->patterns[pattern].first_param;
}
