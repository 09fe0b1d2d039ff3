/* canzona plan: plan, and print it as a screen, JSON or IR. */
#include "frontend/cmd.h"

#include "frontend/report/json.h"
#include "frontend/report/screen.h"

#include <string.h>

static const struct argp_option options[] = {
    CZ_OPTION_DEFINE,
    CZ_OPTION_DIAGNOSTICS,
    {"json", CZ_KEY_JSON, NULL, 0, "Print the plan as JSON (canzona.plan/1)",
     0},
    {"ir", CZ_KEY_IR, "STAGE", OPTION_ARG_OPTIONAL,
     "Print IR: source, assigned or scheduled (default)", 0},
    {"no-baselines", CZ_KEY_NO_BASELINES, NULL, 0,
     "Compare the plan with no other; JSON has an empty list of them", 0},
    {"time", CZ_KEY_TIME, NULL, 0,
     "Print the processor time of each part to standard error", 0},
    {0}};

static cz_job_goal goal_of(const cz_cmd_options *given)
{
    if (given->ir && strcmp(given->ir, "source") == 0)
        return CZ_JOB_LOWERED;
    if (given->ir && strcmp(given->ir, "assigned") == 0)
        return CZ_JOB_ASSIGNED;
    return CZ_JOB_PLANNED;
}

static void print(const cz_cmd_options *given, const cz_job *job)
{
    cz_text out = {0};

    if (given->ir)
        cz_ir_print(job->ir, &out);
    else if (given->json)
        cz_report_json(job->view, job->plan_hash, !given->no_baselines, &out);
    else
        cz_report_screen(job->view, job->plan_hash, &out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    cz_text_fini(&out);
}

static void print_time(cz_parts *parts)
{
    cz_text out = {0};

    cz_parts_end(parts, CZ_PART_REPORT);
    cz_parts_print(parts, &out);
    fputs(cz_text_string(&out), stderr);
    cz_text_fini(&out);
}

static int run(const cz_cmd_options *given)
{
    cz_job job;
    const int status = cz_job_open(&job, given, goal_of(given));

    if (status == CZ_EXIT_OK)
        print(given, &job);
    if (status == CZ_EXIT_OK && given->time)
        print_time(&job.parts);
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_plan = {
    "plan",
    "plan, verify, and show the plan",
    options,
    "Plan FILE, verify the plan and print one screen about it.\v"
    "Examples:\n\n"
    "  canzona plan examples/qwen3-32b.cz\n"
    "  canzona plan --json -D mesh.dp=8 examples/qwen3-32b.cz\n",
    run,
    false};
