/* The host as a device: everything happens at once, in list order, which is
 * one of the orders that streams and waits allow. */
#include "runtime/device.h"

#include "runtime/memory.h"

void *czr_host_alloc(czr_device *device, size_t n, size_t size)
{
    (void)device;
    return czr_alloc(n, size);
}

void czr_host_release(czr_device *device, void *memory)
{
    (void)device;
    czr_free(memory);
}

void czr_host_copy(czr_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    if (bytes)
        memmove(to, from, bytes);
}

void czr_host_launch(czr_device *device, czr_kernel kernel,
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

static const czr_device_ops host_ops = {
    .name = "host",
    .alloc = czr_host_alloc,
    .release = czr_host_release,
    .copy = czr_host_copy,
    .launch = czr_host_launch,
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
    *device = (czr_device){&host_ops, program, task, user};
    return CZR_OK;
}
