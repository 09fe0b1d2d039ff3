/* Classes: sharded matrices that may travel together.  Each class is cut to
 * micro-groups by itself, in every row of ranks. */
#include "passes/schedule/internal.h"

#include "dsl/base/checked.h"
#include "passes/schedule/micro_group_subgroups.h"

#include <stdlib.h>

/* Without a cap from the user: as much as is wanted of staging, so that owners
 * of large matrices do not wait in groups of others (simulated steps of
 * Qwen3-32B take 8 to 34 % longer with a quarter of it). */
#define AUTO_CAP_BYTES ((int64_t)1 << 30)

/* Groups of shared matrices in one wave: with four, sums of one travel while
 * the others compute (simulated steps of fused 32B on 32x8 take 30.3 ms, and 33
 * with two or three). */
enum { SIDE_BY_SIDE = 4 };

/* ---- which matrices ---- */

static bool has_one_home(const cz_fact_pattern *pattern)
{
    return pattern->resident_axes != 0 && pattern->residents.n == 1;
}

/* Families that are grouped together: of one reduction, sharded over the same
 * axes, over which they travel, and either resident at one coordinate each of
 * the same axes, where every stage groups its own, or resident on the same
 * ranks. */
static bool groups_with(const cz_view_pattern *a, const cz_view_pattern *b)
{
    return a->reduction == b->reduction &&
           cz_view_shard_set_of(&a->fact->shard) ==
               cz_view_shard_set_of(&b->fact->shard) &&
           ((has_one_home(a->fact) && has_one_home(b->fact) &&
             a->fact->resident_axes == b->fact->resident_axes) ||
            cz_view_same_residents(a->fact, b->fact));
}

/* [patterns] the first that each is grouped with. */
static int *find_first(const cz_scheduler *s)
{
    const cz_plan_view *view = s->view;
    int *first = CZ_NEW(s->arena, int, view->n_patterns);
    for (int f = 0; f < view->n_patterns; f++)
        while (first[f] < f &&
               !groups_with(&view->patterns[first[f]], &view->patterns[f]))
            first[f]++;
    return first;
}

static cz_micro_group_class *find_lot(cz_scheduler *s, const int *first,
                                      const cz_matrix *m)
{
    const int pattern = first[m->pattern - s->view->patterns];
    for (int l = 0; l < s->n_micro_group_classes; l++) {
        const cz_micro_group_class *class = &s->micro_group_classes[l];
        if (class->pattern == pattern && class->block.size == m->n_owners &&
            class->block.stride == m->stride)
            return &s->micro_group_classes[l];
    }
    cz_micro_group_class *class =
        CZ_PUSH(s->arena, s->micro_group_classes, s->n_micro_group_classes);
    *class = (cz_micro_group_class){.pattern = pattern,
                                    .block = {m->n_owners, m->stride},
                                    .reduction =
                                        s->view->patterns[pattern].reduction};
    return class;
}

/* What most ranks share comes first: they wait for each other, and those that
 * have time left when all have done their part compute what they own alone. */
static int by_turn(const void *left, const void *right)
{
    const cz_micro_group_class *a = left, *b = right;
    if (a->reduction != b->reduction)
        return a->reduction - b->reduction;
    if (a->pattern != b->pattern)
        return a->pattern - b->pattern;
    return a->block.size != b->block.size
               ? (int)(b->block.size - a->block.size)
               : (int)(b->block.stride - a->block.stride);
}

/* ---- what they cost ---- */

static int64_t cost_of(const cz_scheduler *s, const cz_view_stage *whole)
{
    int64_t cost = 0;
    for (int k = 0; k < whole->n_segments; k++)
        cost =
            cz_limited_add(cost, s->prices ? cz_schedule_matrix_ps(s, whole + k)
                                           : whole[k].fact->flops);
    return cost;
}

/* All who share a matrix have as much of it as the first, and of all others of
 * the group too: its blocks are equal. */
static cz_micro_group_item item_of(const cz_scheduler *s, const cz_matrix *m)
{
    const int64_t n = m->elements;
    return (cz_micro_group_item){
        .owner = m->owner,
        .bytes = cz_view_slot_bytes(m->full_matrix, CZ_SLOT_GATHER, n, NULL) +
                 cz_view_slot_bytes(m->full_matrix, CZ_SLOT_SCATTER, n, NULL),
        .cost = cost_of(s, m->full_matrix),
    };
}

