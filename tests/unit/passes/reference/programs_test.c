/* The float64 interpreter before and after every pass, on programs: the
 * library's optimizers, rules with everything else, examples made small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/reference/program.h"
#include "tests/unit/passes/reference/reference.h"

#define HERE "tests/unit/passes/reference/"

static const program programs[] = {
    {HERE "library.cz", {NULL}},
    {HERE "rules.cz", {NULL}},
    {"tests/golden/passes/elementwise.cz", {NULL}},
    {"tests/golden/passes/epilogue.cz", {NULL}},
    {"tests/golden/passes/muon.cz", {NULL}},
    {"tests/fixtures/plans/factor.cz", {NULL}},
    {"tests/fixtures/phases/elements.cz", {NULL}},
    {"tests/fixtures/phases/matrices.cz", {NULL}},
    {"examples/embed/lesson.cz", {NULL}},
    {"examples/gpt.cz", {"width=8", "layers=2", "vocab=16", "context=4"}},
    {"examples/gpt_adamw.cz", {"width=8", "layers=2", "vocab=16", "context=4"}},
    {"examples/qwen3-32b.cz",
     {"mesh.dp=2", "mesh.tp=2", "hidden_size=8", "num_hidden_layers=2",
      "num_attention_heads=4", "num_key_value_heads=2", "head_dim=2",
      "intermediate_size=12", "vocab_size=16"}},
};

static void passes_keep_the_values_of_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        compiled_program c;
        program_open(&c, &programs[i]);
        assert_non_null(c.ir);
        assert_true(ref_pipeline(programs[i].file, c.ir, &c.diags));
        program_close(&c);
    }
}

static void assert_finite(const ref_part *part)
{
    for (int64_t i = 0; i < part->n; i++)
        if (!isfinite(part->values[i]))
            fail_msg("%s of %s in step %d is %g", part->what, part->pattern,
                     part->step, part->values[i]);
}

/* NaN equals NaN: the comparison is worth something where numbers are finite,
 * and where every step moves the parameter. */
static void the_librarys_values_are_finite_and_move(void **state)
{
    compiled_program c;
    ref_taken taken;

    (void)state;
    program_open(&c, &programs[0]);
    assert_non_null(c.ir);
    assert_true(ref_take(&c.arena, c.ir, &c.diags, &taken));
    const ref_values *values = &taken.of[0][1];
    const ref_part *last = NULL;
    for (int i = 0; i < values->n; i++) {
        const ref_part *part = &values->parts[i];
        assert_finite(part);
        if (strcmp(part->what, "param") != 0)
            continue;
        if (part->step > 0)
            assert_memory_not_equal(part->values, last->values,
                                    (size_t)part->n * sizeof *part->values);
        last = part;
    }
    program_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_keep_the_values_of_programs),
        cmocka_unit_test(the_librarys_values_are_finite_and_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
