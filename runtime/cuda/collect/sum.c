/* Sums over members, bands and mirrors: their launches. */
#include "runtime/cuda/collect/internal.h"

/* Elements that a thread reads at once: 16 bytes. */
enum { QUAD_BYTES = 16 };

czr_status czr_collect_sum_grads(czr_collect *collect,
                                 const czr_collect_grads *sum, void *stream)
{
    const bool is_f32 = sum->dtype == CZR_F32;
    czr_collect_grads_argument argument = {.grads = sum->grads,
                                           .n_members = sum->n_members,
                                           .n_grads = sum->n_grads,
                                           .grad_stride =
                                               (uint64_t)sum->grad_stride,
                                           .first = (uint64_t)sum->first,
                                           .n = (uint64_t)sum->n,
                                           .out = sum->out,
                                           .scale = sum->scale,
                                           .largest = sum->largest};
    void *arguments[] = {&argument};

    if ((!is_f32 && sum->dtype != CZR_BF16) || sum->n < 0 ||
        sum->n_members < 1 || sum->n_grads < 1)
        return CZR_ERR_ARGUMENT;
    return czr_collect_put(
        collect,
        czr_collect_elements(
            is_f32 ? CZR_COLLECT_leaves_f32 : CZR_COLLECT_leaves_bf16,
            argument.n, QUAD_BYTES / (unsigned)czr_dtype_bytes(sum->dtype)),
        arguments, stream);
}

/* ---- trees and bands ---- */

static bool is_valid(const czr_collect_members *members)
{
    return members->n_members > 0 &&
           members->n_members <= CZR_COLLECT_MAX_MEMBERS && members->to >= 0 &&
           members->to <= members->to_end &&
           members->to_end <= members->n_members;
}

static bool is_divided(const czr_band *band, size_t n_members)
{
    return band->blocks > 0 && band->side <= INT32_MAX &&
           band->side % band->blocks == 0 && band->side % n_members == 0;
}

static czr_status put_slice(czr_collect *collect,
                            const czr_collect_members *members, czr_sum type,
                            czr_collect_slice_argument slice, void *stream)
{
    czr_collect_members to = *members;
    int number = (int)type;
    void *arguments[] = {&to, &slice, &number};

    return czr_collect_put(collect,
                           czr_collect_elements(CZR_COLLECT_slice, slice.n, 1),
                           arguments, stream);
}

czr_status czr_collect_sum_slice(czr_collect *collect,
                                 const czr_collect_members *members,
                                 czr_sum type, size_t n, void *stream)
{
    const czr_collect_slice_argument slice = {.n = n};

    if (!is_valid(members) || type >= CZR_N_SUMS)
        return CZR_ERR_ARGUMENT;
    return put_slice(collect, members, type, slice, stream);
}

static czr_status sum_band(czr_collect *collect,
                           const czr_collect_members *members, czr_sum type,
                           czr_band band, void *stream)
{
    const size_t rows = band.side / (size_t)members->n_members;
    czr_collect_members to = *members;
    czr_collect_band_argument of = {band.side, band.blocks};
    int number = (int)type;
    void *arguments[] = {&to, &of, &number};

    return czr_collect_put(
        collect,
        (czr_collect_work){CZR_COLLECT_band_sum,
                           (size_t)(to.to_end - to.to) * rows,
                           CZR_COLLECT_THREADS},
        arguments, stream);
}

czr_status czr_collect_sum_equal_parts(czr_collect *collect,
                                       const czr_collect_members *members,
                                       czr_sum type, size_t count,
                                       czr_band band, void *stream)
{
    if (!is_valid(members) || type >= CZR_N_SUMS)
        return CZR_ERR_ARGUMENT;
    if (band.blocks > 0)
        return is_divided(&band, (size_t)members->n_members)
                   ? sum_band(collect, members, type, band, stream)
                   : CZR_ERR_ARGUMENT;
    return put_slice(
        collect, members, type,
        (czr_collect_slice_argument){.n = count / (size_t)members->n_members,
                                     .is_equal_part = 1},
        stream);
}

static bool has_width(size_t element_bytes)
{
    return element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
}

czr_status czr_collect_band_gather(czr_collect *collect,
                                   const czr_collect_members *members,
                                   size_t element_bytes, czr_band band,
                                   void *stream)
{
    czr_collect_members to = *members;
    czr_collect_band_argument of = {band.side, band.blocks};
    int bytes = (int)element_bytes;
    void *arguments[] = {&to, &of, &bytes};

    if (!is_valid(members) || !has_width(element_bytes) ||
        !is_divided(&band, (size_t)members->n_members))
        return CZR_ERR_ARGUMENT;
    return czr_collect_put(collect,
                           (czr_collect_work){CZR_COLLECT_band_gather,
                                              band.side, CZR_COLLECT_THREADS},
                           arguments, stream);
}

/* ---- mirrors ---- */

/* Tiles of a matrix become their mirror images outside the band, or without one
 * above the diagonal. */
static czr_status mirror(czr_collect *collect, void *matrix,
                         size_t element_bytes, czr_band band, void *stream)
{
    const uint64_t across =
        band.side / CZR_COLLECT_SIDE + (band.side % CZR_COLLECT_SIDE > 0);
    czr_collect_band_argument of = {band.side, band.blocks};
    int bytes = (int)element_bytes;
    void *arguments[] = {&matrix, &of, &bytes};

    if (!has_width(element_bytes) || band.side > INT32_MAX)
        return CZR_ERR_ARGUMENT;
    return czr_collect_put(collect,
                           (czr_collect_work){CZR_COLLECT_mirror,
                                              across * across,
                                              CZR_COLLECT_THREADS},
                           arguments, stream);
}

czr_status czr_collect_band_mirror(czr_collect *collect, void *matrix,
                                   size_t element_bytes, czr_band band,
                                   void *stream)
{
    return is_divided(&band, 1)
               ? mirror(collect, matrix, element_bytes, band, stream)
               : CZR_ERR_ARGUMENT;
}

czr_status czr_collect_mirror_lower(czr_collect *collect, void *matrix,
                                    czr_dtype dtype, size_t n, void *stream)
{
    return mirror(collect, matrix, czr_dtype_bytes(dtype),
                  (czr_band){.side = n}, stream);
}
