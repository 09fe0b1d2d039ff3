/* Owned matrices of a plan, sorted into micro-groups. */
#include "passes/schedule_internal.h"

#include "passes/group.h"

#include <stdlib.h>

/* Without a cap from the user: as much as is wanted of staging, so that owners
 * of large matrices do not wait in groups of others (simulated steps of
 * Qwen3-32B take 8 to 34 % longer with a quarter of it), and at least three
 * groups, so that gather, compute and scatter overlap. */
#define AUTO_CAP_BYTES ((int64_t)1 << 30)
enum { AUTO_MIN_GROUPS = 3 };

cz_matrix *cz_schedule_matrices(const cz_matrix_set *set, int row, int group,
                                int *n)
{
    const int *start = &set->starts[row * set->n_groups + group];
    *n = start[1] - start[0];
    return *n > 0 ? set->list + start[0] : NULL;
}

bool cz_schedule_owns(const cz_matrix *matrix, int column)
{
    const int member = cz_schedule_member(matrix, column);
    return member >= 0 && member < matrix->n_owners;
}

int cz_schedule_member(const cz_matrix *matrix, int column)
{
    return matrix->shard_of_column[column] - matrix->owner;
}

int cz_schedule_segments(const cz_scheduler *s, int group)
{
    int most = 1;
    for (int i = 0; i < s->sharded.n; i++) {
        const cz_matrix *m = &s->sharded.list[i];
        if (m->group == group && m->whole->n_segments > most)
            most = m->whole->n_segments;
    }
    return most;
}

bool cz_schedule_bucket_is_owned(const cz_plan_view *view, int bucket)
{
    const int64_t first = view->buckets[bucket].fact->params.v[0];
    return view->params[first].split_owner >= 0;
}

static cz_matrix matrix_of(const cz_scheduler *s, int param, int row)
{
    const cz_plan_view *view = s->view;
    const cz_view_param *p = &view->params[param];
    const cz_view_family *family = &view->families[p->family];
    const cz_rule_stages stages = cz_rule_stages_find(view, family->rule);
    const bool is_sharded = cz_family_shards(view, p->family) > 1;
    return (cz_matrix){
        .param = param,
        .bucket = p->bucket,
        .turn = cz_schedule_turn(view, p->bucket),
        .offset = p->offset,
        .family = family,
        .before = &view->stages[stages.before],
        .whole = p->group > 1
                     ? cz_view_shared_stage(view, family->rule, p->group)
                     : &view->stages[stages.whole],
        .elements = family->elements / p->group,
        .n_owners = (int)p->group,
        .after = stages.after < 0 ? NULL : &view->stages[stages.after],
        .row = row,
        .owner = is_sharded ? (int)p->shard_owner : -1,
        .shard_of_column = s->grid.shard_of_column[p->family],
        .whole_at =
            is_sharded ? CZ_NEW(s->arena, cz_whole, s->grid.n_shard) : NULL,
        .group = is_sharded ? 0 : p->bucket,
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
        order = compare(a->group, b->group);
    if (order == 0)
        order = compare(a->turn, b->turn);
    return order != 0 ? order : compare(a->offset, b->offset);
}

/* Sort, and find where each row and group starts. */
static void sort_set(cz_scheduler *s, cz_matrix_set *set, int n_groups)
{
    const int n_cells = s->grid.n_rows * n_groups;
    set->n_groups = n_groups;
    set->starts = CZ_NEW(s->arena, int, n_cells + 1);
    if (set->n > 0)
        qsort(set->list, (size_t)set->n, sizeof *set->list, by_row_and_group);
    for (int i = 0; i < set->n; i++)
        set->starts[set->list[i].row * n_groups + set->list[i].group + 1]++;
    for (int c = 0; c < n_cells; c++)
        set->starts[c + 1] += set->starts[c];
}

static int64_t flops_of(const cz_view_stage *whole)
{
    int64_t flops = 0;
    for (int k = 0; k < whole->n_segments; k++)
        flops += whole[k].fact->flops;
    return flops;
}

/* All who share a matrix have as much of it as the first, and of all others of
 * the group too: its blocks are equal. */
static cz_group_item group_item(const cz_matrix *m)
{
    const int64_t n = m->elements;
    return (cz_group_item){
        .owner = m->owner,
        .bytes = cz_view_slot_bytes(m->whole, CZ_SLOT_GATHER, n, NULL) +
                 cz_view_slot_bytes(m->whole, CZ_SLOT_SCATTER, n, NULL),
        .cost = flops_of(m->whole),
    };
}

static bool has_one_home(const cz_fact_family *family)
{
    return family->home_axes != 0 && family->home.n == 1;
}

/* Families that are grouped together: of one reduction, sharded over the same
 * axes, over which they travel, and either at home at one coordinate each of
 * the same axes, where every stage groups its own, or at home on the same
 * ranks. */
static bool groups_with(const cz_view_family *a, const cz_view_family *b)
{
    return a->reduction == b->reduction &&
           cz_view_shard_set_of(&a->fact->shard) ==
               cz_view_shard_set_of(&b->fact->shard) &&
           ((has_one_home(a->fact) && has_one_home(b->fact) &&
             a->fact->home_axes == b->fact->home_axes) ||
            cz_view_same_home(a->fact, b->fact));
}

/* Groups of the matrices of one row that are grouped with the family and
 * shared by so many ranks each, from number `base` on; returns how many.  A
 * matrix that lies in several rows is in the same group in all of them: all
 * these rows have the same ones. */
static int group_row(cz_scheduler *s, int row, const cz_view_family *family,
                     int n_owners, int base)
{
    int n_all, n = 0;
    cz_matrix *list = cz_schedule_matrices(&s->sharded, row, 0, &n_all);
    cz_matrix **own = CZ_NEW(s->arena, cz_matrix *, n_all);
    cz_group_item *items = CZ_NEW(s->arena, cz_group_item, n_all);
    int *groups = CZ_NEW(s->arena, int, n_all);
    const int64_t cap = s->view->policy->group_bytes;
    const int64_t shard_set = cz_view_shard_set_of(&family->fact->shard);
    for (int i = 0; i < n_all; i++) {
        if (list[i].n_owners != n_owners ||
            !groups_with(list[i].family, family))
            continue;
        items[n] = group_item(&list[i]);
        own[n++] = &list[i];
    }
    const cz_group_problem problem = {n, (int)cz_view_parts(s->view, shard_set),
                                      items, cap > 0 ? cap : AUTO_CAP_BYTES,
                                      cap > 0 ? 1 : AUTO_MIN_GROUPS};
    const int n_groups = cz_group_solve(s->arena, &problem, groups);
    for (int i = 0; i < n; i++)
        own[i]->group = base + groups[i];
    return n_groups;
}

/* An assignment may have been edited by hand: it must fit the rule. */
static bool check_owner(const cz_scheduler *s, int param)
{
    const cz_view_param *p = &s->view->params[param];
    const bool is_owned = cz_family_is_owned(s->view, p->family);
    const bool is_sharded = cz_family_shards(s->view, p->family) > 1;
    const char *why = NULL;
    if (p->bucket < 0)
        why = "is in no bucket";
    else if (is_owned != (p->split_owner >= 0))
        why = is_owned ? "has no owner" : "needs no owner, but has one";
    else if (is_owned && is_sharded && p->shard_owner < 0)
        why = "has no owner among its shards";
    else if (p->group > 1 &&
             !cz_view_shared_stage(s->view, s->view->families[p->family].rule,
                                   p->group))
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
        if (cz_owner_grid_split(&s->grid, p->family, row) != p->split_owner)
            continue;
        const cz_matrix matrix = matrix_of(s, param, row);
        cz_matrix_set *set = matrix.owner < 0 ? &s->alone : &s->sharded;
        *CZ_PUSH(s->arena, set->list, set->n) = matrix;
    }
}

