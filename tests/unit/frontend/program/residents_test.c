/* Which ranks have what paths tell apart among the things that ranks share
 * out, with and without stages. */
#include "tests/unit/frontend/program/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* "first+extent use spread axes : coordinates", one pattern a line. */
static void assert_homes(const char *program, const char *expected)
{
    int n, n_rules;
    cz_text text;
    compiled c;
    compile_text(&c, program);
    assert_non_null(c.ir);
    cz_text_init(&text);
    const cz_fact_pattern *f = cz_ir_read_pattern(c.ir, &c.arena, &n);
    const cz_fact_rule *rules = cz_ir_read_rule(c.ir, &c.arena, &n_rules);
    for (int i = 0; i < n; i++) {
        const int e = f[i].extents.n - 1;
        const char *use = "";
        for (int k = 0; k < n_rules; k++)
            if (strcmp(rules[k].sym_name, f[i].rule) == 0)
                use = rules[k].use;
        cz_text_printf(
            &text, "%lld+%lld %s %lld %lld:", (long long)f[i].first.v[e],
            (long long)f[i].extents.v[e], use, (long long)f[i].expert_axes,
            (long long)f[i].resident_axes);
        for (int k = 0; k < f[i].residents.n; k++)
            cz_text_printf(&text, " %lld", (long long)f[i].residents.v[k]);
        cz_text_puts(&text, "\n");
    }
    assert_string_equal(cz_text_string(&text), expected);
    cz_text_fini(&text);
    compiled_close(&c);
}

#define EXPERTS                                                                \
    "model tiny(d = 8) {\n params f32 { x[e < 6/ep].w : [d]\n }\n}\n"

/* The mesh is dp.0 = 2, dp.1 = 2: ep is piece 1. */
static void what_no_path_tells_apart_stays_shared_out(void **state)
{
    (void)state;
    assert_homes("mesh dp = 4, ep = 2 of dp\n" EXPERTS "use sgd(lr) on **\n",
                 "0+3 sgd 2 0:\n");
}

static void a_path_makes_patterns_of_what_each_rank_has(void **state)
{
    (void)state;
    assert_homes("mesh dp = 4, ep = 2 of dp\n" EXPERTS
                 "use sgd(lr) as a on x.{0..2}.*\nuse sgd(lr) as b on **\n",
                 "0+3 a 0 2: 0\n3+3 b 0 2: 1\n");
    assert_homes("mesh dp = 4, ep = 2 of dp\n" EXPERTS
                 "use sgd(lr) as a on x.{2..3}.*\nuse sgd(lr) as b on **\n",
                 "0+2 b 0 2: 0\n2+1 a 0 2: 0\n3+1 a 0 2: 1\n4+2 b 0 2: 1\n");
    /* neighbours are joined only where the same ranks have them */
    assert_homes("mesh dp = 4, ep = 2 of dp\n" EXPERTS
                 "use sgd(lr) as a on x.1.*\nuse sgd(lr) as b on **\n",
                 "0+1 b 0 2: 0\n1+1 a 0 2: 0\n2+1 b 0 2: 0\n3+3 b 0 2: 1\n");
}

static void stages_and_shares_are_one_coordinate(void **state)
{
    (void)state;
    /* axes pp, dp.0, dp.1: the home is over 0 and 2 */
    assert_homes("mesh pp = 3, dp = 4, ep = 2 of dp\n"
                 "model tiny(d = 8) {\n params f32 {\n"
                 "x[e < 6/ep] stage first, last { w : [d]\n }\n }\n}\n"
                 "use sgd(lr) as a on x.{0..2}.*\nuse sgd(lr) as b on **\n",
                 "0+3 a 0 5: 0 4\n3+3 b 0 5: 1 5\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_path_tells_apart_stays_shared_out),
        cmocka_unit_test(a_path_makes_patterns_of_what_each_rank_has),
        cmocka_unit_test(stages_and_shares_are_one_coordinate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
