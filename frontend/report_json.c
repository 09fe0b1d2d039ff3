/* A plan as JSON.  Every figure is an integer that follows from the numbers
 * beside it: tests/check_plan.py computes them all again. */
#include "frontend/report_json.h"

#include "dsl/metrics.h"
#include "frontend/json.h"
#include "frontend/report_facts.h"

#include <stdio.h>

typedef struct report {
    const cz_plan_view *view;
    const cz_metrics *metrics;
    const cz_group_facts *groups;
    int n_groups;
    cz_json json;
} report;

static const char *step_name(cz_step_kind kind)
{
    static const char *const names[CZ_N_STEPS] = {
#define CZ_STEP(tag, name, what) name,
#include "dsl/step.def"
#undef CZ_STEP
    };
    return names[kind];
}

static void put_axes(report *r, const char *key, const cz_ints *axes)
{
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '[');
    for (int i = 0; i < axes->n; i++)
        cz_json_string(&r->json, r->view->mesh->axes.v[axes->v[i]]);
    cz_json_close(&r->json, ']');
}

/* Floats of the source are decimal strings: JSON numbers stay integers. */
static void put_real(report *r, const char *key, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    cz_json_put_string(&r->json, key, text);
}

/* ---- what is planned ---- */

static void put_header(report *r, const char *hash)
{
    const cz_fact_program *program = r->view->program;
    cz_json *json = &r->json;
    cz_json_put_string(json, "schema", "canzona.plan/1");
    cz_json_key(json, "header");
    cz_json_open(json, '{');
    cz_json_put_string(json, "name", program->name);
    cz_json_put_string(json, "compiler", program->compiler);
    cz_json_put_string(json, "source_hash", program->source_hash);
    cz_json_put_string(json, "plan_hash", hash);
    cz_json_put_string(json, "objective", "least flops on the busiest rank");
    cz_json_put_bool(json, "strict", program->strict != 0);
    cz_json_put_int(json, "leaves", program->leaves);
    cz_json_key(json, "units");
    cz_json_open(json, '{');
    cz_json_put_string(json, "offsets", "elements");
    cz_json_put_string(json, "flops", "floating-point operations");
    cz_json_put_string(json, "memory", "bytes");
    cz_json_put_string(json, "wire", "bytes");
    cz_json_close(json, '}');
    cz_json_close(json, '}');
}

static void put_mesh(report *r)
{
    const cz_fact_mesh *mesh = r->view->mesh;
    cz_json *json = &r->json;
    cz_json_key(json, "mesh");
    cz_json_open(json, '{');
    cz_json_key(json, "axes");
    cz_json_open(json, '[');
    for (int i = 0; i < mesh->axes.n; i++) {
        cz_json_open(json, '{');
        cz_json_put_string(json, "name", mesh->axes.v[i]);
        cz_json_put_int(json, "size", mesh->sizes.v[i]);
        cz_json_close(json, '}');
    }
    cz_json_close(json, ']');
    cz_json_put_int(json, "ranks", r->view->n_ranks);
    cz_json_close(json, '}');
}

static void put_policy(report *r)
{
    const cz_fact_policy *policy = r->view->policy;
    cz_json *json = &r->json;
    cz_json_key(json, "policy");
    cz_json_open(json, '{');
    cz_json_put_string(json, "grad_dtype", policy->grad_dtype);
    put_axes(r, "reduce_axes", &policy->reduce_axes);
    cz_json_put_bool(json, "mean", policy->mean != 0);
    cz_json_put_string(json, "master_dtype", policy->master_dtype);
    put_axes(r, "split_axes", &policy->split_axes);
    put_real(r, "clip", policy->clip);
    cz_json_put_bool(json, "skip", policy->skip != 0);
    cz_json_put_int(json, "bucket_elements", policy->bucket_elements);
    cz_json_put_int(json, "group_bytes", policy->group_bytes);
    cz_json_close(json, '}');
}

static void put_shard(report *r, const cz_view_family *family)
{
    cz_json *json = &r->json;
    cz_json_key(json, "shard");
    cz_json_open(json, '[');
    for (int d = 0; d < family->fact->shard.n; d++) {
        const int64_t axis = family->fact->shard.v[d];
        if (axis < 0)
            cz_json_null(json);
        else
            cz_json_string(json, r->view->mesh->axes.v[axis]);
    }
    cz_json_close(json, ']');
}

