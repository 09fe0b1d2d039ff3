/* All cases with all shapes of tiles that compute what they should. */
#include "bench/gpu/gpu.h"

#include <math.h>
#include <stdio.h>

/* Seconds that one shape's trial may take, to compile and all. */
enum { TRIAL_SECONDS = 30 };
/* bf16 rounds to 2^-9 of a number, and sums come in other orders. */
#define MOST_DIFFERENT 0x1p-7

static const char *form_of(const cz_tile_product *p)
{
    return p->is_symmetric ? "symmetric" : "general";
}

static bool is_right(const gpu_machine *machine, const cz_tile_product *of,
                     cz_tile_shape shape)
{
    gpu_product product;

    if (!gpu_product_open(machine, of, shape, &product))
        return false;
    const double difference = gpu_product_compare(&product, GPU_OURS);
    gpu_product_close(&product);
    if (difference < 0 || difference > MOST_DIFFERENT)
        fprintf(stderr,
                "%s %lld x %lld x %lld in %d x %d: off "
                "by %g\n",
                form_of(of), (long long)of->m, (long long)of->n,
                (long long)of->k, shape.rows, shape.cols, difference);
    return difference >= 0 && difference <= MOST_DIFFERENT;
}

/* Ragged sizes, all forms, x = y and not. */
static int try_shape(const gpu_paths *paths, const void *user)
{
    static const int64_t sizes[] = {64, 200, 520};
    const cz_tile_shape shape = *(const cz_tile_shape *)user;
    gpu_machine machine;
    bool is_ok = true;

    if (!gpu_open(paths, &machine))
        return GPU_NO_MACHINE;
    for (int i = 0; i < 3 && is_ok; i++) {
        const int64_t n = sizes[i];
        const cz_tile_product forms[] = {
            {n, n, 136, 2, true, true, false},
            {n, n + 64, 72, 2, false, false, false}};
        for (int f = 0; f < 2 && is_ok; f++)
            is_ok = is_right(&machine, &forms[f], shape);
    }
    /* Long enough for parts of k. */
    const cz_tile_product deep = {72, 72, 2048, 1, true, true, false};
    is_ok = is_ok && is_right(&machine, &deep, shape);
    gpu_close(&machine);
    return is_ok ? GPU_RIGHT : GPU_WRONG;
}

static gpu_trial try_apart(const gpu_paths *paths, cz_tile_shape shape)
{
    const gpu_trial result =
        gpu_try_apart(try_shape, paths, &shape, TRIAL_SECONDS);

    if (result == GPU_WRONG || result == GPU_LATE)
        fprintf(stderr, "tiles of %d x %d: %s, left out\n", shape.rows,
                shape.cols, result == GPU_LATE ? "no end in time" : "wrong");
    return result;
}

/* What is wanted: a share of a ceiling, of cuBLAS's time, or of the library's.
 */
static void print_reached(const gpu_case *c, gpu_times t)
{
    const double n = (double)c->product.n;
    const double ceiling = t.cublas * (n + 1) / (2 * n);

    if (c->is_share)
        printf(" | %.1f | of ceiling %.3f |", ceiling, ceiling / t.ours);
    else if (c->product.is_symmetric)
        printf(" | | times %.3f |", t.cublas / t.ours);
    else if (t.lt > 0)
        printf(" %.1f | | of cuBLASLt %.3f |", t.lt, t.lt / t.ours);
    else
        printf(" none | | unmeasured |");
}

static void print_times(const gpu_case *c, cz_tile_shape shape, gpu_times t,
                        double difference)
{
    const cz_tile_product *p = &c->product;

    printf("| %s %lld x %lld x %lld, %lld | %d x %d | %.1f | %.1f |",
           form_of(p), (long long)p->m, (long long)p->n, (long long)p->k,
           (long long)p->batch, shape.rows, shape.cols, t.ours, t.cublas);
    print_reached(c, t);
    printf(" %.2f | %.1e |\n", c->wanted, difference);
    fflush(stdout);
}

/* What a case is measured with. */
typedef struct bench {
    const gpu_machine *machine;
    gpu_library *library; /* NULL: none */
    int pairs;
    FILE *tiles;
    double library_us[CZ_TILE_SHAPES]; /* beside each shape */
    int n_library;
} bench;

