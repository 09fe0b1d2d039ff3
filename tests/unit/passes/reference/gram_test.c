/* Iterations in Gram form: the same mathematics by the float64 interpreter,
 * wrong rewrites noticed, and which are taken by what rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/reference/program.h"
#include "tests/unit/passes/reference/reference.h"

/* Of float64's own rounding, behind five rows; where coefficients are no short
 * binary fractions their product is a constant in f32, too. */
#define EXACT 1e-13
#define ROUNDED 2e-6

/* Families of the source with such fractions. */
#define RIGHT_TALL "param.13"
#define RIGHT_TURNED "param.14"

static const char source[] = "tests/fixtures/plans/form.cz";

/* Compiled and simplified, with the interpreter's values. */
static void open_before(compiled_program *c, const program *from,
                        ref_taken *taken)
{
    program_open(c, from);
    assert_non_null(c->ir);
    assert_true(cz_passes_run(c->ir, "simplify", &c->diags));
    if (taken)
        assert_true(ref_take(&c->arena, c->ir, &c->diags, taken));
}

static int count_rewritten(compiled_program *c)
{
    return cz_ir_count(c->ir, CZ_FACT_rewrite);
}

static const cz_pass *behind(const char *name)
{
    const cz_pass *pass = cz_passes;

    while (strcmp(pass->name, name) != 0)
        pass++;
    return pass + 1;
}

static void gram_form_is_the_same_mathematics(void **state)
{
    const program from = {source, {"form=gram"}};
    compiled_program c;
    ref_taken before, after;
    cz_text why = {0};

    (void)state;
    open_before(&c, &from, &before);
    assert_true(cz_gram_pass(c.ir, &c.diags));
    assert_true(cz_ir_verify(c.ir));
    assert_true(ref_take(&c.arena, c.ir, &c.diags, &after));
    assert_true(ref_distance(&before, &after, "") < ROUNDED);
    assert_true(ref_distance(&before, &after, RIGHT_TALL) < EXACT);
    assert_true(ref_distance(&before, &after, RIGHT_TURNED) < EXACT);
    assert_false(ref_equal(&before, &after, &why));
    cz_text_fini(&why);
    program_close(&c);

    /* Not strict, products of what commutes would be symmetric but for
     * rounding. */
    program_open_as(&c, &from, true);
    assert_non_null(c.ir);
    assert_true(cz_passes_run(c.ir, "gram", &c.diags));
    assert_true(ref_passes(source, behind("gram"), c.ir, &c.diags));
    program_close(&c);
}

/* Of each kind of iteration all that is not square, or long across it. */
static void what_is_cheaper_is_rewritten(void **state)
{
    static const struct count {
        const char *update;
        int64_t iterations;
    } counts[] = {
        {"exact.8x40.update", 1},         {"exact.48x8.update", 1},
        {"exact.8x32.t.update", 1},       {"narrow.8x40.update", 1},
        {"narrow.48x8.update", 1},        {"narrow.8x32.t.update", 1},
        {"cubic.8x40.update", 1},         {"cubic.48x8.update", 1},
        {"cubic.8x32.t.update", 1},       {"right.48x8.update", 2},
        {"right.8x32.t.update", 2},       {"phases.8x40.phase1.update", 1},
        {"phases.48x8.phase1.update", 1}, {"phases.8x32.t.phase1.update", 1},
    };
    const program from = {source, {"form=gram"}};
    compiled_program c;
    int n;

    (void)state;
    open_before(&c, &from, NULL);
    assert_true(cz_gram_pass(c.ir, &c.diags));
    const cz_fact_rewrite *list = cz_ir_read_rewrite(c.ir, &c.arena, &n);
    assert_int_equal(n, sizeof counts / sizeof *counts);
    for (int i = 0; i < n; i++) {
        assert_string_equal(list[i].update, counts[i].update);
        assert_int_equal(list[i].count, counts[i].iterations);
        assert_true(list[i].after < list[i].before);
    }
    program_close(&c);
}

/* ---- planted ---- */

