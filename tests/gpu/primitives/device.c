/* One case on a device, or on the double of the driver, in a process of its
 * own: what hangs or faults there takes nothing with it. */
#define _GNU_SOURCE
#include "tests/gpu/primitives/primitives.h"

#include "runtime/cuda/driver/module.h"
#include "runtime/cuda/library/nvrtc.h"
#include "runtime/cuda/driver/source.h"
#include "tests/gpu/compile/compiling.h"
#include "tests/gpu/double/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OPTIONS = 4, DEADLINE_MS = 10000 };

/* What a child leaves. */
typedef struct result {
    primitives_outcome outcome;
    char name[128];
    int architecture, version;
    uint32_t out[PRIMITIVES_MAX_WORDS];
} result;

/* Machine code, from a child. */
typedef struct shared_code {
    size_t n;
    unsigned char bytes[16 << 20];
} shared_code;

/* Zeros that children write and the parent reads. */
static void *share(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        abort();
    return at;
}

/* ---- code --------------------------------------------------------------- */

/* The runtime's headers in front of a file of bodies; the caller's to free. */
static char *make_text(const char *const *headers, const char *path)
{
    char *body = compiling_read(path), *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    for (; to && *headers; headers++)
        for (const czr_source_file *f = czr_source_files; f->path; f++)
            if (!strcmp(f->path, *headers))
                fputs(f->text, to);
    if (to) {
        fputs(body, to);
        fclose(to);
    }
    free(body);
    return text;
}

/* Machine code of the bodies for a device, 10 major + minor; PTX for what is
 * newer than the targets.  NULL: why was printed. */
static void *compile(czr_nvrtc *nvrtc, const char *path, bool is_90,
                     const char *target, size_t *n_bytes)
{
    static const char *const of_80[] = {"cuda/kernels/device.cuh",
                                        "cuda/kernels/sm80.cuh", NULL};
    static const char *const of_90[] = {
        "cuda/kernels/device.cuh", "cuda/kernels/sm80.cuh",
        "cuda/kernels/sm90.cuh", "cuda/kernels/wgmma.cuh", NULL};
    char arch[32];
    const char *const options[] = {arch, "-default-device"};
    czr_nvrtc_code code = {0};
    char *text = make_text(is_90 ? of_90 : of_80, path);

    snprintf(arch, sizeof arch, "-arch=%s", target);
    if (!text ||
        czr_nvrtc_compile(nvrtc, text, options, 2, &code) != CZR_NVRTC_OK) {
        printf("%s for %s: %s\n", path, target,
               code.log ? code.log : "no memory");
        czr_nvrtc_code_fini(&code);
        code.bytes = NULL;
    }
    free(code.log);
    free(text);
    *n_bytes = code.n_bytes;
    return code.bytes;
}

static czr_nvrtc *open_compiler(const char *path)
{
    char message[CZR_NVRTC_MESSAGE];
    czr_nvrtc *nvrtc;

    if (czr_nvrtc_open(path, &nvrtc, message) == CZR_NVRTC_OK)
        return nvrtc;
    printf("%s\n", message);
    return NULL;
}

bool primitives_compile_all(const primitives_device *device)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "compute_80"};
    czr_nvrtc *nvrtc = open_compiler(device->compiler);
    bool is_right = nvrtc != NULL;
    size_t n;

    for (int i = 0; nvrtc && i < 3; i++) {
        void *code = compile(nvrtc, device->source[0], false, targets[i], &n);
        is_right &= code != NULL;
        free(code);
    }
    void *code =
        nvrtc ? compile(nvrtc, device->source[1], true, "sm_90a", &n) : NULL;
    is_right &= code != NULL;
    free(code);
    czr_nvrtc_close(nvrtc);
    return is_right;
}

