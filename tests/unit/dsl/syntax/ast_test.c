/* The printed tree: one line where it fits, names and flags for all. */
#include "dsl/syntax/ast.h"
#include "tests/unit/unit.h"
#include "tests/tools/ast_print.h"

static void every_kind_has_a_name_of_its_own(void **state)
{
    for (int i = 0; i < CZ_AST_N_KINDS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(cz_kind_name((cz_kind)i),
                                    cz_kind_name((cz_kind)j));
}

static void assert_prints(const cz_node *node, const char *expected)
{
    cz_text text;
    cz_text_init(&text);
    ast_print(node, &text);
    assert_string_equal(cz_text_string(&text), expected);
    cz_text_fini(&text);
}

static void text_is_quoted_and_flags_named(void **state)
{
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
    char text[70];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cz_node leaf = {.kind = CZ_AST_NAME, .text = text, .depth = 1};
    cz_node *n_grads[] = {&leaf};
    cz_node inner = {.kind = CZ_AST_NEG, .n_children = 1, .children = n_grads};
    cz_node *inners[] = {&inner};
    cz_node outer = {.kind = CZ_AST_NOT, .n_children = 1, .children = inners};
    char expected[120] = "(not\n  (neg\n    (name \"";
    strcat(strcat(expected, text), "\")))\n");
    assert_prints(&outer, expected);
}

/* use m on **, ** tiles 2 where true, as ast_kinds.def has it. */
static void children_have_names(void **state)
{
    cz_node size = {.kind = CZ_AST_NUMBER}, truth = {.kind = CZ_AST_BOOL};
    cz_node call = {.kind = CZ_AST_CALL}, path = {.kind = CZ_AST_PATH};
    cz_node *each[] = {&path, &path}, *sizes[] = {&size};
    cz_node paths = {.kind = CZ_AST_PATHS, .n_children = 2, .children = each};
    cz_node tiles = {.kind = CZ_AST_TILES, .n_children = 1, .children = sizes};
    cz_node *all[] = {&call, &paths, &truth, &tiles};
    cz_node use = {.kind = CZ_AST_USE, .n_children = 4, .children = all};
    assert_ptr_equal(cz_use_call(&use), &call);
    assert_ptr_equal(cz_use_tiles(&use), &tiles);
    assert_ptr_equal(cz_use_condition(&use), &truth);
    assert_int_equal(cz_n_items(cz_use_paths(&use)), 2);
    assert_ptr_equal(cz_item(&paths, 1), &path);
    assert_null(cz_item(&paths, 2));
    assert_true(cz_ast_is_sound(&use));
    use.n_children = 3;
    assert_null(cz_use_tiles(&use));
    use.n_children = 1;
    assert_false(cz_ast_is_sound(&use));
    use.n_children = 2;
    all[1] = &size;
    assert_false(cz_ast_is_sound(&use));
}

/* machine b { constant } from a: the base is no item. */
static void an_option_behind_items_is_none_of_them(void **state)
{
    cz_node value = {.kind = CZ_AST_NUMBER}, base = {.kind = CZ_AST_NAME};
    cz_node *values[] = {&value};
    cz_node constant = {
        .kind = CZ_AST_CONSTANT, .n_children = 1, .children = values};
    cz_node *all[] = {&constant, &base};
    cz_node machine = {
        .kind = CZ_AST_MACHINE, .n_children = 2, .children = all};
    assert_int_equal(cz_n_items(&machine), 1);
    assert_ptr_equal(cz_machine_base(&machine), &base);
    assert_true(cz_ast_is_sound(&machine));
    machine.n_children = 1;
    assert_int_equal(cz_n_items(&machine), 1);
    assert_null(cz_machine_base(&machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
        cmocka_unit_test(text_is_quoted_and_flags_named),
        cmocka_unit_test(wide_nodes_are_broken),
        cmocka_unit_test(children_have_names),
        cmocka_unit_test(an_option_behind_items_is_none_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
