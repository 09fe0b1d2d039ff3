/* IR text from outside: the scan before the parser, and the parser's crash. */
#include "tests/unit/dsl/module.h"

static void assert_rejected(fixture *f, const char *bytes, size_t n,
                            const char *why)
{
    cz_diags_init(&f->diags, &f->arena);
    assert_null(cz_ir_parse(bytes, n, &f->diags));
    assert_int_equal(f->diags.n, 1);
    if (!strstr(messages(f), why))
        fail_msg("expected '%s' in %s", why, messages(f));
}

static void bytes_must_be_utf8(void **state)
{
    static const char *const broken[] = {"\x80",
                                         "\xc3",
                                         "\xc0\xaf",
                                         "\xe0\x80\xaf",
                                         "\xed\xa0\x80",
                                         "\xf0\x80\x80\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xff",
                                         "\xe2\x82",
                                         "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_rejected(*state, broken[i], strlen(broken[i]), "UTF-8");
    assert_rejected(*state, "a\0b", 3, "UTF-8");
    cz_ir *ir = cz_ir_parse("// \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", 14,
                            &((fixture *)*state)->diags);
    assert_non_null(ir);
    cz_ir_close(ir);
}

static void nesting_is_limited(void **state)
{
    char text[1024] = "";
    for (int i = 0; i < 65; i++)
        strcat(text, "([{<"[i % 4] == '(' ? "(" : "[");
    assert_rejected(*state, text, strlen(text), "64 deep");
    /* Not inside strings, and the > of an arrow closes nothing. */
    fixture *f = *state;
    cz_diags_init(&f->diags, &f->arena);
    char quoted[1024] = "\"canzona.mesh\"() {axes = [\"\\\"";
    for (int i = 0; i < 100; i++)
        strcat(quoted, "(");
    strcat(quoted, "\"], sizes = array<i64>, names = [], "
                   "sets = array<i64>} : () -> () // ((((");
    cz_ir *ir = cz_ir_parse(quoted, strlen(quoted), &f->diags);
    assert_string_equal(messages(f), "");
    assert_non_null(ir);
    cz_ir_close(ir);
}

static void size_is_limited(void **state)
{
    const size_t n = CZ_IR_MAX_TEXT + 1;
    char *text = malloc(n);
    memset(text, ' ', n);
    assert_rejected(*state, text, n, "64 MiB");
    free(text);
}

/* MLIR 22 recurses once for each minus sign, until its stack is full. */
static void a_crash_of_the_parser_is_a_message(void **state)
{
    enum { N = 1 << 20 };
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, "\"x.y\"() {a = affine_map<(i) -> (");
    for (int i = 0; i < N; i++)
        cz_text_puts(&text, "-");
    cz_text_puts(&text, "i)>} : () -> ()");
    assert_rejected(*state, text.bytes, text.n, "crashes the parser");
    cz_text_fini(&text);
}

/* Each is twice as long as the one before, spelt out. */
static void aliases_are_rejected(void **state)
{
    static const char *const texts[] = {
        "#a = [1, 1]\n#b = [#a, #a]\n#c = [#b, #b]\n",
        "!a = tuple<i1, i1>\n",
        "\"x\"() : () -> i32#a = 1\n",
        "%x#a = 1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_rejected(*state, texts[i], strlen(texts[i]), "alias");
}

/* MLIR 22 takes over 20 seconds to simplify a sum of so many dimensions. */
static void a_parser_that_never_ends_is_a_message(void **state)
{
    enum { N = 2000, N_SUMS = 40 };
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, "\"x.y\"() {a = affine_map<(");
    for (int i = 0; i < N; i++)
        cz_text_printf(&text, "%sd%d", i ? ", " : "", i);
    cz_text_puts(&text, ") -> (");
    for (int i = 0; i < N * N_SUMS; i++)
        cz_text_printf(&text, "%sd%d", i ? " + " : "", i % N);
    cz_text_puts(&text, ")>} : () -> ()");
    assert_rejected(*state, text.bytes, text.n, "too long");
    cz_text_fini(&text);
}

/* A child is not taken for dead when it says no. */
static void a_rejected_text_is_no_crash(void **state)
{
    assert_rejected(*state, "x", 1, "(IR:1:1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_must_be_utf8),
        TEST(nesting_is_limited),
        TEST(size_is_limited),
        TEST(a_crash_of_the_parser_is_a_message),
        TEST(aliases_are_rejected),
        TEST(a_parser_that_never_ends_is_a_message),
        TEST(a_rejected_text_is_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
