/* canzona check: names, shapes and types; nothing is planned. */
#include "frontend/cmd.h"

static const struct argp_option options[] = {
    CZ_OPTION_DEFINE, CZ_OPTION_DIAGNOSTICS, {0}};

static int run(const cz_cmd_options *given)
{
    cz_cmd_options options_here = *given;
    cz_job job;
    int status;

    options_here.diagnostics_are_output = true;
    status = cz_job_open(&job, &options_here, CZ_JOB_LOWERED);

    cz_job_close(&job);
    return status;
}

const cz_command cz_command_check = {
    "check",
    "parse and type-check a source",
    options,
    "Parse FILE and check names, shapes and types.\v"
    "Prints nothing when all is well.  With --diagnostics=json or sarif the "
    "document goes to standard output, also when it has nothing to say.  "
    "Examples:\n\n"
    "  canzona check -D mesh.tp=4 examples/qwen3-32b.cz\n"
    "  canzona check --diagnostics=sarif examples/gpt.cz > gpt.sarif\n",
    run,
    false};