static void put_parameter(report *r, int param)
{
    const cz_plan_view *view = r->view;
    const cz_view_param *p = &view->params[param];
    const cz_view_family *family = &view->families[p->family];
    const cz_view_rule *rule = &view->rules[family->rule];
    const cz_fact_use *use = view->uses[rule->use];
    const bool has_master = view->buckets[p->bucket].has_master;
    cz_json *json = &r->json;
    cz_json_open(json, '{');
    cz_json_put_string(json, "name", p->name);
    cz_json_put_ints(json, "shape", family->fact->shape.v,
                     family->fact->shape.n);
    cz_json_put_string(json, "dtype", cz_dtype_name(family->dtype));
    put_shard(r, family);
    cz_json_put_string(json, "group", use->sym_name);
    cz_json_put_string(json, "optimizer", use->optimizer);
    cz_json_put_string(json, "rule", rule->fact->sym_name);
    cz_json_put_int(json, "element_count", family->elements);
    cz_json_put_int(json, "local_elements", family->local_elements);
    cz_json_put_int(json, "matrices", p->split_owner >= 0);
    cz_json_put_int(json, "stage", 0);
    cz_json_key(json, "tied_to");
    cz_json_null(json);
    cz_json_put_string(json, "grad", view->policy->grad_dtype);
    cz_json_put_string(json, "master",
                       has_master ? view->policy->master_dtype
                                  : cz_dtype_name(family->dtype));
    cz_json_put_int(json, "bucket", p->bucket);
    cz_json_put_int(json, "offset", p->offset);
    cz_json_close(json, '}');
}

static void put_slots(report *r, const char *key, const cz_view_stage *stage,
                      cz_slot_kind kind)
{
    cz_json *json = &r->json;
    cz_json_key(json, key);
    cz_json_open(json, '[');
    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == kind)
            cz_json_string(json, cz_dtype_name(stage->in[i].dtype));
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == kind)
            cz_json_string(json, cz_dtype_name(stage->out[i].dtype));
    cz_json_close(json, ']');
}

static void put_stage(report *r, const cz_view_stage *stage)
{
    cz_json *json = &r->json;
    cz_json_open(json, '{');
    cz_json_put_string(json, "name", stage->fact->sym_name);
    cz_json_put_string(json, "rule", stage->fact->rule);
    cz_json_put_string(json, "where", stage->fact->where);
    cz_json_put_int(json, "flops", stage->fact->flops);
    cz_json_put_int(json, "work_bytes", stage->fact->work_bytes);
    put_slots(r, "gather", stage, CZ_SLOT_GATHER);
    put_slots(r, "scatter", stage, CZ_SLOT_SCATTER);
    put_slots(r, "temp", stage, CZ_SLOT_TEMP);
    cz_json_close(json, '}');
}

static void put_states(report *r)
{
    const cz_plan_view *view = r->view;
    cz_json *json = &r->json;
    for (int i = 0; i < view->n_rules; i++) {
        const cz_fact_rule *rule = view->rules[i].fact;
        for (int k = 0; k < rule->states.n; k++) {
            cz_json_open(json, '{');
            cz_json_put_string(json, "rule", rule->sym_name);
            cz_json_put_string(json, "name", rule->states.v[k]);
            cz_json_put_string(json, "dtype", rule->state_dtypes.v[k]);
            put_real(r, "init", rule->state_init.v[k]);
            cz_json_close(json, '}');
        }
    }
}

/* ---- how ---- */

static int group_of(const report *r, int param)
{
    for (int g = 0; g < r->n_groups; g++)
        for (int i = 0; i < r->groups[g].n; i++)
            if (r->groups[g].params[i] == param)
                return g;
    return -1;
}

static void put_matrix(report *r, int param, int group)
{
    const cz_view_param *p = &r->view->params[param];
    const cz_view_family *family = &r->view->families[p->family];
    const cz_ints shape = family->fact->shape;
    const cz_view_stage *whole =
        cz_report_stage(r->view, param, CZ_WHERE_WHOLE);
    cz_json *json = &r->json;
    cz_json_open(json, '{');
    cz_json_put_int(json, "parameter", param);
    cz_json_put_string(json, "view", "whole");
    cz_json_put_int(json, "rows", shape.v[0]);
    cz_json_put_int(json, "cols", shape.n > 1 ? shape.v[1] : 1);
    cz_json_put_int(json, "batch", 1);
    cz_json_put_string(json, "strategy", "owner");
    cz_json_put_int(json, "group_size", 1);
    cz_json_key(json, "owner");
    cz_json_open(json, '{');
    cz_json_put_int(json, "split", p->split_owner);
    cz_json_put_optional(json, "shard", p->shard_owner);
    cz_json_close(json, '}');
    cz_json_put_optional(json, "micro_group", group);
    cz_json_key(json, "cost");
    cz_json_open(json, '{');
    cz_json_put_int(json, "flops", cz_metrics_item_flops(r->view, param));
    cz_json_put_int(json, "bytes",
                    cz_report_wire(r->view, param, CZ_SLOT_GATHER) +
                        cz_report_wire(r->view, param, CZ_SLOT_SCATTER));
    cz_json_close(json, '}');
    cz_json_key(json, "wire");
    cz_json_open(json, '{');
    put_slots(r, "gather", whole, CZ_SLOT_GATHER);
    put_slots(r, "scatter", whole, CZ_SLOT_SCATTER);
    cz_json_close(json, '}');
    cz_json_close(json, '}');
}

