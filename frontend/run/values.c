/* What a run begins with and is given: tensors of a file, or drawn ones, the
 * same on any mesh. */
#include "frontend/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/czr_math.h"

#define INITIAL_SCALE 0.02f
enum { MOST_NAME = 1024 };

/* PARAM, or PARAM#WHAT.  NULL: the run draws its own. */
static const cz_tensor *given_of(const cz_run_request *request,
                                 const char *param, const char *what)
{
    char name[MOST_NAME];

    if (!request->given)
        return NULL;
    snprintf(name, sizeof name, "%s%s%s", param, what ? "#" : "",
             what ? what : "");
    return cz_tensors_find(request->given, name);
}

static void take(const cz_tensor *tensor, int64_t first, int64_t n, float *out)
{
    const unsigned char *at =
        tensor->bytes + (size_t)first * (size_t)cz_dtype_bytes(tensor->dtype);

    for (int64_t i = 0; i < n; i++)
        if (tensor->dtype == CZ_BF16) {
            czr_bf16 narrow;
            memcpy(&narrow, at + (size_t)i * sizeof narrow, sizeof narrow);
            out[i] = czr_bf16_to_f32(narrow);
        } else {
            memcpy(&out[i], at + (size_t)i * sizeof *out, sizeof *out);
        }
}

void cz_run_initial(const cz_run_request *request, const char *param,
                    int64_t first, int64_t n, float *out)
{
    const cz_tensor *tensor = given_of(request, param, NULL);
    const cz_sample sample = {request->seed, cz_sample_tensor(param), -1, -1};

    if (tensor) {
        take(tensor, first, n, out);
        return;
    }
    cz_sample_fill(&sample, first, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] *= INITIAL_SCALE;
}

/* What a gradient is times the sum of its microbatches. */
static double scale_of(const cz_fact_reduction *reduction, int64_t merged,
                       int64_t microbatches)
{
    if (merged == 1)
        return 1;
    return reduction->divisor == 1
               ? 1 / (double)merged
               : (double)reduction->divisor / (double)microbatches;
}

void cz_run_gradient(const cz_run_request *request, int param, const char *name,
                     int step, int64_t gradient, int64_t first, int64_t n,
                     float *scratch, float *out)
{
    const cz_plan_view *view = request->view;
    const cz_view_pattern *pattern =
        &view->patterns[view->params[param].pattern];
    const cz_fact_reduction *reduction =
        cz_view_pattern_reduction(view, view->params[param].pattern);
    const int64_t merged =
        request->microbatches /
        (cz_view_extent(view, &reduction->reduce_axes) * reduction->n_grads);
    const cz_tensor *tensor = given_of(request, name, "grad");
    const bool is_one = tensor && tensor->n_dims == pattern->n_dims;
    const double scale = scale_of(reduction, merged, request->microbatches);

    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t m = 0; m < (is_one ? 1 : merged); m++) {
        const int64_t microbatch = gradient * merged + m;
        const cz_sample sample = {request->seed, cz_sample_tensor(name),
                                  microbatch, step};
        if (tensor)
            take(tensor, first + (is_one ? 0 : microbatch * pattern->elements),
                 n, scratch);
        else
            cz_sample_fill(&sample, first, n, scratch);
        for (int64_t i = 0; i < n; i++)
            out[i] += scratch[i];
    }
    /* one that stands for all needs no sum, whose rounding would show */
    const float by = (float)(is_one ? scale * (double)merged : scale);
    for (int64_t i = 0; i < n; i++)
        out[i] *= by;
}

void cz_run_extern(const cz_run_request *request, const char *param,
                   const char *name, int step, int64_t n, float *out)
{
    const cz_tensor *tensor = given_of(request, param, name);
    const cz_sample sample = {request->seed, cz_sample_extern(param, name), -1,
                              step};

    if (tensor) {
        take(tensor, 0, n, out);
        return;
    }
    cz_sample_fill(&sample, 0, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = fabsf(out[i]);
}
