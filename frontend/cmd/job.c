/* A job: input to plan, one call a stage, and the messages at the end. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cmd/cmd.h"

#include "dsl/base/embedded.h"
#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "frontend/document/diagnostics.h"
#include "frontend/document/digest.h"
#include "frontend/syntax/parse.h"
#include "passes/gpu/gpu.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Printed IR begins with the module, perhaps behind comments; a source never
 * does. */
static bool is_ir(const cz_text *text)
{
    const char *start = cz_text_string(text);

    for (;;) {
        start += strspn(start, " \t\r\n");
        if (strncmp(start, "//", 2) != 0)
            break;
        start += strcspn(start, "\n");
    }
    return strncmp(start, "module", strlen("module")) == 0 &&
           strstr(start, "canzona.program") != NULL;
}

/* The name of the pass that printed the module, or NULL. */
static const char *pass_in_front(cz_arena *arena, const cz_text *text)
{
    const char *start = cz_text_string(text);
    const char *name = start + strlen(CZ_BEHIND_PASS);

    if (strncmp(start, CZ_BEHIND_PASS, strlen(CZ_BEHIND_PASS)) != 0)
        return NULL;
    return cz_arena_printf(arena, "%.*s", (int)strcspn(name, "\n"), name);
}

/* Whether this compiler wrote the module: another one's operations may be
 * others. Their text begins with who did. */
static bool is_ours(cz_job *job, const cz_text *text)
{
    const char *at = strstr(cz_text_string(text), "canzona.program");
    char version[32] = "";
    int format = 0;
    if ((at = strstr(at, "{compiler = \"")))
        sscanf(at, "{compiler = \"%31[^\"]\", format = %9d", version, &format);
    if (strcmp(version, CANZONA_VERSION) == 0 && format == CZ_IR_FORMAT)
        return true;
    cz_diag_error(
        &job->diags, CZ_BAD_IR, (cz_span){0},
        "this module is of canzona %s, format %d, and this is %s, format "
        "%d: plan its source again",
        *version ? version : "unknown", format, CANZONA_VERSION, CZ_IR_FORMAT);
    return false;
}

/* What was edited by hand is believed in nothing: the view checks the form of
 * every fact before a pass reads it. */
static cz_ir *read_ir(cz_job *job, const cz_text *text)
{
    if (!is_ours(job, text))
        return NULL;
    cz_ir *ir = cz_ir_parse(cz_text_string(text), text->n, &job->diags);
    if (ir && cz_plan_view_build(&job->arena, ir, &job->diags))
        return ir;
    cz_ir_close(ir);
    return NULL;
}

static bool read_text(const cz_cmd_options *options, cz_text *text,
                      const char **why)
{
    if (!options->text)
        return cz_text_read_file(text, options->input, CZ_IR_MAX_TEXT, why);
    cz_text_put(text, cz_text_string(options->text), options->text->n);
    return true;
}

static cz_ir *read_input(cz_job *job, const cz_cmd_options *options)
{
    const cz_compile_options compile = {
        .path = options->input,
        .text = &job->text,
        .defines = options->defines,
        .n_defines = options->n_defines,
        .allowed = options->allowed,
        .one_rank = options->one_rank,
        .strict = options->strict,
        .microbatches = options->strict ? options->microbatches : 0,
        .compiler = CANZONA_VERSION,
        .alone = options->rules_alone ? &job->rules : NULL};
    const char *why = "";

    if (!read_text(options, &job->text, &why)) {
        cz_diag_error(&job->diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s",
                      options->input, why);
        return NULL;
    }
    job->is_ir = is_ir(&job->text);
    if (!job->is_ir)
        return cz_compile(&job->arena, &compile, &job->diags);
    const char *pass = pass_in_front(&job->arena, &job->text);
    if (!pass)
        return read_ir(job, &job->text);
    cz_diag_error(&job->diags, CZ_BAD_IR, (cz_span){0},
                  "%s is a module from between two passes, to be read: the "
                  "passes behind '%s' start from a source, or from "
                  "--ir=source or --ir=assigned",
                  options->input, pass);
    return NULL;
}

static void hash_plan(cz_job *job)
{
    cz_text text = {0};

    cz_ir_print(job->ir, &text);
    cz_digest(&text, job->plan_hash);
    cz_text_fini(&text);
}

extern const cz_embedded cz_tile_files[]; /* bench/tiles.txt */

/* A GPU's part of a plan, up to a pass; NULL: all of it.  It comes behind the
 * schedule, whoever made that; one that is there is taken as it is. */
static bool plan_gpu(cz_job *job, const char *pass)
{
    if (cz_ir_count(job->ir, CZ_FACT_gpu) > 0)
        return true;
    return cz_gpu_target(job->ir, cz_tile_files[0].bytes, &job->diags) &&
           cz_passes_gpu(job->ir, pass, &job->diags);
}

static bool schedule(cz_job *job)
{
    if (cz_ir_count(job->ir, CZ_FACT_op) == 0 &&
        !cz_passes_schedule(job->ir, &job->diags))
        return false;
    cz_clocks_end(&job->clocks, CZ_CLOCK_SCHEDULE);
    job->view = cz_plan_view_build(&job->arena, job->ir, &job->diags);
    cz_clocks_end(&job->clocks, CZ_CLOCK_VIEW);
    return job->view != NULL;
}

/* What no pass has seen is planned, and again where the iteration is shorter
 * with other buckets.  The passes that follow have nothing to do then; to see
 * one of them, or owners alone, only what was chosen is kept. */
