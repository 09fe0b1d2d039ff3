/* From a planned job to what is looked at. */
#include "frontend/cmd/cmd.h"

#include "passes/passes.h"

#include "frontend/document/plan/plan.h"
#include "frontend/names/sources.h"

/* An iteration of more ranks takes longer to simulate than to plan. */
enum { MOST_RANKS = 1 << 16 };

/* All that the look points to, in one place. */
typedef struct whole {
    cz_report_context context;
    const cz_document *document;
    cz_machine machine;
    cz_simulate_timeline timeline;
} whole;

/* What is simulated; NULL after reporting. */
static whole *open_whole(cz_job *job, const cz_cmd_options *given,
                         bool has_baselines, cz_simulate_options *options)
{
    whole *w = CZ_NEW(&job->arena, whole, 1);
    w->document = cz_report_document(&job->arena, job->view,
                                     cz_job_metrics(job), job->plan_hash,
                                     has_baselines, given->input, &job->diags);
    if (!w->document ||
        !cz_cmd_machine(&job->arena, given->input, w->document, NULL, NULL, 0,
                        &job->diags, &w->machine) ||
        !cz_cmd_simulate_options("plan", given, options))
        return NULL;
    options->machine = &w->machine;
    options->is_plans_machine = true;
    options->tokens = w->document->tokens;
    options->active = w->document->active;
    return w;
}

double cz_cmd_gram_ratio(const cz_job *job)
{
    const cz_plan_view *view = job->view;
    double standard = 0, least = 0;

    for (int r = 0; r < view->n_rules; r++) {
        int64_t before, after, n = 0;
        for (int i = 0; i < view->n_params; i++)
            n += view->patterns[view->params[i].pattern].rule == r;
        if (n == 0 || !cz_gram_time(job->ir, view->rules[r].fact->update,
                                    &before, &after))
            continue;
        standard += (double)n * (double)before;
        least += (double)n * (double)(after < before ? after : before);
    }
    return standard > 0 ? least / standard : 1;
}

static bool has_index(const cz_node *use)
{
    const cz_node *paths = cz_use_paths(use);
    for (int p = 0; p < cz_n_items(paths); p++)
        for (int s = 0; s < cz_n_items(cz_item(paths, p)); s++)
            if (cz_item(cz_item(paths, p), s)->kind == CZ_AST_INDEX)
                return true;
    return false;
}

/* The user's own files, which have no errors, and what they say of groups. */
static cz_report_text text_of(cz_job *job, const cz_cmd_options *given)
{
    cz_arena *arena = &job->arena;
    cz_diags *unheard = CZ_NEW(arena, cz_diags, 1);
    cz_report_text out = {.defines = given->defines,
                          .n_defines = given->n_defines};
    cz_source *sources = NULL;
    cz_report_param_group *uses = NULL;

    if (job->is_ir)
        return (cz_report_text){0};
    cz_diags_init(unheard, arena);
    const cz_scope *scope = cz_scope_build(arena, given->input, &job->text,
                                           given->allowed, unheard);
    for (int i = 0; i < cz_scope_n_files(scope); i++)
        if (!cz_scope_file_at(scope, i)->library)
            *CZ_PUSH(arena, sources, out.n_sources) =
                *cz_scope_file_at(scope, i)->source;
    const cz_node *file = cz_scope_file_at(scope, 0)->tree;
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *use = cz_item(file, i);
        if (use->kind == CZ_AST_USE)
            *CZ_PUSH(arena, uses, out.n_uses) = (cz_report_param_group){
                use->text, has_index(use), (int)use->span.line};
    }
    out.sources = sources;
    out.uses = uses;
    return out;
}

const cz_report_context *cz_cmd_report_context(cz_job *job,
                                               const cz_cmd_options *given)
{
    cz_simulate_options options;
    whole *w = open_whole(job, given, !given->no_baselines, &options);
    if (!w)
        return NULL;
    w->timeline = cz_simulate_step(&job->arena, w->document, &options);
    w->context = (cz_report_context){
        w->document, &w->timeline, cz_cmd_report_iteration(job, given),
        cz_cmd_gram_ratio(job), text_of(job, given)};
    return &w->context;
}

const cz_report_iteration *cz_cmd_report_iteration(cz_job *job,
                                                   const cz_cmd_options *given)
{
    cz_simulate_options options;
    if (job->iteration.tokens > 0)
        return &job->iteration;
    if (!job->view->machine || job->view->n_ranks > MOST_RANKS)
        return NULL;
    whole *w = open_whole(job, given, false, &options);
    if (!w || options.tokens < cz_document_replicas(w->document))
        return NULL;
    job->iteration =
        (cz_report_iteration){options.tokens, options.mfu, options.active,
                              cz_simulate_plan(w->document, &options)};
    return &job->iteration;
}
