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

// c = alpha x y' + beta s + delta I.  s does not overlap c and is not read where
// beta is 0.
struct epilogue {
    float alpha, beta, delta;
};

// Of two neighbours in a row at an even column, from their sums of products:
// without delta, given their neighbours in s.
DEV void add_pair(const epilogue &e, float &x, float &y, u32 s)
{
    x = fmaf(e.beta, low_of_pair(s), x);
    y = fmaf(e.beta, high_of_pair(s), y);
}

// Then with delta.
DEV u32 round_pair(const epilogue &e, float x, float y, int row, int col)
{
    if (row == col)
        x += e.delta;
    if (row == col + 1)
        y += e.delta;
    return pack_pair(x, y);
}
