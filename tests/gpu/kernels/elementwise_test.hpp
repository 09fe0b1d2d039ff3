// Loops of generated C beside the kernels of the same numbers on the model of
// the device, on drawn numbers.  A generated file gives `cases` and `n_cases`.
#pragma once

#include "tests/gpu/simt/block.hpp"
// the model's global.cuh
#include "tests/gpu/simt/elementwise.hpp"

#include "elementwise.cuh"

// One argument of a loop of C behind its extents.
struct argument {
    char type;     // 'f' f32, 'b' bf16, 'h' f16, 'd' f64, 's' the status
    bool is_array; // else one number
    bool is_sum;   // a result that is added up, in another order than in C
};

struct loop_case {
    const char *name;
    bool is_flat;
    // Extents are multiples of these.
    u64 row_blocks, column_blocks;
    int n_arguments;
    const argument *arguments;
    void (*c)(u64 rows, u64 columns, void *const *p);
    void (*cuda)(u64 rows, u64 columns, void *const *p);
};

extern const loop_case cases[];
extern const int n_cases;

// ---- launching ----

inline unsigned grid = 1;
// Partial sums, NaNs at first: a kernel leaves none out, and none behind them.
struct partial_sums {
    std::vector<double> sums;
    u64 n;
};
inline partial_sums partials[4];
constexpr u64 BEHIND = 2 * THREADS;

inline void check_behind(const partial_sums &p)
{
    for (u64 i = p.n; i < p.sums.size(); i++)
        if (p.sums[i] == p.sums[i])
            simt::fail("a partial sum is written behind the last");
}

template <class F> void run(F kernel)
{
    simt::launch(grid, THREADS, kernel);
    for (const partial_sums &p : partials)
        check_behind(p);
}

inline double *partial(int which, u64 n)
{
    partials[which].sums.assign(n + BEHIND, NAN);
    partials[which].n = n;
    return partials[which].sums.data();
}

// A run as entries of one launch, cut at any elements; some are empty.
template <class Entry, int N, class F>
void split(entry_table<Entry, N> &to, u64 width, u64 n, F place)
{
    const u64 in_block = width * THREADS;
    u64 start = 0;
    u32 ends = 0;

    to.n_entries = 1 + static_cast<u32>(simt::draw() % N);
    for (u32 e = 0; e < to.n_entries; e++) {
        const u64 left = to.n_entries - e, rest = n - start;
        to.n[e] = left == 1 ? rest : simt::draw() % (2 * rest / left + 1);
        ends += static_cast<u32>((to.n[e] + in_block - 1) / in_block);
        to.ends[e] = ends;
        place(to.of[e], start);
        start += to.n[e];
    }
}

// Partial sums that nobody reads.
inline double *spare(u64 n)
{
    static std::vector<double> sums(1 << 20);
    if (n > sums.size())
        simt::fail("more partial sums than anybody has");
    return sums.data();
}

// A run that is reduced as several entries of one launch, of which one counts;
// the others are empty where the kernel writes elements, too.
template <class Entry, int N, class F>
void repeat(entry_table<Entry, N> &to, bool writes, u64 blocks, u64 n, F place)
{
    u64 end = 0;

    to.n_entries = 1 + static_cast<u32>(simt::draw() % 3);
    const u32 counting = static_cast<u32>(simt::draw()) % to.n_entries;
    for (u32 e = 0; e < to.n_entries; e++) {
        const bool is_full = e == counting || !writes;
        to.n[e] = is_full ? n : 0;
        end += is_full ? blocks : 0;
        to.ends[e] = static_cast<u32>(end);
        place(to.of[e], e == counting);
    }
}

// Several ends of sums for one launch, of which one counts.
inline part_table ends;
inline int n_ends;

inline void end(const double *sums, u64 length, double *y)
{
    static double ignored;
    n_ends = 1 + static_cast<int>(simt::draw() % 3);
    const int counting = static_cast<int>(simt::draw() % 3) % n_ends;
    for (int e = 0; e < n_ends; e++)
        ends.of[e] = {sums, length, e == counting ? y : &ignored};
    grid = 1 + static_cast<unsigned>(simt::draw() % 3);
}

inline u64 strips_of(u64 rows)
{
    return (rows + STRIP_ROWS - 1) / STRIP_ROWS;
}

// ---- numbers ----

inline std::size_t bytes_of(char type)
{
    return type == 'd' ? 8 : type == 'b' || type == 'h' ? 2 : 4;
}

inline float draw_float(bool is_wild)
{
    static const float wild[] = {NAN,  INFINITY, -INFINITY, 0.f,
                                 -0.f, 1e-40f,   3e38f,     -1e-45f};
    if (is_wild && simt::draw() % 8 == 0)
        return wild[simt::draw() % 8];
    return static_cast<float>(simt::draw() % 200001) / 50000.f - 2.f;
}

