/* Each function makes one call of the driver and keeps what went wrong. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/driver/clock.h"

/* ---- failures ----------------------------------------------------------- */

czr_status czr_context_check(czr_context *context, int code, const char *format,
                             ...)
{
    va_list args;

    if (code == CZR_CUDA_SUCCESS)
        return CZR_OK;
    const czr_status status = czr_driver_status(code);
    if (context->status != CZR_OK)
        return status;
    const size_t room = sizeof context->error;
    va_start(args, format);
    const int n = vsnprintf(context->error, room, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < room)
        snprintf(context->error + n, room - (size_t)n, ": %s (%d)",
                 czr_driver_text(context->driver, code), code);
    context->status = status;
    return status;
}

/* ---- opening ------------------------------------------------------------ */

static czr_status check_ordinal(czr_context *context, int ordinal)
{
    const czr_driver *driver = context->driver;
    int n = 0;

    czr_status status =
        czr_context_check(context, driver->device_count(&n), "counting GPUs");
    if (status != CZR_OK)
        return status;
    if (ordinal < 0 || ordinal >= n)
        return czr_context_check(context, CZR_CUDA_INVALID_DEVICE,
                                 "GPU %d of %d", ordinal, n);
    return czr_context_check(context,
                             driver->device_get(&context->device, ordinal),
                             "GPU %d", ordinal);
}

static czr_status ask_attributes(czr_context *context)
{
    const struct {
        int attribute;
        int *value;
    } rows[] = {
        {CZR_DEVICE_COMPUTE_CAPABILITY_MAJOR, &context->major},
        {CZR_DEVICE_COMPUTE_CAPABILITY_MINOR, &context->minor},
        {CZR_DEVICE_MULTIPROCESSOR_COUNT, &context->n_processors},
        {CZR_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         &context->shared_memory_bytes},
    };
    const czr_driver *driver = context->driver;
    czr_status status = czr_context_check(
        context,
        driver->device_name(context->name, (int)sizeof context->name,
                            context->device),
        "asking a GPU's name");

    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == CZR_OK; i++)
        status = czr_context_check(
            context,
            driver->device_attribute(rows[i].value, rows[i].attribute,
                                     context->device),
            "asking %s for attribute %d", context->name, rows[i].attribute);
    return status;
}

static czr_status check_age(czr_context *context)
{
    if (context->major >= CZR_CONTEXT_MAJOR)
        return CZR_OK;
    return czr_context_check(context, CZR_CUDA_NO_BINARY_FOR_GPU,
                             "%s has compute capability %d.%d, and %d.0 or "
                             "later is needed",
                             context->name, context->major, context->minor,
                             CZR_CONTEXT_MAJOR);
}

static czr_status prepare(czr_context *context, int ordinal)
{
    czr_status status = check_ordinal(context, ordinal);

    if (status == CZR_OK)
        status = ask_attributes(context);
    if (status == CZR_OK)
        status = check_age(context);
    if (status != CZR_OK)
        return status;
    status = czr_context_check(
        context,
        context->driver->primary_retain(&context->handle, context->device),
        "opening %s", context->name);
    context->is_retained = status == CZR_OK;
    return status == CZR_OK ? czr_context_enter(context) : status;
}

