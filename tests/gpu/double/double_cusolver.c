/* The functions of cuSOLVER and cuBLAS that the runtime calls, on the double of
 * the driver: each factorisation is a launch that LAPACK computes when the
 * stream gets there, so that its bits are the host's.  What is not as promised
 * is refused, and room is spoiled.  Opened by its path; a test finds the
 * variables below by name. */
#include "runtime/math/library.h"
#include "tests/gpu/double/fake.h"
#include "tests/gpu/double/library_kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define CZR_CUSOLVER_CALL(symbol, name, arguments) int symbol arguments;
#include "runtime/cuda/library/cusolver_calls.def"
#undef CZR_CUSOLVER_CALL

/* The call from now on that fails, 0: none; how many eigenproblems from now on
 * do not converge; how many launches there were. */
extern int double_cusolver_fails, double_cusolver_diverges,
    double_cusolver_launches;
int double_cusolver_fails, double_cusolver_diverges, double_cusolver_launches;

/* Room of a routine; in f64 it is more by WIDER. */
enum { FAILED = 7, DEVICE = 768, HOST = 96, WIDER = 256, BLOCK = 64 };

typedef enum routine { SYEVD, POTRF, GEQRF, ORGQR, TRSM, SYRK } routine;

typedef struct job {
    routine routine;
    int is_lower, is_transposed, is_wide;
    size_t m, n, k;
    float *a, *b;
    void *room;
    int *info;
} job;

/* ---- what runs late ----------------------------------------------------- */

/* Memory of the device; NULL: it is not there, and the context is lost. */
static float *memory(const void *address, size_t n)
{
    return fake_at((uint64_t)(uintptr_t)address, n * sizeof(float));
}

