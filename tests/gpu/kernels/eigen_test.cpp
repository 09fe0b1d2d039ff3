// The body of runtime/cuda/kernels/eigen.cu on the model of the device:
// matrices of known spectra, their vectors against the definition and their
// values against LAPACK's in float64, where there is one.
#include "tests/gpu/simt/block.hpp"
// the model's global.cuh
#include "tests/gpu/simt/elementwise.hpp"
// without its pauses, which take long
#undef __syncthreads

#define KERNEL kernel
#include "eigen.cu"

#include <algorithm>

extern "C" {
#include "runtime/math/library.h"
}

using doubles = std::vector<double>;
using floats = std::vector<float>;

struct spectrum {
    const char *name;
    // Eigenvalue i of n.
    double (*value)(int i, int n);
};

static double drawn(double low, double high)
{
    return low + (high - low) * (simt::draw() % 1000001) / 1e6;
}

static const spectrum spectra[] = {
    {"spread", [](int, int) { return drawn(-1, 1); }},
    {"positive", [](int i, int n) { return std::pow(1e-6, double(i) / n); }},
    {"rank n / 3", [](int i, int n) { return i <= n / 3 ? drawn(1, 2) : 0.; }},
    {"rank 1", [](int i, int) { return i ? 0. : 3.; }},
    {"two clusters",
     [](int i, int) { return (i & 1 ? 1. : -0.5) + drawn(-1e-6, 1e-6); }},
    {"all alike", [](int, int) { return 2.; }},
    {"zero", [](int, int) { return 0.; }},
    {"tiny", [](int, int) { return drawn(-1e-30, 1e-30); }},
    {"huge", [](int, int) { return drawn(-1e38, 1e38); }},
};

