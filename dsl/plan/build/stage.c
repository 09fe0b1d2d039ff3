/* Stages: slots, then the steps of the kernel-form function behind each. */
#include "dsl/plan/build/internal.h"

#include "dsl/plan/state.h"

#include <string.h>

enum { MAX_SLOT_INDEX = 99 };

/* ---- slots ---- */

/* ":12" of a slot's name: at most two digits, no sign, no leading zero. */
static bool read_index(const char *text, int *index)
{
    const size_t n = strspn(text + 1, "0123456789");
    if (text[0] != ':' || n < 1 || n > 2 || text[1 + n] ||
        (n > 1 && text[1] == '0'))
        return false;
    *index = text[1] - '0';
    if (n > 1)
        *index = *index * 10 + (text[2] - '0');
    return *index <= MAX_SLOT_INDEX;
}

static bool parse_slot(const char *name, cz_view_slot *slot)
{
    for (int kind = 0; kind < CZ_N_SLOTS; kind++) {
        slot->kind = (cz_slot_kind)kind;
        slot->index = 0;
        const char *word = cz_slot_kind_word(slot->kind);
        const size_t n = strlen(word);
        if (strncmp(name, word, n) != 0)
            continue;
        if (cz_slot_has_index(slot->kind))
            return read_index(name + n, &slot->index);
        return name[n] == 0;
    }
    return false;
}

static bool check_slot(cz_view_builder *b, const cz_view_stage *stage,
                       const cz_view_slot *slot)
{
    const cz_fact_rule *rule = b->view->rules[stage->rule].fact;
    if (slot->kind != CZ_SLOT_STATE)
        return true;
    if (slot->index >= rule->states.n)
        return cz_view_fail(b, "stage '%s': rule '%s' has no state %d",
                            stage->fact->sym_name, rule->sym_name, slot->index);
    if (cz_state_is_owned(rule, slot->index) !=
        (stage->where == CZ_WHERE_FULL_MATRIX))
        return cz_view_fail(b,
                            "stage '%s': states that are whole are those of "
                            "the stage on the whole matrix alone, and state "
                            "%d is none of its",
                            stage->fact->sym_name, slot->index);
    return strcmp(cz_dtype_name(slot->dtype),
                  rule->state_dtypes.v[slot->index]) == 0 ||
           cz_view_fail(b, "stage '%s': state %d is kept as %s",
                        stage->fact->sym_name, slot->index,
                        rule->state_dtypes.v[slot->index]);
}

static bool is_same_slot(const cz_view_slot *a, const cz_view_slot *b)
{
    return a->kind == b->kind && a->index == b->index;
}

static const cz_view_slot *read_slots(cz_view_builder *b,
                                      const cz_view_stage *stage,
                                      const cz_strings *names,
                                      const cz_strings *dtypes)
{
    cz_view_slot *slots = CZ_NEW(b->arena, cz_view_slot, names->n + 1);
    const char *stage_name = stage->fact->sym_name;

    if (names->n != dtypes->n) {
        cz_view_report(b, "stage '%s': slots and their types differ in number",
                       stage_name);
        return NULL;
    }
    for (int i = 0; i < names->n; i++) {
        if (!parse_slot(names->v[i], &slots[i])) {
            cz_view_report(b, "stage '%s': '%s' is no slot", stage_name,
                           names->v[i]);
            return NULL;
        }
        if (!cz_view_dtype(b, "stage: slot", dtypes->v[i], &slots[i].dtype) ||
            !check_slot(b, stage, &slots[i]))
            return NULL;
        for (int k = 0; k < i; k++)
            if (is_same_slot(&slots[k], &slots[i])) {
                cz_view_report(b, "stage '%s': slot '%s' appears twice",
                               stage_name, names->v[i]);
                return NULL;
            }
    }
    return slots;
}

/* ---- agreement of the stages of a rule ---- */

