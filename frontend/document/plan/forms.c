/* In which forms matrices could be updated, as JSON. */
#include "frontend/document/plan/candidates.h"
#include "frontend/document/plan/internal.h"

/* ---- classes ---- */

static void put_steps(cz_report *r, const cz_form_class *of,
                      const cz_form *form)
{
    cz_json *json = &r->json;
    const cz_view_stage *stage = of->call.stage;
    cz_step_share *shares = CZ_NEW(r->arena, cz_step_share, stage->n_steps + 1);
    cz_step_kernel *kernels =
        CZ_NEW(r->arena, cz_step_kernel, stage->n_steps + 1);
    cz_json_open(json, "steps", '[');
    if (form->obstacle == CZ_FORM_POSSIBLE && form->group > 1) {
        const cz_subgroup_way way = {.form = form->form, .g = (int)form->group};
        cz_cost_form_shares(r->arena, &of->call, stage, &way, shares);
        cz_cost_kernels(r->arena, stage, shares, form->group, kernels);
        for (int s = 0; s < stage->n_steps; s++) {
            const cz_report_exchange exchange = {
                &shares[s], cz_cost_behind_bytes(&stage->steps[s], &shares[s],
                                                 form->group)};
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
    cz_json_bool(json, "dealt", form->form == CZ_SUBGROUP_SHARED);
    cz_json_int(json, "group_size", form->group);
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
    return cz_share_find(r->arena, of->call.stage) == CZ_CUT_COLUMNS;
}

static void put_class(cz_report *r, const cz_form_class *of)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "rule", r->view->rules[of->rule].fact->sym_name);
    cz_json_int(json, "parameter",
                r->view->families[of->first_family].first_param);
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

static void put_candidate(cz_report *r, const cz_candidate *it)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "strategy", it->strategy);
    cz_json_int(json, "group_size", it->group);
    cz_json_optional(json, "time_ps", it->time_ps);
    cz_json_bool(json, "measured", it->is_measured);
    cz_json_optional(json, "bytes", it->wire_bytes);
    cz_json_string(json, "why", it->why);
    cz_json_close(json);
}

void cz_report_put_candidates(cz_report *r, int param)
{
    const int class = r->forms.n_classes > 0
                          ? r->forms.class_of[r->view->params[param].family]
                          : -1;
    int n = 0;
    const cz_candidate *list =
        class < 0 ? NULL
                  : cz_candidates_find(r->arena, r->view, r->times, &r->forms,
                                       r->spare_bytes, param, &n);
    cz_json_optional(&r->json, "class", class);
    cz_json_open(&r->json, "candidates", '[');
    for (int i = 0; i < n; i++)
        put_candidate(r, &list[i]);
    cz_json_close(&r->json);
}
