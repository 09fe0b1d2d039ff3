/* One device of the CUDA driver: memory, streams, events, copies.  What goes
 * wrong is kept as a sentence; the first failure stays.  One thread at a time.
 */
#ifndef CZR_CUDA_DRIVER_CONTEXT_H
#define CZR_CUDA_DRIVER_CONTEXT_H

#include "runtime/cuda/driver/driver.h"

#include <stdbool.h>

/* The oldest compute capability that there is code for: 8.0. */
enum { CZR_CONTEXT_MAJOR = 8 };

/* Of the device's memory; 0 is nowhere.  The host does not touch it. */
typedef uint64_t czr_address;

typedef struct czr_context {
    const czr_driver *driver; /* the caller's, open as long as this */
    int device;               /* CUdevice */
    void *handle;             /* the primary context, which others share */
    bool is_retained;
    char name[128];
    int major, minor;        /* compute capability */
    int n_processors;        /* multiprocessors */
    int shared_memory_bytes; /* of one block, at most, when a kernel asks for it
                              */
    bool is_capturing;       /* between the begin and the end of a graph */
    czr_status status;       /* of the first failure */
    char error[CZR_DRIVER_MESSAGE]; /* its sentence, "" if none */
} czr_context;

/* Device `ordinal` of those that the driver shows, current on this thread then.
 * If it fails, *out is NULL and `message` says why: CZR_ERR_NO_DEVICE,
 * CZR_ERR_DEVICE_CODE where the device is older than CZR_CONTEXT_MAJOR, or what
 * the driver says. */
czr_status czr_context_open(const czr_driver *driver, int ordinal,
                            czr_context **out,
                            char message[CZR_DRIVER_MESSAGE]);
/* What was taken from it has been given back before.  NULL is allowed. */
void czr_context_close(czr_context *context);

/* For this thread: every thread does so before anything below. */
czr_status czr_context_enter(czr_context *context);

/* The status of a CUresult.  If it is a failure, `format` says what could not
 * be done, and the driver's reason follows it. */
czr_status czr_context_check(czr_context *context, int code, const char *format,
                             ...) __attribute__((format(printf, 3, 4)));

/* `bytes` > 0, aligned to 256, of no known content.  CZR_ERR_NO_MEMORY says how
 * much was asked for and how much there is.  Whoever frees has waited for all
 * that uses it; freeing 0 or NULL does nothing. */
czr_status czr_context_alloc(czr_context *context, size_t bytes,
                             czr_address *out);
void czr_context_free(czr_context *context, czr_address address);
/* Of the host, where copies run beside its work. */
czr_status czr_context_alloc_pinned(czr_context *context, size_t bytes,
                                    void **out);
void czr_context_free_pinned(czr_context *context, void *memory);

/* Streams that do not wait for the legacy one; events without times.  Blocks of
 * kernels on an urgent one start before those of others that are ready. */
czr_status czr_context_open_stream(czr_context *context, void **out);
czr_status czr_context_open_urgent_stream(czr_context *context, void **out);
void czr_context_close_stream(czr_context *context, void *stream);
czr_status czr_context_open_event(czr_context *context, void **out);
void czr_context_close_event(czr_context *context, void *event);

/* Behind what the stream has.  Either end is the device's or the host's; memory
 * of the host that is not pinned may make the caller wait.  No overlap. */
czr_status czr_context_copy(czr_context *context, czr_address to,
                            czr_address from, size_t bytes, void *stream);
/* `n_rows` runs of `row_bytes`, so far apart at either end; of the device. */
czr_status czr_context_copy_box(czr_context *context, czr_address to,
                                size_t to_stride, czr_address from,
                                size_t from_stride, size_t n_rows,
                                size_t row_bytes, void *stream);
czr_status czr_context_fill(czr_context *context, czr_address to,
                            unsigned char value, size_t bytes, void *stream);
czr_status czr_context_record(czr_context *context, void *event, void *stream);
/* The same; where the stream is captured, each launch of the graph records it,
 * so that streams beside the graph wait for what the stream has here. */
czr_status czr_context_announce(czr_context *context, void *event,
                                void *stream);
czr_status czr_context_wait(czr_context *context, void *stream, void *event);
/* The caller waits until the stream is empty.  CZR_ERR_TIMEOUT: it was not
 * after `deadline_ms`; 0: for ever. */
czr_status czr_context_synchronize(czr_context *context, void *stream,
                                   int64_t deadline_ms);
/* Or until, with a deadline, the caller has heard enough. */
typedef bool czr_context_is_enough(const void *user);
czr_status czr_context_synchronize_or(czr_context *context, void *stream,
                                      int64_t deadline_ms,
                                      czr_context_is_enough *is_enough,
                                      const void *user);
/* Before memory that the stream's work uses is given back: waits for that,
 * failed or not, unless the context has timed out. */
void czr_context_drain(czr_context *context, void *stream);

static inline czr_address czr_address_of(const void *pointer)
{
    return (czr_address)(uintptr_t)pointer;
}

static inline void *czr_pointer_of(czr_address address)
{
    void *pointer;

    _Static_assert(sizeof pointer == sizeof address, "pointers of 64 bits");
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

#endif