/* Slot number i of a stage, inputs first. */
static const cz_view_slot *slot_at(const cz_view_stage *stage, int i)
{
    return i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
}

static const cz_view_slot *find_slot(const cz_view_stage *stage,
                                     cz_slot_kind kind, int index)
{
    for (int i = 0; i < stage->n_in + stage->n_out; i++)
        if (slot_at(stage, i)->kind == kind &&
            slot_at(stage, i)->index == index)
            return slot_at(stage, i);
    return NULL;
}

/* Slots lie one behind the other in scratch, so that a stage must know all
 * before the one it uses, and all stages of a rule must mean the same. */
static bool is_dense(const cz_view_stage *stage, const cz_view_slot *slot)
{
    if (slot->kind != CZ_SLOT_GATHER && slot->kind != CZ_SLOT_SCATTER &&
        slot->kind != CZ_SLOT_TEMP)
        return true;
    return slot->index == 0 || find_slot(stage, slot->kind, slot->index - 1);
}

static bool agree(const cz_view_stage *stage, const cz_view_stage *other)
{
    for (int i = 0; i < stage->n_in + stage->n_out; i++) {
        const cz_view_slot *slot = slot_at(stage, i);
        const cz_view_slot *twin = find_slot(other, slot->kind, slot->index);
        if (twin && twin->dtype != slot->dtype)
            return false;
    }
    return true;
}

/* The trainer alone writes an extern. */
static bool check_outputs(cz_view_builder *b, const cz_view_stage *stage)
{
    const cz_fact_rule *rule = b->view->rules[stage->rule].fact;
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZ_SLOT_STATE &&
            cz_state_is_extern(rule, stage->out[i].index))
            return cz_view_fail(b, "stage '%s' writes '%s', which is an extern",
                                stage->fact->sym_name,
                                rule->states.v[stage->out[i].index]);
    return true;
}

static bool check_slots(cz_view_builder *b, const cz_view_stage *stages,
                        int number)
{
    const cz_view_stage *stage = &stages[number];
    if (!check_outputs(b, stage))
        return false;
    for (int i = 0; i < stage->n_in + stage->n_out; i++)
        if (!is_dense(stage, slot_at(stage, i)))
            return cz_view_fail(b,
                                "stage '%s': slot %d of its kind without "
                                "the one before it",
                                stage->fact->sym_name,
                                slot_at(stage, i)->index);
    for (int k = number; k >= 0 && stages[k].rule == stage->rule; k--)
        if (!agree(stage, &stages[k]))
            return cz_view_fail(b, "stages '%s' and '%s': a slot has two types",
                                stages[k].fact->sym_name,
                                stage->fact->sym_name);
    return true;
}

/* ---- the function behind a stage ---- */

static bool is_slot_type(const cz_fact_rule *rule, cz_ir_type type,
                         const cz_view_slot *slot)
{
    return type.rank >= 0 && !type.is_bool && type.dtype == slot->dtype &&
           (slot->kind != CZ_SLOT_STATE ||
            !cz_state_is_owned(rule, slot->index) ||
            cz_ir_type_is_state(type, rule, slot->index));
}

static bool check_signature(cz_view_builder *b, const cz_view_stage *stage,
                            cz_ir_op f)
{
    const cz_fact_rule *rule = b->view->rules[stage->rule].fact;
    const int n_scalars = stage->fact->scalars.n;
    bool ok = cz_ir_function_n_in(f) == stage->n_in + n_scalars &&
              cz_ir_function_n_out(f) == stage->n_out;

    for (int i = 0; ok && i < stage->n_in; i++)
        ok = is_slot_type(rule, cz_ir_value_type(cz_ir_function_in(f, i)),
                          &stage->in[i]);
    for (int i = 0; ok && i < n_scalars; i++)
        ok = cz_ir_type_equal(
            cz_ir_value_type(cz_ir_function_in(f, stage->n_in + i)),
            cz_ir_scalar_type(CZ_F32));
    for (int i = 0; ok && i < stage->n_out; i++)
        ok = is_slot_type(rule, cz_ir_function_out_type(f, i), &stage->out[i]);
    return ok || cz_view_fail(b,
                              "stage '%s': '%s' does not have its slots "
                              "and scalars as arguments and results",
                              stage->fact->sym_name, stage->fact->body);
}

