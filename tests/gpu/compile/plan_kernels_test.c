/* All kernels of a plan for sm_90a: the text that was generated for what is
 * element-wise, and the products of Newton-Schulz for the matrices of Qwen3-32B
 * in the tiles that the compiler chooses.  Compiled into an empty cache, then
 * taken from there, in less time.
 *
 * plan_kernels_test FILE NVRTC...; exit status 77 without NVRTC. */
#include "passes/gpu/tile_model.h"
#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/products/host.h"
#include "tests/gpu/compile/compiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 32 };

typedef struct kernels {
    int n;
    char names[MAX_KERNELS][CZR_CUDA_PRODUCT_NAME];
    char *texts[MAX_KERNELS];
} kernels;

/* Takes the text. */
static void add(kernels *all, const char *name, char *text)
{
    if (all->n == MAX_KERNELS)
        exit(1);
    snprintf(all->names[all->n], sizeof all->names[0], "%s", name);
    all->texts[all->n++] = text;
}

static void add_generated(kernels *all, const char *path)
{
    char *text = compiling_read(path);

    add(all, "element-wise", compiling_text(CZR_SOURCE_ELEMENTWISE, "", text));
    free(text);
}

/* The kernel of a product that is not there yet. */
static void add_product(kernels *all, const cz_tile_product *shape)
{
    const cz_tile_machine machine = {132, 1950};
    const czr_cuda_product_device device = {90, 132};
    const int64_t x = shape->k, c = shape->n;
    const czr_cuda_product product = {
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .batch = shape->batch,
        .is_symmetric = shape->is_symmetric,
        .is_n_major = !shape->is_symmetric,
        .x = {(uint64_t)1 << 40, x, 0},
        .y = {(uint64_t)2 << 40, shape->is_symmetric ? x : c, 0},
        .c = {(uint64_t)3 << 40, c, 0},
    };
    char message[CZR_CUDA_PRODUCT_MESSAGE];
    cz_tile_choice choice;
    czr_cuda_product_plan plan;

    if (!cz_tile_choose(shape, &machine, NULL, 0, &choice))
        exit(1);
    const czr_cuda_product_tiles tiles = {choice.shape.rows, choice.shape.cols,
                                          choice.shape.stages,
                                          choice.cost.n_tiles};
    if (!czr_cuda_product_plan_make(&product, &device, &tiles, &plan,
                                    message)) {
        printf("%s\n", message);
        exit(1);
    }
    printf("%lld x %lld, k %lld: %s\n", (long long)shape->m,
           (long long)shape->n, (long long)shape->k, plan.kernel);
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->names[i], plan.kernel))
            return;
    add(all, plan.kernel,
        compiling_text(CZR_SOURCE_PRODUCT_SM90, plan.header, ""));
}

/* A = x x', B = b A + c A A, x = a x + B x. */
static void add_newton_schulz(kernels *all, int64_t rows, int64_t cols)
{
    const cz_tile_product products[] = {
        {.m = rows, .n = rows, .k = cols, .batch = 1, .is_symmetric = true},
        {.m = rows, .n = rows, .k = rows, .batch = 1, .is_symmetric = true},
        {.m = rows, .n = cols, .k = rows, .batch = 1}};

    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        add_product(all, &products[i]);
}

static void warn(void *user, const char *message)
{
    *(bool *)user = false;
    printf("%s\n", message);
}

/* All of them, by a cache of this folder; how long that takes. */
static bool compile(const kernels *all, czr_nvrtc *nvrtc, const char *folder,
                    bool is_kept, double *seconds)
{
    static const char *const options[] = {"-arch=sm_90a", "-default-device",
                                          "-fmad=false"};
    bool is_right = true;
    const double start = compiling_seconds();
    const czr_cache_options with = {
        .folder = folder, .warn = warn, .user = &is_right};
    czr_cache *cache = czr_cache_open(&with);

    for (int i = 0; i < all->n; i++) {
        /* What is element-wise, the first, rounds each operation. */
        const czr_cache_source source = {all->names[i], all->texts[i], options,
                                         i ? 2 : 3};
        czr_nvrtc_code code;
        bool was_kept;
        is_right &= czr_cache_compile(cache, nvrtc, &source, &code,
                                      &was_kept) == CZR_NVRTC_OK &&
                    was_kept == is_kept;
        if (!is_right)
            printf("%s: %s\n", all->names[i], code.log ? code.log : "");
        czr_nvrtc_code_fini(&code);
    }
    czr_cache_close(cache);
    *seconds = compiling_seconds() - start;
    return is_right;
}

static bool check(const kernels *all, czr_nvrtc *nvrtc)
{
    char folder[COMPILING_FOLDER];
    double cold, warm;

    if (!compiling_make_folder(folder))
        return false;
    bool is_right = compile(all, nvrtc, folder, false, &cold);
    is_right &= compile(all, nvrtc, folder, true, &warm);
    compiling_remove_folder(folder);
    printf("%d programs: %.2f s compiled, %.1f ms from the cache\n", all->n,
           cold, warm * 1e3);
    return is_right && warm < cold;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[][2] = {
        {1024, 5120}, {5120, 5120}, {5120, 8192}, {5120, 25600}};
    static kernels all;

    if (argc < 3)
        return 2;
    czr_nvrtc *nvrtc = compiling_open(argv + 2, argc - 2);
    if (!nvrtc) {
        printf("skipped\n");
        return COMPILING_SKIPPED;
    }
    add_generated(&all, argv[1]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_newton_schulz(&all, sizes[i][0], sizes[i][1]);
    const bool is_right = check(&all, nvrtc);
    for (int i = 0; i < all.n; i++)
        free(all.texts[i]);
    czr_nvrtc_close(nvrtc);
    return is_right ? 0 : 1;
}
