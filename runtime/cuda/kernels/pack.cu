// Pack, unpack, transpose, cast: boxes from one memory to another, as a table
// of moves says (runtime/cuda/collect/pack.h).  No two moves of a table write
// one byte, and none writes what another reads.
//
// Stands behind device.cuh, global.cuh, elementwise.cuh and atomics.cuh. Blocks
// of THREADS take units of work in turn; the kernel works for any grid.

// As struct czr_move.  Elements have from_bytes at the source and to_bytes at
// the target: 1, 2, 4, 8 or 16 where they are alike, else one is f32, the other
// bf16.
struct move {
    u64 from, to, from_stride, to_stride, first, rows, columns;
    u32 from_bytes, to_bytes, is_transposed, unused;
};

enum {
    // Moves of a launch.
    MOVES = 56,
    // Elements of a unit that is not transposed; side of one that is.
    UNIT = 4 * THREADS,
    TILE_SIDE = 32
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

template <class T> DEV T read_at(const unsigned char *p, u64 column)
{
    return ((const T *)p)[column];
}

// Element `column` of a row of f32 or bf16.
DEV float read_float(const unsigned char *p, u64 column, u32 bytes)
{
    return bytes == 4 ? read_at<float>(p, column)
                      : czr_bf16_to_f32(read_at<u16>(p, column));
}

DEV void write_float(unsigned char *p, u64 column, u32 bytes, float x)
{
    if (bytes == 4)
        ((float *)p)[column] = x;
    else
        ((u16 *)p)[column] = czr_f32_to_bf16(x);
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

DEV void cast_unit(const move &m, u64 unit, const unsigned char *from,
                   unsigned char *to)
{
    const u64 end = m.rows * m.columns;

    for (u64 k = threadIdx.x; k < UNIT; k += THREADS) {
        const u64 e = unit * UNIT + k, r = e / m.columns, c = e % m.columns;
        if (e < end)
            write_float(to + r * m.to_stride, c, m.to_bytes,
                        read_float(from + r * m.from_stride, c, m.from_bytes));
    }
}

// A tile to shared memory, whose rows are one longer: columns meet all banks.
typedef u32 tile_rows[TILE_SIDE][TILE_SIDE + 1];

// Numbers as bits; two bytes as they are where both sides have them.
DEV u32 read_bits(const move &m, const unsigned char *p, u64 column)
{
    if (m.from_bytes == 2 && m.to_bytes == 2)
        return read_at<u16>(p, column);
    if (m.from_bytes == 4 && m.to_bytes == 4)
        return read_at<u32>(p, column);
    return bits_of(read_float(p, column, m.from_bytes));
}

DEV void write_bits(const move &m, unsigned char *p, u64 column, u32 bits)
{
    if (m.from_bytes == 4 && m.to_bytes == 2)
        ((u16 *)p)[column] = czr_f32_to_bf16(float_of(bits));
    else if (m.to_bytes == 2)
        ((u16 *)p)[column] = (u16)bits;
    else
        ((u32 *)p)[column] = bits;
}

DEV void transpose_unit(const move &m, u64 unit, const unsigned char *from,
                        unsigned char *to)
{
    __shared__ tile_rows tile;
    const u64 across = (m.columns + TILE_SIDE - 1) / TILE_SIDE;
    const u64 row = unit / across * TILE_SIDE,
              column = unit % across * TILE_SIDE;
    const u32 x = threadIdx.x % TILE_SIDE;

    for (u32 y = threadIdx.x / TILE_SIDE; y < TILE_SIDE; y += WARPS)
        if (row + y < m.rows && column + x < m.columns)
            tile[y][x] =
                read_bits(m, from + (row + y) * m.from_stride, column + x);
    __syncthreads();
    for (u32 y = threadIdx.x / TILE_SIDE; y < TILE_SIDE; y += WARPS)
        if (column + y < m.columns && row + x < m.rows)
            write_bits(m, to + (column + y) * m.to_stride, row + x, tile[x][y]);
    __syncthreads();
}

DEV void move_unit(const move &m, u64 unit, const unsigned char *from,
                   unsigned char *to)
{
    if (m.is_transposed)
        transpose_unit(m, unit, from, to);
    else if (m.from_bytes != m.to_bytes)
        cast_unit(m, unit, from, to);
    else if (m.from_bytes == 16)
        copy_unit<uint4>(m, unit, from, to);
    else if (m.from_bytes == 8)
        copy_unit<u64>(m, unit, from, to);
    else if (m.from_bytes == 4)
        copy_unit<u32>(m, unit, from, to);
    else if (m.from_bytes == 2)
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
