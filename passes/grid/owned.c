/* Owned matrices and the grid of their owners, read off the plan view. */
#include "passes/grid/owned.h"

cz_rule_stages cz_rule_stages_find(const cz_plan_view *view, int rule)
{
    cz_rule_stages found = {-1, -1, -1, -1};
    int *const places[CZ_N_WHERES] = {
        [CZ_WHERE_ELEMENT_WISE] = &found.local,
        [CZ_WHERE_PRE_GATHER] = &found.before,
        [CZ_WHERE_FULL_MATRIX] = &found.full_matrix,
        [CZ_WHERE_POST_SCATTER] = &found.after,
    };
    const cz_view_rule *r = &view->rules[rule];
    for (int i = 0; i < r->n_stages; i++) {
        const int number = r->first_stage + i;
        if (!view->stages[number].subgroup)
            *places[view->stages[number].where] = number;
    }
    return found;
}

bool cz_pattern_is_owned(const cz_plan_view *view, int pattern)
{
    return cz_rule_stages_find(view, view->patterns[pattern].rule)
               .full_matrix >= 0;
}

int64_t cz_pattern_shards(const cz_plan_view *view, int pattern)
{
    return cz_view_set_extent(view, cz_view_shard_set(view, pattern));
}

static bool has_axis(cz_ints axes, int64_t axis)
{
    for (int i = 0; i < axes.n; i++)
        if (axes.v[i] == axis)
            return true;
    return false;
}

/* Axes of `a` and `b` together, ascending. */
static cz_ints join_axes(cz_arena *arena, const cz_plan_view *view, cz_ints a,
                         cz_ints b)
{
    int64_t *axes = CZ_NEW(arena, int64_t, view->mesh->axes.n);
    int n = 0;
    for (int axis = 0; axis < view->mesh->axes.n; axis++)
        if (has_axis(a, axis) || has_axis(b, axis))
            axes[n++] = axis;
    return (cz_ints){axes, n};
}

static bool refuse(cz_diags *diags, const cz_plan_view *view, int pattern,
                   cz_code code, const char *why)
{
    cz_diag_error(diags, code, (cz_span){0}, "'%s' %s",
                  view->patterns[pattern].fact->name, why);
    return false;
}

static bool check_slots(const cz_plan_view *view, int rule)
{
    const cz_view_rule *r = &view->rules[rule];
    for (int i = 0; i < r->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[r->first_stage + i];
        if (stage->n_in + stage->n_out > CZ_MAX_STAGE_SLOTS)
            return false;
    }
    return true;
}

static bool check_stages(const cz_plan_view *view, int pattern, cz_diags *diags)
{
    const cz_rule_stages stages =
        cz_rule_stages_find(view, view->patterns[pattern].rule);
    const bool complete = cz_pattern_is_owned(view, pattern)
                              ? stages.before >= 0 && stages.full_matrix >= 0
                              : stages.local >= 0;
    if (!complete)
        return refuse(diags, view, pattern, CZ_BAD_IR,
                      "has a rule that lacks a stage");
    return check_slots(view, view->patterns[pattern].rule) ||
           refuse(diags, view, pattern, CZ_UNSUPPORTED,
                  "has a rule with too many tensors");
}

static bool add_pattern(cz_arena *arena, const cz_plan_view *view,
                        cz_diags *diags, int pattern, cz_owner_grid *grid)
{
    if (!check_stages(view, pattern, diags))
        return false;
    if (!cz_pattern_is_owned(view, pattern) ||
        cz_pattern_shards(view, pattern) == 1)
        return true;
    int64_t *storage = CZ_NEW(arena, int64_t, view->mesh->axes.n);
    const cz_ints axes = cz_view_shard_axes(view, pattern, storage);
    if (view->patterns[pattern].n_dims != 2)
        return refuse(diags, view, pattern, CZ_UNSUPPORTED,
                      "is sharded and no matrix: not supported yet");
    grid->shard_axes = join_axes(arena, view, grid->shard_axes, axes);
    return true;
}

