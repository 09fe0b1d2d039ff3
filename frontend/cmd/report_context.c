/* From a planned job to what is looked at. */
#include "frontend/cmd/cmd.h"

#include "frontend/document/read.h"
#include "frontend/document/plan/plan.h"

/* All that the look points to, in one place. */
typedef struct whole {
    cz_report_context context;
    cz_document document;
    cz_machine machine;
    cz_simulate_timeline timeline;
} whole;

static bool read(cz_job *job, const cz_cmd_options *given, whole *w)
{
    cz_text text = {0};
    cz_report_json(job->view, job->plan_hash, !given->no_baselines, &text);
    const bool ok = cz_document_read(&job->arena, given->input, &text,
                                     &job->diags, false, &w->document);
    cz_text_fini(&text);
    return ok;
}

static bool run(cz_job *job, const cz_cmd_options *given, whole *w)
{
    cz_simulate_options options;
    if (!cz_cmd_machine(&job->arena, given->input, &w->document, NULL, NULL, 0,
                        &job->diags, &w->machine) ||
        !cz_cmd_simulate_options("plan", given, &options))
        return false;
    options.machine = &w->machine;
    options.is_plans_machine = true;
    w->timeline = cz_simulate_step(&job->arena, &w->document, &options);
    return true;
}

const cz_report_context *cz_cmd_report_context(cz_job *job,
                                               const cz_cmd_options *given)
{
    whole *w = CZ_NEW(&job->arena, whole, 1);
    if (!read(job, given, w) || !run(job, given, w))
        return NULL;
    w->context = (cz_report_context){&w->document, &w->timeline};
    return &w->context;
}
