/* Factorisations of stages on the doubles of driver and NVRTC: those that the
 * host does are the host's to the bit.
 *
 * factorise_test [SEED]
 * factorise_test gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves; exit status 77 without either: skipped. */
#include "runtime/math/library.h"
#include "tests/gpu/products/factor_trial.h"

#include <string.h>

/* ---- tests -------------------------------------------------------------- */

static const struct {
    czr_factor_kind kind;
    size_t m, n, k;
} on_host[] = {
    {CZR_FACTOR_EIGH, 13, 13, 0},      {CZR_FACTOR_QR, 9, 5, 0},
    {CZR_FACTOR_QR, 5, 9, 0},          {CZR_FACTOR_CHOLESKY, 7, 7, 0},
    {CZR_FACTOR_SOLVE_LOWER, 6, 6, 4}, {CZR_FACTOR_SOLVE_LOWER_T, 6, 6, 4},
    {CZR_FACTOR_SOLVE_UPPER, 6, 6, 4}, {CZR_FACTOR_SOLVE_UPPER_T, 6, 6, 4},
    {CZR_FACTOR_ROOT, 12, 12, 0},
};

static void the_hosts_are_the_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++) {
        trial t = make_trial(on_host[i].kind, on_host[i].m, on_host[i].n,
                             on_host[i].k);
        float *results[N_OUT];
        const czr_status status = run(&t, results);
        assert_int_equal(status, factorise_on_host(&t));
        assert_int_equal(t.failed, status);
        for (int o = 0; o < N_OUT; o++)
            if (memcmp(results[o], t.f.out[o], t.n_out[o] * sizeof(float)) != 0)
                fail_msg("kind %d: result %d is another than the host's",
                         (int)on_host[i].kind, o);
        drop_results(results);
        drop_trial(&t);
    }
}

static const czr_factor_kind of_each[] = {CZR_FACTOR_EIGH, CZR_FACTOR_CHOLESKY};

/* Results stay as they are; of two failures the first stays. */
static void what_is_not_finite_is_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_second = i % 2;
        trial t = make_trial(of_each[i / 2], 5, 5, 0);
        float *results[N_OUT];
        trial_operand(&t)[2] = NAN;
        t.failed = is_second ? CZR_ERR_PARAM : CZR_OK;
        const czr_status status = run(&t, results);
        if (czr_library_has_lapack()) {
            assert_int_equal(status, CZR_ERR_NOT_FINITE);
            assert_int_equal(t.failed,
                             is_second ? CZR_ERR_PARAM : CZR_ERR_NOT_FINITE);
        }
        assert_memory_equal(results[0], t.f.out[0], t.n_out[0] * sizeof(float));
        drop_results(results);
        drop_trial(&t);
    }
}

static void skipped_steps_write_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        trial t = make_trial(of_each[i], 6, 6, 0);
        float *results[N_OUT];
        t.skipped = 1;
        assert_int_equal(run(&t, results), CZR_OK);
        assert_int_equal(t.failed, CZR_OK);
        for (int o = 0; o < N_OUT; o++)
            assert_memory_equal(results[o], t.f.out[o],
                                t.n_out[o] * sizeof(float));
        drop_results(results);
        drop_trial(&t);
    }
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    fail_in_turn(CZR_FACTOR_EIGH, 5);
    fail_in_turn(CZR_FACTOR_CHOLESKY, 5);
}

static void what_waits_is_in_no_graph(void **state)
{
    czr_factor f = {.kind = CZR_FACTOR_EIGH, .m = 9, .n = 9};
    char lines[LINES] = "";
    test_stages s;

    (void)state;
    stages_restart(seed);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    assert_int_equal(czr_cuda_factor_prepare(&s.stages, &f), CZR_OK);
    assert_int_equal(czr_cuda_factor_prepare(&s.stages, &f), CZR_OK);
    assert_false(czr_cuda_products_is_capturable(&s.stages));
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    assert_string_equal(
        lines, "eigh of f32[9, 9]: the host, for which its stream waits\n");
    const czr_cuda_call call = {.stages = &s.stages};
    f.n = 10;
    assert_int_not_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    f.n = 0;
    assert_int_equal(czr_cuda_factorise(&call, &f), CZR_OK);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hosts_are_the_hosts),
        cmocka_unit_test(what_is_not_finite_is_reported),
        cmocka_unit_test(skipped_steps_write_nothing),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(what_waits_is_in_no_graph),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(the_hosts_are_the_hosts),
        cmocka_unit_test(what_is_not_finite_is_reported),
        cmocka_unit_test(skipped_steps_write_nothing),
    };

    if (argc > 1 && strcmp(argv[1], "gpu") != 0)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    srand(seed);
    printf("seed %u, %s\n", seed,
           czr_library_has_lapack() ? "with LAPACK" : "without LAPACK");
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
