/* Machine code of the double: a text whose first line is "FAKE TARGET" and
 * whose others each are a kernel: its name, its own shared memory, and the
 * bytes of each of its arguments, or '*': those that it was registered with.
 * What it does is what fake_register gave the name. */
#include "tests/gpu/double/fake_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_KERNELS = 1024,
    MAX_ARGUMENTS = 64,
    MAX_NAME = 48,
    MAX_THREADS = 1024,
    UNASKED_SHARED = 48 << 10,
    MAX_SHARED = 232448,
    MOST_ARGUMENT_BYTES = 4096, /* of a driver before CUDA 12.1 */
    ALIGNED = 128               /* arguments: tensor maps are */
};

typedef struct fake_function {
    char name[MAX_NAME];
    int fixed_shared, most_shared;
    int n_arguments, bytes[MAX_ARGUMENTS];
    bool is_loaded; /* where the device runs it */
} fake_function;

typedef struct fake_library {
    fake_object base;
    int n_kernels;
    fake_function kernels[];
} fake_library;

static struct {
    fake_function function;
    fake_kernel run;
    bool is_sized;
} registry[MAX_KERNELS];
static int n_registered;
static const fake_node *running;
static unsigned last_shared;

void fake_register(const char *name, fake_kernel run)
{
    if (n_registered == MAX_KERNELS)
        abort();
    snprintf(registry[n_registered].function.name, MAX_NAME, "%s", name);
    registry[n_registered].is_sized = false;
    registry[n_registered++].run = run;
}

void fake_register_sized(const char *name, fake_kernel run, int n_arguments,
                         const int *bytes)
{
    if (n_arguments > MAX_ARGUMENTS)
        abort();
    fake_register(name, run);
    registry[n_registered - 1].is_sized = true;
    fake_function *function = &registry[n_registered - 1].function;
    function->n_arguments = n_arguments;
    memcpy(function->bytes, bytes, (size_t)n_arguments * sizeof *bytes);
}

static int find_registered(const char *name)
{
    for (int i = 0; i < n_registered; i++)
        if (!strcmp(registry[i].function.name, name))
            return i;
    return -1;
}

int fake_is_sized(const char *name)
{
    const int found = find_registered(name);

    return found >= 0 && registry[found].is_sized;
}

void fake_launch(const fake_node *node)
{
    running = node;
    node->run(node->arguments);
    running = NULL;
}

unsigned fake_launch_blocks(void)
{
    return running ? running->n_blocks : 0;
}

unsigned fake_launch_threads(void)
{
    return running ? running->n_threads : 0;
}

void fake_module_reset(void)
{
    while (fake_first(LIBRARY))
        fake_delete(fake_first(LIBRARY));
    n_registered = 0;
}

unsigned fake_last_shared(void)
{
    return last_shared;
}

/* ---- libraries ---------------------------------------------------------- */

/* '*' */
static bool take_sizes(fake_function *kernel)
{
    const int found = find_registered(kernel->name);

    if (found < 0 || !registry[found].is_sized)
        return false;
    kernel->n_arguments = registry[found].function.n_arguments;
    memcpy(kernel->bytes, registry[found].function.bytes, sizeof kernel->bytes);
    return true;
}

static bool parse_kernel(const char *line, fake_function *kernel)
{
    int at = 0, more = 0;

    kernel->most_shared = UNASKED_SHARED;
    if (sscanf(line, "%47s %d%n", kernel->name, &kernel->fixed_shared, &at) < 2)
        return false;
    if (!strncmp(line + at, " *", 2))
        return take_sizes(kernel);
    while (kernel->n_arguments < MAX_ARGUMENTS &&
           sscanf(line + at, "%*[ ]%d%n", &kernel->bytes[kernel->n_arguments],
                  &more) == 1) {
        at += more;
        kernel->n_arguments++;
    }
    return true;
}

static size_t count_lines(const char *code)
{
    size_t n = 1;

    for (; *code; code++)
        n += *code == '\n';
    return n;
}

/* The code of the first thing that is wrong. */
static int parse(const char *code, fake_library *library)
{
    static const char first[] = "FAKE ";
    const char *line = code;

    if (strncmp(code, first, strlen(first)) != 0)
        return CZR_CUDA_INVALID_IMAGE;
    const int failure = fake_read_target(code + strlen(first));
    if (failure)
        return failure;
    while ((line = strchr(line, '\n')) && *++line)
        if (!parse_kernel(line, &library->kernels[library->n_kernels++]))
            return CZR_CUDA_INVALID_IMAGE;
    return CZR_CUDA_SUCCESS;
}

int cuLibraryLoadData(void **out, const void *code, int *jit_options,
                      void **jit_values, unsigned n_jit, int *options,
                      void **values, unsigned n)
{
    int failure = fake_enter("cuLibraryLoadData");

    if (failure)
        return failure;
    if (!code || n_jit || n || jit_options || jit_values || options || values)
        return CZR_CUDA_INVALID_VALUE;
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    fake_library *library =
        fake_new(LIBRARY, sizeof *library +
                              count_lines(code) * sizeof *library->kernels);
    failure = parse(code, library);
    if (failure)
        fake_delete(library);
    else
        *out = library;
    return failure;
}

