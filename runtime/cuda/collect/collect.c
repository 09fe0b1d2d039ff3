/* The kernels of collect_*.cu and pack.cu, compiled together, and how they are
 * launched. */
#include "runtime/cuda/collect/internal.h"

#include "runtime/cuda/driver/source.h"
#include "runtime/cuda/driver/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks that a multiprocessor has at once, at most. */
enum { BLOCKS_AT_ONCE = 8 };

static czr_status compile(const czr_context *context, czr_nvrtc *nvrtc,
                          czr_cache *cache, czr_nvrtc_code *code,
                          char message[CZR_DRIVER_MESSAGE])
{
    const char *const options[] = {czr_target_arch(context), "-default-device",
                                   "-fmad=false"};
    char *text = czr_source_make(CZR_SOURCE_COLLECT, "", "");
    const czr_cache_source source = {
        .name = "collect", .text = text, .options = options, .n_options = 3};

    if (!text) {
        snprintf(message, CZR_DRIVER_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    const czr_nvrtc_status status =
        nvrtc ? czr_cache_compile(cache, nvrtc, &source, code, NULL)
              : CZR_NVRTC_MISSING;
    free(text);
    if (status == CZR_NVRTC_OK)
        return CZR_OK;
    snprintf(message, CZR_DRIVER_MESSAGE,
             "compiling the engine's kernels for %s: %.180s", options[0],
             code->log                       ? code->log
             : status == CZR_NVRTC_NO_MEMORY ? "no memory"
                                             : "there is no NVRTC");
    return status == CZR_NVRTC_NO_MEMORY ? CZR_ERR_NO_MEMORY
                                         : CZR_ERR_DEVICE_CODE;
}

static czr_status load(czr_collect *collect, const czr_nvrtc_code *code)
{
    static const char *const names[] = {
#define CZR_COLLECT_KERNEL(name) "collect_" #name,
        CZR_COLLECT_KERNELS(CZR_COLLECT_KERNEL)
#undef CZR_COLLECT_KERNEL
    };
    czr_status status =
        czr_module_open(collect->context, code->bytes, "the engine's kernels",
                        &collect->module);

    for (int i = 0; i < CZR_COLLECT_N_KERNELS && status == CZR_OK; i++)
        status = czr_module_find(&collect->module, names[i], 0,
                                 &collect->kernels[i]);
    return status;
}

czr_status czr_collect_open(czr_context *context, czr_nvrtc *nvrtc,
                            czr_cache *cache, czr_collect **out,
                            char message[CZR_DRIVER_MESSAGE])
{
    czr_collect *collect = calloc(1, sizeof *collect);
    czr_nvrtc_code code = {0};

    *out = NULL;
    message[0] = '\0';
    if (!collect) {
        snprintf(message, CZR_DRIVER_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    collect->context = context;
    collect->module.context = context;
    collect->most_blocks = (uint64_t)context->n_processors * BLOCKS_AT_ONCE;
    czr_status status = czr_target_check(context, nvrtc);
    if (status == CZR_OK)
        status = compile(context, nvrtc, cache, &code, message);
    if (status == CZR_OK)
        status = load(collect, &code);
    if (status != CZR_OK && !*message)
        snprintf(message, CZR_DRIVER_MESSAGE, "%s", context->error);
    czr_nvrtc_code_fini(&code);
    if (status != CZR_OK) {
        czr_collect_close(collect);
        return status;
    }
    *out = collect;
    return CZR_OK;
}

void czr_collect_close(czr_collect *collect)
{
    if (!collect)
        return;
    czr_module_close(&collect->module);
    free(collect);
}

czr_status czr_collect_put(czr_collect *collect, czr_collect_work work,
                           void **arguments, void *stream)
{
    const uint64_t n = work.n_blocks < collect->most_blocks
                           ? work.n_blocks
                           : collect->most_blocks;
    const czr_launch launch = {.grid = {(unsigned)n, 1, 1},
                               .block = {work.n_threads, 1, 1}};

    return n == 0 ? CZR_OK
                  : czr_module_launch(collect->context,
                                      collect->kernels[work.kernel], &launch,
                                      arguments, stream);
}
