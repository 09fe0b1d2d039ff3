/* canzona fmt: sources in canonical layout. */
#define _XOPEN_SOURCE 700
#include "frontend/cmd.h"

#include "frontend/format/format.h"
#include "frontend/parse.h"

#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    {"check", CZ_KEY_CHECK, NULL, 0,
     "Change and print no text; name the files that would change, exit 1", 0},
    {"in-place", 'i', NULL, 0, "Rewrite the files that are not as they should",
     0},
    {0}};

/* A link stays one: what it names is rewritten. */
static bool rewrite(const char *path, const cz_text *text, const char **why)
{
    char *real = realpath(path, NULL);
    const bool ok = cz_text_write_file(text, real ? real : path, why);

    free(real);
    return ok;
}

/* What becomes of one file.  `after` is its canonical text. */
static bool deliver(const cz_cmd_options *given, const char *path,
                    const cz_source *before, const cz_text *after,
                    cz_diags *diags)
{
    const bool differs =
        before->n != after->n ||
        memcmp(before->bytes, cz_text_string(after), after->n) != 0;
    const char *why = "";

    if (given->check && differs)
        printf("%s differs from its canonical layout\n", path);
    else if (!given->check && !given->in_place)
        fwrite(cz_text_string(after), 1, after->n, stdout);
    else if (given->in_place && differs && !rewrite(path, after, &why))
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s", path, why);
    return !(given->check && differs) && diags->n_errors == 0;
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
        ok = cz_format(&arena, &source, &diags, &after) &&
             deliver(given, path, &source, &after, &diags);
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
    "  canzona fmt --check examples/gpt.cz examples/gpt_adamw.cz\n",
    run,
    true};
