/* Random rules: the graph itself, and the same rule cut, formed to kernels
 * and run in place on bytes, give equal bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/passes/random_rule.h"

enum { N_RULES = 3000 };

static void run_stages(trial *t)
{
    cz_cut_stage stages[CZ_CUT_MAX_STAGES];
    int n = cz_cut_solve(&t->arena, &t->rule, stages);

    for (int s = 0; s < n; s++) {
        const cz_kernel *kernel = cz_kernel_build(
            &t->arena, stages[s].graph, stages[s].n_in, stages[s].in_types,
            stages[s].scalars.n, stages[s].where != CZ_WHERE_FULL_MATRIX, NULL,
            true);
        if (stages[s].where != CZ_WHERE_FULL_MATRIX)
            assert_true(kernel->n_steps <= 1);
        eval_stage(&t->arena, &stages[s], kernel, t->slots, t->scalars,
                   t->count);
    }
}

static void test_random_rules(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= N_RULES; seed++) {
        trial t;
        trial_begin(&t, seed);
        trial_reset(&t);
        run_stages(&t);
        assert_true(trial_holds(&t));
        trial_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_rules)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
