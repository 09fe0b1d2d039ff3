/* Owned matrices of a plan, row by row and group by group. */
#include "passes/schedule/internal.h"

#include <stdlib.h>

cz_matrix *cz_schedule_matrices(const cz_matrix_set *set, int row,
                                int micro_group, int *n)
{
    const int *start = &set->starts[row * set->n_micro_groups + micro_group];
    *n = start[1] - start[0];
    return *n > 0 ? set->list + start[0] : NULL;
}

const int *cz_schedule_owned(const cz_matrix_set *set, const cz_row_place *at,
                             int micro_group, int *n)
{
    const int *start =
        &set->owned_starts[((int64_t)at->row * set->n_micro_groups +
                            micro_group) *
                               set->n_columns +
                           at->column];
    *n = start[1] - start[0];
    return set->owned + start[0];
}

bool cz_schedule_owns(const cz_matrix *matrix, int column)
{
    return cz_schedule_member(matrix, column) >= 0;
}

int cz_schedule_member(const cz_matrix *matrix, int column)
{
    return (int)cz_block_member((cz_block){matrix->n_owners, matrix->stride},
                                matrix->owner, matrix->shard_of_column[column]);
}

int cz_schedule_segments(const cz_scheduler *s, int micro_group)
{
    int most = 1;
    for (int i = 0; i < s->sharded.n; i++) {
        const cz_matrix *m = &s->sharded.list[i];
        if (m->micro_group == micro_group && m->full_matrix->n_segments > most)
            most = m->full_matrix->n_segments;
    }
    return most;
}

bool cz_schedule_holds(const cz_plan_view *view, int bucket, bool owned)
{
    const cz_ints params = view->buckets[bucket].fact->params;
    for (int i = 0; i < params.n; i++)
        if ((view->params[params.v[i]].split_owner >= 0) == owned)
            return true;
    return false;
}

static cz_matrix matrix_of(const cz_scheduler *s, int param, int row)
{
    const cz_plan_view *view = s->view;
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    const cz_rule_stages stages = cz_rule_stages_find(view, pattern->rule);
    const bool travels = cz_pattern_shards(view, p->pattern) > 1 &&
                         !cz_view_is_apart(view, param);
    return (cz_matrix){
        .param = param,
        .bucket = p->bucket,
        .order = cz_schedule_bucket_order(view, p->bucket),
        .offset = p->offset,
        .pattern = pattern,
        .before = &view->stages[stages.before],
        .full_matrix = p->subgroup_size > 1
                           ? cz_view_subgroup_stage(view, param)
                           : &view->stages[stages.full_matrix],
        .elements = pattern->elements / p->subgroup_size,
        .n_owners = (int)p->subgroup_size,
        .stride = (int)p->stride,
        .keeps_shards = cz_view_keeps_shards(view, param),
        .after = stages.after < 0 ? NULL : &view->stages[stages.after],
        .row = row,
        .owner = travels ? (int)p->shard_owner : -1,
        .shard_of_column = s->grid.shard_of_column[p->pattern],
        .scratch_at = travels
                          ? CZ_NEW(s->arena, cz_matrix_scratch, s->grid.n_shard)
                          : NULL,
        .micro_group = travels ? 0 : p->bucket,
    };
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_row_and_group(const void *left, const void *right)
{
    const cz_matrix *a = left, *b = right;
    int order = compare(a->row, b->row);
    if (order == 0)
        order = compare(a->micro_group, b->micro_group);
    if (order == 0)
        order = compare(a->order, b->order);
    return order != 0 ? order : compare(a->offset, b->offset);
}

/* A list in order, and where each row and group starts. */
static void start_cells(cz_scheduler *s, cz_matrix_set *set, int n_micro_groups)
{
    const int n_grid_cells = s->grid.n_rows * n_micro_groups;
    set->n_micro_groups = n_micro_groups;
    set->starts = CZ_NEW(s->arena, int, n_grid_cells + 1);
    set->moves = CZ_NEW(s->arena, bool, n_micro_groups);
    for (int i = 0; i < set->n; i++) {
        const cz_matrix *m = &set->list[i];
        set->starts[m->row * n_micro_groups + m->micro_group + 1]++;
        set->moves[m->micro_group] |= !m->keeps_shards;
    }
    for (int c = 0; c < n_grid_cells; c++)
        set->starts[c + 1] += set->starts[c];
}

static void find_owned(cz_scheduler *s, cz_matrix_set *set)
{
    const int n_grid_cells = s->grid.n_rows * set->n_micro_groups;
    int n = 0;
    set->owned = NULL;
    set->n_columns =
        set->n > 0 && set->list[0].owner >= 0 ? s->grid.n_shard : 0;
    set->owned_starts =
        CZ_NEW(s->arena, int, (int64_t)n_grid_cells * set->n_columns + 1);
    for (int cell = 0; cell < n_grid_cells; cell++)
        for (int column = 0; column < set->n_columns; column++) {
            for (int i = set->starts[cell]; i < set->starts[cell + 1]; i++)
                if (cz_schedule_owns(&set->list[i], column))
                    *CZ_PUSH(s->arena, set->owned, n) = i;
            set->owned_starts[(int64_t)cell * set->n_columns + column + 1] = n;
        }
}

void cz_schedule_sort(cz_scheduler *s, cz_matrix_set *set, int n_micro_groups)
{
    if (set->n > 0)
        qsort(set->list, (size_t)set->n, sizeof *set->list, by_row_and_group);
    start_cells(s, set, n_micro_groups);
    find_owned(s, set);
}

/* An assignment may have been edited by hand: it must fit the rule. */
static bool check_owner(const cz_scheduler *s, int param)
{
    const cz_view_param *p = &s->view->params[param];
    const bool is_owned = cz_pattern_is_owned(s->view, p->pattern);
    const bool is_sharded = cz_pattern_shards(s->view, p->pattern) > 1;
    const char *why = NULL;
    if (p->bucket < 0)
        why = "is in no bucket";
    else if (is_owned != (p->split_owner >= 0))
        why = is_owned ? "has no owner" : "needs no owner, but has one";
    else if (is_owned && is_sharded && p->shard_owner < 0)
        why = "has no owner among its shards";
    else if (p->subgroup_size > 1 && !cz_view_subgroup_stage(s->view, param))
        why = "has no stages for those who share it";
    if (why)
        cz_diag_error(s->diags, CZ_BAD_IR, (cz_span){0}, "'%s' %s", p->name,
                      why);
    return !why;
}

/* In every row of its owner's split coordinate. */
static void collect_rows(cz_scheduler *s, int param)
{
    const cz_view_param *p = &s->view->params[param];
    for (int row = 0; row < s->grid.n_rows; row++) {
        if (cz_owner_grid_split(&s->grid, p->pattern, row) != p->split_owner)
            continue;
        const cz_matrix matrix = matrix_of(s, param, row);
        cz_matrix_set *set = matrix.owner < 0 ? &s->alone : &s->sharded;
        *CZ_PUSH(s->arena, set->list, set->n) = matrix;
    }
}

bool cz_schedule_collect(cz_scheduler *s)
{
    for (int p = 0; p < s->view->n_params; p++) {
        if (!check_owner(s, p))
            return false;
        if (s->view->params[p].split_owner >= 0)
            collect_rows(s, p);
    }
    cz_schedule_sort(s, &s->alone, s->view->n_buckets);
    cz_schedule_sort(s, &s->sharded, 1);
    return true;
}
