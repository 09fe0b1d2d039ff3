/* What doubles of libraries have in common: a handle with one kernel of the
 * double of the driver. */
#ifndef TESTS_LIBRARY_KERNEL_H
#define TESTS_LIBRARY_KERNEL_H

#include "runtime/cuda/driver/driver.h"

#include <stdlib.h>

#define CZR_CALL(symbol, name, arguments) int symbol arguments;
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
int cuFuncLoad(void *function);

typedef struct handle {
    void *library, *kernel, *stream;
} handle;

static inline void close_handle(handle *h)
{
    if (h && h->library)
        cuLibraryUnload(h->library);
    free(h);
}

/* Of this machine code (fake_module.c); NULL: a call of the driver failed. */
static inline handle *open_handle(const char *code, const char *kernel)
{
    handle *h = calloc(1, sizeof *h);

    if (h &&
        cuLibraryLoadData(&h->library, code, NULL, NULL, 0, NULL, NULL, 0) ==
            0 &&
        cuLibraryGetKernel(&h->kernel, h->library, kernel) == 0 &&
        cuFuncLoad(h->kernel) == 0)
        return h;
    close_handle(h);
    return NULL;
}

static inline int launch_kernel(const handle *h, unsigned threads,
                                void **arguments, void *stream)
{
    const czr_launch_config config = {
        .grid = {1, 1, 1}, .block = {threads, 1, 1}, .stream = stream};

    return cuLaunchKernelEx(&config, h->kernel, arguments, NULL);
}

#endif
