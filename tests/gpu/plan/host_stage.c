#include "tests/gpu/plan/host_stage.h"

#include "runtime/cuda/products/multiply.h"
#include "runtime/math/product.h"
#include "tests/gpu/plan/deferred.h"

#include <stdlib.h>

enum { MAX_STAGES = 512, MAX_SLOTS = 64, MAX_SCALARS = 64, MAX_OPEN = 16 };

/* Tables without steps, and what each stands for. */
static const czr_cuda_stage_step tables[MAX_STAGES];
static struct {
    const czr_stage *stage;
    czr_kernel body;
} bodies[MAX_STAGES];
static int n_bodies;
static czr_host_math math; /* for whoever runs */
static int n_opened;

/* Of each that is open. */
static struct {
    const czr_cuda_stages *of; /* NULL: free */
    deferred launcher;
} launchers[MAX_OPEN];

static deferred *find_launcher(const czr_cuda_stages *of)
{
    for (int i = 0; i < MAX_OPEN; i++)
        if (launchers[i].of == of)
            return &launchers[i].launcher;
    return NULL;
}

typedef struct record {
    int number;
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
    const float *scalars[MAX_SCALARS];
    czr_cuda_call call;
} record;

/* ---- on the device ------------------------------------------------------ */

/* Every pointer is one of the device's; of slots one byte is looked for, as
 * nobody says how large they are. */
static bool find_all(const record *r, const void **in, void **out,
                     float *scalars)
{
    const czr_stage *stage = bodies[r->number].stage;
    bool is_found = true;

    for (int i = 0; i < stage->n_in; i++)
        is_found &= (in[i] = deferred_at(r->in[i], 1)) != NULL;
    for (int i = 0; i < stage->n_out; i++)
        is_found &= (out[i] = deferred_at(r->out[i], 1)) != NULL;
    for (int i = 0; i < stage->n_scalars; i++) {
        const float *at = deferred_at(r->scalars[i], sizeof *at);
        is_found &= at != NULL;
        scalars[i] = at ? *at : 0;
    }
    return is_found;
}

static void run(const void *given)
{
    const record *r = given;
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
    float scalars[MAX_SCALARS];
    czr_status found = CZR_OK;
    const int32_t *skip = deferred_at(r->call.skip, sizeof *skip);
    int32_t *status = deferred_at(r->call.status, sizeof *status);
    const void *room = deferred_at(r->call.workspace, 1);

    if (!skip || !status || !room || *skip || !find_all(r, in, out, scalars))
        return;
    const czr_call call = {.in = in,
                           .out = out,
                           .scalars = scalars,
                           .count = r->call.count,
                           .equal_part = r->call.equal_part,
                           .work = r->call.work ? deferred_at(r->call.work, 1)
                                                : NULL,
                           .math = &math.math,
                           .status = &found};
    bodies[r->number].body(&call);
    if (*status == CZR_OK)
        *status = (int32_t)found;
}

/* ---- on the host -------------------------------------------------------- */

static czr_status put(const czr_cuda_call *call)
{
    record r = {.number = (int)(call->next - tables), .call = *call};
    const czr_stage *stage = bodies[r.number].stage;

    if (stage->n_scalars > MAX_SCALARS)
        return CZR_ERR_UNSUPPORTED;
    memcpy(r.in, call->in, stage->n_in * sizeof *r.in);
    memcpy(r.out, call->out, stage->n_out * sizeof *r.out);
    memcpy(r.scalars, call->scalars, stage->n_scalars * sizeof *r.scalars);
    return deferred_put(find_launcher(call->stages), run, &r, sizeof r,
                        call->stream);
}

/* Stages of a batch run whole, one behind the other. */
czr_status czr_cuda_stages_put(czr_cuda_call *calls, size_t n)
{
    czr_status status = CZR_OK;

    for (size_t i = 0; i < n && status == CZR_OK; i++)
        status = put(&calls[i]);
    return status;
}

