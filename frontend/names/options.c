/* -D options.  Each is parsed as the text of a `let`, so that a value on the
 * command line means what it means in a file. */
#include "frontend/names/options.h"

#include <string.h>

#include "frontend/syntax/parse.h"

typedef struct cz_define {
    const char *scope; /* NULL for a bare name, until it is resolved */
    const char *name;
    const char *spelling; /* of the whole name */
    cz_span span;
    const cz_node *value; /* NULL once an error was reported */
} cz_define;

typedef struct cz_settable {
    const char *scope, *name;
} cz_settable;

/* ---- reading ---- */

static bool is_word(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char c = bytes[i];
        const bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return n > 0;
}

static void malformed(cz_arena *arena, const char *text, cz_diags *diags)
{
    cz_diag_error(diags, CZ_BAD_OPTION, (cz_span){0},
                  "-D %s: an option reads NAME=VALUE or SCOPE.NAME=VALUE",
                  cz_arena_printf(arena, "%.80s", text));
}

static const cz_node *parse_value(cz_arena *arena, const char *name,
                                  const char *value, cz_diags *diags)
{
    cz_source *source = CZ_NEW(arena, cz_source, 1);
    source->name = "-D";
    source->bytes = cz_arena_printf(arena, "let %s = %s", name, value);
    source->n = strlen(source->bytes);
    const int n_errors = diags->n_errors;
    const cz_node *file = cz_parse(arena, source, diags);
    if (diags->n_errors > n_errors || cz_n_items(file) != 1 ||
        cz_item(file, 0)->kind != CZ_AST_LET)
        return NULL;
    return cz_let_value(cz_item(file, 0));
}

static bool split_name(cz_arena *arena, const char *text, size_t n,
                       cz_define *define)
{
    const char *dot = memchr(text, '.', n);
    const size_t scope = dot ? (size_t)(dot - text) : 0;
    const size_t from = dot ? scope + 1 : 0;
    if ((dot && !is_word(text, scope)) || !is_word(text + from, n - from))
        return false;
    define->spelling = cz_arena_copy(arena, text, n);
    define->scope = dot ? cz_arena_copy(arena, text, scope) : NULL;
    define->name = cz_arena_copy(arena, text + from, n - from);
    return true;
}

static bool read_define(cz_arena *arena, const char *text, cz_diags *diags,
                        cz_define *define)
{
    const char *equals = strchr(text, '=');
    if (!equals || strpbrk(text, "\r\n#") ||
        !split_name(arena, text, (size_t)(equals - text), define)) {
        malformed(arena, text, diags);
        return false;
    }
    if (!equals[1 + strspn(equals + 1, " \t")]) {
        cz_diag_error(diags, CZ_BAD_OPTION, (cz_span){0},
                      "-D %s has no value behind '='", text);
        return false;
    }
    const int n_errors = diags->n_errors;
    define->value = parse_value(arena, define->name, equals + 1, diags);
    if (!define->value && diags->n_errors == n_errors)
        malformed(arena, text, diags);
    if (define->value)
        define->span = define->value->span;
    return define->value != NULL;
}

void cz_options_build(cz_arena *arena, const char *const *defines, int n,
                      cz_diags *diags, cz_options *out)
{
    *out = (cz_options){.arena = arena};
    for (int i = 0; i < n; i++) {
        cz_define define = {0};
        if (read_define(arena, defines[i], diags, &define))
            *CZ_PUSH(arena, out->defines, out->n_defines) = define;
    }
}

/* ---- resolving ---- */

void cz_options_allow(cz_options *options, const char *scope, const char *name)
{
    *CZ_PUSH(options->arena, options->settable, options->n_settable) =
        (cz_settable){scope, name};
}

static bool means(const cz_define *define, const cz_settable *settable)
{
    return strcmp(define->name, settable->name) == 0 &&
           (!define->scope || strcmp(define->scope, settable->scope) == 0);
}

static const char *full_name(const cz_options *options,
                             const cz_settable *settable)
{
    return cz_arena_printf(options->arena, "%s.%s", settable->scope,
                           settable->name);
}

static void sets_nothing(const cz_options *options, const cz_define *define,
                         cz_diags *diags)
{
    const char **names = NULL;
    int n = 0;
    for (int i = 0; i < options->n_settable; i++)
        *CZ_PUSH(options->arena, names, n) =
            define->scope ? full_name(options, &options->settable[i])
                          : options->settable[i].name;
    const char *near = cz_diag_nearest(define->spelling, names, n);
    cz_diag_error(diags, CZ_BAD_OPTION, define->span,
                  "-D %s sets nothing in this file", define->spelling);
    const char *same = define->scope && strcmp(define->scope, "mesh") == 0
                           ? "of a mesh -D sets pp, dp, fsdp, cp and tp, and "
                             "those axes of experts that the source has"
                           : NULL;
    if (same)
        cz_diag_note(diags, define->span, "%s", same);
    else if (near)
        cz_diag_note(diags, define->span, "did you mean '%s'?", near);
}

/* Names all that the bare name could mean; of many, the first. */
static void is_ambiguous(const cz_options *options, const cz_define *define,
                         const cz_settable *const *found, int n,
                         cz_diags *diags)
{
    enum { MAX_NAMED = 8 };
    const int n_named = n < MAX_NAMED ? n : MAX_NAMED;
    cz_text names;
    cz_text_init(&names);
    for (int i = 0; i < n_named; i++)
        cz_text_printf(&names, "%s%s",
                       i == 0      ? ""
                       : i + 1 < n ? ", "
                                   : " or ",
                       full_name(options, found[i]));
    cz_diag_error(diags, CZ_BAD_OPTION, define->span, "-D %s could mean %s%s",
                  define->spelling, cz_text_string(&names),
                  n > n_named ? ", ..." : "");
    cz_text_fini(&names);
}

static void resolve(cz_options *options, cz_define *define, cz_diags *diags)
{
    const cz_settable **found = NULL;
    int n = 0;
    for (int i = 0; i < options->n_settable; i++)
        if (means(define, &options->settable[i]))
            *CZ_PUSH(options->arena, found, n) = &options->settable[i];
    if (n == 0)
        sets_nothing(options, define, diags);
    else if (n > 1)
        is_ambiguous(options, define, found, n, diags);
    else
        define->scope = found[0]->scope;
}

/* As clang has it: the last counts, and it is said. */
static void warn_of_twice(const cz_options *options, int i, cz_diags *diags)
{
    const cz_define *define = &options->defines[i];
    for (int k = 0; k < i && define->scope; k++) {
        const cz_define *other = &options->defines[k];
        if (!other->scope || strcmp(other->name, define->name) != 0 ||
            strcmp(other->scope, define->scope) != 0)
            continue;
        cz_diag_warning(diags, CZ_BAD_OPTION, define->span,
                        "-D %s is given twice: the last counts",
                        define->spelling);
        return;
    }
}

void cz_options_resolve(cz_options *options, cz_diags *diags)
{
    for (int i = 0; i < options->n_defines; i++) {
        resolve(options, &options->defines[i], diags);
        warn_of_twice(options, i, diags);
    }
}

const cz_node *cz_options_find(const cz_options *options, const char *scope,
                               const char *name)
{
    for (int i = options->n_defines - 1; i >= 0; i--) {
        const cz_define *define = &options->defines[i];
        if (define->scope && strcmp(define->scope, scope) == 0 &&
            strcmp(define->name, name) == 0)
            return define->value;
    }
    return NULL;
}