/* Of the double: the kernels that it was reported of. */
static void *fake_code(void)
{
    enum { LINE = 64 };
    char *code = malloc((size_t)(n_primitives + 1) * LINE);
    int n = code ? sprintf(code, "FAKE sm_90\n") : 0;

    for (int i = 0; code && i < n_primitives; i++)
        n += sprintf(code + n, "%s 0 *\n", primitives[i].name);
    return code;
}

/* In a child: NVRTC 13 opens the driver, which no fork survives. */
static bool compile_here(const primitives_device *device, int i,
                         const char *target, shared_code *out)
{
    czr_nvrtc *nvrtc = open_compiler(device->compiler);
    size_t n = 0;
    void *code =
        nvrtc ? compile(nvrtc, device->source[i], i > 0, target, &n) : NULL;
    const bool fits = code && n <= sizeof out->bytes;

    out->n = fits ? n : 0;
    if (fits)
        memcpy(out->bytes, code, n);
    free(code);
    czr_nvrtc_close(nvrtc);
    return fits;
}

static void *compile_apart(const primitives_device *device, int i,
                           const char *target)
{
    shared_code *there = share(sizeof *there);
    void *code = NULL;
    int status = 1;

    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        const bool is_right = compile_here(device, i, target, there);
        fflush(stdout);
        _exit(!is_right);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && !status)
        code = malloc(there->n);
    if (code)
        memcpy(code, there->bytes, there->n);
    munmap(there, sizeof *there);
    return code;
}

bool primitives_load(primitives_device *device)
{
    const char *target = device->architecture == 90  ? "sm_90a"
                         : device->architecture < 90 ? "sm_80"
                                                     : "compute_80";
    const int n = device->compiler && device->architecture != 90 ? 1 : 2;

    for (int i = 0; i < n; i++) {
        device->code[i] =
            device->compiler ? compile_apart(device, i, target) : fake_code();
        if (!device->code[i])
            return false;
    }
    return true;
}

void primitives_unload(primitives_device *device)
{
    free(device->code[0]);
    free(device->code[1]);
}

/* ---- one case ----------------------------------------------------------- */

typedef struct bench {
    czr_driver *driver;
    czr_context *context;
    czr_module module;
    void *stream, *kernel;
    const void *code;
    czr_address in, out;
    czr_tensor_map from, to;
} bench;

static czr_status encode(bench *b, czr_address address, czr_tensor_map *map)
{
    const uint64_t row_bytes = 2 * (uint64_t)PRIMITIVES_STRIDE;
    const czr_tiled tiled = {
        .type = CZR_TENSOR_MAP_BFLOAT16,
        .rank = 3,
        .address = address,
        .dims = {PRIMITIVES_COLUMNS, PRIMITIVES_ROWS, PRIMITIVES_LAYERS},
        .strides = {row_bytes, row_bytes * PRIMITIVES_ROWS},
        .box = {PRIMITIVES_BOX, PRIMITIVES_BOX, 1},
        .swizzle = CZR_TENSOR_MAP_SWIZZLE_128B};

    return czr_module_encode(b->context, &tiled, map);
}

/* Both buffers have room for the tensor. */
static czr_status prepare(bench *b, const primitive *p)
{
    enum { BYTES = PRIMITIVES_MAX_WORDS * 4 };
    czr_context *context = b->context;
    czr_status status = czr_context_open_stream(context, &b->stream);

    if (status == CZR_OK)
        status = czr_module_open(context, b->code, p->name, &b->module);
    if (status == CZR_OK)
        status = czr_module_find(&b->module, p->name, PRIMITIVES_SHARED_BYTES,
                                 &b->kernel);
    if (status == CZR_OK)
        status = czr_context_alloc(context, BYTES, &b->in);
    if (status == CZR_OK)
        status = czr_context_alloc(context, BYTES, &b->out);
    if (status == CZR_OK && p->architecture == 90)
        status = encode(b, b->in, &b->from);
    if (status == CZR_OK && p->architecture == 90)
        status = encode(b, b->out, &b->to);
    return status == CZR_OK
               ? czr_context_fill(context, b->out, PRIMITIVES_POISON, BYTES,
                                  b->stream)
               : status;
}

