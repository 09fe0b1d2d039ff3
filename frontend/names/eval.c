/* Compile-time expressions: environments, names, and one function per group
 * of operators.  arith.c has the arithmetic itself. */
#include "frontend/names/eval.h"

#include <math.h>
#include <string.h>

/* Lets that wait for each other: bounds the stack (the nesting of one
 * expression is bounded by the parser). */
enum { MAX_WAITING_LETS = 64 };

typedef struct cz_binding {
    const char *name;
    cz_value value;
    const cz_node *let; /* not yet evaluated when set */
    bool running;
} cz_binding;

/* ---- values ---- */

cz_value cz_value_int(int64_t integer)
{
    return (cz_value){
        .kind = CZ_VALUE_INT, .integer = integer, .real = (double)integer};
}

cz_value cz_value_real(double real)
{
    return (cz_value){.kind = CZ_VALUE_REAL, .real = real};
}

cz_value cz_value_bool(bool truth)
{
    return (cz_value){.kind = CZ_VALUE_BOOL, .integer = truth};
}

cz_value cz_value_string(const char *string)
{
    return (cz_value){.kind = CZ_VALUE_STRING, .string = string};
}

const char *cz_value_text(cz_arena *arena, cz_value value)
{
    switch (value.kind) {
    case CZ_VALUE_POISON:
        break;
    case CZ_VALUE_INT:
        return cz_arena_printf(arena, "%lld", (long long)value.integer);
    case CZ_VALUE_REAL:
        return cz_arena_printf(arena, "%.9g", value.real);
    case CZ_VALUE_BOOL:
        return value.integer ? "true" : "false";
    case CZ_VALUE_STRING:
        return cz_arena_printf(arena, "\"%.40s\"", value.string);
    }
    return "?";
}

cz_span cz_value_place(const cz_node *e, cz_value value)
{
    return value.from ? *value.from : e->span;
}

void cz_value_note_use(cz_diags *diags, const cz_node *e, cz_value value)
{
    if (value.from)
        cz_diag_note(diags, e->span, "it is used here, for one");
}

/* ---- environments ---- */

void cz_env_init(cz_env *env, cz_arena *arena, cz_env *parent)
{
    *env = (cz_env){.arena = arena, .parent = parent};
}

void cz_env_bind(cz_env *env, const char *name, cz_value value)
{
    *CZ_PUSH(env->arena, env->list, env->n) =
        (cz_binding){.name = name, .value = value};
}

void cz_env_bind_let(cz_env *env, const cz_node *let)
{
    *CZ_PUSH(env->arena, env->list, env->n) =
        (cz_binding){.name = let->text, .let = let};
}

void cz_env_bind_now(cz_env *env, const cz_node *let, cz_diags *diags)
{
    cz_value value;
    if (!cz_eval(cz_let_value(let), env, diags, &value))
        value = (cz_value){.kind = CZ_VALUE_POISON};
    cz_env_bind(env, let->text, value);
}

/* The binding that `name` means, and the environment that holds it. */
static cz_binding *find(cz_env *env, const char *name, cz_env **home)
{
    for (; env; env = env->parent)
        for (int i = env->n - 1; i >= 0; i--)
            if (strcmp(env->list[i].name, name) == 0) {
                *home = env;
                return &env->list[i];
            }
    return NULL;
}

static const char *nearest_name(cz_env *env, const char *name)
{
    const char **names = NULL;
    cz_arena *arena = env->arena;
    int n = 0;
    for (; env; env = env->parent)
        for (int i = 0; i < env->n; i++)
            *CZ_PUSH(arena, names, n) = env->list[i].name;
    return cz_diag_nearest(name, names, n);
}

/* ---- names ---- */

typedef struct eval_state {
    cz_diags *diags;
    int waiting;             /* lets under evaluation */
    const cz_binding *cycle; /* the let that was found to need itself */
} eval_state;

static bool eval(eval_state *state, const cz_node *e, cz_env *env,
                 cz_value *out);

/* `home` may grow while the let is evaluated only in other environments, so
 * the binding stays where it is. */
static bool force(eval_state *state, const cz_node *e, cz_binding *binding,
                  cz_env *home)
{
    if (binding->running) {
        cz_diag_error(state->diags, CZ_CYCLE, e->span,
                      "'%s' is defined by itself", e->text);
        state->cycle = binding;
        return false;
    }
    if (state->waiting == MAX_WAITING_LETS) {
        cz_diag_error(state->diags, CZ_TOO_LARGE, e->span,
                      "more than %d lets wait for each other",
                      MAX_WAITING_LETS);
        return false;
    }
    binding->running = true;
    state->waiting++;
    if (!eval(state, cz_let_value(binding->let), home, &binding->value))
        binding->value = (cz_value){.kind = CZ_VALUE_POISON};
    if (state->cycle) {
        /* On the way back from a cycle: who asked, up to the one that closes
         * it. */
        if (binding == state->cycle)
            state->cycle = NULL;
        else
            cz_diag_note(state->diags, e->span, "by way of '%s'", e->text);
    }
    state->waiting--;
    binding->running = false;
    binding->let = NULL;
    return true;
}

static bool eval_name(eval_state *state, const cz_node *e, cz_env *env,
                      cz_value *out)
{
    cz_env *home = NULL;
    cz_binding *binding = find(env, e->text, &home);
    if (!binding) {
        const char *near = nearest_name(env, e->text);
        cz_diag_error(state->diags, CZ_UNKNOWN_NAME, e->span,
                      "nothing here is called '%s'", e->text);
        if (near)
            cz_diag_note(state->diags, e->span, "did you mean '%s'?", near);
        return false;
    }
    if (binding->let && !force(state, e, binding, home))
        return false;
    *out = binding->value;
    return out->kind != CZ_VALUE_POISON;
}

