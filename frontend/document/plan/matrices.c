/* Parameters, matrices, buckets and micro-groups as JSON. */
#include "frontend/document/plan/internal.h"
#include "frontend/document/plan/pipeline.h"

#include "dsl/plan/error_bound.h"
#include "dsl/plan/state.h"

/* ---- what is planned ---- */

static void put_shard(cz_report *r, const cz_view_pattern *pattern)
{
    cz_json *json = &r->json;
    cz_json_open(json, "shard", '[');
    for (int d = 0; d < pattern->fact->shard.n; d++) {
        int64_t storage[CZ_VIEW_MAX_AXES];
        const cz_ints axes =
            cz_view_axes_of(r->view, pattern->fact->shard.v[d], storage);
        cz_report_put_axes(r, NULL, &axes);
    }
    cz_json_close(json);
}

/* Per dimension the first element and the end of each shard, or null; null
 * where all dimensions are cut to equal parts. */
static void put_bounds(cz_report *r, const cz_view_cuts *bounds,
                       const cz_ints *shard)
{
    cz_json *json = &r->json;
    bool any = false;
    for (int d = 0; d < shard->n; d++)
        any |= bounds->of[d] != NULL;
    if (!any) {
        cz_json_string(json, "bounds", NULL);
        return;
    }
    cz_json_open(json, "bounds", '[');
    for (int d = 0; d < shard->n; d++)
        if (bounds->of[d])
            cz_json_ints(json, NULL, bounds->of[d],
                         2 * cz_view_set_extent(r->view, shard->v[d]));
        else
            cz_json_string(json, NULL, NULL);
    cz_json_close(json);
}

/* The tensor that holds a piece, and where in it; null: stored as it is. */
static void put_stored(cz_report *r, const cz_view_param *p,
                       const cz_view_pattern *pattern)
{
    cz_json *json = &r->json;
    if (!pattern->stored) {
        cz_json_string(json, "stored", NULL);
        return;
    }
    const cz_view_storage *storage = &r->view->storages[pattern->storage];
    const cz_ints extents = pattern->fact->extents;
    const int64_t batch = pattern->stored->batch ? extents.v[extents.n - 1] : 1;
    const int64_t number = p - r->view->params - pattern->first_param;
    const cz_ints map = pattern->stored->map;
    const int skipped = 3 * (int)pattern->stored->batch;
    cz_json_open(json, "stored", '{');
    cz_json_string(json, "name",
                   storage->names[number / batch * storage->expert_extent]);
    cz_json_ints(json, "shape", storage->fact->shape.v, storage->fact->shape.n);
    put_bounds(r, &storage->bounds, &storage->fact->shard);
    cz_json_optional(json, "batch", skipped ? number % batch : -1);
    cz_json_ints(json, "map", map.v + skipped, map.n - skipped);
    cz_json_close(json);
}

/* The axes along which other ranks hold other parameters in this one's place,
 * and the names that it has there. */
static void put_summary(cz_report *r, const cz_view_param *p,
                        const cz_view_pattern *pattern)
{
    cz_json *json = &r->json;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes =
        cz_view_axes_of(r->view, pattern->fact->expert_axes, storage);
    cz_report_put_axes(r, "spread", &axes);
    cz_json_open(json, "names", '[');
    for (int64_t c = 0; axes.n > 0 && c < pattern->expert_extent; c++)
        cz_json_string(json, NULL, p->names[c]);
    cz_json_close(json);
}

/* Who has it, and which stages these are. */
static void put_home(cz_report *r, const cz_fact_pattern *pattern)
{
    cz_json *json = &r->json;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes =
        cz_view_axes_of(r->view, pattern->resident_axes, storage);
    const int64_t n = cz_report_n_stages(r->view);
    cz_json_open(json, "home", '{');
    cz_report_put_axes(r, "axes", &axes);
    cz_json_ints(json, "coordinates", pattern->residents.v,
                 pattern->residents.n);
    cz_json_close(json);
    cz_json_open(json, "stage", '[');
    for (int64_t s = 0; cz_report_is_staged(r->view, pattern) && s < n; s++)
        if (cz_report_has_stage(r->view, pattern, s))
            cz_json_int(json, NULL, s);
    cz_json_close(json);
}

