/* canzona plan: plan, and print it as a screen, JSON, IR or an explanation;
 * write a page and a trace. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cmd/cmd.h"

#include "frontend/document/plan/plan.h"
#include "frontend/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE,
    CZ_OPTION_DIAGNOSTICS,
    {"json", CZ_KEY_JSON, NULL, 0, "Print the plan as JSON (canzona.plan/3)",
     0},
    {"target", CZ_KEY_TARGET, "NAME", 0,
     "With --json or --ir, sm_80 or sm_90a: tiles and batches of a GPU, too "
     "(default: cpu, none)",
     0},
    {"ir", CZ_KEY_IR, "STAGE", OPTION_ARG_OPTIONAL,
     "Print IR: source, assigned, scheduled (default), or after:PASS, the "
     "module behind a pass",
     0},
    {"html", CZ_KEY_HTML, "FILE", 0, "Write a page about the plan", 0},
    {"trace", CZ_KEY_TRACE, "FILE", 0,
     "Write the timeline of a step, for Perfetto", 0},
    CZ_OPTION_FORCE,
    CZ_OPTION_STRICT,
    CZ_OPTION_MICROBATCHES,
    {"explain", CZ_KEY_EXPLAIN, "PART", OPTION_ARG_OPTIONAL,
     "Print what would help and what bounds the time, or why the plan is as it "
     "is: matrices, algebra, buckets, ..., all",
     0},
    {"legend", CZ_KEY_LEGEND, NULL, 0,
     "Print below the screen what its lines mean", 0},
    {"no-baselines", CZ_KEY_NO_BASELINES, NULL, 0,
     "Compare the plan with no other; JSON has an empty list of them", 0},
    {"time", CZ_KEY_TIME, NULL, 0,
     "Print the processor time of each part to standard error", 0},
    {0}};

static cz_job_goal goal_of(const cz_cmd_options *given)
{
    if (given->ir && strcmp(given->ir, "source") == 0)
        return CZ_JOB_LOWERED;
    if (given->ir && strncmp(given->ir, CZ_AFTER, strlen(CZ_AFTER)) == 0)
        return CZ_JOB_AFTER;
    if (given->ir && strcmp(given->ir, "assigned") == 0)
        return CZ_JOB_ASSIGNED;
    return CZ_JOB_PLANNED;
}

/* Blocks where a terminal says that it writes UTF-8. */
static cz_bar_style style_of(int file)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *said = NULL;

    for (int i = 0; i < 3 && !(said && *said); i++)
        said = getenv(names[i]);
    return isatty(file) && said &&
                   (strstr(said, "UTF-8") || strstr(said, "utf8"))
               ? CZ_BARS_BLOCKS
               : CZ_BARS_ASCII;
}

static void add_legend(cz_text *screen)
{
    cz_text legend = {0};

    cz_report_legend(cz_text_string(screen), &legend);
    cz_text_printf(screen, "\n%s", cz_text_string(&legend));
    cz_text_fini(&legend);
}

