/* What pack.cu does with a move of bytes, by the host: for doubles of the
 * engine's kernels. */
#ifndef TESTS_CUDA_HOST_MOVE_H
#define TESTS_CUDA_HOST_MOVE_H

#include "runtime/cuda/collect/pack.h"
#include "tests/gpu/double/fake.h"

#include <stdbool.h>
#include <string.h>

/* As a kernel's loads and stores want it. */
static inline bool is_aligned_move(const czr_move *m)
{
    const uint64_t all = m->from | m->to | m->from_stride | m->to_stride;

    return m->element_bytes && all % m->element_bytes == 0;
}

/* What is not the device's memory is an illegal address. */
static inline void move_on_host(const czr_move *m)
{
    const size_t bytes = (size_t)m->columns * m->element_bytes;

    for (uint64_t row = 0; row < m->rows; row++) {
        const bool is_aligned = is_aligned_move(m);
        const void *from =
            fake_at(is_aligned ? m->from + row * m->from_stride : 0, bytes);
        void *to = fake_at(is_aligned ? m->to + row * m->to_stride : 0, bytes);
        if (!from || !to)
            return;
        memcpy(to, from, bytes);
    }
}

#endif
