#define _XOPEN_SOURCE 700
#include "tests/gpu/compile/compiling.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_TEXT = 1 << 22 };

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

char *compiling_text(czr_source_body body, const char *header, const char *end)
{
    char *text = czr_source_make(body, header, end);

    if (!text)
        exit(1);
    return text;
}

char *compiling_read(const char *path)
{
    char *text = calloc(1, MAX_TEXT);
    FILE *file = fopen(path, "rb");

    if (!file || !text) {
        perror(path);
        exit(1);
    }
    const size_t n = fread(text, 1, MAX_TEXT, file);
    fclose(file);
    if (n == MAX_TEXT) {
        fprintf(stderr, "%s: too long\n", path);
        exit(1);
    }
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
