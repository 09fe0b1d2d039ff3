/* A LAPACK, opened at run time: that of the CBLAS's library where it has one.
 * Fortran's conventions end here: columns first, all by address, lengths of
 * strings behind the rest. */
#include "runtime/math/library.h"

#include <dlfcn.h>
#include <pthread.h>

/* Every routine that is used: name, arguments. */
#define ROUTINES(X)                                                            \
    X(ssyevd,                                                                  \
      (const char *, const char *, const int *, float *, const int *, float *, \
       float *, const int *, int *, const int *, int *, size_t, size_t))       \
    X(ssytrd, (const char *, const int *, float *, const int *, float *,       \
               float *, float *, float *, const int *, int *, size_t))         \
    X(sstedc,                                                                  \
      (const char *, const int *, float *, float *, float *, const int *,      \
       float *, const int *, int *, const int *, int *, size_t))               \
    X(slarft,                                                                  \
      (const char *, const char *, const int *, const int *, const float *,    \
       const int *, const float *, float *, const int *, size_t, size_t))      \
    X(dsyev, (const char *, const char *, const int *, double *, const int *,  \
              double *, double *, const int *, int *, size_t, size_t))         \
    X(dsymm,                                                                   \
      (const char *, const char *, const int *, const int *, const double *,   \
       const double *, const int *, const double *, const int *,               \
       const double *, double *, const int *, size_t, size_t))                 \
    X(spotrf,                                                                  \
      (const char *, const int *, float *, const int *, int *, size_t))        \
    X(sgelqf, (const int *, const int *, float *, const int *, float *,        \
               float *, const int *, int *))                                   \
    X(sorglq, (const int *, const int *, const int *, float *, const int *,    \
               const float *, float *, const int *, int *))                    \
    X(strsm,                                                                   \
      (const char *, const char *, const char *, const char *, const int *,    \
       const int *, const float *, const float *, const int *, float *,        \
       const int *, size_t, size_t, size_t, size_t))

#define DECLARE(name, arguments) typedef void(*name##_function) arguments;
ROUTINES(DECLARE)
#undef DECLARE

static struct {
    pthread_once_t once;
    bool is_there;
#define FIELD(name, arguments) name##_function name;
    ROUTINES(FIELD)
#undef FIELD
} lapack = {.once = PTHREAD_ONCE_INIT};

static bool take(void *library, const char *name, void *routine)
{
    void *symbol = dlsym(library, name);

    memcpy(routine, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool take_all(void *library)
{
    bool ok = true;
#define TAKE(name, arguments) ok = take(library, #name "_", &lapack.name) && ok;
    ROUTINES(TAKE)
#undef TAKE
    return ok;
}

static void open_lapack(void)
{
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3"};

    for (size_t i = 0; i < sizeof names / sizeof *names && !lapack.is_there;
         i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        lapack.is_there = library && take_all(library);
    }
}

bool czr_library_has_lapack(void)
{
    pthread_once(&lapack.once, open_lapack);
    return lapack.is_there;
}

bool czr_library_eigh_f32(size_t n, float *a, float *values, float *work,
                          size_t n_work, int *integers, size_t n_integers)
{
    const int order = (int)n, length = (int)n_work, count = (int)n_integers;
    int info = 0;

    lapack.ssyevd("V", "L", &order, a, &order, values, work, &length, integers,
                  &count, &info, 1, 1);
    return info == 0;
}

bool czr_library_eigh_f64(size_t n, double *a, double *values, double *work,
                          size_t n_work)
{
    const int order = (int)n, length = (int)n_work;
    int info = 0;

    lapack.dsyev("V", "L", &order, a, &order, values, work, &length, &info, 1,
                 1);
    return info == 0;
}

void czr_library_tridiagonal(size_t n, float *a, float *values, float *beside,
                             float *tau, float *work, size_t n_work)
{
    const int order = (int)n, length = (int)n_work;
    int info = 0;

    lapack.ssytrd("U", &order, a, &order, values, beside, tau, work, &length,
                  &info, 1);
}

bool czr_library_tridiagonal_eigh(size_t n, float *values, float *beside,
                                  float *vectors, float *work, size_t n_work,
                                  int *integers, size_t n_integers)
{
    const int order = (int)n, length = (int)n_work, count = (int)n_integers;
    int info = 0;

    lapack.sstedc("I", &order, values, beside, vectors, &order, work, &length,
                  integers, &count, &info, 1);
    return info == 0;
}

/* Of t, columns first, the lower triangle is set: of t', row by row, the upper
 * one. */
void czr_library_reflectors(size_t n, size_t k, const float *v,
                            const float *tau, float *t)
{
    const int length = (int)n, count = (int)k;

    for (size_t i = 0; i < k; i++)
        memset(t + i * k, 0, i * sizeof *t);
    lapack.slarft("B", "C", &length, &count, v, &length, tau, t, &count, 1, 1);
}

/* Row by row the lower triangle is, column by column, the upper one. */
bool czr_library_cholesky(size_t n, float *a)
{
    const int order = (int)n;
    int info = 0;

    lapack.spotrf("U", &order, a, &order, &info, 1);
    return info == 0;
}

/* a' = l q' column by column: the rows of l are the columns of r. */
void czr_library_qr(size_t m, size_t n, float *a, float *tau, float *work,
                    size_t n_work)
{
    const int rows = (int)n, columns = (int)m, length = (int)n_work;
    int info = 0;

    lapack.sgelqf(&rows, &columns, a, &rows, tau, work, &length, &info);
}

void czr_library_qr_vectors(size_t m, size_t n, float *a, const float *tau,
                            float *work, size_t n_work)
{
    const int rows = (int)n, columns = (int)m, length = (int)n_work;
    const int least = rows < columns ? rows : columns;
    int info = 0;

    lapack.sorglq(&least, &columns, &least, a, &rows, tau, work, &length,
                  &info);
}

void czr_library_multiply_f64(size_t n, const double *a, const double *b,
                              double *c)
{
    const int order = (int)n;
    const double one = 1, zero = 0;

    lapack.dsymm("L", "L", &order, &order, &one, a, &order, b, &order, &zero, c,
                 &order, 1, 1);
}

/* x' op(a)' = b', where a' is what lies there column by column. */
void czr_library_solve(size_t n, size_t k, const float *a, bool is_upper,
                       bool is_transposed, float *x)
{
    const int order = (int)n, rows = (int)k;
    const float one = 1;

    lapack.strsm("R", is_upper ? "L" : "U", is_transposed ? "T" : "N", "N",
                 &rows, &order, &one, a, &order, x, &rows, 1, 1, 1, 1);
}