int cuLibraryUnload(void *handle)
{
    const int code = fake_enter("cuLibraryUnload");

    if (!fake_is(handle, LIBRARY))
        return CZR_CUDA_INVALID_VALUE;
    fake_delete(handle);
    return code;
}

int cuLibraryGetKernel(void **out, void *handle, const char *name)
{
    fake_library *library = handle;

    FAKE_ENTER("cuLibraryGetKernel");
    if (!fake_is(library, LIBRARY))
        return CZR_CUDA_INVALID_HANDLE;
    for (int i = 0; i < library->n_kernels; i++)
        if (!strcmp(library->kernels[i].name, name)) {
            *out = &library->kernels[i];
            return CZR_CUDA_SUCCESS;
        }
    return CZR_CUDA_NOT_FOUND;
}

static fake_function *find_kernel(const void *handle)
{
    for (fake_object *o = fake_first(LIBRARY); o; o = o->next) {
        fake_library *library = (struct fake_library *)o;
        for (int i = 0; i < library->n_kernels; i++)
            if (handle == &library->kernels[i])
                return &library->kernels[i];
    }
    return NULL;
}

/* By CUDA's programming guide (Lazy Loading) code comes to the device when
 * somebody asks for the function, or only at its first launch: cuFuncLoad
 * (Driver API, Execution Control) is for those that are not there yet.  Either
 * is drawn. */
int cuKernelGetFunction(void **out, void *handle)
{
    fake_function *kernel = find_kernel(handle);

    FAKE_ENTER_CONTEXT("cuKernelGetFunction");
    if (!kernel)
        return CZR_CUDA_INVALID_HANDLE;
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    kernel->is_loaded |= fake_draw(2) == 0;
    *out = kernel;
    return CZR_CUDA_SUCCESS;
}

int cuFuncLoad(void *handle)
{
    fake_function *kernel = find_kernel(handle);

    FAKE_ENTER_CONTEXT("cuFuncLoad");
    if (!kernel)
        return CZR_CUDA_INVALID_HANDLE;
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    kernel->is_loaded = true;
    return CZR_CUDA_SUCCESS;
}

/* Its code comes to the device, which may wait for all that runs there (the
 * guide, Lazy Loading, Concurrent Execution), and is no work that a graph could
 * have. */
static int load_late(fake_function *kernel)
{
    if (fake_capture_forbids())
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    for (fake_object *o = fake_first(STREAM); o; o = o->next)
        fake_finish((fake_stream *)o);
    kernel->is_loaded = true;
    return CZR_CUDA_SUCCESS;
}

int cuKernelGetAttribute(int *value, int attribute, void *handle, int device)
{
    const fake_function *kernel = find_kernel(handle);

    FAKE_ENTER("cuKernelGetAttribute");
    if (!kernel)
        return CZR_CUDA_INVALID_HANDLE;
    if (attribute != CZR_FUNC_SHARED_SIZE_BYTES || device < 0)
        return CZR_CUDA_INVALID_VALUE;
    *value = kernel->fixed_shared;
    return CZR_CUDA_SUCCESS;
}

int cuKernelSetAttribute(int attribute, int value, void *handle, int device)
{
    fake_function *kernel = find_kernel(handle);

    FAKE_ENTER("cuKernelSetAttribute");
    if (!kernel)
        return CZR_CUDA_INVALID_HANDLE;
    if (attribute != CZR_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES || device < 0 ||
        value < 0 || value + kernel->fixed_shared > MAX_SHARED)
        return CZR_CUDA_INVALID_VALUE;
    kernel->most_shared = value;
    return CZR_CUDA_SUCCESS;
}

/* ---- launches ----------------------------------------------------------- */

static fake_kernel find_body(const fake_function *kernel)
{
    const int found = find_registered(kernel->name);

    return found < 0 ? NULL : registry[found].run;
}

static int check_launch(const czr_launch_config *config,
                        const fake_function *kernel)
{
    const uint64_t threads =
        (uint64_t)config->block[0] * config->block[1] * config->block[2];
    const uint64_t shared =
        config->shared_memory_bytes + (uint64_t)kernel->fixed_shared;
    size_t bytes = 0;

    for (int i = 0; i < kernel->n_arguments; i++)
        bytes += ((size_t)kernel->bytes[i] + 7) / 8 * 8;
    if (bytes > MOST_ARGUMENT_BYTES)
        return CZR_CUDA_INVALID_VALUE;
    if (!config->grid[0] || !config->grid[1] || !config->grid[2] ||
        config->grid[1] > UINT16_MAX || config->grid[2] > UINT16_MAX ||
        !threads || threads > MAX_THREADS)
        return CZR_CUDA_INVALID_VALUE;
    if (shared > UNASKED_SHARED &&
        config->shared_memory_bytes > (unsigned)kernel->most_shared)
        return CZR_CUDA_INVALID_VALUE;
    if (config->n_attributes) /* which we would not know */
        return CZR_CUDA_INVALID_VALUE;
    return find_body(kernel) ? CZR_CUDA_SUCCESS : CZR_CUDA_NOT_FOUND;
}

