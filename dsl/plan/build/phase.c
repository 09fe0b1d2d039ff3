/* Phases of rules and the bodies of stages in each of them. */
#include "dsl/plan/build/stage.h"

#include <string.h>

/* ---- events and phases ---- */

static cz_view_rule *rule_of(cz_view_builder *b, int rule)
{
    union {
        const cz_view_rule *given;
        cz_view_rule *made;
    } rules = {.given = b->view->rules};
    cz_view_rule *made = rules.made;

    return made + rule;
}

static bool read_event(cz_view_builder *b, const cz_fact_event *fact,
                       cz_event *events, int number)
{
    int rule;

    if (!cz_view_find(b, CZ_FACT_rule, fact->rule, &rule) ||
        !cz_view_in(b, "event: start", fact->start, 1, CZ_MAX_TIME) ||
        !cz_view_in(b, "event: period", fact->period, 0, CZ_MAX_TIME) ||
        !cz_view_in(b, "event: stagger", fact->stagger, 0, fact->period > 1))
        return false;
    cz_view_rule *view = rule_of(b, rule);
    if (view->n_events == 0)
        view->events = &events[number];
    if (view->n_events == CZ_MAX_EVENTS ||
        &view->events[view->n_events] != &events[number])
        return cz_view_fail(b,
                            "the events of rule '%s' do not stand together, "
                            "or are more than %d",
                            fact->rule, CZ_MAX_EVENTS);
    events[number] = (cz_event){fact->start, fact->period, fact->stagger != 0};
    view->n_events++;
    return true;
}

static bool read_phase(cz_view_builder *b, cz_view_phase *phases, int number)
{
    cz_view_phase *phase = &phases[number];
    const cz_fact_phase *fact = phase->fact;
    int rule;

    if (!cz_view_find(b, CZ_FACT_rule, fact->rule, &rule))
        return false;
    cz_view_rule *view = rule_of(b, rule);
    if (view->n_phases == 0)
        view->phases = phase;
    if (&view->phases[view->n_phases] != phase)
        return cz_view_fail(b, "the phases of rule '%s' do not stand together",
                            fact->rule);
    if (!cz_view_all_in(b, "phase: fires", &fact->fires, fact->fires.n, 0,
                        view->n_events - 1))
        return false;
    for (int i = 0; i < fact->fires.n; i++)
        phase->fires |= (uint32_t)1 << fact->fires.v[i];
    view->n_phases++;
    return cz_view_check_update(b, view, fact->update);
}

/* Each update finds its phase: those there are, in order, and no other. */
static bool check_phases(cz_view_builder *b, const cz_view_rule *rule)
{
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    bool ok = cz_events_phases(rule->events, rule->n_events, phases, &n) ==
              CZ_PHASES_OK;

    if (rule->n_events == 0 && rule->n_phases == 0)
        return true;
    ok = ok && n == rule->n_phases && n > 1;
    for (int i = 0; ok && i < n; i++)
        ok = phases[i] == rule->phases[i].fires;
    ok = ok && strcmp(rule->phases[0].fact->update, rule->fact->update) == 0;
    return ok || cz_view_fail(b,
                              "the phases of rule '%s' are not those of its "
                              "events",
                              rule->fact->sym_name);
}

bool cz_view_read_phases(cz_view_builder *b)
{
    int n_events, n_phases;
    const cz_fact_event *facts = cz_ir_read_event(b->ir, b->arena, &n_events);
    const cz_fact_phase *given = cz_ir_read_phase(b->ir, b->arena, &n_phases);
    cz_event *events = CZ_NEW(b->arena, cz_event, n_events);
    cz_view_phase *phases = CZ_NEW(b->arena, cz_view_phase, n_phases);
    bool ok = true;

    for (int i = 0; ok && i < n_events; i++)
        ok = read_event(b, &facts[i], events, i);
    for (int i = 0; ok && i < n_phases; i++) {
        phases[i].fact = &given[i];
        ok = read_phase(b, phases, i);
    }
    for (int i = 0; ok && i < b->view->n_rules; i++)
        ok = check_phases(b, &b->view->rules[i]);
    return ok;
}

/* ---- turns ---- */

static bool is_spread_over(const cz_view_family *family, int index)
{
    return family->n_spread > 1 && family->fact->spread_index == index;
}

/* Values that ranks share out have no say: a turn is that of all ranks. */
static bool check_turn(cz_view_builder *b, const cz_view_family *family,
                       const cz_fact_turn *fact)
{
    if (!cz_view_in(b, "turn: base", fact->base, 0, CZ_VIEW_MAX_PARAMS) ||
        !cz_view_all_in(b, "turn: indices", &fact->indices, fact->indices.n, 0,
                        family->fact->extents.n - 1))
        return false;
    for (int i = 0; i < fact->indices.n; i++)
        if ((i > 0 && fact->indices.v[i] <= fact->indices.v[i - 1]) ||
            is_spread_over(family, (int)fact->indices.v[i]))
            return cz_view_fail(b,
                                "the turns of family '%s' are not by ascending "
                                "indices that all its ranks have",
                                family->fact->sym_name);
    return true;
}