int cz_owner_grid_split(const cz_owner_grid *grid, int pattern, int row)
{
    return grid->split_of_row[pattern][row];
}

int cz_owner_grid_splits(const cz_plan_view *view, int pattern)
{
    return (int)cz_view_extent(
        view, &cz_view_pattern_reduction(view, pattern)->split_axes);
}

/* Split coordinates of a pattern in every row. */
static const int *find_splits(cz_arena *arena, const cz_plan_view *view,
                              const cz_owner_grid *grid, int pattern)
{
    const cz_ints *split =
        &cz_view_pattern_reduction(view, pattern)->split_axes;
    int *rows = CZ_NEW(arena, int, grid->n_rows);
    for (int row = 0; row < grid->n_rows; row++) {
        const int64_t rank = cz_view_rank_at(view, &grid->row_axes, row, 0);
        rows[row] = cz_view_is_resident(view, pattern, rank)
                        ? (int)cz_view_coordinate(view, split, rank)
                        : -1;
    }
    return rows;
}

/* An earlier pattern whose rows are the same; -1: none. */
static int find_alike(const cz_plan_view *view, int pattern)
{
    const cz_view_pattern *f = &view->patterns[pattern];
    for (int k = 0; k < pattern; k++)
        if (view->patterns[k].reduction == f->reduction &&
            cz_view_same_residents(view->patterns[k].fact, f->fact))
            return k;
    return -1;
}

/* Shard coordinates of a pattern in every column. */
static const int *find_shards(cz_arena *arena, const cz_plan_view *view,
                              const cz_owner_grid *grid, int pattern)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(view, pattern, storage);
    int *columns = CZ_NEW(arena, int, grid->n_shard);
    for (int t = 0; t < grid->n_shard; t++)
        columns[t] = (int)cz_view_coordinate(
            view, &axes, cz_view_rank_at(view, &grid->shard_axes, t, 0));
    return columns;
}

/* Row and column agree on the axes that both have. */
bool cz_owner_grid_has_rank(const cz_owner_grid *grid, const cz_plan_view *view,
                            int row, int column)
{
    const int64_t in_row = cz_view_rank_at(view, &grid->row_axes, row, 0);
    const int64_t rank =
        cz_view_rank_at(view, &grid->shard_axes, column, in_row);
    return cz_view_coordinate(view, &grid->row_axes, rank) == row;
}

bool cz_owner_grid_find(cz_arena *arena, const cz_plan_view *view,
                        cz_diags *diags, cz_owner_grid *out)
{
    bool ok = true;
    *out = (cz_owner_grid){.row_axes = {NULL, 0}};
    for (int k = 0; k < view->n_reductions; k++)
        out->row_axes = join_axes(arena, view, out->row_axes,
                                  view->reductions[k].split_axes);
    for (int f = 0; f < view->n_patterns; f++) {
        int64_t storage[CZ_VIEW_MAX_AXES];
        out->row_axes = join_axes(
            arena, view, out->row_axes,
            cz_view_axes_of(view, view->patterns[f].fact->resident_axes,
                            storage));
    }
    for (int f = 0; f < view->n_patterns; f++)
        ok &= add_pattern(arena, view, diags, f, out);
    out->axes = join_axes(arena, view, out->row_axes, out->shard_axes);
    out->n_shard = (int)cz_view_extent(view, &out->shard_axes);
    out->shard_of_column = CZ_NEW(arena, const int *, view->n_patterns);
    for (int f = 0; f < view->n_patterns; f++)
        if (cz_pattern_is_owned(view, f))
            out->shard_of_column[f] = find_shards(arena, view, out, f);
    out->n_rows = (int)cz_view_extent(view, &out->row_axes);
    out->split_of_row = CZ_NEW(arena, const int *, view->n_patterns);
    for (int f = 0; f < view->n_patterns; f++) {
        const int alike = find_alike(view, f);
        out->split_of_row[f] = alike >= 0 ? out->split_of_row[alike]
                                          : find_splits(arena, view, out, f);
    }
    return ok;
}
