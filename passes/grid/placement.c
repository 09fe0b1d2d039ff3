/* Placements, read off the plan view. */
#include "passes/grid/placement.h"

#include "passes/grid/gradient_order.h"

typedef struct finder {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_owner_grid *grid;
    int *domain_of; /* [patterns] */
    int *first;     /* [placements] their first patterns */
    int n;
    int *by_gradient; /* [n_params] parameters as gradients come */
    int *sharded; /* [placements] a pattern whose matrices are sharded, or -1 */
} finder;

static bool same_axes(const cz_ints *a, const cz_ints *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->v[i] != b->v[i])
            return false;
    return true;
}

/* Axes of the pattern's matrices, of more than one rank; none where it has no
 * owner, or all its ranks compute alike. */
static int64_t shards_of(const finder *f, int pattern)
{
    const cz_ints *sizes = &f->view->mesh->sizes;
    int64_t set = cz_pattern_is_owned(f->view, pattern)
                      ? cz_view_shard_set(f->view, pattern)
                      : 0;
    for (int axis = 0; axis < sizes->n; axis++)
        if (sizes->v[axis] == 1)
            set &= ~((int64_t)1 << axis);
    return set;
}

static bool belongs(const finder *f, int placement, int pattern)
{
    const cz_plan_view *view = f->view;
    const int first = f->first[placement];
    const int64_t shards = shards_of(f, pattern);
    const int sharded = f->sharded[placement];
    return same_axes(&cz_view_pattern_reduction(view, first)->split_axes,
                     &cz_view_pattern_reduction(view, pattern)->split_axes) &&
           cz_view_same_residents(view->patterns[first].fact,
                                  view->patterns[pattern].fact) &&
           (shards == 0 || sharded < 0 || shards == shards_of(f, sharded));
}

static void add_pattern(finder *f, int pattern)
{
    int d = 0;
    while (d < f->n && !belongs(f, d, pattern))
        d++;
    if (d == f->n) {
        f->first[f->n] = pattern;
        f->sharded[f->n++] = -1;
    }
    f->domain_of[pattern] = d;
    if (shards_of(f, pattern) != 0)
        f->sharded[d] = pattern;
}

static const int *find_slots(const finder *f, int placement, int n_shards)
{
    const cz_owner_grid *grid = f->grid;
    const int *split_of = grid->split_of_row[f->first[placement]];
    const int *shard_of =
        n_shards > 1 ? grid->shard_of_column[f->sharded[placement]] : NULL;
    int *slots = CZ_NEW(f->arena, int, grid->n_rows * grid->n_shard);
    for (int row = 0; row < grid->n_rows; row++)
        for (int t = 0; t < grid->n_shard; t++) {
            const bool is_there = split_of[row] >= 0 &&
                                  cz_owner_grid_has_rank(grid, f->view, row, t);
            slots[row * grid->n_shard + t] =
                is_there
                    ? split_of[row] * n_shards + (shard_of ? shard_of[t] : 0)
                    : -1;
        }
    return slots;
}

static void fill_domain(const finder *f, int number, cz_placement *out)
{
    const int sharded = f->sharded[number];
    out->n_splits = cz_owner_grid_splits(f->view, f->first[number]);
    out->n_shards = sharded < 0 ? 1 : (int)cz_pattern_shards(f->view, sharded);
    int *n = &out->n_params;
    int *params = CZ_NEW(f->arena, int, f->view->n_params + 1);
    *n = 0;
    for (int i = 0; i < f->view->n_params; i++)
        if (f->domain_of[f->view->params[f->by_gradient[i]].pattern] == number)
            params[(*n)++] = f->by_gradient[i];
    out->params = params;
    out->slot_of_grid_cell = find_slots(f, number, out->n_shards);
}

cz_placement *cz_placements_find(cz_arena *arena, const cz_plan_view *view,
                                 const cz_owner_grid *grid, int *n)
{
    const size_t most = (size_t)view->n_patterns + 1;
    finder f = {.arena = arena,
                .view = view,
                .grid = grid,
                .domain_of = CZ_NEW(arena, int, most),
                .first = CZ_NEW(arena, int, most),
                .sharded = CZ_NEW(arena, int, most),
                .by_gradient = CZ_NEW(arena, int, view->n_params + 1)};
    const int *place = cz_gradient_order(arena, view);
    for (int p = 0; p < view->n_params; p++)
        f.by_gradient[place[p]] = p;
    for (int k = 0; k < view->n_patterns; k++)
        add_pattern(&f, k);
    cz_placement *placements = CZ_NEW(arena, cz_placement, f.n + 1);
    for (int d = 0; d < f.n; d++)
        fill_domain(&f, d, &placements[d]);
    *n = f.n;
    return placements;
}

/* Of each outer slot how many inner ones, and of each inner split coordinate
 * how many. */
static bool is_even(cz_arena *scratch, const cz_placement *inner,
                    const cz_placement *outer, const int *outer_of)
{
    const int n_fine = inner->n_splits * inner->n_shards;
    const int n_coarse = outer->n_splits * outer->n_shards;
    int *slots = CZ_NEW(scratch, int, n_coarse);
    int *splits = CZ_NEW(scratch, int, n_coarse);
    int *last = CZ_NEW(scratch, int, n_coarse);
    for (int c = 0; c < n_coarse; c++)
        last[c] = -1;
    for (int s = 0; s < n_fine; s++) {
        const int c = outer_of[s], split = s / inner->n_shards;
        if (c < 0)
            return false;
        slots[c]++;
        splits[c] += last[c] != split;
        last[c] = split;
    }
    for (int c = 0; c < n_coarse; c++)
        if (slots[c] != slots[0] || splits[c] != splits[0])
            return false;
    return slots[0] >= 2 && slots[0] % splits[0] == 0;
}

const int *cz_placement_refine(cz_arena *arena, const cz_placement *inner,
                               const cz_placement *outer, int n_grid_cells)
{
    int *outer_of = CZ_NEW(arena, int, inner->n_splits * inner->n_shards);
    for (int s = 0; s < inner->n_splits * inner->n_shards; s++)
        outer_of[s] = -1;
    for (int cell = 0; cell < n_grid_cells; cell++) {
        const int s = inner->slot_of_grid_cell[cell];
        const int c = outer->slot_of_grid_cell[cell];
        if ((s < 0) != (c < 0))
            return NULL;
        if (s < 0)
            continue;
        if (outer_of[s] >= 0 && outer_of[s] != c)
            return NULL;
        outer_of[s] = c;
    }
    return is_even(arena, inner, outer, outer_of) ? outer_of : NULL;
}
