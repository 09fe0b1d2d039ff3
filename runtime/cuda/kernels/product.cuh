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

// What is computed: tiles of the table, each by one block, but the last
// n_tiles - n_full of them in `parts` parts of k by a block each.  The sums of
// a part go to `sums`; the launch after, which says is_end, adds them in the
// order of k and ends those tiles.  Without such tiles n_full is n_tiles.
struct work_list {
    const u64 *tiles;
    float *sums;
    int n_tiles, n_full, splits, is_end;
};

// A tile, a part of it, or the end of one: steps first to end of k; where its
// sums lie, or NULL.
struct work {
    tile t;
    int first, end;
    float *sums;
};

DEV int count_work(const work_list &w)
{
    const int n_split = w.n_tiles - w.n_full;

    return w.is_end ? n_split : w.n_full + n_split * w.splits;
}

// The sums of a tile's part, `size` of them, or of its first part; the tile is
// number `at` of those that are split.
DEV float *sums_at(const work_list &w, int at, int part, int size)
{
    return w.sums + ((u64)at * w.splits + part) * size;
}

// Number n of the list.
DEV work work_at(const work_list &w, int n, int n_steps, int size)
{
    const int m = n - w.n_full, part = m % w.splits, at = m / w.splits;

    if (w.is_end)
        return {tile_at(w.tiles, w.n_full + n), 0, 0, sums_at(w, n, 0, size)};
    if (m < 0)
        return {tile_at(w.tiles, n), 0, n_steps, nullptr};
    return {tile_at(w.tiles, w.n_full + at),
            (int)((u64)n_steps * part / w.splits),
            (int)((u64)n_steps * (part + 1) / w.splits),
            sums_at(w, at, part, size)};
}

// c = alpha x y' + beta s.  s does not overlap c and is not read
// where beta is 0.
struct epilogue {
    float alpha, beta;
};

// Of two neighbours in a row at an even column, from their sums of products:
// given their neighbours in s.
DEV void add_pair(const epilogue &e, float &x, float &y, u32 s)
{
    x = fmaf(e.beta, low_of_pair(s), x);
    y = fmaf(e.beta, high_of_pair(s), y);
}
