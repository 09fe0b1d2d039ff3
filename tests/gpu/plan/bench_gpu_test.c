/* The benchmark of products, whole, on the doubles of driver, NVRTC and cuBLAS:
 * that it would run, not that kernels are right.  Times are none of a GPU. */
#define _XOPEN_SOURCE 700
#include "bench/gpu/gpu.h"
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/double/cublaslt.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"

#include <string.h>
#include <unistd.h>

static const gpu_paths paths = {FAKE_PATH, NVRTC_PATH, CUBLAS_PATH,
                                CUBLASLT_PATH};

/* Calls of cuBLASLt in front of the first product. */
enum { OPENING = 15 };
static test_cublaslt library;

static void restart(void)
{
    bench_reset(1, 50);
    bodies_register();
    plain_bodies_register();
}

/* Rows of the file, in which each of the measured times stands; of them the
 * library's. */
static int count_rows(const char *path, int *n_library)
{
    cz_tile_measured rows[40];
    char text[4096] = "";
    int n = 0, line;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_true(cz_tile_measured_read(text, rows, 40, &n, &line));
    *n_library = 0;
    for (int i = 0; i < n; i++) {
        assert_true(rows[i].sms > 0 && rows[i].time > 0);
        assert_true(rows[i].rows || !rows[i].product.is_symmetric);
        *n_library += !rows[i].rows;
    }
    return n;
}

/* The library fails at the second, and has no row of what is symmetric. */
static void measures_each_case_with_each_shape(void **state)
{
    static const gpu_case cases[] = {
        {{72, 72, 64, 1, true, true, false}, 0.9, true},
        {{8, 16, 8, 1, false, false, false}, 0.97, false},
        {{8, 24, 16, 1, false, false, false}, 0.97, false},
        {{40, 136, 64, 2, false, false, false}, 0.97, false}};
    char path[] = "bench_gpu_XXXXXX";
    const int file = mkstemp(path);
    int n_library;

    (void)state;
    assert_true(file >= 0);
    close(file);
    restart();
    *library.fails = OPENING + 1;
    *library.narrow = 0;
    assert_true(gpu_run(&paths, cases, 4, 3, path));
    assert_int_equal(count_rows(path, &n_library), 4 * CZ_TILE_SHAPES + 2);
    assert_int_equal(n_library, 2);
    /* One and a batch of two, in three turns of each shape. */
    assert_true(*library.narrow >= CZ_TILE_SHAPES * 3 * 3);
    assert_int_equal(*library.narrow, *library.products);
    assert_int_equal(bench_leftovers(), 0);
    unlink(path);
}

static void knows_where_there_is_no_library(void **state)
{
    static const cz_tile_product of = {16, 16, 16, 2, false, false, false};
    gpu_machine machine;

    (void)state;
    restart();
    assert_true(gpu_open(&paths, &machine));
    machine.cublaslt = "no.so";
    assert_null(gpu_library_open(&machine, &of));
    machine.cublaslt = CUBLASLT_PATH;
    for (*library.fails = 1; *library.fails <= OPENING;) {
        const int n = *library.fails;
        assert_null(gpu_library_open(&machine, &of));
        assert_int_equal(*library.fails, 0);
        *library.fails = n + 1;
    }
    *library.fails = 0;
    gpu_library *there = gpu_library_open(&machine, &of);
    assert_non_null(there);
    gpu_library_close(there);
    gpu_close(&machine);
    assert_int_equal(bench_leftovers(), 0);
}

static double difference(int64_t n, bool is_gram)
{
    const cz_tile_product of = {n, n, 64, 1, true, is_gram, false};
    gpu_machine machine;
    gpu_product product;
    double result;

    restart();
    assert_true(gpu_open(&paths, &machine));
    assert_true(gpu_product_open(&machine, &of, cz_tile_shapes[0], &product));
    result = gpu_product_compare(&product, GPU_OURS);
    gpu_product_close(&product);
    gpu_close(&machine);
    assert_int_equal(bench_leftovers(), 0);
    return result;
}

/* A symmetric product of other operands than one is not cuBLAS's below the
 * diagonal. */
static void notices_what_is_wrong(void **state)
{
    (void)state;
    assert_true(difference(72, true) <= 0x1p-8);
    assert_true(difference(72, false) > 0.1);
}

static void says_what_is_missing(void **state)
{
    const gpu_paths wrong[] = {{"no.so", NVRTC_PATH, CUBLAS_PATH, NULL},
                               {FAKE_PATH, "no.so", CUBLAS_PATH, NULL},
                               {FAKE_PATH, NVRTC_PATH, "no.so", NULL}};
    gpu_machine machine;

    (void)state;
    for (int i = 0; i < 3; i++) {
        restart();
        assert_false(gpu_open(&wrong[i], &machine));
        assert_int_equal(bench_leftovers(), 0);
        assert_false(gpu_run(&wrong[i], NULL, 0, 3, "never"));
    }
    assert_int_equal(access("never", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_each_case_with_each_shape),
        cmocka_unit_test(knows_where_there_is_no_library),
        cmocka_unit_test(notices_what_is_wrong),
        cmocka_unit_test(says_what_is_missing),
    };

    library = test_cublaslt_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
