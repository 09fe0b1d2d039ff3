/* The host as a device: everything happens at once, in list order, which is
 * one of the orders that streams and waits allow. */
#include "runtime/device/device.h"

#include "runtime/base/box.h"
#include "runtime/base/memory.h"
#include "runtime/math/product.h"

static void *alloc_host(czr_device *device, size_t n, size_t size)
{
    (void)device;
    return czr_alloc(n, size);
}

static void release_host(czr_device *device, void *memory)
{
    (void)device;
    czr_free(memory);
}

static void copy_host(czr_device *device, void *to, const void *from,
                      size_t bytes)
{
    (void)device;
    if (bytes)
        memmove(to, from, bytes);
}

static void copy_box_host(czr_device *device, unsigned char *to_base,
                          const czr_box *to, const unsigned char *from_base,
                          const czr_box *from)
{
    (void)device;
    czr_box_copy(to_base, to, from_base, from);
}

static void convert_host(czr_device *device, void *to, czr_dtype to_dtype,
                         const void *from, czr_dtype from_dtype, size_t n)
{
    (void)device;
    czr_convert(to, to_dtype, from, from_dtype, n);
}

static void fill_host(czr_device *device, void *to, czr_dtype dtype,
                      double value, size_t n, size_t step)
{
    unsigned char *at = to;

    (void)device;
    if (step == 1) {
        czr_fill(to, dtype, value, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        czr_fill(at + i * step * czr_dtype_bytes(dtype), dtype, value, 1);
}

static void fill_bytes_host(czr_device *device, void *to, unsigned char value,
                            size_t bytes)
{
    (void)device;
    memset(to, value, bytes);
}

static void mirror_host(czr_device *device, const czr_band *band, void *matrix,
                        size_t element_bytes)
{
    (void)device;
    czr_band_mirror(band, matrix, element_bytes);
}

static void mirror_lower_host(czr_device *device, void *matrix, czr_dtype dtype,
                              size_t n)
{
    (void)device;
    czr_mirror_lower(matrix, dtype, n);
}

static void hash_host(czr_device *device, uint64_t *to, const void *from,
                      size_t element_bytes, size_t n)
{
    (void)device;
    *to = czr_hash(from, element_bytes, n);
}

static void launch_host(czr_device *device, czr_kernel kernel,
                        const czr_call *call)
{
    (void)device;
    kernel(call);
}

static czr_status submit(czr_device *device, int op)
{
    return device->task(device->user, op);
}

static czr_status finish(czr_device *device)
{
    (void)device;
    return CZR_OK;
}

static void close_host(czr_device *device)
{
    czr_free(device);
}

const czr_device_ops czr_host_ops = {
    .name = "host",
    .alloc = alloc_host,
    .release = release_host,
    .copy = copy_host,
    .copy_box = copy_box_host,
    .convert = convert_host,
    .fill = fill_host,
    .fill_bytes = fill_bytes_host,
    .mirror = mirror_host,
    .mirror_lower = mirror_lower_host,
    .hash = hash_host,
    .launch = launch_host,
    .submit = submit,
    .finish = finish,
    .close = close_host,
};

czr_status czr_device_host_open(const czr_program *program, czr_task task,
                                void *user, czr_device **out)
{
    czr_device *device = czr_alloc(1, sizeof *device);

    *out = device;
    if (!device)
        return CZR_ERR_NO_MEMORY;
    *device = (czr_device){&czr_host_ops, program, task, user};
    return CZR_OK;
}
