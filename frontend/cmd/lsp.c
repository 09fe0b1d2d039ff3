/* canzona lsp: the language server, on standard input and output. */
#include "frontend/cmd/cmd.h"

#include "frontend/document/number.h"
#include "frontend/document/plan/plan.h"
#include "frontend/lsp/lsp.h"
#include "frontend/report/report.h"

static const struct argp_option options[] = {
    {"stdio", CZ_KEY_STDIO, NULL, 0,
     "Changes nothing: some editors say what is so in any case", 0},
    {0}};

/* "owner, by `matrices`, kernels 5.86 ms (assumed)", then who that is. */
static void put_matrix(const cz_document *document,
                       const cz_document_matrix *matrix, FILE *out)
{
    const cz_document_param *param = &document->params[matrix->param];
    cz_text owners = {0};

    cz_report_owners(document, matrix, &owners);
    fprintf(out, "%s\t%s, by `%s`, kernels %s (%s)\t%s\n", param->name,
            matrix->strategy, param->param_group,
            cz_number_time(matrix->time_ps).text, cz_report_basis(document),
            cz_text_string(&owners));
    cz_text_fini(&owners);
}

/* One that buckets cut anywhere. */
static void put_elements(const cz_document *document,
                         const cz_document_param *param, FILE *out)
{
    const int reduction = document->buckets[param->bucket].reduction;
    const int64_t split = document->reductions[reduction].split_set;
    const char *between = " split over ";

    fprintf(out, "%s\telement-wise, by `%s`,", param->name, param->param_group);
    for (int a = 0; a < document->n_axes; a++)
        if (split >> a & 1) {
            fprintf(out, "%s%s", between, document->axes[a].name);
            between = " x ";
        }
    fprintf(out, "%s\t\n", split ? "" : " by every rank");
}

/* What a question about parameters asks of a plan.  The process ends behind it,
 * and nobody hears why there is none: `check` says so. */
static bool plan(const char *path, const cz_text *text, cz_allowed allowed,
                 FILE *out)
{
    const cz_cmd_options given = {
        .input = path, .text = text, .allowed = allowed};
    cz_job job;

    if (cz_job_open(&job, &given, CZ_JOB_PLANNED) != CZ_EXIT_OK)
        return false;
    const cz_document *document =
        cz_report_document(&job.arena, job.view, cz_job_metrics(&job),
                           job.plan_hash, false, path, &job.diags);
    if (!document)
        return false;
    bool *has_owner = CZ_NEW(&job.arena, bool, document->n_params);
    for (int i = 0; i < document->n_matrices; i++) {
        has_owner[document->matrices[i].param] = true;
        put_matrix(document, &document->matrices[i], out);
    }
    for (int i = 0; i < document->n_params; i++)
        if (!has_owner[i] && document->params[i].bucket >= 0)
            put_elements(document, &document->params[i], out);
    return true;
}

static int run(const cz_cmd_options *given)
{
    (void)given;
    return cz_lsp_serve(stdin, stdout, CANZONA_VERSION, plan) ? CZ_EXIT_OK
                                                              : CZ_EXIT_ERRORS;
}

const cz_command cz_command_lsp = {
    "lsp",
    "language server for editors",
    options,
    "Speak the Language Server Protocol on standard input and output: "
    "messages while one types, what a name is and where it is said, who "
    "updates a parameter, what may stand at a place, layout, and a list of "
    "definitions.\v"
    "dsl/editor/README.md says how VS Code, Vim, Neovim and Emacs start it.  "
    "Exit status 1: the client left without a shutdown, or sent what is no "
    "message.\n",
    run,
    ""};
