/* Which code which GPU is given, on the doubles of driver and NVRTC: a GPU that
 * is too old and a driver that is too old are named, and a newer GPU runs PTX.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/products/kernel.h"
#include "runtime/cuda/driver/target.h"
#include "tests/gpu/stages/stages.h"

#include <dirent.h>
#include <unistd.h>

static const struct {
    int capability;
    const char *arch;
} rules[] = {{80, "-arch=sm_80"},       {86, "-arch=sm_80"},
             {89, "-arch=sm_80"},       {90, "-arch=sm_90a"},
             {91, "-arch=compute_80"},  {100, "-arch=compute_80"},
             {103, "-arch=compute_80"}, {120, "-arch=compute_80"}};
enum { N_RULES = sizeof rules / sizeof *rules };

static void start(test_stages *s, int capability)
{
    stages_restart(1);
    fake_set_capability(capability);
    assert_int_equal(stages_open(s, true), CZR_OK);
}

static void end(test_stages *s)
{
    stages_close(s);
    assert_int_equal(bench_leftovers(), 0);
}

static const char folder[] = "target_test_cache";

static int remove_cache(void **state)
{
    DIR *const open = opendir(folder);

    (void)state;
    for (struct dirent *e; open && (e = readdir(open));)
        unlinkat(dirfd(open), e->d_name, 0);
    if (open)
        closedir(open);
    return open ? rmdir(folder) : 0;
}

/* A kernel of the products that the compiler plans; machine code of the double
 * says what it is for. */
static void expect_product_code(const test_stages *s, const char *arch)
{
    const czr_cuda_product_plan plan = {.kernel = "product_x",
                                        .header = "#define KERNEL product_x\n",
                                        .is_sm90 = strstr(arch, "sm_90a")};
    char target[64];
    czr_nvrtc_code code;

    snprintf(target, sizeof target, "FAKE %s\n", strchr(arch, '=') + 1);
    assert_int_equal(czr_product_kernel_compile(s->bench.context, NULL,
                                                s->nvrtc, &plan, &code),
                     CZR_NVRTC_OK);
    assert_true(code.n_bytes > strlen(target));
    assert_int_equal(memcmp(code.bytes, target, strlen(target)), 0);
    czr_nvrtc_code_fini(&code);
}

/* What is kept of one GPU's code is not taken for another's, which could not
 * load it. */
static void each_device_has_its_code(void **state)
{
    const czr_product p = {.m = 3, .n = 5, .k = 7};
    czr_cache *cache = czr_cache_open(&(czr_cache_options){.folder = folder});

    (void)state;
    assert_non_null(cache);
    for (int i = 0; i < 2 * N_RULES; i++) {
        char lines[LINES] = "";
        test_stages s;
        start(&s, rules[i % N_RULES].capability);
        assert_string_equal(czr_target_arch(s.bench.context),
                            rules[i % N_RULES].arch);
        expect_product_code(&s, rules[i % N_RULES].arch);
        s.stages.cache = cache;
        assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL),
                         CZR_OK);
        czr_cuda_products_describe(&s.stages, keep_line, lines);
        assert_int_equal(strstr(lines, ": PTX of compute_80, compiled by its "
                                       "driver\n") != NULL,
                         rules[i % N_RULES].capability > 90);
        end(&s);
    }
    czr_cache_close(cache);
}

static void old_devices_are_refused(void **state)
{
    static const int capabilities[] = {35, 70, 75};

    (void)state;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        test_bench bench;
        char sentence[64];
        bench_reset(1, 0);
        fake_set_capability(capabilities[i]);
        snprintf(sentence, sizeof sentence,
                 "double 0 has compute capability %d.%d, and 8.0 or later",
                 capabilities[i] / 10, capabilities[i] % 10);
        assert_int_equal(bench_open(&bench), CZR_ERR_DEVICE_CODE);
        assert_non_null(strstr(bench.message, sentence));
        bench_close(&bench);
        assert_int_equal(bench_leftovers(), 0);
    }
}

