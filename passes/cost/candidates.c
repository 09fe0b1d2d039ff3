/* Ways from the costs of steps: kernels between two collectives are a part. */
#include "passes/cost/candidates.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"
#include "passes/cost/step.h"
#include "passes/cost/time.h"

typedef struct lister {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    const cz_candidates_call *call;
    cz_cut_of cut;
} lister;

/* ---- parts ---- */

typedef struct sums {
    cz_wide compute_ps, exchange_ps;
} sums;

/* Of all bodies of the stage, each as often as it runs. */
typedef struct total {
    int n;
    sums *segments;
    cz_wide wire_bytes;
    int64_t square_bytes; /* of the largest sum, and what is gathered of it */
} total;

int64_t cz_cost_behind_bytes(const cz_view_step *step, const cz_step_cut *cut,
                             int64_t subgroup_size)
{
    const cz_wide elements = (cz_wide)step->rows * step->columns /
                             (cut->scatter ? subgroup_size : 1);
    int64_t bytes = cz_dtype_bytes(cz_share_sum_dtype(step)) +
                    cz_dtype_bytes(step->out_dtype[0]);
    if (!cut->inner || cz_share_is_plain(step))
        return 0;
    for (int i = 2; i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_ELEMENT)
            bytes += cz_dtype_bytes(step->out_dtype[0]);
    return cz_time_limit(elements * bytes);
}

/* False when there is nothing to deal out. */
static bool share_body(cz_arena *arena, const cz_view_stage *body,
                       cz_cut_of cut, const cz_subgroup_candidate *candidate,
                       cz_step_cut *step_cuts)
{
    cz_step_cuts_find(arena, body, cut, step_cuts, NULL);
    for (int s = 0; s < body->n_steps; s++)
        if (step_cuts[s].inner)
            step_cuts[s].sum_bytes = cz_time_limit(
                (cz_wide)body->steps[s].rows * body->steps[s].columns *
                cz_dtype_bytes(cz_share_sum_dtype(&body->steps[s])));
    if (candidate->form != CZ_SUBGROUP_PARTITIONED)
        return true;
    if (!cz_step_cuts_partition(body, candidate->g, step_cuts))
        return false;
    cz_share_scatter(arena, body, candidate->g, step_cuts);
    return true;
}

/* Adds a body that runs so many times. */
static void add_body(const lister *l, const cz_stage_call *call,
                     const cz_step_cut *step_cuts, int64_t times, total *sum)
{
    const int n = call->stage->n_steps;
    cz_step_cost *costs = CZ_NEW(l->arena, cz_step_cost, n);
    int64_t most_sum = 0, most_gathered = 0;
    int at = 0;
    cz_cost_steps(l->arena, l->machine, call, step_cuts, costs);
    for (int s = 0; s < n; s++) {
        sum->segments[at].compute_ps += (cz_wide)costs[s].compute_ps * times;
        sum->segments[at].exchange_ps += (cz_wide)costs[s].wire_ps * times;
        sum->wire_bytes += (cz_wide)costs[s].wire_bytes * times;
        at += costs[s].wire_ps > 0;
        if (call->subgroup_size == 1)
            continue;
        const int64_t behind = cz_cost_behind_bytes(
            &call->stage->steps[s], &step_cuts[s], call->subgroup_size);
        if (behind > 0)
            sum->segments[at].compute_ps +=
                (cz_wide)cz_time_map(
                    l->machine, cz_time_limit((cz_wide)behind * call->batch)) *
                times;
        if (step_cuts[s].sum_bytes > most_sum)
            most_sum = step_cuts[s].sum_bytes;
        if (step_cuts[s].gather_bytes > most_gathered)
            most_gathered = step_cuts[s].gather_bytes;
    }
    if (at < n && sum->segments[at].compute_ps > 0)
        at++;
    sum->n = at > sum->n ? at : sum->n;
    const int64_t bytes = (most_sum + most_gathered) * call->batch;
    sum->square_bytes = bytes > sum->square_bytes ? bytes : sum->square_bytes;
}

