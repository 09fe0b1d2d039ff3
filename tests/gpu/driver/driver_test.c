/* The driver's library: not there, too old, without one of its functions,
 * without a device.  Each is one status and one sentence. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/driver/spoil.h"

static const char *const symbols[] = {
#define CZR_CALL(symbol, name, arguments) #symbol,
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
};

static void expect_open(const char *path, czr_status expected,
                        const char *sentence)
{
    char message[CZR_DRIVER_MESSAGE];
    czr_driver *driver;

    assert_int_equal(czr_driver_open(path, &driver, message), expected);
    if (!strstr(message, sentence))
        fail_msg("\"%s\" does not say \"%s\"", message, sentence);
    assert_null(driver);
    assert_int_equal(bench_leftovers(), 0);
}

static void opens_what_is_there(void **state)
{
    test_bench bench;

    (void)state;
    bench_reset(1, 0);
    assert_int_equal(bench_open(&bench), CZR_OK);
    assert_int_equal(bench.driver->version, 12090);
    assert_string_equal(bench.context->name, "double 0");
    assert_int_equal(bench.context->major, 9);
    assert_int_equal(bench.context->n_processors, 132);
    assert_int_equal(bench.context->shared_memory_bytes, 232448);
    assert_int_equal(fake_handles(), 1);
    bench_close(&bench);
    assert_int_equal(bench_leftovers(), 0);
}

static void says_that_there_is_none(void **state)
{
    (void)state;
    bench_reset(1, 0);
    expect_open("libno_such_driver.so.1", CZR_ERR_NO_DEVICE,
                "the CUDA driver is not there: libno_such_driver.so.1");
}

static void says_that_it_is_too_old(void **state)
{
    (void)state;
    bench_reset(1, 0);
    fake_set_version(11080);
    expect_open(FAKE_PATH, CZR_ERR_NO_DEVICE,
                "knows CUDA 11.8: one for 12.0 or later is needed");
    fake_set_version(12000);
    test_bench bench;
    assert_int_equal(bench_open(&bench), CZR_OK);
    bench_close(&bench);
    bench_reset(1, 0);
    fake_fail("cuDriverGetVersion", 1, 999);
    expect_open(FAKE_PATH, CZR_ERR_NO_DEVICE, "does not tell its version");
}

static void says_that_it_does_not_start(void **state)
{
    static const struct {
        int code;
        czr_status status;
    } rows[] = {
        {34, CZR_ERR_NO_DEVICE},  {100, CZR_ERR_NO_DEVICE},
        {46, CZR_ERR_NO_DEVICE},  {802, CZR_ERR_NO_DEVICE},
        {803, CZR_ERR_NO_DEVICE}, {804, CZR_ERR_NO_DEVICE},
        {2, CZR_ERR_NO_MEMORY},   {999, CZR_ERR_DEVICE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[80];
        bench_reset(1, 0);
        fake_fail("cuInit", 1, rows[i].code);
        snprintf(sentence, sizeof sentence,
                 "does not start: sentence of the driver for %d (cuInit, %d)",
                 rows[i].code, rows[i].code);
        expect_open(FAKE_PATH, rows[i].status, sentence);
    }
    bench_reset(1, 0);
    fake_set_devices(0);
    expect_open(FAKE_PATH, CZR_ERR_NO_DEVICE, "(cuInit, 100)");
}

static void says_that_there_is_no_such_device(void **state)
{
    static const int ordinals[] = {-1, 1, 7};
    char message[CZR_DRIVER_MESSAGE];
    czr_context *context;
    test_bench bench;

    (void)state;
    bench_reset(1, 0);
    assert_int_equal(bench_open(&bench), CZR_OK);
    for (size_t i = 0; i < sizeof ordinals / sizeof *ordinals; i++) {
        assert_int_equal(
            czr_context_open(bench.driver, ordinals[i], &context, message),
            CZR_ERR_NO_DEVICE);
        assert_null(context);
        assert_non_null(strstr(message, "of 1: sentence of the driver"));
    }
    bench_close(&bench);
    assert_int_equal(bench_leftovers(), 0);
}

/* ---- a driver that lacks a function ------------------------------------- */

static void names_the_function_that_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        char place[SPOILED_BYTES], sentence[80];
        spoil_library(FAKE_PATH, symbols[i], place);
        bench_reset(1, 0);
        snprintf(sentence, sizeof sentence, "the CUDA driver lacks %s",
                 symbols[i]);
        expect_open(place, CZR_ERR_NO_DEVICE, sentence);
        unlink(place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_what_is_there),
        cmocka_unit_test(says_that_there_is_none),
        cmocka_unit_test(says_that_it_is_too_old),
        cmocka_unit_test(says_that_it_does_not_start),
        cmocka_unit_test(says_that_there_is_no_such_device),
        cmocka_unit_test(names_the_function_that_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
