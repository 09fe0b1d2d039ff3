/* What a device is inside: a table of functions that takes memory, copies,
 * launches kernels, and orders operations by streams and waits. */
#ifndef CZR_DEVICE_DEVICE_H
#define CZR_DEVICE_DEVICE_H

#include "runtime/base/band.h"
#include "runtime/base/box.h"

#include <stdbool.h>

typedef struct czr_device czr_device;

/* Carries out operation `op` of the plan: communication and launches. */
typedef czr_status (*czr_task)(void *user, int op);

typedef struct czr_device_ops {
    const char *name;
    /* n * size zeroed bytes, aligned to CZR_ALIGN; NULL without memory. */
    void *(*alloc)(czr_device *device, size_t n, size_t size);
    void (*release)(czr_device *device, void *memory);
    /* Called by the task, both may return before it is done: they belong to the
     * operation that runs, in the order of the calls.  Where one fails, submit
     * or finish says so.  A copy outside of operations is done on return. */
    void (*copy)(czr_device *device, void *to, const void *from, size_t bytes);
    /* As copies.  Boxes of one shape behind two bases; elements from one type
     * to another, no overlap; n elements, `step` apart, set to a value that is
     * rounded to the type; czr_band_mirror; the part of a matrix of n rows
     * above the diagonal from the one below. */
    void (*copy_box)(czr_device *device, unsigned char *to_base,
                     const czr_box *to, const unsigned char *from_base,
                     const czr_box *from);
    void (*convert)(czr_device *device, void *to, czr_dtype to_dtype,
                    const void *from, czr_dtype from_dtype, size_t n);
    void (*fill)(czr_device *device, void *to, czr_dtype dtype, double value,
                 size_t n, size_t step);
    void (*fill_bytes)(czr_device *device, void *to, unsigned char value,
                       size_t bytes);
    void (*mirror)(czr_device *device, const czr_band *band, void *matrix,
                   size_t element_bytes);
    void (*mirror_lower)(czr_device *device, void *matrix, czr_dtype dtype,
                         size_t n);
    /* Outside of operations: *to, the device's, becomes czr_hash. */
    void (*hash)(czr_device *device, uint64_t *to, const void *from,
                 size_t element_bytes, size_t n);
    /* These two and finish are NULL where ranks of a device step together. */
    void (*launch)(czr_device *device, czr_kernel kernel, const czr_call *call);
    /* Puts an operation behind its stream and its waits.  Operations come in
     * list order; one that never comes is skipped and orders nothing. */
    czr_status (*submit)(czr_device *device, int op);
    /* What is put on a stream of the caller's from now on comes behind the last
     * step; NULL: where there are no streams. */
    czr_status (*follow)(czr_device *device, czr_stream stream);
    /* Completes all that was submitted, and starts a new list. */
    czr_status (*finish)(czr_device *device);
    void (*close)(czr_device *device);
} czr_device_ops;

struct czr_device {
    const czr_device_ops *ops;
    const czr_program *program;
    czr_task task;
    void *user;
};

/* Runs each operation at once. */
czr_status czr_device_host_open(const czr_program *program, czr_task task,
                                void *user, czr_device **out);
/* Runs an operation only when a later one waits for it or the step ends, and
 * then the last ones first: what works here relies on no order but the
 * plan's.  Communication keeps its order, as NCCL demands. */
czr_status czr_device_late_open(const czr_program *program, czr_task task,
                                void *user, czr_device **out);

/* What both host devices have in common: all but submit, finish and close. */
extern const czr_device_ops czr_host_ops;

#endif
