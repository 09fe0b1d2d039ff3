/* Every stage of a plan on the double of the driver, whose launches run the
 * bodies of NAME.cu on the model of the device: results have the bits that the
 * stage of NAME.c makes, a step that is skipped writes nothing, and what is not
 * finite is reported.  PROGRAM is NAME; cz_double_program made it.
 *
 * stages_run [TRIALS [SEED [STAGE...]]]: without stages of these numbers, whose
 * bits are not those of C.
 * stages_run gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves. Exit status 77 where one of them is not there: skipped. */
#include "tests/gpu/plan/gpu_bench.h"
#include "tests/gpu/stages/stage_setting.h"

/* Stages that run where calls fail. */
enum { MAX_RUN = 5 };

static int trials = 2;
static unsigned first_seed = 1;
static int n_failed; /* calls whose operands have no factors */

static void compare(const layout *l, int stage, const unsigned char *mine,
                    const unsigned char *wanted)
{
    const czr_stage *of = &plan.stages[stage];

    for (int o = 0; o < of->n_out; o++) {
        const czr_dtype dtype = (czr_dtype)of->out[o].dtype;
        const size_t at = place_of(l, of->out[o]);
        for (size_t i = 0; i < l->elements; i++) {
            const double x = get(mine + at, dtype, i);
            const double y = get(wanted + at, dtype, i);
            if ((x == y && !signbit(x) == !signbit(y)) || (x != x && y != y))
                continue;
            fail_msg("%s, output %d, element %zu: %.9g, C says %.9g", of->name,
                     o, i, x, y);
        }
    }
}

static void test_body(setting *s, const czr_kernel_entry *row, czr_kernel body,
                      czr_cuda_stage mine, bool is_wild)
{
    const layout l = lay_out(&plan.stages[row->stage], row);
    unsigned char *wanted = draw_memory(&l, is_wild), *got = malloc(l.bytes);
    unsigned char *untouched = malloc(l.bytes);
    int32_t flags[2] = {CZR_OK, 0}, skips[2] = {CZR_OK, 1};

    assert_non_null(got);
    assert_non_null(untouched);
    memcpy(got, wanted, l.bytes);
    memcpy(untouched, wanted, l.bytes);
    if (run_device(s, &l, row->stage, mine, row, untouched, skips) != CZR_OK)
        fail_msg("%s", s->bench.context->error);
    assert_memory_equal(untouched, wanted, l.bytes);
    assert_int_equal(skips[0], CZR_OK);
    const czr_status status = run_host(s, &l, row->stage, body, row, wanted);
    const czr_status failure =
        run_device(s, &l, row->stage, mine, row, got, flags);
    if (s->bench.context->error[0])
        fail_msg("%s", s->bench.context->error);
    /* A factorisation by the host ends the call. */
    assert_int_equal(failure == CZR_OK ? flags[0] : (int)failure, status);
    n_failed += status != CZR_OK && status != CZR_ERR_PARAM;
    if (status == CZR_OK || status == CZR_ERR_PARAM)
        compare(&l, row->stage, got, wanted);
    free(untouched);
    free(got);
    free(wanted);
}

static void test_row(setting *s, const czr_kernel_entry *row, bool is_wild)
{
    const czr_cuda_stage *bodies =
        plan_cuda.variants ? plan_cuda.variants[row->stage] : NULL;
    const int n = bodies ? plan.variants[row->stage].phases->n_phases : 0;

    test_body(s, row, plan.stages[row->stage].run, plan_cuda.stages[row->stage],
              is_wild);
    for (int i = 0; i < n; i++)
        test_body(s, row, plan.variants[row->stage].run[i], bodies[i], is_wild);
}

/* A row of each stage, of whatever rank has one. */
static void test_table(setting *s, int table, int rank, bool is_wild,
                       bool *is_tested)
{
    const czr_range range = czr_program_rows(&plan, table, rank);
    const czr_kernel_entry *rows = plan.tables[table].rows;

    for (int64_t i = 0;
         plan.tables[table].kind == CZR_ENTRY_KERNEL && i < range.n; i++) {
        const czr_kernel_entry *row = &rows[range.first + i];
        if (!is_tested[row->stage])
            test_row(s, row, is_wild);
        is_tested[row->stage] = true;
    }
}

static void test_all(setting *s, bool is_wild)
{
    bool *is_tested = calloc((size_t)plan.n_stages, sizeof *is_tested);

    assert_non_null(is_tested);
    for (int t = 0; t < plan.n_tables; t++)
        for (int rank = 0; rank < czr_program_ranks(&plan); rank++)
            test_table(s, t, rank, is_wild, is_tested);
    for (int i = 0; i < plan.n_stages; i++)
        if (!is_tested[i])
            fail_msg("%s has no row", plan.stages[i].name);
    free(is_tested);
}

static void computes_what_c_does(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        setting s;
        print_message("seed %u\n", seed);
        start(&s, seed);
        if (open_setting(&s, &plan_cuda) != CZR_OK)
            fail_msg("%s", s.bench.context->error);
        n_failed = 0;
        test_all(&s, i % 2);
        print_message("%d of %d stages and their variants fail\n", n_failed,
                      plan.n_stages);
        close_setting(&s);
    }
}

/* ---- calls together ----------------------------------------------------- */

/* Of one loop and no more, whose calls share launches: so many at most; else 0.
 */
static size_t calls_of_launch(czr_cuda_stage steps)
{
    const czr_cuda_loop_kernels kernels =
        plan_cuda
            .loops[steps->kind == CZR_CUDA_LOOP_STEP ? steps->of.loop.loop : 0];

    return steps->kind == CZR_CUDA_LOOP_STEP && kernels.n == 1 &&
                   steps[1].kind == CZR_CUDA_END
               ? plan_cuda.kernels[kernels.first].entries
               : 0;
}

