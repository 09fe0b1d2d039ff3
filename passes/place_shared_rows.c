/* From blocks of rows back to owners and groups. */
#include "passes/place_shared_internal.h"

#include "passes/solve/choice.h"

static int kind_of(const cz_place_sharer *s, const cz_counts *counts, int class)
{
    return counts->kind_of[s->solve_class[class]];
}

/* Rows and their jobs, to be laid out. */
typedef struct rows {
    const cz_place_sharer *sharer;
    const cz_subgroup_plan *plan;
} rows;

/* Items of each class on each slot, then the plan of the solver's layout. */
static cz_solved lay_out(const void *context, const cz_solve_problem *problem)
{
    const rows *of = context;
    const cz_place_sharer *s = of->sharer;
    cz_solved best = {.n_tried = 0};
    cz_counts counts = cz_counts_make(s->arena, problem, false);
    const int width = problem->n_hosts;
    for (int row = 0; row < problem->n_ranks; row++)
        for (int i = 0; i < of->plan->rows[row].n_jobs; i++) {
            const cz_subgroup_job *job = &of->plan->rows[row].jobs[i];
            cz_counts_put(&counts, 0, row * width + job->first,
                          kind_of(s, &counts, job->of), 1);
        }
    cz_choice_offer_counts(s->arena, problem, &best, &counts, "sub-groups");
    return best;
}

/* Each slot's items of a class take the ways of its jobs in order. */
static int *find_groups(const cz_place_sharer *s, const cz_subgroup_plan *plan,
                        const cz_solve_plan *laid_out)
{
    const cz_solve_problem *problem = &s->domain->problem;
    int *group = CZ_NEW(s->arena, int, problem->n_items + 1);
    for (int row = 0; row < problem->n_ranks; row++)
        for (int k = 0; k < plan->rows[row].n_jobs; k++) {
            const cz_subgroup_job *job = &plan->rows[row].jobs[k];
            const cz_subgroup_class *class = &s->classes[job->of];
            int i = 0;
            while (group[i] != 0 || laid_out->owner[i] != row ||
                   laid_out->host[i] != job->first ||
                   problem->class_of[i] != s->solve_class[job->of])
                i++;
            group[i] = class->ways[job->way].g;
        }
    for (int i = 0; i < problem->n_items; i++)
        group[i] = group[i] == 0 ? 1 : group[i];
    return group;
}

void cz_place_put_back(const cz_place_sharer *s, const cz_subgroup_plan *plan,
                       cz_place_shared *out)
{
    const rows context = {s, plan};
    out->plan = cz_place_geometry_lay_out(s->arena, &s->domain->problem,
                                          &s->domain->geometry, plan->time_ps,
                                          lay_out, &context);
    out->group = find_groups(s, plan, &out->plan);
    out->time_ps = plan->time_ps;
}
