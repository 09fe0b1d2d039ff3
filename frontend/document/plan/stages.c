/* Stages as JSON: what each computes, how long it takes, and the constants that
 * say so. */
#include "frontend/document/plan/internal.h"

#include "dsl/base/checked.h"
#include "passes/kernel/flops.h"
#include "frontend/document/plan/rewrites.h"

#include <string.h>

void cz_report_put_slots(cz_report *r, const char *key,
                         const cz_view_stage *stage, cz_slot_kind kind)
{
    cz_json *json = &r->json;
    cz_json_open(json, key, '[');
    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == kind)
            cz_json_string(json, NULL, cz_dtype_name(stage->in[i].dtype));
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == kind)
            cz_json_string(json, NULL, cz_dtype_name(stage->out[i].dtype));
    cz_json_close(json);
}

void cz_report_put_kernel(cz_report *r, const cz_step_kernel *kernel,
                          int64_t times, const cz_report_exchange *exchange)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "kind",
                   kernel->factor       ? "call"
                   : kernel->is_product ? "product"
                                        : "map");
    if (kernel->factor) {
        cz_json_string(json, "factor", cz_factor_name(kernel->factor));
        cz_json_int(json, "effort", kernel->call.effort);
        cz_json_int(json, "launches", kernel->call.launches);
    }
    if (kernel->is_product) {
        cz_json_int(json, "rows", kernel->product.rows);
        cz_json_int(json, "columns", kernel->product.columns);
        cz_json_int(json, "inner", kernel->product.inner);
        cz_json_bool(json, "symmetric", kernel->product.symmetric);
        cz_json_string(json, "dtype", cz_dtype_name(kernel->product.dtype));
    }
    cz_json_int(json, "bytes",
                cz_time_limit((cz_wide)kernel->product.bytes * times));
    if (exchange) {
        const cz_step_cut *cut = exchange->cut;
        cz_json_int(json, "sum_bytes", cut->sum_bytes);
        cz_json_int(json, "gather_bytes", cut->gather_bytes);
        cz_json_bool(json, "scatter", cut->scatter);
        cz_json_int(json, "band", cut->band);
        cz_json_int(json, "behind_bytes", exchange->behind_bytes);
    }
    cz_json_close(json);
}

/* Of a stage, or of one of its variants. */
static void put_kernels(cz_report *r, const cz_view_stage *body)
{
    cz_step_kernel *kernels =
        CZ_NEW(r->arena, cz_step_kernel, body->n_steps + 1);
    cz_cost_kernels(r->arena, body, NULL, 1, kernels);
    cz_json_open(&r->json, "steps", '[');
    for (int s = 0; s < body->n_steps; s++)
        if (!body->subgroup ||
            body->steps[s].segment == body->subgroup->segment)
            cz_report_put_kernel(
                r, &kernels[s], cz_view_is_shaped(body) ? 1 : CZ_TIMED_ELEMENTS,
                NULL);
    cz_json_close(&r->json);
}

/* What is added up, gathered or scattered behind a segment. */
static void put_sums(cz_report *r, const cz_view_stage *stage)
{
    cz_json *json = &r->json;
    cz_json_open(json, "sums", '[');
    for (int s = 0; stage->subgroup && s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        for (int i = 0; i < step->n_out; i++) {
            cz_exchange how;
            if (step->segment != stage->subgroup->segment ||
                !cz_view_is_exchanged(step, i, &how))
                continue;
            cz_json_open(json, NULL, '{');
            cz_json_int(json, "count", cz_view_result_elements(step, i));
            cz_json_string(json, "dtype", cz_dtype_name(step->out_dtype[i]));
            cz_json_string(json, "how", cz_exchange_word(how));
            cz_json_int(json, "band", step->band);
            cz_json_close(json);
        }
    }
    cz_json_close(json);
}

static void put_sharing(cz_report *r, const cz_view_stage *stage)
{
    const cz_fact_subgroup *shared = stage->subgroup;
    cz_json_int(&r->json, "group", shared ? shared->size : 1);
    cz_json_int(&r->json, "dim", shared ? shared->dim : 0);
    cz_json_int(&r->json, "segment", shared ? shared->segment : 0);
    put_sums(r, stage);
}

/* For each slot of a kind whether it travels in phase p. */
static void put_moving(cz_report *r, const char *key,
                       const cz_view_stage *stage, cz_slot_kind kind, int p)
{
    uint32_t phases;
    cz_json_open(&r->json, key, '[');
    for (int i = 0;
         (phases = cz_view_slot_phases(r->view, stage->rule, kind, i)); i++)
        cz_json_bool(&r->json, NULL, phases >> p & 1);
    cz_json_close(&r->json);
}

