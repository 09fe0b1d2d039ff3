/* The table of functions over a queue.  What returns nothing keeps its failure
 * for the next function that returns a status. */
#include "runtime/cuda/exec/device.h"

#include "runtime/cuda/collect/box.h"
#include "runtime/base/memory.h"

typedef struct cuda_device {
    czr_device base;
    czr_context *context;
    czr_collect *collect;
    czr_queue *queue;
    int64_t deadline_ms;
    void *current; /* stream of the operation that runs; NULL: none does */
    void *outside; /* stream of what is done at once */
    void *ended;   /* event of the last step; NULL: none */
    czr_status status;
} cuda_device;

static void keep(cuda_device *device, czr_status status)
{
    if (device->status == CZR_OK)
        device->status = status;
}

/* ---- memory ------------------------------------------------------------- */

static czr_status zero(cuda_device *device, czr_address address, size_t bytes)
{
    const czr_status status =
        czr_context_fill(device->context, address, 0, bytes, device->outside);

    return status == CZR_OK
               ? czr_context_synchronize(device->context, device->outside,
                                         device->deadline_ms)
               : status;
}

static void *alloc_cuda(czr_device *base, size_t n, size_t size)
{
    cuda_device *device = (cuda_device *)base;
    czr_address address;
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) ||
        bytes > SIZE_MAX - CZR_ALIGN ||
        czr_context_enter(device->context) != CZR_OK)
        return NULL;
    bytes = czr_round_up(bytes ? bytes : 1);
    if (czr_context_alloc(device->context, bytes, &address) != CZR_OK)
        return NULL;
    if (zero(device, address, bytes) != CZR_OK) {
        czr_context_drain(device->context, device->outside);
        czr_context_free(device->context, address);
        return NULL;
    }
    return czr_pointer_of(address);
}

static void release_cuda(czr_device *base, void *memory)
{
    cuda_device *device = (cuda_device *)base;

    if (!memory)
        return;
    czr_context_enter(device->context);
    czr_queue_drain(device->queue);
    czr_context_drain(device->context, device->outside);
    czr_context_free(device->context, czr_address_of(memory));
}

/* ---- copies and arithmetic ---------------------------------------------- */

/* Whether this thread's calls are the device's from here on. */
static bool enter(cuda_device *device)
{
    const czr_status status = czr_context_enter(device->context);

    keep(device, status);
    return status == CZR_OK;
}

/* Behind what was put on a stream outside of operations. */
static void settle(cuda_device *device, czr_status status)
{
    if (status == CZR_OK && !device->current)
        status = czr_context_synchronize(device->context, device->outside,
                                         device->deadline_ms);
    keep(device, status);
}

static void *stream_of(const cuda_device *device)
{
    return device->current ? device->current : device->outside;
}

static void copy_cuda(czr_device *base, void *to, const void *from,
                      size_t bytes)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device, czr_context_copy(device->context, czr_address_of(to),
                                        czr_address_of(from), bytes,
                                        stream_of(device)));
}

static void copy_box_cuda(czr_device *base, unsigned char *to_base,
                          const czr_box *to, const unsigned char *from_base,
                          const czr_box *from)
{
    cuda_device *device = (cuda_device *)base;
    czr_boxes boxes = {.collect = device->collect, .stream = stream_of(device)};

    if (!enter(device))
        return;
    const czr_status status = czr_box_put(device->context, &boxes, to_base, to,
                                          from_base, from, boxes.stream);
    settle(device, status == CZR_OK ? czr_boxes_put(&boxes) : status);
}

static void fill_bytes_cuda(czr_device *base, void *to, unsigned char value,
                            size_t bytes)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device, czr_context_fill(device->context, czr_address_of(to),
                                        value, bytes, stream_of(device)));
}

static void convert_cuda(czr_device *base, void *to, czr_dtype to_dtype,
                         const void *from, czr_dtype from_dtype, size_t n)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device,
               czr_collect_convert(device->collect, to, to_dtype, from,
                                   from_dtype, n, NULL, stream_of(device)));
}

/* Neighbours, or the diagonal of a square matrix. */
static void fill_cuda(czr_device *base, void *to, czr_dtype dtype, double value,
                      size_t n, size_t step)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device,
               (step == 1 ? czr_collect_fill : czr_collect_fill_diagonal)(
                   device->collect, to, dtype, value, n, stream_of(device)));
}