// Somewhere in storage, so many elements, canaries around them.
struct array {
    std::vector<unsigned char> storage;
    std::size_t start;

    array(char type, u64 n, bool is_aligned, bool is_wild)
        : storage(n * bytes_of(type) + 256), start(64)
    {
        while (reinterpret_cast<std::uintptr_t>(storage.data() + start) % 64)
            start++;
        if (!is_aligned)
            start += simt::draw() % 9 * bytes_of(type);
        for (unsigned char &byte : storage)
            byte = static_cast<unsigned char>(simt::draw());
        for (u64 i = 0; i < n; i++)
            put(type, i, draw_float(is_wild));
    }

    void put(char type, u64 i, float value)
    {
        const double wide = static_cast<double>(value);
        const u16 narrow = type == 'h' ? czr_f32_to_f16(value)
                                       : czr_f32_to_bf16(value);
        const void *from = &value;
        if (type == 'd')
            from = &wide;
        if (type == 'b' || type == 'h')
            from = &narrow;
        std::memcpy(storage.data() + start + i * bytes_of(type), from,
                    bytes_of(type));
    }
};

inline double value_at(const array &a, char type, u64 i)
{
    const unsigned char *p = a.storage.data() + a.start + i * bytes_of(type);
    double d;
    float f;
    u16 b;

    std::memcpy(&b, p, sizeof b);
    if (type == 'b')
        return static_cast<double>(simt::from_bf16(b));
    if (type == 'h')
        return static_cast<double>(simt::from_f16(b));
    std::memcpy(&f, p, sizeof f);
    if (type != 'd')
        return static_cast<double>(f);
    std::memcpy(&d, p, sizeof d);
    return d;
}

// Sums of a few thousand terms of the numbers drawn; the rest to the bit, but
// for which NaN it is.
inline bool is_same(const array &a, const array &b, const argument &of, u64 i)
{
    const double x = value_at(a, of.type, i), y = value_at(b, of.type, i);

    if (x != x || y != y)
        return x != x && y != y;
    if (of.is_sum)
        return x == y || std::fabs(x - y) <= 1e-11 * (1 + std::fabs(x));
    return x == y && std::signbit(x) == std::signbit(y);
}

// Conversions of C.
extern "C" u16 c_to_bf16(float);
extern "C" float c_to_f32(u16);
extern "C" u16 c_to_f16(float);
extern "C" float c_from_f16(u16);
extern "C" u32 c_wild(float);

// Every bf16 and f16, and what lies closely around each and halfway to the next.
inline void test_conversions()
{
    static const u32 more[] = {0,      1,      0x0fff, 0x1000, 0x1001,
                               0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000,
                               0x8001, 0xb000, 0xf000, 0xffff};
    for (u32 high = 0; high < 0x10000; high++)
        for (u32 low : more) {
            const u32 bits = high << 16 | low;
            const u16 narrow = static_cast<u16>(high);
            float x;
            std::memcpy(&x, &bits, sizeof x);
            if (czr_f32_to_bf16(x) == c_to_bf16(x) &&
                bits_of(czr_bf16_to_f32(narrow)) == bits_of(c_to_f32(narrow)) &&
                czr_f32_to_f16(x) == c_to_f16(x) &&
                bits_of(czr_f16_to_f32(narrow)) ==
                    bits_of(c_from_f16(narrow)) &&
                (czr_nonfinite_f32(x) != 0) == (c_wild(x) != 0))
                continue;
            std::fprintf(stderr, "conversions of %08x are not C's\n", bits);
            std::exit(1);
        }
}

// ---- one case ----

struct shape {
    u64 rows, columns;
};

inline bool is_canary(const array &a, char type, u64 n, std::size_t at)
{
    return at < a.start || at >= a.start + n * bytes_of(type);
}

inline void compare(const loop_case &c, const argument &of, int number,
                    const shape &s, const array &mine, const array &wanted,
                    std::size_t shift = 0)
{
    const u64 n = of.is_array ? s.rows * s.columns : 1;

    for (u64 i = 0; i < n; i++)
        if (!is_same(mine, wanted, of, i)) {
            std::fprintf(stderr,
                         "%s, argument %d, element %llu: %.17g, C says %.17g\n",
                         c.name, number, i, value_at(mine, of.type, i),
                         value_at(wanted, of.type, i));
            std::exit(1);
        }
    for (std::size_t at = 0; at < mine.storage.size(); at++)
        if (is_canary(mine, of.type, n, at) &&
            mine.storage[at] != wanted.storage[at + shift]) {
            std::fprintf(stderr, "%s writes outside of argument %d\n", c.name,
                         number);
            std::exit(1);
        }
}

