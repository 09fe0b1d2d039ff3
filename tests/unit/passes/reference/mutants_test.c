/* Wrong rewrites, planted behind the pass that might make them: the float64
 * interpreter must notice each, at every place where it can be planted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dsl/ir/mlir.h"
#include "tests/unit/passes/reference/program.h"
#include "tests/unit/passes/reference/reference.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

#define HERE "tests/unit/passes/reference/"
#define FACTORS HERE "mutants_factor.cz"

/* A mutation passes over `skip` places that fit and changes the next one;
 * false where there is none. */
typedef struct planter {
    cz_ir *ir;
    cz_arena *arena;
    int skip;
} planter;

static bool is_here(planter *p)
{
    return p->skip-- == 0;
}

/* ---- operations of functions ---- */

static bool each_op(planter *p, bool (*plant)(planter *, cz_ir_op))
{
    for (cz_ir_op f = cz_ir_first_function(p->ir); f.p;
         f = cz_ir_next_function(f))
        for (cz_ir_op op = cz_ir_first_op(f); cz_ir_op_kind(op) != CZ_IR_RETURN;
             op = cz_ir_next_op(op))
            if (plant(p, op))
                return true;
    return false;
}

static bool is_opcode(cz_ir_op op, cz_opcode opcode)
{
    return cz_ir_op_kind(op) == CZ_IR_ELEMENT && cz_ir_op_opcode(op) == opcode;
}

static bool swap_at(planter *p, cz_ir_op op)
{
    if (!is_opcode(op, CZ_OP_SUB) || !is_here(p))
        return false;
    const cz_ir_value a = cz_ir_op_operand(op, 0);
    cz_ir_op_set_operand(op, 0, cz_ir_op_operand(op, 1));
    cz_ir_op_set_operand(op, 1, a);
    return true;
}

static bool swap_subtraction(planter *p)
{
    return each_op(p, swap_at);
}

static bool subtract_at(planter *p, cz_ir_op op)
{
    if (!is_opcode(op, CZ_OP_ADD) || !is_here(p))
        return false;
    cz_ir_builder b = cz_ir_builder_before(p->ir, op);
    cz_ir_value_replace(cz_ir_op_result(op, 0),
                        cz_ir_binary(&b, CZ_OP_SUB, cz_ir_op_operand(op, 0),
                                     cz_ir_op_operand(op, 1)));
    return true;
}

static bool subtract_for_add(planter *p)
{
    return each_op(p, subtract_at);
}

/* EXTEND of TRUNCATE x is taken for x. */
static bool keep_at(planter *p, cz_ir_op op)
{
    if (!is_opcode(op, CZ_OP_EXTEND))
        return false;
    const cz_ir_op from = cz_ir_value_op(cz_ir_op_operand(op, 0));
    if (!from.p || !is_opcode(from, CZ_OP_TRUNCATE) || !is_here(p))
        return false;
    cz_ir_value_replace(cz_ir_op_result(op, 0), cz_ir_op_operand(from, 0));
    return true;
}

static bool drop_rounding(planter *p)
{
    return each_op(p, keep_at);
}

static bool reduce_at(planter *p, cz_ir_op op)
{
    if (cz_ir_op_kind(op) != CZ_IR_REDUCE)
        return false;
    const cz_ints dims = cz_ir_op_ints(op, "dims", p->arena);
    if (dims.n != 1 || !is_here(p))
        return false;
    const int64_t other = 1 - dims.v[0];
    cz_ir_op_set_ints(op, "dims", (cz_ints){&other, 1});
    return true;
}

static bool sum_the_other_dimension(planter *p)
{
    return each_op(p, reduce_at);
}

/* ---- factorisations, of math form and of kernel form ---- */

static bool is_factor(cz_ir_op op)
{
    return cz_ir_op_kind(op) == CZ_IR_FACTOR || cz_ir_op_kind(op) == CZ_IR_CALL;
}

static bool power_at(planter *p, cz_ir_op op)
{
    if (!is_factor(op))
        return false;
    const cz_reals were = cz_ir_op_reals(op, "parameters", p->arena);
    if (were.n == 0 || !is_here(p))
        return false;
    double *changed = CZ_NEW(p->arena, double, were.n);
    for (int i = 0; i < were.n; i++)
        changed[i] = i ? were.v[i] : were.v[i] * 2;
    mlirOperationSetAttributeByName(
        cz_ir_op_mlir(op), mlirStringRefCreateFromCString("parameters"),
        mlirDenseF64ArrayGet(cz_ir_context(p->ir), were.n, changed));
    return true;
}

static bool double_power(planter *p)
{
    return each_op(p, power_at);
}

static bool triangle_at(planter *p, cz_ir_op op)
{
    if (!is_factor(op) ||
        strcmp(cz_ir_op_string(op, "factor"), "solve_lower") != 0 ||
        !is_here(p))
        return false;
    mlirOperationSetAttributeByName(
        cz_ir_op_mlir(op), mlirStringRefCreateFromCString("factor"),
        mlirStringAttrGet(cz_ir_context(p->ir), mlirStringRefCreateFromCString(
                                                    "solve_lower_transposed")));
    return true;
}

