/* Tables of moves, checked before any kernel sees them. */
#include "runtime/cuda/collect/pack.h"

enum { WIDEST = 16 };

czr_move czr_move_bytes(uint64_t n_rows, uint64_t row_bytes, czr_strided from,
                        czr_strided to)
{
    const uint64_t strides = n_rows > 1 ? from.stride | to.stride : 0;
    const uint64_t all = row_bytes | from.address | to.address | strides;
    uint32_t bytes = WIDEST;

    while (all % bytes)
        bytes /= 2;
    return (czr_move){.from = from.address,
                      .to = to.address,
                      .from_stride = n_rows > 1 ? from.stride : 0,
                      .to_stride = n_rows > 1 ? to.stride : 0,
                      .rows = n_rows,
                      .columns = row_bytes / bytes,
                      .from_bytes = bytes,
                      .to_bytes = bytes};
}

static int is_float(uint32_t bytes)
{
    return bytes == 2 || bytes == 4;
}

static int has_types(const czr_move *m)
{
    const uint32_t a = m->from_bytes, b = m->to_bytes;

    if (m->is_transposed || a != b)
        return m->is_transposed <= 1 && is_float(a) && is_float(b);
    return a && a <= WIDEST && (a & (a - 1)) == 0;
}

static int is_aligned(const czr_move *m)
{
    return (m->from | m->from_stride) % m->from_bytes == 0 &&
           (m->to | m->to_stride) % m->to_bytes == 0;
}

/* Units of work; false: too many. */
static int count_units(const czr_move *m, uint64_t *units)
{
    uint64_t n;

    if (__builtin_mul_overflow(m->rows, m->columns, &n) || n > UINT64_MAX / 4)
        return 0;
    if (m->is_transposed) {
        const uint64_t side = CZR_PACK_SIDE;
        *units = (m->rows / side + (m->rows % side > 0)) *
                 (m->columns / side + (m->columns % side > 0));
    } else {
        *units = n / CZR_PACK_CHUNK + (n % CZR_PACK_CHUNK > 0);
    }
    return 1;
}

/* The units of all moves; false: one cannot be made. */
static int count_all(const czr_move *moves, size_t n, uint64_t *n_jobs)
{
    *n_jobs = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t units;
        if (!has_types(&moves[i]) || !is_aligned(&moves[i]) ||
            !count_units(&moves[i], &units) ||
            __builtin_add_overflow(*n_jobs, units, n_jobs) ||
            *n_jobs > INT64_MAX)
            return 0;
    }
    return 1;
}

int czr_moves_number(czr_move *moves, size_t n, uint64_t *n_jobs)
{
    uint64_t all, first = 0;

    if (!count_all(moves, n, &all))
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t units = 0;
        count_units(&moves[i], &units);
        moves[i].first = first;
        first += units;
    }
    *n_jobs = all;
    return 1;
}
