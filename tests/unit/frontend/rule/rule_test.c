/* Rules: what stays open until run time, what the facts say, and limits.  What
 * the functions hold is for tests/golden/rules, what they compute for
 * tests/numbers/oracle_rules.py. */
#include "frontend/rule/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dsl/ir/ir.h"

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir;
    cz_scope *scope;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cz_arena_init(&f->arena);
    cz_diags_init(&f->diags, &f->arena);
    f->ir = cz_ir_open(&f->diags);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    cz_ir_close(f->ir);
    cz_arena_fini(&f->arena);
    free(f);
    return 0;
}

static const char *take(fixture *f, cz_text *text)
{
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(text), text->n);
    cz_text_fini(text);
    return copy;
}

static const char *messages(fixture *f)
{
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&f->diags, &text, false);
    return take(f, &text);
}

static const char *printed(fixture *f)
{
    cz_text text;
    cz_text_init(&text);
    cz_ir_print(f->ir, &text);
    return take(f, &text);
}

/* The first `use` of a source that parses. */
static cz_rule_use use_of(fixture *f, const char *source)
{
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, source);
    f->scope =
        cz_scope_build(&f->arena, "test.cz", &text, (cz_allowed){0}, &f->diags);
    cz_text_fini(&text);
    if (f->diags.n_errors)
        fail_msg("%s", messages(f));
    const cz_node *use = cz_item(cz_scope_file_at(f->scope, 0)->tree, 0);
    const cz_node *call = cz_use_call(use);
    return (cz_rule_use){
        .arena = &f->arena,
        .scope = f->scope,
        .name = use->text,
        .use = use,
        .optimizer = cz_scope_find(f->scope, CZ_AST_OPTIMIZER, call->text),
        .args = cz_items(call),
        .n_args = cz_n_items(call),
    };
}

static cz_rule_signature signature_of(fixture *f, const char *source)
{
    cz_rule_signature signature;
    const cz_rule_use use = use_of(f, source);
    if (!cz_rule_signature_build(&use, &f->diags, &signature))
        fail_msg("%s", messages(f));
    return signature;
}

static const cz_rule_shape wide = {{4, 6}, 2, false, CZ_F32};
static const cz_rule_shape any = {{0}, 0, false, CZ_F32};

/* ---- signatures ---- */

static void check_hyper(const cz_rule_signature *signature, int i,
                        const char *name, bool has_default, double value)
{
    assert_in_range(i, 0, signature->n_hypers - 1);
    assert_string_equal(signature->hypers[i], name);
    assert_int_equal(signature->has_default[i], has_default);
    assert_true(signature->defaults[i] == value);
}

static void floats_stay_open(void **state)
{
    const cz_rule_signature s = signature_of(
        *state, "use muon(lr, momentum = 0.9, decay = 0) as g on **\n");
    assert_int_equal(s.n_hypers, 3);
    assert_int_equal(s.n_dims, 2);
    check_hyper(&s, 0, "lr", false, 0);
    check_hyper(&s, 1, "momentum", true, 0.9);
    check_hyper(&s, 2, "decay", true, 0);
}

static void const_closes_a_float(void **state)
{
    const cz_rule_signature s =
        signature_of(*state, "use muon(lr, const momentum = 0.9) as g on **\n");
    assert_int_equal(s.n_hypers, 2);
    check_hyper(&s, 1, "decay", true, 0.1);
}

static void a_bare_name_leaves_no_default(void **state)
{
    const cz_rule_signature s =
        signature_of(*state, "use muon(lr, decay) as g on **\n");
    check_hyper(&s, 1, "momentum", true, 0.95);
    check_hyper(&s, 2, "decay", false, 0);
}

/* As the driver adds what -D says. */
static void a_value_replaces_a_bare_name(void **state)
{
    const cz_rule_signature s =
        signature_of(*state, "use muon(lr, lr = 1e-3) as g on **\n");
    check_hyper(&s, 0, "lr", true, 1e-3);
}

static void a_let_is_a_value(void **state)
{
    const cz_rule_signature s = signature_of(
        *state, "use muon(rate / 2, decay = rate) as g on **\nlet rate = 3\n");
    check_hyper(&s, 0, "lr", true, 1.5);
    check_hyper(&s, 2, "decay", true, 3);
}

