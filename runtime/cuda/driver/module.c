/* Code and kernels by the library interface of the driver. */
#include "runtime/cuda/driver/module.h"

/* Dynamic shared memory that every kernel has without asking. */
enum { SHARED_UNASKED = 48 << 10 };

czr_status czr_module_open(czr_context *context, const void *code,
                           const char *name, czr_module *out)
{
    *out = (czr_module){.context = context};
    const czr_status status = czr_context_check(
        context,
        context->driver->library_load(&out->library, code, NULL, NULL, 0, NULL,
                                      NULL, 0),
        "loading %s on %s (sm_%d%d)", name, context->name, context->major,
        context->minor);
    if (status != CZR_OK)
        out->library = NULL;
    return status;
}

void czr_module_close(czr_module *module)
{
    if (!module->library)
        return;
    czr_context_check(module->context,
                      module->context->driver->library_unload(module->library),
                      "unloading machine code");
    module->library = NULL;
}

/* Refused here, for the driver says no more than that a value is wrong. */
static czr_status ask_for_shared(czr_context *context, const char *name,
                                 void *kernel, int bytes)
{
    const czr_driver *driver = context->driver;
    int fixed = 0;

    czr_status status = czr_context_check(
        context,
        driver->kernel_attribute(&fixed, CZR_FUNC_SHARED_SIZE_BYTES, kernel,
                                 context->device),
        "asking kernel %s for its shared memory", name);
    if (status != CZR_OK)
        return status;
    if (bytes > context->shared_memory_bytes - fixed)
        return czr_context_check(
            context, CZR_CUDA_NO_BINARY_FOR_GPU,
            "kernel %s takes %d bytes of shared memory, and a block of %s has "
            "%d",
            name, bytes + fixed, context->name, context->shared_memory_bytes);
    if (bytes <= SHARED_UNASKED - fixed)
        return CZR_OK;
    return czr_context_check(
        context,
        driver->kernel_set_attribute(CZR_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     bytes, kernel, context->device),
        "asking for %d bytes of shared memory for kernel %s", bytes, name);
}

/* Else its code comes to the device at the first launch, which then waits for
 * all that runs there, and may be inside a capture (CUDA programming guide,
 * Lazy Loading). */
static czr_status load(czr_context *context, const char *name, void *kernel)
{
    const czr_driver *driver = context->driver;
    void *function = NULL;
    int code = driver->kernel_function(&function, kernel);

    if (code == CZR_CUDA_SUCCESS && driver->function_load)
        code = driver->function_load(function);
    return czr_context_check(context, code, "loading kernel %s", name);
}

czr_status czr_module_find(const czr_module *module, const char *name,
                           int shared_memory_bytes, void **kernel)
{
    czr_context *context = module->context;

    *kernel = NULL;
    czr_status status = czr_context_check(
        context, context->driver->library_kernel(kernel, module->library, name),
        "kernel %s", name);
    if (status == CZR_OK)
        status = ask_for_shared(context, name, *kernel, shared_memory_bytes);
    return status == CZR_OK ? load(context, name, *kernel) : status;
}

czr_status czr_module_launch(czr_context *context, void *kernel,
                             const czr_launch *launch, void **arguments,
                             void *stream)
{
    czr_launch_config config = {
        .shared_memory_bytes = launch->shared_memory_bytes, .stream = stream};

    memcpy(config.grid, launch->grid, sizeof config.grid);
    memcpy(config.block, launch->block, sizeof config.block);
    return czr_context_check(
        context, context->driver->launch(&config, kernel, arguments, NULL),
        "launching %ux%ux%u blocks of %u threads", config.grid[0],
        config.grid[1], config.grid[2],
        config.block[0] * config.block[1] * config.block[2]);
}

czr_status czr_module_encode(czr_context *context, const czr_tiled *tiled,
                             czr_tensor_map *out)
{
    static const uint32_t steps[CZR_TENSOR_MAP_MAX_RANK] = {1, 1, 1, 1, 1};

    return czr_context_check(
        context,
        context->driver->encode_tiled(
            out, tiled->type, (uint32_t)tiled->rank,
            czr_pointer_of(tiled->address), tiled->dims, tiled->strides,
            tiled->box, steps, 0, tiled->swizzle, CZR_TENSOR_MAP_L2_256B, 0),
        "a tensor map of rank %d, [%llu, %llu] in boxes of [%u, %u]",
        tiled->rank, (unsigned long long)tiled->dims[1],
        (unsigned long long)tiled->dims[0], (unsigned)tiled->box[1],
        (unsigned)tiled->box[0]);
}
