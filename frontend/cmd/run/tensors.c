/* run --in, --out: a file's tensors against the plan's, and results to a file.
 */
#include "frontend/cmd/run/internal.h"

#include "dsl/plan/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file beside the plan. */
typedef struct taking {
    cz_job *job;
    const cz_cmd_options *given;
    const cz_tensors *tensors;
    const char **names; /* of what was found */
    int n_names;
} taking;

static bool refuse(const taking *t, cz_code code, const char *name,
                   const char *what)
{
    cz_diag_error(&t->job->diags, code, (cz_span){0},
                  "'%s': tensor '%.260s' %s", t->given->in, name, what);
    return false;
}

static bool is_like(const cz_tensor *a, const cz_tensor *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, (size_t)a->n_dims * sizeof *a->shape) ==
               0;
}

/* What there must be, and, unless NULL, what may be instead. */
static bool find(taking *t, const cz_tensor *want, const cz_tensor * or)
{
    cz_arena *arena = &t->job->arena;
    const cz_tensor *found = cz_tensors_find(t->tensors, want->name);

    *CZ_PUSH(arena, t->names, t->n_names) = want->name;
    if (!found)
        return refuse(t, CZ_MISSING_KEY, want->name, "is missing");
    if (found->dtype == want->dtype &&
        (is_like(found, want) || (or &&is_like(found, or))))
        return true;
    return refuse(
        t, found->dtype == want->dtype ? CZ_SHAPE_MISMATCH : CZ_BAD_TYPE,
        want->name,
        cz_arena_printf(arena, "is %s; the plan has %s%s%s",
                        cz_tensor_describe(arena, found),
                        cz_tensor_describe(arena, want), or ? " or " : "",
                        or ? cz_tensor_describe(arena, or) : ""));
}

static bool find_grad(taking *t, const char *name, int pattern)
{
    const cz_plan_view *view = t->job->view;
    const cz_ints *shape = &view->patterns[pattern].fact->shape;
    cz_tensor one = {.name = cz_arena_printf(&t->job->arena, "%s#grad", name),
                     .dtype = cz_view_pattern_reduction(view, pattern)->dtype,
                     .n_dims = (int)shape->n};
    cz_tensor each = one;

    memcpy(one.shape, shape->v, (size_t)shape->n * sizeof *shape->v);
    each.n_dims = one.n_dims + 1;
    each.shape[0] = t->given->microbatches;
    memcpy(each.shape + 1, shape->v, (size_t)shape->n * sizeof *shape->v);
    return find(t, &one, each.n_dims <= CZ_TENSOR_MAX_DIMS ? &each : NULL);
}

/* A parameter under one of its names: what it begins with, its gradient, and
 * what its rule has from outside. */
static bool find_param(taking *t, const char *name, int pattern)
{
    const cz_view_pattern *p = &t->job->view->patterns[pattern];
    const cz_fact_rule *rule = t->job->view->rules[p->rule].fact;
    cz_tensor want = {.name = name, .dtype = p->dtype, .n_dims = p->n_dims};

    memcpy(want.shape, p->fact->shape.v,
           (size_t)p->n_dims * sizeof *want.shape);
    if (!find(t, &want, NULL) || !find_grad(t, name, pattern))
        return false;
    for (int k = 0; k < rule->states.n; k++) {
        if (!cz_state_is_extern(rule, k))
            continue;
        const int64_t *shape = cz_state_shape(rule, k);
        const cz_tensor from_outside = {
            .name = cz_arena_printf(&t->job->arena, "%s#%s", name,
                                    rule->states.v[k]),
            .dtype = CZ_F32,
            .n_dims = 2,
            .shape = {shape[0], shape[1]}};
        if (!find(t, &from_outside, NULL))
            return false;
    }
    return true;
}

/* Something in the file has no place in the plan: most likely it has another
 * name there. */
static bool refuse_others(const taking *t)
{
    for (int i = 0; i < t->tensors->n; i++) {
        const char *name = t->tensors->list[i].name;
        bool is_known = false;
        for (int k = 0; k < t->n_names && !is_known; k++)
            is_known = strcmp(t->names[k], name) == 0;
        if (is_known)
            continue;
        refuse(t, CZ_UNKNOWN_NAME, name, "is nothing that this plan takes");
        const char *nearest = cz_diag_nearest(name, t->names, t->n_names);
        if (nearest)
            cz_diag_note(&t->job->diags, (cz_span){0}, "did you mean '%s'?",
                         nearest);
        return false;
    }
    return true;
}

