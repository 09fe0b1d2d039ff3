/* Which model, with which values. */
#include "frontend/model/model.h"

#include <string.h>

/* ---- which model ---- */

static bool is_instance(cz_kind kind)
{
    return kind == CZ_AST_MODEL_FROM || kind == CZ_AST_MODEL_CALL;
}

/* The only statement that says which model; more than one is reported. */
static const cz_node *find_statement(const cz_node *file, cz_diags *diags)
{
    const cz_node *found = NULL, *defined = NULL;
    int n_defined = 0;
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *statement = cz_item(file, i);
        if (statement->kind == CZ_AST_MODEL) {
            defined = statement;
            n_defined++;
        }
        if (!is_instance(statement->kind))
            continue;
        if (found) {
            cz_diag_error(diags, CZ_DUPLICATE_NAME, statement->span,
                          "a program is about one model");
            cz_diag_note(diags, found->span, "the first is here");
            continue;
        }
        found = statement;
    }
    return found ? found : n_defined == 1 ? defined : NULL;
}

static int count_models(const cz_node *file)
{
    int n = 0;
    for (int i = 0; i < cz_n_items(file); i++)
        n += cz_item(file, i)->kind == CZ_AST_MODEL;
    return n;
}

/* Which of those that the file defines is it? */
static void report_models(const cz_node *file, cz_diags *diags)
{
    const char *names = "", *first = NULL;
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *model = cz_item(file, i);
        if (model->kind != CZ_AST_MODEL)
            continue;
        names = cz_arena_printf(diags->arena, "%s%s'%s'", names,
                                first ? ", " : "", model->text);
        first = first ? first : model->text;
    }
    cz_diag_error(diags, CZ_MISSING_KEY, (cz_span){0},
                  "'%s' defines the models %s, and does not say which one it "
                  "is about: write `model %s()`",
                  file->text, names, first);
}

bool cz_instance_find(cz_scope *scope, const cz_node *file, cz_diags *diags,
                      cz_instance *out)
{
    *out = (cz_instance){.from = find_statement(file, diags)};
    if (!out->from && count_models(file) > 1) {
        report_models(file, diags);
        return false;
    }
    if (!out->from) {
        cz_diag_error(diags, CZ_MISSING_KEY, (cz_span){0},
                      "'%s' does not say which model it is about: write "
                      "`model NAME from \"config.json\"`",
                      file->text);
        return false;
    }
    out->model = cz_scope_find(scope, CZ_AST_MODEL, out->from->text);
    if (out->model)
        return true;
    const char *known = cz_architecture_of(out->from->text);
    const char *near =
        strcmp(known, out->from->text) != 0
            ? known
            : cz_scope_nearest(scope, CZ_AST_MODEL, out->from->text);
    cz_diag_error(diags, CZ_UNKNOWN_NAME, out->from->span,
                  "no model is called '%s'", out->from->text);
    if (near)
        cz_diag_note(diags, out->from->span, "did you mean '%s'?", near);
    return false;
}

void cz_instance_allow(const cz_instance *instance, cz_options *options)
{
    const cz_node *formals = cz_model_formals(instance->model);
    for (int i = 0; i < cz_n_items(formals); i++)
        cz_options_allow(options, instance->model->text,
                         cz_item(formals, i)->text);
}

/* ---- the configuration ---- */

/* A list that says which layers have experts is not read. */
static void warn_of_list(const cz_config *config, cz_diags *diags)
{
    static const char key[] = "mlp_only_layers";
    const cz_config_entry *entry = cz_config_find(config, key);
    const cz_span place =
        entry ? cz_config_place(config, key) : (cz_span){.source = NULL};
    if (!entry || entry->is_scalar || !place.source)
        return;
    const char *list = config->source->bytes + place.offset + place.length;
    list += strspn(list, ": \t\r\n");
    if (*list == '[' && list[1 + strspn(list + 1, " \t\r\n")] != ']')
        cz_diag_warning(diags, CZ_BAD_CONFIG, place,
                        "%s is not read: all layers have experts here", key);
}

