/* A library with the functions of NVRTC that we call, so that what stands on it
 * is tested where there is none: the "cubin" of a text is what a function says
 * that is linked with it, and one that begins with "error" is refused. */
#include "tests/gpu/compile/fake_nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    char *text;
    int is_ptx;
} program;

/* How many texts were compiled. */
extern int fake_nvrtc_compiled;
int fake_nvrtc_compiled;

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(program **p, const char *text, const char *name, int n,
                       const char *const *headers, const char *const *names);
int nvrtcCompileProgram(program *p, int n, const char *const *options);
int nvrtcDestroyProgram(program **p);
int nvrtcGetPTXSize(program *p, size_t *n);
int nvrtcGetPTX(program *p, char *to);
int nvrtcGetCUBINSize(program *p, size_t *n);
int nvrtcGetCUBIN(program *p, char *to);
int nvrtcGetProgramLogSize(program *p, size_t *n);
int nvrtcGetProgramLog(program *p, char *to);

int nvrtcVersion(int *major, int *minor)
{
    const char *other = getenv("FAKE_NVRTC_MAJOR");

    *major = other ? atoi(other) : 12;
    *minor = 9;
    return 0;
}

int nvrtcCreateProgram(program **p, const char *text, const char *name, int n,
                       const char *const *headers, const char *const *names)
{
    (void)name;
    (void)n;
    (void)headers;
    (void)names;
    *p = calloc(1, sizeof **p);
    if (*p)
        (*p)->text = fake_nvrtc_code(text);
    return !*p || !(*p)->text;
}

/* Code of the double of the driver says what it is for, and machine code that
 * is not of CUDA 12 whose it is. */
static int aim(program *p, const char *target)
{
    enum { MOST_DIGITS = 16 };
    static const char first[] = "FAKE sm_90\n";
    const size_t n = strlen(first);
    const char *major = p->is_ptx ? NULL : getenv("FAKE_NVRTC_CODE_MAJOR");
    char *text;

    if (strncmp(p->text, first, n) != 0)
        return 0;
    text = malloc(strlen(p->text) + strlen(target) + MOST_DIGITS);
    if (!text)
        return 1;
    sprintf(text, "FAKE %s%s%.2s\n%s", target, major ? " " : "",
            major ? major : "", p->text + n);
    free(p->text);
    p->text = text;
    return 0;
}

int nvrtcCompileProgram(program *p, int n, const char *const *options)
{
    static const char arch[] = "-arch=", ptx[] = "compute_";

    for (int i = 0; i < n; i++) {
        if (strncmp(options[i], arch, strlen(arch)) != 0)
            continue;
        const char *target = options[i] + strlen(arch);
        p->is_ptx = !strncmp(target, ptx, strlen(ptx));
        if (aim(p, target))
            return 1;
    }
    fake_nvrtc_compiled++;
    return !strncmp(p->text, "error", strlen("error"));
}

int nvrtcDestroyProgram(program **p)
{
    free((*p)->text);
    free(*p);
    *p = NULL;
    return 0;
}

int nvrtcGetPTXSize(program *p, size_t *n)
{
    *n = p->is_ptx ? strlen(p->text) + 1 : 0;
    return 0;
}

int nvrtcGetPTX(program *p, char *to)
{
    if (p->is_ptx)
        strcpy(to, p->text);
    return !p->is_ptx;
}

/* The double of the driver reads to the final zero, also what was kept. */
static size_t code_size(const program *p)
{
    return strlen(p->text) + !strncmp(p->text, "FAKE ", strlen("FAKE "));
}

int nvrtcGetCUBINSize(program *p, size_t *n)
{
    *n = p->is_ptx ? 0 : code_size(p);
    return 0;
}

int nvrtcGetCUBIN(program *p, char *to)
{
    memcpy(to, p->text, code_size(p));
    return 0;
}

int nvrtcGetProgramLogSize(program *p, size_t *n)
{
    (void)p;
    *n = 1;
    return 0;
}

int nvrtcGetProgramLog(program *p, char *to)
{
    (void)p;
    *to = '\0';
    return 0;
}
