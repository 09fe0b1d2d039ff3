/* Values of a rule: making them, asking them, naming them in messages. */
#include "frontend/rule/internal.h"
#include "frontend/rule/path.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NOTES = 2 };

static cz_rule_value error_value; /* kind CZ_RULE_ERROR, never written */

cz_rule_value *cz_rule_absorb(void)
{
    return &error_value;
}

static bool is_at(const cz_diag *diag, cz_span place)
{
    return diag && diag->span.source == place.source &&
           diag->span.offset == place.offset;
}

/* Where the user's text asked for what the library's cannot do: the innermost
 * call of it, or the `use`. */
static cz_span place_of_user(const cz_rule *rule)
{
    const cz_rule_frame *frame = rule->frame;
    for (; frame && frame->caller; frame = frame->caller)
        if (!cz_scope_is_library(rule->use->scope, frame->call->span.source))
            return frame->call->span;
    return rule->use->use ? rule->use->use->span : (cz_span){0};
}

cz_rule_value *cz_rule_failed(cz_rule *rule, cz_code code)
{
    rule->failed = true;
    const cz_diag *last = cz_diag_last(rule->diags);
    const cz_span place = place_of_user(rule);
    if (last && cz_scope_is_library(rule->use->scope, last->span.source) &&
        !cz_scope_is_library(rule->use->scope, place.source))
        cz_diag_move(rule->diags, place, "found here, in the library");
    last = cz_diag_last(rule->diags); /* it may have moved in memory */
    /* The calls around the place, the innermost first; of many the last alone.
     */
    const cz_rule_frame *frame = rule->frame;
    for (int i = 0; frame && frame->caller; frame = frame->caller, i++) {
        assert(frame->call); /* who has a caller was called somewhere */
        const bool is_last = !frame->caller->call;
        if ((i < MAX_NOTES || is_last) && !is_at(last, frame->call->span))
            cz_diag_note(rule->diags, frame->call->span, "'%s' is %s here",
                         frame->call->text,
                         frame->call->kind == CZ_AST_CALL ? "called" : "used");
    }
    if ((code == CZ_SHAPE_MISMATCH || code == CZ_BAD_PRODUCT) && rule->shape &&
        rule->shape->n_dims == 2 && !rule->path) {
        cz_diag_note(rule->diags, rule->use->use->span,
                     "used here, on a matrix stored as [%" PRId64 ", %" PRId64
                     "]",
                     rule->shape->shape[0], rule->shape->shape[1]);
    } else if (rule->shape && !rule->path &&
               !is_at(last, rule->use->use->span) &&
               rule->use->optimizer->span.source !=
                   rule->use->use->span.source) {
        cz_diag_note(rule->diags, rule->use->use->span, "used here");
    }
    return cz_rule_absorb();
}

void cz_rule_suggest(cz_rule *rule, const cz_node *node, const char *nearest)
{
    if (nearest)
        cz_diag_note(rule->diags, node->span, "did you mean '%s'?", nearest);
}

static cz_rule_value *make(cz_rule *rule, cz_rule_kind kind)
{
    cz_rule_value *value = CZ_NEW(rule->arena, cz_rule_value, 1);
    value->kind = kind;
    return value;
}

cz_rule_value *cz_rule_number(cz_rule *rule, const cz_scalar *number)
{
    cz_rule_value *value = make(rule, CZ_RULE_NUMBER);
    value->number = number;
    return value;
}

cz_rule_value *cz_rule_items(cz_rule *rule, cz_rule_kind kind,
                             cz_rule_value **items, int n)
{
    cz_rule_value *value = make(rule, kind);
    value->items = items;
    value->n_items = n;
    return value;
}

cz_rule_value *cz_rule_tensor(cz_rule *rule, cz_tensor tensor)
{
    cz_rule_value *value = make(rule, CZ_RULE_TENSOR);
    value->tensor = tensor;
    if (!tensor.serial)
        value->tensor.serial = ++rule->n_serials;
    return value;
}

cz_tensor cz_rule_as_parameter(const cz_rule *rule, cz_dtype dtype)
{
    const bool any = cz_rule_is_any(rule);
    return (cz_tensor){
        .dtype = dtype,
        .rounded = true,
        .kept = any ? CZ_RULE_ROWS : CZ_RULE_MATRIX,
        .extent = {rule->extent[0], rule->extent[1]},
        .flipped = !any && rule->shape->transposed,
    };
}

