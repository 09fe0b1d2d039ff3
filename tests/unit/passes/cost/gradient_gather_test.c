/* Bytes of gathered gradients by hand. */
#include "passes/cost/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/cost/fixture.h"

static void expect(const char *path, int64_t bytes)
{
    void *state = NULL;
    assert_int_equal(fixture_open_file(&state, path), 0);
    const fixture *f = state;
    assert_int_equal(cz_gradient_gather_bytes(f->view), bytes);
    fixture_close(&state);
}

/* Each of two ranks gets the other's half of the matrix; vectors stay. */
static void ranks_get_all_shards_but_their_own(void **state)
{
    (void)state;
    expect(CANZONA_SOURCE_DIR "/tests/unit/passes/cost/wire.cz", 64 * 32 * 4);
}

/* Each of the eight ranks along fsdp and tp gets seven shards of 200 elements,
 * where the owner is along dp, on all three of cp. */
static void all_who_have_the_owners_coordinate_get_them(void **state)
{
    (void)state;
    expect(CANZONA_SOURCE_DIR "/tests/unit/passes/cost/trainer_wire.cz",
           3 * 7 * 200 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_get_all_shards_but_their_own),
        cmocka_unit_test(all_who_have_the_owners_coordinate_get_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
