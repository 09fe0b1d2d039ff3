/* A plan as JSON.  Every figure is an integer that follows from the numbers
 * beside it: tests/plan/check_plan.py computes them all again. */
#include "frontend/document/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "frontend/document/plan/internal.h"
#include "frontend/document/read.h"

void cz_report_put_axes(cz_report *r, const char *key, const cz_ints *axes)
{
    cz_json_open(&r->json, key, '[');
    for (int i = 0; i < axes->n; i++)
        cz_json_string(&r->json, NULL, r->view->mesh->axes.v[axes->v[i]]);
    cz_json_close(&r->json);
}

void cz_report_put_real(cz_report *r, const char *key, double value)
{
    enum { EXACT_DIGITS = 17 };
    char text[32];
    int n = 0;
    do
        snprintf(text, sizeof text, "%.*g", ++n, value);
    while (n < EXACT_DIGITS && strtod(text, NULL) != value);
    cz_json_string(&r->json, key, text);
}

static void put_header(cz_report *r, const char *hash)
{
    const cz_fact_program *program = r->view->program;
    cz_json *json = &r->json;
    cz_json_string(json, "schema", "canzona.plan/3");
    cz_json_open(json, "header", '{');
    cz_json_string(json, "name", program->name);
    cz_json_string(json, "compiler", program->compiler);
    cz_json_string(json, "source_hash", program->source_hash);
    cz_json_string(json, "plan_hash", hash);
    cz_json_string(json, "objective", "least time on the busiest rank");
    cz_json_bool(json, "strict", program->strict != 0);
    cz_json_open(json, "units", '{');
    cz_json_string(json, "offsets", "elements");
    cz_json_string(json, "flops", "floating-point operations");
    cz_json_string(json, "time", "picoseconds");
    cz_json_string(json, "memory", "bytes");
    cz_json_string(json, "wire", "bytes");
    cz_json_close(json);
    cz_json_close(json);
}

static void put_mesh(cz_report *r)
{
    const cz_fact_mesh *mesh = r->view->mesh;
    cz_json *json = &r->json;
    cz_json_open(json, "mesh", '{');
    cz_json_open(json, "axes", '[');
    for (int i = 0; i < mesh->axes.n; i++) {
        cz_json_open(json, NULL, '{');
        cz_json_string(json, "name", mesh->axes.v[i]);
        cz_json_int(json, "size", mesh->sizes.v[i]);
        cz_json_close(json);
    }
    cz_json_close(json);
    cz_json_open(json, "names", '[');
    for (int i = 0; i < mesh->names.n; i++) {
        int64_t storage[CZ_VIEW_MAX_AXES];
        const cz_ints axes = cz_view_axes_of(r->view, mesh->sets.v[i], storage);
        cz_json_open(json, NULL, '{');
        cz_json_string(json, "name", mesh->names.v[i]);
        cz_report_put_axes(r, "axes", &axes);
        cz_json_close(json);
    }
    cz_json_close(json);
    cz_json_int(json, "ranks", r->view->n_ranks);
    cz_json_close(json);
}

static void put_reductions(cz_report *r)
{
    cz_json *json = &r->json;
    cz_json_open(json, "reductions", '[');
    for (int i = 0; i < r->view->n_reductions; i++) {
        const cz_fact_reduction *reduction = &r->view->reductions[i];
        cz_json_open(json, NULL, '{');
        cz_json_string(json, "name", reduction->sym_name);
        cz_json_string(json, "dtype", cz_dtype_name(reduction->dtype));
        cz_report_put_axes(r, "reduce_axes", &reduction->reduce_axes);
        cz_report_put_axes(r, "split_axes", &reduction->split_axes);
        cz_json_int(json, "leaves", reduction->n_grads);
        cz_json_int(json, "terms", reduction->divisor);
        cz_json_close(json);
    }
    cz_json_close(json);
}

