// Any product of czr_product: out = alpha op(a) op(b) + beta addend, f32, bf16
// or f16 in and out, each sum in order of k, one multiplication and one addition after
// the other, as the host's product in a fixed order: with -fmad=false, which
// forbids what C forbids by -ffp-contract=off, the same bits but those of a NaN.
//
// Specialised by KERNEL (its name) and LEVELS: k is summed in at most 2^LEVELS
// parts, whose sums take registers.  Stands behind device.cuh, global.cuh and
// elementwise.cuh.  Blocks of THREADS take tiles in turn; the kernel works for
// any grid.  Operands come into shared memory as f32, which settles types and
// transposes.

// As struct czr_plain_product.  a is [m, k] or, transposed, [k, m]; b is [k, n]
// or [n, k]; addend, which may be null or out itself, and out are [m, n].
// symmetric: m = n, what lies on and below the diagonal is computed and
// mirrored.  blocks: k is summed in so many equal parts, a power of two, and
// these as a tree, neighbours first; narrow: each of these sums rounded to bf16.
struct plain_product {
    u64 m, n, k;
    const void *a, *b, *addend;
    void *out;
    float alpha, beta;
    u32 a_dtype, b_dtype, addend_dtype, out_dtype;
    u32 transpose_a, transpose_b, symmetric, blocks, narrow, unused;
};

enum {
    // Rows and columns of a tile, of it those that a thread has, and how much
    // of k is in shared memory at once.
    PLAIN_TILE = 64,
    PLAIN_SIDE = 4,
    PLAIN_ACROSS = PLAIN_TILE / PLAIN_SIDE,
    PLAIN_DEPTH = 16,
    // Between rows in shared memory, so that columns meet several banks.
    PLAIN_PITCH = PLAIN_TILE + PLAIN_SIDE
};
static_assert(PLAIN_ACROSS * PLAIN_ACROSS == THREADS, "threads fill a tile");
static_assert(1 << LEVELS <= MAX_PARTS, "nobody asks for so many parts");

// As enum czr_dtype; what is neither is f32.
enum { PLAIN_BF16 = 2, PLAIN_F16 = 3 };

typedef float plain_sums[PLAIN_SIDE][PLAIN_SIDE];

// What the sums of a tile are over: element (row, depth) of an operand lies at
// row * row_step + depth * depth_step; rows of b are columns of the product.
struct plain_operand {
    const void *data;
    u64 rows, row_step, depth_step;
    u32 dtype;
};

DEV plain_operand plain_a(const plain_product &p)
{
    return {p.a, p.m, p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1,
            p.a_dtype};
}

DEV plain_operand plain_b(const plain_product &p)
{
    return {p.b, p.n, p.transpose_b ? p.k : 1, p.transpose_b ? 1 : p.n,
            p.b_dtype};
}

DEV float plain_number(const void *data, u32 dtype, u64 at)
{
    if (dtype == PLAIN_BF16)
        return czr_bf16_to_f32(((const czr_bf16 *)data)[at]);
    return dtype == PLAIN_F16 ? czr_f16_to_f32(((const czr_f16 *)data)[at])
                              : ((const float *)data)[at];
}

// PLAIN_TILE rows from `row` on, PLAIN_DEPTH of k from `depth` on; zeros, which
// change no sum, where there are none.  Neighbours in memory are neighbours
// among threads.
DEV void load_plain(float (&to)[PLAIN_DEPTH][PLAIN_PITCH],
                    const plain_operand &x, u64 row, u64 depth, u64 end)
{
    const bool is_along_k = x.depth_step == 1;

// All of it at once would take registers that sums need.
#pragma unroll(LEVELS ? 1 : 2)
    for (u32 id = threadIdx.x; id < PLAIN_TILE * PLAIN_DEPTH; id += THREADS) {
        const u32 r = is_along_k ? id / PLAIN_DEPTH : id % PLAIN_TILE;
        const u32 d = is_along_k ? id % PLAIN_DEPTH : id / PLAIN_TILE;
        const bool is_there = row + r < x.rows && depth + d < end;
        to[d][r] = is_there ? plain_number(x.data, x.dtype,
                                           (row + r) * x.row_step +
                                               (depth + d) * x.depth_step)
                            : 0.f;
    }
}

// The terms of k in [first, end), one after the other.
DEV void add_terms(plain_sums &c, const plain_operand &a,
                   const plain_operand &b, u64 row, u64 column, u64 first,
                   u64 end)
{
    __shared__ float x[PLAIN_DEPTH][PLAIN_PITCH], y[PLAIN_DEPTH][PLAIN_PITCH];
    const u32 i0 = threadIdx.x / PLAIN_ACROSS * PLAIN_SIDE;
    const u32 j0 = threadIdx.x % PLAIN_ACROSS * PLAIN_SIDE;

    for (u64 depth = first; depth < end; depth += PLAIN_DEPTH) {
        load_plain(x, a, row, depth, end);
        load_plain(y, b, column, depth, end);
        __syncthreads();
#pragma unroll
        for (u32 d = 0; d < PLAIN_DEPTH; d++)
#pragma unroll
            for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
                for (u32 j = 0; j < PLAIN_SIDE; j++)
                    c[i][j] += x[d][i0 + i] * y[d][j0 + j];
        __syncthreads();
    }
}

