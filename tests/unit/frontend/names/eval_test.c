/* Compile-time expressions: values, exactness, and what is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/names/eval.h"
#include "frontend/syntax/parse.h"

typedef struct world {
    cz_arena arena;
    cz_diags diags;
    cz_env env;
} world;

static void open_world(world *w)
{
    cz_arena_init(&w->arena);
    cz_diags_init(&w->diags, &w->arena);
    cz_env_init(&w->env, &w->arena, NULL);
    cz_env_bind(&w->env, "d", cz_value_int(5120));
    cz_env_bind(&w->env, "tied", cz_value_bool(false));
    cz_env_bind(&w->env, "act", cz_value_string("gelu"));
}

/* The expression of `let x = ...`. */
static const cz_node *parse(world *w, const char *expression)
{
    cz_source *source = CZ_NEW(&w->arena, cz_source, 1);
    source->name = "test";
    source->bytes = cz_arena_printf(&w->arena, "let x = %s", expression);
    source->n = strlen(source->bytes);
    const cz_node *file = cz_parse(&w->arena, source, &w->diags);
    assert_int_equal(w->diags.n_errors, 0);
    return cz_let_value(cz_item(file, 0));
}

static const struct {
    const char *expression, *value;
} values[] = {
    {"2 + 3 * 4", "14"},
    {"(2 + 3) * 4", "20"},
    {"-2^2", "-4"},
    {"2^10", "1024"},
    {"2^62", "4611686018427387904"},
    {"(-2)^63", "-9223372036854775808"},
    {"2^-1", "0.5"},
    {"7 / 2", "3.5"},
    {"8 / 2", "4"},
    {"-7 / 7", "-1"},
    {"d / 64", "80"},
    {"9223372036854775807 - 1", "9223372036854775806"},
    {"9007199254740993 + 0", "9007199254740993"},
    {"9007199254740993 == 9007199254740992", "false"},
    {"0.5 * d", "2560"},
    {"4K", "4000"},
    {"4Ki", "4096"},
    {"min(3, d)", "3"},
    {"max(3, d)", "5120"},
    {"floor(7 / 2)", "3"},
    {"ceil(7 / 2)", "4"},
    {"abs(-3)", "3"},
    {"sqrt(16)", "4"},
    {"1 < 2 and not tied", "true"},
    {"tied and 1 / 0 == 1", "false"},
    {"true or 1 / 0 == 1", "true"},
    {"act == \"gelu\"", "true"},
    {"act != \"gelu\"", "false"},
    {"tied == false", "true"},
    {"3 >= 3", "true"},
    {"2.5 <= 2", "false"},
};

static void expressions_have_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        world w;
        cz_value value;
        open_world(&w);
        assert_true(
            cz_eval(parse(&w, values[i].expression), &w.env, &w.diags, &value));
        assert_string_equal(cz_value_text(&w.arena, value), values[i].value);
        cz_arena_fini(&w.arena);
    }
}

static const struct {
    const char *expression;
    cz_code code;
} errors[] = {
    {"1 / 0", CZ_BAD_NUMBER},
    {"1.5 / 0", CZ_BAD_NUMBER},
    {"9223372036854775807 + 1", CZ_BAD_NUMBER},
    {"2^63", CZ_BAD_NUMBER},
    {"-9223372036854775807 - 2", CZ_BAD_NUMBER},
    {"(-9223372036854775807 - 1) / -1", CZ_BAD_NUMBER},
    {"-(-9223372036854775807 - 1)", CZ_BAD_NUMBER},
    {"1e308 * 10", CZ_BAD_NUMBER},
    {"sqrt(-1)", CZ_BAD_NUMBER},
    {"2^0.5", CZ_BAD_TYPE},
    {"act + 1", CZ_BAD_TYPE},
    {"not 1", CZ_BAD_TYPE},
    {"1 and true", CZ_BAD_TYPE},
    {"act < \"h\"", CZ_BAD_TYPE},
    {"act == 1", CZ_BAD_TYPE},
    {"(1, 2)", CZ_BAD_TYPE},
    {"[1]", CZ_BAD_TYPE},
    {"d @ d", CZ_BAD_TYPE},
    {"nothing", CZ_UNKNOWN_NAME},
    {"norm(d)", CZ_UNKNOWN_NAME},
    {"min(1)", CZ_WRONG_ARGUMENT},
};

static void wrong_expressions_are_one_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        world w;
        cz_value value;
        open_world(&w);
        assert_false(
            cz_eval(parse(&w, errors[i].expression), &w.env, &w.diags, &value));
        assert_int_equal(w.diags.n_errors, 1);
        assert_int_equal(w.diags.list[0].code, errors[i].code);
        cz_arena_fini(&w.arena);
    }
}

static void sizes_are_integers_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        bool good;
    } cases[] = {{"1", true},          {"10 / 4 * 2", true}, {"4e3", true},
                 {"0", false},         {"2.5", false},       {"true", false},
                 {"act", false},       {"1e30", false},      {"4001", false},
                 {"2^53 + 0.0", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w;
        int64_t size = 0;
        open_world(&w);
        assert_int_equal(cz_eval_size(parse(&w, cases[i].expression), &w.env,
                                      &w.diags, "size", 1, 4000, &size),
                         cases[i].good);
        assert_int_equal(w.diags.n_errors, !cases[i].good);
        cz_arena_fini(&w.arena);
    }
}

/* A let that is wrong is reported once, however often it is read. */
static void poison_is_silent(void **state)
{
    (void)state;
    world w;
    cz_value value;
    open_world(&w);
    cz_node let = {.kind = CZ_AST_LET, .text = "bad"};
    cz_node *children[] = {NULL};
    const cz_node *e = parse(&w, "nothing + 1");
    cz_node copy = *e;
    children[0] = &copy;
    let.children = children;
    let.n_children = 1;
    cz_env_bind_let(&w.env, &let);
    const cz_node *once = parse(&w, "bad"), *again = parse(&w, "bad * 2");
    assert_false(cz_eval(once, &w.env, &w.diags, &value));
    assert_false(cz_eval(again, &w.env, &w.diags, &value));
    assert_int_equal(w.diags.n_errors, 1);
    cz_arena_fini(&w.arena);
}

/* let a0 = a1, a1 = a2, ...: long chains must not eat the stack. */
static void long_chains_of_lets_are_an_error(void **state)
{
    (void)state;
    enum { N = 5000 };
    world w;
    cz_value value;
    cz_text text;
    open_world(&w);
    cz_text_init(&text);
    for (int i = 0; i < N; i++)
        cz_text_printf(&text, "let a%d = a%d\n", i, i + 1);
    const cz_source source = {"test", cz_text_string(&text), text.n};
    const cz_node *file = cz_parse(&w.arena, &source, &w.diags);
    assert_int_equal(w.diags.n_errors, 0);
    for (int i = 0; i < cz_n_items(file); i++)
        cz_env_bind_let(&w.env, cz_item(file, i));
    assert_false(cz_eval(parse(&w, "a0"), &w.env, &w.diags, &value));
    assert_int_equal(w.diags.n_errors, 1);
    assert_int_equal(w.diags.list[0].code, CZ_TOO_LARGE);
    cz_text_fini(&text);
    cz_arena_fini(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_values),
        cmocka_unit_test(wrong_expressions_are_one_error),
        cmocka_unit_test(sizes_are_integers_in_range),
        cmocka_unit_test(poison_is_silent),
        cmocka_unit_test(long_chains_of_lets_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