static bool solve_the_other_triangle(planter *p)
{
    return each_op(p, triangle_at);
}

/* ---- kernel form ---- */

static bool is_product(cz_ir_op op)
{
    return cz_ir_op_kind(op) == CZ_IR_PRODUCT;
}

static void set_real(planter *p, cz_ir_op op, const char *name, double value)
{
    const MlirContext context = cz_ir_context(p->ir);
    mlirOperationSetAttributeByName(
        cz_ir_op_mlir(op), mlirStringRefCreateFromCString(name),
        mlirFloatAttrDoubleGet(context, mlirF64TypeGet(context), value));
}

static bool alpha_at(planter *p, cz_ir_op op)
{
    if (!is_product(op) || *cz_ir_op_string(op, "body") || !is_here(p))
        return false;
    set_real(p, op, "alpha", 1.25 * cz_ir_op_real(op, "alpha"));
    return true;
}

static bool scale_alpha(planter *p)
{
    return each_op(p, alpha_at);
}

static bool beta_at(planter *p, cz_ir_op op)
{
    if (!is_product(op) || cz_ir_op_real(op, "beta") == 0.0 || !is_here(p))
        return false;
    set_real(p, op, "beta", -cz_ir_op_real(op, "beta"));
    return true;
}

static bool negate_beta(planter *p)
{
    return each_op(p, beta_at);
}

static bool is_symmetric(cz_ir_value value)
{
    const cz_ir_op op = cz_ir_value_op(value);
    return op.p && is_product(op) && cz_ir_op_int(op, "symmetric") == 1;
}

static bool transpose_at(planter *p, cz_ir_op op)
{
    if (!is_product(op) || is_symmetric(cz_ir_op_operand(op, 1)) || !is_here(p))
        return false;
    cz_ir_op_set_int(op, "transpose_b", 1 - cz_ir_op_int(op, "transpose_b"));
    return true;
}

static bool transpose_factor(planter *p)
{
    return each_op(p, transpose_at);
}

static bool symmetric_at(planter *p, cz_ir_op op)
{
    if (!is_product(op) || cz_ir_op_int(op, "symmetric") == 1 || !is_here(p))
        return false;
    cz_ir_op_set_int(op, "symmetric", 1);
    return true;
}

static bool claim_symmetry(planter *p)
{
    return each_op(p, symmetric_at);
}

/* A vector of rows is taken for one of columns, or the other way round. */
static bool access_at(planter *p, cz_ir_op op)
{
    if (cz_ir_op_kind(op) != CZ_IR_MAP)
        return false;
    const cz_ints access = cz_ir_op_ints(op, "access", p->arena);
    int64_t *changed = CZ_NEW(p->arena, int64_t, access.n);
    for (int i = 0; i < access.n; i++)
        changed[i] = access.v[i];
    for (int i = 0; i < access.n; i++) {
        if ((access.v[i] != CZ_ACCESS_ROW && access.v[i] != CZ_ACCESS_COLUMN) ||
            !is_here(p))
            continue;
        changed[i] = CZ_ACCESS_ROW + CZ_ACCESS_COLUMN - access.v[i];
        cz_ir_op_set_ints(op, "access", (cz_ints){changed, access.n});
        return true;
    }
    return false;
}

static bool turn_access(planter *p)
{
    return each_op(p, access_at);
}

/* ---- facts ---- */

static bool swap_scalars(planter *p)
{
    int n;
    const cz_fact_stage *stages = cz_ir_read_stage(p->ir, p->arena, &n);

    for (int i = 0; i < n; i++) {
        cz_fact_stage stage = stages[i];
        if (stage.scalars.n < 2 || !is_here(p))
            continue;
        int64_t *numbers = CZ_NEW(p->arena, int64_t, stage.scalars.n);
        for (int k = 0; k < stage.scalars.n; k++)
            numbers[k] = stage.scalars.v[k];
        numbers[0] = stage.scalars.v[1];
        numbers[1] = stage.scalars.v[0];
        stage.scalars.v = numbers;
        cz_ir_replace_stage(p->ir, i, &stage);
        return true;
    }
    return false;
}

/* Two states of one stage change places. */
static bool swap_states(planter *p)
{
    int n;
    const cz_fact_stage *stages = cz_ir_read_stage(p->ir, p->arena, &n);

    for (int i = 0; i < n; i++) {
        cz_fact_stage stage = stages[i];
        const char **outs = CZ_NEW(p->arena, const char *, stage.outs.n);
        int n_states = 0;
        for (int k = 0; k < stage.outs.n; k++) {
            const bool is_state = strncmp(stage.outs.v[k], "state:", 6) == 0;
            outs[k] = !is_state ? stage.outs.v[k]
                                : cz_arena_printf(p->arena, "state:%d",
                                                  1 - n_states++);
        }
        if (n_states != 2 || !is_here(p))
            continue;
        stage.outs.v = outs;
        cz_ir_replace_stage(p->ir, i, &stage);
        return true;
    }
    return false;
}

