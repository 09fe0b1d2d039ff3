/* What the planner compared: geometries of slices, micro-groups. */
#include "frontend/document/plan/geometry.h"
#include "frontend/document/plan/internal.h"

static void put_option(cz_json *json, const cz_sheet_option *option)
{
    cz_json_open(json, '{');
    cz_json_put_string(json, "geometry", option->name);
    cz_json_put_int(json, "load_ps", option->load_ps);
    cz_json_put_int(json, "wire_ps", option->wire_ps);
    cz_json_put_bool(json, "keeps_state_cap", option->is_kept);
    cz_json_put_int(json, "best_ps", option->best_ps);
    cz_json_put_int(json, "worst_ps", option->worst_ps);
    cz_json_put_optional(json, "break_even", option->break_even);
    cz_json_close(json, '}');
}

static void put_geometry(cz_report *r, const cz_fact_geometry *fact)
{
    cz_json *json = &r->json;
    const cz_sheet_geometry geometry =
        cz_report_geometry(r->arena, r->view, fact);
    cz_json_open(json, '{');
    cz_json_put_ints(json, "buckets", fact->buckets.v, fact->buckets.n);
    cz_json_put_string(json, "chosen", geometry.chosen);
    cz_json_put_int(json, "low", geometry.low);
    cz_json_put_int(json, "high", geometry.high);
    cz_json_key(json, "options");
    cz_json_open(json, '[');
    for (int i = 0; i < geometry.n_options; i++)
        put_option(json, &geometry.options[i]);
    cz_json_close(json, ']');
    cz_json_close(json, '}');
}

void cz_report_put_geometries(cz_report *r)
{
    cz_json_key(&r->json, "geometries");
    cz_json_open(&r->json, '[');
    for (int i = 0; i < r->view->n_geometries; i++)
        put_geometry(r, &r->view->geometries[i]);
    cz_json_close(&r->json, ']');
}

void cz_report_put_groupings(cz_report *r)
{
    const cz_fact_grouping *fact = r->view->grouping;
    cz_json_key(&r->json, "groupings");
    cz_json_open(&r->json, '[');
    for (int i = 0; fact && i < fact->n_groups.n; i++) {
        cz_json_open(&r->json, '{');
        cz_json_put_int(&r->json, "groups", fact->n_groups.v[i]);
        cz_json_put_int(&r->json, "time_ps", fact->time_ps.v[i]);
        cz_json_close(&r->json, '}');
    }
    cz_json_close(&r->json, ']');
}