static int most_items(const cz_scheduler *s, const cz_micro_group_class *class)
{
    int most = 0;
    int *n = CZ_NEW(s->arena, int, s->grid.n_shard);
    int row = -1;
    for (int i = 0; i < class->n; i++) {
        const cz_matrix *m = &s->sharded.list[class->matrices[i]];
        for (int o = 0; m->row != row && o < s->grid.n_shard; o++)
            n[o] = 0;
        row = m->row;
        most = ++n[m->owner] > most ? n[m->owner] : most;
    }
    return most;
}

void cz_schedule_find_classes(cz_scheduler *s)
{
    const int *first = find_first(s);
    for (int i = 0; i < s->sharded.n; i++)
        find_lot(s, first, &s->sharded.list[i]);
    if (s->n_micro_group_classes > 0)
        qsort(s->micro_group_classes, (size_t)s->n_micro_group_classes,
              sizeof *s->micro_group_classes, by_turn);
    for (int i = 0; i < s->sharded.n; i++) {
        const cz_matrix *m = &s->sharded.list[i];
        cz_micro_group_class *class = find_lot(s, first, m);
        int n_items = class->n;
        *CZ_PUSH(s->arena, class->items, n_items) = item_of(s, m);
        *CZ_PUSH(s->arena, class->matrices, class->n) = i;
    }
    for (int l = 0; l < s->n_micro_group_classes; l++)
        s->micro_group_classes[l].most =
            most_items(s, &s->micro_group_classes[l]);
}

/* ---- groups ---- */

/* The end of the row of matrix `first` among those of the class. */
static int row_end(const cz_scheduler *s, const cz_micro_group_class *class,
                   int first)
{
    const cz_matrix *list = s->sharded.list;
    int end = first;
    while (end < class->n &&
           list[class->matrices[end]].row == list[class->matrices[first]].row)
        end++;
    return end;
}

/* Groups of a class, from number `base` on; returns how many.  A matrix that
 * lies in several rows is in the same group in all of them: all these rows have
 * the same ones. */
static int group_lot(cz_scheduler *s, const cz_micro_group_class *class,
                     int base, int n_micro_groups)
{
    const int64_t cap = s->view->policy->micro_group_bytes;
    int *micro_groups = CZ_NEW(s->arena, int, class->n), most = 0;
    for (int i = 0, end; i < class->n; i = end) {
        end = row_end(s, class, i);
        const cz_micro_group_problem problem = {
            end - i, s->grid.n_shard, class->items + i,
            cap > 0 ? cap : AUTO_CAP_BYTES, n_micro_groups};
        const int n =
            class->block.size > 1
                ? cz_micro_group_subgroups(s->arena, &problem, micro_groups + i)
                : cz_micro_group_solve(s->arena, &problem, micro_groups + i);
        most = n > most ? n : most;
    }
    for (int i = 0; i < class->n; i++)
        s->sharded.list[class->matrices[i]].micro_group =
            base + micro_groups[i];
    return most;
}

/* Which of the class's waves a group is in. */
static int wave_of(const cz_micro_group_class *class, int micro_group)
{
    return class->block.size > 1 ? micro_group / SIDE_BY_SIDE : micro_group;
}

static void describe(cz_scheduler *s, const cz_micro_group_class *class,
                     int base, int n, int wave)
{
    const int64_t set =
        cz_view_shard_set_of(&s->view->patterns[class->pattern].fact->shard);
    for (int g = 0; g < n; g++) {
        s->sharded.axes[base + g] = cz_view_axes_of(
            s->view, set, CZ_NEW(s->arena, int64_t, s->view->mesh->axes.n));
        s->sharded.blocks[base + g] = class->block;
        s->sharded.wave[base + g] = wave + wave_of(class, g);
    }
}

int cz_schedule_cut_classes(cz_scheduler *s, int n_of_each)
{
    int n_micro_groups = 0, wave = 0, n_waves = 0;
    s->sharded.axes = CZ_NEW(s->arena, cz_ints, s->sharded.n);
    s->sharded.blocks = CZ_NEW(s->arena, cz_block, s->sharded.n);
    s->sharded.wave = CZ_NEW(s->arena, int, s->sharded.n);
    for (int l = 0; l < s->n_micro_group_classes; l++) {
        const cz_micro_group_class *class = &s->micro_group_classes[l];
        if (l > 0 && class->pattern != s->micro_group_classes[l - 1].pattern) {
            wave += n_waves;
            n_waves = 0;
        }
        const int n = group_lot(s, class, n_micro_groups, n_of_each);
        describe(s, class, n_micro_groups, n, wave);
        if (n > 0 && wave_of(class, n - 1) >= n_waves)
            n_waves = wave_of(class, n - 1) + 1;
        n_micro_groups += n;
    }
    return n_micro_groups;
}