static bool is_staggered(const cz_view_rule *rule)
{
    return cz_events_turns(rule->events, rule->n_events) > 1;
}

/* A fact for each family with a rule that is staggered, in their order. */
bool cz_view_read_turns(cz_view_builder *b)
{
    int n, next = 0;
    const cz_fact_turn *facts = cz_ir_read_turn(b->ir, b->arena, &n);

    for (int f = 0; f < b->view->n_families; f++) {
        cz_view_family *family = &b->families[f];
        if (!is_staggered(&b->view->rules[family->rule]))
            continue;
        if (next == n || strcmp(facts[next].family, family->fact->sym_name))
            return cz_view_fail(b, "family '%s' lacks its turn",
                                family->fact->sym_name);
        if (!check_turn(b, family, &facts[next]))
            return false;
        family->turn = &facts[next++];
    }
    return next == n ||
           cz_view_fail(b, "there are %d turns too many", n - next);
}

/* ---- variants ---- */

/* Variant number `p` of a stage, which has its slots and scalars. */
static bool read_variant(cz_view_builder *b, const cz_view_stage *stage, int p,
                         const cz_fact_variant *fact, cz_view_stage *out)
{
    const cz_view_rule *rule = &b->view->rules[stage->rule];
    cz_fact_stage *own = CZ_NEW(b->arena, cz_fact_stage, 1);

    if (strcmp(fact->stage, stage->fact->sym_name) != 0 ||
        strcmp(fact->phase, rule->phases[p].fact->sym_name) != 0)
        return cz_view_fail(b, "stage '%s' lacks its variant in phase '%s'",
                            stage->fact->sym_name,
                            rule->phases[p].fact->sym_name);
    *own = *stage->fact;
    own->body = fact->body;
    own->flops = fact->flops;
    *out = *stage;
    out->fact = own;
    out->n_steps = 0;
    return cz_view_in(b, "variant: flops", fact->flops, 0,
                      stage->fact->flops) &&
           cz_view_read_body_of_stage(b, out);
}

static bool read_variants_of(cz_view_builder *b, cz_view_stage *stage,
                             const cz_fact_variant *facts)
{
    const int n = b->view->rules[stage->rule].n_phases;
    cz_view_stage *variants = CZ_NEW(b->arena, cz_view_stage, n);
    int64_t flops = 0;

    for (int p = 0; p < n; p++) {
        if (!read_variant(b, stage, p, &facts[p], &variants[p]))
            return false;
        if (facts[p].flops > flops)
            flops = facts[p].flops;
    }
    stage->n_variants = n;
    stage->variants = variants;
    if (strcmp(facts[0].body, stage->fact->body) != 0 ||
        flops != stage->fact->flops)
        return cz_view_fail(b,
                            "stage '%s' has not the body of its first phase "
                            "and the flops of its costliest",
                            stage->fact->sym_name);
    return true;
}

bool cz_view_read_variants(cz_view_builder *b, cz_view_stage *stages, int n)
{
    int n_facts, next = 0;
    const cz_fact_variant *facts =
        cz_ir_read_variant(b->ir, b->arena, &n_facts);

    for (int i = 0; i < n; i++) {
        const int n_phases = b->view->rules[stages[i].rule].n_phases;
        if (next + n_phases > n_facts)
            return cz_view_fail(b, "stage '%s' lacks variants",
                                stages[i].fact->sym_name);
        if (n_phases > 0 && !read_variants_of(b, &stages[i], &facts[next]))
            return false;
        next += n_phases;
    }
    return next == n_facts ||
           cz_view_fail(b, "there are %d variants of stages too many",
                        n_facts - next);
}

/* ---- who reads what ---- */

static bool reads_value(const cz_view_stage *stage, int value)
{
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_in; i++)
            if (stage->steps[s].in[i] == value)
                return true;
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] == value)
            return true;
    return false;
}

static uint32_t phases_that_read(const cz_view_stage *stage, int value)
{
    uint32_t phases = stage->n_variants == 0;

    for (int p = 0; p < stage->n_variants; p++)
        phases |= (uint32_t)reads_value(&stage->variants[p], value) << p;
    return phases;
}

uint32_t cz_view_slot_phases(const cz_plan_view *view, int rule,
                             cz_slot_kind kind, int index)
{
    const cz_view_rule *r = &view->rules[rule];
    uint32_t phases = 0;

    for (int s = r->first_stage; s < r->first_stage + r->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        for (int i = 0; i < stage->n_in; i++)
            if (stage->in[i].kind == kind && stage->in[i].index == index)
                phases |= phases_that_read(stage, i);
    }
    return phases;
}
