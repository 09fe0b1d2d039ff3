/* NVRTC by dlopen, its prototypes declared here: no header of CUDA is needed.
 */
#include "runtime/cuda/library/nvrtc.h"

#include "runtime/cuda/library/dynamic.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct czr_nvrtc {
    void *library;
#define CZR_NVRTC_CALL(symbol, name, arguments) int(*name) arguments;
#include "runtime/cuda/library/nvrtc_calls.def"
#undef CZR_NVRTC_CALL
};

/* Where each function goes. */
static const czr_dynamic_symbol functions[] = {
#define CZR_NVRTC_CALL(symbol, name, arguments)                                \
    {#symbol, offsetof(czr_nvrtc, name)},
#include "runtime/cuda/library/nvrtc_calls.def"
#undef CZR_NVRTC_CALL
};

static const char *const libraries[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so"};

/* Fills the message where something is wrong. */
static int is_usable(czr_nvrtc *nvrtc, char message[CZR_NVRTC_MESSAGE])
{
    int major = 0, minor = 0;

    if (!nvrtc->library) {
        snprintf(message, CZR_NVRTC_MESSAGE, "NVRTC is not there: %s",
                 dlerror());
        return 0;
    }
    const char *missing = czr_dynamic_find(nvrtc->library, functions,
                                           CZR_N_SYMBOLS(functions), nvrtc);
    if (missing) {
        snprintf(message, CZR_NVRTC_MESSAGE, "NVRTC lacks %s", missing);
        return 0;
    }
    if (nvrtc->version(&major, &minor) || major < CZR_NVRTC_MAJOR ||
        (major == CZR_NVRTC_MAJOR && minor < CZR_NVRTC_MINOR)) {
        snprintf(message, CZR_NVRTC_MESSAGE,
                 "NVRTC %d.%d is too old: %d.%d or later is needed", major,
                 minor, CZR_NVRTC_MAJOR, CZR_NVRTC_MINOR);
        return 0;
    }
    return 1;
}

czr_nvrtc_status czr_nvrtc_open(const char *path, czr_nvrtc **out,
                                char message[CZR_NVRTC_MESSAGE])
{
    czr_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);

    *out = NULL;
    message[0] = '\0';
    if (!nvrtc)
        return CZR_NVRTC_NO_MEMORY;
    nvrtc->library =
        czr_dynamic_open(path, libraries, CZR_N_SYMBOLS(libraries));
    if (!is_usable(nvrtc, message)) {
        czr_nvrtc_close(nvrtc);
        return CZR_NVRTC_MISSING;
    }
    *out = nvrtc;
    return CZR_NVRTC_OK;
}

void czr_nvrtc_close(czr_nvrtc *nvrtc)
{
    if (!nvrtc)
        return;
    if (nvrtc->library)
        dlclose(nvrtc->library);
    free(nvrtc);
}

void czr_nvrtc_version(const czr_nvrtc *nvrtc, int *major, int *minor)
{
    /* It answered when it was opened. */
    *major = *minor = 0;
    nvrtc->version(major, minor);
}

/* One of the results that have a size: NULL without memory or result. */
static char *get(void *program, int (*size_of)(void *, size_t *),
                 int (*copy)(void *, char *), size_t *size)
{
    *size = 0;
    if (size_of(program, size))
        return NULL;
    /* Room for a zero that logs of older versions may lack. */
    char *bytes = *size < SIZE_MAX ? calloc(*size + 1, 1) : NULL;
    if (bytes && *size && copy(program, bytes)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static czr_nvrtc_status fetch(const czr_nvrtc *nvrtc, void *program,
                              int is_refused, czr_nvrtc_code *code)
{
    size_t log_size;

    code->log = get(program, nvrtc->log_size, nvrtc->log, &log_size);
    if (!code->log)
        return CZR_NVRTC_NO_MEMORY;
    if (is_refused)
        return CZR_NVRTC_REFUSED;
    code->bytes = (unsigned char *)get(program, nvrtc->cubin_size, nvrtc->cubin,
                                       &code->n_bytes);
    if (code->bytes && code->n_bytes)
        return CZR_NVRTC_OK;
    free(code->bytes);
    code->bytes = (unsigned char *)get(program, nvrtc->ptx_size, nvrtc->ptx,
                                       &code->n_bytes);
    return code->bytes ? CZR_NVRTC_OK : CZR_NVRTC_NO_MEMORY;
}

czr_nvrtc_status czr_nvrtc_compile(czr_nvrtc *nvrtc, const char *source,
                                   const char *const *options, int n_options,
                                   czr_nvrtc_code *code)
{
    void *program = NULL;

    memset(code, 0, sizeof *code);
    if (nvrtc->create(&program, source, NULL, 0, NULL, NULL))
        return CZR_NVRTC_NO_MEMORY;
    const int is_refused = nvrtc->compile(program, n_options, options) != 0;
    const czr_nvrtc_status status = fetch(nvrtc, program, is_refused, code);
    nvrtc->destroy(&program);
    if (status != CZR_NVRTC_OK && status != CZR_NVRTC_REFUSED)
        czr_nvrtc_code_fini(code);
    return status;
}

void czr_nvrtc_code_fini(czr_nvrtc_code *code)
{
    free(code->bytes);
    free(code->log);
    memset(code, 0, sizeof *code);
}