static bool add_bodies(const lister *l, const cz_subgroup_candidate *candidate,
                       const int64_t *counts, total *sum)
{
    const cz_view_stage *stage = l->call->stage;
    bool is_possible = candidate->form != CZ_SUBGROUP_PARTITIONED;
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        cz_step_cut *step_cuts = CZ_NEW(l->arena, cz_step_cut, body->n_steps);
        if (candidate->g > 1 &&
            share_body(l->arena, body, l->cut, candidate, step_cuts))
            is_possible = true;
        const cz_stage_call call = {.stage = body,
                                    .batch = candidate->batch,
                                    .subgroup_size = candidate->g,
                                    .cut = l->cut,
                                    .link = candidate->g <= l->call->n_near
                                                ? CZ_LINK_NODE
                                                : CZ_LINK_NETWORK};
        add_body(l, &call, step_cuts, counts[i], sum);
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
static bool set_parts(const lister *l, cz_subgroup_candidate *candidate)
{
    int64_t counts[CZ_MAX_PHASES];
    const int64_t updates =
        cz_cost_frequencies(l->view, l->call->stage, counts);
    total sum = {0};
    sum.segments = CZ_NEW(l->arena, sums, most_steps(l->call->stage) + 1);
    if (!add_bodies(l, candidate, counts, &sum))
        return false;
    cz_subgroup_segment *segments =
        CZ_NEW(l->arena, cz_subgroup_segment, sum.n + 1);
    for (int p = 0; p < sum.n; p++)
        segments[p] =
            (cz_subgroup_segment){mean(sum.segments[p].compute_ps, updates),
                                  mean(sum.segments[p].exchange_ps, updates)};
    candidate->segments = segments;
    candidate->n_segments = sum.n;
    candidate->wire_bytes = mean(sum.wire_bytes, updates) * candidate->g;
    candidate->staging_bytes = candidate->g > 1 ? sum.square_bytes : 0;
    return true;
}

/* ---- gather and scatter ---- */

int64_t cz_candidates_stride(int64_t width, bool is_near, int64_t g)
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

static int shards_of(const cz_candidates_call *call)
{
    return call->n_shards > 0 ? call->n_shards : call->width;
}

static void set_transfers(const lister *l, cz_subgroup_candidate *candidate)
{
    const cz_view_stage *stage = l->call->stage;
    const int width = l->call->width, n_shards = shards_of(l->call);
    const int64_t in =
        cz_view_element_bytes(stage->in, stage->n_in, CZ_SLOT_GATHER);
    const int64_t out =
        cz_view_element_bytes(stage->out, stage->n_out, CZ_SLOT_SCATTER);
    const int64_t all = elements_of(l, candidate->batch),
                  shard = all / n_shards;
    const int64_t part = cz_ceil_div(all, candidate->g);
    const bool across = candidate->g > 1 && l->call->sharded != l->cut;
    const bool is_near = width == n_shards && n_shards <= l->call->n_near;
    const bool is_apart =
        candidate->g > 1 &&
        cz_candidates_stride(n_shards, is_near, candidate->g) * candidate->g !=
            n_shards;
    const int64_t own = across ? shard / candidate->g : is_apart ? 0 : shard;
    const int64_t travels = part - own;
    const cz_link_speed link = cz_machine_link(
        l->machine,
        n_shards <= l->call->n_near ? CZ_LINK_NODE : CZ_LINK_NETWORK);
    if (travels == 0)
        return;
    candidate->gather_ps = cz_time_of((cz_wide)travels * in, link.rate);
    candidate->scatter_ps = cz_time_of((cz_wide)travels * out, link.rate);
    candidate->wire_bytes = cz_time_limit(
        candidate->wire_bytes + (cz_wide)travels * candidate->g * (in + out));
    candidate->staging_bytes =
        cz_time_limit(candidate->staging_bytes + (cz_wide)part * in);
}

/* ---- measured times ---- */

/* The parts of a measured way take together what was measured, but for
 * rounding.  False: it was not measured. */
static bool take_measured(const lister *l, cz_subgroup_candidate *candidate)
{
    const cz_stage_call call = {.stage = l->call->stage,
                                .batch = candidate->batch,
                                .subgroup_size = candidate->g,
                                .cut = l->cut};
    cz_stage_cost cost;
    cz_subgroup_segment *segments =
        CZ_NEW(l->arena, cz_subgroup_segment, candidate->n_segments);
    const int64_t all = cz_subgroup_alone_ps(candidate, 0);
    if (!cz_cost_stage_mean(l->arena, l->view, l->machine, &call, &cost) ||
        !cost.is_measured || all == 0)
        return false;
    for (int p = 0; p < candidate->n_segments; p++) {
        const cz_subgroup_segment *part = &candidate->segments[p];
        segments[p] = (cz_subgroup_segment){
            (int64_t)((cz_wide)part->compute_ps * cost.time_ps / all),
            (int64_t)((cz_wide)part->exchange_ps * cost.time_ps / all)};
    }
    candidate->segments = segments;
    return true;
}

/* ---- all of them ---- */

cz_cut_of cz_candidates_sharded_along(const cz_plan_view *view, int pattern)
{
    const cz_view_pattern *f = &view->patterns[pattern];
    const bool rows = f->n_dims > 0 && f->fact->shard.v[0] != 0;
    const bool columns = f->n_dims > 1 && f->fact->shard.v[1] != 0;
    if (rows == columns)
        return CZ_CUT_NONE;
    return rows ? CZ_CUT_ROWS : CZ_CUT_COLUMNS;
}

static int list_forms(const lister *l, int batch, int g,
                      cz_subgroup_candidate *forms)
{
    cz_subgroup_candidate candidate = {.form = g == 1 ? CZ_SUBGROUP_OWNER
                                                      : CZ_SUBGROUP_GRAM,
                                       .batch = batch,
                                       .g = g};
    set_parts(l, &candidate);
    const bool is_measured = take_measured(l, &candidate);
    set_transfers(l, &candidate);
    forms[0] = candidate;
    if (g == 1 || is_measured)
        return 1;
    candidate = (cz_subgroup_candidate){
        .form = CZ_SUBGROUP_PARTITIONED, .batch = batch, .g = g};
    if (!set_parts(l, &candidate))
        return 1;
    set_transfers(l, &candidate);
    forms[1] = candidate;
    return 2;
}

static lister lister_of(cz_arena *arena, const cz_plan_view *view,
                        const cz_machine *machine,
                        const cz_candidates_call *call)
{
    return (lister){arena, view, machine, call,
                    cz_share_along(arena, view, call->stage, call->sharded)};
}

int cz_cost_forms(cz_arena *arena, const cz_plan_view *view,
                  const cz_machine *machine, const cz_candidates_call *call,
                  int batch, int g, cz_subgroup_candidate forms[2])
{
    const lister l = lister_of(arena, view, machine, call);
    return list_forms(&l, batch, g, forms);
}

bool cz_cost_form_cuts(cz_arena *scratch, const cz_plan_view *view,
                       const cz_candidates_call *call,
                       const cz_view_stage *body,
                       const cz_subgroup_candidate *candidate,
                       cz_step_cut *step_cuts)
{
    return share_body(scratch, body,
                      cz_share_along(scratch, view, call->stage, call->sharded),
                      candidate, step_cuts);
}

int cz_cost_candidates(cz_arena *arena, const cz_plan_view *view,
                       const cz_machine *machine,
                       const cz_candidates_call *call,
                       const cz_subgroup_candidate **candidates)
{
    const lister l = lister_of(arena, view, machine, call);
    const int twos = call->width & -call->width;
    const int most = call->max_g < twos ? call->max_g : twos;
    cz_subgroup_candidate *list = NULL;
    int n = 0;
    for (int g = 1; g == 1 || (g <= most && l.cut != CZ_CUT_NONE); g *= 2) {
        cz_subgroup_candidate forms[2];
        const int n_forms = list_forms(&l, 1, g, forms);
        for (int f = 0; f < n_forms; f++)
            *CZ_PUSH(arena, list, n) = forms[f];
    }
    *candidates = list;
    return n;
}

int64_t cz_candidates_cap(int64_t asked, int64_t largest)
{
    const int64_t least = (int64_t)1 << 30;
    const int64_t both = cz_limited_add(largest, largest);
    return asked > 0 ? asked : both > least ? both : least;
}
