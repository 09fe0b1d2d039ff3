/* What a device is inside: a table of functions that takes memory, copies,
 * launches kernels, and orders operations by streams and waits. */
#ifndef CZR_DEVICE_H
#define CZR_DEVICE_H

#include "runtime/czr.h"

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
    void (*launch)(czr_device *device, czr_kernel kernel, const czr_call *call);
    /* Puts an operation behind its stream and its waits.  Operations come in
     * list order; one that never comes is skipped and orders nothing. */
    czr_status (*submit)(czr_device *device, int op);
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

/* Parts that both host devices have in common. */
void *czr_host_alloc(czr_device *device, size_t n, size_t size);
void czr_host_release(czr_device *device, void *memory);
void czr_host_copy(czr_device *device, void *to, const void *from,
                   size_t bytes);
void czr_host_launch(czr_device *device, czr_kernel kernel,
                     const czr_call *call);

#endif