/* Of a driver for CUDA 12.4 a GPU that has machine code wants nothing more. */
static void old_drivers_read_no_ptx(void **state)
{
    static const int capabilities[] = {80, 90, 100, 120};

    (void)state;
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        const bool is_ptx = capabilities[i] > 90;
        char message[CZR_DRIVER_MESSAGE];
        czr_collect *collect;
        test_stages s;
        stages_restart(1);
        fake_set_version(12040);
        fake_set_capability(capabilities[i]);
        assert_int_equal(stages_open(&s, true), CZR_OK);
        assert_int_equal(czr_target_check(s.bench.context, s.nvrtc),
                         is_ptx ? CZR_ERR_DEVICE_CODE : CZR_OK);
        assert_int_equal(strstr(s.bench.context->error,
                                "takes PTX of NVRTC 12.9, which a driver for "
                                "CUDA 12.9 or later reads, and this one is for "
                                "12.4: ") != NULL,
                         is_ptx);
        if (is_ptx) {
            assert_int_equal(czr_collect_open(s.bench.context, s.nvrtc, NULL,
                                              &collect, message),
                             CZR_ERR_DEVICE_CODE);
            assert_string_equal(message, s.bench.context->error);
        }
        end(&s);
    }
}

/* Machine code of NVRTC 13 has an ABI of its own. */
static void older_drivers_load_no_machine_code_of_13(void **state)
{
    static const int versions[] = {12090, 13000};

    (void)state;
    for (int i = 0; i < 2; i++) {
        test_stages s;
        stages_restart(1);
        fake_set_version(versions[i]);
        fake_set_capability(90);
        assert_int_equal(stages_open(&s, true), CZR_OK);
        setenv("FAKE_NVRTC_MAJOR", "13", 1);
        assert_int_equal(czr_target_check(s.bench.context, s.nvrtc),
                         i ? CZR_OK : CZR_ERR_DEVICE_CODE);
        unsetenv("FAKE_NVRTC_MAJOR");
        assert_int_equal(strstr(s.bench.context->error,
                                "for 12.9: libnvrtc.so.12 serves") != NULL,
                         i == 0);
        end(&s);
    }
}

/* Also where an NVRTC says that it is older than it is. */
static void the_driver_has_the_last_word(void **state)
{
    const czr_product p = {.m = 3, .n = 5, .k = 7};
    test_stages s;

    (void)state;
    stages_restart(1);
    fake_set_version(12040);
    fake_set_capability(100);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    assert_int_equal(czr_cuda_product_prepare(&s.stages, &p, 1, NULL),
                     CZR_ERR_DEVICE_CODE);
    assert_non_null(strstr(s.bench.context->error, "(222)"));
    end(&s);
}

static void the_driver_refuses_machine_code_of_13(void **state)
{
    static const int versions[] = {12040, 12090, 13000};
    static const int capabilities[] = {80, 90};

    (void)state;
    for (int i = 0; i < 6; i++) {
        const czr_product p = {.m = 3, .n = 5, .k = 7};
        const bool is_old = versions[i / 2] < 13000;
        test_stages s;
        stages_restart(1);
        fake_set_version(versions[i / 2]);
        fake_set_capability(capabilities[i % 2]);
        assert_int_equal(stages_open(&s, true), CZR_OK);
        setenv("FAKE_NVRTC_CODE_MAJOR", "13", 1);
        const czr_status status =
            czr_cuda_product_prepare(&s.stages, &p, 1, NULL);
        unsetenv("FAKE_NVRTC_CODE_MAJOR");
        assert_int_equal(status, is_old ? CZR_ERR_DEVICE_CODE : CZR_OK);
        assert_int_equal(strstr(s.bench.context->error, "(200)") != NULL,
                         is_old);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_device_has_its_code, remove_cache,
                                        remove_cache),
        cmocka_unit_test(old_devices_are_refused),
        cmocka_unit_test(old_drivers_read_no_ptx),
        cmocka_unit_test(older_drivers_load_no_machine_code_of_13),
        cmocka_unit_test(the_driver_has_the_last_word),
        cmocka_unit_test(the_driver_refuses_machine_code_of_13),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