static void print_product(const bench *b, const cz_tile_product *p)
{
    fprintf(b->tiles, "%d %s %lld %lld %lld %lld ",
            b->machine->context->n_processors, form_of(p), (long long)p->m,
            (long long)p->n, (long long)p->k, (long long)p->batch);
}

static void print_row(const bench *b, const cz_tile_product *p,
                      cz_tile_shape shape, double us)
{
    print_product(b, p);
    fprintf(b->tiles, "%d %d %.0f\n", shape.rows, shape.cols, us * 1e3);
}

/* Once for a case: where its results are not those of cuBLAS it is left out,
 * and said. */
static void take_library(bench *b, gpu_product *product)
{
    product->library = b->library;
    if (!b->library || b->n_library)
        return;
    const double difference = gpu_product_compare(product, GPU_LIBRARY);
    if (difference >= 0 && difference <= MOST_DIFFERENT)
        return;
    fprintf(stderr, "cuBLASLt: off by %g, left out\n", difference);
    gpu_library_close(b->library);
    b->library = product->library = NULL;
}

static bool measure(bench *b, const gpu_case *c, cz_tile_shape shape)
{
    gpu_product product;
    gpu_times times;

    if (!gpu_product_open(b->machine, &c->product, shape, &product))
        return false;
    take_library(b, &product);
    const double difference = gpu_product_compare(&product, GPU_OURS);
    const bool is_ok = difference >= 0 && difference <= MOST_DIFFERENT &&
                       gpu_product_time(&product, b->pairs, &times);
    gpu_product_close(&product);
    if (is_ok) {
        print_times(c, shape, times, difference);
        print_row(b, &c->product, shape, times.ours);
        if (times.lt > 0)
            b->library_us[b->n_library++] = times.lt;
    }
    return is_ok;
}

/* In all shapes that can be; beside the library where it may be chosen. */
static bool measure_case(bench *b, const bool *can, const gpu_case *c)
{
    bool is_ok = true;

    b->n_library = 0;
    b->library = c->product.is_symmetric
                     ? NULL
                     : gpu_library_open(b->machine, &c->product);
    for (int s = 0; s < CZ_TILE_SHAPES; s++)
        if (can[s])
            is_ok &= measure(b, c, cz_tile_shapes[s]);
    gpu_library_close(b->library);
    if (b->n_library) {
        print_product(b, &c->product);
        fprintf(b->tiles, "library %.0f\n",
                gpu_median(b->library_us, b->n_library) * 1e3);
    }
    return is_ok;
}

static bool measure_all(const gpu_machine *machine, const bool *can,
                        const gpu_case *cases, int n_cases, int pairs,
                        FILE *tiles)
{
    bench b = {.machine = machine, .pairs = pairs, .tiles = tiles};
    bool is_ok = true;

    printf(
        "%s, sm_%d%d, %d SMs, driver for CUDA %d.%d; medians of %d pairs\n\n",
        machine->context->name, machine->context->major,
        machine->context->minor, machine->context->n_processors,
        machine->driver->version / 1000, machine->driver->version / 10 % 100,
        pairs);
    printf("| product, batch | tiles | ours us | cuBLAS us | "
           "cuBLASLt us | ceiling us | reached | wanted | differs |\n"
           "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < n_cases; i++)
        is_ok &= measure_case(&b, can, &cases[i]);
    return is_ok;
}

bool gpu_run(const gpu_paths *paths, const gpu_case *cases, int n_cases,
             int pairs, const char *tiles_file)
{
    bool can[CZ_TILE_SHAPES], is_any = false;
    gpu_machine machine;

    for (int s = 0; s < CZ_TILE_SHAPES; s++) {
        const gpu_trial result = try_apart(paths, cz_tile_shapes[s]);
        if (result == GPU_NO_MACHINE)
            return false;
        can[s] = result == GPU_RIGHT;
        is_any |= can[s];
    }
    if (!is_any || !gpu_open(paths, &machine))
        return false;
    FILE *tiles = fopen(tiles_file, "w");
    if (!tiles)
        perror(tiles_file);
    const bool is_ok =
        tiles && measure_all(&machine, can, cases, n_cases, pairs, tiles);
    gpu_close(&machine);
    return tiles && fclose(tiles) == 0 && is_ok;
}
