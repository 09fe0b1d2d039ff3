/* Ways from the costs of steps: kernels between two collectives are a part. */
#include "passes/cost/ways.h"

#include "dsl/base/checked.h"
#include "passes/cost/step.h"
#include "passes/cost/time.h"

typedef struct lister {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    const cz_ways_call *call;
    cz_cut_of cut;
} lister;

/* ---- parts ---- */

typedef struct sums {
    cz_wide compute_ps, exchange_ps;
} sums;

/* Of all bodies of the stage, each as often as it runs. */
typedef struct total {
    int n;
    sums *parts;
    cz_wide wire_bytes;
    int64_t square_bytes; /* of the largest sum, and what is gathered of it */
} total;

int64_t cz_cost_behind_bytes(const cz_view_step *step,
                             const cz_step_share *share, int64_t group)
{
    const cz_wide elements =
        (cz_wide)step->rows * step->columns / (share->scatter ? group : 1);
    int64_t bytes = cz_dtype_bytes(cz_share_sum_dtype(step)) +
                    cz_dtype_bytes(step->out_dtype[0]);
    if (!share->inner || cz_share_is_plain(step))
        return 0;
    for (int i = 2; i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_ELEMENT)
            bytes += cz_dtype_bytes(step->out_dtype[0]);
    return cz_time_limit(elements * bytes);
}

/* False when there is nothing to deal out. */
static bool share_body(cz_arena *arena, const cz_view_stage *body,
                       cz_cut_of cut, const cz_subgroup_way *way,
                       cz_step_share *shares)
{
    cz_share_stage(arena, body, cut, shares, NULL);
    for (int s = 0; s < body->n_steps; s++)
        if (shares[s].inner)
            shares[s].sum_bytes = cz_time_limit(
                (cz_wide)body->steps[s].rows * body->steps[s].columns *
                cz_dtype_bytes(cz_share_sum_dtype(&body->steps[s])));
    if (way->form != CZ_SUBGROUP_SHARED)
        return true;
    if (!cz_share_deal(body, way->g, shares))
        return false;
    cz_share_scatter(arena, body, way->g, shares);
    return true;
}

/* Adds a body that runs so many times. */
static void add_body(const lister *l, const cz_stage_call *call,
                     const cz_step_share *shares, int64_t times, total *sum)
{
    const int n = call->stage->n_steps;
    cz_step_cost *costs = CZ_NEW(l->arena, cz_step_cost, n);
    int64_t most_sum = 0, most_gathered = 0;
    int at = 0;
    cz_cost_steps(l->arena, l->machine, call, shares, costs);
    for (int s = 0; s < n; s++) {
        sum->parts[at].compute_ps += (cz_wide)costs[s].compute_ps * times;
        sum->parts[at].exchange_ps += (cz_wide)costs[s].wire_ps * times;
        sum->wire_bytes += (cz_wide)costs[s].wire_bytes * times;
        at += costs[s].wire_ps > 0;
        if (call->group == 1)
            continue;
        const int64_t behind = cz_cost_behind_bytes(&call->stage->steps[s],
                                                    &shares[s], call->group);
        if (behind > 0)
            sum->parts[at].compute_ps +=
                (cz_wide)cz_time_map(
                    l->machine, cz_time_limit((cz_wide)behind * call->batch)) *
                times;
        if (shares[s].sum_bytes > most_sum)
            most_sum = shares[s].sum_bytes;
        if (shares[s].gather_bytes > most_gathered)
            most_gathered = shares[s].gather_bytes;
    }
    if (at < n && sum->parts[at].compute_ps > 0)
        at++;
    sum->n = at > sum->n ? at : sum->n;
    const int64_t bytes = (most_sum + most_gathered) * call->batch;
    sum->square_bytes = bytes > sum->square_bytes ? bytes : sum->square_bytes;
}

