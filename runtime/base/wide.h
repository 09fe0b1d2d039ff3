/* Functions that are compiled for AVX-512 where the compiler can.  Elsewhere
 * czr_has_wide() is false, and CZR_WIDE means nothing. */
#ifndef CZR_BASE_WIDE_H
#define CZR_BASE_WIDE_H

#include <stdbool.h>
#include <stddef.h>

#define CZR_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define CZR_HAS_WIDE
/* Who has AVX-512 has prefetches of lines that are to be written, too. */
#define CZR_WIDE                                                               \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prfchw")))

CZR_INLINE bool czr_has_wide(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#else

#define CZR_WIDE

CZR_INLINE bool czr_has_wide(void)
{
    return false;
}

#endif

#endif