DEV void round_sums(plain_sums &c, u32 narrow)
{
    if (!narrow)
        return;
#pragma unroll
    for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < PLAIN_SIDE; j++)
            c[i][j] = czr_bf16_to_f32(czr_f32_to_bf16(c[i][j]));
}

DEV void add_sums(plain_sums &c, const plain_sums &before)
{
#pragma unroll
    for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < PLAIN_SIDE; j++)
            c[i][j] = before[i][j] + c[i][j];
}

DEV void copy_sums(plain_sums &to, const plain_sums &from)
{
#pragma unroll
    for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < PLAIN_SIDE; j++)
            to[i][j] = from[i][j];
}

// Part `part` is there: sums that wait for a neighbour on its right meet it,
// until one has none yet and waits.
DEV void join_parts(plain_sums (&waiting)[LEVELS + 1], plain_sums &c,
                    u32 part, u32 narrow)
{
    bool is_joined = true;

#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        if (!is_joined)
            continue;
        is_joined = part >> level & 1;
        if (is_joined) {
            add_sums(c, waiting[level]);
            round_sums(c, narrow);
        } else {
            copy_sums(waiting[level], c);
        }
    }
}

// A tile's sums; c is all of them when the last part has met the others.
DEV void sum_tile(const plain_product &p, plain_sums &c, u64 row, u64 column)
{
    const plain_operand a = plain_a(p), b = plain_b(p);
    const u64 length = p.k / p.blocks;
    plain_sums waiting[LEVELS + 1];

    for (u32 part = 0; part < p.blocks; part++) {
#pragma unroll
        for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
            for (u32 j = 0; j < PLAIN_SIDE; j++)
                c[i][j] = 0.f;
        add_terms(c, a, b, row, column, part * length, (part + 1) * length);
        round_sums(c, p.narrow);
        join_parts(waiting, c, part, p.narrow);
    }
}

DEV void write_plain(const plain_product &p, u64 at, float x)
{
    if (p.out_dtype == PLAIN_BF16)
        ((czr_bf16 *)p.out)[at] = czr_f32_to_bf16(x);
    else if (p.out_dtype == PLAIN_F16)
        ((czr_f16 *)p.out)[at] = czr_f32_to_f16(x);
    else
        ((float *)p.out)[at] = x;
}

// An element of the product, at its place and at its mirror image's.  The
// addend may be out: each is read by the thread that writes it, above the
// diagonal none is.
DEV void finish_element(const plain_product &p, float sum, u64 row, u64 column)
{
    const u64 at = row * p.n + column;

    if (row >= p.m || column >= p.n || (p.symmetric && column > row))
        return;
    float x = p.alpha * sum;
    if (p.addend)
        x += p.beta * plain_number(p.addend, p.addend_dtype, at);
    write_plain(p, at, x);
    if (p.symmetric && column < row)
        write_plain(p, column * p.n + row, x);
}

DEV void finish_tile(const plain_product &p, const plain_sums &c, u64 row,
                     u64 column)
{
    row += threadIdx.x / PLAIN_ACROSS * PLAIN_SIDE;
    column += threadIdx.x % PLAIN_ACROSS * PLAIN_SIDE;
#pragma unroll
    for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < PLAIN_SIDE; j++)
            finish_element(p, c[i][j], row + i, column + j);
}

DEV void read_tile(const plain_product &p, const float *c, plain_sums &sums,
                   u64 row, u64 column)
{
    row += threadIdx.x / PLAIN_ACROSS * PLAIN_SIDE;
    column += threadIdx.x % PLAIN_ACROSS * PLAIN_SIDE;
#pragma unroll
    for (u32 i = 0; i < PLAIN_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < PLAIN_SIDE; j++)
            sums[i][j] = row + i < p.m && column + j < p.n
                             ? c[(row + i) * p.n + column + j]
                             : 0.f;
}

DEV u64 tiles_across(const plain_product &p)
{
    return (p.n + PLAIN_TILE - 1) / PLAIN_TILE;
}

DEV u64 count_tiles(const plain_product &p)
{
    return (p.m + PLAIN_TILE - 1) / PLAIN_TILE * tiles_across(p);
}

// Where tile t begins; false: it is another's mirror image.
DEV bool find_tile(const plain_product &p, u64 t, u64 &row, u64 &column)
{
    row = t / tiles_across(p) * PLAIN_TILE;
    column = t % tiles_across(p) * PLAIN_TILE;
    return !p.symmetric || column <= row;
}

// blocks is 1 at least.  Nothing is written where *skip is not 0; skip may be
// null.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    KERNEL(const plain_product p, const int *skip)
{
    u64 row, column;

    if (skip && *skip)
        return;
    for (u64 t = blockIdx.x; t < count_tiles(p); t += gridDim.x) {
        plain_sums c;
        if (!find_tile(p, t, row, column))
            continue;
        sum_tile(p, c, row, column);
        finish_tile(p, c, row, column);
    }
}

// The same of sums that are there, c [m, n] in f32: of a symmetric product those
// on and below the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    product_finish(const plain_product p, const float *c, const int *skip)
{
    u64 row, column;

    if (skip && *skip)
        return;
    for (u64 t = blockIdx.x; t < count_tiles(p); t += gridDim.x) {
        plain_sums sums;
        if (!find_tile(p, t, row, column))
            continue;
        read_tile(p, c, sums, row, column);
        finish_tile(p, sums, row, column);
    }
}
