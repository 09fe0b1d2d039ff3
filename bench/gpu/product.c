/* One product on the device: made, compared with cuBLAS's, timed beside it. */
#include "bench/gpu/gpu.h"
#include "runtime/cuda/products/tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENT = 2, FIRST_OF_Y = 349525 };

/* ---- operands ----------------------------------------------------------- */

/* NaN where `first` is negative. */
static czr_status fill(const gpu_machine *m, czr_address to, size_t bytes,
                       int64_t first)
{
    return first < 0
               ? czr_context_fill(m->context, to, 0xff, bytes, m->stream)
               : gpu_fill(m, to, CZR_BF16, (int64_t)(bytes / ELEMENT), first);
}

static czr_status take(const gpu_machine *m, int64_t rows, int64_t cols,
                       int64_t batch, int64_t first,
                       czr_cuda_product_matrix *out)
{
    const int64_t stride = (cols + 7) / 8 * 8;
    const size_t bytes = (size_t)(stride * rows * batch) * ELEMENT;

    *out = (czr_cuda_product_matrix){.stride = stride,
                                     .batch_stride = stride * rows};
    const czr_status status =
        czr_context_alloc(m->context, bytes, &out->address);
    return status == CZR_OK ? fill(m, out->address, bytes, first) : status;
}

static czr_status take_all(gpu_product *g, const cz_tile_product *of)
{
    const gpu_machine *m = g->machine;
    czr_cuda_product *p = &g->product;

    *p = (czr_cuda_product){.m = of->m,
                            .n = of->n,
                            .k = of->k,
                            .batch = of->batch,
                            .is_symmetric = of->is_symmetric,
                            .is_n_major = !of->is_gram,
                            .alpha = 1};
    czr_status status = take(m, of->m, of->k, of->batch, 0, &p->x);
    p->y = p->x;
    if (status == CZR_OK && !of->is_gram)
        status = take(m, of->k, of->n, of->batch, FIRST_OF_Y, &p->y);
    if (status == CZR_OK)
        status = take(m, of->m, of->n, of->batch, -1, &p->c);
    g->c_bytes = (size_t)(p->c.batch_stride * p->batch) * (size_t)ELEMENT;
    return status;
}

/* ---- the kernel --------------------------------------------------------- */

static bool compile_and_load(gpu_product *g, const czr_cuda_product_plan *plan,
                             const uint64_t *tiles)
{
    const gpu_machine *m = g->machine;
    const czr_nvrtc_code *code = gpu_codes_find(m, plan);
    void *kernel;

    if (!code)
        return false;
    czr_status status =
        czr_module_open(m->context, code->bytes, plan->kernel, &g->module);
    if (status == CZR_OK)
        status = czr_module_find(&g->module, plan->kernel,
                                 plan->shared_memory_bytes, &kernel);
    if (status == CZR_OK)
        status = czr_product_kernel_open(m->context, plan, kernel, tiles,
                                         m->stream, &g->kernel);
    return gpu_is_ok(m, status);
}

/* Where the last wave is in parts, with room for their sums. */
static bool aim(gpu_product *g, const czr_cuda_product_plan *plan)
{
    czr_context *context = g->machine->context;

    czr_status status = CZR_OK;
    if (plan->sums_bytes)
        status = czr_context_alloc(context, plan->sums_bytes, &g->sums);
    if (status == CZR_OK)
        status =
            czr_product_kernel_aim(&g->kernel, &g->product, plan, g->sums, 0);
    return gpu_is_ok(g->machine, status);
}

static bool open_kernel(gpu_product *g, cz_tile_shape shape)
{
    const czr_context *c = g->machine->context;
    const czr_cuda_product_device device = {c->major * 10 + c->minor,
                                            c->n_processors};
    const czr_cuda_product *p = &g->product;
    const cz_tiling tiling = {
        p->m, p->n, p->batch, shape.rows, shape.cols, p->is_symmetric, 8};
    czr_cuda_product_tiles tiles = {shape.rows, shape.cols, shape.stages, 0};
    czr_cuda_product_plan plan;
    char message[CZR_CUDA_PRODUCT_MESSAGE];
    uint64_t *table;

    if (!cz_tile_count(&tiling, &tiles.n) ||
        !czr_cuda_product_plan_make(p, &device, &tiles, &plan, message) ||
        !(table = malloc((size_t)tiles.n * sizeof *table))) {
        fprintf(stderr, "no plan: %s\n", message);
        return false;
    }
    cz_tile_order(&tiling, table);
    czr_cuda_product_plan_split(p, &device, &tiles,
                                czr_tiles_splits(p, &device, &tiles), &plan);
    const bool is_ok = compile_and_load(g, &plan, table) && aim(g, &plan);
    free(table);
    return is_ok;
}

bool gpu_product_open(const gpu_machine *machine, const cz_tile_product *of,
                      cz_tile_shape shape, gpu_product *out)
{
    *out = (gpu_product){.machine = machine};
    if (gpu_is_ok(machine, take_all(out, of)) && open_kernel(out, shape))
        return true;
    gpu_product_close(out);
    return false;
}

