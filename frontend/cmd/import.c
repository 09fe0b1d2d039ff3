/* canzona import: a program from what is published about a model. */
#include "frontend/cmd/cmd.h"

#include "frontend/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE.cz", 0, "Write there, not to standard output", 0},
    {"force", CZ_KEY_FORCE, NULL, 0,
     "Overwrite FILE.cz, which somebody may have edited", 0},
    {"optimizer", CZ_KEY_OPTIMIZER, "NAME", 0,
     "muon (default): on matrices, adamw on the rest; or adamw", 0},
    {"mesh", CZ_KEY_MESH, "AXES", 0, "The ranks, such as dp=32,tp=8", 0},
    CZ_OPTION_DIAGNOSTICS,
    {0}};

/* False after saying what is wrong with the command line. */
static bool read_options(const cz_cmd_options *given, cz_import *convert)
{
    const char *why =
        given->mesh ? cz_import_mesh_read(&convert->mesh, given->mesh) : NULL;

    convert->adamw = given->optimizer && strcmp(given->optimizer, "adamw") == 0;
    if (why)
        fprintf(stderr,
                "canzona import: --mesh=%s: %s\nAxes of experts are written "
                "into the source that import makes, as `ep = 8 of dp`.\n",
                given->mesh, why);
    else if (given->optimizer && !convert->adamw &&
             strcmp(given->optimizer, "muon") != 0)
        fprintf(stderr, "canzona import: --optimizer is muon or adamw\n");
    else
        return true;
    return false;
}

/* Found out before the input is read, which would be blamed. */
static bool has_folder(const char *output, cz_diags *diags)
{
    const char *slash = output ? strrchr(output, '/') : NULL;
    struct stat folder;

    if (!slash || slash == output)
        return true;
    const char *name =
        cz_arena_copy(diags->arena, output, (size_t)(slash - output));
    if (stat(name, &folder) == 0 && S_ISDIR(folder.st_mode))
        return true;
    cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0},
                  "%s cannot be written: there is no folder '%s'", output,
                  name);
    return false;
}

static int run(const cz_cmd_options *given)
{
    cz_job job;
    cz_output out = {given->output ? given->output : "-", {0}};
    cz_import convert = {.input = given->input};

    if (!read_options(given, &convert))
        return CZ_EXIT_USAGE;
    memset(&job, 0, sizeof job);
    job.diagnostics = given->diagnostics;
    cz_arena_init(&job.arena);
    cz_diags_init(&job.diags, &job.arena);
    convert.arena = &job.arena;
    convert.diags = &job.diags;
    if (given->output && strcmp(given->output, "-") != 0)
        convert.output = given->output;
    if (has_folder(convert.output, &job.diags) &&
        cz_import_run(&convert, &out.text)) {
        if (given->mesh)
            cz_cmd_import_schedule(&convert, &out.text);
        cz_cmd_write(given, &job.diags, &out, 1);
    }
    const int status = cz_job_status(&job);
    cz_text_fini(&out.text);
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_import = {
    "import",
    "write a source for a published model",
    options,
    "Print a source for INPUT: a Hugging Face config.json, a safetensors file "
    "(its header is enough) or index, or a params.json "
    "(dsl/params.schema.json).  With --mesh it is planned, and a comment says "
    "how long an iteration takes, also with other clauses of the schedule; one "
    "that saves 2 % is written."
    "\vExamples:\n\n"
    "  canzona import --mesh=dp=32,tp=8 examples/configs/qwen3-32b.json\n"
    "  canzona import -o model.cz model.safetensors.index.json\n",
    run,
    "FILE"};