/* The path is relative to the main file, which alone names one. */
static bool read_config(cz_instance *instance, cz_scope *scope, cz_arena *arena,
                        cz_diags *diags)
{
    const cz_node *string = cz_model_from_config(instance->from);
    if (string->kind != CZ_AST_STRING)
        return false;
    const cz_source *source =
        cz_scope_read(scope, string->text, CZ_MAX_CONFIG_BYTES, string->span);
    if (!source ||
        !cz_config_read(arena, source, string->span, diags, &instance->config))
        return false;
    warn_of_list(&instance->config, diags);
    const cz_config_entry *type =
        cz_config_find(&instance->config, "model_type");
    if (!type || !type->is_scalar || type->value.kind != CZ_VALUE_STRING ||
        cz_architecture_serves(instance->from->text, type->value.string))
        return true;
    cz_diag_error(diags, CZ_BAD_CONFIG, instance->from->span,
                  "this is model %s, but '%s' has model_type \"%.64s\"",
                  instance->from->text, instance->config.source->name,
                  type->value.string);
    cz_diag_note(diags, cz_config_place(&instance->config, "model_type"),
                 "here");
    return false;
}

/* ---- formals ---- */

typedef struct binder {
    cz_instance *instance;
    const cz_options *options;
    cz_env *globals;
    cz_arena *arena;
    cz_diags *diags;
} binder;

static const cz_node *find_argument(const binder *b, int position,
                                    const char *name)
{
    const cz_node *from = b->instance->from;
    int n_positional = 0;
    if (from->kind != CZ_AST_MODEL_CALL)
        return NULL;
    for (int i = 0; i < cz_n_items(from); i++) {
        const cz_node *arg = cz_item(from, i);
        if (arg->text ? strcmp(arg->text, name) == 0
                      : n_positional++ == position)
            return cz_arg_value(arg);
    }
    return NULL;
}

static const cz_node *find_formal(const cz_node *formals, const char *name)
{
    for (int i = 0; i < cz_n_items(formals); i++)
        if (strcmp(cz_item(formals, i)->text, name) == 0)
            return cz_item(formals, i);
    return NULL;
}

static void unknown_argument(const binder *b, const cz_node *arg,
                             const cz_node *formals)
{
    const char **names = NULL;
    int n = 0;
    for (int i = 0; i < cz_n_items(formals); i++)
        *CZ_PUSH(b->arena, names, n) = cz_item(formals, i)->text;
    const char *near = cz_diag_nearest(arg->text, names, n);
    cz_diag_error(b->diags, CZ_WRONG_ARGUMENT, arg->span,
                  "model %s has no '%s'", b->instance->model->text, arg->text);
    if (near)
        cz_diag_note(b->diags, arg->span, "did you mean '%s'?", near);
}

/* An earlier argument that sets what the i-th sets too, or NULL. */
static const cz_node *find_earlier(const cz_node *from, const cz_node *formals,
                                   int i)
{
    int n_positional = 0;
    for (int k = 0; k < i; k++) {
        const cz_node *earlier = cz_item(from, k);
        const char *name = earlier->text;
        if (!name && n_positional < cz_n_items(formals))
            name = cz_item(formals, n_positional++)->text;
        if (name && strcmp(name, cz_item(from, i)->text) == 0)
            return earlier;
    }
    return NULL;
}

static void check_argument(const binder *b, int i, int *n_positional)
{
    const cz_node *from = b->instance->from;
    const cz_node *model = b->instance->model;
    const cz_node *arg = cz_item(from, i), *formals = cz_model_formals(model);
    const cz_node *earlier;
    if (!arg->text) {
        if ((*n_positional)++ >= cz_n_items(formals))
            cz_diag_error(b->diags, CZ_WRONG_ARGUMENT, arg->span,
                          "model %s takes %d arguments", model->text,
                          cz_n_items(formals));
    } else if (!find_formal(formals, arg->text)) {
        unknown_argument(b, arg, formals);
    } else if ((earlier = find_earlier(from, formals, i)) != NULL) {
        cz_diag_error(b->diags, CZ_WRONG_ARGUMENT, arg->span,
                      "'%s' is given twice", arg->text);
        cz_diag_note(b->diags, earlier->span, "first here");
    }
}

static bool missing(const binder *b, const cz_node *formal)
{
    const cz_instance *instance = b->instance;
    const cz_node *from = instance->from;
    if (!instance->config.source) {
        cz_diag_error(b->diags, CZ_MISSING_KEY, from->span,
                      "model %s needs a value for '%s'", from->text,
                      formal->text);
        return false;
    }
    cz_diag_error(b->diags, CZ_MISSING_KEY, from->span,
                  "'%s' has no key '%s', which model %s needs",
                  instance->config.source->name, formal->text, from->text);
    const char *near =
        cz_config_nearest(b->arena, &instance->config, formal->text);
    if (near)
        cz_diag_note(b->diags, cz_config_place(&instance->config, near),
                     "it has '%s'", near);
    return false;
}