/* ---- outputs that take the place of an input ---- */

/* Whether output `out`, which takes the place of input `in`, may. */
static bool may_renew(const cz_view_stage *stage, int out, int in)
{
    int first = stage->n_in + stage->fact->scalars.n, s = 0;

    while (stage->out_value[out] >= first + stage->steps[s].n_out)
        first += stage->steps[s++].n_out;
    return !cz_view_conflicts(stage->steps, stage->n_steps, in, s,
                              stage->out_value[out] - first);
}

static bool check_renewed(cz_view_builder *b, const cz_view_stage *stage)
{
    for (int i = 0; i < stage->n_out; i++)
        for (int k = 0; k < stage->n_in; k++)
            if (stage->out[i].kind == stage->in[k].kind &&
                stage->out[i].index == stage->in[k].index &&
                !may_renew(stage, i, k))
                return cz_view_fail(b,
                                    "stage '%s': output %d takes the place of "
                                    "an input that is still read",
                                    stage->fact->sym_name, i);
    return true;
}

/* ---- reading ---- */

static bool read_body(cz_view_builder *b, cz_view_stage *stage)
{
    cz_ir_op function;

    return cz_view_find_function(b, stage->fact->body, &function) &&
           check_signature(b, stage, function) &&
           cz_view_read_steps(b, stage, function) && check_renewed(b, stage);
}

static bool read_stage(cz_view_builder *b, cz_view_stage *stage)
{
    const cz_fact_stage *fact = stage->fact;

    if (!cz_view_find(b, CZ_FACT_rule, fact->rule, &stage->rule) ||
        !cz_view_all_in(b, "stage: scalars", &fact->scalars, fact->scalars.n, 0,
                        b->rules[stage->rule].n_scalars - 1))
        return false;
    stage->where = fact->where;
    stage->n_in = fact->ins.n;
    stage->n_out = fact->outs.n;
    stage->n_segments = 1;
    stage->in = read_slots(b, stage, &fact->ins, &fact->in_dtypes);
    stage->out = read_slots(b, stage, &fact->outs, &fact->out_dtypes);
    return stage->in && stage->out && read_body(b, stage);
}

/* Stages of a rule stand together. */
static bool join_rule(cz_view_builder *b, int number, int rule)
{
    cz_view_rule *view = &b->rules[rule];

    if (view->n_stages == 0)
        view->first_stage = number;
    if (view->first_stage + view->n_stages++ == number)
        return true;
    return cz_view_fail(b, "the stages of rule '%s' do not stand together",
                        view->fact->sym_name);
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
           read_body(b, out);
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

static bool read_variants(cz_view_builder *b, cz_view_stage *stages, int n)
{
    int n_facts, next = 0;
    const cz_fact_variant *facts = CZ_VIEW_FACTS(b, variant, &n_facts);

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

/* ---- all of them ---- */

bool cz_view_read_stages(cz_view_builder *b)
{
    int n;
    const cz_fact_stage *facts = CZ_VIEW_FACTS(b, stage, &n);
    cz_view_stage *stages = CZ_NEW(b->arena, cz_view_stage, n);

    for (int i = 0; i < n; i++) {
        stages[i].fact = &facts[i];
        if (!read_stage(b, &stages[i]) || !join_rule(b, i, stages[i].rule) ||
            !check_slots(b, stages, i))
            return false;
    }
    b->view->n_stages = n;
    b->view->stages = stages;
    return cz_view_read_subgroups(b, stages, n) && read_variants(b, stages, n);
}
