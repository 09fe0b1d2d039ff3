/* Reading a plan, or planning what is none yet. */
#include "frontend/cmd/cmd.h"

#include "frontend/document/read.h"
#include "frontend/document/plan/plan.h"

/* What `text` holds is planned, and replaced by its JSON. */
static int plan_first(const cz_cmd_options *given, const char *file,
                      cz_text *text)
{
    cz_cmd_options with_text = *given;
    cz_job job;
    with_text.input = file;
    with_text.text = text;
    const int status = cz_job_open(&job, &with_text, CZ_JOB_PLANNED);
    if (status == CZ_EXIT_OK) {
        cz_text_fini(text);
        cz_text_init(text);
        cz_report_json(job.view, cz_job_metrics(&job), job.plan_hash,
                       !given->no_baselines, text);
    }
    cz_job_close(&job);
    return status;
}

int cz_cmd_plan_text(const cz_cmd_options *given, const char *file,
                     cz_diags *diags, bool *is_json, cz_text *text)
{
    const char *why = "";
    if (!cz_text_read_file(text, file, CZ_DOCUMENT_MAX_BYTES, &why)) {
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s", file, why);
        return CZ_EXIT_ERRORS;
    }
    *is_json = cz_document_is(text);
    return *is_json ? CZ_EXIT_OK : plan_first(given, file, text);
}
