/* Opening the GPU of a run. */
#define _DEFAULT_SOURCE
#include "frontend/run/run.h"

#include "runtime/cuda/driver/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void warn(void *user, const char *message)
{
    (void)user;
    fprintf(stderr, "canzona run: warning: %s\n", message);
}

static bool refuse(cz_diags *diags, const char *sentence)
{
    cz_diag_error(diags, CZ_NO_GPU, (cz_span){0}, "%s", sentence);
    return false;
}

/* The `turn`-th process on a GPU.  NCCL takes processes with other names for
 * such of other hosts (getHostHash in its utils.cc). */
static void name_host(int turn)
{
    char host[64] = "host", name[96];

    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s, turn %d", host, turn);
    setenv("NCCL_HOSTID", name, 0);
}

static bool open_device(cz_diags *diags, int number, cz_run_gpu *gpu)
{
    char message[CZR_DRIVER_MESSAGE];
    int n = 1;
    czr_status status = czr_driver_open(NULL, &gpu->driver, message);

    if (status == CZR_OK && number > 0 && !gpu->driver->init(0) &&
        !gpu->driver->device_count(&n) && n > 0 && number >= n)
        name_host(number / n);
    if (status == CZR_OK)
        status = czr_context_open(gpu->driver, number % (n > 0 ? n : 1),
                                  &gpu->context, message);
    return status == CZR_OK || refuse(diags, message);
}

/* PTX is written for the oldest target. */
static const char *target_of(const czr_context *context)
{
    return czr_target_is_ptx(context)
               ? "sm_80"
               : strchr(czr_target_arch(context), '=') + 1;
}

static bool is_target(const char *target, cz_diags *diags,
                      const cz_run_gpu *gpu)
{
    const czr_context *context = gpu->context;

    if (strcmp(target_of(context), target) == 0)
        return true;
    cz_diag_error(diags, CZ_NO_GPU, (cz_span){0},
                  "the GPU, %s of compute capability %d.%d, runs no code of %s",
                  context->name, context->major, context->minor, target);
    cz_diag_note(diags, (cz_span){0}, "try --target=%s", target_of(context));
    return false;
}

static bool open_compiler(cz_diags *diags, cz_run_gpu *gpu)
{
    char message[CZR_NVRTC_MESSAGE];

    const bool is_12 = gpu->driver->version / 1000 == 12;
    czr_nvrtc_status status =
        czr_nvrtc_open(is_12 ? "libnvrtc.so.12" : NULL, &gpu->nvrtc, message);

    if (is_12 && status == CZR_NVRTC_MISSING)
        status = czr_nvrtc_open(NULL, &gpu->nvrtc, message);
    switch (status) {
    case CZR_NVRTC_OK:
        return true;
    case CZR_NVRTC_MISSING:
    case CZR_NVRTC_REFUSED:
        refuse(diags, message);
        cz_diag_note(diags, (cz_span){0},
                     "it is part of the CUDA toolkit; LD_LIBRARY_PATH names a "
                     "folder that has it");
        return false;
    case CZR_NVRTC_NO_MEMORY:
        break;
    }
    return refuse(diags, "no memory");
}

bool cz_run_gpu_open(const char *target, int number, cz_diags *diags,
                     cz_run_gpu *out)
{
    const czr_cache_options kept = {.warn = warn};

    *out = (cz_run_gpu){0};
    bool ok = open_device(diags, number, out) &&
              is_target(target, diags, out) && open_compiler(diags, out);
    if (ok) {
        out->cache = czr_cache_open(&kept);
        ok = czr_context_open_stream(out->context, &out->copier) == CZR_OK ||
             refuse(diags, out->context->error);
    }
    if (!ok)
        cz_run_gpu_close(out);
    return ok;
}

void cz_run_gpu_close(cz_run_gpu *gpu)
{
    if (gpu->copier)
        czr_context_close_stream(gpu->context, gpu->copier);
    czr_cache_close(gpu->cache);
    czr_nvrtc_close(gpu->nvrtc);
    czr_context_close(gpu->context);
    czr_driver_close(gpu->driver);
    free(gpu->buffer);
    *gpu = (cz_run_gpu){0};
}

unsigned char *cz_run_gpu_buffer(cz_run_gpu *gpu, size_t bytes)
{
    if (gpu->buffer && bytes <= gpu->buffer_bytes)
        return gpu->buffer;
    free(gpu->buffer);
    gpu->buffer = malloc(bytes + 1);
    gpu->buffer_bytes = gpu->buffer ? bytes : 0;
    return gpu->buffer;
}

czr_status cz_run_gpu_copy(cz_run_gpu *gpu, void *to, const void *from,
                           size_t bytes)
{
    czr_status status;

    if (!bytes)
        return CZR_OK;
    status = czr_context_copy(gpu->context, czr_address_of(to),
                              czr_address_of(from), bytes, gpu->copier);
    return status == CZR_OK
               ? czr_context_synchronize(gpu->context, gpu->copier, 0)
               : status;
}
