/* Owners and buckets of a placement. */
#include "passes/place/fact.h"

#include "dsl/base/checked.h"
#include "passes/grid/bucket.h"

typedef struct writer {
    cz_arena *arena;
    const cz_placement_problem *placement;
    const cz_solve_plan *plan;
    const cz_plan_view *view;
    const int *gradients; /* [n_params] */
    int bucket;           /* of the plan */
    /* [items of the bucket] by place: */
    int *rank_of; /* in whose slice it lies whole; -1: it is cut */
    int *kind_of;
    bool has_matrix[CZ_N_DTYPES]; /* by kind */
    int n_kinds;
    int *first_of; /* [n_kinds] place */
} writer;

cz_place_owners cz_place_owners_make(cz_arena *arena, const cz_plan_view *view)
{
    const size_t n = (size_t)view->n_params + 1;
    const cz_place_owners owners = {
        CZ_NEW(arena, int64_t, n), CZ_NEW(arena, int64_t, n),
        CZ_NEW(arena, int64_t, n), CZ_NEW(arena, int64_t, n)};
    for (int p = 0; p < view->n_params; p++) {
        owners.split[p] = owners.shard[p] = -1;
        owners.subgroup_size[p] = owners.stride[p] = 1;
    }
    return owners;
}

static void put_owner(const cz_place_owners *owners,
                      const cz_placement_problem *placement,
                      const cz_solve_plan *plan, const cz_plan_view *view,
                      int item, cz_block block, int param)
{
    const int pattern = view->params[param].pattern;
    owners->split[param] = plan->owner[item];
    if (cz_pattern_shards(view, pattern) == 1)
        return;
    if (placement->shard_ps && placement->shard_ps[pattern] >= 0) {
        owners->shard[param] = 0;
        owners->subgroup_size[param] = cz_pattern_shards(view, pattern);
        return;
    }
    owners->shard[param] = plan->host[item];
    owners->subgroup_size[param] = block.size;
    owners->stride[param] = block.stride;
}

void cz_place_owners_put(const cz_place_owners *owners,
                         const cz_placement_problem *placement,
                         const cz_solve_plan *plan, const cz_block *blocks,
                         const cz_plan_view *view)
{
    for (int i = 0; i < placement->problem.n_items; i++) {
        const cz_block block = blocks ? blocks[i] : (cz_block){1, 1};
        for (int param = placement->params[i];
             param >= 0 && plan->owner[i] >= 0;
             param = cz_place_next(placement->runs, view, param))
            put_owner(owners, placement, plan, view, i, block, param);
    }
}

/* ---- kinds ---- */

static int item_at(const writer *w, int place)
{
    return w->plan
        ->order[w->placement->problem.bucket_start[w->bucket] + place];
}

static int count_places(const writer *w)
{
    const int *start = w->placement->problem.bucket_start + w->bucket;
    return start[1] - start[0];
}

static int64_t length_of(const writer *w, int item)
{
    const cz_solve_problem *problem = &w->placement->problem;
    return problem->classes[problem->class_of[item]].elements;
}

static const cz_solve_class *class_at(const writer *w, int place)
{
    const cz_solve_problem *problem = &w->placement->problem;
    return &problem->classes[problem->class_of[item_at(w, place)]];
}

/* Else what may be cut lies by itself, and is cut equally. */
static bool is_uneven(const writer *w)
{
    return w->placement->problem.geometry == CZ_SLICES_UNEVEN;
}

/* The order of gradients is kept: what is cut lies between matrices. */
static bool is_in_order(const writer *w)
{
    return is_uneven(w) && w->placement->problem.order == CZ_ORDER_TRAINER;
}