static bool add_bodies(const lister *l, const cz_subgroup_way *way,
                       const int64_t *counts, total *sum)
{
    const cz_view_stage *stage = l->call->stage;
    bool is_possible = way->form != CZ_SUBGROUP_SHARED;
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        cz_step_share *shares = CZ_NEW(l->arena, cz_step_share, body->n_steps);
        if (way->g > 1 && share_body(l->arena, body, l->cut, way, shares))
            is_possible = true;
        const cz_stage_call call = {
            .stage = body,
            .batch = way->batch,
            .group = way->g,
            .cut = l->cut,
            .link = way->g <= l->call->n_near ? CZ_LINK_NODE : CZ_LINK_NETWORK};
        add_body(l, &call, shares, counts[i], sum);
    }
    return is_possible;
}

static int most_steps(const cz_view_stage *stage)
{
    int most = 0;
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const int n = cz_view_variant(stage, i)->n_steps;
        most = n > most ? n : most;
    }
    return most;
}

static int64_t mean(cz_wide sum, int64_t updates)
{
    return cz_time_limit((sum + updates - 1) / updates);
}

/* False: nothing is dealt out in this form. */
static bool set_parts(const lister *l, cz_subgroup_way *way)
{
    int64_t counts[CZ_MAX_PHASES];
    const int64_t updates =
        cz_cost_frequencies(l->view, l->call->stage, counts);
    total sum = {0};
    sum.parts = CZ_NEW(l->arena, sums, most_steps(l->call->stage) + 1);
    if (!add_bodies(l, way, counts, &sum))
        return false;
    cz_subgroup_part *parts = CZ_NEW(l->arena, cz_subgroup_part, sum.n + 1);
    for (int p = 0; p < sum.n; p++)
        parts[p] = (cz_subgroup_part){mean(sum.parts[p].compute_ps, updates),
                                      mean(sum.parts[p].exchange_ps, updates)};
    way->parts = parts;
    way->n_parts = sum.n;
    way->wire_bytes = mean(sum.wire_bytes, updates) * way->g;
    way->staging_bytes = way->g > 1 ? sum.square_bytes : 0;
    return true;
}

/* ---- gather and scatter ---- */

int64_t cz_ways_stride(int64_t width, bool is_near, int64_t g)
{
    return is_near ? width / g : 1;
}

static int64_t elements_of(const lister *l, int64_t batch)
{
    const cz_fact_rule *rule = l->view->rules[l->call->stage->rule].fact;
    int64_t elements = batch;
    for (int i = 0; i < rule->shape.n; i++)
        elements = cz_time_limit((cz_wide)elements * rule->shape.v[i]);
    return elements;
}

static int shards_of(const cz_ways_call *call)
{
    return call->n_shards > 0 ? call->n_shards : call->width;
}

static void set_transfers(const lister *l, cz_subgroup_way *way)
{
    const cz_view_stage *stage = l->call->stage;
    const int width = l->call->width, n_shards = shards_of(l->call);
    const int64_t in =
        cz_view_element_bytes(stage->in, stage->n_in, CZ_SLOT_GATHER);
    const int64_t out =
        cz_view_element_bytes(stage->out, stage->n_out, CZ_SLOT_SCATTER);
    const int64_t all = elements_of(l, way->batch), shard = all / n_shards;
    const int64_t part = cz_ceil_div(all, way->g);
    const bool across = way->g > 1 && l->call->sharded != l->cut;
    const bool is_near = width == n_shards && n_shards <= l->call->n_near;
    const bool is_apart =
        way->g > 1 &&
        cz_ways_stride(n_shards, is_near, way->g) * way->g != n_shards;
    const int64_t own = across ? shard / way->g : is_apart ? 0 : shard;
    const int64_t travels = part - own;
    const cz_link_speed link = cz_machine_link(
        l->machine,
        n_shards <= l->call->n_near ? CZ_LINK_NODE : CZ_LINK_NETWORK);
    if (travels == 0)
        return;
    way->gather_ps = cz_time_of((cz_wide)travels * in, link.rate);
    way->scatter_ps = cz_time_of((cz_wide)travels * out, link.rate);
    way->wire_bytes =
        cz_time_limit(way->wire_bytes + (cz_wide)travels * way->g * (in + out));
    way->staging_bytes = cz_time_limit(way->staging_bytes + (cz_wide)part * in);
}

