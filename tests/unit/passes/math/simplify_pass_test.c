/* What simplification must remove, and what it must leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/passes.h"

static const char source[] =
    "module {\n"
    "func.func @f(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>,"
    " tensor<3x2xf32>) {\n"
    /* the same twice, through one of our operations and then one of MLIR's */
    "%t = \"canzona.transpose\"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "%u = \"canzona.transpose\"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "%x = math.sqrt %t : tensor<3x2xf32>\n"
    "%y = math.sqrt %u : tensor<3x2xf32>\n"
    /* for nobody */
    "%v = \"canzona.transpose\"(%y) : (tensor<3x2xf32>) -> tensor<2x3xf32>\n"
    "%w = \"canzona.transpose\"(%v) : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    /* exact, and not */
    "%one = arith.constant dense<1.0> : tensor<2x3xf32>\n"
    "%p = arith.mulf %a, %one : tensor<2x3xf32>\n"
    "%n = arith.truncf %p : tensor<2x3xf32> to tensor<2x3xbf16>\n"
    "%q = arith.extf %n : tensor<2x3xbf16> to tensor<2x3xf32>\n"
    "return %q, %x, %y : tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>\n"
    "}\n}\n";

static int count(const cz_text *text, const char *word)
{
    int n = 0;

    for (const char *at = strstr(text->bytes, word); at;
         at = strstr(at + 1, word))
        n++;
    return n;
}

/* The module as text, simplified. */
static cz_text simplified(const char *of)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text;
    cz_ir *ir;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&text);
    ir = cz_ir_parse(of, strlen(of), &diags);
    assert_non_null(ir);
    assert_true(cz_simplify_pass(ir, &diags));
    assert_true(cz_ir_verify(ir));
    cz_ir_print(ir, &text);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return text;
}

static void test_simplify(void **state)
{
    cz_text text = simplified(source);

    (void)state;
    assert_int_equal(count(&text, "canzona.transpose"), 1);
    assert_int_equal(count(&text, "math.sqrt"), 1);
    assert_int_equal(count(&text, "arith.mulf"), 0);
    assert_int_equal(count(&text, "arith.truncf"), 1);
    assert_int_equal(count(&text, "arith.extf"), 1);
    cz_text_fini(&text);
}

/* An operation, one equal to it, and one that differs in one attribute alone,
 * or operand: two are left.  `%h` is f64, `%v` a vector, `%a` a matrix. */
static const struct operation {
    const char *name, *first, *second, *type;
} operations[] = {
    {"canzona.transpose", "(%a) : (tensor<3x3xf32>)",
     "(%c) : (tensor<3x3xf32>)", "tensor<3x3xf32>"},
    {"canzona.reduce",
     "(%h) {dims = array<i64: 0>, kind = \"sum\"} : (tensor<3x3xf64>)",
     "(%h) {dims = array<i64: 0>, kind = \"max\"} : (tensor<3x3xf64>)",
     "tensor<3xf64>"},
    {"canzona.reduce",
     "(%h) {dims = array<i64: 0>, kind = \"sum\"} : (tensor<3x3xf64>)",
     "(%h) {dims = array<i64: 1>, kind = \"sum\"} : (tensor<3x3xf64>)",
     "tensor<3xf64>"},
    {"canzona.broadcast", "(%v) {dims = array<i64: 0>} : (tensor<3xf32>)",
     "(%v) {dims = array<i64: 1>} : (tensor<3xf32>)", "tensor<3x3xf32>"},
    {"canzona.hash", "(%h, %h) : (tensor<3x3xf64>, tensor<3x3xf64>)",
     "(%h, %k) : (tensor<3x3xf64>, tensor<3x3xf64>)", "tensor<3x3xf64>"},
    {"canzona.factor",
     "(%a) {factor = \"qr\", parameters = array<f64>, result = 0 : i64}"
     " : (tensor<3x3xf32>)",
     "(%a) {factor = \"qr\", parameters = array<f64>, result = 1 : i64}"
     " : (tensor<3x3xf32>)",
     "tensor<3x3xf32>"},
};

static void pure_operations_of_ours_are_computed_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const struct operation *it = &operations[i];
        const char *const calls[] = {it->first, it->first, it->second};
        cz_text module = {0}, text;

        cz_text_printf(&module,
                       "module {\nfunc.func @f(%%a: tensor<3x3xf32>, %%c: "
                       "tensor<3x3xf32>, %%v: tensor<3xf32>, %%h: "
                       "tensor<3x3xf64>, %%k: tensor<3x3xf64>) -> (%s, %s, "
                       "%s) {\n",
                       it->type, it->type, it->type);
        for (int k = 0; k < 3; k++)
            cz_text_printf(&module, "%%r%d = \"%s\"%s -> %s\n", k, it->name,
                           calls[k], it->type);
        cz_text_printf(&module, "return %%r0, %%r1, %%r2 : %s, %s, %s\n}\n}\n",
                       it->type, it->type, it->type);
        text = simplified(cz_text_string(&module));
        assert_int_equal(count(&text, it->name), 2);
        cz_text_fini(&text);
        cz_text_fini(&module);
    }
}

/* As a rule would have it that asks for one Gram matrix twice. */
static const char products[] =
    "module {\n"
    "func.func @f(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) "
    "{\n"
    "%zero = arith.constant dense<0.0> : tensor<3x3xf32>\n"
    "%t = \"canzona.transpose\"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>\n"
    "%u = \"canzona.transpose\"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>\n"
    "%p = linalg.matmul ins(%a, %t : tensor<3x3xf32>, tensor<3x3xf32>)"
    " outs(%zero : tensor<3x3xf32>) -> tensor<3x3xf32>\n"
    "%q = linalg.matmul ins(%a, %u : tensor<3x3xf32>, tensor<3x3xf32>)"
    " outs(%zero : tensor<3x3xf32>) -> tensor<3x3xf32>\n"
    "return %p, %q : tensor<3x3xf32>, tensor<3x3xf32>\n"
    "}\n}\n";

static void products_of_equal_operands_are_computed_once(void **state)
{
    cz_text text = simplified(products);

    (void)state;
    assert_int_equal(count(&text, "linalg.matmul"), 1);
    cz_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simplify),
        cmocka_unit_test(pure_operations_of_ours_are_computed_once),
        cmocka_unit_test(products_of_equal_operands_are_computed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
