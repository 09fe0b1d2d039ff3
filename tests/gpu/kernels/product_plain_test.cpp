// runtime/cuda/kernels/product_plain.cu on the model of the device beside the
// host's product in a fixed order: the same bits.
#include "tests/gpu/simt/block.hpp"
// the model's global.cuh
#include "tests/gpu/simt/elementwise.hpp"

#include <cstddef>
#include <sys/mman.h>

extern "C" {
#include "runtime/cuda/products/plain.h"
#include "runtime/math/product.h"
}

// Numbers of the device are functions of the same names as the host's.
#define KERNEL product_plain
namespace device
{
#include "elementwise.cuh"
#include "product_plain.cu"
} // namespace device
using namespace device;

static_assert(sizeof(plain_product) == sizeof(czr_plain_product) &&
                  offsetof(plain_product, out) ==
                      offsetof(czr_plain_product, out) &&
                  offsetof(plain_product, out_dtype) ==
                      offsetof(czr_plain_product, out_dtype) &&
                  offsetof(plain_product, narrow) ==
                      offsetof(czr_plain_product, narrow),
              "products are other structs for C and for the device");
static_assert(int(CZR_PLAIN_TILE) == PLAIN_TILE &&
                  int(CZR_PLAIN_THREADS) == THREADS,
              "tiles are others for C and for the device");
static_assert(int(CZR_BF16) == PLAIN_BF16 && int(CZR_F16) == PLAIN_F16,
              "types are others for C and for the device");

static size_t pick(size_t n)
{
    return simt::draw() % n;
}

static size_t bytes_of(czr_dtype dtype)
{
    return dtype == CZR_F32 ? 4 : 2;
}

// Numbers that end where memory ends: what is read or written behind them is a
// fault of the process.
class numbers
{
  public:
    czr_dtype dtype = CZR_F32;
    size_t n = 0;

