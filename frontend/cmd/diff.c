/* canzona diff: what tells two plans apart. */
#include "frontend/cmd/cmd.h"

#include "frontend/report/report.h"

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE,
    CZ_OPTION_DIAGNOSTICS,
    {"json", CZ_KEY_JSON, NULL, 0, "Print JSON (canzona.diff/1)", 0},
    {0}};

static int read_document(const cz_cmd_options *given, const char *file,
                         cz_arena *arena, cz_diags *diags, cz_document *out)
{
    cz_text text = {0};
    bool is_json;
    int status = cz_cmd_plan_text(given, file, diags, &is_json, &text);

    if (status == CZ_EXIT_OK &&
        !cz_document_read(arena, file, &text, diags, true, out))
        status = CZ_EXIT_ERRORS;
    cz_text_fini(&text);
    return status;
}

/* An exit status. */
static int print(const cz_cmd_options *given, cz_arena *arena,
                 const cz_document documents[2])
{
    cz_text out = {0};
    int n;
    const cz_difference *all =
        cz_diff_build(arena, &documents[0], &documents[1], &n);

    if (given->json)
        cz_diff_json(&documents[0], &documents[1], all, n, &out);
    else
        cz_diff_print(all, n, &out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    cz_text_fini(&out);
    return n > 0 ? CZ_EXIT_DIFFERENT : CZ_EXIT_OK;
}

static int run(const cz_cmd_options *given)
{
    cz_arena arena;
    cz_diags diags;
    cz_document documents[2];
    int status = CZ_EXIT_OK;

    if (given->n_inputs != 2) {
        fputs("canzona diff: two FILEs are compared\n", stderr);
        return CZ_EXIT_USAGE;
    }
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    for (int i = 0; i < 2 && status == CZ_EXIT_OK; i++)
        status = read_document(given, given->inputs[i], &arena, &diags,
                               &documents[i]);
    if (status == CZ_EXIT_OK)
        status = print(given, &arena, documents);
    cz_print_diagnostics(&diags);
    cz_arena_fini(&arena);
    return status;
}

const cz_command cz_command_diff = {
    "diff",
    "what tells two plans apart",
    options,
    "Compare two plans: what `plan --json` printed, or sources, which are "
    "planned first, with every -D.  Exit status 0: they are equal, but for "
    "hashes; 4: they differ.\v"
    "Examples:\n\n"
    "  canzona plan --json -D mesh.dp=16 examples/qwen3-32b.cz > before.json\n"
    "  canzona diff before.json examples/qwen3-32b.cz\n",
    run,
    "FILE..."};
