// The body of runtime/cuda/kernels/product_sm90.cu on the model of the device.
#include "tests/gpu/simt/wgmma.hpp"

#define KERNEL kernel
#include "product.cuh"
#include "product_sm90.cu"

#include "product_test.hpp"

const int TILE_ROWS = BM, TILE_COLS = BN, STORED = 8;

static tensor_map map_of(matrices &m, int batch)
{
    return {m.data,
            {static_cast<u64>(m.cols), static_cast<u64>(m.rows),
             static_cast<u64>(batch)},
            {1, m.stride, m.size}};
}

void run_product(product &p, bool is_end)
{
    constexpr int threads = WARPGROUP * (CONSUMERS + 1);
    const tensor_map x = map_of(p.x, p.size.batch);
    const tensor_map y = map_of(p.y, p.size.batch);
    const tensor_map s = map_of(p.s, p.size.batch);
    const tensor_map c = map_of(p.c, p.size.batch);
    const epilogue e = {p.size.alpha, p.size.beta};
    const int steps = (p.size.k + BK - 1) / BK;

    // What a compiler may give so many threads: whole eights.
    simt::entry_registers = 65536 / threads / 8 * 8;
    simt::launch(p.size.n_blocks, threads, [&] {
        kernel(x, y, s, c, e, p.size.rows, p.size.cols, steps,
               list_of(p, is_end), p.skip);
    });
}
