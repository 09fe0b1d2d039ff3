/* What products share where a CPU has AVX-512: vectors of CZR_LANES numbers of
 * four bytes. */
#ifndef CZR_MATH_PRODUCT_WIDE_H
#define CZR_MATH_PRODUCT_WIDE_H

#include "runtime/base/wide.h"

#ifdef CZR_HAS_WIDE

enum { CZR_LANES = 16 };

/* The first n lanes, n at most CZR_LANES. */
CZR_WIDE CZR_INLINE __mmask16 czr_first_lanes(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* Lanes of both, in turn: their lower halves, or their upper ones. */
CZR_WIDE CZR_INLINE __m512i czr_interleave(__m512i a, __m512i b, bool is_upper)
{
    const __m512i lower = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3,
                                           18, 2, 17, 1, 16, 0);
    const __m512i first = _mm512_set1_epi32(is_upper ? CZR_LANES / 2 : 0);

    return _mm512_permutex2var_epi32(a, _mm512_add_epi32(lower, first), b);
}

CZR_WIDE CZR_INLINE void czr_interleave_all(const __m512i from[CZR_LANES],
                                            __m512i to[CZR_LANES])
{
    for (size_t i = 0; i < CZR_LANES / 2; i++) {
        to[2 * i] = czr_interleave(from[i], from[i + CZR_LANES / 2], false);
        to[2 * i + 1] = czr_interleave(from[i], from[i + CZR_LANES / 2], true);
    }
}

/* Interleaving the upper half of the rows with the lower one moves each index
 * by a bit, of eight; after four the two have changed places. */
CZR_WIDE CZR_INLINE void czr_transpose_lanes(__m512i x[CZR_LANES])
{
    __m512i y[CZR_LANES];

    czr_interleave_all(x, y);
    czr_interleave_all(y, x);
    czr_interleave_all(x, y);
    czr_interleave_all(y, x);
}

#endif

#endif
