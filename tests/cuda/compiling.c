#define _XOPEN_SOURCE 700
#include "tests/cuda/compiling.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_TEXT = 1 << 18, MAX_PATH = 4096 };

const char *const compiling_sm90[COMPILING_FILES] = {
    "device.cuh", "sm90.cuh", "wgmma.cuh", "product.cuh", "product_sm90.cu"};
const char *const compiling_sm80[COMPILING_FILES] = {
    "device.cuh", "sm80.cuh", "product.cuh", "product_sm80.cu"};

czr_nvrtc *compiling_open(char **paths, int n_paths)
{
    char message[CZR_NVRTC_MESSAGE];
    czr_nvrtc *nvrtc = NULL;

    for (int i = 0; i < n_paths && !nvrtc; i++)
        if (czr_nvrtc_open(paths[i], &nvrtc, message) == CZR_NVRTC_OK)
            printf("by %s\n", paths[i]);
        else
            printf("%s\n", message);
    return nvrtc;
}

char *compiling_read(const char *folder, const char *const *files)
{
    static char text[MAX_TEXT];
    size_t size = 0;

    for (int i = 0; i < COMPILING_FILES && files[i]; i++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *file = fopen(path, "rb");
        if (!file) {
            perror(path);
            exit(1);
        }
        size += fread(text + size, 1, sizeof text - 1 - size, file);
        fclose(file);
    }
    text[size] = '\0';
    return text;
}

bool compiling_make_folder(char folder[COMPILING_FOLDER])
{
    snprintf(folder, COMPILING_FOLDER, "%s", P_tmpdir "/czr-XXXXXX");
    return mkdtemp(folder);
}

static int remove_one(const char *path, const struct stat *s, int type,
                      struct FTW *at)
{
    (void)s;
    (void)type;
    (void)at;
    return remove(path);
}

void compiling_remove_folder(const char *folder)
{
    nftw(folder, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

double compiling_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
