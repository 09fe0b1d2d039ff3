/* A call of a def with states, as statements of the rule. */
#include "frontend/rule/expand/internal.h"
#include "frontend/rule/expand/expand.h"

#include <string.h>

const cz_node *cz_expand_callee(cz_expansion *e, const cz_expand_frame *frame,
                                const cz_node *call)
{
    const bool is_local = frame->def ? cz_expand_find(frame, call->text) != NULL
                                     : cz_expand_is_taken(e, call->text);
    const cz_node *def =
        is_local ? NULL : cz_scope_find(e->scope, CZ_AST_DEF, call->text);
    return def && cz_def_has_states(e->scope, e->arena, def) ? def : NULL;
}

/* ---- arguments ---- */

static const cz_node *find_argument(const cz_node *call, const cz_node *formal,
                                    int place)
{
    for (int i = 0; i < cz_n_items(call); i++) {
        const cz_node *arg = cz_item(call, i);
        if (arg->text ? strcmp(arg->text, formal->text) == 0 : i == place)
            return cz_arg_value(arg);
    }
    return NULL;
}

static bool is_in_type(const cz_node *node, const char *name, bool within)
{
    within = within || node->kind == CZ_AST_TYPE;
    if (within && node->kind == CZ_AST_NAME && strcmp(node->text, name) == 0)
        return true;
    for (int i = 0; i < cz_n_children(node); i++)
        if (is_in_type(cz_child(node, i), name, within))
            return true;
    return false;
}

/* Whether the argument may stand wherever the formal does.  A dimension that is
 * written 1 is another one than a name that is 1. */
static bool is_replaceable(const cz_node *def, const cz_node *formal,
                           const cz_node *value)
{
    return cz_expand_is_plain(value) && !cz_def_binds(def, formal->text) &&
           (value->kind == CZ_AST_NAME ||
            !is_in_type(cz_def_block(def), formal->text, false));
}

static void bind_formal(cz_expansion *e, cz_expand_frame *outer,
                        cz_expand_frame *inner, const cz_node *call, int i)
{
    const cz_node *formal = cz_item(cz_rule_formals(inner->def), i);
    const cz_node *given = find_argument(call, formal, i);
    const cz_node *value = given ? given : cz_formal_default(formal);
    const char *text = cz_expand_text(e, given ? outer : inner, value);
    if (is_replaceable(inner->def, formal, value))
        cz_expand_rename(e, inner, formal->text, text);
    else
        cz_text_printf(&e->lines, "%s = %s\n",
                       cz_expand_own(e, inner, formal->text), text);
}

/* ---- statements ---- */

static void put_block(cz_expansion *e, cz_expand_frame *frame,
                      const cz_node *block);

static void put_target(cz_expansion *e, cz_expand_frame *frame,
                       const cz_node *target, cz_text *text)
{
    if (target->kind == CZ_AST_NAME) {
        const char *own = cz_expand_find(frame, target->text);
        cz_text_puts(text, own ? own : cz_expand_own(e, frame, target->text));
        return;
    }
    for (int i = 0; i < cz_n_items(target); i++) {
        cz_text_puts(text, i ? ", " : "(");
        put_target(e, frame, cz_item(target, i), text);
    }
    cz_text_puts(text, ")");
}

static void put_assignment(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *statement)
{
    const cz_node *target = cz_assign_target(statement);
    const bool is_bind = statement->kind == CZ_AST_BIND;
    const char *value = cz_expand_value(
        e, frame, cz_assign_value(statement),
        is_bind && target->kind == CZ_AST_NAME ? target->text : NULL);
    put_target(e, frame, target, &e->lines);
    cz_text_printf(&e->lines, " %s %s\n", is_bind ? "=" : "<-", value);
}

static void put_state(cz_expansion *e, cz_expand_frame *frame,
                      const cz_node *statement)
{
    const cz_node *type = cz_declared_type(statement);
    const char *name =
        cz_arena_printf(e->arena, "%s_%s", frame->states, statement->text);
    const char *initial =
        cz_expand_text(e, frame, cz_declared_initial(statement));
    cz_text dims = {0};
    for (int i = 0; i < cz_n_items(type); i++)
        cz_text_printf(&dims, "%s%s", i ? ", " : "[",
                       cz_expand_text(e, frame, cz_item(type, i)));
    cz_text_puts(&dims, cz_n_items(type) ? "]" : "");
    cz_text_printf(&e->lines, "state %s : %s%s = %s\n", name, type->text,
                   cz_text_string(&dims), initial);
    cz_text_fini(&dims);
    cz_expand_rename(e, frame, statement->text, name);
}

