/* A GPU as a device of the runtime: operations on streams.
 *
 * The memory that it gives is the GPU's, and nothing but its functions and
 * kernels may touch that.  Copies reach memory of the host, too. */
#ifndef CZR_CUDA_EXEC_DEVICE_H
#define CZR_CUDA_EXEC_DEVICE_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/exec/queue.h"
#include "runtime/device/device.h"

typedef struct czr_device_cuda_options {
    czr_context *context; /* the caller's, open until the device is closed */
    czr_collect *collect; /* the caller's, as the context */
    int64_t deadline_ms;  /* of what is waited for at once; 0: none */
} czr_device_cuda_options;

/* If it or anything later fails, the context says why. */
czr_status czr_device_cuda_open(const czr_device_cuda_options *options,
                                const czr_program *program, czr_device **out);

/* The rest is of a device that the above opened. */
czr_queue *czr_device_cuda_queue(czr_device *device);
/* An operation behind its stream and its waits, in place of a submit, so that
 * other devices may have theirs meanwhile: what is asked for between begin and
 * end is put on *stream. */
czr_status czr_device_cuda_begin(czr_device *device, int op, void **stream);
czr_status czr_device_cuda_end(czr_device *device, int op);
/* From now on what is asked for outside of operations is put on `stream`, and
 * not waited for; NULL: done at once, as in the beginning.  Returns the first
 * failure of functions that return nothing. */
czr_status czr_device_cuda_use(czr_device *device, void *stream);
/* What is done at once comes behind the event from now on, and so do streams
 * that are asked to follow; it stays where it is. */
czr_status czr_device_cuda_follow(czr_device *device, void *event);

#endif
