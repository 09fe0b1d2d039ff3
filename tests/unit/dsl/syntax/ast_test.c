/* The printed tree: one line where it fits, names and flags for all. */
#include "dsl/syntax/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_kind_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < CZ_AST_N_KINDS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(cz_kind_name((cz_kind)i),
                                    cz_kind_name((cz_kind)j));
}

static void assert_prints(const cz_node *node, const char *expected)
{
    cz_text text;
    cz_text_init(&text);
    cz_ast_print(node, &text);
    assert_string_equal(cz_text_string(&text), expected);
    cz_text_fini(&text);
}

static void text_is_quoted_and_flags_named(void **state)
{
    (void)state;
    cz_node name = {.kind = CZ_AST_NAME,
                    .text = "a\"b\\",
                    .flags = CZ_FLAG_PARENS | CZ_FLAG_ANY,
                    .depth = 1};
    assert_prints(&name, "(name \"a\\\"b\\\\\" :parens :any)\n");
    cz_node number = {.kind = CZ_AST_NUMBER, .number = 2, .text = "2.0"};
    assert_prints(&number, "(number 2.0)\n");
    number.flags = CZ_FLAG_INTEGER;
    number.integer = -2;
    assert_prints(&number, "(number -2)\n");
}

static void wide_nodes_are_broken(void **state)
{
    (void)state;
    char text[70];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cz_node leaf = {.kind = CZ_AST_NAME, .text = text, .depth = 1};
    cz_node *kids[] = {&leaf};
    cz_node inner = {.kind = CZ_AST_NEG, .n_kids = 1, .kids = kids};
    cz_node *inners[] = {&inner};
    cz_node outer = {.kind = CZ_AST_NOT, .n_kids = 1, .kids = inners};
    char expected[120] = "(not\n  (neg\n    (name \"";
    strcat(strcat(expected, text), "\")))\n");
    assert_prints(&outer, expected);
    assert_null(cz_node_kid(&outer, 1));
    assert_ptr_equal(cz_node_kid(&outer, 0), &inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
        cmocka_unit_test(text_is_quoted_and_flags_named),
        cmocka_unit_test(wide_nodes_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
