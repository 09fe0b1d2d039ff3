/* Metrics of a schedule small enough to count by hand. */
#include "dsl/plan/frequency.h"
#include "dsl/plan/metrics.h"
#include "tests/unit/unit.h"
#include "dsl/plan/build/build.h"

enum { GATHER = 5, SCATTER = 7, SHARD_BYTES = 8 * 4 };

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir;
    const cz_plan_view *view;
    const cz_metrics *metrics;
} fixture;

static void open(fixture *f)
{
    cz_text text = {0};
    const char *why;
    cz_arena_init(&f->arena);
    cz_diags_init(&f->diags, &f->arena);
    assert_true(cz_text_read_file(
        &text, CANZONA_SOURCE_DIR "/tests/fixtures/schedules/valid.mlir",
        1 << 20, &why));
    f->ir = cz_ir_parse(cz_text_string(&text), text.n, &f->diags);
    cz_text_fini(&text);
    assert_non_null(f->ir);
    f->view = cz_plan_view_build(&f->arena, f->ir, &f->diags);
    assert_non_null(f->view);
    f->metrics = cz_metrics_build(&f->arena, f->view);
}

static void close(fixture *f)
{
    cz_ir_close(f->ir);
    cz_arena_fini(&f->arena);
}

/* Stages cost 0 and 3 per element and 50 per matrix; each rank holds 8
 * elements of both matrices and owns one. */
static void test_flops_and_updates(void **unused)
{
    fixture f;
    (void)unused;
    open(&f);
    for (int rank = 0; rank < 2; rank++) {
        const cz_rank_metrics *m = &f.metrics->ranks[rank];
        const cz_rank_metrics one =
            cz_metrics_rank(&f.arena, f.view, rank, CZ_MEAN_UPDATE);
        assert_int_equal(m->flops, 2 * 8 * 3 + 50);
        for (int param = 0; param < 2; param++) {
            assert_int_equal(one.updates[param], 8);
            assert_int_equal(one.full_matrix[param], param == rank);
        }
        assert_int_equal(m->n_updates, 16);
        assert_int_equal(m->n_matrices, 1);
        assert_int_equal(one.flops, m->flops);
    }
    assert_int_equal(f.metrics->flops.sum, 2 * 98);
    assert_int_equal(f.metrics->item_flops, 8 * 3 + 50);
    assert_int_equal(f.metrics->matrices.max, 1);
    close(&f);
}

static void test_a_shard_goes_each_way(void **unused)
{
    fixture f;
    (void)unused;
    open(&f);
    for (int rank = 0; rank < 2; rank++) {
        const cz_rank_metrics m =
            cz_metrics_rank(&f.arena, f.view, rank, CZ_MEAN_UPDATE);
        for (int op = 0; op < f.view->n_ops; op++) {
            const int64_t bytes =
                op == GATHER || op == SCATTER ? SHARD_BYTES : 0;
            assert_int_equal(m.op_sent[op], bytes);
            assert_int_equal(m.op_received[op], bytes);
            assert_int_equal(f.metrics->op_sent[op], 2 * bytes);
            assert_int_equal(f.metrics->op_received[op], 2 * bytes);
        }
        assert_int_equal(f.metrics->ranks[rank].sent[CZ_STEP_TRANSFER],
                         2 * SHARD_BYTES);
    }
    assert_int_equal(f.metrics->sent[CZ_STEP_TRANSFER].sum, 4 * SHARD_BYTES);
    close(&f);
}

static void test_memory(void **unused)
{
    fixture f;
    (void)unused;
    open(&f);
    const cz_rank_metrics *m = &f.metrics->ranks[0];
    assert_int_equal(m->memory[CZ_MEMORY_PARAM], 32 * 4);
    assert_int_equal(m->memory[CZ_MEMORY_GRAD], 32 * 4);
    assert_int_equal(m->memory[CZ_MEMORY_REDUCED], 32 * 4);
    assert_int_equal(m->memory[CZ_MEMORY_MASTER], 0);
    assert_int_equal(m->memory[CZ_MEMORY_STATE], 0);
    assert_int_equal(m->memory[CZ_MEMORY_SCRATCH], 512);
    assert_int_equal(m->peak_scratch, 512);
    close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flops_and_updates),
        cmocka_unit_test(test_a_shard_goes_each_way),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
