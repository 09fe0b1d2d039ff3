/* cuSOLVER and cuBLAS by dlopen, their prototypes declared here.  They count
 * columns first: a matrix of ours is its transpose to them. */
#include "runtime/cuda/library/cusolver.h"

#include "runtime/cuda/library/cusolver_internal.h"
#include "runtime/cuda/library/dynamic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct czr_cusolver {
    void *library, *handle, *parameters, *blas;
#define CZR_CUSOLVER_CALL(symbol, name, arguments) int(*name) arguments;
#include "runtime/cuda/library/cusolver_calls.def"
#undef CZR_CUSOLVER_CALL
};

/* ---- the library -------------------------------------------------------- */

/* Those of cuBLAS are found in the library that cuSOLVER itself has. */
static const czr_dynamic_symbol functions[] = {
#define CZR_CUSOLVER_CALL(symbol, name, arguments)                             \
    {#symbol, offsetof(czr_cusolver, name)},
#include "runtime/cuda/library/cusolver_calls.def"
#undef CZR_CUSOLVER_CALL
};

static const char *const libraries[] = {"libcusolver.so.12",
                                        "libcusolver.so.11"};

/* 0, or the code of what failed. */
static int start(czr_cusolver *c)
{
    int code = c->create(&c->handle);

    if (code) {
        c->handle = NULL;
        return code;
    }
    code = c->create_params(&c->parameters);
    if (code) {
        c->parameters = NULL;
        return code;
    }
    code = c->blas_create(&c->blas);
    if (code)
        c->blas = NULL;
    return code;
}

static bool is_usable(czr_cusolver *c, char message[CZR_CUSOLVER_MESSAGE])
{
    const char *missing;
    int version = 0, code;

    if (!c->library)
        snprintf(message, CZR_CUSOLVER_MESSAGE, "cuSOLVER is missing");
    else if ((missing = czr_dynamic_find(c->library, functions,
                                         CZR_N_SYMBOLS(functions), c)))
        snprintf(message, CZR_CUSOLVER_MESSAGE, "cuSOLVER has no %s", missing);
    else if (c->version(&version) != 0 || version < CZR_CUSOLVER_VERSION)
        snprintf(message, CZR_CUSOLVER_MESSAGE,
                 "cuSOLVER is of version %d, and %d is needed", version,
                 CZR_CUSOLVER_VERSION);
    else if ((code = start(c)) != 0)
        snprintf(message, CZR_CUSOLVER_MESSAGE, "cuSOLVER does not start (%d)",
                 code);
    else
        return true;
    return false;
}

czr_status czr_cusolver_open(const char *path, czr_cusolver **out,
                             char message[CZR_CUSOLVER_MESSAGE])
{
    czr_cusolver *c = calloc(1, sizeof *c);

    *out = NULL;
    snprintf(message, CZR_CUSOLVER_MESSAGE, "no memory");
    if (!c)
        return CZR_ERR_NO_MEMORY;
    c->library = czr_dynamic_open(path, libraries, CZR_N_SYMBOLS(libraries));
    if (!is_usable(c, message)) {
        czr_cusolver_close(c);
        return CZR_ERR_NO_LIBRARY;
    }
    message[0] = '\0';
    *out = c;
    return CZR_OK;
}

void czr_cusolver_close(czr_cusolver *c)
{
    if (!c)
        return;
    if (c->blas)
        c->blas_destroy(c->blas);
    if (c->parameters)
        c->destroy_params(c->parameters);
    if (c->handle)
        c->destroy(c->handle);
    if (c->library)
        dlclose(c->library);
    free(c);
}

static bool aim(const czr_cusolver *c, void *stream)
{
    return c->set_stream(c->handle, stream) == 0;
}

/* ---- eigenvalues -------------------------------------------------------- */

static int type_of(bool is_wide)
{
    return is_wide ? CZR_CUSOLVER_64F : CZR_CUSOLVER_32F;
}

bool czr_cusolver_eigh_workspace(const czr_cusolver *c, bool is_wide, size_t n,
                                 czr_cusolver_workspace *out)
{
    const int type = type_of(is_wide);

    return c->syevd_room(c->handle, c->parameters, CZR_CUSOLVER_VECTORS,
                         CZR_CUSOLVER_LOWER, (int64_t)n, type, NULL, (int64_t)n,
                         type, NULL, type, &out->device, &out->host) == 0;
}

bool czr_cusolver_eigh(const czr_cusolver *c, bool is_wide, size_t n, void *a,
                       void *values, const czr_cusolver_call *call)
{
    const int type = type_of(is_wide);

    return aim(c, call->stream) &&
           c->syevd(c->handle, c->parameters, CZR_CUSOLVER_VECTORS,
                    CZR_CUSOLVER_LOWER, (int64_t)n, type, a, (int64_t)n, type,
                    values, type, call->device, call->workspace.device,
                    call->host, call->workspace.host, call->info) == 0;
}

/* ---- triangles ---------------------------------------------------------- */

bool czr_cusolver_cholesky_workspace(const czr_cusolver *c, size_t n,
                                     czr_cusolver_workspace *out)
{
    const int type = CZR_CUSOLVER_32F;

    return c->potrf_room(c->handle, c->parameters, CZR_CUSOLVER_UPPER,
                         (int64_t)n, type, NULL, (int64_t)n, type, &out->device,
                         &out->host) == 0;
}

bool czr_cusolver_cholesky(const czr_cusolver *c, size_t n, float *a,
                           const czr_cusolver_call *call)
{
    const int type = CZR_CUSOLVER_32F;

    return aim(c, call->stream) &&
           c->potrf(c->handle, c->parameters, CZR_CUSOLVER_UPPER, (int64_t)n,
                    type, a, (int64_t)n, type, call->device,
                    call->workspace.device, call->host, call->workspace.host,
                    call->info) == 0;
}

/* x' op(a)' = b', where a' is what lies there column by column. */
bool czr_cusolver_solve(const czr_cusolver *c, size_t n, size_t k,
                        const float *a, bool is_upper, bool is_transposed,
                        float *x, void *stream)
{
    const float one = 1;

    return c->blas_set_stream(c->blas, stream) == 0 &&
           c->trsm(c->blas, CZR_CUSOLVER_RIGHT,
                   is_upper ? CZR_CUSOLVER_LOWER : CZR_CUSOLVER_UPPER,
                   is_transposed ? CZR_CUSOLVER_OP_T : CZR_CUSOLVER_OP_N,
                   CZR_CUSOLVER_NON_UNIT, (int)k, (int)n, &one, a, (int)n, x,
                   (int)k) == 0;
}

bool czr_cusolver_gram(const czr_cusolver *cusolver, size_t n, const float *a,
                       float *c, void *stream)
{
    const float one = 1, zero = 0;
    const int order = (int)n;

    return cusolver->blas_set_stream(cusolver->blas, stream) == 0 &&
           cusolver->syrk(cusolver->blas, CZR_CUSOLVER_LOWER, CZR_CUSOLVER_OP_N,
                          order, order, &one, a, order, &zero, c, order) == 0;
}

/* ---- qr ----------------------------------------------------------------- */

static size_t least(size_t m, size_t n)
{
    return m < n ? m : n;
}

/* NULL's memory is not looked at. */
bool czr_cusolver_qr_workspace(const czr_cusolver *c, size_t m, size_t n,
                               czr_cusolver_workspace *out)
{
    const int type = CZR_CUSOLVER_32F, rows = (int)m, s = (int)least(m, n);
    int n_work = 0;

    if (c->geqrf_room(c->handle, c->parameters, (int64_t)m, (int64_t)n, type,
                      NULL, (int64_t)m, type, NULL, type, &out->device,
                      &out->host) != 0 ||
        c->orgqr_room(c->handle, rows, s, s, NULL, rows, NULL, &n_work) != 0)
        return false;
    const size_t bytes = (size_t)n_work * sizeof(float);
    if (out->device < bytes)
        out->device = bytes;
    return true;
}

bool czr_cusolver_qr(const czr_cusolver *c, size_t m, size_t n, float *a,
                     float *tau, const czr_cusolver_call *call)
{
    const int type = CZR_CUSOLVER_32F;

    return aim(c, call->stream) &&
           c->geqrf(c->handle, c->parameters, (int64_t)m, (int64_t)n, type, a,
                    (int64_t)m, type, tau, type, call->device,
                    call->workspace.device, call->host, call->workspace.host,
                    call->info) == 0;
}

bool czr_cusolver_qr_vectors(const czr_cusolver *c, size_t m, size_t n,
                             float *a, const float *tau,
                             const czr_cusolver_call *call)
{
    const int rows = (int)m, s = (int)least(m, n);
    const int n_work = (int)(call->workspace.device / sizeof(float));

    return aim(c, call->stream) &&
           c->orgqr(c->handle, rows, s, s, a, rows, tau, call->device, n_work,
                    call->info) == 0;
}
