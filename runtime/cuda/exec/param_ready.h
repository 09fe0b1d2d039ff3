/* When the parameters of a bucket are there on a rank: events behind the last
 * operations that write them, for streams of trainers to wait for.  Graphs of
 * steps record them too. */
#ifndef CZR_CUDA_EXEC_PARAM_READY_H
#define CZR_CUDA_EXEC_PARAM_READY_H

#include "runtime/cuda/driver/context.h"
#include "runtime/engine/engine.h"

typedef struct czr_cuda_param_ready {
    int n_ops, n_streams;
    void **events; /* [n_ops] of those that are the last of a bucket, else NULL
                    */
    int *lasts;    /* [n_buckets * n_streams] the last operation of the stream
                    * that writes parameters of the bucket, or -1 */
} czr_cuda_param_ready;

/* If it fails, it wants to be closed. */
czr_status czr_cuda_param_ready_open(czr_context *context,
                                     const czr_engine *engine,
                                     czr_cuda_param_ready *out);
/* Behind graphs that record its events; one that is all zero is allowed. */
void czr_cuda_param_ready_close(czr_context *context,
                                czr_cuda_param_ready *param_ready);

/* Operation `op` has been put on its stream. */
czr_status czr_cuda_param_ready_note(czr_context *context,
                                     const czr_cuda_param_ready *param_ready,
                                     int op, void *stream);
/* The consumer waits for the parameter of the last step that was put: for its
 * bucket alone, but for all of the step where that may be undone, where the
 * parameter is copied out, and where it is one of other ranks.  The engine's
 * lock is held. */
czr_status czr_cuda_param_ready_await(czr_engine *engine, int param,
                                      czr_stream consumer);

#endif
