/* Tables of moves. */
#include "runtime/cuda/collect/pack.h"

enum { WIDEST = 16 };

czr_move czr_move_bytes(uint64_t n_rows, uint64_t row_bytes, czr_strided from,
                        czr_strided to)
{
    const uint64_t strides = n_rows > 1 ? from.stride | to.stride : 0;
    const uint64_t all = row_bytes | from.address | to.address | strides;
    uint64_t bytes = WIDEST;

    while (all % bytes)
        bytes /= 2;
    return (czr_move){.from = from.address,
                      .to = to.address,
                      .from_stride = n_rows > 1 ? from.stride : 0,
                      .to_stride = n_rows > 1 ? to.stride : 0,
                      .rows = n_rows,
                      .columns = row_bytes / bytes,
                      .element_bytes = bytes};
}

int czr_moves_number(czr_move *moves, size_t n, uint64_t *n_jobs)
{
    uint64_t first = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t elements;
        if (__builtin_mul_overflow(moves[i].rows, moves[i].columns, &elements))
            return 0;
        moves[i].first = first;
        first += elements / CZR_PACK_CHUNK + (elements % CZR_PACK_CHUNK > 0);
    }
    *n_jobs = first;
    return 1;
}