cz_rule_value *cz_rule_argument(cz_rule *rule, int i, const cz_tensor *as)
{
    cz_tensor tensor = *as;
    if (rule->building) {
        const cz_ir_value in = cz_ir_function_in(rule->builder.function, i);
        *(as->dtype == CZ_F32 ? &tensor.wide : &tensor.narrow) = in;
    }
    return cz_rule_tensor(rule, tensor);
}

bool cz_rule_is_any(const cz_rule *rule)
{
    return cz_node_has(cz_optimizer_header(rule->use->optimizer), CZ_FLAG_ANY);
}

bool cz_rule_is_bool(const cz_rule_value *value)
{
    return (value->kind == CZ_RULE_NUMBER && value->number->is_bool) ||
           (value->kind == CZ_RULE_TENSOR && value->tensor.is_bool);
}

bool cz_rule_is_scalar(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_NUMBER ||
           (value->kind == CZ_RULE_TENSOR && value->tensor.kept == 0);
}

const cz_scalar *cz_rule_extent(const cz_tensor *tensor, int dim)
{
    return tensor->extent[dim ^ (int)tensor->flipped];
}

bool cz_rule_is_open(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_NUMBER && value->number->is_open;
}

const char *cz_rule_extent_text(cz_rule *rule, const cz_tensor *tensor, int dim)
{
    return cz_scalar_text(rule->arena, cz_rule_extent(tensor, dim),
                          rule->path ? rule->path->names : NULL);
}

static const char *tensor_text(cz_rule *rule, const cz_tensor *tensor)
{
    if (tensor->kept == 0)
        return "[]";
    if (cz_rule_is_any(rule))
        return "a tensor of any shape";
    return cz_arena_printf(rule->arena, "[%s, %s]",
                           cz_rule_extent_text(rule, tensor, 0),
                           cz_rule_extent_text(rule, tensor, 1));
}

const char *cz_rule_text(cz_rule *rule, const cz_rule_value *value)
{
    switch (value->kind) {
    case CZ_RULE_NUMBER:
        return value->number->is_bool ? "a truth" : "a number";
    case CZ_RULE_TENSOR:
        return tensor_text(rule, &value->tensor);
    case CZ_RULE_TUPLE:
        return cz_arena_printf(rule->arena, "a tuple of %d", value->n_items);
    case CZ_RULE_TABLE:
        return "a table";
    case CZ_RULE_DTYPE:
        return "an element type";
    case CZ_RULE_DEF:
        return "a function";
    case CZ_RULE_ERROR:
        break;
    }
    return "an error";
}

static void note_origin(cz_rule *rule, const cz_node *node,
                        const cz_rule_value *value)
{
    const cz_node *place = node && node->kind == CZ_AST_NAME
                               ? cz_rule_find_place(rule, node->text)
                               : NULL;
    const char *text = cz_rule_text(rule, value);
    if (place)
        cz_diag_note(rule->diags, place->span, "'%s' is %s", node->text, text);
    else if (node)
        cz_diag_note(rule->diags, node->span, "this is %s", text);
}

void cz_rule_note_origins(cz_rule *rule, const cz_node *first,
                          const cz_rule_value *a, const cz_node *second,
                          const cz_rule_value *b)
{
    const bool once = first && second && first->kind == CZ_AST_NAME &&
                      second->kind == CZ_AST_NAME &&
                      strcmp(first->text, second->text) == 0;
    note_origin(rule, first, a);
    if (!once)
        note_origin(rule, second, b);
}

bool cz_rule_constant(cz_rule *rule, const cz_node *node,
                      const cz_rule_value *value, const char *what, double *out)
{
    if (value->kind == CZ_RULE_ERROR || cz_rule_is_open(value))
        return false;
    if (value->kind == CZ_RULE_NUMBER && value->number->is_fixed) {
        *out = value->number->constant;
        return true;
    }
    if (value->kind == CZ_RULE_NUMBER)
        cz_rule_error(rule, CZ_BAD_TYPE, node,
                      "%s is decided when the rule is compiled; this number is "
                      "known at run time only",
                      what);
    else
        cz_rule_error(rule, CZ_BAD_TYPE, node, "%s must be a number, not %s",
                      what, cz_rule_text(rule, value));
    return false;
}