/* How a parameter is trained; all NULL where it is not. */
typedef struct training {
    const char *subgroup_size, *optimizer, *rule, *reduction, *grad, *master;
} training;

static training training_of(const cz_plan_view *view, const cz_view_param *p)
{
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    const cz_view_rule *rule = &view->rules[pattern->rule];
    const cz_fact_use *use = view->uses[rule->use];
    const bool has_master = view->buckets[p->bucket].has_master;
    return (training){use->sym_name,
                      use->optimizer,
                      rule->fact->sym_name,
                      view->reductions[pattern->reduction].sym_name,
                      cz_dtype_name(view->reductions[pattern->reduction].dtype),
                      cz_dtype_name(has_master ? view->policy->master_dtype
                                               : pattern->dtype)};
}

static void put_parameter(cz_report *r, const char *name,
                          const cz_view_param *p,
                          const cz_view_pattern *pattern, const training *how,
                          const char *tied_to)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", name);
    cz_json_ints(json, "shape", pattern->fact->shape.v, pattern->fact->shape.n);
    cz_json_string(json, "dtype", cz_dtype_name(pattern->dtype));
    put_shard(r, pattern);
    put_bounds(r, &pattern->bounds, &pattern->fact->shard);
    put_stored(r, p, pattern);
    cz_json_string(json, "group", how->subgroup_size);
    cz_json_string(json, "optimizer", how->optimizer);
    cz_json_string(json, "rule", how->rule);
    cz_json_string(json, "reduction", how->reduction);
    cz_json_optional(json, "turn", pattern->stagger ? p->stagger_offset : -1);
    put_summary(r, p, pattern);
    cz_json_int(json, "element_count", pattern->elements);
    cz_json_int(json, "local_elements", pattern->local_elements);
    cz_json_int(json, "matrices", p->split_owner >= 0);
    put_home(r, pattern->fact);
    cz_json_string(json, "tied_to", tied_to);
    cz_json_string(json, "grad", how->grad);
    cz_json_string(json, "master", how->master);
    cz_json_optional(json, "bucket", p->bucket);
    cz_json_optional(json, "offset", p->bucket < 0 ? -1 : p->offset);
    cz_json_close(json);
}

static void put_trained(cz_report *r, int param, const char *name,
                        const char *tied_to)
{
    const cz_view_param *p = &r->view->params[param];
    const training how = training_of(r->view, p);
    put_parameter(r, name, p, &r->view->patterns[p->pattern], &how, tied_to);
}

/* Trained parameters by number, frozen ones, then names of ties. */
static void put_parameters(cz_report *r)
{
    const cz_plan_view *view = r->view;
    for (int i = 0; i < view->n_params; i++)
        put_trained(r, i, view->params[i].name, NULL);
    for (int i = 0; i < view->n_frozen_params; i++) {
        const cz_view_param *p = &view->frozen_params[i];
        put_parameter(r, p->name, p, &view->frozen_patterns[p->pattern],
                      &(training){0}, NULL);
    }
    for (int t = 0; t < view->n_ties; t++) {
        const cz_view_tie *tie = &view->ties[t];
        for (int i = 0; i < tie->n_names; i++)
            put_trained(r, tie->param, tie->names[i],
                        view->params[tie->param].name);
    }
}

/* Of one that is whole; that of others is the parameter's. */
static void put_state_shape(cz_report *r, const cz_fact_rule *rule, int state)
{
    const bool is_full_matrix = cz_state_is_owned(rule, state);
    const cz_ints shape = {cz_state_shape(rule, state), is_full_matrix ? 2 : 0};
    cz_json_bool(&r->json, "diagonal", rule->state_diagonal.v[state]);
    cz_json_bool(&r->json, "symmetric", rule->state_symmetric.v[state]);
    cz_json_bool(&r->json, "whole", is_full_matrix);
    cz_json_ints(&r->json, "shape", shape.v, shape.n);
}

