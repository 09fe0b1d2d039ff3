/* stpcpy */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 8 };

/* In the order in which they stand. */
static const char *const files_of[CZR_N_SOURCE_BODIES][MAX_FILES] = {
    [CZR_SOURCE_PRODUCT_SM80] = {"device.cuh", "sm80.cuh", "product.cuh",
                                 "product_sm80.cu"},
    [CZR_SOURCE_PRODUCT_SM90] = {"device.cuh", "sm90.cuh", "wgmma.cuh",
                                 "product.cuh", "product_sm90.cu"},
    [CZR_SOURCE_ELEMENTWISE] = {"device.cuh", "global.cuh", "elementwise.cuh"},
    [CZR_SOURCE_PRODUCT_PLAIN] = {"device.cuh", "global.cuh", "elementwise.cuh",
                                  "product_plain.cu"},
    [CZR_SOURCE_FACTOR] = {"device.cuh", "global.cuh", "elementwise.cuh",
                           "factor.cu", "newton.cu"},
    [CZR_SOURCE_COLLECT] = {"device.cuh", "global.cuh", "elementwise.cuh",
                            "atomics.cuh", "collect_sum.cu", "collect_step.cu",
                            "collect_memory.cu", "pack.cu"},
};

static const czr_source_file *find(const char *name)
{
    const czr_source_file *file = czr_source_files;

    while (file->path &&
           strcmp(file->path + strlen("cuda/kernels/"), name) != 0)
        file++;
    assert(file->path);
    return file;
}

char *czr_source_make(czr_source_body body, const char *header, const char *end)
{
    const char *const *names = files_of[body];
    size_t n = strlen(header) + strlen(end) + 1;

    for (int i = 0; i < MAX_FILES && names[i]; i++)
        n += find(names[i])->n;
    char *text = malloc(n);
    if (!text)
        return NULL;
    char *at = stpcpy(text, header);
    for (int i = 0; i < MAX_FILES && names[i]; i++)
        at = stpcpy(at, find(names[i])->text);
    stpcpy(at, end);
    return text;
}

const char *czr_source_watchdog(void)
{
    static const char watch[] = "#define WAIT_LIMIT 2000000000\n";
#ifdef CZR_CUDA_DEBUG
    return watch;
#else
    const char *asked = getenv("CZR_CUDA_DEBUG");

    return asked && *asked && strcmp(asked, "0") != 0 ? watch : "";
#endif
}
