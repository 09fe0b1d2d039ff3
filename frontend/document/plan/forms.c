/* In which forms matrices could be updated, and why they are not, as JSON. */
#include "frontend/document/plan/internal.h"

#include <string.h>

#include "dsl/base/arithmetic.h"
#include "passes/cost/wire.h"
#include "passes/cost/time.h"
#include "passes/grid/owned.h"

/* ---- classes ---- */

static void put_steps(cz_report *r, const cz_form_class *of,
                      const cz_form *form)
{
    cz_json *json = &r->json;
    const cz_view_stage *stage = of->call.stage;
    cz_step_cut *step_cuts = CZ_NEW(r->arena, cz_step_cut, stage->n_steps + 1);
    cz_step_kernel *kernels =
        CZ_NEW(r->arena, cz_step_kernel, stage->n_steps + 1);
    cz_json_open(json, "steps", '[');
    if (form->obstacle == CZ_FORM_POSSIBLE && form->subgroup_size > 1) {
        const cz_subgroup_candidate way = {.form = form->form,
                                           .g = (int)form->subgroup_size};
        cz_cost_form_cuts(r->arena, r->view, &of->call, stage, &way, step_cuts);
        cz_cost_kernels(r->arena, stage, step_cuts, form->subgroup_size,
                        kernels);
        for (int s = 0; s < stage->n_steps; s++) {
            const cz_report_exchange exchange = {
                &step_cuts[s],
                cz_cost_behind_bytes(&stage->steps[s], &step_cuts[s],
                                     form->subgroup_size)};
            cz_report_put_kernel(r, &kernels[s], 1, &exchange);
        }
    }
    cz_json_close(json);
}

static void put_batches(cz_report *r, const cz_form_class *of,
                        const cz_form *form)
{
    cz_json *json = &r->json;
    cz_json_open(json, "batches", '[');
    for (int b = 0; form->obstacle == CZ_FORM_POSSIBLE && b < of->n_batches;
         b++) {
        cz_json_open(json, NULL, '{');
        cz_json_int(json, "batch", (int64_t)1 << b);
        cz_json_int(json, "time_ps", form->time_ps[b]);
        cz_json_bool(json, "measured", form->is_measured[b]);
        cz_json_close(json);
    }
    cz_json_close(json);
}

static void put_form(cz_report *r, const cz_form_class *of, const cz_form *form)
{
    cz_json *json = &r->json;
    const bool is_possible = form->obstacle == CZ_FORM_POSSIBLE;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "strategy",
                   form->form == CZ_SUBGROUP_OWNER ? "owner" : "gram");
    cz_json_bool(json, "dealt", form->form == CZ_SUBGROUP_PARTITIONED);
    cz_json_int(json, "group_size", form->subgroup_size);
    cz_json_bool(json, "admitted", is_possible && form->is_admitted);
    cz_json_string(json, "why", cz_form_obstacle_text(form->obstacle));
    put_steps(r, of, form);
    put_batches(r, of, form);
    cz_json_int(json, "link_ps", form->link_ps);
    cz_json_int(json, "bytes", form->wire_bytes);
    cz_json_int(json, "staging_bytes", form->staging_bytes);
    cz_json_close(json);
}

/* Of the parameter as it is stored; -1: no group is possible. */
static int dimension_of(cz_report *r, const cz_form_class *of)
{
    if (of->forms[of->n_forms - 1].obstacle != CZ_FORM_POSSIBLE)
        return -1;
    return cz_share_along(r->arena, r->view, of->call.stage,
                          of->call.sharded) == CZ_CUT_COLUMNS;
}

static void put_class(cz_report *r, const cz_form_class *of)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "rule", r->view->rules[of->rule].fact->sym_name);
    cz_json_int(json, "parameter",
                r->view->patterns[of->first_pattern].first_param);
    cz_json_int(json, "matrices", of->n_matrices);
    cz_json_int(json, "shards", of->n_shards);
    cz_json_int(json, "near", of->call.n_near);
    cz_json_optional(json, "dim", dimension_of(r, of));
    cz_json_open(json, "forms", '[');
    for (int i = 0; i < of->n_forms; i++)
        put_form(r, of, &of->forms[i]);
    cz_json_close(json);
    cz_json_close(json);
}

void cz_report_put_classes(cz_report *r)
{
    cz_json_open(&r->json, "classes", '[');
    for (int c = 0; c < r->forms.n_classes; c++)
        put_class(r, &r->forms.classes[c]);
    cz_json_close(&r->json);
}

/* ---- candidates ---- */

/* One way, alone: kernels, then links. */
typedef struct way {
    int64_t subgroup_size, time_ps, link_ps, wire_bytes;
    bool is_at_shards; /* ranks have what they share */
} way;

int64_t cz_report_spare(const cz_plan_view *view, const cz_metrics *metrics)
{
    const double gathered = (double)cz_gradient_gather_bytes(view);
    if (view->policy->tp_strategy != CZ_STRATEGY_AUTO)
        return INT64_MAX;
    return (int64_t)(gathered * view->policy->wire) -
           metrics->sent[CZ_STEP_TRANSFER].sum -
           metrics->sent[CZ_STEP_GROUP_SUM].sum;
}

static int64_t alone_ps(const way *w)
{
    return cz_time_add(w->time_ps, w->link_ps);
}

/* An owner's kernels are a batch's, as in the plan. */
static way way_of(const cz_report *r, const cz_form_class *of,
                  const cz_form *form)
{
    const int whole = cz_rule_stages_find(r->view, of->rule).full_matrix;
    return (way){form->subgroup_size,
                 form->subgroup_size == 1 ? r->times[whole].time_ps
                                          : form->time_ps[0],
                 form->link_ps, form->wire_bytes, false};
}

