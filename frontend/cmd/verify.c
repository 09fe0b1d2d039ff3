/* canzona verify: the verifier alone, on printed IR. */
#include "frontend/cmd/cmd.h"

#include "passes/verify/verify.h"

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE, CZ_OPTION_DIAGNOSTICS, {0}};

static int run(const cz_cmd_options *given)
{
    cz_job job;
    const int status = cz_job_open(&job, given, CZ_JOB_PLANNED);

    if (status == CZ_EXIT_OK)
        printf("verified: %d operations on %d ranks, %d parameters\n",
               job.view->n_ops, job.view->n_ranks, job.view->n_params);
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_verify = {
    "verify",
    "prove that a plan is sound",
    options,
    "Run the verifier on FILE: IR that `canzona plan --ir` printed, or a "
    "source, which is planned first.\v"
    "Example:\n\n"
    "  canzona plan --ir examples/gpt.cz | canzona verify -\n",
    run,
    "FILE"};
