// Drawn products, held against float64.  A test of one architecture gives
// `run_product`; everything outside what a product may touch is poisoned.
#pragma once

#include "tests/gpu/simt/element.hpp"

#include <algorithm>

extern "C" {
#include "passes/gpu/tile_order.h"
}

struct problem {
    int rows, cols, k, batch;
    float alpha, beta;
    unsigned n_blocks;
};

// Matrices [batch][rows][cols] with rows `stride` apart, NaNs between.
struct matrices {
    int rows, cols;
    u64 stride, size;
    std::vector<u16> storage;
    u16 *data;

    matrices(int batch, int n_rows, int n_cols)
        : rows(n_rows), cols(n_cols),
          stride((static_cast<u64>(n_cols) + 7) / 8 * 8 + 8),
          size(static_cast<u64>(n_rows) * stride),
          storage(static_cast<u64>(batch) * size + 8, 0xffff),
          data(storage.data())
    {
        // Instructions want 16 bytes' alignment.
        while (reinterpret_cast<std::uintptr_t>(data) % 16)
            data++;
    }
    matrices(const matrices &) = delete;

    u16 &at(int z, int r, int c)
    {
        return data[static_cast<u64>(z) * size + static_cast<u64>(r) * stride +
                    static_cast<u64>(c)];
    }

    simt::range range() const
    {
        return {storage.data(), storage.size() * sizeof(u16)};
    }

    double value(int z, int r, int c)
    {
        return static_cast<double>(simt::from_element(at(z, r, c)));
    }

    void fill(int batch)
    {
        for (int z = 0; z < batch; z++)
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < cols; c++)
                    at(z, r, c) = simt::to_element(
                        static_cast<float>(simt::draw() % 2001) / 1000.f - 1.f);
    }
};

struct product {
    problem size;
    matrices x, y, s, c;
    std::vector<u64> tiles;
    const int *skip = nullptr;
    // The last tiles in so many parts of k, and their sums, NaNs before.
    int n_full = 0, splits = 1;
    std::vector<float> sums;

    explicit product(const problem &p)
        : size(p), x(p.batch, M_MAJOR ? p.k : p.rows, M_MAJOR ? p.rows : p.k),
          y(p.batch, N_MAJOR ? p.k : p.cols, N_MAJOR ? p.cols : p.k),
          s(p.batch, p.rows, p.cols), c(p.batch, p.rows, p.cols)
    {
        x.fill(p.batch);
        y.fill(p.batch);
        // Where beta is 0 nobody may read s.
        if (p.beta != 0.f)
            s.fill(p.batch);
    }
};

// What of one launch, or of the one behind it, is to be computed.
inline work_list list_of(product &p, bool is_end)
{
    return {p.tiles.data(), p.sums.data(), static_cast<int>(p.tiles.size()),
            p.n_full,       p.splits,      is_end};
}

// By the architecture, one launch: tiles of TILE_ROWS x TILE_COLS.
void run_product(product &p, bool is_end);
extern const int TILE_ROWS, TILE_COLS;
// Elements that rows of c are stored by.
extern const int STORED;

inline void order_tiles(product &p)
{
    const cz_tiling tiling = {p.size.rows,
                              p.size.cols,
                              p.size.batch,
                              TILE_ROWS,
                              TILE_COLS,
                              SYMMETRIC,
                              2};
    int64_t n;
    if (!cz_tile_count(&tiling, &n))
        simt::fail("no tiles");
    std::vector<uint64_t> order(static_cast<std::size_t>(n));
    cz_tile_order(&tiling, order.data());
    p.tiles.assign(order.begin(), order.end());
    p.n_full = static_cast<int>(n);
}

// Some of the last tiles in parts, by lot.
inline void split_tiles(product &p)
{
    const unsigned n_steps = (static_cast<unsigned>(p.size.k) + 63) / 64;
    const auto n = static_cast<unsigned>(p.tiles.size());
    p.splits = static_cast<int>(1 + simt::draw() % std::min(n_steps, 4u));
    if (p.splits > 1)
        p.n_full = static_cast<int>(simt::draw() % (n + 1));
    const auto n_split = p.tiles.size() - static_cast<std::size_t>(p.n_full);
    p.sums.assign(n_split * static_cast<std::size_t>(p.splits) * TILE_ROWS *
                          TILE_COLS +
                      1,
                  NAN);
}

inline void compute(product &p)
{
    run_product(p, false);
    if (p.n_full < static_cast<int>(p.tiles.size()))
        run_product(p, true);
    if (!p.sums.empty() && !std::isnan(p.sums.back()))
        simt::fail("sums are written past their end");
}