/* `look` is NULL where nothing was asked for that needs it. */
static void print(const cz_cmd_options *given, cz_job *job,
                  const cz_report_context *context)
{
    cz_text out = {0};

    if (given->ir) {
        if (goal_of(given) == CZ_JOB_AFTER)
            cz_text_printf(&out, CZ_BEHIND_PASS "%s\n",
                           given->ir + strlen(CZ_AFTER));
        cz_ir_print(job->ir, &out);
    } else if (given->json)
        cz_report_json(job->view, cz_job_metrics(job), job->plan_hash,
                       !given->no_baselines, &out);
    else if (given->explain)
        cz_report_explain(context, given->explain, &out);
    else
        cz_report_screen(job->view, cz_job_metrics(job), job->plan_hash,
                         cz_cmd_report_iteration(job, given),
                         style_of(STDOUT_FILENO), &out);
    if (given->legend)
        add_legend(&out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    cz_text_fini(&out);
}

/* The page and the trace that are asked for. */
static void write_reports(const cz_cmd_options *given, cz_job *job,
                          const cz_report_context *context)
{
    cz_output outputs[2] = {{NULL, {0}}};
    int n = 0;

    if (given->html) {
        outputs[n].path = given->html;
        cz_report_html(context, &outputs[n++].text);
    }
    if (given->trace) {
        outputs[n].path = given->trace;
        cz_report_trace(context, &outputs[n++].text);
    }
    cz_cmd_write(given, &job->diags, outputs, n);
    for (int i = 0; i < n; i++)
        cz_text_fini(&outputs[i].text);
}

static int show(const cz_cmd_options *given, cz_job *job)
{
    const cz_report_context *context = NULL;

    if (given->html || given->trace || given->explain) {
        context = cz_cmd_report_context(job, given);
        if (!context)
            return cz_job_status(job);
    }
    write_reports(given, job, context);
    if (given->trace && job->view->n_ranks > CZ_TRACE_MAX_RANKS)
        fprintf(stderr, "canzona plan: %s has the first %d of %d ranks\n",
                given->trace, CZ_TRACE_MAX_RANKS, job->view->n_ranks);
    if (cz_job_status(job) == CZ_EXIT_OK)
        print(given, job, context);
    return cz_job_status(job);
}

static bool is_part(const char *name)
{
    for (int i = 0; cz_explain_names[i]; i++)
        if (strcmp(cz_explain_names[i], name) == 0)
            return true;
    return false;
}

/* What looks at a plan wants a whole one, and one thing is printed. */
static bool is_clear(const cz_cmd_options *given)
{
    const bool looks = given->html || given->trace || given->explain;

    if (given->explain && *given->explain && !is_part(given->explain))
        fprintf(stderr,
                "canzona plan: --explain=%s: there is no such part; the parts "
                "are help, time, matrices, externs, algebra, buckets, "
                "micro-groups and all\n",
                given->explain);
    else if (given->ir && looks)
        fputs("canzona plan: --ir goes without --html, --trace and "
              "--explain\n",
              stderr);
    else if (given->json && given->explain)
        fputs("canzona plan: --json or --explain, not both\n", stderr);
    else if (given->legend && (given->ir || given->json || given->explain))
        fputs("canzona plan: --legend goes with the screen\n", stderr);
    else
        return true;
    return false;
}

static void print_time(cz_clocks *clocks)
{
    cz_text out = {0};

    cz_clocks_end(clocks, CZ_CLOCK_REPORT);
    cz_clocks_print(clocks, &out);
    fputs(cz_text_string(&out), stderr);
    cz_text_fini(&out);
}

static int run(const cz_cmd_options *given)
{
    bool has_gpu = false;
    cz_job job;
    int status;

    if (!is_clear(given))
        return CZ_EXIT_USAGE;
    if (!cz_target_take("plan", given->target, strlen(given->target), &has_gpu))
        return CZ_EXIT_INFEASIBLE;
    if (has_gpu && !given->json && !given->ir) {
        fputs("canzona plan: --target goes with --json and --ir\n", stderr);
        return CZ_EXIT_USAGE;
    }
    status = cz_job_open(&job, given, goal_of(given));
    if (status == CZ_EXIT_OK)
        status = show(given, &job);
    if (status == CZ_EXIT_OK && given->time)
        print_time(&job.clocks);
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
    "  canzona plan --json -D mesh.dp=8 examples/qwen3-32b.cz\n"
    "  canzona plan --html=plan.html --trace=plan.trace.json "
    "examples/gpt.cz\n"
    "  canzona plan --explain examples/qwen3-32b.cz\n"
    "  canzona plan --legend examples/gpt.cz\n"
    "  canzona plan --ir=after:cut examples/gpt.cz\n",
    run,
    "FILE"};
