/* Defs: inlined where they are called. */
#include "frontend/rule/internal.h"
#include "frontend/rule/expand/expand.h"

#include <string.h>
#include <assert.h>

enum { MAX_CALLS = 16 }; /* defs that call defs */

/* ---- defs with states ---- */

static bool has_states(cz_rule *rule, const cz_node *def)
{
    for (int i = 0; i < rule->n_known; i++)
        if (rule->known[i].def == def)
            return rule->known[i].has_states;
    const bool has = cz_def_has_states(rule->use->scope, rule->arena, def);
    *CZ_PUSH(rule->arena, rule->known, rule->n_known) =
        (struct cz_rule_known){def, has};
    return has;
}

bool cz_rule_check_def(cz_rule *rule, const cz_node *def)
{
    if (!has_states(rule, def))
        return true;
    const cz_node *early = cz_def_early_return(def);
    if (early)
        cz_rule_error(rule, CZ_BAD_TYPE, early,
                      "'%s' declares states: it returns at its end alone",
                      def->text);
    else if (cz_node_has(def, CZ_FLAG_WIDE))
        cz_rule_error(rule, CZ_BAD_TYPE, cz_rule_formals(def),
                      "'%s' declares states: it cannot be `wide`, and see "
                      "matrices transposed",
                      def->text);
    else
        return true;
    return false;
}

/* ---- turning ---- */

static bool is_matrix(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_TENSOR &&
           value->tensor.kept == CZ_RULE_MATRIX;
}

/* Whether a `wide` def sees its arguments transposed: its first matrix
 * decides. */
static bool needs_turning(cz_rule *rule, const cz_node *def,
                          const cz_rule_frame *frame)
{
    if (!cz_node_has(def, CZ_FLAG_WIDE))
        return false;
    for (int i = 0; i < frame->n_bindings; i++)
        if (is_matrix(frame->bindings[i].value)) {
            const cz_tensor *tensor = &frame->bindings[i].value->tensor;
            return cz_rule_decide(rule,
                                  cz_scalar_compare(&rule->scalars, "ogt",
                                                    cz_rule_extent(tensor, 0),
                                                    cz_rule_extent(tensor, 1)));
        }
    return false;
}

/* Transpose a tensor, or each of a tuple. */
static cz_rule_value *turn(cz_rule *rule, cz_rule_value *value)
{
    if (value->kind == CZ_RULE_TENSOR)
        return cz_rule_transpose(rule, value);
    if (value->kind != CZ_RULE_TUPLE)
        return value;
    cz_rule_value **items =
        CZ_NEW(rule->arena, cz_rule_value *, value->n_items);
    for (int i = 0; i < value->n_items; i++)
        items[i] = turn(rule, value->items[i]);
    return cz_rule_items(rule, CZ_RULE_TUPLE, items, value->n_items);
}

/* ---- the call ---- */

/* The value of one formal: its argument, evaluated where the call stands, or
 * its default, which sees the formals before it. */
static cz_rule_value *argument(cz_rule *rule, const cz_node *formal,
                               const cz_node *arg, cz_rule_frame *inner)
{
    const cz_node *value = arg ? cz_arg_value(arg) : cz_formal_default(formal);
    if (!value)
        return cz_rule_error(rule, CZ_WRONG_ARGUMENT, inner->call,
                             "'%s' needs its argument '%s'", inner->call->text,
                             formal->text);
    if (!arg)
        rule->frame = inner;
    cz_rule_value *result = cz_rule_round(rule, cz_rule_eval(rule, value));
    rule->frame = inner->caller;
    return result;
}

/* Bind the formals in `inner`; false when something is wrong. */
static bool bind_arguments(cz_rule *rule, const cz_node *call,
                           const cz_node *def, cz_rule_frame *inner)
{
    const cz_node *formals = cz_rule_formals(def);
    const cz_node **chosen =
        CZ_NEW(rule->arena, const cz_node *, cz_n_items(formals));
    const cz_node *const *args = cz_items(call);
    if (!cz_rule_match(rule, def, args, cz_n_items(call), false, chosen))
        return false;
    bool ok = true;
    for (int i = 0; i < cz_n_items(formals); i++) {
        cz_rule_value *value =
            argument(rule, cz_item(formals, i), chosen[i], inner);
        *CZ_PUSH(rule->arena, inner->bindings, inner->n_bindings) =
            (cz_rule_binding){cz_item(formals, i)->text, value,
                              chosen[i] ? chosen[i] : cz_item(formals, i)};
        ok = ok && value->kind != CZ_RULE_ERROR;
    }
    return ok;
}

