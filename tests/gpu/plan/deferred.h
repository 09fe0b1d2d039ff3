/* Functions of the host as kernels of the double of the driver: what one is
 * given is kept until its stream comes there. */
#ifndef TESTS_CUDA_DEFERRED_H
#define TESTS_CUDA_DEFERRED_H

#include "runtime/cuda/driver/module.h"

typedef void (*deferred_work)(const void *given);

typedef struct deferred {
    czr_context *context;
    czr_module module;
    void *kernel;
} deferred;

czr_status deferred_open(czr_context *context, deferred *out);
/* Also half-open ones; behind all that was put on streams. */
void deferred_close(deferred *d);
/* Launches `work` with a copy of `given`. */
czr_status deferred_put(const deferred *d, deferred_work work,
                        const void *given, size_t bytes, void *stream);

/* From now on what was run may be run again, as graphs do; all is dropped when
 * a launcher closes. */
void deferred_keep(bool keeps);

/* For works: so many bytes of the device's memory, or, out of bounds, NULL, and
 * the context is lost. */
void *deferred_at(const void *pointer, size_t bytes);

#endif
