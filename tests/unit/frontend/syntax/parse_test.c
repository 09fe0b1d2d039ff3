/* Parsing: places, numbers and limits, which the golden trees do not show. */
#include "frontend/syntax/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static cz_arena arena;
static cz_diags diags;
static cz_source source;

static int setup(void **state)
{
    (void)state;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cz_arena_fini(&arena);
    return 0;
}

static cz_node *parse(const char *text)
{
    source = (cz_source){"t.cz", text, strlen(text)};
    cz_node *file = cz_parse(&arena, &source, &diags);
    assert_int_equal(file->kind, CZ_AST_FILE);
    return file;
}

static void assert_place(const cz_node *node, uint32_t line, uint32_t column,
                         const char *text)
{
    assert_int_equal(node->span.line, line);
    assert_int_equal(node->span.column, column);
    assert_int_equal(node->span.length, strlen(text));
    assert_memory_equal(source.bytes + node->span.offset, text, strlen(text));
}

static void an_option_is_one_integer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: it is none */
    } cases[] = {{"0", 0},
                 {"12", 12},
                 {"1M", 1000000},
                 {"4Ki", 4096},
                 {"1.5M", 1500000},
                 {"1e6", 1000000},
                 {"2G", 2000000000},
                 {"9223372036854775807", INT64_MAX},
                 {"", -1},
                 {"-1", -1},
                 {"1.5", -1},
                 {"1MB", -1},
                 {"1k", -1},
                 {"1 2", -1},
                 {"1+1", -1},
                 {"M", -1},
                 {"9223372036854775808", -1},
                 {"1e30", -1},
                 {"1e999", -1},
                 {"\"1\"", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -1;
        assert_int_equal(cz_parse_integer(cases[i].text, &value),
                         cases[i].value >= 0);
        assert_true(value == cases[i].value);
    }
}

static void nodes_know_their_place(void **state)
{
    (void)state;
    const cz_node *file = parse("# c\n"
                                "let a = (b + c)' * d\n"
                                "use m(lr) as g on a.*_x.b, **\n");
    assert_int_equal(diags.n, 0);
    const cz_node *product = cz_let_value(cz_item(file, 0));
    assert_place(cz_item(file, 0), 2, 1, "let a = (b + c)' * d");
    assert_place(product, 2, 9, "(b + c)' * d");
    assert_place(cz_binary_left(product), 2, 9, "(b + c)'");
    assert_place(cz_unary_operand(cz_binary_left(product)), 2, 9, "(b + c)");
    const cz_node *use = cz_item(file, 1);
    assert_place(cz_use_call(use), 3, 5, "m(lr)");
    assert_place(cz_item(cz_item(cz_use_paths(use), 0), 1), 3, 21, "*_x");
    assert_place(cz_item(cz_use_paths(use), 1), 3, 28, "**");
}

static const cz_node *value_of(const char *text)
{
    return cz_let_value(cz_item(parse(text), 0));
}

static void numbers_have_their_value(void **state)
{
    (void)state;
    const cz_node *node = value_of("let a = 9223372036854775807\n");
    assert_true(node->integer == INT64_MAX);
    assert_true(cz_node_has(node, CZ_FLAG_INTEGER));
    node = value_of("let a = 256KiB");
    assert_int_equal(node->integer, 256 * 1024);
    assert_true(cz_node_has(node, CZ_FLAG_BYTES));
    node = value_of("let a = 8.28721201814563");
    assert_true(node->number == 8.28721201814563);
    assert_false(cz_node_has(node, CZ_FLAG_INTEGER));
    node = value_of("let a = 1e-7");
    assert_true(node->number == 1e-7);
    node = value_of("let a = 0.5M");
    assert_true(node->number == 500000.0);
    assert_int_equal(diags.n, 0);
}

static void deepest_tree_is_accepted(void **state)
{
    (void)state;
    /* FILE, LET and 253 sums over two leaves: 256 levels. */
    char text[1024] = "let a = x";
    for (int i = 0; i < CZ_MAX_DEPTH - 3; i++)
        strcat(text, "+x");
    assert_int_equal(parse(text)->depth, CZ_MAX_DEPTH);
    assert_int_equal(diags.n, 0);
    strcat(text, "+x");
    parse(text);
    assert_int_equal(diags.n_errors, 1);
    assert_int_equal(diags.list[0].code, CZ_TOO_LARGE);
}

static void what_is_right_is_read_in_spite_of_errors(void **state)
{
    (void)state;
    const cz_node *file = parse("let a = 1 2\n"
                                "optimizer o(lr) for any { x = = 1\n"
                                " y = 2 }\n"
                                "let b = 3\n");
    assert_int_equal(diags.n_errors, 2);
    assert_int_equal(cz_n_items(file), 2);
    assert_int_equal(cz_item(file, 0)->kind, CZ_AST_OPTIMIZER);
    assert_int_equal(cz_n_items(cz_optimizer_block(cz_item(file, 0))), 1);
    assert_string_equal(cz_item(file, 1)->text, "b");
}

static void too_long_a_text_is_refused(void **state)
{
    (void)state;
    const size_t n = CZ_MAX_SOURCE_BYTES + 1;
    char *text = cz_arena_alloc(&arena, n + 1, 1);
    memset(text, '\n', n);
    parse(text);
    assert_int_equal(diags.n_errors, 1);
    assert_int_equal(diags.list[0].code, CZ_TOO_LARGE);
    text[n - 1] = '\0';
    cz_diags_init(&diags, &arena);
    parse(text);
    assert_int_equal(diags.n_errors, 0);
}

static void empty_texts_are_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "# only", " \t\r\n\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(cz_n_items(parse(texts[i])), 0);
    assert_int_equal(diags.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nodes_know_their_place),
        TEST(numbers_have_their_value),
        TEST(an_option_is_one_integer),
        TEST(deepest_tree_is_accepted),
        TEST(what_is_right_is_read_in_spite_of_errors),
        TEST(too_long_a_text_is_refused),
        TEST(empty_texts_are_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
