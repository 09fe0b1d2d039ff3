/* oneDNN, opened at run time, for CPUs that multiply bf16. */
#include "runtime/math/library.h"

#include <stdio.h>

#if defined(CZR_HAS_DNNL) && defined(__x86_64__)

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>

/* The functions used, each with the type its header gives it. */
#define FUNCTIONS(X)                                                           \
    X(dnnl_version)                                                            \
    X(dnnl_sgemm)                                                              \
    X(dnnl_engine_create)                                                      \
    X(dnnl_stream_create)                                                      \
    X(dnnl_stream_wait)                                                        \
    X(dnnl_stream_destroy)                                                     \
    X(dnnl_memory_desc_init_by_strides)                                        \
    X(dnnl_matmul_desc_init)                                                   \
    X(dnnl_post_ops_create)                                                    \
    X(dnnl_post_ops_append_sum)                                                \
    X(dnnl_post_ops_destroy)                                                   \
    X(dnnl_primitive_attr_create)                                              \
    X(dnnl_primitive_attr_set_output_scales)                                   \
    X(dnnl_primitive_attr_set_post_ops)                                        \
    X(dnnl_primitive_attr_destroy)                                             \
    X(dnnl_primitive_desc_create)                                              \
    X(dnnl_primitive_desc_destroy)                                             \
    X(dnnl_primitive_create)                                                   \
    X(dnnl_primitive_execute)                                                  \
    X(dnnl_primitive_destroy)                                                  \
    X(dnnl_memory_create)                                                      \
    X(dnnl_memory_destroy)

static struct {
    pthread_once_t once;
    bool is_open;
    dnnl_engine_t engine;
    void (*omp_set_num_threads)(int n);
    /* What a compiler calls for a parallel region, of GNU's and LLVM's OpenMP;
     * the libgomp manual, "The libgomp ABI". */
    void (*GOMP_parallel)(void (*body)(void *data), void *data, unsigned n,
                          unsigned flags);
    int (*omp_get_thread_num)(void);
#define FUNCTION(name) __typeof__(&name) name;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
} lib = {.once = PTHREAD_ONCE_INIT};

/* Multiplications, below which calls may cost more than they save. */
static const double WORTH_A_CALL = 2e6;

static bool has_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16");
}

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void open_dnnl(void)
{
    void *library =
        has_bf16() ? dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL) : NULL;
    bool is_complete = library != NULL;

    if (!library)
        return;
#define FIND(name) is_complete = find(library, #name, &lib.name) && is_complete;
    FUNCTIONS(FIND)
#undef FIND
    if (!is_complete || lib.dnnl_version()->major != DNNL_VERSION_MAJOR)
        return;
    find(library, "omp_set_num_threads", &lib.omp_set_num_threads);
    find(library, "GOMP_parallel", &lib.GOMP_parallel);
    find(library, "omp_get_thread_num", &lib.omp_get_thread_num);
    lib.is_open =
        lib.dnnl_engine_create(&lib.engine, dnnl_cpu, 0) == dnnl_success;
}

static bool describe(dnnl_memory_desc_t *memory, size_t rows, size_t columns,
                     const czr_operand *x, dnnl_data_type_t type)
{
    const dnnl_dim_t stride = (dnnl_dim_t)x->stride;
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    const dnnl_dims_t strides = {x->is_transposed ? 1 : stride,
                                 x->is_transposed ? stride : 1};

    return lib.dnnl_memory_desc_init_by_strides(memory, 2, dims, type,
                                                strides) == dnnl_success;
}

enum { A, B, C, OPERANDS };

typedef struct call {
    dnnl_post_ops_t after;
    dnnl_primitive_attr_t attributes;
    dnnl_memory_desc_t shapes[OPERANDS];
    dnnl_memory_t memory[OPERANDS];
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
} call;

/* alpha and beta: of what is there by default, the product is all. */
static bool scale(call *self, const czr_gemm *g)
{
    return lib.dnnl_post_ops_create(&self->after) == dnnl_success &&
           lib.dnnl_primitive_attr_create(&self->attributes) == dnnl_success &&
           (g->alpha == 1 ||
            lib.dnnl_primitive_attr_set_output_scales(
                self->attributes, 1, 0, &g->alpha) == dnnl_success) &&
           (g->beta == 0 ||
            (lib.dnnl_post_ops_append_sum(self->after, g->beta) ==
                 dnnl_success &&
             lib.dnnl_primitive_attr_set_post_ops(
                 self->attributes, self->after) == dnnl_success));
}

static bool prepare(call *self, const czr_gemm *g, dnnl_data_type_t c_type)
{
    const czr_operand c = {g->c, g->c_stride, false};
    dnnl_matmul_desc_t matmul;

    if (!describe(&self->shapes[A], g->m, g->k, &g->a, dnnl_bf16) ||
        !describe(&self->shapes[B], g->k, g->n, &g->b, dnnl_bf16) ||
        !describe(&self->shapes[C], g->m, g->n, &c, c_type) ||
        lib.dnnl_matmul_desc_init(&matmul, &self->shapes[A], &self->shapes[B],
                                  NULL, &self->shapes[C]) != dnnl_success)
        return false;
    return scale(self, g) &&
           lib.dnnl_primitive_desc_create(&self->description, &matmul,
                                          self->attributes, lib.engine,
                                          NULL) == dnnl_success &&
           lib.dnnl_primitive_create(&self->primitive, self->description) ==
               dnnl_success &&
           lib.dnnl_stream_create(&self->stream, lib.engine,
                                  dnnl_stream_default_flags) == dnnl_success;
}

