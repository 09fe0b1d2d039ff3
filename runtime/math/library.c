/* A CBLAS, opened at run time. */
#include "runtime/math/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* The enums of the CBLAS interface. */
enum {
    CBLAS_ROW_MAJOR = 101,
    CBLAS_NO_TRANSPOSE = 111,
    CBLAS_TRANSPOSE = 112,
    CBLAS_LOWER = 122
};

typedef void (*sgemm_function)(int order, int transpose_a, int transpose_b,
                               int m, int n, int k, float alpha, const float *a,
                               int a_stride, const float *b, int b_stride,
                               float beta, float *c, int c_stride);
typedef void (*ssyrk_function)(int order, int triangle, int transpose, int n,
                               int k, float alpha, const float *a, int a_stride,
                               float beta, float *c, int c_stride);
typedef void (*set_threads_function)(int n);

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    const char *name;
    sgemm_function sgemm;
    ssyrk_function ssyrk;
    set_threads_function set_threads;
    _Atomic int n_threads;
} cblas = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void open_cblas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4",
                                        "libcblas.so.3", "libblas.so.3"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *sgemm = library ? dlsym(library, "cblas_sgemm") : NULL;
        void *ssyrk = library ? dlsym(library, "cblas_ssyrk") : NULL;
        if (!sgemm || !ssyrk)
            continue;
        void *set_threads = dlsym(library, "openblas_set_num_threads");
        cblas.name = names[i];
        memcpy(&cblas.sgemm, &sgemm, sizeof sgemm);
        memcpy(&cblas.ssyrk, &ssyrk, sizeof ssyrk);
        memcpy(&cblas.set_threads, &set_threads, sizeof set_threads);
        return;
    }
}

void czr_library_set_threads(int n)
{
    pthread_once(&cblas.once, open_cblas);
    pthread_mutex_lock(&cblas.lock);
    if (cblas.set_threads && cblas.n_threads != n)
        cblas.set_threads(n);
    cblas.n_threads = n;
    pthread_mutex_unlock(&cblas.lock);
}

bool czr_library_has_cblas(void)
{
    pthread_once(&cblas.once, open_cblas);
    return cblas.sgemm != NULL;
}

void czr_library_describe_cblas(char *out, size_t n)
{
    snprintf(out, n, "%s",
             czr_library_has_cblas() ? cblas.name
                                     : "none: no OpenBLAS, BLIS or CBLAS");
}

static int transposition(const czr_operand *x)
{
    return x->is_transposed ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE;
}

void czr_library_sgemm(const czr_gemm *g)
{
    if (cblas.n_threads == 1 && czr_library_dnnl_sgemm(g))
        return;
    cblas.sgemm(CBLAS_ROW_MAJOR, transposition(&g->a), transposition(&g->b),
                (int)g->m, (int)g->n, (int)g->k, g->alpha, g->a.data,
                (int)g->a.stride, g->b.data, (int)g->b.stride, g->beta, g->c,
                (int)g->c_stride);
}

void czr_library_ssyrk(const czr_gemm *g)
{
    cblas.ssyrk(CBLAS_ROW_MAJOR, CBLAS_LOWER, transposition(&g->a), (int)g->m,
                (int)g->k, g->alpha, g->a.data, (int)g->a.stride, g->beta, g->c,
                (int)g->c_stride);
}