inline std::vector<void *> addresses(std::vector<array> &arrays)
{
    std::vector<void *> p;
    for (array &a : arrays)
        p.push_back(a.storage.data() + a.start);
    return p;
}

// C's status is some error where the device's is not 0.
inline void compare_status(const loop_case &c, const array &mine,
                           const array &wanted)
{
    u32 a, b;
    std::memcpy(&a, mine.storage.data() + mine.start, sizeof a);
    std::memcpy(&b, wanted.storage.data() + wanted.start, sizeof b);
    if ((a != 0) == (b != 0))
        return;
    std::fprintf(stderr, "%s: what is not finite is seen by one alone\n",
                 c.name);
    std::exit(1);
}

inline std::vector<array> draw_arguments(const loop_case &c, const shape &s,
                                         bool is_wild)
{
    std::vector<array> arrays;
    const bool is_aligned = simt::draw() % 2;

    for (int i = 0; i < c.n_arguments; i++) {
        const argument &of = c.arguments[i];
        arrays.emplace_back(of.type, of.is_array ? s.rows * s.columns : 1,
                            is_aligned, is_wild && of.is_array);
        if (of.type == 's')
            arrays.back().put('f', 0, 0.f);
    }
    return arrays;
}

// The same numbers one element further on: aligned no more, or perhaps now.
inline std::vector<array> move(const loop_case &c, std::vector<array> arrays)
{
    for (int i = 0; i < c.n_arguments; i++) {
        array &a = arrays[static_cast<std::size_t>(i)];
        a.storage.insert(a.storage.begin(), bytes_of(c.arguments[i].type), 0);
        a.start += bytes_of(c.arguments[i].type);
    }
    return arrays;
}

inline void run_cuda(const loop_case &c, const shape &s,
                     std::vector<array> &arrays)
{
    simt::readable.clear();
    for (int i = 0; i < c.n_arguments; i++) {
        const array &a = arrays[static_cast<std::size_t>(i)];
        const u64 n = c.arguments[i].is_array ? s.rows * s.columns : 1;
        simt::readable.push_back(
            {a.storage.data() + a.start, n * bytes_of(c.arguments[i].type)});
    }
    grid = 1 + simt::draw() % 3;
    c.cuda(s.rows, s.columns, addresses(arrays).data());
}

// Twice: neither threads' order, nor the grid, nor where arrays lie changes a
// bit of what comes out.
inline void test_case(const loop_case &c, const shape &s, bool is_wild)
{
    const std::vector<array> drawn = draw_arguments(c, s, is_wild);
    std::vector<array> wanted = drawn, first = drawn, second = move(c, drawn);

    c.c(s.rows, s.columns, addresses(wanted).data());
    run_cuda(c, s, first);
    run_cuda(c, s, second);
    for (int i = 0; i < c.n_arguments; i++) {
        if (c.arguments[i].type == 's') {
            compare_status(c, first[static_cast<std::size_t>(i)],
                           wanted[static_cast<std::size_t>(i)]);
            continue;
        }
        argument exact = c.arguments[i];
        exact.is_sum = false;
        compare(c, c.arguments[i], i, s, first[static_cast<std::size_t>(i)],
                wanted[static_cast<std::size_t>(i)]);
        compare(c, exact, i, s, first[static_cast<std::size_t>(i)],
                second[static_cast<std::size_t>(i)], bytes_of(exact.type));
    }
}

inline shape draw_shape(const loop_case &c)
{
    static const u64 runs[] = {1, 7, 63, 64, 1000, 4099, 9001};
    static const shape shapes[] = {{1, 1},    {7, 63},   {63, 7},   {3, 1100},
                                   {130, 40}, {1, 1000}, {70, 257}, {65, 1}};
    const shape s = shapes[simt::draw() % 8];

    if (c.is_flat)
        return {1, runs[simt::draw() % 7]};
    return {s.rows * c.row_blocks, s.columns * c.column_blocks};
}

// Arguments: how many shapes for each loop, the seed.
inline int test_loops(int argc, char **argv)
{
    const int n_shapes = argc > 1 ? std::atoi(argv[1]) : 1;

    simt::seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::printf("seed %llu, %d loops, %d shapes each\n",
                static_cast<u64>(simt::seed), n_cases, n_shapes);
    std::fflush(stdout);
    test_conversions();
    for (int i = 0; i < n_cases; i++)
        for (int k = 0; k < n_shapes; k++)
            test_case(cases[i], draw_shape(cases[i]), k % 4 == 3);
    return 0;
}
