/* Diagnostics: what is kept, what is dropped, how it is printed. */
#include "dsl/base/diag.h"
#include "tests/unit/unit.h"

static cz_arena arena;
static cz_diags diags;

static int setup(void **state)
{
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    return 0;
}

static int teardown(void **state)
{
    cz_arena_fini(&arena);
    return 0;
}

static void assert_prints(const char *expected)
{
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&diags, &text, false);
    assert_string_equal(cz_text_string(&text), expected);
    cz_text_fini(&text);
}

static const char bytes[] = "a\n\tlet x = 1e99\r\nb";
static const cz_source source = {"f.cz", bytes, sizeof bytes - 1};

static void prints_line_caret_and_code(void **state)
{
    const cz_span span = {&source, 11, 4, 2, 10};
    cz_diag_error(&diags, CZ_BAD_NUMBER, span, "too %s", "large");
    cz_diag_note(&diags, (cz_span){0}, "no place");
    assert_prints("f.cz:2:10: error: too large [E0103]\n"
                  "    2 | \tlet x = 1e99\n"
                  "      | \t        ^~~~\n"
                  "note: no place\n");
    assert_int_equal(diags.n_errors, 1);
}

static void control_bytes_are_not_shown(void **state)
{
    static const char evil[] = "x\033[31m \xc2\x9b \xff \xc3\xa9";
    const cz_source wild = {"w\n.cz", evil, sizeof evil - 1};
    cz_diag_error(&diags, CZ_SYNTAX, (cz_span){&wild, 9, 1, 1, 10},
                  "it\033 is");
    assert_prints("w?.cz:1:10: error: it? is [E0104]\n"
                  "    1 | x?[31m ?? ? \xc3\xa9\n"
                  "      |         ^\n");
}

static void long_lines_are_shown_in_part(void **state)
{
    char line[1001];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    line[500] = '!';
    const cz_source wide = {"w.cz", line, sizeof line - 1};
    cz_diag_error(&diags, CZ_SYNTAX, (cz_span){&wide, 500, 1, 1, 501}, "m");
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&diags, &text, false);
    assert_true(text.n < 400);
    const char *shown = strchr(text.bytes, '|');
    const char *caret = strchr(shown + 1, '|');
    assert_true(strchr(shown, '!') - shown == strchr(caret, '^') - caret);
    cz_text_fini(&text);
}

/* Bytes that only go on with a character, where one would be cut in two. */
static void a_line_without_a_character_is_shown(void **state)
{
    char line[1000];
    memset(line, '\x90', sizeof line);
    const cz_source wild = {"w.cz", line, sizeof line};
    cz_diag_error(&diags, CZ_SYNTAX, (cz_span){&wild, 0, 1, 1, 1}, "m");
    assert_prints("w.cz:1:1: error: m [E0104]\n"
                  "    1 | ...\n"
                  "      | ^\n");
}

static void the_same_is_said_once(void **state)
{
    const cz_span here = {&source, 0, 1, 1, 1}, there = {&source, 2, 1, 2, 1};
    for (int i = 0; i < 3; i++) {
        cz_diag_error(&diags, CZ_SYNTAX, here, "same");
        cz_diag_note(&diags, here, "note of it");
    }
    assert_int_equal(diags.n, 2);
    cz_diag_error(&diags, CZ_SYNTAX, there, "same");
    cz_diag_warning(&diags, CZ_SYNTAX, here, "same");
    assert_int_equal(diags.n, 4);
    assert_int_equal(diags.n_errors, 2);
}

static void errors_are_capped_with_their_notes(void **state)
{
    for (int i = 0; i < 100; i++) {
        cz_diag_error(&diags, CZ_SYNTAX, (cz_span){0}, "error %d", i);
        cz_diag_note(&diags, (cz_span){0}, "note %d", i);
    }
    assert_int_equal(diags.n_errors, CZ_MAX_ERRORS);
    assert_int_equal(diags.n, 2 * CZ_MAX_ERRORS);
}

static void refusals_are_remembered(void **state)
{
    cz_diag_error(&diags, CZ_SYNTAX, (cz_span){0}, "a");
    assert_false(diags.refused);
    cz_diag_error(&diags, CZ_UNSUPPORTED, (cz_span){0}, "b");
    assert_true(diags.refused);
    assert_string_equal(cz_code_name(CZ_UNSUPPORTED), "E0902");
    diags.refused = false;
    cz_diag_error(&diags, CZ_INFEASIBLE, (cz_span){0}, "c");
    assert_true(diags.refused);
}

static void colour_only_when_asked(void **state)
{
    cz_text text;
    cz_text_init(&text);
    cz_diag_error(&diags, CZ_SYNTAX, (cz_span){&source, 0, 1, 1, 1}, "a");
    cz_diags_print(&diags, &text, true);
    assert_non_null(strchr(text.bytes, '\033'));
    cz_text_fini(&text);
}

static void suggests_what_is_near(void **state)
{
    static const char *const names[] = {"momentum", "decay", "lr", "betas"};
    assert_string_equal(cz_diag_nearest("Decay", names, 4), "decay");
    assert_string_equal(cz_diag_nearest("momentun", names, 4), "momentum");
    assert_string_equal(cz_diag_nearest("dceay", names, 4), "decay");
    assert_string_equal(cz_diag_nearest("beta", names, 4), "betas");
    assert_string_equal(cz_diag_nearest("lrs", names, 4), "lr");
    assert_null(cz_diag_nearest("weight", names, 4));
    assert_null(cz_diag_nearest("x", names, 4));
    assert_null(cz_diag_nearest("", names, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prints_line_caret_and_code),
        TEST(control_bytes_are_not_shown),
        TEST(long_lines_are_shown_in_part),
        TEST(a_line_without_a_character_is_shown),
        TEST(the_same_is_said_once),
        TEST(errors_are_capped_with_their_notes),
        TEST(refusals_are_remembered),
        TEST(colour_only_when_asked),
        TEST(suggests_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
