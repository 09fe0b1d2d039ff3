#include "tests/gpu/plan/host_stage.h"

#include "runtime/cuda/products/multiply.h"
#include "runtime/math/product.h"
#include "tests/gpu/plan/deferred.h"

#include <stdlib.h>

enum { MAX_STAGES = 512, MAX_SLOTS = 64, MAX_SCALARS = 64, MAX_OPEN = 16 };

/* What stands for body `number`. */
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
    const void *room = deferred_at(r->call.room, 1);

    if (!skip || !status || !room || *skip || !find_all(r, in, out, scalars))
        return;
    const czr_call call = {.in = in,
                           .out = out,
                           .scalars = scalars,
                           .count = r->call.count,
                           .part = r->call.part,
                           .work = r->call.work ? deferred_at(r->call.work, 1)
                                                : NULL,
                           .math = &math.math,
                           .status = &found};
    bodies[r->number].body(&call);
    if (*status == CZR_OK)
        *status = (int32_t)found;
}

/* ---- on the host -------------------------------------------------------- */

static czr_status put(const czr_cuda_call *call, int number)
{
    const czr_stage *stage = bodies[number].stage;
    record r = {.number = number, .call = *call};

    if (stage->n_scalars > MAX_SCALARS)
        return CZR_ERR_UNSUPPORTED;
    memcpy(r.in, call->in, stage->n_in * sizeof *r.in);
    memcpy(r.out, call->out, stage->n_out * sizeof *r.out);
    memcpy(r.scalars, call->scalars, stage->n_scalars * sizeof *r.scalars);
    return deferred_put(find_launcher(call->stages), run, &r, sizeof r,
                        call->stream);
}

#define BODY(n)                                                                \
    static czr_status put_##n(const czr_cuda_call *call)                       \
    {                                                                          \
        return put(call, 0##n);                                                \
    }
#define NAME(n) put_##n,
#define EACH_8(X, n)                                                           \
    X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define EACH_64(X, n)                                                          \
    EACH_8(X, n##0)                                                            \
    EACH_8(X, n##1)                                                            \
    EACH_8(X, n##2)                                                            \
    EACH_8(X, n##3)                                                            \
    EACH_8(X, n##4)                                                            \
    EACH_8(X, n##5)                                                            \
    EACH_8(X, n##6)                                                            \
    EACH_8(X, n##7)
/* Numbers are octal. */
#define EACH_512(X)                                                            \
    EACH_64(X, 0)                                                              \
    EACH_64(X, 1)                                                              \
    EACH_64(X, 2)                                                              \
    EACH_64(X, 3)                                                              \
    EACH_64(X, 4)                                                              \
    EACH_64(X, 5)                                                              \
    EACH_64(X, 6)                                                              \
    EACH_64(X, 7)

EACH_512(BODY)
static const czr_cuda_stage putters[MAX_STAGES] = {EACH_512(NAME)};

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
    static const czr_cuda_stage *variants[MAX_STAGES];
    bool fits = program->n_stages <= MAX_STAGES;

    n_bodies = 0;
    memset(variants, 0, sizeof variants);
    for (int s = 0; fits && s < program->n_stages; s++)
        fits = add(&program->stages[s], program->stages[s].run);
    for (int s = 0; fits && program->variants && s < program->n_stages; s++) {
        const czr_variants *of = &program->variants[s];
        if (of->phases)
            variants[s] = putters + n_bodies;
        for (int p = 0; fits && of->phases && p < of->phases->n_phases; p++)
            fits = add(&program->stages[s], of->run[p]);
    }
    result =
        (czr_cuda_program){.program = program,
                           .stages = putters,
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

/* Stages of a batch run whole, one behind the other. */
czr_status czr_cuda_deferred_open(czr_context *context, size_t n_units,
                                  size_t n_deferred, size_t n_pointers,
                                  czr_cuda_deferred **out)
{
    (void)context;
    (void)n_units;
    (void)n_deferred;
    (void)n_pointers;
    *out = NULL;
    return CZR_OK;
}

void czr_cuda_deferred_close(czr_cuda_deferred *notes)
{
    (void)notes;
}

void czr_cuda_deferred_begin(czr_cuda_deferred *notes)
{
    (void)notes;
}

czr_status czr_cuda_deferred_put(czr_cuda_deferred *notes)
{
    (void)notes;
    return CZR_OK;
}

/* What stages of a GPU would call, which are not run. */
czr_status czr_cuda_loop(const czr_cuda_call *call, int number, size_t rows,
                         size_t columns, const void *const *pointers)
{
    (void)call;
    (void)number;
    (void)rows;
    (void)columns;
    (void)pointers;
    return CZR_ERR_UNSUPPORTED;
}

czr_status czr_cuda_copy(const czr_cuda_call *call, void *to, const void *from,
                         size_t bytes)
{
    (void)call;
    (void)to;
    (void)from;
    (void)bytes;
    return CZR_ERR_UNSUPPORTED;
}

czr_status czr_cuda_multiply(const czr_cuda_call *call,
                             const czr_product *product)
{
    (void)call;
    (void)product;
    return CZR_ERR_UNSUPPORTED;
}

czr_status czr_cuda_factorise(const czr_cuda_call *call,
                              const czr_factor *factor)
{
    (void)call;
    (void)factor;
    return CZR_ERR_UNSUPPORTED;
}
