/* Phases: when the events of a rule fire, and the body of each of its stages
 * in every phase. */
#include "codegen/common/internal.h"

#include "dsl/plan/symbol.h"

#include <string.h>

typedef long long ll;

bool cz_has_variants(const cz_plan_view *view)
{
    for (int i = 0; i < view->n_rules; i++)
        if (view->rules[i].n_phases > 0)
            return true;
    return false;
}

static const char *symbol_of(cz_emitter *emitter, int number)
{
    cz_text text = {0};
    cz_stage_symbol(emitter->view->stages[number].fact->sym_name, &text);
    const char *symbol =
        cz_arena_copy(emitter->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return symbol;
}

/* Names that no source can spell may differ in what is no letter of C: the
 * second one is a number. */
static void name_stages(cz_emitter *emitter)
{
    const int n = emitter->view->n_stages;
    const char **names = CZ_NEW(emitter->arena, const char *, n + 1);

    for (int i = 0; i < n; i++) {
        names[i] = symbol_of(emitter, i);
        for (int k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                names[i] = cz_arena_printf(emitter->arena, "stage_%d", i);
    }
    emitter->stages = names;
}

const char *cz_stage_name(cz_emitter *emitter, int number, int variant)
{
    if (!emitter->stages)
        name_stages(emitter);
    const char *name = emitter->stages[number];
    return variant == 0
               ? name
               : cz_arena_printf(emitter->arena, "%s_phase%d", name, variant);
}

static void put_phases(cz_text *out, const cz_view_rule *rule, int number)
{
    cz_text_printf(out, "static const czr_event events_%d[] = {", number);
    for (int e = 0; e < rule->n_events; e++)
        cz_text_printf(out, "%s{%lld, %lld, %d}", e ? ", " : "",
                       (ll)rule->events[e].start, (ll)rule->events[e].period,
                       rule->events[e].staggered);
    cz_text_printf(out, "};\nstatic const uint32_t fires_%d[] = {", number);
    for (int p = 0; p < rule->n_phases; p++)
        cz_text_printf(out, "%s%lu", p ? ", " : "",
                       (unsigned long)rule->phases[p].fires);
    cz_text_printf(out,
                   "};\nstatic const czr_phases phases_%d = {%d, %d, "
                   "events_%d, fires_%d};\n",
                   number, rule->n_events, rule->n_phases, number, number);
}

void cz_emit_stage_bodies(cz_emitter *emitter, int number, const char *type)
{
    const cz_view_stage *stage = &emitter->view->stages[number];

    if (stage->n_variants == 0)
        return;
    cz_text_printf(emitter->out, "static const %s bodies_%d[] = {", type,
                   number);
    for (int i = 0; i < stage->n_variants; i++)
        cz_text_printf(
            emitter->out, "%s%s", i ? ", " : "",
            cz_stage_name(emitter, number, cz_view_first_alike(stage, i)));
    cz_text_puts(emitter->out, "};\n");
}

void cz_emit_variants(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    if (!cz_has_variants(view))
        return;
    cz_text_puts(out, "/* Events of rules (first update, period, staggered), "
                      "which of them fire\n * together, and the bodies of "
                      "stages then. */\n");
    for (int i = 0; i < view->n_rules; i++)
        if (view->rules[i].n_phases > 0)
            put_phases(out, &view->rules[i], i);
    cz_text_puts(out, "static const czr_phases *const phases[] = {\n");
    for (int i = 0; i < view->n_rules; i++)
        cz_text_printf(out,
                       view->rules[i].n_phases > 0 ? "    &phases_%d,\n"
                                                   : "    NULL,\n",
                       i);
    cz_text_puts(out, "};\n");
    for (int i = 0; i < view->n_stages; i++)
        cz_emit_stage_bodies(emitter, i, "czr_kernel");
    cz_text_puts(out, "static const czr_variants variants[] = {\n");
    for (int i = 0; i < view->n_stages; i++)
        if (view->stages[i].n_variants > 0)
            cz_text_printf(out, "    {&phases_%d, bodies_%d},\n",
                           view->stages[i].rule, i);
        else
            cz_text_puts(out, "    {NULL, NULL},\n");
    cz_text_puts(out, "};\n\n");
}
