/* A library with the functions of NVRTC that we call, so that what stands on it
 * is tested where there is none: the "cubin" of a text is what a function says
 * that is linked with it, and one that begins with "error" is refused. */
#include "tests/cuda/fake_nvrtc.h"

#include <stdlib.h>
#include <string.h>

typedef struct program {
    char *text;
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
    *major = 12;
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

int nvrtcCompileProgram(program *p, int n, const char *const *options)
{
    (void)n;
    (void)options;
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
    (void)p;
    *n = 0;
    return 0;
}

int nvrtcGetPTX(program *p, char *to)
{
    (void)p;
    (void)to;
    return 1;
}

int nvrtcGetCUBINSize(program *p, size_t *n)
{
    *n = strlen(p->text);
    return 0;
}

int nvrtcGetCUBIN(program *p, char *to)
{
    memcpy(to, p->text, strlen(p->text));
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
