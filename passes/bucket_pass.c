/* Parameters into buckets.
 * requires: assign.  provides: buckets.  breaks: the schedule, which is
 * planned anew behind it. */
#include "passes/passes.h"

#include "dsl/base/checked.h"
#include "dsl/ir.h"
#include "dsl/plan_view_build.h"
#include "passes/bucket.h"
#include "passes/owned.h"

#include <string.h>

/* Parameters share a bucket when use, type, reduction, home, owned or not, and
 * states are equal: then all of the bucket's memory has one layout. */
static bool same_states(const cz_fact_rule *a, const cz_fact_rule *b)
{
    if (a->states.n != b->states.n)
        return false;
    for (int i = 0; i < a->states.n; i++)
        if (strcmp(a->state_dtypes.v[i], b->state_dtypes.v[i]) != 0)
            return false;
    return true;
}

static bool same_kind(const cz_plan_view *view, int a, int b)
{
    const cz_view_param *p = &view->params[a], *q = &view->params[b];
    const cz_view_family *f = &view->families[p->family];
    const cz_view_family *g = &view->families[q->family];
    const cz_view_rule *r = &view->rules[f->rule], *s = &view->rules[g->rule];
    return r->use == s->use && f->dtype == g->dtype &&
           f->reduction == g->reduction &&
           cz_view_same_home(f->fact, g->fact) &&
           (p->split_owner < 0) == (q->split_owner < 0) &&
           same_states(r->fact, s->fact);
}

/* Number of the parameter's kind among `firsts`, the first of each kind. */
static int kind_of(const cz_plan_view *view, int param, const int *firsts,
                   int n_kinds)
{
    for (int k = 0; k < n_kinds; k++)
        if (same_kind(view, firsts[k], param))
            return k;
    return n_kinds;
}

/* Items in reverse definition order, which is that of the backward pass. */
static cz_bucket_item *collect(cz_arena *arena, const cz_plan_view *view,
                               int **firsts, int *n_kinds)
{
    cz_bucket_item *items = CZ_NEW(arena, cz_bucket_item, view->n_params);
    *firsts = NULL;
    *n_kinds = 0;
    for (int i = 0; i < view->n_params; i++) {
        const int param = view->n_params - 1 - i;
        const cz_view_param *p = &view->params[param];
        const int kind = kind_of(view, param, *firsts, *n_kinds);
        if (kind == *n_kinds)
            *CZ_PUSH(arena, *firsts, *n_kinds) = param;
        items[i] =
            (cz_bucket_item){param, view->families[p->family].local_elements,
                             kind, (int)p->split_owner};
    }
    return items;
}

/* All lengths, leaves and padding included, must fit in memory sizes. */
static bool check_size(const cz_plan_view *view, cz_diags *diags)
{
    int64_t total = 0, leaves = 1, with_leaves;
    bool ok = true;
    for (int k = 0; k < view->n_reductions; k++)
        if (view->reductions[k].leaves > leaves)
            leaves = view->reductions[k].leaves;
    for (int p = 0; p < view->n_params; p++)
        ok = ok && cz_checked_add(
                       total, view->families[view->params[p].family].elements,
                       &total);
    ok = ok && cz_checked_mul(total, 64 * (leaves + 1), &with_leaves);
    if (!ok)
        cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){0},
                      "the parameters do not fit any machine's memory");
    return ok;
}

/* Slices of the buckets that may hold a parameter. */
static int splits_of(const cz_plan_view *view, int64_t param)
{
    return cz_owner_grid_splits(view, view->params[param].family);
}

static void write_bucket(cz_ir *ir, cz_arena *arena, const cz_plan_view *view,
                         const cz_bucket *bucket, int number)
{
    const cz_view_family *first =
        &view->families[view->params[bucket->params[0]].family];
    const cz_view_rule *rule = &view->rules[first->rule];
    const cz_fact_bucket fact = {
        .sym_name = cz_arena_printf(arena, "bucket%d", number),
        .use = view->uses[rule->use]->sym_name,
        .reduction = view->reductions[first->reduction].sym_name,
        .dtype = cz_dtype_name(first->dtype),
        .length = bucket->length,
        .params = {bucket->params, bucket->n},
        .offsets = {bucket->offsets, bucket->n},
        .slices = {bucket->slices, splits_of(view, bucket->params[0]) + 1},
    };
    cz_ir_add_bucket(ir, &fact);
}

static bool fill_buckets(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    int *firsts, n_kinds, n_buckets;
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view || !check_size(view, diags))
        return false;
    const cz_bucket_item *items = collect(arena, view, &firsts, &n_kinds);
    int *n_slices = CZ_NEW(arena, int, n_kinds);
    for (int k = 0; k < n_kinds; k++)
        n_slices[k] = splits_of(view, firsts[k]);
    const cz_bucket_problem problem = {view->n_params, items, n_kinds, n_slices,
                                       view->policy->bucket_elements};
    const cz_bucket *buckets = cz_bucket_solve(arena, &problem, &n_buckets);

    cz_ir_remove(ir, CZ_FACT_bucket);
    for (int b = 0; b < n_buckets; b++)
        write_bucket(ir, arena, view, &buckets[b], b);
    return true;
}

bool cz_bucket_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const bool ok = fill_buckets(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