/* The rank that has all of [from, to) between its bounds; or -1. */
static int rank_around(const int64_t *bounds, int n_ranks, int64_t from,
                       int64_t to)
{
    int low = 0, high = n_ranks;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (bounds[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    return bounds[low] <= from && to <= bounds[low + 1] ? low : -1;
}

/* The rank in whose slice, or fill, all of an item lies; or -1. */
static int find_rank(const writer *w, int item)
{
    const int n = w->placement->problem.n_ranks;
    const size_t row = (size_t)w->bucket * ((size_t)n + 1);
    const int64_t from = w->plan->offset[item];
    const int64_t to = from + length_of(w, item);
    if (w->plan->owner[item] >= 0)
        return w->plan->owner[item];
    const int rank = rank_around(w->plan->slices + row, n, from, to);
    return rank >= 0 ? rank : rank_around(w->plan->fills + row, n, from, to);
}

/* Whether an item is a matrix, or lies whole in one slice beside matrices. */
static bool is_whole(const writer *w, int place)
{
    const cz_solve_class *c = class_at(w, place);
    return !c->divisible ||
           (is_uneven(w) && w->rank_of[place] >= 0 && w->has_matrix[c->kind]);
}

static bool same_kind(const writer *w, int a, int b)
{
    return class_at(w, a)->kind == class_at(w, b)->kind &&
           (is_in_order(w) || is_whole(w, a) == is_whole(w, b));
}

static void find_kinds(writer *w)
{
    const int n = count_places(w);
    /* Ranks of the bucket's items, and the kinds of which it has matrices. */
    w->rank_of = CZ_NEW(w->arena, int, n + 1);
    for (int kind = 0; kind < CZ_N_DTYPES; kind++)
        w->has_matrix[kind] = false;
    for (int place = 0; place < n; place++) {
        const cz_solve_class *c = class_at(w, place);
        w->rank_of[place] = find_rank(w, item_at(w, place));
        w->has_matrix[c->kind] |= !c->divisible;
    }
    w->first_of = CZ_NEW(w->arena, int, n + 1);
    w->kind_of = CZ_NEW(w->arena, int, n + 1);
    w->n_kinds = 0;
    for (int place = 0; place < n; place++) {
        int k = 0;
        while (k < w->n_kinds && !same_kind(w, w->first_of[k], place))
            k++;
        if (k == w->n_kinds)
            w->first_of[w->n_kinds++] = place;
        w->kind_of[place] = k;
    }
}

/* ---- buckets ---- */

/* Elements of [from, to) in each rank's part.  Asked in rising order, so that
 * no rank before `*first` has any. */
static void add_parts(const int64_t *bounds, int n_ranks, int64_t from,
                      int64_t to, int *first, int64_t *amounts)
{
    while (*first < n_ranks - 1 && bounds[*first + 1] <= from)
        ++*first;
    for (int r = *first; r < n_ranks && bounds[r] < to; r++) {
        const int64_t low = bounds[r] > from ? bounds[r] : from;
        const int64_t high = bounds[r + 1] < to ? bounds[r + 1] : to;
        amounts[r] += high > low ? high - low : 0;
    }
}

/* What of a kind lies in each rank's slice and fill, with the padding behind
 * each tensor. */
static const int64_t *find_amounts(const writer *w, int kind)
{
    const cz_solve_problem *problem = &w->placement->problem;
    const int n = problem->n_ranks;
    const size_t row = (size_t)w->bucket * ((size_t)n + 1);
    int64_t *amounts = CZ_NEW(w->arena, int64_t, n);
    int slice = 0, fill = 0;
    for (int place = 0; place < count_places(w); place++) {
        const int item = item_at(w, place);
        if (w->kind_of[place] != kind)
            continue;
        const int64_t from = w->plan->offset[item];
        const int64_t to =
            from + cz_round_up(length_of(w, item), w->placement->problem.align);
        add_parts(w->plan->slices + row, n, from, to, &slice, amounts);
        add_parts(w->plan->fills + row, n, from, to, &fill, amounts);
    }
    return amounts;
}

/* Every piece of each run where it lies. */
static cz_bucket expand(const writer *w, const cz_bucket *bucket)
{
    cz_bucket out = {.length = bucket->length, .slices = bucket->slices};
    const size_t most = (size_t)w->view->n_params + 1;
    out.params = CZ_NEW(w->arena, int64_t, most);
    out.offsets = CZ_NEW(w->arena, int64_t, most);
    for (int i = 0; i < bucket->n; i++) {
        int64_t at = bucket->offsets[i];
        for (int param = (int)bucket->params[i]; param >= 0;
             param = cz_place_next(w->placement->runs, w->view, param)) {
            out.params[out.n] = param;
            out.offsets[out.n++] = at;
            at += w->view->patterns[w->view->params[param].pattern]
                      .local_elements;
        }
    }
    return out;
}

/* The last place of a run's gradients. */
static int last_of(const writer *w, int param)
{
    int last = -1;
    for (; param >= 0;
         param = cz_place_next(w->placement->runs, w->view, param))
        last = w->gradients[param] > last ? w->gradients[param] : last;
    return last;
}

static cz_bucket lay_out(const writer *w, int kind, int *last)
{
    const cz_solve_geometry geometry = w->placement->problem.geometry;
    cz_bucket_problem problem = {
        .n_slices = w->placement->problem.n_ranks,
        .align = w->placement->problem.align,
        .is_padded = geometry == CZ_SLICES_PADDED,
        .amounts = geometry == CZ_SLICES_UNEVEN ? find_amounts(w, kind) : NULL};
    const bool is_sorted = !is_in_order(w) && is_whole(w, w->first_of[kind]);
    cz_bucket_item *items = NULL;
    *last = -1;
    for (int place = 0; place < count_places(w); place++) {
        const int item = item_at(w, place);
        const int param = w->placement->params[item];
        if (w->kind_of[place] != kind)
            continue;
        *CZ_PUSH(w->arena, items, problem.n_items) = (cz_bucket_item){
            param, length_of(w, item), is_sorted ? w->rank_of[place] : -1};
        if (last_of(w, param) > *last)
            *last = last_of(w, param);
    }
    problem.items = items;
    const cz_bucket bucket = cz_bucket_lay_out(w->arena, &problem);
    return w->placement->runs ? expand(w, &bucket) : bucket;
}

static cz_place_bucket make_bucket(const writer *w, int number, int kind)
{
    cz_place_bucket out = {.placement = number};
    const cz_bucket bucket = lay_out(w, kind, &out.last);
    const cz_plan_view *view = w->view;
    const cz_view_pattern *first =
        &view->patterns[view->params[bucket.params[0]].pattern];
    out.fact = (cz_fact_bucket){
        .reduction = view->reductions[first->reduction].sym_name,
        .dtype = first->dtype,
        .length = bucket.length,
        .params = {bucket.params, bucket.n},
        .offsets = {bucket.offsets, bucket.n},
        .slices = {bucket.slices, w->placement->problem.n_ranks + 1},
        .geometry = w->view->policy->geometry};
    return out;
}

void cz_place_buckets(cz_arena *arena, const cz_placement_problem *placement,
                      const cz_solve_plan *plan, const cz_plan_view *view,
                      const int *gradients, int number, cz_place_bucket **list,
                      int *n)
{
    writer w = {.arena = arena,
                .placement = placement,
                .plan = plan,
                .view = view,
                .gradients = gradients};
    for (w.bucket = 0; w.bucket < placement->problem.n_buckets; w.bucket++) {
        find_kinds(&w);
        for (int k = 0; k < w.n_kinds; k++)
            *CZ_PUSH(arena, *list, *n) = make_bucket(&w, number, k);
    }
}
