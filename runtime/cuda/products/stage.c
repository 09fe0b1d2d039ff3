#include "runtime/cuda/products/internal.h"

#include "runtime/cuda/driver/source.h"
#include "runtime/cuda/driver/target.h"
#include "runtime/program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- compiling ---------------------------------------------------------- */

static size_t length_of(const char *const *pieces)
{
    size_t n = 0;

    for (; *pieces; pieces++)
        n += strlen(*pieces);
    return n;
}

/* All that NVRTC is given; the caller's to free. */
static char *make_source(const czr_cuda_program *program)
{
    char *text = malloc(length_of(program->text) + 1), *at = text, *source;

    if (!text)
        return NULL;
    for (const char *const *piece = program->text; *piece; piece++) {
        const size_t n = strlen(*piece);
        memcpy(at, *piece, n);
        at += n;
    }
    *at = '\0';
    source = czr_source_make(CZR_SOURCE_ELEMENTWISE, "", text);
    free(text);
    return source;
}

/* What kept the text from being compiled; the log's first line says where. */
static czr_status refuse(const czr_cuda_stages *stages, czr_nvrtc_status why,
                         const char *log)
{
    const char *name = stages->program->program->name;

    switch (why) {
    case CZR_NVRTC_OK:
        break;
    case CZR_NVRTC_NO_MEMORY:
        return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                 "compiling %s.cu", name);
    case CZR_NVRTC_MISSING:
    case CZR_NVRTC_REFUSED:
        return czr_context_check(
            stages->context, CZR_CUDA_INVALID_PTX, "compiling %s.cu: %.*s",
            name, (int)strcspn(log ? log : "", "\n"), log ? log : "");
    }
    return CZR_OK;
}

static czr_status compile(const czr_cuda_stages *stages, czr_nvrtc_code *code)
{
    const char *const options[] = {czr_target_arch(stages->context),
                                   "-fmad=false", "-default-device"};
    char *text = make_source(stages->program);
    const czr_cache_source source = {.name = stages->program->program->name,
                                     .text = text,
                                     .options = options,
                                     .n_options =
                                         sizeof options / sizeof *options};

    *code = (czr_nvrtc_code){0};
    if (!text)
        return refuse(stages, CZR_NVRTC_NO_MEMORY, NULL);
    const czr_nvrtc_status status =
        czr_cache_compile(stages->cache, stages->nvrtc, &source, code, NULL);
    free(text);
    return refuse(stages, status, code->log);
}

/* ---- loading ------------------------------------------------------------ */

static const char *const shared_names[CZR_CUDA_N_COMMON] = {
    [CZR_CUDA_SUM_BLOCKS] = "sum_parts",
    [CZR_CUDA_LARGEST_BLOCKS] = "largest_parts",
    [CZR_CUDA_SUM_STRIPS] = "sum_strips",
    [CZR_CUDA_LARGEST_STRIPS] = "largest_strips",
    [CZR_CUDA_COPY] = "copy_bytes",
    [CZR_CUDA_PROLOGUE] = "prologue",
};

static czr_status find_kernels(czr_cuda_stages *stages)
{
    const czr_cuda_program *program = stages->program;
    czr_status status = CZR_OK;

    stages->kernels =
        calloc((size_t)program->n_kernels + 1, sizeof *stages->kernels);
    if (!stages->kernels)
        return refuse(stages, CZR_NVRTC_NO_MEMORY, NULL);
    for (int i = 0; i < CZR_CUDA_N_COMMON && status == CZR_OK; i++)
        status = czr_module_find(&stages->module, shared_names[i], 0,
                                 &stages->common[i]);
    for (int i = 0; i < program->n_kernels && status == CZR_OK; i++)
        status = czr_module_find(&stages->module, program->kernels[i].name, 0,
                                 &stages->kernels[i]);
    return status;
}

static czr_status load(czr_cuda_stages *stages)
{
    czr_nvrtc_code code;

    czr_status status = compile(stages, &code);
    if (status == CZR_OK)
        status =
            czr_module_open(stages->context, code.bytes,
                            stages->program->program->name, &stages->module);
    if (status == CZR_OK)
        status = find_kernels(stages);
    czr_nvrtc_code_fini(&code);
    return status;
}

/* ---- what tables need --------------------------------------------------- */

/* The most units of a batch that the stage has part in; 1: of none. */
static int64_t batch_of(const czr_cuda_program *program, int stage)
{
    int64_t most = 1;

    for (int t = 0; program->batches && t < program->program->n_tables; t++) {
        const czr_cuda_batches *batches = &program->batches[t];
        const czr_kernel_entry *rows = program->program->tables[t].rows;
        const int64_t n =
            batches->list ? czr_program_all_rows(program->program, t) : 0;
        for (int64_t i = 0; i < n; i++) {
            const int32_t b = batches->of_row[i];
            if (b && rows[i].stage == stage &&
                batches->list[b - 1].n_calls > most)
                most = batches->list[b - 1].n_calls;
        }
    }
    return most;
}

/* Of a stage in one phase, whose products may be those of so many matrices. */
static czr_status prepare_steps(czr_cuda_stages *stages, czr_cuda_stage step,
                                int64_t batch)
{
    czr_status status = CZR_OK;

    for (; step->kind != CZR_CUDA_END && status == CZR_OK; step++)
        switch (step->kind) {
        case CZR_CUDA_LOOP_STEP:
            czr_cuda_loop_prepare(stages, &step->of.loop, batch);
            break;
        case CZR_CUDA_PRODUCT_STEP:
            status = czr_cuda_product_prepare(stages, &step->of.product.shape,
                                              batch, NULL);
            break;
        case CZR_CUDA_FACTOR_STEP:
            status = czr_cuda_factor_prepare(stages, &step->of.factor.shape);
            break;
        case CZR_CUDA_COPY_STEP:
        case CZR_CUDA_END:
            break;
        }
    return status;
}

static czr_status prepare_stage(czr_cuda_stages *stages, int stage)
{
    const czr_cuda_program *program = stages->program;
    const czr_cuda_stage *bodies =
        program->variants ? program->variants[stage] : NULL;
    const int n =
        bodies ? program->program->variants[stage].phases->n_phases : 0;
    const int64_t batch = batch_of(program, stage);

    czr_status status = prepare_steps(stages, program->stages[stage], batch);
    for (int i = 0; i < n && status == CZR_OK; i++)
        status = prepare_steps(stages, bodies[i], batch);
    return status;
}

/* ---- open and close ----------------------------------------------------- */

czr_status czr_cuda_stages_open(czr_context *context, czr_cache *cache,
                                czr_nvrtc *nvrtc,
                                const czr_cuda_program *program,
                                czr_cuda_stages *out)
{
    *out = (czr_cuda_stages){
        .program = program, .context = context, .cache = cache, .nvrtc = nvrtc};
    czr_status status = czr_target_check(context, nvrtc);
    if (status == CZR_OK)
        status = load(out);
    for (int i = 0; i < program->program->n_stages && status == CZR_OK; i++)
        status = prepare_stage(out, i);
    out->nvrtc = NULL;
    if (status != CZR_OK)
        czr_cuda_stages_close(out);
    return status;
}

void czr_cuda_stages_close(czr_cuda_stages *stages)
{
    czr_cuda_products_close(stages);
    czr_module_close(&stages->module);
    free(stages->kernels);
    stages->kernels = NULL;
}
