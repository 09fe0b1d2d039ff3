// runtime/cuda/kernels/collect_sum.cu beside runtime/world/sum.c and
// runtime/base/band.c.
#include "collect_test.hpp"

extern "C" {
#include "runtime/math/product.h"
}

static_assert(sizeof(n_grads) == sizeof(czr_collect_grads_argument) &&
                  offsetof(n_grads, first) ==
                      offsetof(czr_collect_grads_argument, first) &&
                  offsetof(n_grads, largest) ==
                      offsetof(czr_collect_grads_argument, largest),
              "leaves are other structs for C and for the device");
static_assert(sizeof(members) == sizeof(czr_collect_members) &&
                  sizeof(slice) == sizeof(czr_collect_slice_argument) &&
                  sizeof(band) == sizeof(czr_collect_band_argument) &&
                  sizeof(band) == sizeof(czr_band),
              "arguments are other structs for C and for the device");
static_assert(int(THREADS) == int(CZR_COLLECT_THREADS) &&
                  int(SIDE) == int(CZR_COLLECT_SIDE) &&
                  1 << (LEVELS - 1) == int(CZR_COLLECT_MAX_MEMBERS),
              "sizes are others for C and for the device");
static_assert(int(SUM_F64) == int(CZR_SUM_F64) &&
                  int(SUM_F32) == int(CZR_SUM_F32) &&
                  int(SUM_BF16) == int(CZR_SUM_BF16) &&
                  int(SUM_BF16_EACH) == int(CZR_SUM_BF16_EACH) &&
                  int(SUM_I64) == int(CZR_SUM_I64),
              "sums are others for C and for the device");

// ---- leaves ----

struct reduction {
    std::vector<numbers> grads;
    std::vector<czr_collective> units;
    std::vector<const czr_collective *> posted;
    std::vector<const void *> sources;
};

static reduction draw_reduction(const czr_reduce_scatter &one, u64 n_members)
{
    const u64 odds = pick(3) ? 0 : 40;
    const u64 n = static_cast<u64>(one.n_grads * one.grad_stride);
    reduction r;

    for (u64 m = 0; m < n_members; m++) {
        r.grads.emplace_back(one.dtype, n, pick(2) ? 0 : pick(9));
        r.grads.back().draw(n, odds);
    }
    for (u64 m = 0; m < n_members; m++) {
        czr_collective unit = {};
        unit.kind = CZR_COLLECTIVE_REDUCE_SCATTER;
        unit.of.reduce_scatter = one;
        unit.of.reduce_scatter.grad = r.grads[m].at(0);
        r.units.push_back(unit);
        r.sources.push_back(r.grads[m].at(0));
    }
    for (const czr_collective &unit : r.units)
        r.posted.push_back(&unit);
    return r;
}

static void test_leaves()
{
    const u64 n_members = pick(4) ? 1 + pick(5) : 1 + pick(40);
    czr_reduce_scatter one = {};
    one.dtype = pick(2) ? CZR_F32 : CZR_BF16;
    one.n_grads = 1 + static_cast<int>(pick(3));
    one.n = static_cast<int64_t>(pick(5) ? pick(700) : pick(5000));
    one.first = static_cast<int64_t>(pick(30));
    one.grad_stride = one.first + one.n + static_cast<int64_t>(pick(20));
    one.scale = pick(2) ? 1.f / static_cast<float>(n_members) : 1.f;
    reduction r = draw_reduction(one, n_members);
    const u64 n = static_cast<u64>(one.n), gap = pick(5);
    numbers wanted(CZR_F32, n, gap), mine = wanted;
    int32_t largest = static_cast<int32_t>(pick(2) ? 0 : pick(0x40000000));
    int32_t most = largest;

    czr_reduce_scatter host = r.units[0].of.reduce_scatter;
    host.out = static_cast<float *>(wanted.at(0));
    host.largest = &largest;
    czr_sum_grads(&host, r.posted.data(), static_cast<int>(n_members), false);
    const n_grads of = {r.sources.data(),
                        static_cast<int>(n_members),
                        one.n_grads,
                        static_cast<u64>(one.grad_stride),
                        static_cast<u64>(one.first),
                        n,
                        static_cast<float *>(mine.at(0)),
                        one.scale,
                        &most};
    launch_some([&] {
        if (one.dtype == CZR_F32)
            collect_leaves_f32(of);
        else
            collect_leaves_bf16(of);
    });
    compare("a sum of leaves", mine, wanted);
    const int32_t infinity = 0x7f800000;
    if (largest != most && (largest <= infinity || most <= infinity))
        differ("the largest magnitude", static_cast<u64>(most));
}

