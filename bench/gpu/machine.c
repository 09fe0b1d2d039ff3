#include "bench/gpu/gpu.h"

#include <stdio.h>

bool gpu_is_ok(const gpu_machine *machine, czr_status status)
{
    if (status != CZR_OK)
        fprintf(stderr, "%s\n", machine->context->error);
    return status == CZR_OK;
}

static bool open_device(const gpu_paths *paths, gpu_machine *m)
{
    char message[CZR_DRIVER_MESSAGE];
    czr_status status = czr_driver_open(paths->driver, &m->driver, message);

    if (status == CZR_OK)
        status = czr_context_open(m->driver, 0, &m->context, message);
    if (status != CZR_OK) {
        fprintf(stderr, "%s\n", message);
        return false;
    }
    return gpu_is_ok(m, czr_context_open_stream(m->context, &m->stream));
}

bool gpu_open(const gpu_paths *paths, gpu_machine *out)
{
    char message[CZR_NVRTC_MESSAGE];

    *out =
        (gpu_machine){.cublaslt = paths->cublaslt, .codes = gpu_codes_open()};
    if (!out->codes || !open_device(paths, out)) {
        gpu_close(out);
        return false;
    }
    if (czr_nvrtc_open(paths->nvrtc, &out->nvrtc, message) != CZR_NVRTC_OK)
        fprintf(stderr, "%s\n", message);
    else
        out->cublas = gpu_cublas_open(paths->cublas, out->stream);
    if (!out->cublas)
        gpu_close(out);
    return out->cublas;
}

void gpu_close(gpu_machine *machine)
{
    gpu_cublas_close(machine->cublas);
    gpu_codes_close(machine->codes);
    czr_nvrtc_close(machine->nvrtc);
    if (machine->stream)
        czr_context_close_stream(machine->context, machine->stream);
    czr_context_close(machine->context);
    czr_driver_close(machine->driver);
    *machine = (gpu_machine){0};
}
