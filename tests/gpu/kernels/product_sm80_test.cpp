// The body of runtime/cuda/kernels/product_sm80.cu on the model of the device.
#include "tests/gpu/simt/sm80.hpp"

#define KERNEL kernel
#include "product.cuh"
#include "product_sm80.cu"

#include "product_test.hpp"

const int TILE_ROWS = TILE, TILE_COLS = TILE, STORED = 1;

void run_product(product &p, bool is_end)
{
    const operand x = {p.x.data, p.x.stride, p.x.size};
    const operand y = {p.y.data, p.y.stride, p.y.size};
    const output c = {p.c.data, p.c.stride, p.c.size};
    const operand s = {p.s.data, p.s.stride, p.s.size};
    const epilogue e = {p.size.alpha, p.size.beta};

    simt::launch(p.size.n_blocks, THREADS, [&] {
        kernel(x, y, s, c, e, p.size.rows, p.size.cols, p.size.k,
               list_of(p, is_end), p.skip);
    });
}
