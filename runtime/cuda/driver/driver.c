/* The CUDA driver by dlopen: all functions found at once, its version checked
 * before anything is called that an old one may lack. */
#include "runtime/cuda/driver/driver.h"

#include "runtime/cuda/library/dynamic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Where each function goes. */
static const czr_dynamic_symbol functions[] = {
#define CZR_CALL(symbol, name, arguments) {#symbol, offsetof(czr_driver, name)},
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
};

static const struct {
    int code;
    czr_status status;
} statuses[] = {
    {CZR_CUDA_SUCCESS, CZR_OK},
    {CZR_CUDA_OUT_OF_MEMORY, CZR_ERR_NO_MEMORY},
    {CZR_CUDA_NOT_INITIALIZED, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_STUB_LIBRARY, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_CALL_REQUIRES_NEWER_DRIVER, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_DEVICE_UNAVAILABLE, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_NO_DEVICE, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_INVALID_DEVICE, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_SYSTEM_NOT_READY, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_SYSTEM_DRIVER_MISMATCH, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE, CZR_ERR_NO_DEVICE},
    {CZR_CUDA_INVALID_IMAGE, CZR_ERR_DEVICE_CODE},
    {CZR_CUDA_NO_BINARY_FOR_GPU, CZR_ERR_DEVICE_CODE},
    {CZR_CUDA_INVALID_PTX, CZR_ERR_DEVICE_CODE},
    {CZR_CUDA_JIT_COMPILER_NOT_FOUND, CZR_ERR_DEVICE_CODE},
    {CZR_CUDA_UNSUPPORTED_PTX_VERSION, CZR_ERR_DEVICE_CODE},
    {CZR_CUDA_NOT_FOUND, CZR_ERR_DEVICE_CODE},
};

czr_status czr_driver_status(int code)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return CZR_ERR_DEVICE;
}

const char *czr_driver_text(const czr_driver *driver, int code)
{
    const char *text = NULL;

    return driver->error_string(code, &text) || !text ? "unknown error" : text;
}

static czr_status lacks(const char *symbol, char *message)
{
    snprintf(message, CZR_DRIVER_MESSAGE, "the CUDA driver lacks %s", symbol);
    return CZR_ERR_NO_DEVICE;
}

/* Asked first, for an old driver lacks functions as well. */
static czr_status check_version(czr_driver *driver, char *message)
{
    static const char symbol[] = "cuDriverGetVersion";
    int (*ask)(int *) = NULL;
    void *found = dlsym(driver->library, symbol);

    if (!found)
        return lacks(symbol, message);
    memcpy(&ask, &found, sizeof found);
    if (ask(&driver->version)) {
        snprintf(message, CZR_DRIVER_MESSAGE,
                 "the CUDA driver does not tell its version");
        return CZR_ERR_NO_DEVICE;
    }
    if (driver->version >= CZR_DRIVER_VERSION)
        return CZR_OK;
    snprintf(message, CZR_DRIVER_MESSAGE,
             "the CUDA driver knows CUDA %d.%d: one for %d.%d or later is "
             "needed (525.60.13 on Linux)",
             driver->version / 1000, driver->version % 1000 / 10,
             CZR_DRIVER_VERSION / 1000, CZR_DRIVER_VERSION % 1000 / 10);
    return CZR_ERR_NO_DEVICE;
}

static void find_newer(czr_driver *driver)
{
    void *found = dlsym(driver->library, "cuFuncLoad");

    memcpy(&driver->function_load, &found, sizeof found);
}

static czr_status start(czr_driver *driver, char *message)
{
    if (!driver->library) {
        const char *why = dlerror();
        snprintf(message, CZR_DRIVER_MESSAGE,
                 "the CUDA driver is not there: %s", why ? why : "no reason");
        return CZR_ERR_NO_DEVICE;
    }
    const czr_status status = check_version(driver, message);
    if (status != CZR_OK)
        return status;
    const char *missing = czr_dynamic_find(driver->library, functions,
                                           CZR_N_SYMBOLS(functions), driver);
    if (missing)
        return lacks(missing, message);
    find_newer(driver);
    const int code = driver->init(0);
    if (code)
        snprintf(message, CZR_DRIVER_MESSAGE,
                 "the CUDA driver does not start: %s (cuInit, %d)",
                 czr_driver_text(driver, code), code);
    return czr_driver_status(code);
}

czr_status czr_driver_open(const char *path, czr_driver **out,
                           char message[CZR_DRIVER_MESSAGE])
{
    czr_driver *driver = calloc(1, sizeof *driver);

    *out = NULL;
    message[0] = '\0';
    if (!driver) {
        snprintf(message, CZR_DRIVER_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    /* Its threads and its exit handlers outlive us: it stays mapped. */
    driver->library = dlopen(path ? path : "libcuda.so.1",
                             RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const czr_status status = start(driver, message);
    if (status != CZR_OK) {
        czr_driver_close(driver);
        return status;
    }
    *out = driver;
    return CZR_OK;
}

void czr_driver_close(czr_driver *driver)
{
    if (!driver)
        return;
    if (driver->library)
        dlclose(driver->library);
    free(driver);
}