static bool change_first_state(planter *p)
{
    int n;
    const cz_fact_rule *rules = cz_ir_read_rule(p->ir, p->arena, &n);

    for (int i = 0; i < n; i++) {
        cz_fact_rule rule = rules[i];
        if (rule.states.n == 0 || !is_here(p))
            continue;
        double *init = CZ_NEW(p->arena, double, rule.states.n);
        init[0] = rule.state_init.v[0] + 0.5;
        for (int s = 1; s < rule.states.n; s++)
            init[s] = rule.state_init.v[s];
        rule.state_init.v = init;
        cz_ir_replace_rule(p->ir, i, &rule);
        return true;
    }
    return false;
}

/* ---- all of them ---- */

static const struct mutation {
    const char *what, *pass; /* behind which it is planted */
    bool (*plant)(planter *planter);
    const char *file; /* NULL: mutants.cz */
} mutations[] = {
    {"operands of a subtraction swapped", "simplify", swap_subtraction, NULL},
    {"operands of a subtraction swapped", "cut", swap_subtraction, NULL},
    {"operands of a subtraction swapped", "kernel", swap_subtraction, NULL},
    {"a subtraction for an addition", "kernel", subtract_for_add, NULL},
    {"a rounding dropped", "simplify", drop_rounding, NULL},
    {"a rounding dropped", "cut", drop_rounding, NULL},
    {"a sum over the other dimension", "simplify", sum_the_other_dimension,
     NULL},
    {"a sum over the other dimension", "cut", sum_the_other_dimension, NULL},
    {"alpha of a product wrong", "kernel", scale_alpha, NULL},
    {"beta of a product negated", "kernel", negate_beta, NULL},
    {"a factor transposed", "kernel", transpose_factor, NULL},
    {"a product taken for symmetric", "kernel", claim_symmetry, NULL},
    {"rows taken for columns", "kernel", turn_access, NULL},
    {"alpha of a product wrong", "workspace", scale_alpha, NULL},
    {"scalars of a stage swapped", "flops", swap_scalars, NULL},
    {"states of a stage swapped", "place", swap_states, NULL},
    {"first value of a state wrong", "place", change_first_state, NULL},
    {"operands of a subtraction swapped", "schedule", swap_subtraction, NULL},
    {"power of a root doubled", "simplify", double_power, FACTORS},
    {"power of a root doubled", "cut", double_power, FACTORS},
    {"power of a root doubled", "kernel", double_power, FACTORS},
    {"the other triangle", "simplify", solve_the_other_triangle, FACTORS},
    {"the other triangle", "kernel", solve_the_other_triangle, FACTORS},
    {"whole states of a stage swapped", "place", swap_states, FACTORS},
    {"first value of a whole state wrong", "place", change_first_state,
     FACTORS},
};

static const cz_pass *find_pass(const char *name)
{
    const cz_pass *pass = cz_passes;

    while (strcmp(pass->name, name) != 0)
        pass++;
    return pass;
}

/* Before the pass the module is as it should be; the mutation joins what the
 * pass did.  False when there is no place of that number. */
static bool is_planted(const struct mutation *mutation, int place)
{
    const program from = {mutation->file ? mutation->file : HERE "mutants.cz",
                          {NULL}};
    compiled_program c;
    ref_taken before, after;
    cz_text why;

    program_open(&c, &from);
    assert_non_null(c.ir);
    cz_text_init(&why);
    for (const cz_pass *pass = cz_passes; pass < find_pass(mutation->pass);
         pass++)
        assert_true(pass->run(c.ir, &c.diags));
    assert_true(ref_take(&c.arena, c.ir, &c.diags, &before));
    assert_true(find_pass(mutation->pass)->run(c.ir, &c.diags));
    planter p = {c.ir, &c.arena, place};
    const bool planted = mutation->plant(&p);
    assert_true(cz_ir_verify(c.ir));
    /* what the view of a plan refuses is noticed as well */
    const bool same = ref_take(&c.arena, c.ir, &c.diags, &after) &&
                      ref_equal(&before, &after, &why);
    if (same == planted)
        fail_msg("%s, after %s, place %d: %s", mutation->what, mutation->pass,
                 place, same ? "not noticed" : cz_text_string(&why));
    cz_text_fini(&why);
    program_close(&c);
    return planted;
}

static void wrong_rewrites_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
        int n = 0;
        while (is_planted(&mutations[i], n))
            n++;
        print_message("%s, after %s: noticed at %d places\n", mutations[i].what,
                      mutations[i].pass, n);
        assert_true(n > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_rewrites_are_noticed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