void gpu_product_close(gpu_product *product)
{
    czr_context *context = product->machine->context;
    const czr_cuda_product *p = &product->product;

    czr_context_synchronize(context, product->machine->stream, 0);
    if (product->kernel.context)
        czr_product_kernel_close(&product->kernel);
    czr_module_close(&product->module);
    czr_context_free(context, product->sums);
    czr_context_free(context, p->c.address);
    if (p->y.address != p->x.address)
        czr_context_free(context, p->y.address);
    czr_context_free(context, p->x.address);
    *product = (gpu_product){.machine = product->machine};
}

/* ---- who computes it ---------------------------------------------------- */

static bool has(const gpu_product *g, gpu_way by)
{
    return by != GPU_LIBRARY || g->library;
}

static bool put(gpu_product *g, gpu_way by)
{
    const gpu_machine *m = g->machine;

    switch (by) {
    case GPU_OURS:
        return gpu_is_ok(m, czr_product_kernel_put(&g->kernel, m->stream));
    case GPU_CUBLAS:
        return gpu_cublas_multiply(m->cublas, &g->product);
    case GPU_LIBRARY:
        return gpu_library_multiply(g->library, &g->product);
    case GPU_N_WAYS:
        break;
    }
    return false;
}

/* ---- results ------------------------------------------------------------ */

static czr_status fetch(gpu_product *g, uint16_t *to)
{
    const gpu_machine *m = g->machine;
    const czr_status status =
        czr_context_copy(m->context, czr_address_of(to), g->product.c.address,
                         g->c_bytes, m->stream);

    return status == CZR_OK ? czr_context_synchronize(m->context, m->stream, 0)
                            : status;
}

static float from_bf16(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float y;

    memcpy(&y, &bits, sizeof y);
    return y;
}

static double compare(const czr_cuda_product *p, const uint16_t *ours,
                      const uint16_t *theirs)
{
    double largest = 0, difference = 0;

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t matrix = z * p->c.batch_stride;
                const int64_t at = matrix + i * p->c.stride + j;
                const float x = from_bf16(ours[at]), y = from_bf16(theirs[at]);
                if (!(fabsf(x - y) < INFINITY) ||
                    (p->is_symmetric &&
                     ours[at] != ours[matrix + j * p->c.stride + i]))
                    return INFINITY;
                largest = fmax(largest, fabs((double)y));
                difference = fmax(difference, fabs((double)x - y));
            }
    return largest > 0 ? difference / largest : difference;
}

/* Into a c that has nothing but NaN before. */
static bool compute(gpu_product *g, gpu_way by, uint16_t *to)
{
    const gpu_machine *m = g->machine;

    return gpu_is_ok(m, fill(m, g->product.c.address, g->c_bytes, -1)) &&
           put(g, by) && gpu_is_ok(m, fetch(g, to));
}

double gpu_product_compare(gpu_product *g, gpu_way by)
{
    uint16_t *some = malloc(g->c_bytes), *theirs = malloc(g->c_bytes);
    double difference = -1;

    if (some && theirs && compute(g, by, some) &&
        compute(g, GPU_CUBLAS, theirs))
        difference = compare(&g->product, some, theirs);
    free(some);
    free(theirs);
    return difference;
}

/* ---- times -------------------------------------------------------------- */

/* Microseconds of one of `n` in a row; negative: the device failed. */
static double turn(gpu_product *g, gpu_way by, int n)
{
    const gpu_machine *m = g->machine;
    const double start = gpu_now_us();

    for (int i = 0; i < n; i++)
        if (!put(g, by))
            return -1;
    if (!gpu_is_ok(m, czr_context_synchronize(m->context, m->stream, 0)))
        return -1;
    return (gpu_now_us() - start) / n;
}

/* How many of them take some milliseconds; one that fails does so again; 0:
 * there are none. */
static int count_turn(gpu_product *g, gpu_way by)
{
    if (!has(g, by))
        return 0;
    turn(g, by, 1);
    const double once = turn(g, by, 1);
    return once < 0 || once > GPU_TURN_US ? 1
                                          : 1 + (int)(GPU_TURN_US / (once + 1));
}

bool gpu_product_time(gpu_product *product, int pairs, gpu_times *out)
{
    double us[GPU_N_WAYS][GPU_MAX_PAIRS] = {{0}};
    const int n_pairs = pairs < GPU_MAX_PAIRS ? pairs : GPU_MAX_PAIRS;
    int n[GPU_N_WAYS];

    if (n_pairs < 1)
        return false;
    for (gpu_way by = GPU_OURS; by < GPU_N_WAYS; by++)
        n[by] = count_turn(product, by);
    for (int i = 0; i < n_pairs; i++)
        for (gpu_way by = GPU_OURS; by < GPU_N_WAYS; by++) {
            us[by][i] = n[by] ? turn(product, by, n[by]) : 0;
            if (us[by][i] < 0)
                return false;
        }
    *out = (gpu_times){gpu_median(us[GPU_OURS], n_pairs),
                       gpu_median(us[GPU_CUBLAS], n_pairs),
                       gpu_median(us[GPU_LIBRARY], n_pairs)};
    return true;
}