static void put_states(cz_report *r)
{
    const cz_plan_view *view = r->view;
    cz_json *json = &r->json;
    for (int i = 0; i < view->n_rules; i++) {
        const cz_fact_rule *rule = view->rules[i].fact;
        for (int k = 0; k < rule->states.n; k++) {
            cz_json_open(json, NULL, '{');
            cz_json_string(json, "rule", rule->sym_name);
            cz_json_string(json, "name", rule->states.v[k]);
            cz_json_string(json, "dtype", rule->state_dtypes.v[k]);
            cz_report_put_real(r, "init", rule->state_init.v[k]);
            put_state_shape(r, rule, k);
            cz_json_bool(json, "extern", cz_state_is_extern(rule, k));
            cz_json_close(json);
        }
    }
}

/* ---- how ---- */

static void put_matrix(cz_report *r, int param)
{
    const cz_view_param *p = &r->view->params[param];
    const cz_view_pattern *pattern = &r->view->patterns[p->pattern];
    const cz_ints shape = pattern->fact->shape;
    const cz_view_stage *whole =
        cz_report_stage(r->view, param, CZ_WHERE_FULL_MATRIX);
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_int(json, "parameter", param);
    cz_json_string(json, "view", pattern->stored ? "piece" : "whole");
    cz_json_int(json, "rows", shape.v[0]);
    cz_json_int(json, "cols", shape.n > 1 ? shape.v[1] : 1);
    cz_json_int(json, "batch", pattern->expert_extent);
    cz_json_string(json, "strategy",
                   cz_view_is_apart(r->view, param) ? "local"
                   : p->subgroup_size > 1           ? "gram"
                                                    : "owner");
    cz_json_int(json, "group_size", p->subgroup_size);
    cz_json_int(json, "stride", p->stride);
    cz_json_open(json, "owner", '{');
    cz_json_int(json, "split", p->split_owner);
    cz_json_optional(json, "shard", p->shard_owner);
    cz_json_close(json);
    cz_json_optional(json, "micro_group", r->micro_group_of[param]);
    cz_json_open(json, "cost", '{');
    cz_json_int(json, "flops", cz_metrics_item_flops(r->view, param));
    cz_json_int(json, "time_ps", cz_matrix_time(r->view, r->times, param));
    cz_json_int(
        json, "bytes",
        cz_report_wire(r->view, r->frequencies, param, CZ_SLOT_GATHER) +
            cz_report_wire(r->view, r->frequencies, param, CZ_SLOT_SCATTER));
    cz_json_close(json);
    cz_json_open(json, "wire", '{');
    cz_report_put_slots(r, "gather", whole, CZ_SLOT_GATHER);
    cz_report_put_slots(r, "scatter", whole, CZ_SLOT_SCATTER);
    cz_json_close(json);
    cz_json_open(json, "error_bound", '[');
    cz_json_int(json, NULL, cz_error_bound(r->view, pattern->rule));
    cz_json_int(json, NULL, CZ_ERROR_UNIT);
    cz_json_close(json);
    cz_report_put_candidates(r, param);
    cz_json_close(json);
}

/* Elements of a bucket that no parameter has. */
static int64_t padding_of(const cz_plan_view *view, const cz_fact_bucket *fact)
{
    int64_t pad = fact->length;
    for (int i = 0; i < fact->params.n; i++)
        pad -= view->patterns[view->params[fact->params.v[i]].pattern]
                   .local_elements;
    return pad;
}

/* Each once, in the order in which parameters first have them. */
static void put_groups_of(cz_report *r, const cz_fact_bucket *fact)
{
    const cz_plan_view *view = r->view;
    bool *seen = CZ_NEW(r->arena, bool, view->n_uses + 1);
    cz_json_open(&r->json, "groups", '[');
    for (int i = 0; i < fact->params.n; i++) {
        const int pattern = view->params[fact->params.v[i]].pattern;
        const int use = view->rules[view->patterns[pattern].rule].use;
        if (!seen[use])
            cz_json_string(&r->json, NULL, view->uses[use]->sym_name);
        seen[use] = true;
    }
    cz_json_close(&r->json);
}

