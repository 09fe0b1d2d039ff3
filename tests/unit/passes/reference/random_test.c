/* The float64 interpreter before and after every pass, on random rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/random_module.h"
#include "tests/unit/passes/reference/reference.h"

enum { N_MODULES = 300 };

static void check_seed(unsigned seed)
{
    char name[32];
    trial t;
    cz_diags diags;
    cz_ir *ir;

    snprintf(name, sizeof name, "seed %u", seed);
    trial_begin(&t, seed);
    cz_diags_init(&diags, &t.arena);
    ir = random_module(&t, &diags);
    assert_non_null(ir);
    assert_true(ref_pipeline(name, ir, &diags));
    cz_ir_close(ir);
    trial_end(&t);
}

static void random_rules_keep_their_values(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= N_MODULES; seed++)
        check_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rules_keep_their_values)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
