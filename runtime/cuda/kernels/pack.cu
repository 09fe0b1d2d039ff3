// Pack, unpack: boxes from one memory to another, as a table of moves says
// (runtime/cuda/collect/pack.h).  No two moves of a table write one byte, and none
// writes what another reads.
//
// Stands behind device.cuh, global.cuh, elementwise.cuh and atomics.cuh. Blocks
// of THREADS take units of work in turn; the kernel works for any grid.

// As struct czr_move.
struct move {
    u64 from, to, from_stride, to_stride, first, rows, columns, element_bytes;
};

enum {
    // Moves of a launch.
    MOVES = 63,
    // Elements of a unit.
    UNIT = 4 * THREADS
};

struct move_table {
    move of[MOVES];
};

// The move that unit `unit` is of: the last that begins there or before.
DEV int find_move(const move *moves, int n, u64 unit)
{
    int low = 0, high = n;

    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (moves[middle].first <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <class T> DEV void copy_element(T *to, const T *from)
{
    *to = *from;
}

DEV void copy_element(uint4 *to, const uint4 *from)
{
    store_whole128(to, load_global128(from));
}

// N counts elements: narrow ones divide sooner.
template <class T, class N>
DEV void copy_elements(const move &m, N first, const unsigned char *from,
                       unsigned char *to)
{
    const N end = (N)(m.rows * m.columns), columns = (N)m.columns;

    for (N e = first + threadIdx.x; e < first + UNIT; e += THREADS) {
        const N r = e / columns, c = e % columns;
        if (e < end)
            copy_element((T *)(to + r * m.to_stride) + c,
                         (const T *)(from + r * m.from_stride) + c);
    }
}

template <class T>
DEV void copy_unit(const move &m, u64 unit, const unsigned char *from,
                   unsigned char *to)
{
    if (m.rows * m.columns < (u64)1 << 31)
        copy_elements<T>(m, (u32)(unit * UNIT), from, to);
    else
        copy_elements<T>(m, unit * UNIT, from, to);
}

DEV void move_unit(const move &m, u64 unit, const unsigned char *from,
                   unsigned char *to)
{
    if (m.element_bytes == 16)
        copy_unit<uint4>(m, unit, from, to);
    else if (m.element_bytes == 8)
        copy_unit<u64>(m, unit, from, to);
    else if (m.element_bytes == 4)
        copy_unit<u32>(m, unit, from, to);
    else if (m.element_bytes == 2)
        copy_unit<u16>(m, unit, from, to);
    else
        copy_unit<unsigned char>(m, unit, from, to);
}

// From and to are addresses.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_pack(const __grid_constant__ move_table moves, int n_moves,
                 u64 n_jobs)
{
    for (u64 u = blockIdx.x; u < n_jobs; u += gridDim.x) {
        const move m = moves.of[find_move(moves.of, n_moves, u)];
        move_unit(m, u - m.first, reach((const unsigned char *)m.from),
                  reach((unsigned char *)m.to));
    }
}
