/* Uses and rules as JSON, with digests of what rules and their stages compute:
 * equal ones compute alike, whatever names they have. */
#include "frontend/document/plan/internal.h"

#include "frontend/document/digest.h"

#include <inttypes.h>

static const char *const opcode_names[CZ_N_OPCODES] = {
#define CZ_OPCODE(tag, name, arity) name,
#include "dsl/vocab/opcode.def"
#undef CZ_OPCODE
};

static void put_numbers(cz_text *out, const int *numbers, int n)
{
    cz_text_puts(out, " (");
    for (int i = 0; i < n; i++)
        cz_text_printf(out, " %d", numbers[i]);
    cz_text_puts(out, ")");
}

static void put_reals(cz_text *out, const double *reals, int n)
{
    for (int i = 0; i < n; i++)
        cz_text_printf(out, " %.17g", reals[i]);
}

static void put_body(cz_text *out, const cz_view_body *body)
{
    for (int i = 0; i < body->n_in; i++)
        cz_text_printf(out, " %s", cz_dtype_name(body->in[i]));
    for (int i = 0; i < body->n_exprs; i++) {
        const cz_view_expr *e = &body->exprs[i];
        cz_text_printf(out, "\n%s %s %s %.17g", opcode_names[e->op],
                       cz_dtype_name(e->dtype),
                       e->predicate ? e->predicate : "", e->constant);
        put_numbers(out, e->args, CZ_VIEW_MAX_ARGS);
    }
    put_numbers(out, body->out, body->n_out);
    for (int i = 0; i < body->n_out; i++)
        cz_text_printf(out, " %s", cz_dtype_name(body->out_dtype[i]));
    cz_text_puts(out, "\n");
}

static void put_update(cz_text *out, const cz_view_update *update)
{
    for (int i = 0; i < update->n_in + update->n_terms; i++) {
        const cz_view_shape *shape = &update->shapes[i];
        cz_text_printf(out, "%s %d %" PRId64 " %" PRId64 "\n",
                       cz_dtype_name(shape->dtype), shape->rank, shape->size[0],
                       shape->size[1]);
    }
    for (int i = 0; i < update->n_terms; i++) {
        const cz_view_term *t = &update->terms[i];
        cz_text_printf(
            out, "%d %s %.17g %s %" PRIu32 " %d %s %d", t->kind,
            t->kind == CZ_TERM_ELEMENT ? opcode_names[t->opcode] : "",
            t->constant, t->predicate ? t->predicate : "", t->dims, t->largest,
            t->factor ? cz_factor_name(t->factor) : "", t->result);
        if (t->factor)
            put_reals(out, t->parameters, cz_factor_n_parameters(t->factor));
        put_numbers(out, t->args, t->n_args);
        cz_text_puts(out, "\n");
    }
    put_numbers(out, update->out, update->n_out);
}

static void put_step(cz_text *out, const cz_plan_view *view,
                     const cz_view_step *s)
{
    const int64_t numbers[] = {
        s->is_product,  s->rows,           s->columns,      s->inner,
        s->blocks.rows, s->blocks.columns, s->blocks.inner, s->segment,
        s->partial,     s->scatter,        s->partition,    s->band,
        s->transpose_a, s->transpose_b,    s->symmetric,    s->narrow,
        s->size.m,      s->size.n,         s->size.k};
    cz_text_puts(out, "\nstep");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cz_text_printf(out, " %" PRId64, numbers[i]);
    put_reals(out, (const double[]){s->alpha, s->beta}, 2);
    if (s->factor) {
        cz_text_printf(out, " %s", cz_factor_name(s->factor));
        put_reals(out, s->parameters, cz_factor_n_parameters(s->factor));
    }
    put_numbers(out, s->in, s->n_in);
    for (int i = 0; i < s->n_in; i++)
        cz_text_printf(out, " %d", s->access[i]);
    for (int i = 0; i < s->n_generated; i++)
        cz_text_printf(out, " g%d", s->generated[i]);
    for (int i = 0; i < s->n_out; i++)
        cz_text_printf(out, " %d %s", s->out_access[i],
                       cz_dtype_name(s->out_dtype[i]));
    if (s->body >= 0)
        put_body(out, &view->bodies[s->body]);
}

static void put_slots(cz_text *out, const cz_view_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        cz_text_printf(out, " %d %d %s", slots[i].kind, slots[i].index,
                       cz_dtype_name(slots[i].dtype));
    cz_text_puts(out, ";");
}

static void put_digest(cz_report *r, cz_text *text)
{
    char digest[CZ_DOCUMENT_DIGEST];
    cz_digest(text, digest);
    cz_json_string(&r->json, "digest", digest);
    cz_text_fini(text);
}

void cz_report_put_stage_digest(cz_report *r, const cz_view_stage *stage)
{
    cz_text text = {0};
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *variant = cz_view_variant(stage, i);
        put_slots(&text, variant->in, variant->n_in);
        put_slots(&text, variant->out, variant->n_out);
        for (int s = 0; s < variant->n_steps; s++)
            put_step(&text, r->view, &variant->steps[s]);
        put_numbers(&text, variant->out_value, variant->n_out);
    }
    put_digest(r, &text);
}

static void put_rule(cz_report *r, const cz_view_rule *rule)
{
    cz_text text = {0};
    cz_json_open(&r->json, NULL, '{');
    cz_json_string(&r->json, "name", rule->fact->sym_name);
    cz_json_string(&r->json, "group", r->view->uses[rule->use]->sym_name);
    for (int e = 0; e < rule->n_events; e++)
        cz_text_printf(&text, "event %" PRId64 " %" PRId64 " %d\n",
                       rule->events[e].start, rule->events[e].period,
                       rule->events[e].staggered);
    cz_text_printf(&text, "transposed %" PRId64, rule->fact->transposed);
    put_body(&text, &r->view->bodies[rule->prologue]);
    for (int p = 0; p < rule->n_phases || p == 0; p++) {
        if (rule->n_phases > 0)
            cz_text_printf(&text, "\nphase %" PRIu32 "\n",
                           rule->phases[p].fires);
        put_update(&text, &rule->updates[p]);
    }
    put_digest(r, &text);
    cz_json_close(&r->json);
}

static void put_use(cz_report *r, const cz_fact_use *use)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", use->sym_name);
    cz_json_string(json, "optimizer", use->optimizer);
    cz_json_open(json, "hypers", '[');
    for (int i = 0; i < use->hypers.n; i++) {
        cz_json_open(json, NULL, '{');
        cz_json_string(json, "name", use->hypers.v[i]);
        if (use->has_default.v[i])
            cz_report_put_real(r, "default", use->defaults.v[i]);
        else
            cz_json_string(json, "default", NULL);
        cz_json_close(json);
    }
    cz_json_close(json);
    cz_json_close(json);
}

void cz_report_put_rules(cz_report *r)
{
    cz_json_open(&r->json, "uses", '[');
    for (int i = 0; i < r->view->n_uses; i++)
        put_use(r, r->view->uses[i]);
    cz_json_close(&r->json);
    cz_json_open(&r->json, "rules", '[');
    for (int i = 0; i < r->view->n_rules; i++)
        put_rule(r, &r->view->rules[i]);
    cz_json_close(&r->json);
}
