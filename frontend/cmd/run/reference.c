/* The run again, in float64: the same gradients, whole tensors, one rank.
 *
 * Errors and bounds are those of dsl/plan/error_bound.h: where values pass
 * through bf16, one that lies near a tie may round the other way, a relative
 * 2^-8, and what is rounded to travel is not rounded here.  The parameter's own
 * rounding, once a step, comes on top.
 */
#include "frontend/cmd/run/internal.h"

#include "dsl/plan/error_bound.h"
#include "dsl/plan/state.h"
#include "frontend/document/number.h"
#include "frontend/run/run.h"

#include <math.h>
#include <string.h>

/* Of a rule, over all steps; and of the one of matrices that has least to do.
 * The interpreter takes a second for about three billion. */
static const int64_t MOST_WORK = 2000000000, MOST_OF_LEAST = 200000000000;

static double round_to(cz_dtype dtype, float value)
{
    return cz_reference_round(dtype, (double)value);
}

static void begin(cz_repetition *r)
{
    const cz_plan_view *view = r->job->view;
    const cz_view_pattern *pattern =
        &view->patterns[view->params[r->param].pattern];
    const cz_fact_rule *rule = view->rules[r->rule].fact;

    r->n = pattern->elements;
    r->n_states = rule->states.n;
    r->first = CZ_NEW(&r->arena, double, r->n);
    r->value = CZ_NEW(&r->arena, double, r->n);
    r->grad = CZ_NEW(&r->arena, double, r->n);
    r->sample = CZ_NEW(&r->arena, float, r->n);
    r->microbatch = CZ_NEW(&r->arena, float, r->n);
    r->states = CZ_NEW(&r->arena, double *, r->n_states + 1);
    r->roundings = CZ_NEW(&r->arena, double, r->n_states + 1);
    for (int s = 0; s < r->n_states; s++) {
        const int64_t n =
            cz_state_is_owned(rule, s) ? cz_state_elements(rule, s) : r->n;
        r->states[s] = CZ_NEW(&r->arena, double, n);
        for (int64_t i = 0; i < n; i++)
            r->states[s][i] = cz_state_initial(rule, s, i);
    }
    cz_run_initial(r->request, view->params[r->param].name, 0, r->n, r->sample);
    for (int64_t i = 0; i < r->n; i++)
        r->first[i] = r->value[i] = round_to(pattern->dtype, r->sample[i]);
}

/* As ranks hand it over: leaves that are each rounded to their type. */
static void fill_grad(cz_repetition *r, int step)
{
    const cz_plan_view *view = r->job->view;
    const cz_fact_reduction *reduction =
        cz_view_pattern_reduction(view, view->params[r->param].pattern);
    const cz_dtype dtype = reduction->dtype;
    const int64_t leaves =
        cz_view_extent(view, &reduction->reduce_axes) * reduction->n_grads;

    memset(r->grad, 0, (size_t)r->n * sizeof *r->grad);
    for (int64_t leaf = 0; leaf < leaves; leaf++) {
        cz_run_gradient(r->request, r->param, view->params[r->param].name, step,
                        leaf, 0, r->n, r->microbatch, r->sample);
        for (int64_t i = 0; i < r->n; i++)
            r->grad[i] += round_to(dtype, r->sample[i]);
    }
    for (int64_t i = 0; i < r->n; i++)
        r->grad[i] /= (double)reduction->divisor;
}

/* The coefficient of clipping, as dsl/SCHEDULE.md defines it. */
static double clip_of(const cz_repetition *r, int step)
{
    const double bound = r->job->view->policy->clip;

    return bound > 0 ? fmin(1.0, bound / (r->result->norms[step] + 1e-6)) : 1.0;
}

static void fill_externs(cz_repetition *r, int step)
{
    const cz_plan_view *view = r->job->view;
    const cz_fact_rule *rule = view->rules[r->rule].fact;

    for (int k = 0; k < rule->states.n; k++) {
        if (!cz_state_is_extern(rule, k))
            continue;
        const int64_t n = cz_state_elements(rule, k);
        float *values = CZ_NEW(&r->arena, float, n);
        cz_run_extern(r->request, view->params[r->param].name,
                      rule->states.v[k], step, n, values);
        for (int64_t i = 0; i < n; i++)
            r->states[k][i] = (double)values[i];
    }
}