static bool add(const czr_stage *stage, czr_kernel body)
{
    if (n_bodies == MAX_STAGES || stage->n_in > MAX_SLOTS ||
        stage->n_out > MAX_SLOTS)
        return false;
    bodies[n_bodies].stage = stage;
    bodies[n_bodies++].body = body;
    return true;
}

const czr_cuda_program *host_stages(const czr_program *program)
{
    static czr_cuda_program result;
    static czr_cuda_stage stages[MAX_STAGES];
    static const czr_cuda_stage *variants[MAX_STAGES];
    bool fits = program->n_stages <= MAX_STAGES;

    n_bodies = 0;
    for (int i = 0; i < MAX_STAGES; i++)
        stages[i] = &tables[i];
    memset(variants, 0, sizeof variants);
    for (int s = 0; fits && s < program->n_stages; s++)
        fits = add(&program->stages[s], program->stages[s].run);
    for (int s = 0; fits && program->variants && s < program->n_stages; s++) {
        const czr_variants *of = &program->variants[s];
        if (of->phases)
            variants[s] = stages + n_bodies;
        for (int p = 0; fits && of->phases && p < of->phases->n_phases; p++)
            fits = add(&program->stages[s], of->run[p]);
    }
    result =
        (czr_cuda_program){.program = program,
                           .stages = stages,
                           .variants = program->variants ? variants : NULL};
    return fits ? &result : NULL;
}

/* ---- stage.h ------------------------------------------------------------ */

czr_status czr_cuda_stages_open(czr_context *context, czr_cache *cache,
                                czr_nvrtc *nvrtc,
                                const czr_cuda_program *program,
                                czr_cuda_stages *out)
{
    *out = (czr_cuda_stages){.program = program,
                             .context = context,
                             .cache = cache,
                             .nvrtc = nvrtc,
                             .workspace_bytes = 1};
    int number = 0;
    while (number < MAX_OPEN && launchers[number].of)
        number++;
    if (number == MAX_OPEN)
        return CZR_ERR_NO_MEMORY;
    deferred *launcher = &launchers[number].launcher;
    czr_status status = deferred_open(context, launcher);
    if (status == CZR_OK && n_opened == 0)
        status = czr_host_math_open(&math, 1, 1);
    if (status != CZR_OK) {
        deferred_close(launcher);
        return status;
    }
    launchers[number].of = out;
    n_opened++;
    return CZR_OK;
}

void czr_cuda_stages_close(czr_cuda_stages *stages)
{
    deferred *launcher = find_launcher(stages);

    if (!launcher)
        return;
    deferred_close(launcher);
    for (int i = 0; i < MAX_OPEN; i++)
        if (launchers[i].of == stages)
            launchers[i].of = NULL;
    if (--n_opened == 0)
        czr_host_math_close(&math);
}

typedef struct scalars {
    const czr_program *program;
    const double *t, *clip, *hypers;
    float *to;
} scalars;

static void run_prologue(const void *given)
{
    const scalars *of = given;
    const size_t n_hypers = (size_t)of->program->n_hypers;
    const size_t n_scalars = (size_t)of->program->n_scalars;
    const double *t = deferred_at(of->t, sizeof *t);
    const double *clip = deferred_at(of->clip, sizeof *clip);
    const double *hypers = deferred_at(of->hypers, n_hypers * sizeof *hypers);
    float *to = deferred_at(of->to, n_scalars * sizeof *to);

    if (t && clip && hypers && to)
        of->program->prologue(*t, *clip, hypers, to);
}

czr_status czr_cuda_prologue(const czr_cuda_stages *stages, const double *t,
                             const double *clip, const double *hypers,
                             float *to, void *stream)
{
    const scalars given = {stages->program->program, t, clip, hypers, to};

    return deferred_put(find_launcher(stages), run_prologue, &given,
                        sizeof given, stream);
}

/* No kernel and no library is there. */
void czr_cuda_products_describe(const czr_cuda_stages *stages,
                                void (*say)(void *user, const char *line),
                                void *user)
{
    (void)stages;
    (void)say;
    (void)user;
}

bool czr_cuda_products_is_capturable(const czr_cuda_stages *stages)
{
    (void)stages;
    return true;
}