static void put_for(cz_expansion *e, cz_expand_frame *frame,
                    const cz_node *statement)
{
    const char *rows = cz_expand_text(e, frame, cz_for_rows(statement));
    cz_text_puts(&e->lines, "for ");
    put_target(e, frame, cz_assign_target(statement), &e->lines);
    cz_text_printf(&e->lines, " in %s ", rows);
    put_block(e, frame, cz_for_block(statement));
    cz_text_puts(&e->lines, "\n");
}

static void put_else(cz_expansion *e, cz_expand_frame *frame,
                     const cz_node *block)
{
    if (block) {
        cz_text_puts(&e->lines, " else ");
        put_block(e, frame, block);
    }
    cz_text_puts(&e->lines, "\n");
}

static void put_if(cz_expansion *e, cz_expand_frame *frame,
                   const cz_node *statement)
{
    const char *condition =
        cz_expand_text(e, frame, cz_if_condition(statement));
    cz_text_printf(&e->lines, "if %s ", condition);
    put_block(e, frame, cz_if_then(statement));
    put_else(e, frame, cz_if_else(statement));
}

static void put_first(cz_expansion *e, cz_expand_frame *frame,
                      const cz_node *statement)
{
    cz_text_puts(&e->lines, "first ");
    put_block(e, frame, cz_first_then(statement));
    put_else(e, frame, cz_first_else(statement));
}

static void put_every(cz_expansion *e, cz_expand_frame *frame,
                      const cz_node *statement)
{
    const cz_node *from = cz_every_start(statement);
    const char *period = cz_expand_text(e, frame, cz_every_period(statement));
    const char *start = from ? cz_expand_text(e, frame, from) : NULL;
    cz_text_printf(&e->lines, "every %s ", period);
    if (start)
        cz_text_printf(&e->lines, "from %s ", start);
    if (cz_node_has(statement, CZ_FLAG_STAGGERED))
        cz_text_puts(&e->lines, "stagger ");
    put_block(e, frame, cz_every_block(statement));
    cz_text_puts(&e->lines, "\n");
}

typedef void (*putter)(cz_expansion *, cz_expand_frame *, const cz_node *);

/* A return is the last statement, and no extern stands in a def. */
static const putter putters[CZ_AST_N_KINDS] = {
    [CZ_AST_BIND] = put_assignment, [CZ_AST_WRITE] = put_assignment,
    [CZ_AST_STATE] = put_state,     [CZ_AST_FOR] = put_for,
    [CZ_AST_IF] = put_if,           [CZ_AST_FIRST] = put_first,
    [CZ_AST_EVERY] = put_every,
};

static void put_statements(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *block)
{
    for (int i = 0; i < cz_n_items(block); i++)
        if (putters[cz_item(block, i)->kind])
            putters[cz_item(block, i)->kind](e, frame, cz_item(block, i));
}

static void put_block(cz_expansion *e, cz_expand_frame *frame,
                      const cz_node *block)
{
    cz_text_puts(&e->lines, "{\n");
    put_statements(e, frame, block);
    cz_text_puts(&e->lines, "}");
}

/* ---- the call ---- */

const char *cz_expand_call(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *call, const cz_node *def,
                           const char *name)
{
    const cz_node *body = cz_def_block(def);
    cz_expand_frame inner = {.def = def, .states = name ? name : def->text};
    if (frame->def)
        inner.states =
            cz_arena_printf(e->arena, "%s_%s", frame->states, inner.states);
    for (int i = 0; i < cz_n_items(cz_rule_formals(def)); i++)
        bind_formal(e, frame, &inner, call, i);
    put_statements(e, &inner, body);
    const cz_node *value = cz_return_value(cz_item(body, cz_n_items(body) - 1));
    const char *text = cz_expand_text(e, &inner, value);
    if (name || cz_expand_is_plain(value))
        return text;
    const char *own = cz_expand_own(e, &inner, "out");
    cz_text_printf(&e->lines, "%s = %s\n", own, text);
    return own;
}
