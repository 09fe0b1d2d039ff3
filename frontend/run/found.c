/* What this build was made with, and what it finds on this machine. */
#include "frontend/run/mpi.h"
#include "frontend/run/run.h"

#include <string.h>

#include "runtime/cuda/driver/driver.h"
#include "runtime/math/library.h"

enum { WHY_BYTES = 512, THOUSAND = 1000, TEN = 10 };

static void print_driver(FILE *out)
{
    char why[CZR_DRIVER_MESSAGE] = "";
    czr_driver *driver;

    if (czr_driver_open(NULL, &driver, why) != CZR_OK) {
        fprintf(out, "CUDA driver  none: %s\n", why);
        return;
    }
    fprintf(out, "CUDA driver  of CUDA %d.%d\n", driver->version / THOUSAND,
            driver->version % THOUSAND / TEN);
    czr_driver_close(driver);
}

static void print_nvrtc(FILE *out)
{
    char why[CZR_NVRTC_MESSAGE] = "";
    czr_nvrtc *nvrtc;
    int major, minor;

    if (czr_nvrtc_open(NULL, &nvrtc, why) != CZR_NVRTC_OK) {
        fprintf(out, "NVRTC        none: %s\n", why);
        return;
    }
    czr_nvrtc_version(nvrtc, &major, &minor);
    fprintf(out, "NVRTC        %d.%d\n", major, minor);
    czr_nvrtc_close(nvrtc);
}

void cz_found_print(FILE *out)
{
    char said[WHY_BYTES];

    fprintf(out, "compiled by  %s\n", CANZONA_COMPILER);
    fprintf(out, "LLVM, MLIR   %s, linked\n", CANZONA_LLVM_VERSION);
    czr_library_describe_cblas(said, sizeof said);
    fprintf(out, "BLAS         %s\n", said);
    czr_library_describe_dnnl(said, sizeof said);
    fprintf(out, "oneDNN       %s\n", said);
    cz_mpi_describe(said, sizeof said);
    fprintf(out, "MPI          %s\n", said);
    print_driver(out);
    print_nvrtc(out);
}