/* When blocks of the rule fire; phases are sets of these. */
static void put_events(cz_report *r, const cz_view_rule *rule)
{
    cz_json *json = &r->json;
    cz_json_open(json, "events", '[');
    for (int e = 0; e < rule->n_events; e++) {
        cz_json_open(json, NULL, '{');
        cz_json_int(json, "start", rule->events[e].start);
        cz_json_int(json, "period", rule->events[e].period);
        cz_json_bool(json, "staggered", rule->events[e].staggered);
        cz_json_close(json);
    }
    cz_json_close(json);
}

static void put_phases(cz_report *r, const cz_view_stage *stage)
{
    const cz_view_rule *rule = &r->view->rules[stage->rule];
    const int64_t *times = r->times[stage - r->view->stages].phase_ps;
    cz_json *json = &r->json;
    put_events(r, rule);
    cz_json_open(json, "phases", '[');
    for (int p = 0; p < stage->n_variants; p++) {
        const cz_view_stage *variant = &stage->variants[p];
        cz_json_open(json, NULL, '{');
        const cz_ints fires = rule->phases[p].fact->fires;
        cz_json_int(json, "updates", r->frequencies[stage->rule].counts[p]);
        cz_json_ints(json, "fires", fires.v, fires.n);
        cz_json_int(json, "time_ps", times ? times[p] : 0);
        put_moving(r, "gather", stage, CZ_SLOT_GATHER, p);
        put_moving(r, "scatter", stage, CZ_SLOT_SCATTER, p);
        cz_json_int(json, "flops", variant->fact->flops);
        put_kernels(r, variant);
        cz_json_close(json);
    }
    cz_json_close(json);
}

static void put_rewrites(cz_report *r, const cz_view_stage *stage)
{
    cz_document_rewrite list[CZ_N_REWRITES];
    const int n = cz_rewrites_find(r->arena, r->view, stage,
                                   cz_flops_most_variant(r->view, stage), list);
    cz_json_put_list(&r->json, "rewrites", cz_document_rewrite_fields,
                     sizeof *list, list, n);
}

static void put_stage(cz_report *r, const cz_view_stage *stage)
{
    const cz_stage_time *time = &r->times[stage - r->view->stages];
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", stage->fact->sym_name);
    cz_json_string(json, "rule", stage->fact->rule);
    cz_json_string(json, "where", cz_where_word(stage->fact->where));
    cz_report_put_stage_digest(r, stage);
    cz_json_int(json, "flops", stage->fact->flops);
    cz_json_int(json, "work_bytes", stage->fact->work_bytes);
    cz_report_put_slots(r, "gather", stage, CZ_SLOT_GATHER);
    cz_report_put_slots(r, "scatter", stage, CZ_SLOT_SCATTER);
    cz_report_put_slots(r, "temp", stage, CZ_SLOT_TEMP);
    put_phases(r, stage);
    put_sharing(r, stage);
    put_kernels(r,
                cz_view_variant(stage, cz_flops_most_variant(r->view, stage)));
    put_rewrites(r, stage);
    cz_json_int(json, "batch", time->batch);
    cz_json_int(json, "time_ps", time->time_ps);
    cz_json_bool(json, "measured", time->is_measured);
    cz_json_ints(json, "batch_ps", time->batch_ps, time->n_batches);
    cz_json_open(json, "measured_batches", '[');
    for (int i = 0; i < time->n_batches; i++)
        if (time->is_measured_batch[i])
            cz_json_int(json, NULL, i + 1);
    cz_json_close(json);
    cz_json_close(json);
}

void cz_report_put_stages(cz_report *r)
{
    cz_json_open(&r->json, "stages", '[');
    for (int i = 0; i < r->view->n_stages; i++)
        put_stage(r, &r->view->stages[i]);
    cz_json_close(&r->json);
}

static const char *unit_of(const char *constant)
{
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    if (strcmp(constant, #field) == 0)                                         \
        return unit;
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    return "1";
}

void cz_report_put_constants(cz_report *r)
{
    const cz_fact_machine *machine = r->view->machine;
    cz_json *json = &r->json;
    cz_json_open(json, "constants", '[');
    for (int i = 0; machine && i < machine->constants.n; i++) {
        const cz_document_constant constant = {
            .name = machine->constants.v[i],
            .value = machine->values.v[i],
            .unit = unit_of(machine->constants.v[i]),
            .source = machine->sources.v[i],
            .is_measured = machine->measured.v[i] != 0};
        cz_json_put_fields(json, NULL, cz_document_constant_fields, &constant);
    }
    cz_json_close(json);
    cz_json_put_list(json, "uneven_reduce", cz_document_uneven_fields,
                     sizeof *r->view->uneven_reduces, r->view->uneven_reduces,
                     r->view->n_uneven_reduces);
}
