// What the products of every architecture share: tiles and the epilogue.

// One tile of the output: row and column of tiles, matrix of the batch.
struct tile {
    int i, j, z;
};

// The compiler gives the order in which tiles are computed: 20 bits of row, 20
// of column, 24 of batch.
DEV tile tile_at(const u64 *tiles, int t)
{
    const u64 v = tiles[t];
    return {(int)(v & 0xfffff), (int)(v >> 20 & 0xfffff), (int)(v >> 40)};
}

// c = alpha x y' + beta s + delta I.  s has rows `s_stride` elements apart and
// matrices `s_batch` apart, is bf16, does not overlap c, and is not read where
// beta is 0.  s_stride is a multiple of 8, and rows are so long.
struct epilogue {
    const u16 *s;
    u64 s_stride, s_batch;
    float alpha, beta, delta;
};

// Two neighbours in a row, from their sums of products, at an even column.
DEV u32 epilogue_pair(const epilogue &e, float x, float y, int row, int col,
                      int z, int rows, int cols)
{
    x *= e.alpha;
    y *= e.alpha;
    if (e.beta != 0.f && row < rows && col < cols) {
        const u32 s =
            load_global32(e.s + z * e.s_batch + row * e.s_stride + col);
        x += e.beta * low_bf16(s);
        y += e.beta * high_bf16(s);
    }
    if (row == col)
        x += e.delta;
    if (row == col + 1)
        y += e.delta;
    return pack_bf16(x, y);
}