static void take_step(cz_repetition *r, int step)
{
    const cz_plan_view *view = r->job->view;
    const cz_reference_call call = {
        .rule = r->rule,
        .form = CZ_REFERENCE_MATH,
        .round = true,
        .count = r->n,
        .t = step + 1,
        .stagger_offset = view->params[r->param].stagger_offset,
        .name = view->params[r->param].name,
        .clip = clip_of(r, step),
        .hypers = view->uses[view->rules[r->rule].use]->defaults.v,
        .grad = r->grad,
        .param = r->value,
        .states = (const double *const *)r->states,
        .param_out = r->value,
        .states_out = r->states};

    if (cz_calls_have_factors(view, r->rule))
        cz_calls_take(r, step, &call);
    else
        cz_reference_rule(r->job->ir, view, &call);
}

static double run_value(const cz_repetition *r, cz_dtype dtype, int64_t i)
{
    const unsigned char *bytes =
        r->result->tensors[r->result->first_tensor[r->param]].bytes;
    czr_bf16 narrow;
    float value;

    if (dtype == CZ_BF16) {
        memcpy(&narrow, bytes + i * 2, sizeof narrow);
        return (double)czr_bf16_to_f32(narrow);
    }
    memcpy(&value, bytes + i * 4, sizeof value);
    return (double)value;
}

/* Error of the update, and the bound that it must keep. */
static double compare(const cz_repetition *r, double *bound)
{
    const cz_plan_view *view = r->job->view;
    const cz_dtype dtype = view->patterns[view->params[r->param].pattern].dtype;
    const double ulp = dtype == CZ_BF16 ? 0x1p-8 : 0x1p-23 * r->request->steps;
    double error = 0, update = 0, size = 0;

    for (int64_t i = 0; i < r->n; i++) {
        const double difference = run_value(r, dtype, i) - r->value[i];
        const double moved = r->value[i] - r->first[i];
        error += difference * difference;
        update += moved * moved;
        size += r->value[i] * r->value[i];
    }
    *bound = (double)cz_error_bound(view, r->rule) / CZ_ERROR_UNIT +
             (update > 0 ? (ulp * sqrt(size) + r->rounding) / sqrt(update) : 0);
    return update > 0 ? sqrt(error / update) : sqrt(error);
}

static int first_param(const cz_plan_view *view, int rule)
{
    int best = -1;

    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].rule == rule &&
            (best < 0 ||
             view->patterns[f].elements <
                 view->patterns[view->params[best].pattern].elements))
            best = view->patterns[f].first_param;
    return best;
}

/* Operations of all steps, gradients that are drawn included. */
static int64_t work_of(const cz_plan_view *view, int rule, int64_t elements,
                       const cz_run_request *request)
{
    const int64_t step = elements * request->microbatches * 32 +
                         cz_view_rule_flops(view, rule, NULL, elements) *
                             cz_calls_per_update(view, rule);

    return step > INT64_MAX / (request->steps + 1) ? INT64_MAX
                                                   : step * request->steps;
}

/* The formula itself leaves what is finite. */
static bool is_broken_alike(const cz_repetition *r)
{
    const cz_plan_view *view = r->job->view;
    const cz_dtype dtype = view->patterns[view->params[r->param].pattern].dtype;

    for (int64_t i = 0; i < r->n; i++)
        if (!isfinite(r->value[i]) && !isfinite(run_value(r, dtype, i)))
            return true;
    return false;
}

/* Repeat one rule; false if it is beyond its bound. */
static bool repeat(cz_repetition *r, double *error, double *bound)
{
    const double of_states =
        (double)cz_error_bound(r->job->view, r->rule) / CZ_ERROR_UNIT;
    bool ok = true;

    cz_arena_init(&r->arena);
    begin(r);
    for (int step = 0; step < r->request->steps; step++) {
        fill_grad(r, step);
        fill_externs(r, step);
        take_step(r, step);
        if (r->after)
            ok = cz_calls_take_over(r, step, of_states) && ok;
    }
    *error = compare(r, bound);
    const bool is_broken = is_broken_alike(r);
    cz_arena_fini(&r->arena);
    if (*error <= *bound)
        return ok;
    if (is_broken)
        cz_diag_error(&r->job->diags, CZ_RUN_FAILED, (cz_span){0},
                      "the last step made '%s' something that is not finite, "
                      "as the float64 interpreter does",
                      r->job->view->params[r->param].name);
    else
        cz_diag_error(&r->job->diags, CZ_CHECK_FAILED, (cz_span){0},
                      "%s is %.2e of its update from the float64 interpreter "
                      "(bound %.2e)",
                      r->job->view->params[r->param].name, *error, *bound);
    return false;
}