bool cz_run_take(cz_job *job, const cz_cmd_options *given, cz_tensors *out)
{
    taking t = {.job = job, .given = given, .tensors = out};

    if (!cz_tensors_open(&job->arena, &job->diags, given->in, out))
        return false;
    for (int i = 0; i < job->view->n_params; i++) {
        const cz_view_param *param = &job->view->params[i];
        const cz_view_pattern *pattern = &job->view->patterns[param->pattern];
        for (int64_t c = 0; c < pattern->expert_extent; c++)
            if (!find_param(&t, param->names[c], param->pattern))
                return false;
    }
    return t.n_names == out->n || refuse_others(&t);
}

static bool is_finite(const unsigned char *at, cz_dtype dtype)
{
    uint16_t narrow;
    float single;
    double wide;

    if (dtype == CZ_BF16) {
        memcpy(&narrow, at, sizeof narrow);
        return (narrow & 0x7f80U) != 0x7f80U;
    }
    if (dtype == CZ_F32) {
        memcpy(&single, at, sizeof single);
        return isfinite(single);
    }
    memcpy(&wide, at, sizeof wide);
    return isfinite(wide);
}

/* A step tells of what the one before it has made: nobody of the last. */
static bool are_finite(cz_job *job, const cz_run_result *result)
{
    const cz_plan_view *view = job->view;

    for (int i = 0; i < view->n_params; i++) {
        const cz_view_pattern *pattern =
            &view->patterns[view->params[i].pattern];
        const int64_t size = cz_dtype_bytes(pattern->dtype);
        for (int64_t c = 0; c < pattern->expert_extent; c++) {
            const cz_run_tensor *tensor =
                &result->tensors[result->first_tensor[i] + c];
            for (int64_t at = 0; at < tensor->n_bytes; at += size)
                if (!is_finite(tensor->bytes + at, pattern->dtype)) {
                    cz_diag_error(&job->diags, CZ_RUN_FAILED, (cz_span){0},
                                  "the last step made '%s' something that is "
                                  "not finite",
                                  view->params[i].names[c]);
                    return false;
                }
        }
    }
    return true;
}

bool cz_run_print_sum(cz_job *job, const cz_run_result *result)
{
    const cz_run_tensor *sorted = cz_run_sorted(job, result);
    uint64_t sum = 0;
    int64_t bytes = 0;

    for (int i = 0; i < result->n_tensors; i++) {
        for (int64_t at = 0; at < sorted[i].n_bytes; at += 8) {
            const int64_t left = sorted[i].n_bytes - at;
            uint64_t word = 0;
            memcpy(&word, sorted[i].bytes + at, (size_t)(left < 8 ? left : 8));
            sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            sum ^= sum >> 29;
        }
        bytes += sorted[i].n_bytes;
    }
    printf("results   %d tensors, %" PRId64 " bytes, checksum %016" PRIx64 "\n",
           result->n_tensors, bytes, sum);
    return are_finite(job, result);
}

/* The options, where what --in names is an input, too. */
static cz_cmd_options with_inputs(cz_arena *arena, const cz_cmd_options *given)
{
    cz_cmd_options all = *given;

    all.inputs = CZ_NEW(arena, const char *, 2);
    all.inputs[0] = given->input;
    all.inputs[1] = given->in;
    all.n_inputs = given->in ? 2 : 1;
    return all;
}

bool cz_run_may_write(cz_job *job, const cz_cmd_options *given)
{
    const cz_cmd_options all = with_inputs(&job->arena, given);

    return cz_cmd_may_write(&all, &job->diags, given->out);
}

bool cz_run_write_results(cz_job *job, const cz_cmd_options *given,
                          const cz_run_result *result)
{
    const cz_run_tensor *sorted = cz_run_sorted(job, result);
    cz_tensor *list = CZ_NEW(&job->arena, cz_tensor, result->n_tensors);
    const cz_cmd_options all = with_inputs(&job->arena, given);
    cz_output output = {.path = given->out};

    for (int i = 0; i < result->n_tensors; i++) {
        const cz_run_tensor *from = &sorted[i];
        list[i] = (cz_tensor){
            .name = from->state ? cz_arena_printf(&job->arena, "%s#%s",
                                                  from->name, from->state)
                                : from->name,
            .dtype = from->dtype,
            .n_dims = from->n_dims,
            .bytes = from->bytes};
        memcpy(list[i].shape, from->shape,
               (size_t)from->n_dims * sizeof *from->shape);
    }
    cz_tensors_print(list, result->n_tensors, &output.text);
    const bool ok = cz_cmd_write(&all, &job->diags, &output, 1);
    cz_text_fini(&output.text);
    return ok && are_finite(job, result);
}