static bool takes_scalars(czr_cuda_stage steps)
{
    const czr_cuda_loop_step *loop = &steps->of.loop;
    const czr_cuda_kernel *kernel =
        &plan_cuda.kernels[plan_cuda.loops[loop->loop].first];

    for (int i = 0; i < kernel->n_arguments; i++)
        if (kernel->arguments[i] < CZR_CUDA_ENTRY &&
            loop->operands[kernel->arguments[i]].place == CZR_CUDA_SCALAR)
            return true;
    return false;
}

static void test_together(setting *s, const czr_kernel_entry *row, cutting how,
                          size_t launches)
{
    const layout l = lay_out(&plan.stages[row->stage], row);
    unsigned char *wanted = draw_memory(&l, how.n_calls % 2);
    unsigned char *got = malloc(l.bytes);
    int32_t flags[2] = {CZR_OK, 0};

    assert_non_null(got);
    memcpy(got, wanted, l.bytes);
    const czr_status status =
        run_host(s, &l, row->stage, plan.stages[row->stage].run, row, wanted);
    const int64_t before = bench_launches();
    assert_int_equal(run_calls(s, &l, row->stage, plan_cuda.stages[row->stage],
                               row, got, flags, how),
                     CZR_OK);
    assert_int_equal(bench_launches() - before, launches);
    assert_int_equal(flags[0], status);
    compare(&l, row->stage, got, wanted);
    free(got);
    free(wanted);
}

static const czr_kernel_entry *find_row(int stage);

/* A row of each element-wise stage, cut into calls, some of them empty. */
static void element_wise_calls_share_launches(void **state)
{
    static const size_t counts[] = {2, 3, 64, 65, 200};
    int n_tested = 0;
    setting s;

    (void)state;
    start(&s, first_seed);
    assert_int_equal(open_setting(&s, &plan_cuda), CZR_OK);
    for (int i = 0; i < plan.n_stages; i++) {
        const size_t each = calls_of_launch(plan_cuda.stages[i]);
        if (plan.stages[i].is_full_matrix || !each)
            continue;
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            test_together(&s, find_row(i), (cutting){counts[k], false},
                          (counts[k] + each - 1) / each);
        test_together(&s, find_row(i), (cutting){5, true},
                      takes_scalars(plan_cuda.stages[i]) ? 5 : 1);
        n_tested++;
    }
    print_message("%d of %d stages share launches\n", n_tested, plan.n_stages);
    close_setting(&s);
}

static const czr_kernel_entry *find_row(int stage)
{
    for (int t = 0; t < plan.n_tables; t++) {
        const czr_kernel_entry *rows = plan.tables[t].rows;
        const int64_t n = plan.tables[t].kind == CZR_ENTRY_KERNEL
                              ? czr_program_all_rows(&plan, t)
                              : 0;
        for (int64_t i = 0; i < n; i++)
            if (rows[i].stage == stage)
                return &rows[i];
    }
    fail_msg("stage %d has no row", stage);
    return NULL;
}

static czr_status run_once(setting *s, int stage)
{
    const czr_kernel_entry *row = find_row(stage);
    const layout l = lay_out(&plan.stages[stage], row);
    unsigned char *memory = draw_memory(&l, false);
    int32_t flags[2] = {CZR_OK, 0};

    const czr_status status =
        run_device(s, &l, stage, plan_cuda.stages[stage], row, memory, flags);
    free(memory);
    return status;
}

/* What only gives back fails for the context alone. */
static bool gives_back(const char *symbol)
{
    return strstr(symbol, "Free") || strstr(symbol, "Unload");
}

static void fails_cleanly_at_every_call(void **state)
{
    int64_t n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        setting s;
        start(&s, first_seed);
        const int64_t failing = fake_calls() + n;
        fake_fail(NULL, n + 1, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = open_setting(&s, &plan_cuda);
        for (int i = 0; i < MAX_RUN && i < plan.n_stages && status == CZR_OK;
             i++)
            status = run_once(&s, i);
        has_failed = fake_has_failed();
        if ((status == CZR_OK) == has_failed &&
            !(has_failed && gives_back(fake_symbol(failing))))
            fail_msg("call %d, %s: %s (%s)", (int)n + 1, fake_symbol(failing),
                     czr_status_name(status), s.bench.context->error);
        assert_int_equal(s.bench.context->error[0] != 0, has_failed);
        close_setting(&s);
    }
    print_message("%d calls failed in turn\n", (int)n - 1);
    assert_true(n > plan_cuda.n_kernels);
}

/* Also where a plan and its kernels do not fit together. */
static void names_what_is_missing(void **state)
{
    const czr_cuda_kernel nobody = {"nobody", NULL, 0, CZR_CUDA_RUN, 1, 4,
                                    1,        1,    0};
    czr_cuda_program odd = plan_cuda;
    setting s;

    (void)state;
    odd.kernels = &nobody;
    odd.n_kernels = 1;
    start(&s, first_seed);
    assert_int_equal(open_setting(&s, &odd), CZR_ERR_DEVICE_CODE);
    assert_non_null(strstr(s.bench.context->error, "kernel nobody"));
    close_setting(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_what_c_does),
        cmocka_unit_test(element_wise_calls_share_launches),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(names_what_is_missing),
    };

    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(computes_what_c_does),
    };

    gpu_bench_arguments(argc, argv, &trials, &first_seed, trials);
    return GPU_BENCH_RUN(argc, argv, setting_nvrtc, tests, on_gpu);
}
