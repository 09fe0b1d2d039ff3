/* All ranks of a plan on one GPU, for one thread: N engines whose world copies
 * and adds up between their memories.  It shows that a plan runs and what comes
 * of it, with the bits of any other world in strict mode; it is no faster than
 * one rank.
 *
 *     czr_loopback_open(&options, &NAME_cuda, &loopback);
 *     engine = czr_loopback_engine(loopback, rank), and for each
 *         czr_bind(engine, ...), czr_seal(engine)
 *     czr_loopback_step(loopback, &hyper, stream, NULL), step by step
 *     czr_loopback_close(loopback)
 *
 * Engines are used as on the host, but: tensors, places (czr_layout) and states
 * (czr_state_get) are the device's, a bound tensor may lie on either; czr_step
 * is not called; behind czr_grad_ready the reductions of buckets that are
 * complete on all ranks wait for what the producers' streams have, and for
 * nothing else; czr_param_wait makes a stream wait for the parameter's bucket
 * in the last step, and for the end of that step where it may be undone, where
 * the parameter is copied, and where other ranks have it; where steps are
 * undone, all of the parameters has a second copy; without, a rule that failed,
 * a factorisation too, is said by all ranks from the next step on; counters
 * count what was put on streams, that of a step that the device skips, too.
 * What trainers call of a world is not there. */
#ifndef CZR_CUDA_WORLD_LOOPBACK_H
#define CZR_CUDA_WORLD_LOOPBACK_H

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/driver/nvrtc.h"
#include "runtime/czr_cuda.h"

#include <stdbool.h>

typedef struct czr_loopback czr_loopback;

typedef struct czr_loopback_options {
    czr_context *context; /* the caller's, open as long as the ranks are */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened; NULL:
                           * CZR_ERR_DEVICE_CODE */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_options engine;
    bool is_captured; /* steps behind the first are launched as graphs, one for
                       * each reduction of a bucket, and one of what follows for
                       * each choice of phases, as far as 32; not where tensors
                       * are copied in and out, nor where a stage waits for the
                       * device, as large factorisations do.  With phases each
                       * step then waits for the end of the one before. */
} czr_loopback_options;

/* The engines of all ranks: all memory is taken and all code is loaded here. If
 * it fails, *out is NULL, or says why (czr_loopback_error) and wants to be
 * closed. */
czr_status czr_loopback_open(const czr_loopback_options *options,
                             const czr_cuda_program *program,
                             czr_loopback **out);
/* Waits for what is there.  NULL is allowed. */
void czr_loopback_close(czr_loopback *loopback);
/* The first failure, as a sentence; "" if none. */
const char *czr_loopback_error(const czr_loopback *loopback);

int czr_loopback_size(const czr_loopback *loopback);
/* Closed with the rest; NULL: no such rank. */
czr_engine *czr_loopback_engine(czr_loopback *loopback, int rank);

/* For a log, when it has opened: which code the GPU runs, and what computes
 * each product and factorisation, as czr_cuda_products_describe says. */
void czr_loopback_describe(const czr_loopback *loopback,
                           void (*say)(void *user, const char *line),
                           void *user);

/* How many graphs there are so far. */
int czr_loopback_graphs(const czr_loopback *loopback);

/* A step of all ranks.  Work that `stream` has comes first, and what is put
 * there later finds the updated parameters; NULL: gradients are there, and
 * parameters wanted when somebody has waited.
 *   With results, one for each rank, it waits until all is done, and returns
 * what czr_step says.  With NULL it does not wait; what went wrong is said by a
 * later call, which does nothing else then: CZR_ERR_GRADIENT and a step that is
 * undone once, all else for good.  But where rules have phases it waits for the
 * decision of the step before, on which the phases depend; with results, too.
 */
czr_status czr_loopback_step(czr_loopback *loopback, const czr_hyper *hyper,
                             czr_stream stream, czr_result *results);

#endif