static void tuples_become_several(void **state)
{
    const cz_rule_signature s =
        signature_of(*state, "use adamw(lr, betas = (0, 0.5)) as g on **\n");
    assert_int_equal(s.n_dims, -1);
    assert_int_equal(s.n_hypers, 5);
    check_hyper(&s, 1, "betas_0", true, 0);
    check_hyper(&s, 2, "betas_1", true, 0.5);
    check_hyper(&s, 3, "eps", true, 1e-8);
}

/* ---- lowering ---- */

/* A use fact that the rule can refer to. */
static void add_use(fixture *f, const cz_rule_use *use)
{
    const cz_fact_use fact = {.sym_name = use->name, .optimizer = "test"};
    cz_ir_add_use(f->ir, &fact);
}

static const char *lower(fixture *f, const char *source,
                         const cz_rule_shape *shape)
{
    const char *symbol = NULL;
    const cz_rule_use use = use_of(f, source);
    add_use(f, &use);
    if (!cz_rule_lower(f->ir, &use, shape, &f->diags, &symbol) ||
        !cz_ir_verify(f->ir))
        fail_msg("%s", messages(f));
    return symbol;
}

static void the_fact_says_it_all(void **state)
{
    int n;
    fixture *f = *state;
    const char *symbol = lower(f,
                               "use two(lr) as g on **\n"
                               "optimizer two(lr) for [m, n] {\n"
                               "    state a : f32[m, n] = 0.5\n"
                               "    state b : bf16[m, n]\n"
                               "    param <- param - lr * b\n"
                               "}\n",
                               &(cz_rule_shape){{8, 3}, 2, true, CZ_F32});
    const cz_fact_rule *rule = cz_ir_read_rule(f->ir, &f->arena, &n);
    assert_int_equal(n, 1);
    assert_string_equal(symbol, "g.8x3.t");
    assert_string_equal(rule->sym_name, symbol);
    assert_string_equal(rule->use, "g");
    assert_int_equal(rule->transposed, 1);
    assert_int_equal(rule->shape.n, 2);
    assert_int_equal(rule->shape.v[0], 8);
    assert_int_equal(rule->states.n, 2);
    assert_string_equal(rule->states.v[1], "b");
    assert_string_equal(rule->state_dtypes.v[1], "bf16");
    assert_true(rule->state_init.v[0] == 0.5);
    const cz_ir_op update = cz_ir_find_function(f->ir, rule->update);
    const cz_ir_op prologue = cz_ir_find_function(f->ir, rule->prologue);
    assert_int_equal(cz_ir_function_n_in(update), 5);
    assert_int_equal(cz_ir_function_n_out(update), 3);
    assert_int_equal(cz_ir_function_n_in(prologue), 3);
    assert_int_equal(cz_ir_function_n_out(prologue), 1);
}

static void an_unwritten_state_is_returned(void **state)
{
    fixture *f = *state;
    lower(f,
          "use lazy(lr) as g on **\n"
          "optimizer lazy(lr) for any {\n"
          "    state a, b : f32 = 0\n"
          "    b <- grad\n"
          "    param <- param - lr * b\n"
          "}\n",
          &any);
    const cz_ir_op update = cz_ir_find_function(f->ir, "g.any.update");
    assert_ptr_equal(cz_ir_function_out(update, 1).p,
                     cz_ir_function_in(update, 2).p);
    assert_ptr_equal(cz_ir_function_out(update, 2).p,
                     cz_ir_function_in(update, 0).p);
}

/* A number that several tensors meet is computed once. */
static void equal_numbers_are_one_result(void **state)
{
    fixture *f = *state;
    lower(f,
          "use twice(lr) as g on **\n"
          "optimizer twice(lr) for any {\n"
          "    a = (1 - lr * 2) * grad\n"
          "    param <- (1 - lr * 2) * a + (1 - lr * 3) * param\n"
          "}\n",
          &any);
    const cz_ir_op prologue = cz_ir_find_function(f->ir, "g.any.prologue");
    assert_int_equal(cz_ir_function_n_out(prologue), 2);
}