static bool config_value(const binder *b, const cz_config_entry *entry,
                         cz_value *out)
{
    cz_span *place = CZ_NEW(b->arena, cz_span, 1);
    *place = cz_config_place(&b->instance->config, entry->key);
    *out = entry->value;
    out->from = place;
    if (!entry->is_scalar) {
        cz_diag_error(b->diags, CZ_BAD_CONFIG, *place,
                      "'%s' must be a number, a truth or a string", entry->key);
        cz_diag_note(b->diags, b->instance->from->span, "it is needed here");
    }
    return entry->is_scalar;
}

static const char *kind_of(cz_value value)
{
    switch (value.kind) {
    case CZ_VALUE_INT:
    case CZ_VALUE_REAL:
        return "a number";
    case CZ_VALUE_BOOL:
        return "a truth";
    case CZ_VALUE_STRING:
        return "a string";
    case CZ_VALUE_POISON:
        break;
    }
    return NULL;
}

/* A value that is given here is of the default's kind: else each place that
 * uses it would complain. */
static bool check_kind(const binder *b, const cz_node *formal,
                       const cz_node *given, cz_value value)
{
    cz_diags unheard;
    cz_value standard;
    cz_diags_init(&unheard, b->arena);
    const cz_node *e = cz_formal_default(formal);
    if (!e || !cz_eval(e, &b->instance->env, &unheard, &standard) ||
        kind_of(value) == kind_of(standard))
        return true;
    cz_diag_error(b->diags, CZ_BAD_TYPE, given->span,
                  "'%s' takes %s, as its default is; this is %s", formal->text,
                  kind_of(standard), kind_of(value));
    return false;
}

static bool formal_value(const binder *b, int i, cz_value *out)
{
    cz_instance *instance = b->instance;
    const cz_node *formal = cz_item(cz_model_formals(instance->model), i);
    const cz_node *value =
        cz_options_find(b->options, instance->model->text, formal->text);
    if (!value)
        value = find_argument(b, i, formal->text);
    if (value) {
        const bool good = cz_eval(value, b->globals, b->diags, out) &&
                          check_kind(b, formal, value, *out);
        out->from = &value->span;
        return good;
    }
    const cz_config_entry *entry =
        cz_config_find(&instance->config, formal->text);
    if (entry)
        return config_value(b, entry, out);
    if (cz_formal_default(formal))
        return cz_eval(cz_formal_default(formal), &instance->env, b->diags,
                       out);
    return missing(b, formal);
}

static void check_formals(const binder *b)
{
    const cz_node *formals = cz_model_formals(b->instance->model);
    for (int i = 0; i < cz_n_items(formals); i++) {
        const cz_node *formal = cz_item(formals, i);
        const cz_node *first = find_formal(formals, formal->text);
        if (first == formal)
            continue;
        cz_diag_error(b->diags, CZ_DUPLICATE_NAME, formal->span,
                      "model %s has '%s' twice", b->instance->model->text,
                      formal->text);
        cz_diag_note(b->diags, first->span, "first here");
    }
}

void cz_instance_bind(cz_instance *instance, cz_scope *scope,
                      const cz_options *options, cz_env *globals,
                      cz_diags *diags)
{
    const binder b = {instance, options, globals, globals->arena, diags};
    const cz_node *formals = cz_model_formals(instance->model);
    const bool has_values = instance->from->kind != CZ_AST_MODEL_FROM ||
                            read_config(instance, scope, globals->arena, diags);
    check_formals(&b);
    const cz_node *from = b.instance->from;
    int n_positional = 0;
    for (int i = 0; from->kind == CZ_AST_MODEL_CALL && i < cz_n_items(from);
         i++)
        check_argument(&b, i, &n_positional);
    cz_env_init(&instance->env, globals->arena, globals);
    for (int i = 0; i < cz_n_items(formals); i++) {
        cz_value value;
        if (!has_values || !formal_value(&b, i, &value))
            value = (cz_value){.kind = CZ_VALUE_POISON};
        cz_env_bind(&instance->env, cz_item(formals, i)->text, value);
    }
}
