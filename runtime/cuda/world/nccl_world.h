/* A world of processes with one GPU each, over NCCL.
 *
 * Units with a stream are put there, and waiting for them ends at once: what
 * failed later is said by czr_world_nccl_check.  A unit without a stream is of
 * the host's memory, an all_gather of equal parts, an all_reduce or a barrier,
 * and is over when it has been waited for.  The units of a plan come in list
 * order, those of all ranks alike; no memory is taken then.
 *
 * A thread watches: when communication has begun and does not end within the
 * world's deadline, or NCCL says that it has failed, all communicators are
 * aborted, and everything after ends in a status that names the operation.  The
 * thread makes no call of the driver's, so that it may run beside captures. */
#ifndef CZR_CUDA_WORLD_NCCL_WORLD_H
#define CZR_CUDA_WORLD_NCCL_WORLD_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/world/nccl.h"
#include "runtime/world/world.h"

typedef struct czr_world_nccl_options {
    const czr_nccl *nccl;  /* the caller's, open as long as the world */
    const czr_nccl_id *id; /* of all ranks; not looked at with `borrowed`; NULL:
                            * `broadcast` hands one out */
    /* Each rank calls it once, while the world is opened: bytes[n] of rank
     * `root` become those of all.  Any function of MPI, torch.distributed or a
     * file system will do.  A status but CZR_OK ends the opening with it. */
    czr_status (*broadcast)(void *user, void *bytes, size_t n, int root);
    void *user;     /* of broadcast */
    void *borrowed; /* NULL, or the caller's ncclComm_t of all ranks, from which
                     * the world's are split; used by nobody else meanwhile */
    int rank, size;
    bool is_strict; /* all sums in the order of the threads world, to its bits;
                     * else NCCL adds where it knows the types */
    czr_collect *collect; /* adds up and packs; open as long as the world */
    size_t slot_bytes;    /* device memory that a communicator may take for each
                           * member, twice; 0: 4 MiB */
    int64_t deadline_ms;  /* until czr_open sets it; 0: 600,000 */
} czr_world_nccl_options;

/* Collective: all ranks open theirs, with equal options but for the rank; each
 * has its own context, entered, which is the caller's, open as long as the
 * world.  If it fails, *out is NULL and `message` says why:
 * CZR_ERR_ARGUMENT where nothing says how ranks find each other,
 * CZR_ERR_TIMEOUT where a rank does not come, CZR_ERR_MISMATCH where options
 * differ, CZR_ERR_NCCL with NCCL's words, CZR_ERR_NO_MEMORY, or what the driver
 * says. */
czr_status czr_world_nccl_open(czr_context *context,
                               const czr_world_nccl_options *options,
                               czr_world **out, char message[CZR_NCCL_MESSAGE]);
/* Before the first unit of a plan, when all its communicators are joined:
 * comms[n_ops], NULL where none.  Takes the memory that its units need. */
czr_status czr_world_nccl_prepare(czr_world *world, const czr_program *program,
                                  czr_comm *const *comms);
/* Behind what `stream` has, before the units of a step or the launch of a graph
 * that holds them: the deadline counts anew, and no unit of before is waited
 * for. */
czr_status czr_world_nccl_begin(czr_world *world, void *stream);
/* Whether all went well so far; if not, why[CZR_WHY_BYTES] says what did not:
 * CZR_ERR_TIMEOUT, CZR_ERR_ABORTED, CZR_ERR_NCCL. */
czr_status czr_world_nccl_check(czr_world *world, char *why);
/* Aborts all communicators, unless that was done, and waits for it, until the
 * deadline: then what is on streams comes to its end.  All that may follow is a
 * close. */
void czr_world_nccl_stop(czr_world *world, const char *why);
/* Collective, where nothing has failed.  Streams are empty, graphs that hold
 * units are gone.  NULL is allowed. */
void czr_world_nccl_close(czr_world *world);

#endif
