/* canzona check: names, shapes and types; nothing is planned. */
#include "frontend/cmd.h"

static const struct argp_option options[] = {CZ_OPTION_DEFINE, {0}};

static int run(const cz_cmd_options *given)
{
    cz_job job;
    const int status = cz_job_open(&job, given, CZ_JOB_LOWERED);

    cz_job_close(&job);
    return status;
}

const cz_command cz_command_check = {
    "check", "parse and type-check a source", options,
    "Parse FILE and check names, shapes and types.\v"
    "Prints nothing when all is well.  Example:\n\n"
    "  canzona check -D mesh.tp=4 examples/qwen3-32b.cz\n",
    run};
