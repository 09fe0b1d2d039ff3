/* NCCL, opened when asked for, and one communicator of it.  Types and numbers
 * are those of nccl.h, by their names there; the header is not needed.
 *
 * Communicators do not block: a call may still be under way when it returns
 * (CZR_NCCL_IN_PROGRESS), and no other call is made on its communicator before
 * czr_nccl_settle says that it is over. */
#ifndef CZR_CUDA_WORLD_NCCL_H
#define CZR_CUDA_WORLD_NCCL_H

#include "runtime/czr.h"

#include <limits.h>
#include <stdbool.h>

/* Before 2.19 an abort joins no thread of NCCL's that still uses the
 * communicator (groupJob of comm.h); 2.20 is the oldest that was compared. */
enum {
    CZR_NCCL_VERSION = 22000, /* 10000 major + 100 minor + patch */
    CZR_NCCL_MESSAGE = 256,
    CZR_NCCL_ID_BYTES = 128
};

/* ncclResult_t. */
enum {
    CZR_NCCL_SUCCESS = 0,
    CZR_NCCL_UNHANDLED_CUDA_ERROR = 1,
    CZR_NCCL_SYSTEM_ERROR = 2,
    CZR_NCCL_INTERNAL_ERROR = 3,
    CZR_NCCL_INVALID_ARGUMENT = 4,
    CZR_NCCL_INVALID_USAGE = 5,
    CZR_NCCL_REMOTE_ERROR = 6,
    CZR_NCCL_IN_PROGRESS = 7
};

/* ncclDataType_t and ncclRedOp_t. */
enum {
    CZR_NCCL_INT8 = 0,
    CZR_NCCL_INT64 = 4,
    CZR_NCCL_FLOAT32 = 7,
    CZR_NCCL_FLOAT64 = 8,
    CZR_NCCL_SUM = 0
};

/* ncclUniqueId: how ranks find each other. */
typedef struct czr_nccl_id {
    char bytes[CZR_NCCL_ID_BYTES];
} czr_nccl_id;

/* Of an ncclConfig_t its mark, and of a field, that NCCL chooses. */
#define CZR_NCCL_MAGIC 0xcafebeefu
enum { CZR_NCCL_DEFAULT = INT_MIN };

/* ncclConfig_t of 2.26, which of 2.20 has padding in its last field's place;
 * later ones begin with it, and `size` tells them where it ends.  2.26 reads
 * that field whatever `version` says. */
typedef struct czr_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cluster, min_blocks, max_blocks;
    const char *net;
    int split_share;
    int traffic_class;
} czr_nccl_config;

/* The environment variable of 2.26 by which kernels of several communicators
 * begin in the order of the calls. */
#define CZR_NCCL_ORDER "NCCL_LAUNCH_ORDER_IMPLICIT"
enum { CZR_NCCL_ORDER_VERSION = 22600 };

typedef struct czr_nccl {
    void *library;
    int version;
    bool is_ordered; /* it does that; else callers keep one communicator's
                      * kernels from another's */
#define CZR_CALL(symbol, name, result, arguments) result(*name) arguments;
#include "runtime/cuda/world/nccl_calls.def"
#undef CZR_CALL
} czr_nccl;

/* The library at `path`, or where that is NULL libnccl.so.2.  Sets
 * CZR_NCCL_ORDER to 1 where the environment has no such variable and nobody can
 * have used the library, which reads it once.  If it fails, *out is NULL and
 * `message` says why: CZR_ERR_NO_NCCL where library or function is missing or
 * the version too old, CZR_ERR_NO_MEMORY. */
czr_status czr_nccl_open(const char *path, czr_nccl **out,
                         char message[CZR_NCCL_MESSAGE]);
/* NULL is allowed. */
void czr_nccl_close(czr_nccl *nccl);

/* One rank makes it, and all give it to czr_nccl_comm_open. */
czr_status czr_nccl_make_id(const czr_nccl *nccl, czr_nccl_id *out,
                            char message[CZR_NCCL_MESSAGE]);

/* One rank's end of a communicator. */
typedef struct czr_nccl_comm {
    const czr_nccl *nccl; /* open as long as this */
    void *handle;         /* ncclComm_t; NULL: closed, or aborted */
    int size, rank;
    bool is_borrowed; /* the caller's: neither aborted nor closed */
    bool has_failed;  /* what is under way may never be over */
} czr_nccl_comm;

/* Collective: returns when all `size` ranks have come, or after `deadline_ms`
 * (CZR_ERR_TIMEOUT).  The GPU is that of this thread's context.  What NCCL does
 * not allow, as two ranks of a host on one GPU, is CZR_ERR_NCCL with its words.
 * What fails leaves out->handle NULL. */
czr_status czr_nccl_comm_open(const czr_nccl *nccl, const czr_nccl_id *id,
                              int size, int rank, int64_t deadline_ms,
                              czr_nccl_comm *out,
                              char message[CZR_NCCL_MESSAGE]);
/* The caller's own of all ranks, whose size and rank must be these: else
 * CZR_ERR_MISMATCH. */
czr_status czr_nccl_comm_borrow(const czr_nccl *nccl, void *handle, int size,
                                int rank, czr_nccl_comm *out,
                                char message[CZR_NCCL_MESSAGE]);
/* Collective over `parent`: one for those of each color >= 0, of `size` ranks,
 * ordered by `key`, in which this is number `rank`. */
czr_status czr_nccl_comm_split(czr_nccl_comm *parent, int color, int size,
                               int rank, int64_t deadline_ms,
                               czr_nccl_comm *out,
                               char message[CZR_NCCL_MESSAGE]);
/* Waits until the call that gave `code` is over; `what` it was is for the
 * message. */
czr_status czr_nccl_settle(const czr_nccl_comm *comm, int code,
                           int64_t deadline_ms, const char *what,
                           char message[CZR_NCCL_MESSAGE]);
/* Ends what is under way here, and the communicator. */
void czr_nccl_comm_abort(czr_nccl_comm *comm);
/* Collective: what was put on streams has ended, and graphs that hold it are
 * gone.  After `deadline_ms`, or where anything failed, it is aborted.  Closed
 * ones are allowed. */
void czr_nccl_comm_close(czr_nccl_comm *comm, int64_t deadline_ms);

#endif
