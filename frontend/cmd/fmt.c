/* canzona fmt: sources in canonical layout. */
#include "frontend/cmd/cmd.h"

#include "frontend/format/format.h"
#include "frontend/syntax/parse.h"
#include "frontend/rule/expand/expand.h"
#include "frontend/rule/rule.h"

#include <string.h>

static const struct argp_option options[] = {
    {"check", CZ_KEY_CHECK, NULL, 0,
     "Change and print no text; name the files that would change, exit 1", 0},
    {"in-place", 'i', NULL, 0, "Rewrite the files that are not as they should",
     0},
    CZ_OPTION_ALLOW_PATH,
    {"expand", CZ_KEY_EXPAND, NULL, 0,
     "Write chains of optimizers as the equations that they are short for", 0},
    {0}};

/* What becomes of one file.  `after` is its canonical text. */
static bool deliver(const cz_cmd_options *given, const char *path,
                    const cz_source *before, cz_text after, cz_diags *diags)
{
    const cz_output out = {path, after};
    const bool differs =
        before->n != after.n ||
        memcmp(before->bytes, cz_text_string(&after), after.n) != 0;

    if (given->check && differs)
        printf("%s differs from its canonical layout\n", path);
    else if (!given->check && !given->in_place)
        fwrite(cz_text_string(&after), 1, after.n, stdout);
    else if (given->in_place && differs)
        cz_cmd_write(given, diags, &out, 1);
    return !(given->check && differs) && diags->n_errors == 0;
}

/* ---- chains as equations ---- */

/* The scope of a text whose rules are right, or NULL after reporting. */
static cz_scope *check_rules(cz_arena *arena, const cz_cmd_options *given,
                             const char *path, const cz_text *text,
                             cz_diags *diags)
{
    cz_rules_checked checked;
    cz_scope *scope = cz_scope_build(arena, path, text, given->allowed, diags);

    if (diags->n_errors == 0)
        cz_rules_check(scope, false, arena, diags, &checked);
    return diags->n_errors == 0 ? scope : NULL;
}

/* Equations that do not compile are our mistake, and better not shown. */
static bool is_right(cz_arena *arena, const cz_cmd_options *given,
                     const char *path, const cz_text *text, cz_diags *diags)
{
    cz_diags unheard;

    cz_diags_init(&unheard, arena);
    if (check_rules(arena, given, path, text, &unheard))
        return true;
    cz_diag_error(diags, CZ_CHECK_FAILED, (cz_span){0},
                  "%s cannot be written as equations: that is a mistake of "
                  "canzona",
                  path);
    cz_diag_note(diags, unheard.list[0].span, "%s", unheard.list[0].message);
    return false;
}

/* `source`, as equations and in canonical layout. */
static bool expand(cz_arena *arena, const cz_cmd_options *given,
                   const char *path, const cz_text *before, cz_diags *diags,
                   cz_text *after)
{
    cz_text text = {0};
    cz_scope *scope = check_rules(arena, given, path, before, diags);
    bool ok = scope && cz_expand(scope, arena, diags, &text) &&
              is_right(arena, given, path, &text, diags);

    if (ok) {
        const cz_source source = {path, cz_text_string(&text), text.n};
        ok = cz_format(arena, &source, diags, after);
    }
    cz_text_fini(&text);
    return ok;
}

static bool format_file(const cz_cmd_options *given, const char *path)
{
    cz_text before = {0}, after = {0};
    const char *why = "";
    cz_arena arena;
    cz_diags diags;
    cz_source source; /* messages show it */
    bool ok = false;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    if (cz_text_read_file(&before, path, CZ_MAX_SOURCE_BYTES, &why)) {
        source = (cz_source){path, cz_text_string(&before), before.n};
        ok = (given->expand
                  ? expand(&arena, given, path, &before, &diags, &after)
                  : cz_format(&arena, &source, &diags, &after)) &&
             deliver(given, path, &source, after, &diags);
    } else {
        cz_diag_error(&diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s", path, why);
    }
    fflush(stdout);
    cz_print_diagnostics(&diags);
    cz_text_fini(&before);
    cz_text_fini(&after);
    cz_arena_fini(&arena);
    return ok;
}

static int run(const cz_cmd_options *given)
{
    bool ok = true;

    for (int i = 0; i < given->n_inputs; i++) {
        if (given->in_place && strcmp(given->inputs[i], "-") == 0) {
            fputs("canzona fmt: error: standard input has no place to be "
                  "rewritten in\n",
                  stderr);
            return CZ_EXIT_USAGE;
        }
    }
    for (int i = 0; i < given->n_inputs; i++)
        ok = format_file(given, given->inputs[i]) && ok;
    return ok ? CZ_EXIT_OK : CZ_EXIT_ERRORS;
}

const cz_command cz_command_fmt = {
    "fmt",
    "lay sources out as they should be",
    options,
    "Print each FILE in canonical layout: tokens and comments stay, blanks and "
    "line\nbreaks are chosen anew.  A FILE with errors is left alone.\v"
    "Examples:\n\n"
    "  canzona fmt -i examples/gpt.cz\n"
    "  canzona fmt --check examples/gpt.cz examples/gpt_adamw.cz\n"
    "  canzona fmt --expand mine.cz\n",
    run,
    "FILE..."};
