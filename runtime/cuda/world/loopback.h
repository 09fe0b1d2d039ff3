/* All ranks of a plan on one GPU, run by one thread.  Each rank has an engine.
 * Their world copies and adds up between their memories.
 *
 *     czr_loopback_open(&options, &NAME_cuda, &loopback);
 *     engine = czr_loopback_engine(loopback, rank);    for each rank:
 *     czr_bind(engine, ...), czr_seal(engine);
 *     czr_loopback_step(loopback, &hyper, stream, NULL);    step by step
 *     czr_loopback_close(loopback);
 *
 * It shows that a plan runs, and what comes of it.  A `strict` plan gives the
 * bits of any other world.  It is no faster than one rank.
 *
 * Engines are used as czr.h says, with these differences:
 *
 * - Pointers of czr_layout and czr_state_get are the device's.  A bound tensor
 *   may lie on the device or on the host.
 * - czr_loopback_step takes the place of czr_step.
 * - After czr_grad_ready a bucket that is complete on all ranks is reduced.
 *   The reduction waits for what the producers' streams have, and for nothing
 *   else.
 * - After czr_param_wait a stream waits for the parameter's bucket in the last
 *   step.  It waits for the end of that step if steps may be undone, if the
 *   parameter is copied, or if other ranks have it.
 * - With czr_options.undo each rank has a second copy of all its parameters,
 *   not of its slice alone.
 * - Without undo all ranks report a failed rule from the next step on, also a
 *   failed factorisation.  Parameters, also bound tensors, then hold the failed
 *   update.
 * - Counters count what was put on streams, also in a step that the device
 *   skips.
 * - Trainers have no world: there is no czr_world_all_reduce and the like. */
#ifndef CZR_CUDA_WORLD_LOOPBACK_H
#define CZR_CUDA_WORLD_LOOPBACK_H

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/library/nvrtc.h"
#include "runtime/czr_cuda.h"

#include <stdbool.h>

typedef struct czr_loopback czr_loopback;

typedef struct czr_loopback_options {
    czr_context *context; /* the caller's, open as long as the ranks */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened; NULL:
                           * CZR_ERR_DEVICE_CODE */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_options engine;   /* of every rank */
    /* true: all steps but the first are launched as graphs.
     * - Each reduction of a bucket is a graph.
     * - What follows is one graph for each choice of phases, up to 32 of them.
     *   Other choices are put anew.
     * - Nothing is captured if a tensor is copied in and out, or if a stage
     *   waits for the device, as large factorisations do.
     * - With phases each step waits for the end of the one before. */
    bool is_captured;
} czr_loopback_options;

/* Opens the engines of all ranks, takes all memory and loads all code.  If it
 * fails, *out is NULL, or must be closed and says why (czr_loopback_error).
 * CZR_ERR_DEVICE_CODE: no code for this GPU.  CZR_ERR_VERSION: malformed
 * tables.  CZR_ERR_NO_MEMORY, CZR_ERR_DEVICE. */
czr_status czr_loopback_open(const czr_loopback_options *options,
                             const czr_cuda_program *program,
                             czr_loopback **out);
/* Waits for all that was put on streams, then closes all engines.  NULL is
 * allowed. */
void czr_loopback_close(czr_loopback *loopback);
/* The first failure, as a sentence; "" if none.  The text is the loopback's. */
const char *czr_loopback_error(const czr_loopback *loopback);

/* How many ranks there are. */
int czr_loopback_size(const czr_loopback *loopback);
/* A rank's engine, which czr_loopback_close closes.  NULL: no such rank. */
czr_engine *czr_loopback_engine(czr_loopback *loopback, int rank);

/* For a log, after it has opened: which code the GPU runs, and what computes
 * each product and factorisation.  It calls `say` for each line.  A line is
 * gone when `say` returns. */
void czr_loopback_describe(const czr_loopback *loopback,
                           void (*say)(void *user, const char *line),
                           void *user);

/* How many graphs have been captured so far. */
int czr_loopback_graphs(const czr_loopback *loopback);

/* One step of all ranks.  It begins when the work of `stream` is done.  Work
 * that is put on `stream` later finds the updated parameters.  NULL is the
 * legacy default stream.  With CZR_NO_STREAM the gradients are complete before
 * the call, and the caller waits before it reads parameters.
 *
 * - With results[ranks] it waits until all is done, and returns what czr_step
 *   says.
 * - With NULL it does not wait.  A later call reports what went wrong, and does
 *   nothing else.  It reports CZR_ERR_GRADIENT and an undone step once, and
 *   every other failure for good.
 * - If rules have phases, it waits for the decision of the step before, because
 *   phases depend on it.  So it does with results. */
czr_status czr_loopback_step(czr_loopback *loopback, const czr_hyper *hyper,
                             czr_stream stream, czr_result *results);

#endif