// Half a unit in the last place of an element, and what f32 sums may lose.
inline bool is_close(product &p, int z, int r, int c)
{
    double sum = 0, size = 0;
    for (int k = 0; k < p.size.k; k++) {
        const double t = (M_MAJOR ? p.x.value(z, k, r) : p.x.value(z, r, k)) *
                         (N_MAJOR ? p.y.value(z, k, c) : p.y.value(z, c, k));
        sum += t;
        size += std::fabs(t);
    }
    double wanted = static_cast<double>(p.size.alpha) * sum;
    if (p.size.beta != 0.f)
        wanted += static_cast<double>(p.size.beta) * p.s.value(z, r, c);
    const double bound =
        std::fabs(wanted) / (FP16 ? 2048 : 256) + 1e-5 * (size + 1);
    return std::fabs(p.c.value(z, r, c) - wanted) <= bound;
}

// Below the diagonal of a symmetric product: the bits above it.
inline void check_product(product &p)
{
    for (int z = 0; z < p.size.batch; z++)
        for (int r = 0; r < p.size.rows; r++)
            for (int c = 0; c < p.size.cols; c++) {
                const bool is_mirrored = SYMMETRIC && c < r;
                const bool is_right = is_mirrored
                                          ? p.c.at(z, r, c) == p.c.at(z, c, r)
                                          : is_close(p, z, r, c);
                if (is_right)
                    continue;
                std::fprintf(stderr, "matrix %d, row %d, column %d: %g\n", z, r,
                             c, p.c.value(z, r, c));
                std::exit(1);
            }
    for (std::size_t i = 0; i < p.c.storage.size(); i++) {
        const auto before = p.c.data - p.c.storage.data();
        const u64 at = i - static_cast<u64>(before);
        const bool is_inside =
            at < p.c.size * static_cast<u64>(p.size.batch) &&
            at % p.c.stride <
                static_cast<u64>((p.size.cols + STORED - 1) / STORED * STORED);
        if (is_inside || p.c.storage[i] == 0xffff)
            continue;
        std::fprintf(stderr, "written outside the output\n");
        std::exit(1);
    }
}

inline void test_product(const problem &size, std::uint64_t seed)
{
    std::printf("seed %llu: %d x %d, k %d, %d of them, %u blocks\n",
                static_cast<u64>(seed), size.rows, size.cols, size.k,
                size.batch, size.n_blocks);
    std::fflush(stdout);
    simt::seed = seed;
    product p(size);
    order_tiles(p);
    split_tiles(p);
    simt::readable = {p.x.range(), p.y.range(), p.s.range()};
    compute(p);
    check_product(p);
}

inline void test_skipped(const problem &size)
{
    const int skip = 1;
    product p(size);

    order_tiles(p);
    p.skip = &skip;
    for (int turn = 0; turn < 2; turn++) {
        compute(p);
        p.n_full = 0;
        p.sums.assign(static_cast<std::size_t>(TILE_ROWS) * TILE_COLS + 1, NAN);
    }
    for (const float sum : p.sums)
        if (!std::isnan(sum))
            simt::fail("a skipped step writes sums");
    for (const u16 v : p.c.storage)
        if (v != 0xffff)
            simt::fail("a skipped step writes");
}

// Every f16 comes back, and halfway between two the even one is taken.
inline void test_f16()
{
    for (u32 v = 0; v < 0x7c00; v++) {
        const auto low = static_cast<u16>(v), high = static_cast<u16>(v + 1);
        const float x = simt::from_f16(low);
        const float next = v == 0x7bff ? 65536.f : simt::from_f16(high);
        const float half = (x + next) / 2;
        const u16 even = v & 1 ? high : low;
        if (simt::to_f16(x) != low || simt::to_f16(half) != even ||
            simt::to_f16(std::nextafter(half, 0.f)) != low ||
            simt::to_f16(-std::nextafter(half, 1e9f)) != (high | 0x8000))
            simt::fail("conversion to f16");
    }
}

// First argument: how many seeds, then which one is the first.
int main(int argc, char **argv)
{
    static const problem sizes[] = {
        {64, 64, 8, 1, 1.f, 0.f, 1},        {200, 200, 72, 1, 0.5f, -2.f, 1},
        {300, 300, 200, 2, -1.f, 0.25f, 3}, {130, 130, 321, 1, 1.f, 1.f, 2},
        {77, 77, 33, 3, 2.f, -1.f, 2},
    };
    static const problem general[] = {{200, 328, 136, 2, 1.f, -0.5f, 2},
                                      {321, 75, 50, 1, -1.f, 1.f, 1}};
    const int n_seeds = argc > 1 ? std::atoi(argv[1]) : 1;
    const int first = argc > 2 ? std::atoi(argv[2]) : 1;

    simt::sleep_odds = 16;
    test_f16();
    test_skipped(sizes[0]);
    for (int i = 0; i < n_seeds; i++) {
        for (const problem &p : sizes)
            test_product(p, static_cast<std::uint64_t>(first + i));
        for (const problem &p : general)
            if (!SYMMETRIC)
                test_product(p, static_cast<std::uint64_t>(first + i));
    }
    return 0;
}
