/* What rewrites saved, by hand, on two small rules of 4 x 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "dsl/plan/build/build.h"
#include "passes/passes.h"
#include "frontend/document/plan/rewrites.h"
#include "tests/unit/passes/reference/program.h"

enum { ELEMENTS = 4 * 6, F32 = 4, BF16 = 2 };

/* Those of the named stage of a file, up to `flops`. */
static int rewrites_of(compiled_program *c, const char *file, const char *stage,
                       cz_document_rewrite *out)
{
    const program from = {file, {NULL}};
    const cz_plan_view *view;

    program_open(c, &from);
    assert_non_null(c->ir);
    assert_true(cz_passes_run(c->ir, "flops", &c->diags));
    view = cz_plan_view_build(&c->arena, c->ir, &c->diags);
    assert_non_null(view);
    for (int i = 0; i < view->n_stages; i++)
        if (strcmp(view->stages[i].fact->sym_name, stage) == 0)
            return cz_rewrites_find(&c->arena, view, &view->stages[i], 0, out);
    fail_msg("no stage %s", stage);
    return 0;
}

static void assert_rewrite(const cz_document_rewrite *it, cz_rewrite_kind kind,
                           int64_t count, int64_t before, int64_t after)
{
    assert_string_equal(it->name, cz_rewrite_names[kind]);
    assert_int_equal(it->count, count);
    assert_int_equal(it->before, before);
    assert_int_equal(it->after, after);
}

/* y = mix * (mom @ mom' @ grad) - old * mix: the last product takes what
 * follows, the first is symmetric and reads mom' where mom lies. */
static void products_are_counted_by_hand(void **state)
{
    compiled_program c;
    cz_document_rewrite list[CZ_N_REWRITES];

    (void)state;
    assert_int_equal(rewrites_of(&c, "tests/golden/passes/epilogue.cz",
                                 "odd.4x6.whole", list),
                     4);
    assert_rewrite(&list[0], CZ_REWRITE_CUT, 3, ELEMENTS * 5 * F32,
                   ELEMENTS * 3 * F32);
    assert_rewrite(&list[1], CZ_REWRITE_SYMMETRIC, 1, 4 * 4 * 2 * 6,
                   10 * 2 * 6);
    assert_rewrite(&list[2], CZ_REWRITE_EPILOGUE, 1, ELEMENTS * 2 * F32, 0);
    assert_rewrite(&list[3], CZ_REWRITE_TRANSPOSE, 1, ELEMENTS * 2 * F32, 0);
    program_close(&c);
}

/* Two iterations of x <- a x + (b g + c g g) x with g = x x', in bf16, as is
 * what is normalised before. */
static void newton_schulz_is_counted_by_hand(void **state)
{
    compiled_program c;
    cz_document_rewrite list[CZ_N_REWRITES];

    (void)state;
    assert_int_equal(rewrites_of(&c, "tests/golden/passes/muon.cz",
                                 "matrices.4x6.whole", list),
                     4);
    assert_rewrite(&list[0], CZ_REWRITE_CUT, 2, ELEMENTS * 5 * F32,
                   ELEMENTS * (BF16 + BF16));
    assert_rewrite(&list[1], CZ_REWRITE_SYMMETRIC, 4, 2 * 4 * 4 * 2 * (6 + 4),
                   2 * 10 * 2 * (6 + 4));
    assert_rewrite(&list[2], CZ_REWRITE_EPILOGUE, 4,
                   2 * (16 + ELEMENTS) * 2 * F32, 0);
    assert_rewrite(&list[3], CZ_REWRITE_TRANSPOSE, 2, 2 * ELEMENTS * 2 * BF16,
                   0);
    program_close(&c);
}

static void stages_of_shards_have_none(void **state)
{
    compiled_program c;
    cz_document_rewrite list[CZ_N_REWRITES];

    (void)state;
    assert_int_equal(rewrites_of(&c, "tests/golden/passes/muon.cz",
                                 "matrices.4x6.before", list),
                     0);
    program_close(&c);
}

/* Of two sides: to the bases, back, and both Gram matrices.  The moments stay
 * in the bases, so that none turns back and forth. */
enum { SOAP_PRODUCTS = 2 + 2 + 2 };

static int count_products(const cz_view_stage *body)
{
    int n = 0;

    for (int s = 0; s < body->n_steps; s++)
        n += body->steps[s].is_product;
    return n;
}

static void soap_turns_no_moment_between_refreshes(void **state)
{
    const program from = {"tests/unit/passes/soap.cz", {NULL}};
    compiled_program c;
    int n_checked = 0;

    (void)state;
    program_open(&c, &from);
    assert_non_null(c.ir);
    assert_true(cz_passes_run(c.ir, "flops", &c.diags));
    const cz_plan_view *view = cz_plan_view_build(&c.arena, c.ir, &c.diags);
    assert_non_null(view);
    for (int i = 0; i < view->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[i];
        const cz_view_rule *rule = &view->rules[stage->rule];
        for (int p = 0;
             stage->where == CZ_WHERE_FULL_MATRIX && p < rule->n_phases; p++)
            if (rule->phases[p].fires == 0) {
                assert_int_equal(count_products(cz_view_variant(stage, p)),
                                 SOAP_PRODUCTS);
                n_checked++;
            }
    }
    assert_int_equal(n_checked, 1);
    program_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_counted_by_hand),
        cmocka_unit_test(newton_schulz_is_counted_by_hand),
        cmocka_unit_test(stages_of_shards_have_none),
        cmocka_unit_test(soap_turns_no_moment_between_refreshes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
