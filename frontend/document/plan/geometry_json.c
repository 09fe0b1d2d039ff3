/* What the planner compared: geometries of slices, micro-groups. */
#include "frontend/document/plan/geometry.h"
#include "frontend/document/plan/internal.h"

static void put_geometry(cz_report *r, const cz_fact_geometry *fact)
{
    cz_json *json = &r->json;
    const cz_document_geometry geometry =
        cz_report_geometry(r->arena, r->view, fact);
    cz_json_open(json, NULL, '{');
    cz_json_ints(json, "buckets", fact->buckets.v, fact->buckets.n);
    cz_json_string(json, "chosen", geometry.chosen);
    cz_json_int(json, "low", geometry.low);
    cz_json_int(json, "high", geometry.high);
    cz_json_put_list(json, "options", cz_document_option_fields,
                     sizeof *geometry.options, geometry.options,
                     geometry.n_options);
    cz_json_close(json);
}

void cz_report_put_geometries(cz_report *r)
{
    cz_json_open(&r->json, "geometries", '[');
    for (int i = 0; i < r->view->n_geometries; i++)
        put_geometry(r, &r->view->geometries[i]);
    cz_json_close(&r->json);
}

void cz_report_put_groupings(cz_report *r)
{
    const cz_fact_grouping *fact = r->view->grouping;
    cz_json_open(&r->json, "groupings", '[');
    for (int i = 0; fact && i < fact->n_groups.n; i++) {
        cz_json_open(&r->json, NULL, '{');
        cz_json_int(&r->json, "groups", fact->n_groups.v[i]);
        cz_json_int(&r->json, "time_ps", fact->time_ps.v[i]);
        cz_json_close(&r->json);
    }
    cz_json_close(&r->json);
}