static bool execute(call *self, const czr_gemm *g)
{
    static const int names[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                        DNNL_ARG_DST};
    const void *data[OPERANDS] = {g->a.data, g->b.data, g->c};
    dnnl_exec_arg_t args[OPERANDS];

    for (int i = 0; i < OPERANDS; i++) {
        void *handle; /* the interface has no const */
        memcpy(&handle, &data[i], sizeof handle);
        if (lib.dnnl_memory_create(&self->memory[i], &self->shapes[i],
                                   lib.engine, handle) != dnnl_success)
            return false;
        args[i] = (dnnl_exec_arg_t){names[i], self->memory[i]};
    }
    return lib.dnnl_primitive_execute(self->primitive, self->stream, OPERANDS,
                                      args) == dnnl_success &&
           lib.dnnl_stream_wait(self->stream) == dnnl_success;
}

static void finish(call *self)
{
    for (int i = 0; i < OPERANDS; i++)
        if (self->memory[i])
            lib.dnnl_memory_destroy(self->memory[i]);
    if (self->stream)
        lib.dnnl_stream_destroy(self->stream);
    if (self->primitive)
        lib.dnnl_primitive_destroy(self->primitive);
    if (self->attributes)
        lib.dnnl_primitive_attr_destroy(self->attributes);
    if (self->after)
        lib.dnnl_post_ops_destroy(self->after);
    if (self->description)
        lib.dnnl_primitive_desc_destroy(self->description);
}

bool czr_library_bf16(const czr_gemm *gemm, czr_dtype c_dtype, int n_threads)
{
    call self = {.stream = NULL};

    pthread_once(&lib.once, open_dnnl);
    if (!lib.is_open)
        return false;
    if (lib.omp_set_num_threads)
        lib.omp_set_num_threads(n_threads);
    const bool is_done =
        prepare(&self, gemm, c_dtype == CZR_BF16 ? dnnl_bf16 : dnnl_f32) &&
        execute(&self, gemm);
    finish(&self);
    return is_done;
}

bool czr_library_dnnl_sgemm(const czr_gemm *g)
{
    pthread_once(&lib.once, open_dnnl);
    /* AMD's CPUs with AVX-512, for which OpenBLAS 0.3.21 has no kernels of its
     * own: it runs those of Intel's, and oneDNN is faster. */
    if (!lib.is_open)
        return false;
    if (!__builtin_cpu_is("amd") ||
        !((double)g->m * (double)g->n * (double)g->k >= WORTH_A_CALL))
        return false;
    if (lib.omp_set_num_threads)
        lib.omp_set_num_threads(1);
    return lib.dnnl_sgemm(g->a.is_transposed ? 'T' : 'N',
                          g->b.is_transposed ? 'T' : 'N', (dnnl_dim_t)g->m,
                          (dnnl_dim_t)g->n, (dnnl_dim_t)g->k, g->alpha,
                          g->a.data, (dnnl_dim_t)g->a.stride, g->b.data,
                          (dnnl_dim_t)g->b.stride, g->beta, g->c,
                          (dnnl_dim_t)g->c_stride) == dnnl_success;
}

/* The sanitizer does not see how OpenMP's threads wait for each other. */
#ifdef __SANITIZE_THREAD__
enum { SEES_THREADS = false };
#else
enum { SEES_THREADS = true };
#endif

bool czr_library_has_threads(void)
{
    pthread_once(&lib.once, open_dnnl);
    return SEES_THREADS && lib.is_open && lib.GOMP_parallel &&
           lib.omp_get_thread_num;
}

typedef struct region {
    void (*body)(void *user, int thread);
    void *user;
} region;

static void run_thread(void *data)
{
    const region *own = data;

    own->body(own->user, lib.omp_get_thread_num());
}

void czr_library_run_threads(int n_threads,
                             void (*body)(void *user, int thread), void *user)
{
    region own = {body, user};

    lib.GOMP_parallel(run_thread, &own, (unsigned)n_threads, 0);
}

void czr_library_describe_dnnl(char *out, size_t n)
{
    pthread_once(&lib.once, open_dnnl);
    if (lib.is_open)
        snprintf(out, n, "%d.%d.%d", lib.dnnl_version()->major,
                 lib.dnnl_version()->minor, lib.dnnl_version()->patch);
    else
        snprintf(out, n, "none: %s",
                 has_bf16() ? "no libdnnl.so.2 of the version of its header"
                            : "this CPU has no AVX-512 for bf16");
}

#else

bool czr_library_has_threads(void)
{
    return false;
}

void czr_library_run_threads(int n_threads,
                             void (*body)(void *user, int thread), void *user)
{
    for (int i = 0; i < n_threads; i++)
        body(user, i);
}

void czr_library_describe_dnnl(char *out, size_t n)
{
    snprintf(out, n, "none: its header was missing when this was built");
}

bool czr_library_bf16(const czr_gemm *gemm, czr_dtype c_dtype, int n_threads)
{
    (void)gemm;
    (void)c_dtype;
    (void)n_threads;
    return false;
}

bool czr_library_dnnl_sgemm(const czr_gemm *gemm)
{
    (void)gemm;
    return false;
}

#endif
