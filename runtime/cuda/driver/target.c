#include "runtime/cuda/driver/target.h"

#include <stdio.h>

bool czr_target_is_ptx(const czr_context *context)
{
    return context->major > 9 || (context->major == 9 && context->minor > 0);
}

const char *czr_target_arch(const czr_context *context)
{
    if (czr_target_is_ptx(context))
        return "-arch=compute_80";
    return context->major == 9 ? "-arch=sm_90a" : "-arch=sm_80";
}

czr_status czr_target_check(czr_context *context, const czr_nvrtc *nvrtc)
{
    const int version = context->driver->version;
    int major = 0, minor = 0;

    if (!nvrtc)
        return CZR_OK;
    czr_nvrtc_version(nvrtc, &major, &minor);
    if (!czr_target_is_ptx(context) && version / 1000 < major)
        return czr_context_check(
            context, CZR_CUDA_NO_BINARY_FOR_GPU,
            "%s takes machine code of NVRTC %d.%d, which a driver for CUDA %d "
            "or later loads, and this one is for %d.%d: libnvrtc.so.%d serves",
            context->name, major, minor, major, version / 1000,
            version % 1000 / 10, version / 1000);
    if (!czr_target_is_ptx(context) || version >= 1000 * major + 10 * minor)
        return CZR_OK;
    return czr_context_check(
        context, CZR_CUDA_UNSUPPORTED_PTX_VERSION,
        "%s (sm_%d%d) takes PTX of NVRTC %d.%d, which a driver for CUDA %d.%d "
        "or later reads, and this one is for %d.%d",
        context->name, context->major, context->minor, major, minor, major,
        minor, version / 1000, version % 1000 / 10);
}

void czr_target_describe(const czr_context *context, char line[CZR_TARGET_LINE])
{
    line[0] = '\0';
    if (czr_target_is_ptx(context))
        snprintf(line, CZR_TARGET_LINE,
                 "%s (sm_%d%d) is newer than our machine code: PTX of "
                 "compute_80, compiled by its driver",
                 context->name, context->major, context->minor);
}
