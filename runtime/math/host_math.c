/* The host's products: what they need while an engine is open. */
#define _GNU_SOURCE
#include <sched.h>

#include "runtime/math/factor.h"
#include "runtime/math/library.h"
#include "runtime/base/memory.h"
#include "runtime/math/product.h"

int czr_threads_per_rank(int n_ranks)
{
    cpu_set_t processors;

    if (sched_getaffinity(0, sizeof processors, &processors) != 0 ||
        CPU_COUNT(&processors) <= n_ranks)
        return 1;
    return CPU_COUNT(&processors) / n_ranks;
}

czr_status czr_host_math_open(czr_host_math *math, int strict, int n_threads)
{
    math->math.product = strict ? czr_product_fixed_order : czr_product_library;
    math->math.factor = czr_factor_host;
    math->n_threads = n_threads;
    math->packed_a = czr_alloc((size_t)CZR_BLOCK_ROWS * CZR_BLOCK_DEPTH,
                               sizeof *math->packed_a);
    math->packed_b = czr_alloc((size_t)CZR_BLOCK_DEPTH * CZR_BLOCK_COLUMNS,
                               sizeof *math->packed_b);
    math->partials = strict ? czr_alloc((size_t)CZR_BLOCK_LEVELS *
                                            CZR_BLOCK_ROWS * CZR_BLOCK_COLUMNS,
                                        sizeof *math->partials)
                            : NULL;
    if (!strict)
        czr_library_set_threads(math->n_threads);
    const bool has_syrk = !strict && czr_product_has_syrk();
    const bool has_f32 = !strict && czr_product_has_syrk_f32();
    math->n_syrk = !has_syrk || !czr_library_has_threads() ? 1
                   : n_threads < CZR_SYRK_THREADS          ? n_threads
                                                           : CZR_SYRK_THREADS;
    math->pairs = has_syrk
                      ? czr_alloc((size_t)math->n_syrk * CZR_SYRK_WORKSPACE,
                                  sizeof *math->pairs)
                      : NULL;
    math->panels = has_f32
                       ? czr_alloc(CZR_SYRK_F32_WORKSPACE, sizeof *math->panels)
                       : NULL;
    return math->packed_a && math->packed_b && (math->partials || !strict) &&
                   (math->pairs || !has_syrk) && (math->panels || !has_f32)
               ? CZR_OK
               : CZR_ERR_NO_MEMORY;
}

void czr_host_math_close(czr_host_math *math)
{
    czr_free(math->packed_a);
    czr_free(math->packed_b);
    czr_free(math->partials);
    czr_free(math->pairs);
    czr_free(math->panels);
}
