/* Canonical layout under damage: blanks, breaks, comments and brackets are put
 * anywhere into real texts.  What still parses keeps its tree (cz_format
 * reports it otherwise) and is done after one round; what does not is left
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "frontend/format/format.h"
#include "frontend/syntax/parse.h"

static const char *const sources[] = {"dsl/std/arch/qwen3.cz",
                                      "dsl/std/opt/adamw.cz",
                                      "dsl/std/opt/sgd.cz",
                                      "dsl/std/opt/tables.cz",
                                      "tests/golden/parse/names.cz",
                                      "tests/golden/parse/newlines.cz",
                                      "tests/golden/parse/paths.cz",
                                      "tests/golden/parse/precedence.cz",
                                      "tests/golden/parse/statements.cz",
                                      "tests/golden/parse/arch_megatron.cz",
                                      "tests/golden/fmt/breaks.cz",
                                      "tests/golden/fmt/columns.cz",
                                      "tests/golden/fmt/comments.cz",
                                      "examples/gpt.cz",
                                      "tests/golden/parse/err_params.cz"};

static const char *const insertions[] = {
    "\n", " ",    "#x\n", "\n#y\n", "{",   "}",     "(",      ")",
    ",",  "=",    "[",    "]",      "'",   "-",     "*",      "\n\n\n",
    "\t", "\r\n", "1",    ".a",     "if ", "else ", "state ", "on "};

enum { N_TRIALS = 150, N_INSERTIONS = sizeof insertions / sizeof *insertions };

/* splitmix64 */
static uint64_t seed = 20260101;

static size_t below(size_t n)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % n);
}

/* False where the text has errors of its own. */
static bool format(const cz_text *in, cz_text *out)
{
    const cz_source source = {"text.cz", cz_text_string(in), in->n};
    cz_arena arena;
    cz_diags diags;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const bool ok = cz_format(&arena, &source, &diags, out);
    assert_int_equal(ok, diags.n_errors == 0);
    for (int i = 0; i < diags.n; i++)
        if (diags.list[i].code == CZ_CHECK_FAILED)
            fail_msg("another tree from\n%s", cz_text_string(in));
    cz_arena_fini(&arena);
    return ok;
}

static bool check(const cz_text *text)
{
    cz_text once = {0}, twice = {0};
    const bool ok = format(text, &once);

    if (ok) {
        assert_true(format(&once, &twice));
        assert_string_equal(cz_text_string(&once), cz_text_string(&twice));
    } else {
        assert_int_equal(once.n, 0);
    }
    cz_text_fini(&once);
    cz_text_fini(&twice);
    return ok;
}

/* The text with something put in or left out at one place. */
static cz_text damaged(const cz_text *text)
{
    const size_t at = below(text->n + 1);
    const size_t n_left_out = below(3) > 0 || at + 3 > text->n ? 0 : below(4);
    cz_text out = {0};

    cz_text_put(&out, text->bytes, at);
    cz_text_puts(&out, insertions[below(N_INSERTIONS)]);
    cz_text_put(&out, text->bytes + at + n_left_out, text->n - at - n_left_out);
    return out;
}

static void read_source(const char *name, cz_text *text)
{
    cz_text path = {0};
    const char *why = "";

    cz_text_printf(&path, "%s/%s", CANZONA_SOURCE_DIR, name);
    if (!cz_text_read_file(text, cz_text_string(&path), CZ_MAX_SOURCE_BYTES,
                           &why))
        fail_msg("%s %s", name, why);
    cz_text_fini(&path);
}

static void test_damages(void **state)
{
    int n_valid = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        cz_text text = {0};
        read_source(sources[i], &text);
        check(&text);
        for (int trial = 0; trial < N_TRIALS; trial++) {
            cz_text first = damaged(&text), second = damaged(&first);
            n_valid += check(&first) + check(&second);
            cz_text_fini(&first);
            cz_text_fini(&second);
        }
        cz_text_fini(&text);
    }
    assert_true(n_valid > N_TRIALS);
}

/* Every name of a list has the node of its type and value: to walk each anew
 * would take minutes. */
static void test_long_lists_are_no_slower(void **state)
{
    cz_text text = {0};

    (void)state;
    cz_text_puts(&text, "optimizer o(a) for any { state x");
    for (int i = 0; i < 50000; i++)
        cz_text_printf(&text, ", x%d", i);
    cz_text_puts(&text, " : f32 = a");
    for (int i = 0; i < 200; i++)
        cz_text_puts(&text, " + a");
    cz_text_puts(&text, "\n}\n");
    assert_true(check(&text));
    cz_text_fini(&text);
}

/* What is valid may be too long once it is laid out. */
static void test_too_long_is_left_alone(void **state)
{
    cz_text text = {0}, out = {0};

    (void)state;
    cz_text_puts(&text, "let a = [1");
    while (text.n < CZ_MAX_SOURCE_BYTES - 4)
        cz_text_puts(&text, ",1");
    cz_text_puts(&text, "]\n");
    assert_false(format(&text, &out));
    assert_int_equal(out.n, 0);
    cz_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damages),
        cmocka_unit_test(test_long_lists_are_no_slower),
        cmocka_unit_test(test_too_long_is_left_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
