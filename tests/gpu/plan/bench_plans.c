/* The benchmark of plans, on the model of the device: that it would run, and
 * says what goes wrong.  Times are none of a GPU. */
#define _XOPEN_SOURCE 700
#include "bench/gpu/plan.h"
#include "runtime/program/program.h"
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"

#include <string.h>
#include <unistd.h>

enum { PAIRS = 2, STEPS = 4, TABLE = 1 << 14 };

extern const czr_cuda_program bench_matrices_cuda, bench_schulz_cuda,
    bench_elements_cuda;
void bench_matrices_kernels(void);
void bench_schulz_kernels(void);
void bench_elements_kernels(void);
void collect_kernels(void);

static const gpu_paths paths = {FAKE_PATH, NVRTC_PATH, CUBLAS_PATH, NULL};

/* As gpu_torch.py; it says 2 ms to each turn. */
static const char *const peer[] = {
    "/bin/sh", "-c", "read a; echo ok $a; while read a; do echo 2000; done",
    NULL};
static const char *const refusal[] = {"/bin/sh", "-c",
                                      "read a; echo none of it", NULL};
static const char *const nobody[] = {"/no/such/program", NULL};
/* It forgets what a turn is. */
static const char *const liar[] = {
    "/bin/sh", "-c", "read a; echo ok; while read a; do echo soon; done", NULL};

/* Kernels of two programs may have the same names: one of them at a time. */
static void restart(void (*kernels)(void))
{
    bench_reset(1, 50);
    fake_set_memory((size_t)1 << 28);
    fake_share_addresses();
    bodies_register();
    kernels();
    collect_kernels();
    plain_bodies_register();
}

/* What rows print. */
static bool print_rows(const gpu_row *rows, int n, const char *const *theirs,
                       char table[TABLE])
{
    char path[] = "bench_plans_XXXXXX";
    const int file = mkstemp(path), out = dup(STDOUT_FILENO);

    assert_true(file >= 0 && out >= 0);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    const bool is_ok = gpu_rows_run(&paths, theirs, rows, n, PAIRS);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    const ssize_t length = pread(file, table, TABLE - 1, 0);
    assert_true(length > 0);
    table[length] = 0;
    close(file);
    close(out);
    unlink(path);
    print_message("%s", table);
    return is_ok;
}

static gpu_row row_of(const czr_cuda_program *program)
{
    return (gpu_row){.name = "one",
                     .program = program,
                     .request = "two three",
                     .wanted = 1.25,
                     .wanted_us = 62e3,
                     .steps = STEPS};
}

static void measures_steps(void **state)
{
    const gpu_row row = row_of(&bench_matrices_cuda);
    char table[TABLE];

    (void)state;
    restart(bench_matrices_kernels);
    assert_true(print_rows(&row, 1, peer, table));
    assert_non_null(strstr(table, "| one |"));
    assert_non_null(strstr(table, "| 62000.0 | 2000.0 |"));
    assert_non_null(
        strstr(table, "captured; ok two three +0 bytes after 4 of 4"));
}

static void measures_batches(void **state)
{
    const gpu_row row = row_of(&bench_schulz_cuda);
    char table[TABLE];

    (void)state;
    restart(bench_schulz_kernels);
    assert_true(print_rows(&row, 1, peer, table));
    assert_non_null(strstr(table, "captured; ok two three +0 bytes"));
}

/* Such a step has no graph, and its call no wanted time. */
static void measures_steps_one_by_one(void **state)
{
    gpu_row row = row_of(&bench_matrices_cuda);
    char table[TABLE];

    (void)state;
    row.is_eager = true;
    row.request = NULL;
    restart(bench_matrices_kernels);
    assert_true(print_rows(&row, 1, peer, table));
    assert_non_null(strstr(table, " | | 2 | launched one by one;  +0 bytes"));
    assert_null(strstr(table, "captured"));
}

/* Over its floor, and so many of them are what is wanted. */
static void measures_over_the_floor(void **state)
{
    gpu_row row = row_of(&bench_schulz_cuda);
    char table[TABLE], wanted[64];

    (void)state;
    row.schulz = (gpu_schulz){512, 1024, 2};
    row.floors = 1.15;
    row.wanted_us = 0;
    const double us = gpu_schulz_floor_us(&row.schulz);
    restart(bench_schulz_kernels);
    assert_true(print_rows(&row, 1, peer, table));
    snprintf(wanted, sizeof wanted, " of its floor of %.1f us, 1.15 wanted, ",
             us);
    assert_non_null(strstr(table, wanted));
    snprintf(wanted, sizeof wanted, " | %.1f | 2000.0 |", 1.15 * us);
    assert_non_null(strstr(table, wanted));
}

/* Milliseconds of Newton-Schulz on an H200, as its arithmetic and its memory
 * allow; long matrices by their Gram matrices. */