static size_t aligned_bytes(const fake_function *kernel, size_t argument)
{
    return ((size_t)kernel->bytes[argument] + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Pointers to, and behind them, copies. */
static void **copy_arguments(const fake_function *kernel, void **arguments)
{
    const size_t n = (size_t)kernel->n_arguments;
    size_t bytes = n * sizeof(void *) + ALIGNED;

    for (size_t i = 0; i < n; i++)
        bytes += aligned_bytes(kernel, i);
    void **copies = fake_take(bytes);
    const uintptr_t end = (uintptr_t)(copies + n);
    unsigned char *at = (unsigned char *)copies + (n * sizeof *copies) +
                        (ALIGNED - end % ALIGNED);
    for (size_t i = 0; i < n; i++) {
        copies[i] = at;
        memcpy(at, arguments[i], (size_t)kernel->bytes[i]);
        at += aligned_bytes(kernel, i);
    }
    return copies;
}

int cuLaunchKernelEx(const czr_launch_config *config, void *handle,
                     void **arguments, void **extra)
{
    fake_function *kernel = find_kernel(handle);
    int64_t tag = 0;

    int code = fake_enter_context("cuLaunchKernelEx");
    if (code)
        return code;
    if (!kernel || !fake_is(config->stream, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    code = extra ? CZR_CUDA_INVALID_VALUE : check_launch(config, kernel);
    if (code == CZR_CUDA_SUCCESS && !kernel->is_loaded)
        code = load_late(kernel);
    if (code)
        return code;
    last_shared = config->shared_memory_bytes;
    fake_node *node = fake_make(RUN);
    node->run = find_body(kernel);
    node->n_blocks = config->grid[0] * config->grid[1] * config->grid[2];
    node->n_threads = config->block[0] * config->block[1] * config->block[2];
    node->arguments = copy_arguments(kernel, arguments);
    if (kernel->n_arguments && kernel->bytes[0] == sizeof tag)
        memcpy(&tag, arguments[0], sizeof tag);
    fake_note(FAKE_LAUNCH, config->stream, NULL, tag);
    code = fake_push(config->stream, node);
    return code ? code : fake_lost();
}

/* ---- tensor maps -------------------------------------------------------- */

static bool is_tiled(uint32_t rank, uint64_t element, const uint64_t *dims,
                     const uint64_t *strides, const uint32_t *box,
                     const uint32_t *steps)
{
    for (uint32_t i = 0; i < rank; i++)
        if (!dims[i] || dims[i] > (UINT64_C(1) << 32) || !box[i] ||
            box[i] > 256 || !steps[i] || steps[i] > 8)
            return false;
    for (uint32_t i = 0; i + 1 < rank; i++)
        if (strides[i] % 16 || strides[i] >= UINT64_C(1) << 40 ||
            strides[i] < dims[0] * element)
            return false;
    return box[0] * element % 16 == 0;
}

/* Of bf16 or f16, without interleaving. */
int cuTensorMapEncodeTiled(czr_tensor_map *map, int type, uint32_t rank,
                           void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box,
                           const uint32_t *steps, int interleave, int swizzle,
                           int promotion, int fill)
{
    static const uint64_t widest[] = {UINT64_MAX, 32, 64, 128};
    const uint64_t element = 2;
    FAKE_ENTER("cuTensorMapEncodeTiled");
    if (!map || (uintptr_t)map % 64 ||
        (type != CZR_TENSOR_MAP_BFLOAT16 && type != CZR_TENSOR_MAP_FLOAT16) ||
        !rank || rank > CZR_TENSOR_MAP_MAX_RANK || (uintptr_t)address % 16 ||
        interleave || swizzle < 0 || swizzle > CZR_TENSOR_MAP_SWIZZLE_128B ||
        promotion < 0 || promotion > CZR_TENSOR_MAP_L2_256B || fill < 0 ||
        fill > 1 || !is_tiled(rank, element, dims, strides, box, steps) ||
        box[0] * element > widest[swizzle])
        return CZR_CUDA_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    map->opaque[0] = (uint64_t)(uintptr_t)address;
    map->opaque[1] = dims[0];
    map->opaque[2] = rank > 1 ? dims[1] : 1;
    map->opaque[3] = (uint64_t)swizzle;
    map->opaque[FAKE_MAP_TYPE] = (uint64_t)type;
    for (uint32_t i = 0; i + 1 < rank && i < 2; i++)
        map->opaque[FAKE_MAP_STRIDES + i] = strides[i];
    return CZR_CUDA_SUCCESS;
}