    numbers(czr_dtype type, size_t count) : dtype(type), n(count)
    {
        const size_t page = 4096;
        room = (bytes() + page - 1) / page * page + page;
        map = static_cast<unsigned char *>(
            mmap(nullptr, room, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (map == MAP_FAILED ||
            mprotect(map + room - page, page, PROT_NONE) != 0)
            simt::fail("no memory");
        data = map + room - page - bytes();
    }
    numbers(const numbers &) = delete;
    numbers &operator=(const numbers &) = delete;
    ~numbers()
    {
        munmap(map, room);
    }

    unsigned char *data;

    size_t bytes() const
    {
        return n * bytes_of(dtype);
    }

    void put(size_t i, float x)
    {
        const u16 narrow =
            dtype == CZR_BF16 ? simt::to_bf16(x) : simt::to_f16(x);
        if (dtype == CZR_F32)
            std::memcpy(data + 4 * i, &x, 4);
        else
            std::memcpy(data + 2 * i, &narrow, 2);
    }

    float at(size_t i) const
    {
        u16 narrow;
        float x;
        if (dtype != CZR_F32) {
            std::memcpy(&narrow, data + 2 * i, 2);
            return dtype == CZR_BF16 ? simt::from_bf16(narrow)
                                     : simt::from_f16(narrow);
        }
        std::memcpy(&x, data + 4 * i, 4);
        return x;
    }

  private:
    unsigned char *map;
    size_t room;
};

static float draw_number(bool is_wild)
{
    static const float wild[] = {NAN, INFINITY, -INFINITY, -0.f, 1e-40f, 3e38f};

    if (is_wild && pick(500) == 0)
        return wild[pick(6)];
    return static_cast<float>(pick(2000001)) / 500000.f - 2.f;
}

static void draw_all(numbers &x, bool is_wild)
{
    for (size_t i = 0; i < x.n; i++)
        x.put(i, draw_number(is_wild));
}

static czr_dtype draw_dtype()
{
    static const czr_dtype dtypes[] = {CZR_F32, CZR_BF16, CZR_F16};

    return dtypes[pick(3)];
}

static size_t draw_extent()
{
    static const size_t edges[] = {0, 1, 3, 4, 5, 63, 64, 65, 127, 129};
    return pick(3) ? 1 + pick(150) : edges[pick(10)];
}

// Sizes and forms; addresses are set elsewhere.
static czr_product draw_product()
{
    czr_product p = {};

    p.symmetric = pick(3) == 0;
    p.m = draw_extent();
    p.n = p.symmetric ? p.m : draw_extent();
    p.k = draw_extent();
    p.a_dtype = draw_dtype();
    p.b_dtype = draw_dtype();
    p.transpose_a = static_cast<int>(pick(2));
    p.transpose_b = static_cast<int>(pick(2));
    if (LEVELS || pick(2)) {
        p.blocks = LEVELS ? 1 << (1 + pick(LEVELS + !LEVELS)) : 1;
        p.narrow = static_cast<int>(pick(2));
        p.k *= static_cast<size_t>(p.blocks);
    }
    p.out_dtype = draw_dtype();
    p.addend_dtype = draw_dtype();
    p.alpha = draw_number(false);
    p.beta = draw_number(false);
    return p;
}

enum class form { plain, scaled, added, added_in_place };

// What one of the two makes of the same operands.
struct results {
    numbers c, out;

    results(const czr_product &p, const numbers &first)
        : c(CZR_F32, p.m * p.n), out(p.out_dtype, p.m * p.n)
    {
        for (size_t i = 0; i < c.n; i++)
            c.put(i, -7e33f);
        std::memcpy(out.data, first.data, out.bytes());
    }
};

static czr_product into(const czr_product &drawn, form f, results &r,
                        const numbers &addend)
{
    czr_product p = drawn;

    p.c = reinterpret_cast<float *>(r.c.data);
    if (f == form::plain)
        return p;
    p.out = r.out.data;
    if (f == form::added)
        p.addend = addend.data;
    if (f == form::added_in_place) {
        p.addend = r.out.data;
        p.addend_dtype = p.out_dtype;
    }
    return p;
}

static void compare(const numbers &mine, const numbers &wanted,
                    std::uint64_t seed)
{
    const size_t size = bytes_of(mine.dtype);

    for (size_t i = 0; i < mine.n; i++) {
        const float x = mine.at(i), y = wanted.at(i);
        if ((x == x || y == y) &&
            std::memcmp(mine.data + size * i, wanted.data + size * i, size)) {
            std::fprintf(stderr, "seed %llu: element %zu is %.9g, not %.9g\n",
                         static_cast<u64>(seed), i, static_cast<double>(x),
                         static_cast<double>(y));
            std::exit(1);
        }
    }
}

// All results go to `out`.
static czr_product on_device(const czr_product &p)
{
    czr_product q = p;

    q.beta = p.addend ? p.beta : 0;
    if (p.out)
        return q;
    q.out = p.c;
    q.out_dtype = CZR_F32;
    q.alpha = 1;
    return q;
}

static void launch(const czr_product &of, const float *sums, const int *skip)
{
    const czr_product p = on_device(of);
    const czr_plain_product of_c = czr_plain_product_of(&p);
    const unsigned most = czr_plain_blocks(&p);
    plain_product arguments;

    if ((most == 0) != (p.m == 0 || p.n == 0))
        simt::fail("a launch has no tile, or one that is nowhere");
    if (!most)
        return;
    std::memcpy(&arguments, &of_c, sizeof arguments);
    const unsigned grid = pick(2) ? most : 1 + static_cast<unsigned>(pick(3));
    if (!sums)
        simt::launch(grid, THREADS, [&] { product_plain(arguments, skip); });
    else
        simt::launch(grid, THREADS,
                     [&] { product_finish(arguments, sums, skip); });
}

// In one kernel, or the sums first and then what is wanted of them.
static void run(const czr_product &p, const int *skip)
{
    numbers sums(CZR_F32, p.m * p.n);
    czr_product first = p;

    if (pick(2)) {
        launch(p, nullptr, skip);
        return;
    }
    first.out = nullptr;
    first.addend = nullptr;
    first.c = reinterpret_cast<float *>(sums.data);
    launch(first, nullptr, nullptr);
    for (size_t i = 0; i < sums.n; i++)
        if (p.symmetric && i / p.n < i % p.n)
            sums.put(i, NAN);
    launch(p, first.c, skip);
}

// What czr_host_math_open gives in strict mode.
static void multiply_on_host(const czr_product &p)
{
    static std::vector<float> a(CZR_BLOCK_ROWS * CZR_BLOCK_DEPTH),
        b(CZR_BLOCK_DEPTH * CZR_BLOCK_COLUMNS),
        parts(CZR_BLOCK_LEVELS * CZR_BLOCK_ROWS * CZR_BLOCK_COLUMNS);
    czr_host_math host = {};

    host.packed_a = a.data();
    host.packed_b = b.data();
    host.partials = parts.data();
    czr_product_fixed_order(&host.math, &p);
}

static void test_product(std::uint64_t seed)
{
    simt::seed = seed;
    const czr_product drawn = draw_product();
    const bool is_wild = pick(4) == 0, is_skipped = pick(8) == 0;
    const form f = static_cast<form>(pick(4));
    numbers a(drawn.a_dtype, drawn.m * drawn.k),
        b(drawn.b_dtype, drawn.k * drawn.n),
        addend(drawn.addend_dtype, drawn.m * drawn.n),
        first(drawn.out_dtype, drawn.m * drawn.n);

    for (numbers *x : {&a, &b, &addend, &first})
        draw_all(*x, is_wild);
    results mine(drawn, first), wanted(drawn, first), untouched(drawn, first);
    czr_product p = into(drawn, f, wanted, addend);
    p.a = a.data;
    p.b = b.data;
    multiply_on_host(p);
    p = into(drawn, f, mine, addend);
    p.a = a.data;
    p.b = b.data;
    const int skip = is_skipped;
    run(p, pick(2) || is_skipped ? &skip : nullptr);
    compare(mine.out, is_skipped ? untouched.out : wanted.out, seed);
    compare(mine.c, f == form::plain && !is_skipped ? wanted.c : untouched.c,
            seed);
}

static void test_blocks()
{
    czr_product p = {};

    p.m = static_cast<size_t>(1) << 40;
    p.n = static_cast<size_t>(1) << 40;
    if (czr_plain_blocks(&p) != 2147483647u)
        simt::fail("a grid is larger than a device allows");
    p.n = 65;
    p.m = 64;
    if (czr_plain_blocks(&p) != 2)
        simt::fail("a grid has not a block for each tile");
}

// Arguments: how many products, the first seed.
int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 20;
    const int first = argc > 2 ? std::atoi(argv[2]) : 1;

    std::printf("%d products, seed %d\n", n, first);
    test_blocks();
    for (int i = 0; i < n; i++)
        test_product(static_cast<std::uint64_t>(first + i));
    return 0;
}
