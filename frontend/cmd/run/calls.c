/* Eigenvectors are anybody's but for what they span, and a root moves as far as
 * its matrix is nearly singular: what follows from either follows from
 * rounding. So of a rule with factorisations the interpreter takes one update
 * after the other from the run's states, which shorter runs give, and within an
 * update it goes on with the run's state from where it computed its own, once
 * this was kept to be compared.  What error is left is of one state, or of the
 * parameter, from equal states.
 *
 * How far that may be follows from the same update repeated in f32, its
 * rounding drawn (dsl/reference/reference.h): SPREAD_TIMES the largest of
 * SAMPLES distances is added to the bound.  Where a is a matrix and E what
 * rounds, a^p moves by at most |p| w^(p-1) |E| to first order, w the least
 * eigenvalue: the samples say what it is for this a, and for all that is
 * computed from it. */
#include "frontend/cmd/run/internal.h"

#include "dsl/plan/state.h"
#include "frontend/run/run.h"

#include <math.h>
#include <string.h>

#define CALLS_LIMIT 100000000 /* elements of all parameters, times steps^2 */
enum { SAMPLES = 4, SPREAD_TIMES = 8 };

bool cz_calls_have_factors(const cz_plan_view *view, int rule)
{
    const cz_view_rule *it = &view->rules[rule];

    for (int s = it->first_stage; s < it->first_stage + it->n_stages; s++)
        for (int v = 0; v < cz_view_n_bodies(&view->stages[s]); v++) {
            const cz_view_stage *body = cz_view_variant(&view->stages[s], v);
            for (int i = 0; i < body->n_steps; i++)
                if (body->steps[i].factor != CZ_FACTOR_NONE)
                    return true;
        }
    return false;
}

int cz_calls_per_update(const cz_plan_view *view, int rule)
{
    return cz_calls_have_factors(view, rule) ? 1 + SAMPLES : 1;
}

const cz_run_result *cz_calls_run_shorter(cz_job *job,
                                          const cz_run_request *request)
{
    cz_run_result *after = CZ_NEW(&job->arena, cz_run_result, request->steps);
    cz_run_request shorter = *request;
    int64_t elements = 0;
    bool any = false;

    for (int i = 0; i < job->view->n_rules; i++)
        any |= cz_calls_have_factors(job->view, i);
    for (int p = 0; p < job->view->n_params; p++)
        elements += job->view->patterns[job->view->params[p].pattern].elements;
    if (!any || elements > CALLS_LIMIT / request->steps / request->steps)
        return NULL;
    shorter.progress = NULL;
    shorter.world = NULL; /* on threads, which have the same bits */
    for (int step = 1; step < request->steps; step++) {
        shorter.steps = step;
        if (cz_run_ranks(&shorter, &job->arena, &after[step - 1]) != CZR_OK)
            return NULL;
    }
    return after;
}

static const float *state_values(const cz_repetition *r,
                                 const cz_run_result *result, int state)
{
    const cz_fact_rule *rule = r->job->view->rules[r->rule].fact;
    const char *name = result->tensors[result->first_tensor[r->param]].name;

    for (int i = 0; i < result->n_tensors; i++) {
        const cz_run_tensor *tensor = &result->tensors[i];
        if (tensor->state && strcmp(tensor->name, name) == 0 &&
            strcmp(tensor->state, rule->states.v[state]) == 0)
            return (const float *)(const void *)tensor->bytes;
    }
    return NULL; /* an extern */
}

/* ---- one update ---- */

static int64_t elements_of(const cz_repetition *r, int state)
{
    const cz_fact_rule *rule = r->job->view->rules[r->rule].fact;

    return state >= 0 && cz_state_is_owned(rule, state)
               ? cz_state_elements(rule, state)
               : r->n;
}

static const cz_run_result *run_after(const cz_repetition *r, int step)
{
    return step + 1 < r->request->steps ? &r->after[step] : r->result;
}

/* [n_states] the run's after the step, NULL those it does not have. */
static const double *const *settled_after(const cz_repetition *r, int step,
                                          cz_arena *arena)
{
    const double **settled = CZ_NEW(arena, const double *, r->n_states + 1);

    for (int k = 0; k < r->n_states; k++) {
        const float *values = state_values(r, run_after(r, step), k);
        const int64_t n = values ? elements_of(r, k) : 0;
        double *copy = CZ_NEW(arena, double, n);
        for (int64_t i = 0; i < n; i++)
            copy[i] = (double)values[i];
        settled[k] = values ? copy : NULL;
    }
    return settled;
}