// q d q', q a product of two reflections at drawn vectors; symmetric to the
// bit.
static floats make_matrix(const spectrum &s, int n)
{
    const auto size = static_cast<std::size_t>(n);
    doubles a(size * size, 0.);
    floats result(size * size);

    for (int i = 0; i < n; i++)
        a[i * size + i] = s.value(i, n);
    for (int pass = 0; pass < 2; pass++) {
        doubles v(size), av(size, 0.);
        double length = 1e-9, vav = 0;
        for (double &x : v) {
            x = drawn(-1, 1);
            length += x * x;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                av[i] += a[i * size + j] * v[j] * 2 / length;
        for (int i = 0; i < n; i++)
            vav += av[i] * v[i] / length;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i * size + j] +=
                    v[i] * v[j] * 2 * vav - av[i] * v[j] - v[i] * av[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            result[i * size + j] =
                static_cast<float>(a[std::min(i, j) * size + std::max(i, j)]);
    return result;
}

struct batch {
    int n, count;
    floats x, values, vectors;
    std::vector<u32> status;
    int first = 0;
    // Of each block, and a byte behind it.
    std::vector<unsigned char> wide;

    // Results begin as what no result is.
    batch(int order, int n_matrices)
        : n(order), count(n_matrices), x(size() * count),
          values(static_cast<std::size_t>(n * count), -7e33f),
          vectors(size() * count, -7e33f),
          status(static_cast<std::size_t>(count), 99)
    {
    }

    std::size_t size() const
    {
        return static_cast<std::size_t>(n) * n;
    }

    void set(int z, const floats &matrix)
    {
        std::copy(matrix.begin(), matrix.end(), &x[size() * z]);
    }

    void run(unsigned n_blocks, const int *skip = nullptr)
    {
        wide.assign(n_blocks * wide_bytes(n) + 1, 0xff);
        simt::launch(n_blocks, THREADS, [&] {
            kernel(x.data(), values.data(), vectors.data(), status.data(), n,
                   count, &first, 5, 6, skip, wide.data());
        });
        if (wide.back() != 0xff)
            simt::fail("memory for f64 is written past its end");
        // Few sweeps suffice to no order as large as that.
        for (unsigned z = 0; MAX_SWEEPS < WIDE_SWEEPS && n > 30 && z < n_blocks;
             z++)
            if (wide[z * wide_bytes(n)] == 0xff)
                simt::fail("a block has not used its memory for f64");
        for (u32 i = shared_memory_bytes(n); i < simt::SHARED_BYTES_LIMIT; i++)
            if (simt::shared[i] != 0xff)
                simt::fail("shared memory is written past its end");
    }

    void check_untouched(int z) const
    {
        const auto is_untouched = [](float f) { return f == -7e33f; };
        const float *w = &values[static_cast<std::size_t>(z * n)];
        const float *v = &vectors[size() * z];
        if (!std::all_of(w, w + n, is_untouched) ||
            !std::all_of(v, v + size(), is_untouched))
            simt::fail("there are results where there should be none");
    }
};

[[noreturn]] static void refuse(const char *what, double found, double bound)
{
    std::fprintf(stderr, "%s: %g, bound %g\n", what, found, bound);
    std::exit(1);
}

// Off by at most `bound`; NaNs are not.
static void hold(const char *what, double error, double bound, double &worst)
{
    if (!(error <= bound))
        refuse(what, error, bound);
    worst = std::max(worst, bound > 0 ? error / bound : 0.);
}

static void check_values(const batch &b, int z, double bound, double &worst)
{
    const auto n = static_cast<std::size_t>(b.n);
    const float *w = &b.values[z * n];
    doubles a(n * n), wanted(n), work(3 * n + 1);

    for (std::size_t i = 1; i < n; i++)
        if (!(w[i - 1] <= w[i]))
            refuse("eigenvalues do not ascend", w[i - 1], w[i]);
    if (!czr_library_has_lapack())
        return;
    std::copy_n(&b.x[z * n * n], n * n, a.begin());
    if (!czr_library_eigh_f64(n, a.data(), wanted.data(), work.data(), 3 * n))
        refuse("LAPACK does not converge", 0, 0);
    for (std::size_t i = 0; i < n; i++)
        hold("an eigenvalue", std::fabs(w[i] - wanted[i]), bound, worst);
}

// 1.5 n 2^-23, of the largest eigenvalue: what the host's is held to.
static double check_matrix(const batch &b, int z)
{
    const auto n = static_cast<std::size_t>(b.n);
    const float *x = &b.x[z * n * n], *q = &b.vectors[z * n * n];
    const float *w = &b.values[z * n];
    const double bound = 1.5 * b.n / 8388608;
    double largest = 0, worst = 0;

    if (b.status[static_cast<std::size_t>(z)] != EIGEN_OK)
        refuse("status", b.status[static_cast<std::size_t>(z)], EIGEN_OK);
    for (std::size_t i = 0; i < n; i++)
        largest = std::max(largest, std::fabs(double(w[i])));
    check_values(b, z, bound * largest, worst);
    for (std::size_t i = 0; i < n; i++)
        for (std::size_t j = 0; j < n; j++) {
            double inner = 0, sum = 0;
            for (std::size_t k = 0; k < n; k++) {
                inner += double(q[k * n + i]) * q[k * n + j];
                sum += double(q[i * n + k]) * w[k] * q[j * n + k];
            }
            hold("vectors are not orthonormal", std::fabs(inner - (i == j)),
                 bound, worst);
            hold("the matrix does not come back", std::fabs(sum - x[i * n + j]),
                 bound * largest, worst);
        }
    return worst;
}

// What is below the diagonal does not count, if it is finite.
static void test_spectra(int n, unsigned n_blocks)
{
    const int count = static_cast<int>(std::size(spectra));
    const auto size = static_cast<std::size_t>(n);
    batch b(n, count);

    for (int z = 0; z < count; z++)
        b.set(z, make_matrix(spectra[z], n));
    const floats sound = b.x;
    for (std::size_t i = 0; i < b.x.size(); i++)
        if (i % b.size() / size > i % size)
            b.x[i] = i % 2 ? 3e38f : -1.f;
    b.run(n_blocks);
    b.x = sound;
    for (int z = 0; z < count; z++)
        std::printf("  %s: %.3f of the bound\n", spectra[z].name,
                    check_matrix(b, z));
}

// What one matrix has in it does not reach the others, and its results stay.
static void test_refusals()
{
    static const float planted[] = {NAN, INFINITY, -INFINITY};

    for (const float bad : planted)
        for (const int at : {0, 3, 12, 15}) {
            batch b(5, 3);
            for (int z = 0; z < 3; z++)
                b.set(z, make_matrix(spectra[z], 5));
            b.x[b.size() + static_cast<std::size_t>(at)] = bad;
            b.run(2);
            if (b.status[1] != EIGEN_NOT_FINITE || b.first != 5)
                refuse("status", b.status[1], EIGEN_NOT_FINITE);
            b.check_untouched(1);
            check_matrix(b, 0);
            check_matrix(b, 2);
        }
    batch b(2, 1);
    b.x = {3e38f, 3e38f, 3e38f, 3e38f};
    b.run(1);
    if (b.status[0] != EIGEN_NO_CONVERGENCE || b.first != 6)
        refuse("status", b.status[0], EIGEN_NO_CONVERGENCE);
    b.check_untouched(0);
}

// The first failure stays; in a step that is skipped there is none.
static void test_first()
{
    const int skip = 1;
    batch b(2, 2);

    b.x.assign(8, NAN);
    b.run(1, &skip);
    if (b.first != 0 || b.status[0] != 99)
        refuse("a skipped step says", b.first, 0);
    b.check_untouched(0);
    b.first = 7;
    b.run(1);
    if (b.first != 7 || b.status[1] != EIGEN_NOT_FINITE)
        refuse("the first failure becomes", b.first, 7);
}

// With too few sweeps allowed.
static void test_no_convergence()
{
    batch b(31, 2);

    b.set(0, make_matrix(spectra[0], 31));
    b.set(1, make_matrix(spectra[6], 31));
    b.run(1);
    if (b.status[0] != EIGEN_NO_CONVERGENCE)
        refuse("status", b.status[0], EIGEN_NO_CONVERGENCE);
    b.check_untouched(0);
    check_matrix(b, 1);
}

// Threads in another order, and another number of blocks: the same bits.
static void test_order(int n)
{
    batch first(n, 2), second(n, 2);

    for (int z = 0; z < 2; z++)
        first.set(z, make_matrix(spectra[z], n));
    second.x = first.x;
    first.run(1);
    second.run(2);
    if (first.values != second.values || first.vectors != second.vectors)
        refuse("bits depend on the order of threads", 0, 0);
}

// First argument: how many seeds, then which one is the first.
int main(int argc, char **argv)
{
    const int n_seeds = argc > 1 ? std::atoi(argv[1]) : 1;
    const int first = argc > 2 ? std::atoi(argv[2]) : 1;

    if (!czr_library_has_lapack())
        std::printf(
            "no LAPACK: eigenvalues are held against the matrix only\n");
    for (int seed = first; seed < first + n_seeds; seed++) {
        simt::seed = static_cast<std::uint64_t>(seed);
        if (MAX_SWEEPS < 10 && WIDE_SWEEPS < 10) {
            test_no_convergence();
            continue;
        }
        test_refusals();
        test_first();
        test_order(34);
        for (const int n : {1, 2, 3, 31, 64, 127, 128}) {
            if (n > 64 && seed % 10 != 1)
                continue;
            std::printf("seed %d: n = %d\n", seed, n);
            std::fflush(stdout);
            test_spectra(n, 1 + static_cast<unsigned>(n) % 3);
        }
    }
    return 0;
}
