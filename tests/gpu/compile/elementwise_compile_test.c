/* Compiles generated element-wise kernels and the engine's own by NVRTC for
 * sm_80 and sm_90a: none has a variable in local memory or more registers than
 * let two blocks of 256 threads share a multiprocessor.
 *
 * elementwise_compile_test NVRTC OTHER [-DNAME=VALUE | FILE]...: of the two
 * NVRTCs the first that opens; exit status 77 without any: skipped.  Files are
 * compiled with what is defined before them, at most MAX_DEFINITIONS. */
#include "tests/gpu/compile/compiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGISTERS = 128, LARGE = 64, N_OPTIONS = 5, MAX_DEFINITIONS = 2 };

static const char *definitions[MAX_DEFINITIONS];
static int n_definitions;

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
    const char *options[N_OPTIONS + MAX_DEFINITIONS] = {
        arch, "-default-device", "-fmad=false", "-Xptxas", "-v"};
    czr_nvrtc_code code;

    memcpy(options + N_OPTIONS, definitions, sizeof definitions);
    const czr_nvrtc_status status = czr_nvrtc_compile(
        nvrtc, source, options, N_OPTIONS + n_definitions, &code);
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

/* The text is freed. */
static bool compile_for_both(czr_nvrtc *nvrtc, char *text, const char *path)
{
    bool is_right = compile(nvrtc, text, path, "-arch=sm_80");

    is_right &= compile(nvrtc, text, path, "-arch=sm_90a");
    free(text);
    return is_right;
}

int main(int argc, char **argv)
{
    czr_nvrtc *nvrtc;
    bool is_right;

    if (argc < 4)
        return 2;
    nvrtc = compiling_open(argv + 1, 2);
    if (!nvrtc) {
        printf("skipped\n");
        return COMPILING_SKIPPED;
    }
    is_right = notices_frames(nvrtc);
    is_right &= compile_for_both(
        nvrtc, compiling_text(CZR_SOURCE_COLLECT, "", ""), "the engine's own");
    is_right &= compile_for_both(
        nvrtc, compiling_text(CZR_SOURCE_FACTOR, "", ""), "beside cuSOLVER");
    for (int f = 3; f < argc; f++) {
        if (argv[f][0] == '-' && n_definitions < MAX_DEFINITIONS) {
            definitions[n_definitions++] = argv[f];
            continue;
        }
        char *generated = compiling_read(argv[f]);
        is_right &= compile_for_both(
            nvrtc, compiling_text(CZR_SOURCE_ELEMENTWISE, "", generated),
            argv[f]);
        free(generated);
    }
    czr_nvrtc_close(nvrtc);
    return is_right ? 0 : 1;
}