static void knows_floors(void **state)
{
    static const struct {
        gpu_schulz of;
        double ms;
    } cases[] = {{{5120, 5120, 1}, 3.40},   {{5120, 5120, 4}, 13.6},
                 {{5120, 8192, 1}, 4.01},   {{5120, 25600, 1}, 7.48},
                 {{1024, 5120, 128}, 7.66}, {{768, 2048, 128}, 2.20},
                 {{64, 65536, 1}, 0.0117},  {{0, 0, 0}, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double ms = gpu_schulz_floor_us(&cases[i].of) * 1e-3;
        assert_true(ms <= 1.005 * cases[i].ms && ms >= 0.995 * cases[i].ms);
    }
}

/* Of 1,000 elements: seven times four bytes of each are moved. */
static void measures_a_stage_beside_a_copy(void **state)
{
    gpu_row row = row_of(&bench_elements_cuda);
    char table[TABLE];
    gpu_machine machine;
    gpu_stage_times times = {0};

    (void)state;
    row.is_stage = true;
    row.request = NULL;
    restart(bench_elements_kernels);
    assert_true(print_rows(&row, 1, peer, table));
    assert_non_null(strstr(table, "| 1.25 | | "));
    assert_true(gpu_open(&paths, &machine));
    assert_true(gpu_stage_time(&machine, &bench_elements_cuda, PAIRS, &times));
    assert_true(times.ours > 0 && times.copy > 0);
    assert_int_equal(times.copy_bytes, 1000 * 7 * 4 / 2);
    gpu_close(&machine);
    assert_int_equal(bench_leftovers(), 0);
}

static void compares_with_nobody_where_there_is_none(void **state)
{
    gpu_row row = row_of(&bench_matrices_cuda);
    char table[TABLE];

    (void)state;
    row.steps = 0;
    restart(bench_matrices_kernels);
    assert_true(print_rows(&row, 1, refusal, table));
    assert_non_null(strstr(table, "unmeasured | 1.25 |"));
    assert_non_null(strstr(table, "none of it"));
    assert_true(print_rows(&row, 1, nobody, table));
    assert_non_null(strstr(table, "unmeasured | 1.25 |"));
    assert_false(print_rows(&row, 1, liar, table));
    assert_non_null(strstr(table, "| one | failed |"));
}

/* In this process, so that what is left is seen. */
static void gives_all_back(void **state)
{
    const czr_cuda_program *program = &bench_matrices_cuda;
    gpu_step_times times;
    gpu_machine machine;
    gpu_plan plan;
    int64_t done, grown;

    (void)state;
    restart(bench_matrices_kernels);
    assert_true(gpu_open(&paths, &machine));
    assert_true(gpu_plan_open(&machine, program, false, &plan));
    assert_true(gpu_plan_time(&plan, NULL, PAIRS, 60, &times));
    assert_int_equal(times.pairs, PAIRS);
    /* A reduction of a bucket each, and what follows. */
    assert_int_equal(times.graphs, program->program->n_buckets + 1);
    assert_true(times.us > 0 && times.host_us > 0 && times.peer_us == 0);
    assert_true(gpu_plan_repeat(&plan, STEPS, 60, &done, &grown));
    assert_int_equal(done, STEPS);
    assert_int_equal(grown, 0);
    gpu_plan_close(&plan);
    gpu_close(&machine);
    assert_int_equal(bench_leftovers(), 0);
}

/* Gradients that are not finite: the step is skipped, and no time is reported.
 */
static void notices_what_is_skipped(void **state)
{
    const czr_cuda_program *program = &bench_matrices_cuda;
    czr_layout_info info;
    gpu_step_times times;
    gpu_machine machine;
    gpu_plan plan;
    char name[512];

    (void)state;
    restart(bench_matrices_kernels);
    assert_true(gpu_open(&paths, &machine));
    assert_true(gpu_plan_open(&machine, program, false, &plan));
    czr_engine *engine = czr_loopback_engine(plan.loopback, 0);
    assert_int_equal(czr_param_name(engine, 0, name, sizeof name), CZR_OK);
    assert_int_equal(czr_layout(engine, name, &info), CZR_OK);
    assert_int_equal(czr_context_fill(machine.context,
                                      czr_address_of(info.grad), 0xff, 2,
                                      machine.stream),
                     CZR_OK);
    assert_false(gpu_plan_time(&plan, NULL, PAIRS, 60, &times));
    gpu_plan_close(&plan);
    gpu_close(&machine);
    assert_int_equal(bench_leftovers(), 0);
}

static void says_that_there_is_no_device(void **state)
{
    const gpu_row row = row_of(&bench_matrices_cuda);
    char table[TABLE];

    (void)state;
    restart(bench_matrices_kernels);
    fake_set_devices(0);
    assert_false(print_rows(&row, 1, peer, table));
    assert_non_null(strstr(table, "| one | failed |"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_steps),
        cmocka_unit_test(measures_batches),
        cmocka_unit_test(measures_steps_one_by_one),
        cmocka_unit_test(measures_over_the_floor),
        cmocka_unit_test(knows_floors),
        cmocka_unit_test(measures_a_stage_beside_a_copy),
        cmocka_unit_test(compares_with_nobody_where_there_is_none),
        cmocka_unit_test(gives_all_back),
        cmocka_unit_test(notices_what_is_skipped),
        cmocka_unit_test(says_that_there_is_no_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