static int64_t work_of_repetition(const cz_repetition *r)
{
    const cz_view_param *param = &r->job->view->params[r->param];

    return work_of(r->job->view, r->rule,
                   r->job->view->patterns[param->pattern].elements, r->request);
}

/* Says so where the interpreter would take too long. */
static bool is_repeated(const cz_repetition *r, bool is_least)
{
    const int64_t work = work_of_repetition(r);
    const int64_t most = is_least ? MOST_OF_LEAST : MOST_WORK;

    if (work <= most)
        return true;
    printf("float64   %s: not repeated: %s, and %s at most\n",
           r->job->view->params[r->param].name, cz_number_short(work, "F").text,
           cz_number_short(most, "F").text);
    return false;
}

/* A check that compares no matrix shows nothing of matrices. */
static bool is_shown(cz_job *job, int n_matrices, int n_compared)
{
    if (n_matrices == 0 || n_compared > 0)
        return true;
    cz_diag_error(&job->diags, CZ_CHECK_FAILED, (cz_span){0},
                  "no matrix was compared with float64");
    cz_diag_note(&job->diags, (cz_span){0},
                 "fewer --steps or --microbatches, or a smaller model by -D, "
                 "leave the interpreter less to do");
    return false;
}

static cz_repetition repetition_of(cz_job *job, const cz_run_request *request,
                                   const cz_run_result *result,
                                   const cz_run_result *after, int rule)
{
    return (cz_repetition){
        .job = job,
        .request = request,
        .result = result,
        .after = cz_calls_have_factors(job->view, rule) ? after : NULL,
        .rule = rule,
        .param = first_param(job->view, rule)};
}

static bool is_of_matrices(const cz_repetition *r)
{
    return r->param >= 0 && r->job->view->rules[r->rule].fact->shape.n > 0;
}

/* The rule of matrices that has least to do; -1: there is none. */
static int least_rule(cz_job *job, const cz_run_request *request)
{
    int64_t least = INT64_MAX;
    int best = -1;

    for (int rule = 0; rule < job->view->n_rules; rule++) {
        const cz_repetition r = repetition_of(job, request, NULL, NULL, rule);
        if (!is_of_matrices(&r) ||
            (best >= 0 && work_of_repetition(&r) >= least))
            continue;
        least = work_of_repetition(&r);
        best = rule;
    }
    return best;
}

bool cz_run_reference(cz_job *job, const cz_run_request *request,
                      const cz_run_result *result)
{
    const cz_plan_view *view = job->view;
    const cz_run_result *after =
        result->last.step ? cz_calls_run_shorter(job, request) : NULL;
    const int least = least_rule(job, request);
    int n_checked = 0, n_matrices = 0, n_compared = 0;
    bool ok = true;

    for (int rule = 0; rule < view->n_rules && result->last.step; rule++) {
        cz_repetition r = repetition_of(job, request, result, after, rule);
        double error, bound;
        n_matrices += is_of_matrices(&r);
        if (r.param < 0 || !is_repeated(&r, rule == least))
            continue;
        n_checked++;
        n_compared += is_of_matrices(&r);
        if (!repeat(&r, &error, &bound))
            ok = false;
        else
            printf("float64   %s: %.2e of the update (bound %.2e%s)\n",
                   view->params[r.param].name, error, bound,
                   bound < 1 ? ""
                             : ", which is no bound: rounding alone makes as "
                               "much");
    }
    printf("float64   %d of %d rules repeated by the interpreter%s\n",
           n_checked, view->n_rules,
           result->last.step ? "" : ": the last step was not taken");
    return is_shown(job, n_matrices, n_compared) && ok;
}
