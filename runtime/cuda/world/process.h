/* One rank of a plan on the GPU of its process.  The other ranks have processes
 * of their own, and talk over NCCL.
 *
 *     czr_process_env(&me, why);                  rank, size, GPU me.local_rank
 *     czr_process_open(&options, &NAME_cuda, &process);
 *     engine = czr_process_engine(process);
 *     czr_bind(engine, ...), czr_seal(engine);
 *     czr_process_step(process, &hyper, stream, NULL);    step by step
 *     czr_process_close(process);
 *
 * The engine is used as czr.h says, with these differences:
 *
 * - Pointers of czr_layout and czr_state_get are the device's.  A bound tensor
 *   may lie on the device or on the host.
 * - czr_process_step takes the place of czr_step.
 * - After czr_grad_ready the reduction of a complete bucket waits for what the
 *   producer's stream has, and for nothing else.
 * - czr_param_wait waits as in loopback.h.
 * - With czr_options.undo the rank has a second copy of all its parameters, not
 *   of its slice alone.
 * - Without undo a later step reports a failed rule, alike on all ranks.  A
 *   rank that has begun more steps without asking reports it no later than its
 *   deadline.  Parameters, also bound tensors, then hold the failed update.
 * - What trainers call of a world, czr_world_all_reduce and the like, takes
 *   memory of the host.
 *
 * A watchdog thread aborts communication that takes longer than the deadline,
 * or that NCCL reports as failed.  Later calls return CZR_ERR_TIMEOUT or
 * CZR_ERR_NCCL, and the sentence names the operation. */
#ifndef CZR_CUDA_WORLD_PROCESS_H
#define CZR_CUDA_WORLD_PROCESS_H

#include "runtime/cuda/library/nvrtc.h"
#include "runtime/cuda/world/nccl_world.h"
#include "runtime/czr_cuda.h"

/* Who this process is among those that a launcher has started. */
typedef struct czr_process_position {
    /* "torchrun", "Open MPI", "MPICH" or "Slurm"; NULL: none, and the process
     * is rank 0 of 1. */
    const char *launcher;
    int rank, size;
    int local_rank; /* among the ranks of this machine */
} czr_process_position;

/* By the environment.  Where launchers have started each other, the innermost
 * counts: torchrun, which sets TORCHELASTIC_RUN_ID; else an MPI; else Slurm's
 * srun.  RANK and WORLD_SIZE of another origin count, too, and have to say what
 * the launcher says.
 *
 * CZR_ERR_ARGUMENT: one of two variables is missing, one is no number from 0
 * on, a rank is none of so many, two launchers contradict each other, or nobody
 * says the local rank.  Then *out is rank 0 of 1, and `message` names variables
 * and values. */
czr_status czr_process_env(czr_process_position *out,
                           char message[CZR_WHY_BYTES]);

typedef struct czr_process czr_process;

typedef struct czr_process_options {
    czr_context *context; /* of this rank's own GPU, entered; the caller's,
                           * open as long as the process */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened; NULL:
                           * CZR_ERR_DEVICE_CODE */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_options engine;
    /* The caller leaves `collect`, `is_strict` and `deadline_ms`: the plan, the
     * engine's options and the process know them. */
    czr_world_nccl_options world;
    /* true: all steps but the first are launched as graphs, as in loopback.h.
     * All ranks ask for it alike, else CZR_ERR_MISMATCH.  At the end of the
     * first step, for which all wait, they agree: all capture, or none. */
    bool is_captured;
} czr_process_options;

/* Opens this rank, takes all memory and loads all code.  Collective: all ranks
 * of the mesh open, or none gets on.  If it fails, *out is NULL, or must be
 * closed and says why (czr_process_error).  The statuses are those of czr_open,
 * of czr_loopback_open and of czr_world_nccl_open. */
czr_status czr_process_open(const czr_process_options *options,
                            const czr_cuda_program *program, czr_process **out);
/* Waits for all that was put on streams, then closes engine and world.
 * Collective, unless something has failed.  NULL is allowed. */
void czr_process_close(czr_process *process);
/* The first failure, as a sentence; "" if none.  The text is the process's. */
const char *czr_process_error(const czr_process *process);

/* As czr_loopback_describe. */
void czr_process_describe(const czr_process *process,
                          void (*say)(void *user, const char *line),
                          void *user);

/* The rank's engine, which czr_process_close closes. */
czr_engine *czr_process_engine(czr_process *process);
/* How many graphs have been captured so far. */
int czr_process_graphs(const czr_process *process);

/* One step of this rank.  Collective.  It begins when the work of `stream` is
 * done.  Work that is put on `stream` later finds the updated parameters.  NULL
 * is the legacy default stream.  With CZR_NO_STREAM the gradients are complete
 * before the call, and the caller waits before it reads parameters.
 *
 * - With a result it waits until all is done, and returns what czr_step says.
 * - With NULL it does not wait.  A later call reports what went wrong, and does
 *   nothing else.  It reports CZR_ERR_GRADIENT and an undone step once, and
 *   every other failure for good.
 * - If rules have phases, it waits for the decision of the step before, because
 *   phases depend on it.  So it does with a result. */
czr_status czr_process_step(czr_process *process, const czr_hyper *hyper,
                            czr_stream stream, czr_result *result);

#endif