// ---- members ----

// Data of members, twice: for the host and for the device.
struct group {
    czr_sum type;
    std::vector<numbers> wanted, mine;
    std::vector<czr_collective> units;
    std::vector<const czr_collective *> posted;
    std::vector<void *> data;
};

static czr_dtype dtype_of(czr_sum type)
{
    if (type == CZR_SUM_F32)
        return CZR_F32;
    return type == CZR_SUM_BF16 || type == CZR_SUM_BF16_EACH ? CZR_BF16
                                                             : CZR_F64;
}

static void draw_data(group &g, u64 n, u64 odds)
{
    const czr_dtype dtype = dtype_of(g.type);

    g.wanted.emplace_back(dtype, n, pick(2) ? 0 : pick(9));
    numbers &all = g.wanted.back();
    all.draw(n, odds);
    // Integers of any size and sign whose sum is one.
    for (u64 i = 0; i < n && g.type == CZR_SUM_I64; i++) {
        const u64 size = (pick(1ull << 40) << 24 ^ pick(1ull << 40)) >> 8;
        const u64 x = pick(2) ? size >> pick(56) : 0 - (size >> pick(56));
        std::memcpy(all.at(i), &x, sizeof x);
    }
}

static group draw_group(u64 n_members, u64 count, const czr_band &band)
{
    const u64 odds = pick(3) ? 0 : 40;
    group g;

    g.type = static_cast<czr_sum>(pick(CZR_N_SUMS));
    for (u64 m = 0; m < n_members; m++)
        draw_data(g, count, odds);
    g.mine = g.wanted;
    for (u64 m = 0; m < n_members; m++) {
        czr_collective unit = {};
        unit.of.all_reduce = {g.wanted[m].at(0), count, g.type, band};
        g.units.push_back(unit);
        g.data.push_back(g.mine[m].at(0));
    }
    for (const czr_collective &unit : g.units)
        g.posted.push_back(&unit);
    return g;
}

static void compare_group(const char *what, const group &g)
{
    for (std::size_t m = 0; m < g.mine.size(); m++)
        if (g.type == CZR_SUM_I64 && g.mine[m].memory != g.wanted[m].memory)
            differ(what, m);
        else if (g.type != CZR_SUM_I64)
            compare(what, g.mine[m], g.wanted[m]);
}

static u64 draw_members()
{
    static const u64 several[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 100};

    return several[pick(sizeof several / sizeof *several)];
}

// Who gets sums.
struct share {
    u64 to, to_end;

    explicit share(u64 n_members) : to(0), to_end(n_members)
    {
        if (pick(2))
            return;
        to = pick(n_members);
        to_end = to + pick(n_members - to + 1);
    }
};

static members members_of(group &g, const share &of)
{
    return {g.data.data(), static_cast<int>(g.data.size()),
            static_cast<int>(of.to), static_cast<int>(of.to_end)};
}

// Others than those that get sums stay as they are.
static void test_slice()
{
    const u64 n_members = draw_members();
    const u64 n = pick(5) ? pick(300) : pick(1500);
    group g = draw_group(n_members, n + pick(9), {});
    const share of(n_members);

    czr_sum_slice(g.posted.data(), static_cast<int>(n_members), 0, n);
    for (u64 m = 0; m < n_members; m++)
        if (m < of.to || m >= of.to_end)
            std::memcpy(g.wanted[m].memory.data(), g.mine[m].memory.data(),
                        g.mine[m].memory.size());
    const members all = members_of(g, of);
    launch_some([&] { collect_slice(all, {n, 0}, g.type); });
    compare_group("a sum of all", g);
}