static void mirror_cuda(czr_device *base, const czr_band *band, void *matrix,
                        size_t element_bytes)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device,
               czr_collect_band_mirror(device->collect, matrix, element_bytes,
                                       *band, stream_of(device)));
}

static void hash_cuda(czr_device *base, uint64_t *to, const void *from,
                      size_t element_bytes, size_t n)
{
    cuda_device *device = (cuda_device *)base;

    if (!enter(device))
        return;
    const czr_status status = czr_context_fill(
        device->context, czr_address_of(to), 0, sizeof *to, stream_of(device));
    settle(device, status == CZR_OK
                       ? czr_collect_hash(device->collect, to, from,
                                          element_bytes, n, stream_of(device))
                       : status);
}

static void mirror_lower_cuda(czr_device *base, void *matrix, czr_dtype dtype,
                              size_t n)
{
    cuda_device *device = (cuda_device *)base;

    if (enter(device))
        settle(device, czr_collect_mirror_lower(device->collect, matrix, dtype,
                                                n, stream_of(device)));
}

/* ---- operations --------------------------------------------------------- */

czr_status czr_device_cuda_begin(czr_device *base, int op, void **stream)
{
    cuda_device *device = (cuda_device *)base;

    czr_status status = czr_context_enter(device->context);
    if (status == CZR_OK)
        status = czr_queue_begin(device->queue, op, &device->current);
    *stream = device->current;
    return status;
}

czr_status czr_device_cuda_end(czr_device *base, int op)
{
    cuda_device *device = (cuda_device *)base;

    device->current = NULL;
    const czr_status status = czr_queue_end(device->queue, op);
    return device->status != CZR_OK ? device->status : status;
}

czr_status czr_device_cuda_use(czr_device *base, void *stream)
{
    cuda_device *device = (cuda_device *)base;

    device->current = stream;
    return device->status;
}

czr_status czr_device_cuda_follow(czr_device *base, void *event)
{
    cuda_device *device = (cuda_device *)base;

    device->ended = event;
    return czr_context_wait(device->context, device->outside, event);
}

static czr_status follow_cuda(czr_device *base, czr_stream stream)
{
    cuda_device *device = (cuda_device *)base;
    const czr_status status = czr_context_enter(device->context);

    return status == CZR_OK && device->ended
               ? czr_context_wait(device->context, stream, device->ended)
               : status;
}

/* ---- opening ------------------------------------------------------------ */

static void close_cuda(czr_device *base)
{
    cuda_device *device = (cuda_device *)base;

    czr_context_enter(device->context);
    czr_queue_close(device->queue);
    czr_context_close_stream(device->context, device->outside);
    czr_free(device);
}

static const czr_device_ops cuda_ops = {
    .name = "cuda",
    .alloc = alloc_cuda,
    .release = release_cuda,
    .copy = copy_cuda,
    .copy_box = copy_box_cuda,
    .convert = convert_cuda,
    .fill = fill_cuda,
    .fill_bytes = fill_bytes_cuda,
    .mirror = mirror_cuda,
    .mirror_lower = mirror_lower_cuda,
    .hash = hash_cuda,
    .follow = follow_cuda,
    .close = close_cuda,
};

czr_status czr_device_cuda_open(const czr_device_cuda_options *options,
                                const czr_program *program, czr_device **out)
{
    czr_context *context = options->context;
    cuda_device *device = czr_alloc(1, sizeof *device);

    *out = NULL;
    if (!device)
        return czr_context_check(context, CZR_CUDA_OUT_OF_MEMORY, "a device");
    device->base = (czr_device){.ops = &cuda_ops, .program = program};
    device->context = context;
    device->collect = options->collect;
    device->deadline_ms = options->deadline_ms;
    czr_status status = czr_context_enter(context);
    if (status == CZR_OK)
        status = czr_context_open_stream(context, &device->outside);
    if (status == CZR_OK)
        status = czr_queue_open(context, program, &device->queue);
    if (status != CZR_OK) {
        close_cuda(&device->base);
        return status;
    }
    *out = &device->base;
    return CZR_OK;
}

czr_queue *czr_device_cuda_queue(czr_device *device)
{
    return ((cuda_device *)device)->queue;
}
