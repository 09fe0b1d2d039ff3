// runtime/cuda/kernels/pack.cu on the model of the device: drawn tables of
// moves, beside plain loops.
#include "tests/gpu/simt/block.hpp"
// the models of global.cuh and atomics.cuh
#include "tests/gpu/simt/elementwise.hpp"

#include "tests/gpu/simt/atomics.hpp"

#include "elementwise.cuh"
#include "pack.cu"

extern "C" {
#include "runtime/cuda/collect/pack.h"
}

#include <cstddef>

static_assert(sizeof(move) == sizeof(czr_move) &&
                  offsetof(move, first) == offsetof(czr_move, first) &&
                  offsetof(move, columns) == offsetof(czr_move, columns) &&
                  offsetof(move, element_bytes) ==
                      offsetof(czr_move, element_bytes),
              "moves are other structs for C and for the device");
static_assert(int(CZR_PACK_THREADS) == THREADS && int(CZR_PACK_CHUNK) == UNIT &&
                  int(CZR_PACK_MOVES) == MOVES,
              "units are others for C and for the device");
static_assert(sizeof(move_table) + sizeof(int) + sizeof(u64) <= 4096,
              "a launch has no room for its arguments");

typedef std::vector<unsigned char> bytes;

static u64 pick(u64 n)
{
    return simt::draw() % n;
}

struct table {
    std::vector<czr_move> moves;
    u64 from_size = 0, to_size = 0;
};

// Rows of a box behind what is taken already, with a gap now and then.
static czr_strided place(u64 &size, u64 rows, u64 row_bytes, u64 unit)
{
    const u64 gap = pick(4) ? 0 : pick(9) * unit;
    const czr_strided box = {size + pick(3) * unit, row_bytes + gap};

    size = box.address + rows * box.stride;
    size = (size + 15) / 16 * 16;
    return box;
}

static czr_move draw_move(table &t)
{
    static const u64 units[] = {1, 2, 4, 8, 16};
    const u64 unit = units[pick(5)];
    const bool is_long = pick(4) == 0;
    const u64 rows = is_long ? 1 : pick(40), run = is_long ? 70001 : pick(90);

    const czr_strided from = place(t.from_size, rows, run * unit, unit);
    const czr_strided to = place(t.to_size, rows, run * unit, unit);
    return czr_move_bytes(rows, run * unit, from, to);
}

static table draw_table()
{
    table t;

    for (u64 n = 1 + pick(9); n; n--)
        t.moves.push_back(draw_move(t));
    return t;
}

static void move_by_loops(const czr_move &m, const bytes &from, bytes &to)
{
    for (u64 r = 0; r < m.rows; r++)
        std::memcpy(&to[m.to + r * m.to_stride],
                    &from[m.from + r * m.from_stride],
                    m.columns * m.element_bytes);
}

static bytes draw_memory(u64 n)
{
    bytes memory(n + 32);
    for (unsigned char &byte : memory)
        byte = static_cast<unsigned char>(simt::draw());
    return memory;
}

static u64 address_of(const bytes &memory)
{
    return reinterpret_cast<std::uintptr_t>(memory.data());
}

// The table of a launch, of memory that begins at multiples of 16.
static move_table place_moves(const table &t, const bytes &from,
                              const bytes &to)
{
    move_table moves = {};

    std::memcpy(moves.of, t.moves.data(), t.moves.size() * sizeof(move));
    for (u64 i = 0; i < t.moves.size(); i++) {
        moves.of[i].from += address_of(from);
        moves.of[i].to += address_of(to);
    }
    return moves;
}

static void test_table(std::uint64_t seed)
{
    uint64_t n_jobs;

    simt::seed = seed;
    table t = draw_table();
    if (!czr_moves_number(t.moves.data(), t.moves.size(), &n_jobs))
        simt::fail("a sound table is refused");
    const bytes from = draw_memory(t.from_size);
    bytes mine = draw_memory(t.to_size), wanted = mine;
    for (const czr_move &m : t.moves)
        move_by_loops(m, from, wanted);
    const int n = static_cast<int>(t.moves.size());
    const move_table moves = place_moves(t, from, mine);
    simt::launch(1 + simt::draw() % 5, THREADS,
                 [&] { collect_pack(moves, n, n_jobs); });
    for (u64 i = 0; i < mine.size(); i++)
        if (mine[i] != wanted[i]) {
            std::fprintf(stderr, "seed %llu: byte %llu differs\n",
                         static_cast<u64>(seed), i);
            std::exit(1);
        }
}

// One unit of a move whose elements 32 bits do not count: all rows lie on each
// other, as do their targets.
static void test_many()
{
    const u64 columns = 8 * UNIT, unit = (u64(1) << 32) / UNIT + 3;
    const move m = {0, 0, 0, 0, 0, u64(1) << 30, columns, 2};
    const bytes from = draw_memory(2 * columns);
    bytes mine = draw_memory(2 * columns), wanted = mine;

    std::memcpy(&wanted[3 * 2 * UNIT], &from[3 * 2 * UNIT], 2 * UNIT);
    simt::launch(1, THREADS,
                 [&] { copy_unit<u16>(m, unit, from.data(), mine.data()); });
    if (mine == wanted)
        return;
    std::fprintf(stderr, "elements that 32 bits do not count differ\n");
    std::exit(1);
}

// Arguments: how many tables, the first seed.
int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1;
    const int first = argc > 2 ? std::atoi(argv[2]) : 1;

    std::printf("%d tables from seed %d on\n", n, first);
    std::fflush(stdout);
    test_many();
    for (int i = 0; i < n; i++)
        test_table(static_cast<std::uint64_t>(first + i) * 7919);
    return 0;
}