static void put_bucket(report *r, const cz_view_bucket *bucket)
{
    const cz_fact_bucket *fact = bucket->fact;
    cz_json *json = &r->json;
    cz_json_open(json, '{');
    cz_json_put_string(json, "group", fact->use);
    cz_json_put_string(json, "dtype", fact->dtype);
    cz_json_put_string(json, "geometry",
                       r->view->params[fact->params.v[0]].split_owner >= 0
                           ? "owned"
                           : "split");
    cz_json_put_int(json, "length", fact->length);
    cz_json_put_ints(json, "order", fact->params.v, fact->params.n);
    cz_json_put_ints(json, "offsets", fact->offsets.v, fact->offsets.n);
    cz_json_put_ints(json, "slices", fact->slices.v, fact->slices.n);
    cz_json_close(json, '}');
}

static void put_group(report *r, const cz_group_facts *group)
{
    int64_t storage[CZ_JSON_MAX_DEPTH];
    const int family = r->view->params[group->params[0]].family;
    const cz_ints axes = cz_view_shard_axes(r->view, family, storage);
    cz_json *json = &r->json;
    cz_json_open(json, '{');
    put_axes(r, "axes", &axes);
    cz_json_put_int(json, "op", group->op);
    cz_json_put_ints(json, "members", group->params, group->n);
    cz_json_put_int(json, "gather_bytes", group->gather_bytes);
    cz_json_put_int(json, "scatter_bytes", group->scatter_bytes);
    cz_json_put_int(json, "peak_bytes", group->peak_bytes);
    cz_json_close(json, '}');
}

static void put_op(report *r, int number)
{
    const cz_view_op *op = &r->view->ops[number];
    int64_t sent = 0, received = 0;
    cz_json *json = &r->json;
    for (int rank = 0; rank < r->metrics->n_ranks; rank++) {
        sent += r->metrics->ranks[rank].sent[number];
        received += r->metrics->ranks[rank].received[number];
    }
    cz_json_open(json, '{');
    cz_json_put_string(json, "kind", op->fact->kind);
    cz_json_put_int(json, "stream", op->fact->stream);
    cz_json_put_string(json, "section", op->fact->section);
    put_axes(r, "axes", &op->fact->comm);
    cz_json_put_optional(json, "bucket", op->fact->bucket);
    cz_json_put_ints(json, "waits", op->fact->waits.v, op->fact->waits.n);
    cz_json_put_int(json, "sent_bytes", sent);
    cz_json_put_int(json, "received_bytes", received);
    cz_json_close(json, '}');
}

/* ---- what it costs ---- */

/* One number of every rank. */
typedef int64_t (*figure)(const report *, int rank, int kind);

static int64_t flops_of(const report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].flops;
}

static int64_t matrices_of(const report *r, int rank, int kind)
{
    int64_t n = 0;
    (void)kind;
    for (int p = 0; p < r->view->n_params; p++)
        n += r->metrics->ranks[rank].whole[p];
    return n;
}

static int64_t updates_of(const report *r, int rank, int kind)
{
    int64_t n = 0;
    (void)kind;
    for (int p = 0; p < r->view->n_params; p++)
        n += r->metrics->ranks[rank].updates[p];
    return n;
}

static int64_t sum_of_kind(const report *r, const int64_t *bytes, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < r->view->n_ops; i++)
        if ((int)r->view->ops[i].kind == kind)
            sum += bytes[i];
    return sum;
}

static int64_t sent_of(const report *r, int rank, int kind)
{
    return sum_of_kind(r, r->metrics->ranks[rank].sent, kind);
}

static int64_t received_of(const report *r, int rank, int kind)
{
    return sum_of_kind(r, r->metrics->ranks[rank].received, kind);
}