/* ---- measured times ---- */

/* The parts of a measured way take together what was measured, but for
 * rounding.  False: it was not measured. */
static bool take_measured(const lister *l, cz_subgroup_way *way)
{
    const cz_stage_call call = {.stage = l->call->stage,
                                .batch = way->batch,
                                .group = way->g,
                                .cut = l->cut};
    cz_stage_cost cost;
    cz_subgroup_part *parts = CZ_NEW(l->arena, cz_subgroup_part, way->n_parts);
    const int64_t all = cz_subgroup_alone_ps(way, 0);
    if (!cz_cost_stage_mean(l->arena, l->view, l->machine, &call, &cost) ||
        !cost.is_measured || all == 0)
        return false;
    for (int p = 0; p < way->n_parts; p++) {
        const cz_subgroup_part *part = &way->parts[p];
        parts[p] = (cz_subgroup_part){
            (int64_t)((cz_wide)part->compute_ps * cost.time_ps / all),
            (int64_t)((cz_wide)part->exchange_ps * cost.time_ps / all)};
    }
    way->parts = parts;
    return true;
}

/* ---- all of them ---- */

cz_cut_of cz_ways_sharded_along(const cz_plan_view *view, int family)
{
    const cz_view_family *f = &view->families[family];
    const bool rows = f->n_dims > 0 && f->fact->shard.v[0] != 0;
    const bool columns = f->n_dims > 1 && f->fact->shard.v[1] != 0;
    if (rows == columns)
        return CZ_CUT_NONE;
    return rows ? CZ_CUT_ROWS : CZ_CUT_COLUMNS;
}

static int list_forms(const lister *l, int batch, int g, cz_subgroup_way *forms)
{
    cz_subgroup_way way = {.form =
                               g == 1 ? CZ_SUBGROUP_OWNER : CZ_SUBGROUP_GRAM,
                           .batch = batch,
                           .g = g};
    set_parts(l, &way);
    const bool is_measured = take_measured(l, &way);
    set_transfers(l, &way);
    forms[0] = way;
    if (g == 1 || is_measured)
        return 1;
    way = (cz_subgroup_way){.form = CZ_SUBGROUP_SHARED, .batch = batch, .g = g};
    if (!set_parts(l, &way))
        return 1;
    set_transfers(l, &way);
    forms[1] = way;
    return 2;
}

static lister lister_of(cz_arena *arena, const cz_plan_view *view,
                        const cz_machine *machine, const cz_ways_call *call)
{
    return (lister){arena, view, machine, call,
                    cz_share_find(arena, call->stage)};
}

int cz_cost_forms(cz_arena *arena, const cz_plan_view *view,
                  const cz_machine *machine, const cz_ways_call *call,
                  int batch, int g, cz_subgroup_way forms[2])
{
    const lister l = lister_of(arena, view, machine, call);
    return list_forms(&l, batch, g, forms);
}

bool cz_cost_form_shares(cz_arena *scratch, const cz_ways_call *call,
                         const cz_view_stage *body, const cz_subgroup_way *way,
                         cz_step_share *shares)
{
    return share_body(scratch, body, cz_share_find(scratch, call->stage), way,
                      shares);
}

int cz_cost_ways(cz_arena *arena, const cz_plan_view *view,
                 const cz_machine *machine, const cz_ways_call *call,
                 const cz_subgroup_way **ways)
{
    const lister l = lister_of(arena, view, machine, call);
    const int twos = call->width & -call->width;
    const int most = call->max_g < twos ? call->max_g : twos;
    cz_subgroup_way *list = NULL;
    int n = 0;
    for (int g = 1; g == 1 || (g <= most && l.cut != CZ_CUT_NONE); g *= 2) {
        cz_subgroup_way forms[2];
        const int n_forms = list_forms(&l, 1, g, forms);
        for (int f = 0; f < n_forms; f++)
            *CZ_PUSH(arena, list, n) = forms[f];
    }
    *ways = list;
    return n;
}