static void sum_parts_on_host(group &g, const share &of)
{
    for (u64 m = of.to; m < of.to_end; m++)
        czr_sum_equal_part(g.posted.data(), static_cast<int>(g.posted.size()),
                           static_cast<int>(m));
}

static void test_parts()
{
    const u64 n_members = draw_members();
    const u64 count = pick(900), part = count / n_members;
    group g = draw_group(n_members, count, {});
    const share of(n_members);

    sum_parts_on_host(g, of);
    const members all = members_of(g, of);
    if (part)
        launch_some([&] { collect_slice(all, {part, 1}, g.type); });
    compare_group("a sum of parts", g);
}

// ---- bands ----

static czr_band draw_band(u64 n_members)
{
    const u64 blocks = n_members * (1 + pick(3));

    return {blocks * (1 + pick(pick(4) ? 4 : 20)), blocks};
}

static void test_band_sum()
{
    const u64 n_members = 1 + pick(6);
    const czr_band b = draw_band(n_members);
    group g = draw_group(n_members, b.side * b.side, b);
    const share of(n_members);

    sum_parts_on_host(g, of);
    const members all = members_of(g, of);
    launch_some(
        [&] { collect_band_sum(all, {b.side, b.blocks}, g.type); });
    compare_group("a sum of a band", g);
}

// Member m gets row `row` of member `own`.
static void copy_row(group &g, const czr_band &b, u64 row, u64 own, u64 m)
{
    czr_run runs[2];
    const int n = czr_band_runs(&b, row, runs);

    for (int i = 0; i < n; i++)
        std::memcpy(g.wanted[m].at(runs[i].first),
                    g.wanted[own].at(runs[i].first),
                    runs[i].n * g.wanted[m].width());
}

static void test_band_gather()
{
    const u64 n_members = 1 + pick(6);
    const czr_band b = draw_band(n_members);
    group g = draw_group(n_members, b.side * b.side, b);
    const share of(n_members);

    for (u64 row = 0; row < b.side; row++)
        for (u64 m = of.to; m < of.to_end; m++)
            if (m != row / (b.side / n_members))
                copy_row(g, b, row, row / (b.side / n_members), m);
    const members all = members_of(g, of);
    const int width = static_cast<int>(g.mine[0].width());
    launch_some(
        [&] { collect_band_gather(all, {b.side, b.blocks}, width); });
    compare_group("a gathered band", g);
}

// ---- mirrors ----

static void mirror_on_device(const char *what, group &g, const band &b)
{
    const int width = static_cast<int>(g.mine[0].width());

    launch_some([&] { collect_mirror(g.mine[0].at(0), b, width); });
    compare_group(what, g);
}

static void test_band_mirror()
{
    const czr_band b = draw_band(1 + pick(6));
    group g = draw_group(1, b.side * b.side, b);

    czr_band_mirror(&b, g.wanted[0].at(0), g.wanted[0].width());
    mirror_on_device("a mirrored band", g, {b.side, b.blocks});
}

// Doubles are no states of the host's.
static void mirror_loops(numbers &matrix, u64 n)
{
    for (u64 row = 0; row < n; row++)
        for (u64 column = row + 1; column < n; column++)
            std::memcpy(matrix.at(row * n + column),
                        matrix.at(column * n + row), matrix.width());
}

static void test_mirror_lower()
{
    const u64 n = pick(3) ? pick(40) : pick(140);
    group g = draw_group(1, n * n, {});
    numbers &wanted = g.wanted[0];

    if (wanted.dtype == CZR_F64)
        mirror_loops(wanted, n);
    else
        czr_mirror_lower(wanted.at(0), wanted.dtype, n);
    mirror_on_device("a mirrored triangle", g, {n, 0});
}

// Arguments: how many draws, the first seed.
int main(int argc, char **argv)
{
    static void (*const tests[])() = {
        test_leaves,      test_slice,       test_parts,       test_band_sum,
        test_band_gather, test_band_mirror, test_mirror_lower};

    return run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