/* The same call, its arithmetic in f32 with rounding that is drawn:
 * [1 + n_states] the parameter and states. */
static double **take_scattered(const cz_repetition *r,
                               const cz_reference_call *call, uint64_t seed,
                               cz_arena *arena)
{
    double **outs = CZ_NEW(arena, double *, 1 + r->n_states);
    cz_reference_call scattered = *call;

    for (int k = -1; k < r->n_states; k++)
        outs[1 + k] = CZ_NEW(arena, double, elements_of(r, k));
    scattered.noise = seed;
    scattered.param_out = outs[0];
    scattered.states_out = outs + 1;
    cz_reference_rule(r->job->ir, r->job->view, &scattered);
    return outs;
}

static double apart(const double *a, const double *b, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* The larger distance; what is no number counts as infinite. */
static double further(double rounding, const double *a, const double *b,
                      int64_t n)
{
    const double by = SPREAD_TIMES * apart(a, b, n);

    return isnan(by) ? INFINITY : fmax(rounding, by);
}

void cz_calls_take(cz_repetition *r, int step, const cz_reference_call *call)
{
    cz_reference_call own = *call;
    double **samples[SAMPLES];
    double moved = 0;
    cz_arena arena;

    cz_arena_init(&arena);
    own.settled = r->after ? settled_after(r, step, &arena) : NULL;
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = take_scattered(
            r, &own, (uint64_t)step * SAMPLES + (uint64_t)i + 1, &arena);
    cz_reference_rule(r->job->ir, r->job->view, &own);
    memset(r->roundings, 0, (size_t)r->n_states * sizeof *r->roundings);
    for (int i = 0; i < SAMPLES; i++) {
        moved = further(moved, samples[i][0], r->value, r->n);
        for (int k = 0; k < r->n_states; k++)
            r->roundings[k] = further(r->roundings[k], samples[i][1 + k],
                                      r->states[k], elements_of(r, k));
    }
    r->rounding += isfinite(moved) ? moved : 0;
    cz_arena_fini(&arena);
}

/* ---- states ---- */

/* Columns are as the rule sees them. */
static cz_run_state state_of(cz_repetition *r, const cz_run_result *result,
                             int state)
{
    const cz_fact_rule *rule = r->job->view->rules[r->rule].fact;
    const int64_t *shape = cz_state_is_owned(rule, state)
                               ? cz_state_shape(rule, state)
                               : rule->shape.v;
    const bool turns = rule->transposed && shape[0] > 1 && shape[1] > 1;
    const int64_t n = shape[0] * shape[1];
    const float *values = state_values(r, result, state);
    double *got = CZ_NEW(&r->arena, double, n);
    double *want = CZ_NEW(&r->arena, double, n);

    for (int64_t i = 0; i < n; i++) {
        const int64_t at = turns ? i % shape[1] * shape[0] + i / shape[1] : i;
        want[at] = r->states[state][i];
        got[at] = values ? (double)values[i] : want[at];
    }
    return (cz_run_state){shape[turns ? 1 : 0], shape[turns ? 0 : 1], got, want,
                          r->roundings[state]};
}

bool cz_calls_take_over(cz_repetition *r, int step, double bound)
{
    const cz_run_result *result = run_after(r, step);
    const cz_plan_view *view = r->job->view;
    cz_run_state *states = CZ_NEW(&r->arena, cz_run_state, r->n_states + 1);
    bool ok = true;

    for (int k = 0; k < r->n_states; k++)
        states[k] = state_of(r, result, k);
    for (int k = 0; k < r->n_states; k++) {
        const float *values = state_values(r, result, k);
        const int64_t n = elements_of(r, k);

        for (int64_t i = 0; values && i < n; i++)
            r->states[k][i] = (double)values[i];
        if (!ok || cz_run_state_agrees(states, r->n_states, k, bound))
            continue;
        cz_diag_error(
            &r->job->diags, CZ_CHECK_FAILED, (cz_span){0},
            "state %s of %s is not what the float64 interpreter makes of the "
            "states before, at update %d (bound %.2e)",
            view->rules[r->rule].fact->states.v[k], view->params[r->param].name,
            step + 1, bound);
        ok = false;
    }
    return ok;
}
