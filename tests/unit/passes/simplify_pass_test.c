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

static void test_simplify(void **state)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text;
    cz_ir *ir;

    (void)state;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&text);
    ir = cz_ir_parse(source, strlen(source), &diags);
    assert_non_null(ir);
    assert_true(cz_simplify_pass(ir, &diags));
    assert_true(cz_ir_verify(ir));
    cz_ir_print(ir, &text);
    assert_int_equal(count(&text, "canzona.transpose"), 1);
    assert_int_equal(count(&text, "math.sqrt"), 1);
    assert_int_equal(count(&text, "arith.mulf"), 0);
    assert_int_equal(count(&text, "arith.truncf"), 1);
    assert_int_equal(count(&text, "arith.extf"), 1);
    cz_text_fini(&text);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_simplify)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
