/* The benchmark of products, whole, on the doubles of driver, NVRTC and cuBLAS:
 * that it would run, not that kernels are right.  Times are none of a GPU. */
#define _XOPEN_SOURCE 700
#include "bench/gpu/gpu.h"
#include "tests/cuda/driver/bench.h"
#include "tests/cuda/driver/product_bodies.h"

#include <string.h>
#include <unistd.h>

static const gpu_paths paths = {FAKE_PATH, NVRTC_PATH, CUBLAS_PATH};

static void restart(void)
{
    bench_reset(1, 50);
    bodies_register();
}

/* Rows of the file, in which each of the measured times stands. */
static int count_rows(const char *path)
{
    cz_tile_measured rows[16];
    char text[4096] = "";
    int n = 0, line;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_true(cz_tile_measured_read(text, rows, 16, &n, &line));
    for (int i = 0; i < n; i++)
        assert_true(rows[i].sms > 0 && rows[i].time > 0);
    return n;
}

static void measures_each_case_with_each_shape(void **state)
{
    static const gpu_case cases[] = {
        {{72, 72, 64, 1, true, false, true, false}, 0.9, true},
        {{40, 136, 64, 2, false, true, false, false}, 1.3, false}};
    char path[] = "bench_gpu_XXXXXX";
    const int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    close(file);
    restart();
    assert_true(gpu_run(&paths, cases, 2, 3, path));
    assert_int_equal(count_rows(path), 2 * CZ_TILE_SHAPES);
    assert_int_equal(bench_leftovers(), 0);
    unlink(path);
}

static double difference(int64_t n, bool is_gram)
{
    const cz_tile_product of = {n, n, 64, 1, true, false, is_gram, false};
    gpu_machine machine;
    gpu_product product;
    double result;

    restart();
    assert_true(gpu_open(&paths, &machine));
    assert_true(gpu_product_open(&machine, &of, cz_tile_shapes[0], &product));
    result = gpu_product_compare(&product);
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
    const gpu_paths wrong[] = {{"no.so", NVRTC_PATH, CUBLAS_PATH},
                               {FAKE_PATH, "no.so", CUBLAS_PATH},
                               {FAKE_PATH, NVRTC_PATH, "no.so"}};
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
        cmocka_unit_test(notices_what_is_wrong),
        cmocka_unit_test(says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