/* Of forms of one group from `first` on the last, which is what is executed:
 * what can be dealt out is.  *end: behind them. */
static const cz_form *executed(const cz_form_class *of, int first, int *end)
{
    const cz_form *form = &of->forms[first];
    *end = first + 1;
    while (form->obstacle == CZ_FORM_POSSIBLE && *end < of->n_forms &&
           of->forms[*end].subgroup_size == form->subgroup_size &&
           of->forms[*end].obstacle == CZ_FORM_POSSIBLE)
        form = &of->forms[(*end)++];
    return form;
}

/* What the plan does. */
static way chosen_way(const cz_report *r, const cz_form_class *of, int param)
{
    way w = {r->view->params[param].subgroup_size,
             cz_matrix_time(r->view, r->times, param), 0, 0, false};
    w.is_at_shards = w.subgroup_size > 1 && w.subgroup_size == of->n_shards &&
                     cz_share_keeps_shards(r->arena, r->view, of->call.stage,
                                           of->call.sharded);
    for (int i = 0; i < of->n_forms; i++) {
        const cz_form *form = &of->forms[i];
        if (form->obstacle == CZ_FORM_POSSIBLE &&
            form->subgroup_size == w.subgroup_size) {
            w.link_ps = form->link_ps;
            w.wire_bytes = form->wire_bytes;
        }
    }
    return w;
}

/* Why nobody updates his own shard by himself. */
static const char *why_not_local(const cz_report *r, const cz_form_class *of)
{
    const cz_form *last = &of->forms[of->n_forms - 1];
    if (!cz_share_keeps_shards(r->arena, r->view, of->call.stage,
                               of->call.sharded))
        return "the update needs the whole matrix";
    if (cz_view_is_uneven(&r->view->patterns[of->first_pattern]))
        return "its shards are of unequal length";
    if (last->obstacle != CZ_FORM_POSSIBLE)
        return cz_form_obstacle_text(last->obstacle);
    return cz_share_is_apart(r->arena, of->call.stage, of->call.sharded)
               ? "the schedule asks for another"
               : "it needs sums over other shards";
}

static const char *why_not(const cz_report *r, const cz_form *form,
                           const way *other, const way *chosen)
{
    int64_t largest = 0;
    for (int c = 0; c < r->forms.n_classes; c++)
        largest =
            cz_solve_max(largest, r->forms.classes[c].forms[0].staging_bytes);
    if (!form->is_admitted)
        return "the schedule asks for another";
    if (chosen->is_at_shards && other->wire_bytes > chosen->wire_bytes)
        return "more would travel";
    if (form->staging_bytes >
        cz_candidates_cap(r->view->policy->micro_group_bytes, largest))
        return "its buffers are beyond the cap";
    if (alone_ps(other) >= alone_ps(chosen))
        return "slower by itself";
    if (other->wire_bytes - chosen->wire_bytes > r->spare_bytes)
        return "`wire` does not let matrices send as much";
    if ((cz_wide)other->subgroup_size * other->time_ps >
        (cz_wide)chosen->subgroup_size * chosen->time_ps)
        return "more work in all";
    return "no better for the whole plan";
}

static void put_candidate(cz_report *r, const cz_form_class *of,
                          const cz_form *form, const way *chosen)
{
    const int whole = cz_rule_stages_find(r->view, of->rule).full_matrix;
    const bool is_owner = form->form == CZ_SUBGROUP_OWNER;
    const way other = way_of(r, of, form);
    cz_document_candidate out = {.strategy = is_owner ? "owner" : "gram",
                                 .subgroup_size = form->subgroup_size,
                                 .time_ps = -1,
                                 .wire_bytes = -1,
                                 .why = cz_form_obstacle_text(form->obstacle)};
    if (form->obstacle == CZ_FORM_POSSIBLE) {
        out.time_ps = other.time_ps;
        out.wire_bytes = form->wire_bytes;
        out.is_measured =
            is_owner ? r->times[whole].is_measured : form->is_measured[0];
        out.why = why_not(r, form, &other, chosen);
    }
    cz_json_put_fields(&r->json, NULL, cz_document_candidate_fields, &out);
}

/* All but what the plan has: local, owner, groups by size. */
static void put_others(cz_report *r, const cz_form_class *of, int param)
{
    const way chosen = chosen_way(r, of, param);
    const cz_document_candidate local = {.strategy = "local",
                                         .subgroup_size = 1,
                                         .time_ps = -1,
                                         .wire_bytes = -1,
                                         .why = why_not_local(r, of)};
    if (!cz_view_is_apart(r->view, param))
        cz_json_put_fields(&r->json, NULL, cz_document_candidate_fields,
                           &local);
    for (int i = 0, end; i < of->n_forms; i = end) {
        const cz_form *form = executed(of, i, &end);
        if (form->obstacle != CZ_FORM_POSSIBLE ||
            form->subgroup_size != chosen.subgroup_size)
            put_candidate(r, of, form, &chosen);
    }
}

void cz_report_put_candidates(cz_report *r, int param)
{
    const int class = r->forms.n_classes > 0
                          ? r->forms.class_of[r->view->params[param].pattern]
                          : -1;
    cz_json_optional(&r->json, "class", class);
    cz_json_open(&r->json, "candidates", '[');
    if (class >= 0)
        put_others(r, &r->forms.classes[class], param);
    cz_json_close(&r->json);
}