static void transpose(const float *from, float *to, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

static void *take(size_t n)
{
    void *memory = malloc(n * sizeof(float) + 1);

    if (!memory)
        abort();
    return memory;
}

static bool find_f32(size_t n, float *a, float *values)
{
    const size_t n_work = 1 + 6 * n + 2 * n * n;
    float *work = take(n_work);
    int *integers = take(3 + 5 * n);
    const bool is_found =
        czr_library_eigh_f32(n, a, values, work, n_work, integers, 3 + 5 * n);

    free(work);
    free(integers);
    return is_found;
}

static bool find_f64(size_t n, double *a, double *values)
{
    double *work = take(6 * n);
    const bool is_found = czr_library_eigh_f64(n, a, values, work, 3 * n);

    free(work);
    return is_found;
}

static int syevd(const job *j, float *a)
{
    const size_t n = j->n, size = j->is_wide ? 2 : 1;
    float *values = memory(j->b, n * size);
    const union {
        float *narrow;
        void *any;
        double *wide;
    } matrix = {a}, found = {values};

    if (!values)
        return 1;
    if (double_cusolver_diverges > 0) {
        double_cusolver_diverges--;
        /* NaN, and then what is finite, but no vectors. */
        memset(a, j->is_wide ? 0x3f : 0xff, n * n * size * sizeof *a);
        memset(values, 0x3f, n * size * sizeof *values);
        return 1;
    }
    return j->is_wide ? !find_f64(n, matrix.wide, found.wide)
                      : !find_f32(n, a, values);
}

/* a [m, n] by columns; LAPACK of ours has it by rows. */
static int qr(const job *j, float *a)
{
    const size_t s = j->m < j->n ? j->m : j->n, n_work = BLOCK * j->n;
    float *tau = memory(j->b, s), *rows = take(j->m * j->n),
          *work = take(n_work);

    transpose(a, rows, j->n, j->m);
    if (tau && j->routine == GEQRF)
        czr_library_qr(j->m, j->n, rows, tau, work, n_work);
    else if (tau)
        czr_library_qr_vectors(j->m, j->n, rows, tau, work, n_work);
    transpose(rows, a, j->m, j->n);
    free(rows);
    free(work);
    return 0;
}

/* By columns: on and below the diagonal the sums, above what is no number. */
static void syrk(const job *j, const float *a, float *c)
{
    const size_t n = j->n;

    for (size_t column = 0; column < n; column++)
        for (size_t row = 0; row < n; row++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += (double)a[row + k * n] * (double)a[column + k * n];
            c[row + column * n] = row < column ? NAN : (float)sum;
        }
}

static int compute(const job *j, float *a)
{
    float *other = j->routine == TRSM   ? memory(j->b, j->n * j->k)
                   : j->routine == SYRK ? memory(j->b, j->n * j->n)
                                        : NULL;

    switch (j->routine) {
    case SYEVD:
        return syevd(j, a);
    case POTRF:
        return !czr_library_cholesky(j->n, a);
    case GEQRF:
    case ORGQR:
        return qr(j, a);
    case TRSM:
        if (other)
            czr_library_solve(j->n, j->k, a, j->is_lower, j->is_transposed,
                              other);
        return 0;
    case SYRK:
        if (other)
            syrk(j, a, other);
        return 0;
    }
    return 0;
}

static void run(void **arguments)
{
    job j;

    memcpy(&j, arguments[0], sizeof j);
    const size_t workspace_bytes = DEVICE + (j.is_wide ? WIDER : 0);
    float *a = memory(j.a, j.m * j.n * (j.is_wide ? 2 : 1));
    float *room =
        j.room ? memory(j.room, workspace_bytes / sizeof(float)) : NULL;
    int *info =
        j.info ? fake_at((uint64_t)(uintptr_t)j.info, sizeof *info) : NULL;
    if (room)
        memset(room, 0xff, workspace_bytes);
    if (!a || (j.info && !info))
        return;
    const int said = compute(&j, a);
    if (info)
        *info = said;
}

/* ---- what is called ----------------------------------------------------- */

static bool fails(void)
{
    return double_cusolver_fails > 0 && --double_cusolver_fails == 0;
}

static int put(handle *h, job *j)
{
    void *arguments[] = {j};

    double_cusolver_launches++;
    return launch_kernel(h, 1, arguments, h->stream);
}

static int tell_room(size_t *device, size_t *host)
{
    if (fails())
        return FAILED;
    *device = DEVICE;
    *host = HOST;
    return 0;
}

static bool is_room_for(size_t wider, const void *device, size_t device_bytes,
                        void *host, size_t host_bytes)
{
    if ((uintptr_t)device % 256 || !device || device_bytes != DEVICE + wider ||
        !host || host_bytes != HOST + wider)
        return false;
    memset(host, 0xff, host_bytes);
    return true;
}

static bool is_room(const void *device, size_t device_bytes, void *host,
                    size_t host_bytes)
{
    return is_room_for(0, device, device_bytes, host, host_bytes);
}

int cusolverGetVersion(int *version)
{
    *version = 11704;
    return fails() ? FAILED : 0;
}

int cusolverDnCreate(void **out)
{
    static const char name[] = "double_cusolver";
    static const int bytes[] = {sizeof(job)};
    static const char code[] = "FAKE sm_90\ndouble_cusolver 0 *\n";

    if (!czr_library_has_lapack())
        abort();
    fake_register_sized(name, run, 1, bytes);
    *out = fails() ? NULL : open_handle(code, name);
    return *out ? 0 : FAILED;
}

int cusolverDnDestroy(void *h)
{
    close_handle(h);
    return 0;
}

int cusolverDnSetStream(void *h, void *stream)
{
    ((handle *)h)->stream = stream;
    return fails() ? FAILED : 0;
}

int cusolverDnCreateParams(void **out)
{
    *out = fails() ? NULL : malloc(1);
    return *out ? 0 : FAILED;
}

int cusolverDnDestroyParams(void *parameters)
{
    free(parameters);
    return 0;
}

int cusolverDnXsyevd_bufferSize(void *h, void *parameters, int mode,
                                int triangle, int64_t n, int a_type,
                                const void *a, int64_t stride, int w_type,
                                const void *w, int type, size_t *device,
                                size_t *host)
{
    (void)a;
    (void)w;
    if (!h || !parameters || mode != 1 || triangle || stride != n ||
        a_type != type || w_type != type || tell_room(device, host) != 0)
        return FAILED;
    *device += type ? WIDER : 0;
    *host += type ? WIDER : 0;
    return type != 0 && type != 1;
}

int cusolverDnXsyevd(void *h, void *parameters, int mode, int triangle,
                     int64_t n, int a_type, void *a, int64_t stride, int w_type,
                     void *w, int type, void *device, size_t device_bytes,
                     void *host, size_t host_bytes, int *info)
{
    job j = {.routine = SYEVD,
             .is_wide = type,
             .m = (size_t)n,
             .n = (size_t)n,
             .a = a,
             .b = w,
             .room = device,
             .info = info};

    return fails() || !parameters || mode != 1 || triangle || stride != n ||
                   a_type != type || w_type != type ||
                   !is_room_for(type ? WIDER : 0, device, device_bytes, host,
                                host_bytes)
               ? FAILED
               : put(h, &j);
}

int cusolverDnXpotrf_bufferSize(void *h, void *parameters, int triangle,
                                int64_t n, int a_type, const void *a,
                                int64_t stride, int type, size_t *device,
                                size_t *host)
{
    (void)a;
    return !h || !parameters || triangle != 1 || stride != n || a_type || type
               ? FAILED
               : tell_room(device, host);
}

int cusolverDnXpotrf(void *h, void *parameters, int triangle, int64_t n,
                     int a_type, void *a, int64_t stride, int type,
                     void *device, size_t device_bytes, void *host,
                     size_t host_bytes, int *info)
{
    job j = {.routine = POTRF,
             .m = (size_t)n,
             .n = (size_t)n,
             .a = a,
             .room = device,
             .info = info};

    return fails() || !parameters || triangle != 1 || stride != n || a_type ||
                   type || !is_room(device, device_bytes, host, host_bytes)
               ? FAILED
               : put(h, &j);
}

int cusolverDnXgeqrf_bufferSize(void *h, void *parameters, int64_t m, int64_t n,
                                int a_type, const void *a, int64_t stride,
                                int tau_type, const void *tau, int type,
                                size_t *device, size_t *host)
{
    (void)a;
    (void)n;
    (void)tau;
    return !h || !parameters || stride != m || a_type || tau_type || type
               ? FAILED
               : tell_room(device, host);
}

int cusolverDnXgeqrf(void *h, void *parameters, int64_t m, int64_t n,
                     int a_type, void *a, int64_t stride, int tau_type,
                     void *tau, int type, void *device, size_t device_bytes,
                     void *host, size_t host_bytes, int *info)
{
    job j = {.routine = GEQRF,
             .m = (size_t)m,
             .n = (size_t)n,
             .a = a,
             .b = tau,
             .room = device,
             .info = info};

    return fails() || !parameters || stride != m || a_type || tau_type ||
                   type || !is_room(device, device_bytes, host, host_bytes)
               ? FAILED
               : put(h, &j);
}

int cusolverDnSorgqr_bufferSize(void *h, int m, int n, int k, const float *a,
                                int stride, const float *tau, int *n_work)
{
    (void)a;
    (void)tau;
    *n_work = DEVICE / sizeof(float);
    return fails() || !h || stride != m || n != k || n > m ? FAILED : 0;
}

int cusolverDnSorgqr(void *h, int m, int n, int k, float *a, int stride,
                     const float *tau, float *work, int n_work, int *info)
{
    const union {
        const float *given;
        float *taken;
    } b = {tau};
    job j = {.routine = ORGQR,
             .m = (size_t)m,
             .n = (size_t)n,
             .a = a,
             .b = b.taken,
             .room = work,
             .info = info};

    return fails() || stride != m || n != k || n > m || !work ||
                   n_work != DEVICE / (int)sizeof(float)
               ? FAILED
               : put(h, &j);
}

/* ---- cuBLAS ------------------------------------------------------------- */

int cublasCreate_v2(void **out)
{
    return cusolverDnCreate(out);
}

int cublasDestroy_v2(void *h)
{
    return cusolverDnDestroy(h);
}

int cublasSetStream_v2(void *h, void *stream)
{
    return cusolverDnSetStream(h, stream);
}

int cublasStrsm_v2(void *h, int side, int triangle, int transpose, int diagonal,
                   int m, int n, const float *alpha, const float *a,
                   int a_stride, float *b, int b_stride)
{
    const union {
        const float *given;
        float *taken;
    } of = {a};
    job j = {.routine = TRSM,
             .is_lower = triangle == 0,
             .is_transposed = transpose,
             .m = (size_t)n,
             .n = (size_t)n,
             .k = (size_t)m,
             .a = of.taken,
             .b = b};

    return fails() || side != 1 || diagonal || *alpha != 1.F || a_stride != n ||
                   b_stride != m
               ? FAILED
               : put(h, &j);
}

int cublasSsyrk_v2(void *h, int triangle, int transpose, int n, int k,
                   const float *alpha, const float *a, int a_stride,
                   const float *beta, float *c, int c_stride)
{
    const union {
        const float *given;
        float *taken;
    } of = {a};
    job j = {
        .routine = SYRK, .m = (size_t)n, .n = (size_t)n, .a = of.taken, .b = c};

    return fails() || triangle || transpose || n != k || *alpha != 1.F ||
                   *beta != 0.F || a_stride != n || c_stride != n
               ? FAILED
               : put(h, &j);
}