static const char *kind_of(const cz_plan_view *view, const cz_fact_bucket *fact)
{
    int n_owned = 0;
    for (int i = 0; i < fact->params.n; i++)
        n_owned += view->params[fact->params.v[i]].split_owner >= 0;
    return n_owned == 0                ? "split"
           : n_owned == fact->params.n ? "owned"
                                       : "mixed";
}

static void put_bucket(cz_report *r, const cz_view_bucket *bucket)
{
    const cz_fact_bucket *fact = bucket->fact;
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    put_groups_of(r, fact);
    cz_json_string(json, "reduction", fact->reduction);
    cz_json_string(json, "dtype", cz_dtype_name(fact->dtype));
    cz_json_string(json, "kind", kind_of(r->view, fact));
    cz_json_string(json, "geometry", cz_geometry_word(fact->geometry));
    cz_json_int(json, "length", fact->length);
    cz_json_int(json, "pad", padding_of(r->view, fact));
    cz_json_ints(json, "order", fact->params.v, fact->params.n);
    cz_json_ints(json, "offsets", fact->offsets.v, fact->offsets.n);
    cz_json_ints(json, "slices", fact->slices.v, fact->slices.n);
    cz_json_close(json);
}

static void put_group(cz_report *r, const cz_micro_group_facts *subgroup_size)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    const int pattern = r->view->params[subgroup_size->params[0]].pattern;
    const cz_ints axes = cz_view_shard_axes(r->view, pattern, storage);
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_report_put_axes(r, "axes", &axes);
    cz_json_int(json, "op", subgroup_size->op);
    cz_json_ints(json, "members", subgroup_size->params, subgroup_size->n);
    cz_json_int(json, "gather_bytes", subgroup_size->gather_bytes);
    cz_json_int(json, "scatter_bytes", subgroup_size->scatter_bytes);
    cz_json_int(json, "peak_bytes", subgroup_size->peak_bytes);
    cz_json_close(json);
}

/* ---- in order ---- */

/* Names with indices in place of numbers, of which turns count some. */
static void put_pattern(cz_report *r, const cz_view_pattern *pattern)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "pattern", pattern->fact->name);
    cz_json_int(json, "parameters", pattern->n_params);
    if (pattern->stagger)
        cz_json_ints(json, "turn_indices", pattern->stagger->indices.v,
                     pattern->stagger->indices.n);
    else
        cz_json_string(json, "turn_indices", NULL);
    cz_json_close(json);
}

void cz_report_put_lists(cz_report *r)
{
    const cz_plan_view *view = r->view;
    cz_json_open(&r->json, "parameters", '[');
    put_parameters(r);
    cz_json_close(&r->json);
    cz_json_open(&r->json, "families", '[');
    for (int f = 0; f < view->n_patterns; f++)
        put_pattern(r, &view->patterns[f]);
    cz_json_close(&r->json);
    cz_report_put_stages(r);
    cz_report_put_classes(r);
    cz_json_open(&r->json, "matrices", '[');
    for (int p = 0; p < view->n_params; p++)
        if (view->params[p].split_owner >= 0)
            put_matrix(r, p);
    cz_json_close(&r->json);
    cz_json_open(&r->json, "states", '[');
    put_states(r);
    cz_json_close(&r->json);
    cz_json_open(&r->json, "buckets", '[');
    for (int b = 0; b < view->n_buckets; b++)
        put_bucket(r, &view->buckets[b]);
    cz_json_close(&r->json);
    cz_json_open(&r->json, "groups", '[');
    for (int g = 0; g < r->n_micro_groups; g++)
        put_group(r, &r->micro_groups[g]);
    cz_json_close(&r->json);
}