static bool choose(cz_job *job, const cz_cmd_options *options, cz_job_goal goal)
{
    job->source = job->ir;
    job->ir = cz_ir_copy(job->source);
    bool ok = cz_passes_assign(job->ir, &job->diags);
    cz_clocks_end(&job->clocks, CZ_CLOCK_OWNERS);
    ok = ok && schedule(job);
    if (ok && (cz_cmd_choose(job->source, options->input, job->view,
                             &job->iteration) ||
               goal != CZ_JOB_PLANNED)) {
        cz_ir_close(job->ir);
        job->ir = cz_ir_copy(job->source);
        job->view = NULL;
    }
    cz_clocks_end(&job->clocks, CZ_CLOCK_CHOICE);
    return ok;
}

/* The passes up to one, of what no pass has seen. */
static bool plan_up_to(cz_job *job, const cz_cmd_options *options,
                       const char *pass, bool has_gpu)
{
    const bool is_of_gpu = cz_passes_find(pass) > cz_passes_find("schedule");

    if (cz_ir_count(job->ir, CZ_FACT_bucket) == 0)
        return choose(job, options, CZ_JOB_AFTER) &&
               cz_passes_run(job->ir, is_of_gpu ? "schedule" : pass,
                             &job->diags) &&
               (!is_of_gpu || !has_gpu || plan_gpu(job, pass));
    cz_diag_error(
        &job->diags, CZ_BAD_IR, (cz_span){0},
        "the module is planned: --ir=after:%s starts from a source, or "
        "from --ir=source",
        pass);
    return false;
}

/* Plan what is not planned; then verify, whoever planned it. */
static bool plan(cz_job *job, const cz_cmd_options *options, cz_job_goal goal,
                 bool has_gpu)
{
    if (cz_ir_count(job->ir, CZ_FACT_bucket) == 0 &&
        !choose(job, options, goal))
        return false;
    if (cz_ir_count(job->ir, CZ_FACT_bucket) == 0 &&
        !cz_passes_assign(job->ir, &job->diags))
        return false;
    cz_clocks_end(&job->clocks, CZ_CLOCK_OWNERS);
    if (goal == CZ_JOB_ASSIGNED)
        return true;
    if (!job->view && !schedule(job))
        return false;
    if (has_gpu &&
        (!plan_gpu(job, NULL) ||
         !(job->view = cz_plan_view_build(&job->arena, job->ir, &job->diags))))
        return false;
    cz_clocks_end(&job->clocks, CZ_CLOCK_VIEW);
    if (!cz_verify(job->view, &job->diags))
        return false;
    cz_clocks_end(&job->clocks, CZ_CLOCK_VERIFIER);
    /* A check keeps the gradients of all microbatches, and one rank that it
     * compares with has all parameters: `memory` is not about them. */
    const bool keeps_memory =
        !options->one_rank && !(options->check && options->strict);
    if (!cz_cmd_caps_keep(&job->arena, job->view, keeps_memory, &job->diags))
        return false;
    hash_plan(job);
    cz_clocks_end(&job->clocks, CZ_CLOCK_HASH);
    return true;
}

const cz_metrics *cz_job_metrics(cz_job *job)
{
    if (!job->metrics)
        job->metrics = cz_metrics_build(&job->arena, job->view);
    return job->metrics;
}

int cz_job_status(const cz_job *job)
{
    if (job->diags.n_errors == 0)
        return CZ_EXIT_OK;
    return job->diags.refused ? CZ_EXIT_INFEASIBLE : CZ_EXIT_ERRORS;
}

int cz_job_open(cz_job *job, const cz_cmd_options *options, cz_job_goal goal)
{
    const bool has_gpu = options->target && cz_target_has_gpu(options->target);

    memset(job, 0, sizeof *job);
    job->diagnostics = options->diagnostics;
    job->diagnostics_are_output = options->diagnostics_are_output;
    cz_arena_init(&job->arena);
    cz_diags_init(&job->diags, &job->arena);
    cz_clocks_begin(&job->clocks);
    job->ir = read_input(job, options);
    cz_clocks_end(&job->clocks, CZ_CLOCK_FRONT);
    if (options->one_rank && job->diags.n_errors == 0)
        cz_diags_init(&job->diags, &job->arena); /* warned of on all ranks */
    if (job->ir && goal == CZ_JOB_AFTER)
        plan_up_to(job, options, options->ir + strlen(CZ_AFTER), has_gpu);
    else if (job->ir && goal != CZ_JOB_LOWERED)
        plan(job, options, goal, has_gpu);
    return cz_job_status(job);
}

void cz_print_diagnostics(const cz_diags *diags)
{
    const char *no_color = getenv("NO_COLOR");
    const bool colour = isatty(STDERR_FILENO) && !(no_color && *no_color);
    cz_text text = {0};

    cz_diags_print(diags, &text, colour);
    fwrite(cz_text_string(&text), 1, text.n, stderr);
    cz_text_fini(&text);
}

/* For another program to read. */
static void write_document(const cz_job *job)
{
    cz_text text = {0};

    if (job->diagnostics == CZ_DIAGNOSTICS_SARIF)
        cz_diagnostics_sarif(&job->diags, CANZONA_VERSION, &text);
    else
        cz_diagnostics_json(&job->diags, &text);
    fwrite(cz_text_string(&text), 1, text.n,
           job->diagnostics_are_output ? stdout : stderr);
    cz_text_fini(&text);
}

void cz_job_close(cz_job *job)
{
    fflush(stdout);
    if (job->diagnostics == CZ_DIAGNOSTICS_TEXT)
        cz_print_diagnostics(&job->diags);
    else
        write_document(job);
    cz_ir_close(job->ir);
    cz_ir_close(job->source);
    cz_text_fini(&job->text);
    cz_arena_fini(&job->arena);
}
