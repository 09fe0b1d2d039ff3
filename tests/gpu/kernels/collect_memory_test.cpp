// runtime/cuda/kernels/collect_memory.cu beside runtime/base/memory.c.
#include "collect_test.hpp"

static_assert(sizeof(hypers) == sizeof(czr_collect_hypers_argument) &&
                  int(HYPERS) == int(CZR_COLLECT_HYPERS),
              "run-time values are other structs for C and for the device");
static_assert(int(DTYPE_F64) == int(CZR_F64) &&
                  int(DTYPE_F32) == int(CZR_F32) &&
                  int(DTYPE_BF16) == int(CZR_BF16) &&
                  int(DTYPE_F16) == int(CZR_F16),
              "types are others for C and for the device");

static czr_dtype draw_dtype()
{
    return static_cast<czr_dtype>(pick(CZR_N_DTYPES));
}

// Bits of a number, the others 0.
static u64 bits_of_number(czr_dtype dtype, double x)
{
    u64 bits = 0;

    czr_fill(&bits, dtype, x, 1);
    return bits;
}

static void test_fill()
{
    const czr_dtype dtype = draw_dtype();
    const u64 n = pick(5) ? pick(200) : pick(9000), gap = pick(9);
    const double x = static_cast<double>(draw_float(10));
    numbers wanted(dtype, n, gap), mine = wanted;
    const int width = static_cast<int>(mine.width());

    czr_fill(wanted.at(0), dtype, x, n);
    launch_some([&] {
        collect_fill(mine.at(0), bits_of_number(dtype, x), width, n, 1);
    });
    compare("what is filled", mine, wanted);
}

static void test_diagonal()
{
    const czr_dtype dtype = draw_dtype();
    const u64 n = 1 + pick(70);
    numbers wanted(dtype, n * n, pick(9)), mine = wanted;
    const int width = static_cast<int>(mine.width());

    for (u64 i = 0; i < n; i++)
        czr_fill(wanted.at(i * (n + 1)), dtype, 0.1, 1);
    launch_some([&] {
        collect_fill(mine.at(0), bits_of_number(dtype, 0.1), width, n, n + 1);
    });
    compare("a diagonal", mine, wanted);
}

static void test_convert()
{
    const czr_dtype to = draw_dtype(), from = draw_dtype();
    const u64 n = pick(5) ? pick(200) : pick(3000);
    numbers given(from, n, pick(9)), wanted(to, n, pick(9));
    const int flag = pick(6) == 0;

    given.draw(n, 5);
    numbers mine = wanted;
    const int width = static_cast<int>(mine.width());
    const int *skip = pick(2) || flag ? &flag : nullptr;
    if (!flag)
        czr_convert(wanted.at(0), to, given.at(0), from, n);
    launch_some([&] {
        if (to == from)
            collect_copy(mine.at(0), given.at(0), width, n, skip);
        else
            collect_convert(mine.at(0), to, given.at(0), from, n, skip);
    });
    compare("what is converted", mine, wanted);
}

static void test_hash()
{
    const czr_dtype dtype = draw_dtype();
    const u64 n = pick(5) ? pick(200) : pick(9000);
    numbers given(dtype, n, pick(9));
    u64 mine = 5;

    given.draw(n, 5);
    launch_some([&] {
        collect_hash(&mine, given.at(0), static_cast<int>(given.width()), n);
    });
    if (mine != 5 + czr_hash(given.at(0), given.width(), n))
        differ("a hash", n);
}

static void test_hypers()
{
    const u64 n = pick(HYPERS + 1);
    double to[HYPERS];
    hypers h;

    for (u64 i = 0; i < HYPERS; i++) {
        to[i] = -1;
        h.values[i] = static_cast<double>(draw_float(10));
    }
    simt::launch(1, HYPERS,
                 [&] { collect_hypers(to, h, static_cast<int>(n)); });
    for (u64 i = 0; i < HYPERS; i++)
        if (bits_of(to[i]) != bits_of(i < n ? h.values[i] : -1.))
            differ("a run-time value", i);
}

// Arguments: how many draws, the first seed.
int main(int argc, char **argv)
{
    static void (*const tests[])() = {test_fill, test_diagonal, test_convert,
                                      test_hash, test_hypers};

    return run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
