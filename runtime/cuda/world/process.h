/* One rank of a plan on the GPU of its process, the others in theirs, over
 * NCCL.
 *
 *     czr_process_open(&options, &NAME_cuda, &process);
 *     czr_bind, czr_seal with czr_process_engine(process)
 *     czr_process_step(process, &hyper, stream, NULL), as often as you like
 *     czr_process_close(process)
 *
 * The engine is used as on the host, but: tensors, places (czr_layout) and
 * states (czr_state_get) are the device's, a bound tensor may lie on either;
 * czr_step is not called; behind czr_grad_ready the reductions of complete
 * buckets wait for what the producer's stream has, and for nothing else;
 * czr_param_wait is as in loopback.h; where steps are undone, all of the
 * parameters has a second copy; without, a failure of a rule is said by a later
 * step, by all ranks alike, but by one that has begun more steps without asking
 * no later than its deadline.  What trainers call of a world
 * (czr_world_all_reduce and the like) is for memory of the host. */
#ifndef CZR_CUDA_WORLD_PROCESS_H
#define CZR_CUDA_WORLD_PROCESS_H

#include "runtime/cuda/driver/nvrtc.h"
#include "runtime/cuda/world/world_nccl.h"
#include "runtime/czr_cuda.h"

typedef struct czr_process czr_process;

typedef struct czr_process_options {
    czr_context *context; /* of this rank's own GPU, entered; the caller's, open
                           * as long as the process is */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened; NULL:
                           * CZR_ERR_DEVICE_CODE */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_options engine;
    /* But for `sums`, `is_strict` and `deadline_ms`, which the plan, the
     * engine's options and this know. */
    czr_world_nccl_options world;
    bool is_captured; /* steps behind the first are launched as graphs, as in
                       * loopback.h, by all ranks or by none: they agree on it
                       * at the end of the first step, for which all wait.  All
                       * ask for it alike: else CZR_ERR_MISMATCH */
} czr_process_options;

/* Collective: all ranks of the plan's mesh come, or none gets on.  All memory
 * is taken and all code is loaded here.  If it fails, *out is NULL, or says why
 * (czr_process_error) and wants to be closed. */
czr_status czr_process_open(const czr_process_options *options,
                            const czr_cuda_program *program, czr_process **out);
/* Waits for what is there.  Collective, where nothing has failed.  NULL is
 * allowed. */
void czr_process_close(czr_process *process);
/* The first failure, as a sentence; "" if none. */
const char *czr_process_error(const czr_process *process);

/* As czr_loopback_describe. */
void czr_process_describe(const czr_process *process,
                          void (*say)(void *user, const char *line),
                          void *user);

/* Closed with the rest. */
czr_engine *czr_process_engine(czr_process *process);
czr_world *czr_process_world(czr_process *process);
/* How many graphs there are so far. */
int czr_process_graphs(const czr_process *process);

/* A step of this rank, collective.  Work that `stream` has comes first, and
 * what is put there later finds the updated parameters; NULL: gradients are
 * there, and parameters wanted when somebody has waited. With a result it waits
 * until all is done, and returns what czr_step says. With NULL it does not
 * wait; what went wrong is said by a later call, which does nothing else then:
 * CZR_ERR_GRADIENT and a step that is undone once, all else for good.  But
 * where rules have phases it waits for the decision of the step before; with a
 * result, too. */
czr_status czr_process_step(czr_process *process, const czr_hyper *hyper,
                            czr_stream stream, czr_result *result);

#endif