static const char *lower_again(fixture *f, const char *source)
{
    cz_ir_close(f->ir);
    f->ir = cz_ir_open(&f->diags);
    lower(f, source, &wide);
    return printed(f);
}

static void the_print_repeats(void **state)
{
    fixture *f = *state;
    const char *source = "use muon(lr) as g on **\n";
    const char *first = lower_again(f, source);
    assert_string_equal(first, lower_again(f, source));
    cz_ir *parsed = cz_ir_parse(first, strlen(first), &f->diags);
    assert_non_null(parsed);
    cz_ir_close(f->ir);
    f->ir = parsed;
    assert_string_equal(first, printed(f));
}

/* ---- what is refused ---- */

static void check_refused(fixture *f, const char *source,
                          const cz_rule_shape *shape, cz_code code,
                          int n_errors)
{
    const char *symbol;
    const cz_rule_use use = use_of(f, source);
    assert_false(cz_rule_lower(f->ir, &use, shape, &f->diags, &symbol));
    if (f->diags.n_errors != n_errors || f->diags.list[0].code != code)
        fail_msg("%s", messages(f));
    assert_null(cz_ir_first_function(f->ir).p); /* nothing half-built */
}

static void matrices_only(void **state)
{
    check_refused(*state, "use muon(lr) as g on **\n",
                  &(cz_rule_shape){{4}, 1, false, CZ_F32}, CZ_SHAPE_MISMATCH,
                  1);
}

static void one_mistake_one_message(void **state)
{
    check_refused(*state,
                  "use wrong(lr) as g on **\n"
                  "optimizer wrong(lr) for [m, n] {\n"
                  "    state s : f32[m] = 0\n"
                  "    a = s + grap\n"
                  "    b = a @ a' * a + sqrt(s)\n"
                  "    s <- b\n"
                  "    param <- param - lr * s\n"
                  "}\n",
                  &wide, CZ_UNSUPPORTED, 2);
}

/* Each def doubles what the one before it costs. */
static void growth_is_limited(void **state)
{
    fixture *f = *state;
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, "use grow(lr) as g on **\n"
                        "table many = [1] * 4000\n"
                        "optimizer grow(lr) for any {\n"
                        "    for a in many {\n"
                        "        for b in many { x = a * b }\n"
                        "    }\n"
                        "}\n");
    check_refused(f, take(f, &text), &any, CZ_TOO_LARGE, 1);
}

static void tables_are_limited(void **state)
{
    check_refused(*state,
                  "use large(lr) as g on **\n"
                  "table t1 = [1, 2] * 4000\n"
                  "optimizer large(lr) for any {\n"
                  "    for a in t1 * 1e9 { x = a }\n"
                  "}\n",
                  &any, CZ_TOO_LARGE, 1);
}

/* As deep as the parser allows, in as many defs as may call each other. */
static void depth_is_no_danger(void **state)
{
    fixture *f = *state;
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, "use deep(lr) as g on **\ndef down(x) {\n    return ");
    for (int i = 0; i < 100; i++)
        cz_text_puts(&text, "-(1 + ");
    cz_text_puts(&text, "down(x)");
    for (int i = 0; i < 100; i++)
        cz_text_puts(&text, ")");
    cz_text_puts(&text, "\n}\n"
                        "optimizer deep(lr) for any {\n"
                        "    param <- down(grad)\n"
                        "}\n");
    check_refused(f, take(f, &text), &any, CZ_CYCLE, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(floats_stay_open),
        TEST(const_closes_a_float),
        TEST(a_bare_name_leaves_no_default),
        TEST(a_value_replaces_a_bare_name),
        TEST(a_let_is_a_value),
        TEST(tuples_become_several),
        TEST(the_fact_says_it_all),
        TEST(an_unwritten_state_is_returned),
        TEST(equal_numbers_are_one_result),
        TEST(the_print_repeats),
        TEST(matrices_only),
        TEST(one_mistake_one_message),
        TEST(growth_is_limited),
        TEST(tables_are_limited),
        TEST(depth_is_no_danger),
    };
    return cmocka_run_group_tests_name("rule", tests, NULL, NULL);
}
