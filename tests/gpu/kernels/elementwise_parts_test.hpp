// Sums in parts: the tree of what ranks make of their parts of a matrix has the
// bits of the sum of all of it.
#pragma once

#include "elementwise_test.hpp"

// Two loops with one body: of the whole matrix, and of the part of a rank; of
// n_ranks that have rows or columns in equal parts.
struct pair_of_loops {
    int whole, part, n_ranks;
    bool by_columns;
};

// Rows and columns of a matrix of f32 or bf16 next to each other.
inline array take_part(const array &m, char type, const shape &all,
                       const shape &part, u64 row, u64 column)
{
    array out(type, part.rows * part.columns, simt::draw() % 2, false);

    for (u64 i = 0; i < part.rows; i++)
        for (u64 j = 0; j < part.columns; j++)
            out.put(type, i * part.columns + j,
                    static_cast<float>(value_at(
                        m, type, (row + i) * all.columns + column + j)));
    return out;
}

inline double run_sum(const loop_case &c, const shape &s, const array &matrix)
{
    std::vector<array> arguments = {matrix, array('d', 1, true, false)};

    grid = 1 + simt::draw() % 3;
    c.cuda(s.rows, s.columns, addresses(arguments).data());
    return value_at(arguments[1], 'd', 0);
}

inline double sum_of_ranks(const pair_of_loops &p, const shape &all,
                           const shape &part, const array &matrix)
{
    const char type = cases[p.part].arguments[0].type;
    double sums[MAX_PARTS];

    for (int r = 0; r < p.n_ranks; r++) {
        const u64 rank = static_cast<u64>(r);
        const u64 row = p.by_columns ? 0 : rank * part.rows;
        const u64 column = p.by_columns ? rank * part.columns : 0;
        sums[r] = run_sum(cases[p.part], part,
                          take_part(matrix, type, all, part, row, column));
    }
    return tree_sum(sums, p.n_ranks);
}

inline void test_pair(const pair_of_loops &p)
{
    const u64 across = 1 + simt::draw() % 40, along = 1 + simt::draw() % 400;
    const u64 n_ranks = static_cast<u64>(p.n_ranks);
    const u64 cut = 8 / n_ranks * along;
    const shape part = p.by_columns ? shape{across, cut} : shape{cut, across};
    const shape all = p.by_columns ? shape{across, cut * n_ranks}
                                   : shape{cut * n_ranks, across};
    const array matrix(cases[p.whole].arguments[0].type, all.rows * all.columns,
                       true, false);
    const double one = run_sum(cases[p.whole], all, matrix);
    const double many = sum_of_ranks(p, all, part, matrix);

    if (one == many)
        return;
    std::fprintf(stderr, "%s of %llu x %llu: %.17g, %d ranks with %s: %.17g\n",
                 cases[p.whole].name, all.rows, all.columns, one, p.n_ranks,
                 cases[p.part].name, many);
    std::exit(1);
}

// Arguments: how many shapes for each pair, the seed.
inline int test_parts(int argc, char **argv, const pair_of_loops *pairs, int n)
{
    const int n_shapes = argc > 1 ? std::atoi(argv[1]) : 1;

    simt::seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::printf("seed %llu, %d pairs of loops\n", static_cast<u64>(simt::seed),
                n);
    std::fflush(stdout);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_shapes; k++)
            test_pair(pairs[i]);
    return 0;
}
