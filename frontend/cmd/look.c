/* From a planned job to what is looked at. */
#include "frontend/cmd/look.h"

#include "frontend/cmd/machine.h"
#include "frontend/cmd/simulate_options.h"
#include "frontend/document/figures.h"
#include "frontend/document/plan/plan.h"

/* All that the look points to, in one place. */
typedef struct whole {
    cz_look look;
    cz_sheet sheet;
    cz_figures figures;
    cz_machine machine;
    cz_simulate_timeline timeline;
} whole;

static bool read(cz_job *job, const cz_cmd_options *given, whole *w)
{
    cz_text text = {0};
    cz_report_json(job->view, job->plan_hash, !given->no_baselines, &text);
    const bool ok = cz_plan_sheet_read(&job->arena, given->input, &text,
                                       &job->diags, &w->sheet) &&
                    cz_plan_json_read(&job->arena, given->input, &text,
                                      &job->diags, &w->figures);
    cz_text_fini(&text);
    return ok;
}

static bool run(cz_job *job, const cz_cmd_options *given, whole *w)
{
    cz_machine_said said;
    cz_simulate_options options;
    if (!cz_cmd_machine_said(&job->arena, given->input, &w->figures,
                             &job->diags, &said) ||
        !cz_cmd_machine_fill(&job->arena, given->input, &said, &job->diags,
                             &w->machine) ||
        !cz_cmd_simulate_options(given, &options))
        return false;
    options.machine = &w->machine;
    options.is_plans_machine = true;
    w->timeline = cz_simulate_step(&job->arena, &w->figures, &options);
    return true;
}

const cz_look *cz_cmd_look(cz_job *job, const cz_cmd_options *given)
{
    whole *w = CZ_NEW(&job->arena, whole, 1);
    if (!read(job, given, w) || !run(job, given, w))
        return NULL;
    w->look = (cz_look){&w->sheet, &w->figures, &w->timeline};
    return &w->look;
}
