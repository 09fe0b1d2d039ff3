/* States that a call of a def declares: where such a call may stand, and what
 * its states are called. */
#include "frontend/rule/internal.h"

#include <assert.h>

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
