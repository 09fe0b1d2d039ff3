/* Compiles generated element-wise kernels by NVRTC for sm_80 and sm_90a: none
 * has a variable in local memory or more registers than let two blocks of 256
 * threads share a multiprocessor.
 *
 * elementwise_compile_test FOLDER NVRTC OTHER FILE...: of the two NVRTCs the
 * first that opens; exit status 77 without any: skipped. */
#include "runtime/cuda/nvrtc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MAX_TEXT = 1 << 22, MAX_REGISTERS = 128, LARGE = 64 };

static const char *const headers[] = {"device.cuh", "global.cuh",
                                      "elementwise.cuh"};

typedef struct text {
    char *bytes;
    size_t n;
} text;

static void append(text *to, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        exit(1);
    }
    to->n += fread(to->bytes + to->n, 1, MAX_TEXT - 1 - to->n, file);
    to->bytes[to->n] = '\0';
    fclose(file);
}

/* What ptxas says of all kernels, read from its log. */
typedef struct figures {
    int n_kernels, registers;
    int n_large; /* kernels with more than LARGE registers */
    bool has_frame;
} figures;

static figures read_log(const char *log)
{
    figures f = {0};

    for (const char *at = log; (at = strstr(at, "Used ")); at++) {
        const int registers = atoi(at + strlen("Used "));
        f.n_kernels++;
        f.n_large += registers > LARGE;
        if (registers > f.registers)
            f.registers = registers;
    }
    for (const char *at = log; (at = strstr(at, " bytes stack frame")); at++)
        f.has_frame |= at == log || at[-1] != '0' || at[-2] != ' ';
    return f;
}

/* Kernels of a text, each `extern "C" __global__`. */
static int count_kernels(const char *source)
{
    int n = 0;

    for (const char *at = source; (at = strstr(at, "extern \"C\" __global__"));
         at++)
        n++;
    return n;
}

static bool compile(czr_nvrtc *nvrtc, const char *source, const char *path,
                    const char *arch)
{
    const char *const options[] = {arch, "-default-device", "-fmad=false",
                                   "-Xptxas", "-v"};
    czr_nvrtc_code code;
    const czr_nvrtc_status status = czr_nvrtc_compile(
        nvrtc, source, options, sizeof options / sizeof *options, &code);
    const figures f = read_log(code.log ? code.log : "");
    const bool is_right = status == CZR_NVRTC_OK &&
                          f.n_kernels == count_kernels(source) &&
                          !f.has_frame && f.registers <= MAX_REGISTERS;

    printf("%s, %s: %d kernels, at most %d registers, %d above %d, %s\n", path,
           arch, f.n_kernels, f.registers, f.n_large, LARGE,
           f.has_frame ? "with local memory" : "no local memory");
    if (status != CZR_NVRTC_OK)
        printf("%s\n", code.log ? code.log : "");
    czr_nvrtc_code_fini(&code);
    return is_right;
}

/* A kernel with a local array that is reached by a number must be noticed. */
static bool notices_frames(czr_nvrtc *nvrtc)
{
    static const char planted[] =
        "extern \"C\" __global__ void kernel(int *p) {\n"
        "int a[64];\n"
        "for (int i = 0; i < 64; i++) a[p[i] & 63] = i;\n"
        "*p = a[p[64] & 63]; }\n";

    return !compile(nvrtc, planted, "planted", "-arch=sm_80");
}

/* The runtime's texts and a generated one behind each other. */
static void read_source(text *source, const char *folder, const char *path)
{
    char header[4096];

    source->n = 0;
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
        snprintf(header, sizeof header, "%s/%s", folder, headers[h]);
        append(source, header);
    }
    append(source, path);
}

int main(int argc, char **argv)
{
    char message[CZR_NVRTC_MESSAGE];
    text source = {malloc(MAX_TEXT), 0};
    czr_nvrtc *nvrtc = NULL;
    bool is_right;

    if (argc < 5 || !source.bytes)
        return 2;
    for (int i = 2; i < 4 && !nvrtc; i++)
        if (czr_nvrtc_open(argv[i], &nvrtc, message) != CZR_NVRTC_OK)
            printf("%s\n", message);
    if (!nvrtc) {
        printf("skipped\n");
        return SKIPPED;
    }
    is_right = notices_frames(nvrtc);
    for (int f = 4; f < argc; f++) {
        read_source(&source, argv[1], argv[f]);
        is_right &= compile(nvrtc, source.bytes, argv[f], "-arch=sm_80");
        is_right &= compile(nvrtc, source.bytes, argv[f], "-arch=sm_90a");
    }
    czr_nvrtc_close(nvrtc);
    free(source.bytes);
    return is_right ? 0 : 1;
}
