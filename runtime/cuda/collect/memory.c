/* Memory of a rank: launches. */
#include "runtime/cuda/collect/internal.h"

#include "runtime/base/memory.h"

#include <string.h>

czr_status czr_collect_hypers(czr_collect *collect, double *to,
                              const double *values, size_t n, void *stream)
{
    czr_status status = CZR_OK;

    for (size_t i = 0; i < n && status == CZR_OK; i += CZR_COLLECT_HYPERS) {
        czr_collect_hypers_argument some = {{0}};
        double *first = to + i;
        int left =
            n - i < CZR_COLLECT_HYPERS ? (int)(n - i) : (int)CZR_COLLECT_HYPERS;
        void *arguments[] = {&first, &some, &left};
        memcpy(some.values, values + i, (size_t)left * sizeof *values);
        status = czr_collect_put(
            collect,
            (czr_collect_work){CZR_COLLECT_hypers, 1, CZR_COLLECT_HYPERS},
            arguments, stream);
    }
    return status;
}

/* ---- fills ---- */

/* Elements 0, stride, ...: n of them. */
static czr_status fill(czr_collect *collect, void *to, uint64_t bits,
                       size_t element_bytes, uint64_t n, uint64_t stride,
                       void *stream)
{
    const unsigned at_once = stride == 1 ? 16 / (unsigned)element_bytes : 1;
    int bytes = (int)element_bytes;
    void *arguments[] = {&to, &bits, &bytes, &n, &stride};

    return czr_collect_put(collect,
                           czr_collect_elements(CZR_COLLECT_fill, n, at_once),
                           arguments, stream);
}

/* A number's bits, the others 0; little-endian, as devices are. */
static uint64_t bits_of(czr_dtype dtype, double value)
{
    uint64_t bits = 0;

    czr_fill(&bits, dtype, value, 1);
    return bits;
}

czr_status czr_collect_fill(czr_collect *collect, void *to, czr_dtype dtype,
                            double value, size_t n, void *stream)
{
    return fill(collect, to, bits_of(dtype, value), czr_dtype_bytes(dtype), n,
                1, stream);
}

czr_status czr_collect_fill_diagonal(czr_collect *collect, void *to,
                                     czr_dtype dtype, double value, size_t n,
                                     void *stream)
{
    return fill(collect, to, bits_of(dtype, value), czr_dtype_bytes(dtype), n,
                (uint64_t)n + 1, stream);
}

/* ---- conversions ---- */

czr_status czr_collect_convert(czr_collect *collect, void *to,
                               czr_dtype to_dtype, const void *from,
                               czr_dtype from_dtype, size_t n,
                               const int32_t *skip, void *stream)
{
    const bool is_copy = to_dtype == from_dtype;
    int to_type = (int)to_dtype, from_type = (int)from_dtype;
    int bytes = (int)czr_dtype_bytes(to_dtype);
    uint64_t count = n;
    void *of_convert[] = {&to, &to_type, &from, &from_type, &count, &skip};
    void *of_copy[] = {&to, &from, &bytes, &count, &skip};

    return czr_collect_put(
        collect,
        czr_collect_elements(is_copy ? CZR_COLLECT_copy : CZR_COLLECT_convert,
                             count, 1),
        is_copy ? of_copy : of_convert, stream);
}

czr_status czr_collect_hash(czr_collect *collect, uint64_t *to,
                            const void *from, size_t element_bytes, size_t n,
                            void *stream)
{
    int bytes = (int)element_bytes;
    uint64_t count = n;
    void *arguments[] = {&to, &from, &bytes, &count};

    return czr_collect_put(collect,
                           czr_collect_elements(CZR_COLLECT_hash, count, 8),
                           arguments, stream);
}

/* ---- boxes ---- */

czr_status czr_collect_pack(czr_collect *collect, czr_move_table *moves, int n,
                            void *stream)
{
    uint64_t n_jobs;
    void *arguments[] = {moves, &n, &n_jobs};

    if (n < 0 || n > CZR_PACK_MOVES ||
        !czr_moves_number(moves->of, (size_t)n, &n_jobs))
        return CZR_ERR_ARGUMENT;
    return czr_collect_put(
        collect,
        (czr_collect_work){CZR_COLLECT_pack, n_jobs, CZR_COLLECT_THREADS},
        arguments, stream);
}