static cz_rule_value *run_body(cz_rule *rule, const cz_node *call,
                               const cz_node *def, cz_rule_frame *inner)
{
    const bool turned = needs_turning(rule, def, inner);
    for (int i = 0; turned && i < inner->n_bindings; i++)
        if (inner->bindings[i].value->kind == CZ_RULE_TENSOR)
            inner->bindings[i].value =
                cz_rule_transpose(rule, inner->bindings[i].value);
    rule->frame = inner;
    if (cz_rule_check_def(rule, def))
        cz_rule_run(rule, cz_def_block(def));
    rule->frame = inner->caller;
    if (!inner->result)
        return rule->failed
                   ? cz_rule_absorb()
                   : cz_rule_error(rule, CZ_BAD_TYPE, call,
                                   "'%s' returns no value here", def->text);
    if (has_states(rule, def)) /* so that it may be written as equations */
        return cz_rule_round(rule, inner->result);
    return turned ? turn(rule, inner->result) : inner->result;
}

cz_rule_value *cz_rule_inline(cz_rule *rule, const cz_node *call,
                              const cz_node *def)
{
    const bool is_bound = rule->bound_call == call;
    cz_rule_frame inner = {
        .caller = rule->frame,
        .call = call,
        .def = def,
        .id = ++rule->n_frames,
        .states = is_bound ? rule->bound_name : def->text,
        .n_conditional = rule->n_conditional,
        .is_by_value = cz_rule_find_local(rule, call->text) != NULL,
        .n_calls = rule->frame->n_calls + 1,
    };
    if (inner.n_calls > MAX_CALLS)
        return cz_rule_error(rule, CZ_CYCLE, call,
                             "'%s' calls itself, or calls go deeper than %d",
                             def->text, MAX_CALLS);
    return bind_arguments(rule, call, def, &inner)
               ? run_body(rule, call, def, &inner)
               : cz_rule_absorb();
}

/* ---- states that a call declares ----------------------------------------- */

/* ---- where it stands ---- */

/* What forbids a call that declares states where it stands, or NULL; then *at
 * is the frame of the call. */
static const char *find_obstacle(const cz_rule *rule, cz_rule_frame **at)
{
    cz_rule_frame *frame = rule->frame;
    for (; frame->caller && frame->def; frame = frame->caller) {
        *at = frame;
        if (frame->n_conditional > frame->caller->n_conditional ||
            frame->caller->n_loops)
            return "outside of loops, `first` and `every`";
        if (frame->is_by_value)
            return "by its own name";
    }
    return frame->def || (!frame->call && rule->n_slots)
               ? NULL
               : "by optimizers and defs alone";
}

bool cz_rule_check_call(cz_rule *rule)
{
    cz_rule_frame *inner = rule->frame, *at = NULL;
    const char *where = inner->caller ? find_obstacle(rule, &at) : NULL;
    if (!where)
        return true;
    assert(at);
    rule->frame = at->caller;
    cz_rule_error(rule, CZ_BAD_TYPE, at->call,
                  "'%s' declares states: it is called %s", at->def->text,
                  where);
    rule->frame = inner;
    return false;
}

/* ---- its name ---- */

/* The calls around it, the outermost first, then the state. */
static const char *name_within(cz_rule *rule, const cz_rule_frame *frame,
                               const char *rest)
{
    return frame->caller ? name_within(rule, frame->caller,
                                       cz_arena_printf(rule->arena, "%s_%s",
                                                       frame->states, rest))
                         : rest;
}

const char *cz_rule_state_name(cz_rule *rule, const char *local)
{
    return name_within(rule, rule->frame, local);
}

/* What has the name in the optimizer already; then *call is the call that gave
 * it, or NULL. */
static const cz_node *find_taken(cz_rule *rule, const char *name,
                                 const cz_node **call)
{
    cz_rule_frame *inner = rule->frame;
    while (rule->frame->caller)
        rule->frame = rule->frame->caller;
    const cz_rule_slot *slot = cz_rule_find_slot(rule, name);
    const cz_node *place = cz_rule_find_place(rule, name);
    rule->frame = inner;
    *call = slot ? slot->call : NULL;
    return place;
}

bool cz_rule_check_state_name(cz_rule *rule, const cz_rule_slot *slot)
{
    cz_rule_frame *inner = rule->frame;
    const cz_node *call, *place = find_taken(rule, slot->name, &call);
    if (!inner->caller || !place)
        return true;
    rule->frame = inner->caller;
    cz_rule_error(rule, CZ_DUPLICATE_NAME, inner->call,
                  "the state '%s' of this call would be '%s', which is "
                  "already the name of something else",
                  slot->local, slot->name);
    cz_diag_note(rule->diags, call ? call->span : place->span, "first here");
    cz_diag_note(rule->diags, inner->call->span,
                 "states are called after the name that the call's value is "
                 "bound to");
    rule->frame = inner;
    return false;
}