/* ---- operators ---- */

static bool eval_logic(eval_state *state, const cz_node *e, cz_env *env,
                       cz_value *out)
{
    for (int i = 0; i < cz_n_items(e); i++) {
        *out = (cz_value){0};
        if (!eval(state, cz_item(e, i), env, out))
            return false;
        if (out->kind != CZ_VALUE_BOOL) {
            cz_diag_error(state->diags, CZ_BAD_TYPE,
                          cz_value_place(cz_item(e, i), *out),
                          "a condition is needed here, not %s",
                          cz_value_text(env->arena, *out));
            cz_value_note_use(state->diags, cz_item(e, i), *out);
            return false;
        }
        if (e->kind == CZ_AST_NOT)
            *out = cz_value_bool(!out->integer);
        else if (out->integer == (e->kind == CZ_AST_OR))
            return true; /* the rest does not matter */
    }
    return true;
}

static bool eval_operands(eval_state *state, const cz_node *e, cz_env *env,
                          cz_value *values)
{
    bool good = true;
    for (int i = 0; i < cz_n_items(e); i++) {
        const cz_node *operand = cz_item(e, i);
        if (operand->kind == CZ_AST_ARG)
            operand = cz_arg_value(operand);
        good &= eval(state, operand, env, &values[i]);
    }
    return good;
}

static cz_value number(const cz_node *e)
{
    return cz_node_has(e, CZ_FLAG_INTEGER) ? cz_value_int(e->integer)
                                           : cz_value_real(e->number);
}

static bool eval(eval_state *state, const cz_node *e, cz_env *env,
                 cz_value *out)
{
    if (e->kind == CZ_AST_NUMBER)
        *out = number(e);
    else if (e->kind == CZ_AST_BOOL)
        *out = cz_value_bool(e->integer != 0);
    else if (e->kind == CZ_AST_STRING)
        *out = cz_value_string(e->text);
    else if (e->kind == CZ_AST_NAME)
        return eval_name(state, e, env, out);
    else if (e->kind == CZ_AST_AND || e->kind == CZ_AST_OR ||
             e->kind == CZ_AST_NOT)
        return eval_logic(state, e, env, out);
    else if (e->kind == CZ_AST_PIPE)
        return eval(state, cz_pipe_call(e), env, out);
    else if (e->kind == CZ_AST_ERROR)
        return false;
    else {
        cz_value *values = CZ_NEW(env->arena, cz_value, cz_n_items(e));
        if (!eval_operands(state, e, env, values))
            return false;
        if (e->kind == CZ_AST_CALL)
            return cz_arith_call(e, values, env->arena, state->diags, out);
        return cz_arith_operator(e, values, env->arena, state->diags, out);
    }
    return true;
}

/* ---- entries ---- */

bool cz_eval(const cz_node *e, cz_env *env, cz_diags *diags, cz_value *out)
{
    eval_state state = {.diags = diags};
    return eval(&state, e, env, out);
}

bool cz_eval_bool(const cz_node *e, cz_env *env, cz_diags *diags, bool *out)
{
    cz_value value;
    if (!cz_eval(e, env, diags, &value))
        return false;
    if (value.kind != CZ_VALUE_BOOL) {
        cz_diag_error(diags, CZ_BAD_TYPE, cz_value_place(e, value),
                      "a condition is needed here, not %s",
                      cz_value_text(env->arena, value));
        cz_value_note_use(diags, e, value);
        return false;
    }
    *out = value.integer != 0;
    return true;
}

bool cz_eval_real(const cz_node *e, cz_env *env, cz_diags *diags, double *out)
{
    cz_value value;
    if (!cz_eval(e, env, diags, &value))
        return false;
    if (value.kind != CZ_VALUE_INT && value.kind != CZ_VALUE_REAL) {
        cz_diag_error(diags, CZ_BAD_TYPE, e->span,
                      "a number is needed here, not %s",
                      cz_value_text(env->arena, value));
        return false;
    }
    *out = value.real;
    return true;
}

/* A double that is an integer counts: 4e3, or 10 / 4 * 2. */
static bool is_integer(cz_value value, int64_t *out)
{
    const double limit = 9007199254740992.0; /* 2^53: exact below */
    *out = value.integer;
    if (value.kind != CZ_VALUE_REAL)
        return value.kind == CZ_VALUE_INT;
    if (!(fabs(value.real) <= limit) || floor(value.real) != value.real)
        return false;
    *out = (int64_t)value.real;
    return true;
}

bool cz_eval_size(const cz_node *e, cz_env *env, cz_diags *diags,
                  const char *what, int64_t low, int64_t high, int64_t *out)
{
    cz_value value;
    int64_t size;
    if (!cz_eval(e, env, diags, &value))
        return false;
    const char *text = cz_value_text(env->arena, value);
    if (!is_integer(value, &size) || size < low) {
        cz_diag_error(diags, CZ_BAD_DIMENSION, cz_value_place(e, value),
                      "the %s is %s: an integer of at least %lld is needed",
                      what, text, (long long)low);
        cz_value_note_use(diags, e, value);
        return false;
    }
    if (size > high) {
        cz_diag_error(diags, CZ_TOO_LARGE, cz_value_place(e, value),
                      "the %s is %s, and at most %lld is possible", what, text,
                      (long long)high);
        cz_value_note_use(diags, e, value);
        return false;
    }
    *out = size;
    return true;
}

bool cz_node_reads(const cz_node *node, const char *name)
{
    if (node->kind == CZ_AST_NAME && strcmp(node->text, name) == 0)
        return true;
    for (int i = 0; i < cz_n_children(node); i++)
        if (cz_node_reads(cz_child(node, i), name))
            return true;
    return false;
}
