/* Bytes of the trainer by hand. */
#include "passes/cost/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/cost/fixture.h"

static void expect(const char *path, int64_t gradients, int64_t parameters)
{
    void *state = NULL;
    assert_int_equal(fixture_open_file(&state, path), 0);
    const fixture *f = state;
    const cz_trainer_wire wire = cz_trainer_wire_find(f->view);
    assert_int_equal(wire.gradient_bytes, gradients);
    assert_int_equal(wire.parameter_bytes, parameters);
    fixture_close(&state);
}

/* Twelve groups along fsdp have 100 elements of the matrix each, half of its
 * 200, and of the frozen one 80.  All 24 ranks of a coordinate of tp get the
 * sum of the gradient of one vector; of the other the plan sums all but those
 * along fsdp. */
static void fsdp_deals_out_and_sums(void **state)
{
    const int64_t norm = 2 * 5 * 2 * 23 * 2, bias = 12 * 7 * 2 * 3 * 4;
    (void)state;
    expect(CANZONA_SOURCE_DIR "/tests/unit/passes/cost/trainer_wire.cz",
           12 * 100 * 3 * 4 + norm + bias, 12 * (100 + 80) * 3 * 2);
}

/* Both copies of the embedding's two shards are on four ranks.  Of each of the
 * two layers there are two groups along edp for each of two experts that a rank
 * has. */
static void copies_and_experts_are_summed(void **state)
{
    const int64_t embed = 2 * 12 * 4 * 2 * 4;
    (void)state;
    expect(CANZONA_SOURCE_DIR "/tests/unit/passes/cost/trainer_wire_experts.cz",
           embed + 2 * 2 * 2 * 12 * 2 * 3 * 2, 0);
}

/* Gradients that arrive as partial sums, and whole parameters. */
static void plain_data_parallelism_leaves_it_nothing(void **state)
{
    (void)state;
    expect(CANZONA_SOURCE_DIR "/tests/unit/passes/cost/wire.cz", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fsdp_deals_out_and_sums),
        cmocka_unit_test(copies_and_experts_are_summed),
        cmocka_unit_test(plain_data_parallelism_leaves_it_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