static czr_status run(bench *b, const primitive *p, const uint32_t *in,
                      uint32_t *out)
{
    czr_context *context = b->context;
    void *arguments[] = {&b->from, &b->to, &b->in, &b->out};
    const czr_launch launch = {.grid = {p->n_blocks, 1, 1},
                               .block = {p->n_threads, 1, 1},
                               .shared_memory_bytes = PRIMITIVES_SHARED_BYTES};
    czr_status status = prepare(b, p);

    if (status == CZR_OK)
        status = czr_context_copy(context, b->in, czr_address_of(in),
                                  4 * (size_t)p->n_in, b->stream);
    if (status == CZR_OK)
        status = czr_module_launch(context, b->kernel, &launch,
                                   arguments + (p->architecture == 90 ? 0 : 2),
                                   b->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(out), b->out,
                                  4 * (size_t)p->n_out, b->stream);
    return status == CZR_OK
               ? czr_context_synchronize(context, b->stream, DEADLINE_MS)
               : status;
}

static czr_status open_device(const primitives_device *device, bench *b,
                              result *r)
{
    char message[CZR_DRIVER_MESSAGE];
    czr_status status = czr_driver_open(device->driver, &b->driver, message);

    if (status == CZR_OK)
        status = czr_context_open(b->driver, 0, &b->context, message);
    if (status != CZR_OK) {
        printf("%s\n", message);
        return status;
    }
    snprintf(r->name, sizeof r->name, "%s", b->context->name);
    r->architecture = 10 * b->context->major + b->context->minor;
    r->version = b->driver->version;
    return CZR_OK;
}

/* In the child; NULL for `in`: the device alone is looked for. */
static primitives_outcome run_child(const primitives_device *device, int which,
                                    const uint32_t *in, result *r)
{
    const primitive *p = &primitives[which];
    bench b = {0};

    if (device->driver) {
        fake_reset(1, 0);
        primitives_register();
    }
    b.code = device->code[p->architecture == 90];
    if (open_device(device, &b, r) != CZR_OK)
        return PRIMITIVES_NO_DEVICE;
    const czr_status status = in ? run(&b, p, in, r->out) : CZR_OK;
    if (status != CZR_OK)
        printf("%s: %s: %s\n", p->name, czr_status_name(status),
               b.context->error);
    return status == CZR_OK ? PRIMITIVES_RAN : PRIMITIVES_FAILED;
}

/* A child that ends otherwise has failed. */
static void run_apart(const primitives_device *device, int which,
                      const uint32_t *in, result *r)
{
    int status = 0;

    r->outcome = PRIMITIVES_FAILED;
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        alarm(device->seconds);
        r->outcome = run_child(device, which, in, r);
        fflush(stdout);
        _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && status)
        printf("%s: the process ended with %d\n", primitives[which].name,
               status);
    if (status)
        r->outcome = PRIMITIVES_FAILED;
}

primitives_outcome primitives_find(primitives_device *device)
{
    result *r = share(sizeof *r);

    run_apart(device, 0, NULL, r);
    const primitives_outcome outcome = r->outcome;
    memcpy(device->name, r->name, sizeof device->name);
    device->architecture = r->architecture;
    device->version = r->version;
    munmap(r, sizeof *r);
    return outcome == PRIMITIVES_RAN ? outcome : PRIMITIVES_NO_DEVICE;
}

primitives_outcome primitives_run(const primitives_device *device, int which,
                                  const uint32_t *in, uint32_t *out)
{
    if (primitives[which].architecture == 90 && device->architecture != 90)
        return PRIMITIVES_NOT_FOR_IT;
    result *r = share(sizeof *r);
    run_apart(device, which, in, r);
    const primitives_outcome outcome = r->outcome;
    memcpy(out, r->out, sizeof r->out);
    munmap(r, sizeof *r);
    return outcome;
}