static void put_policy(cz_report *r)
{
    const cz_fact_policy *policy = r->view->policy;
    cz_json *json = &r->json;
    cz_json_open(json, "policy", '{');
    cz_json_string(json, "master_dtype", cz_dtype_name(policy->master_dtype));
    cz_report_put_real(r, "clip", policy->clip);
    cz_json_bool(json, "skip", policy->skip != 0);
    cz_json_int(json, "bucket_elements", policy->bucket_elements);
    cz_json_bool(json, "bucket_is_free", policy->bucket_is_free != 0);
    cz_json_int(json, "micro_group_bytes", policy->micro_group_bytes);
    cz_json_string(json, "tp_strategy", cz_strategy_word(policy->tp_strategy));
    cz_json_int(json, "tp_subgroup", policy->tp_subgroup);
    cz_json_int(json, "memory_bytes", policy->memory_bytes);
    cz_json_string(json, "form", cz_iteration_word(policy->form));
    cz_json_string(json, "geometry", cz_geometry_word(policy->geometry));
    cz_json_string(json, "layout", cz_layout_word(policy->layout));
    cz_json_bool(json, "layout_is_free", policy->layout_is_free != 0);
    cz_json_bool(json, "joins_updates", policy->joins_updates != 0);
    cz_report_put_real(r, "tolerance", policy->tolerance);
    cz_report_put_real(r, "wire", policy->wire);
    cz_json_int(json, "tokens", policy->tokens);
    cz_json_int(json, "active", policy->active);
    cz_json_close(json);
}

static void find_groups(cz_arena *arena, cz_report *r)
{
    int *micro_group_of = CZ_NEW(arena, int, r->view->n_params);
    r->micro_groups =
        cz_report_micro_groups(arena, r->view, &r->n_micro_groups);
    for (int p = 0; p < r->view->n_params; p++)
        micro_group_of[p] = -1;
    for (int g = 0; g < r->n_micro_groups; g++)
        for (int i = 0; i < r->micro_groups[g].n; i++)
            micro_group_of[r->micro_groups[g].params[i]] = g;
    r->micro_group_of = micro_group_of;
}

static void find_times(cz_report *r)
{
    r->has_machine = cz_machine_of(r->arena, r->view, &r->machine);
    if (r->has_machine) {
        r->times = cz_stage_times(r->arena, r->view, &r->machine);
        r->forms = cz_forms_find(r->arena, r->view, &r->machine);
    } else {
        r->times = CZ_NEW(r->arena, cz_stage_time, r->view->n_stages + 1);
    }
    r->rank_ps = cz_rank_times(r->arena, r->view, r->times);
}

static json_t *put_plan(const cz_json *json, const cz_plan_view *view,
                        const cz_metrics *metrics, const char *hash,
                        bool baselines)
{
    cz_arena arena;
    cz_arena_init(&arena);
    cz_report r = {.arena = &arena,
                   .json = *json,
                   .view = view,
                   .metrics = metrics,
                   .frequencies = cz_frequencies(&arena, view, CZ_MEAN_UPDATE)};
    r.spare_bytes = cz_report_spare(view, r.metrics);
    find_groups(&arena, &r);
    find_times(&r);
    cz_json_open(&r.json, NULL, '{');
    put_header(&r, hash);
    put_mesh(&r);
    put_policy(&r);
    cz_report_put_rules(&r);
    put_reductions(&r);
    cz_report_put_lists(&r);
    cz_report_put_schedule(&r);
    cz_report_put_metrics(&r);
    cz_json_open(&r.json, "baselines", '[');
    if (baselines)
        cz_report_put_baselines(&r);
    cz_json_close(&r.json);
    cz_report_put_constants(&r);
    cz_report_put_micro_group_choices(&r);
    cz_report_put_gpu(&r);
    cz_json_close(&r.json);
    cz_arena_fini(&arena);
    return cz_json_tree(&r.json);
}

void cz_report_json(const cz_plan_view *view, const cz_metrics *metrics,
                    const char *hash, bool baselines, cz_text *out)
{
    cz_json json;
    cz_json_init(&json, out);
    put_plan(&json, view, metrics, hash, baselines);
}

const cz_document *cz_report_document(cz_arena *arena, const cz_plan_view *view,
                                      const cz_metrics *metrics,
                                      const char *hash, bool baselines,
                                      const char *name, cz_diags *diags)
{
    cz_document *out = CZ_NEW(arena, cz_document, 1);
    cz_json json;
    cz_json_init_tree(&json);
    json_t *tree = put_plan(&json, view, metrics, hash, baselines);
    const bool ok = cz_document_read_tree(arena, name, tree, diags, out);
    json_decref(tree);
    return ok ? out : NULL;
}