static bool is_first_of_groups(const cz_plan_view *view, int family)
{
    for (int f = 0; f < family; f++)
        if (groups_with(&view->families[f], &view->families[family]))
            return false;
    return true;
}

/* Groups of the matrices that are grouped with the family and shared by so many
 * ranks each. */
static int group_rows(cz_scheduler *s, const cz_view_family *family,
                      int n_owners, int base, int wave)
{
    int most = 0;
    for (int row = 0; row < s->grid.n_rows; row++) {
        const int n = group_row(s, row, family, n_owners, base);
        most = n > most ? n : most;
    }
    for (int g = 0, n = base, m = base, w = base; g < most; g++) {
        *CZ_PUSH(s->arena, s->sharded.axes, n) =
            cz_view_axes_of(s->view, cz_view_shard_set_of(&family->fact->shard),
                            CZ_NEW(s->arena, int64_t, s->view->mesh->axes.n));
        *CZ_PUSH(s->arena, s->sharded.n_owners, m) = n_owners;
        *CZ_PUSH(s->arena, s->sharded.wave, w) = wave + g;
    }
    return most;
}

/* Groups of all matrices that have the reduction; returns how many.  What most
 * ranks share comes first: they wait for each other, and those that have time
 * left when all have done their part compute what they own alone. */
static int group_reduction(cz_scheduler *s, int reduction, int base, int *wave)
{
    int n_groups = 0;
    for (int f = 0; f < s->view->n_families; f++) {
        const cz_view_family *family = &s->view->families[f];
        if (family->reduction != reduction || !is_first_of_groups(s->view, f))
            continue;
        int n_waves = 0;
        for (int k = s->grid.n_shard; k >= 1; k--) {
            const int n = group_rows(s, family, k, base + n_groups, *wave);
            n_groups += n;
            n_waves = n > n_waves ? n : n_waves;
        }
        *wave += n_waves;
    }
    return n_groups;
}

bool cz_schedule_collect(cz_scheduler *s)
{
    int n_groups = 0, wave = 0;
    for (int p = 0; p < s->view->n_params; p++) {
        if (!check_owner(s, p))
            return false;
        if (s->view->params[p].split_owner >= 0)
            collect_rows(s, p);
    }
    sort_set(s, &s->alone, s->view->n_buckets);
    sort_set(s, &s->sharded, 1);
    for (int k = 0; k < s->view->n_reductions; k++)
        n_groups += group_reduction(s, k, n_groups, &wave);
    sort_set(s, &s->sharded, n_groups > 0 ? n_groups : 1);
    return true;
}