static bool is_rewritten(const compiled_program *c, cz_ir_op function)
{
    int n;
    cz_arena arena;
    bool found = false;

    cz_arena_init(&arena);
    const cz_fact_rewrite *list = cz_ir_read_rewrite(c->ir, &arena, &n);
    for (int i = 0; i < n; i++)
        found =
            found || strcmp(list[i].update, cz_ir_function_name(function)) == 0;
    cz_arena_fini(&arena);
    return found;
}

/* Swaps the operands of addition number `skip` behind a multiplication for the
 * multiplication twice; false: there are no more. */
static bool plant(compiled_program *c, int skip)
{
    for (cz_ir_op f = cz_ir_first_function(c->ir); f.p;
         f = cz_ir_next_function(f)) {
        if (!is_rewritten(c, f))
            continue;
        for (cz_ir_op op = cz_ir_first_op(f); cz_ir_op_kind(op) != CZ_IR_RETURN;
             op = cz_ir_next_op(op)) {
            if (cz_ir_op_kind(op) != CZ_IR_ELEMENT ||
                cz_ir_op_opcode(op) != CZ_OP_ADD ||
                cz_ir_value_type(cz_ir_op_result(op, 0)).rank != 2 ||
                skip-- > 0)
                continue;
            cz_ir_op_set_operand(op, 1, cz_ir_op_operand(op, 0));
            return true;
        }
    }
    return false;
}

static void wrong_gram_forms_are_noticed(void **state)
{
    const program from = {source, {"form=gram"}};
    int planted = 0;

    (void)state;
    for (bool more = true; more; planted += more) {
        compiled_program c;
        ref_taken before, after;
        open_before(&c, &from, &before);
        assert_true(cz_gram_pass(c.ir, &c.diags));
        more = plant(&c, 7 * planted);
        assert_true(ref_take(&c.arena, c.ir, &c.diags, &after));
        if (more && ref_distance(&before, &after, "") < 10 * ROUNDED)
            fail_msg("addition %d may be wrong", 7 * planted);
        program_close(&c);
    }
    assert_true(planted > 20);
}

/* ---- which are taken ---- */

static int taken_with(const char *const *defines)
{
    program from = {source, {NULL}};
    compiled_program c;
    int n;

    for (int i = 0; defines[i]; i++)
        from.defines[i] = defines[i];
    open_before(&c, &from, NULL);
    assert_true(cz_gram_pass(c.ir, &c.diags));
    n = count_rewritten(&c);
    program_close(&c);
    return n;
}

/* Square matrices are so small that launches are what counts, and of the others
 * bf16 ones are 8 x 40, 48 x 8 and 32 x 8. */
static void auto_takes_what_is_quicker_and_precise(void **state)
{
    static const char *const asked[] = {"form=standard", NULL};
    static const char *const slow[] = {"machine.launch=1e-3", NULL};
    static const char *const even[] = {"machine.tile_rows=1",
                                       "machine.tile_columns=1",
                                       "machine.sms=1",
                                       "machine.bf16_rate=1e9",
                                       "machine.f32_rate=1e9",
                                       "machine.launch=0",
                                       NULL};
    static const char *const tolerant[] = {
        "machine.tile_rows=1",  "machine.tile_columns=1",
        "machine.sms=1",        "machine.bf16_rate=1e9",
        "machine.f32_rate=1e9", "machine.launch=0",
        "tolerance=0.001",      NULL};
    static const char *const narrow[] = {"machine.tile_rows=1",
                                         "machine.tile_columns=1",
                                         "machine.sms=1",
                                         "machine.bf16_rate=15e9",
                                         "machine.f32_rate=1e9",
                                         "machine.launch=0",
                                         NULL};

    (void)state;
    assert_int_equal(taken_with(asked), 0);
    assert_int_equal(taken_with(slow), 0);
    assert_int_equal(taken_with(even), 3);
    assert_int_equal(taken_with(tolerant), 14);
    assert_int_equal(taken_with(narrow), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_form_is_the_same_mathematics),
        cmocka_unit_test(what_is_cheaper_is_rewritten),
        cmocka_unit_test(wrong_gram_forms_are_noticed),
        cmocka_unit_test(auto_takes_what_is_quicker_and_precise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
