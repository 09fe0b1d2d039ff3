/* canzona run: build for this machine, execute on N ranks, and, with --check,
 * hold the result against one rank, the interpreter and the plan. */
#include "frontend/cmd.h"

#include "frontend/cmd_run_check.h"
#include "frontend/cmd_run_program.h"
#include "frontend/cmd_run_ranks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    CZ_OPTION_DEFINE,
    CZ_OPTION_DIAGNOSTICS,
    {"world", CZ_KEY_WORLD, "NAME", 0, "threads (others: not supported yet)",
     0},
    {"steps", CZ_KEY_STEPS, "N", 0, "Optimizer steps (default 1)", 0},
    {"seed", CZ_KEY_SEED, "N", 0, "Of parameters and gradients (default 0)", 0},
    {"microbatches", CZ_KEY_MICROBATCHES, "N", 0,
     "Gradients of one step, over all ranks (default 12)", 0},
    {"check", CZ_KEY_CHECK, NULL, 0,
     "Strict: compare with one rank, the interpreter and the plan", 0},
    {"late", CZ_KEY_LATE, NULL, 0,
     "Run every stream as late as its waits allow", 0},
    {"plant-rank-order", CZ_KEY_PLANT, NULL, OPTION_HIDDEN, "", 0},
    {0}};

/* Does a bar, on a terminal only. */
static void show_progress(int step, const czr_result *result, void *user)
{
    const cz_cmd_options *given = user;

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rstep %d of %lld  grad norm %.4g ", step + 1,
                (long long)given->steps, result->grad_norm);
    if (isatty(STDERR_FILENO) && step + 1 == given->steps)
        fputs("\r\033[K", stderr);
}

static bool members_divide(cz_job *job, const cz_cmd_options *given)
{
    int64_t members = 1;
    bool divide = given->microbatches > 0;

    for (int k = 0; k < job->view->n_reductions; k++) {
        const int64_t n =
            cz_view_extent(job->view, &job->view->reductions[k].reduce_axes);
        divide = divide && given->microbatches % n == 0;
        members = n > members ? n : members;
    }
    if (divide)
        return true;
    cz_diag_error(&job->diags, CZ_BAD_OPTION, (cz_span){0},
                  "%lld microbatches do not divide over %lld ranks that sum "
                  "gradients; try --microbatches=%lld",
                  (long long)given->microbatches, (long long)members,
                  (long long)(members * (given->microbatches / members + 1)));
    return false;
}

static void print_summary(const cz_job *job, const cz_cmd_options *given,
                          const cz_run_result *result)
{
    printf(
        "%s: %lld steps on %d ranks, %.3f s per step, %lld skipped, grad "
        "norm %.6g\n",
        job->view->program->name, (long long)given->steps, job->view->n_ranks,
        given->steps ? result->seconds / (double)given->steps : 0.0,
        (long long)(given->steps - result->last.step), result->last.grad_norm);
}

static bool report_run(cz_job *job, czr_status status, const char *sentence)
{
    if (status == CZR_OK)
        return true;
    cz_diag_error(&job->diags, CZ_RUN_FAILED, (cz_span){0}, "%s", sentence);
    if (status == CZR_ERR_HYPER)
        cz_diag_note(&job->diags, (cz_span){0},
                     "give it a value in the source, or with -D NAME=VALUE");
    return false;
}

static bool execute(cz_job *job, const cz_cmd_options *given)
{
    cz_run_request request = {.view = job->view,
                              .seed = (uint64_t)given->seed,
                              .steps = (int)given->steps,
                              .microbatches = (int)given->microbatches,
                              .late_device = given->late,
                              .planted = given->planted,
                              .progress = show_progress};
    cz_run_result result;
    cz_loaded loaded;
    bool ok;

    request.user = CZ_NEW(&job->arena, cz_cmd_options, 1);
    memcpy(request.user, given, sizeof *given);
    if (!members_divide(job, given) ||
        !cz_loaded_open(job->view, job->plan_hash, &job->diags, &loaded))
        return false;
    request.program = loaded.program;
    ok = report_run(job, cz_run_ranks(&request, &job->arena, &result),
                    result.error);
    if (ok)
        print_summary(job, given, &result);
    if (ok && given->check)
        ok = cz_run_check(job, given, &request, &result);
    cz_loaded_close(&loaded);
    return ok;
}

static int run(const cz_cmd_options *given)
{
    cz_cmd_options options_used = *given;
    cz_job job;
    int status;

    if (strcmp(given->world, "threads") != 0) {
        fprintf(stderr,
                "canzona run: error: world \"%s\" is not supported yet\n",
                given->world);
        return CZ_EXIT_INFEASIBLE;
    }
    options_used.strict = given->strict || given->check;
    status = cz_job_open(&job, &options_used, CZ_JOB_PLANNED);
    if (status == CZ_EXIT_OK && !execute(&job, &options_used))
        status = CZ_EXIT_ERRORS;
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_run = {
    "run",
    "build, and execute on the ranks of this machine",
    options,
    "Plan and build FILE, and execute it on as many threads as it has ranks, "
    "with gradients of its own making.\v"
    "Example:\n\n"
    "  canzona run --steps=10 --check -D mesh.dp=2 -D mesh.tp=2 "
    "examples/gpt.cz\n",
    run,
    false};