static int64_t memory_of(const report *r, int rank, int kind)
{
    return r->metrics->ranks[rank].memory[kind];
}

static int64_t peak_of(const report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].peak_scratch;
}

static void put_figure(report *r, const char *key, figure value, int kind)
{
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '[');
    for (int rank = 0; rank < r->metrics->n_ranks; rank++)
        cz_json_int(&r->json, value(r, rank, kind));
    cz_json_close(&r->json, ']');
}

static void put_wire(report *r, const char *key, figure value)
{
    static const cz_step_kind kinds[] = {CZ_STEP_REDUCE_SCATTER,
                                         CZ_STEP_ALL_GATHER, CZ_STEP_TRANSFER};
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '{');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        put_figure(r, step_name(kinds[i]), value, (int)kinds[i]);
    cz_json_close(&r->json, '}');
}

static void put_bound(report *r, const char *name, int64_t value, int witness)
{
    cz_json_open(&r->json, '{');
    cz_json_put_string(&r->json, "name", name);
    cz_json_put_int(&r->json, "value", value);
    cz_json_put_optional(&r->json, "witness", witness);
    cz_json_close(&r->json, '}');
}

/* No plan with whole-matrix owners has a busiest rank below these flops. */
static void put_bounds(report *r)
{
    const cz_spread *flops = &r->metrics->flops;
    cz_json_key(&r->json, "bounds");
    cz_json_open(&r->json, '[');
    put_bound(r, "mean", (flops->sum + flops->n - 1) / flops->n, -1);
    put_bound(r, "item", r->metrics->item_flops, r->metrics->item_param);
    cz_json_close(&r->json, ']');
}

static void put_metrics(report *r)
{
    cz_json *json = &r->json;
    cz_json_key(json, "metrics");
    cz_json_open(json, '{');
    put_figure(r, "flops", flops_of, 0);
    put_figure(r, "matrices", matrices_of, 0);
    put_figure(r, "updates", updates_of, 0);
    put_wire(r, "sent_bytes", sent_of);
    put_wire(r, "received_bytes", received_of);
    cz_json_key(json, "memory_bytes");
    cz_json_open(json, '{');
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        put_figure(r, cz_memory_name((cz_memory)k), memory_of, k);
    cz_json_close(json, '}');
    put_figure(r, "peak_scratch_bytes", peak_of, 0);
    cz_json_put_ints(json, "max_over_mean",
                     (const int64_t[]){r->metrics->flops.max,
                                       r->metrics->flops.sum,
                                       r->metrics->flops.n},
                     3);
    put_bounds(r);
    cz_json_close(json, '}');
}

/* ---- the document ---- */

static void open_list(report *r, const char *key)
{
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '[');
}

static void put_lists(report *r)
{
    const cz_plan_view *view = r->view;
    open_list(r, "parameters");
    for (int p = 0; p < view->n_params; p++)
        put_parameter(r, p);
    cz_json_close(&r->json, ']');
    open_list(r, "stages");
    for (int i = 0; i < view->n_stages; i++)
        put_stage(r, &view->stages[i]);
    cz_json_close(&r->json, ']');
    open_list(r, "matrices");
    for (int p = 0; p < view->n_params; p++)
        if (view->params[p].split_owner >= 0)
            put_matrix(r, p, group_of(r, p));
    cz_json_close(&r->json, ']');
    open_list(r, "states");
    put_states(r);
    cz_json_close(&r->json, ']');
    open_list(r, "buckets");
    for (int b = 0; b < view->n_buckets; b++)
        put_bucket(r, &view->buckets[b]);
    cz_json_close(&r->json, ']');
    open_list(r, "groups");
    for (int g = 0; g < r->n_groups; g++)
        put_group(r, &r->groups[g]);
    cz_json_close(&r->json, ']');
    open_list(r, "schedule");
    for (int i = 0; i < view->n_ops; i++)
        put_op(r, i);
    cz_json_close(&r->json, ']');
}

void cz_report_json(const cz_plan_view *view, const char *hash, cz_text *out)
{
    cz_arena arena;
    cz_arena_init(&arena);
    report r = {.view = view, .metrics = cz_metrics_build(&arena, view)};
    r.groups = cz_report_groups(&arena, view, &r.n_groups);
    cz_json_init(&r.json, out);
    cz_json_open(&r.json, '{');
    put_header(&r, hash);
    put_mesh(&r);
    put_policy(&r);
    put_lists(&r);
    put_metrics(&r);
    cz_json_close(&r.json, '}');
    cz_arena_fini(&arena);
}
