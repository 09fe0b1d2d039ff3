/* NCCL by dlopen, its prototypes declared here. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/world/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/driver/clock.h"
#include "runtime/cuda/library/dynamic.h"

/* Where each function goes. */
static const czr_dynamic_symbol functions[] = {
#define CZR_CALL(symbol, name, result, arguments)                              \
    {#symbol, offsetof(czr_nccl, name)},
#include "runtime/cuda/world/nccl_calls.def"
#undef CZR_CALL
};

/* ---- the library -------------------------------------------------------- */

static czr_status lacks(const char *symbol, char *message)
{
    snprintf(message, CZR_NCCL_MESSAGE, "NCCL lacks %s", symbol);
    return CZR_ERR_NO_NCCL;
}

/* Asked first, for an old one lacks functions as well. */
static czr_status check_version(czr_nccl *nccl, char *message)
{
    static const char symbol[] = "ncclGetVersion";
    int (*ask)(int *) = NULL;
    void *found = dlsym(nccl->library, symbol);

    if (!found)
        return lacks(symbol, message);
    memcpy(&ask, &found, sizeof found);
    if (ask(&nccl->version)) {
        snprintf(message, CZR_NCCL_MESSAGE, "NCCL does not tell its version");
        return CZR_ERR_NO_NCCL;
    }
    if (nccl->version >= CZR_NCCL_VERSION)
        return CZR_OK;
    snprintf(message, CZR_NCCL_MESSAGE,
             "NCCL has version code %d: 2.%d (%d) or later is needed",
             nccl->version, CZR_NCCL_VERSION / 100 % 100, CZR_NCCL_VERSION);
    return CZR_ERR_NO_NCCL;
}

/* Who had it before us may have made it read its environment. */
static bool orders(const czr_nccl *nccl, bool was_there)
{
    const char *value = getenv(CZR_NCCL_ORDER);

    if (nccl->version < CZR_NCCL_ORDER_VERSION)
        return false;
    if (value)
        return strtoll(value, NULL, 0) != 0; /* as its param.cc reads it */
    return !was_there && setenv(CZR_NCCL_ORDER, "1", 0) == 0;
}

static bool is_there(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

    if (library)
        dlclose(library);
    return library != NULL;
}

static czr_status start(czr_nccl *nccl, char *message)
{
    if (!nccl->library) {
        const char *why = dlerror();
        snprintf(message, CZR_NCCL_MESSAGE, "NCCL is not there: %s",
                 why ? why : "no reason");
        return CZR_ERR_NO_NCCL;
    }
    const czr_status status = check_version(nccl, message);
    if (status != CZR_OK)
        return status;
    const char *missing = czr_dynamic_find(nccl->library, functions,
                                           CZR_N_SYMBOLS(functions), nccl);
    return missing ? lacks(missing, message) : CZR_OK;
}

czr_status czr_nccl_open(const char *path, czr_nccl **out,
                         char message[CZR_NCCL_MESSAGE])
{
    czr_nccl *nccl = calloc(1, sizeof *nccl);

    *out = NULL;
    message[0] = '\0';
    if (!nccl) {
        snprintf(message, CZR_NCCL_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    if (!path)
        path = "libnccl.so.2";
    const bool was_there = is_there(path);
    /* Its threads outlive us: it stays mapped. */
    nccl->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const czr_status status = start(nccl, message);
    if (status != CZR_OK) {
        czr_nccl_close(nccl);
        return status;
    }
    nccl->is_ordered = orders(nccl, was_there);
    *out = nccl;
    return CZR_OK;
}

void czr_nccl_close(czr_nccl *nccl)
{
    if (!nccl)
        return;
    if (nccl->library)
        dlclose(nccl->library);
    free(nccl);
}

/* What an ncclResult_t is to us. */
static czr_status status_of(int code)
{
    switch (code) {
    case CZR_NCCL_SUCCESS:
        return CZR_OK;
    case CZR_NCCL_REMOTE_ERROR:
        return CZR_ERR_ABORTED;
    default:
        return CZR_ERR_NCCL;
    }
}

/* `what` failed with a code. */
static czr_status refuse(const czr_nccl *nccl, int code, const char *what,
                         char *message)
{
    const char *why = nccl->error_string(code);
    const char *more = nccl->last_error(NULL);

    snprintf(message, CZR_NCCL_MESSAGE, "NCCL, %s: %s (%d)%s%.*s", what,
             why ? why : "unknown error", code, more && *more ? ": " : "",
             more ? (int)strcspn(more, "\n") : 0, more ? more : "");
    return status_of(code);
}

czr_status czr_nccl_make_id(const czr_nccl *nccl, czr_nccl_id *out,
                            char message[CZR_NCCL_MESSAGE])
{
    const int code = nccl->unique_id(out);

    return code ? refuse(nccl, code, "making an id", message) : CZR_OK;
}

/* ---- communicators ------------------------------------------------------ */

static czr_nccl_config make_config(void)
{
    return (czr_nccl_config){.size = sizeof(czr_nccl_config),
                             .magic = CZR_NCCL_MAGIC,
                             .version = CZR_NCCL_VERSION,
                             .blocking = false,
                             .cluster = CZR_NCCL_DEFAULT,
                             .min_blocks = CZR_NCCL_DEFAULT,
                             .max_blocks = CZR_NCCL_DEFAULT,
                             .split_share = false,
                             .traffic_class = CZR_NCCL_DEFAULT};
}

/* CZR_NCCL_IN_PROGRESS when the time is over. */
static int poll_comm(const czr_nccl_comm *comm, int64_t deadline_ms)
{
    static const struct timespec pause = {0, 20000};
    const int64_t start = czr_now_ms();

    for (;;) {
        int state = CZR_NCCL_INTERNAL_ERROR;
        const int code = comm->nccl->async_error(comm->handle, &state);
        if (code)
            return code;
        if (state != CZR_NCCL_IN_PROGRESS ||
            czr_now_ms() - start >= deadline_ms)
            return state;
        nanosleep(&pause, NULL);
    }
}

/* What came of it, where `code` is what it was in the end. */
static czr_status conclude(const czr_nccl_comm *comm, int code,
                           int64_t deadline_ms, const char *what, char *message)
{
    if (code == CZR_NCCL_SUCCESS)
        return CZR_OK;
    if (code != CZR_NCCL_IN_PROGRESS)
        return refuse(comm->nccl, code, what, message);
    snprintf(message, CZR_NCCL_MESSAGE,
             "NCCL, %s: rank %d of %d waited %lld ms for the others", what,
             comm->rank, comm->size, (long long)deadline_ms);
    return CZR_ERR_TIMEOUT;
}

czr_status czr_nccl_settle(const czr_nccl_comm *comm, int code,
                           int64_t deadline_ms, const char *what,
                           char message[CZR_NCCL_MESSAGE])
{
    if (code == CZR_NCCL_IN_PROGRESS)
        code = poll_comm(comm, deadline_ms);
    return conclude(comm, code, deadline_ms, what, message);
}

czr_status czr_nccl_comm_open(const czr_nccl *nccl, const czr_nccl_id *id,
                              int size, int rank, int64_t deadline_ms,
                              czr_nccl_comm *out,
                              char message[CZR_NCCL_MESSAGE])
{
    czr_nccl_config config = make_config();

    *out = (czr_nccl_comm){.nccl = nccl, .size = size, .rank = rank};
    int code = nccl->init_rank(&out->handle, size, *id, rank, &config);
    if (code == CZR_NCCL_IN_PROGRESS)
        code = poll_comm(out, deadline_ms);
    const czr_status status =
        conclude(out, code, deadline_ms, "opening a communicator", message);
    if (status != CZR_OK)
        czr_nccl_comm_abort(out);
    return status;
}

czr_status czr_nccl_comm_borrow(const czr_nccl *nccl, void *handle, int size,
                                int rank, czr_nccl_comm *out,
                                char message[CZR_NCCL_MESSAGE])
{
    int its_size = 0, its_rank = 0;

    *out = (czr_nccl_comm){.nccl = nccl};
    int code = nccl->count(handle, &its_size);
    if (code == CZR_NCCL_SUCCESS)
        code = nccl->user_rank(handle, &its_rank);
    if (code != CZR_NCCL_SUCCESS)
        return refuse(nccl, code, "looking at a borrowed communicator",
                      message);
    if (its_size != size || its_rank != rank) {
        snprintf(message, CZR_NCCL_MESSAGE,
                 "rank %d of %d has borrowed the communicator of rank %d of %d",
                 rank, size, its_rank, its_size);
        return CZR_ERR_MISMATCH;
    }
    *out = (czr_nccl_comm){.nccl = nccl,
                           .handle = handle,
                           .size = size,
                           .rank = rank,
                           .is_borrowed = true};
    return CZR_OK;
}

czr_status czr_nccl_comm_split(czr_nccl_comm *parent, int color, int size,
                               int rank, int64_t deadline_ms,
                               czr_nccl_comm *out,
                               char message[CZR_NCCL_MESSAGE])
{
    static const char what[] = "splitting a communicator";
    czr_nccl_config config = make_config();

    *out = (czr_nccl_comm){.nccl = parent->nccl, .size = size, .rank = rank};
    const int code =
        parent->nccl->split(parent->handle, color, rank, &out->handle, &config);
    /* Before the parent has settled there may be no child, whatever the call
     * has returned: a communicator that does not block returns success. */
    czr_status status = czr_nccl_settle(
        parent, code == CZR_NCCL_SUCCESS ? CZR_NCCL_IN_PROGRESS : code,
        deadline_ms, what, message);
    parent->has_failed = parent->has_failed || status != CZR_OK;
    if (status == CZR_OK && !out->handle)
        status = refuse(parent->nccl, CZR_NCCL_INTERNAL_ERROR, what, message);
    if (status == CZR_OK)
        status = czr_nccl_settle(out, CZR_NCCL_IN_PROGRESS, deadline_ms, what,
                                 message);
    if (status != CZR_OK)
        czr_nccl_comm_abort(out);
    return status;
}

void czr_nccl_comm_abort(czr_nccl_comm *comm)
{
    if (comm->handle && !comm->is_borrowed)
        comm->nccl->abort(comm->handle);
    comm->handle = NULL;
}

void czr_nccl_comm_close(czr_nccl_comm *comm, int64_t deadline_ms)
{
    char message[CZR_NCCL_MESSAGE];

    if (!comm->handle || comm->is_borrowed) {
        comm->handle = NULL;
        return;
    }
    const int code = comm->has_failed ? CZR_NCCL_INTERNAL_ERROR
                                      : comm->nccl->finalize(comm->handle);
    if (czr_nccl_settle(comm, code, deadline_ms, "closing", message) != CZR_OK)
        czr_nccl_comm_abort(comm);
    else
        comm->nccl->destroy(comm->handle);
    comm->handle = NULL;
}