czr_status czr_context_open(const czr_driver *driver, int ordinal,
                            czr_context **out, char message[CZR_DRIVER_MESSAGE])
{
    czr_context *context = calloc(1, sizeof *context);

    *out = NULL;
    message[0] = '\0';
    if (!context) {
        snprintf(message, CZR_DRIVER_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    context->driver = driver;
    const czr_status status = prepare(context, ordinal);
    if (status != CZR_OK) {
        snprintf(message, CZR_DRIVER_MESSAGE, "%s", context->error);
        czr_context_close(context);
        return status;
    }
    *out = context;
    return CZR_OK;
}

void czr_context_close(czr_context *context)
{
    if (!context)
        return;
    if (context->is_retained) {
        context->driver->set_current(NULL);
        context->driver->primary_release(context->device);
    }
    free(context);
}

czr_status czr_context_enter(czr_context *context)
{
    return czr_context_check(context,
                             context->driver->set_current(context->handle),
                             "entering the context of %s", context->name);
}

/* ---- memory ------------------------------------------------------------- */

czr_status czr_context_alloc(czr_context *context, size_t bytes,
                             czr_address *out)
{
    const czr_driver *driver = context->driver;
    size_t available = 0, total = 0;

    *out = 0;
    const int code = driver->memory_alloc(out, bytes);
    if (code == CZR_CUDA_SUCCESS)
        return CZR_OK;
    *out = 0;
    if (driver->memory_info(&available, &total))
        return czr_context_check(context, code, "%zu bytes on %s", bytes,
                                 context->name);
    return czr_context_check(context, code,
                             "%zu bytes on %s, which has %zu of %zu left",
                             bytes, context->name, available, total);
}

void czr_context_free(czr_context *context, czr_address address)
{
    if (address)
        czr_context_check(context, context->driver->memory_free(address),
                          "freeing memory of %s", context->name);
}

czr_status czr_context_alloc_pinned(czr_context *context, size_t bytes,
                                    void **out)
{
    *out = NULL;
    const czr_status status =
        czr_context_check(context, context->driver->pinned_alloc(out, bytes),
                          "%zu bytes of pinned memory", bytes);
    if (status != CZR_OK)
        *out = NULL;
    return status;
}

void czr_context_free_pinned(czr_context *context, void *memory)
{
    if (memory)
        czr_context_check(context, context->driver->pinned_free(memory),
                          "freeing pinned memory");
}

/* ---- streams and events ------------------------------------------------- */

static czr_status open_stream(czr_context *context, int priority, void **out)
{
    *out = NULL;
    return czr_context_check(
        context,
        context->driver->stream_create(out, CZR_STREAM_NON_BLOCKING, priority),
        "opening a stream");
}

czr_status czr_context_open_stream(czr_context *context, void **out)
{
    return open_stream(context, 0, out);
}

czr_status czr_context_open_urgent_stream(czr_context *context, void **out)
{
    int least, greatest;
    const czr_status status = czr_context_check(
        context, context->driver->stream_priorities(&least, &greatest),
        "asking for the priorities of streams");

    *out = NULL;
    return status == CZR_OK ? open_stream(context, greatest, out) : status;
}

void czr_context_close_stream(czr_context *context, void *stream)
{
    if (stream)
        czr_context_check(context, context->driver->stream_destroy(stream),
                          "closing a stream");
}

czr_status czr_context_open_event(czr_context *context, void **out)
{
    *out = NULL;
    return czr_context_check(
        context, context->driver->event_create(out, CZR_EVENT_DISABLE_TIMING),
        "opening an event");
}

void czr_context_close_event(czr_context *context, void *event)
{
    if (event)
        czr_context_check(context, context->driver->event_destroy(event),
                          "closing an event");
}

czr_status czr_context_copy(czr_context *context, czr_address to,
                            czr_address from, size_t bytes, void *stream)
{
    if (!bytes)
        return CZR_OK;
    return czr_context_check(context,
                             context->driver->copy(to, from, bytes, stream),
                             "copying %zu bytes", bytes);
}

czr_status czr_context_copy_box(czr_context *context, czr_address to,
                                size_t to_stride, czr_address from,
                                size_t from_stride, size_t n_rows,
                                size_t row_bytes, void *stream)
{
    const czr_copy_box box = {.from = {.type = CZR_MEMORY_TYPE_DEVICE,
                                       .address = from,
                                       .stride = from_stride},
                              .to = {.type = CZR_MEMORY_TYPE_DEVICE,
                                     .address = to,
                                     .stride = to_stride},
                              .row_bytes = row_bytes,
                              .n_rows = n_rows};

    if (n_rows < 2 || (to_stride == row_bytes && from_stride == row_bytes))
        return czr_context_copy(context, to, from, n_rows * row_bytes, stream);
    if (!row_bytes)
        return CZR_OK;
    return czr_context_check(context, context->driver->copy_box(&box, stream),
                             "copying %zu rows of %zu bytes", n_rows,
                             row_bytes);
}

czr_status czr_context_fill(czr_context *context, czr_address to,
                            unsigned char value, size_t bytes, void *stream)
{
    if (!bytes)
        return CZR_OK;
    return czr_context_check(context,
                             context->driver->fill(to, value, bytes, stream),
                             "filling %zu bytes", bytes);
}

czr_status czr_context_record(czr_context *context, void *event, void *stream)
{
    return czr_context_check(context,
                             context->driver->event_record(event, stream),
                             "recording an event");
}

czr_status czr_context_announce(czr_context *context, void *event, void *stream)
{
    if (!context->is_capturing)
        return czr_context_record(context, event, stream);
    return czr_context_check(context,
                             context->driver->event_record_with(
                                 event, stream, CZR_EVENT_RECORD_EXTERNAL),
                             "recording an event in a graph");
}

czr_status czr_context_wait(czr_context *context, void *stream, void *event)
{
    return czr_context_check(context,
                             context->driver->stream_wait(stream, event, 0),
                             "making a stream wait");
}

/* CZR_CUDA_NOT_READY when the time is over.  At first it does not sleep: most
 * streams are near their end. */
static int poll_stream(const czr_driver *driver, void *stream,
                       int64_t deadline_ms, czr_context_is_enough *is_enough,
                       const void *user)
{
    static const struct timespec pause = {0, 50000};
    const int64_t start = czr_now_ms();

    for (;;) {
        const int code = driver->stream_query(stream);
        const int64_t passed = czr_now_ms() - start;
        if (code != CZR_CUDA_NOT_READY || passed >= deadline_ms)
            return code;
        if (is_enough && is_enough(user))
            return CZR_CUDA_SUCCESS;
        if (passed > 1)
            nanosleep(&pause, NULL);
    }
}

czr_status czr_context_synchronize(czr_context *context, void *stream,
                                   int64_t deadline_ms)
{
    return czr_context_synchronize_or(context, stream, deadline_ms, NULL, NULL);
}

czr_status czr_context_synchronize_or(czr_context *context, void *stream,
                                      int64_t deadline_ms,
                                      czr_context_is_enough *is_enough,
                                      const void *user)
{
    const czr_driver *driver = context->driver;
    const int code = deadline_ms > 0 ? poll_stream(driver, stream, deadline_ms,
                                                   is_enough, user)
                                     : driver->stream_synchronize(stream);

    if (code != CZR_CUDA_NOT_READY)
        return czr_context_check(context, code, "waiting for a stream");
    if (context->status == CZR_OK)
        snprintf(context->error, sizeof context->error,
                 "a stream of %s did not come to its end in %lld ms",
                 context->name, (long long)deadline_ms);
    return context->status = CZR_ERR_TIMEOUT;
}

/* A stream that came to no end in time would hold whoever waits again; a wait
 * that failed has not waited. */
void czr_context_drain(czr_context *context, void *stream)
{
    if (context->status != CZR_ERR_TIMEOUT &&
        czr_context_synchronize(context, stream, 0) != CZR_OK)
        czr_context_synchronize(context, stream, 0);
}
