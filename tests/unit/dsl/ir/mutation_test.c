/* Seeded mutants of tests/unit/dsl/ir/sample.mlir: each is either rejected with
 * a sentence or accepted, printed, and read again to the same print.  None may
 * crash.  MUTANTS in the environment asks for more than the default. */
#include "dsl/plan/build/build.h"

#include <ctype.h>
#include "tests/unit/unit.h"

enum { N_MUTANTS = 150 };

static uint64_t seed = 1;

static uint64_t pick(uint64_t n)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Start of a random word whose first byte passes `test`. */
static size_t word_at(const char *text, size_t n, int (*test)(int))
{
    for (;;) {
        const size_t at = 1 + pick(n - 1);
        if (!is_word(text[at - 1]) && test((unsigned char)text[at]))
            return at;
    }
}

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (is_word(text[n]))
        n++;
    return n;
}

static void splice(cz_text *out, const char *text, size_t at, size_t n,
                   const char *by, size_t n_by)
{
    cz_text_put(out, text, at);
    cz_text_put(out, by, n_by);
    cz_text_puts(out, text + at + n);
}

static void new_number(cz_text *out, const char *text, size_t n)
{
    static const char *const numbers[] = {"-1",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "7",
                                          "64",
                                          "99",
                                          "-2",
                                          "65536",
                                          "4294967296",
                                          "1099511627776",
                                          "4611686018427387904",
                                          "9223372036854775807",
                                          "-9223372036854775808"};
    const size_t at = word_at(text, n, isdigit);
    const char *by = numbers[pick(sizeof numbers / sizeof *numbers)];
    splice(out, text, at, word_length(text + at), by, strlen(by));
}

/* One word takes the place of another of its kind. */
static void other_word(cz_text *out, const char *text, size_t n,
                       int (*test)(int))
{
    const size_t at = word_at(text, n, test), from = word_at(text, n, test);
    splice(out, text, at, word_length(text + at), text + from,
           word_length(text + from));
}

/* A line vanishes, or stands twice. */
static void other_lines(cz_text *out, const char *text, size_t n)
{
    size_t at = 1 + pick(n - 2);
    while (at > 0 && text[at - 1] != '\n')
        at--;
    const char *end = strchr(text + at, '\n');
    const size_t length = end ? (size_t)(end + 1 - (text + at)) : 0;
    if (pick(2))
        splice(out, text, at, length, "", 0);
    else
        splice(out, text, at, 0, text + at, length);
}

static void other_byte(cz_text *out, const char *text, size_t n)
{
    static const char bytes[] = "()[]{}<>\"@%:,-0x\n ";
    splice(out, text, pick(n), pick(2), &bytes[pick(sizeof bytes - 1)], 1);
}

static void mutate(cz_text *out, const char *text, size_t n)
{
    switch (pick(6)) {
    case 0:
    case 1:
        new_number(out, text, n);
        break;
    case 2:
        other_word(out, text, n, isalpha);
        break;
    case 3:
        other_word(out, text, n, isdigit);
        break;
    case 4:
        other_lines(out, text, n);
        break;
    default:
        other_byte(out, text, n);
    }
}

/* An accepted module prints to what reads and prints the same. */
static void check_print(cz_ir *ir, cz_diags *diags)
{
    cz_text once, twice;
    cz_text_init(&once);
    cz_text_init(&twice);
    cz_ir_print(ir, &once);
    cz_ir *again = cz_ir_parse(once.bytes, once.n, diags);
    assert_non_null(again);
    cz_ir_print(again, &twice);
    assert_string_equal(once.bytes, twice.bytes);
    cz_ir_close(again);
    cz_text_fini(&once);
    cz_text_fini(&twice);
}

/* Whether the mutant was accepted. */
static bool try_one(const cz_text *mutant)
{
    cz_arena arena;
    cz_diags diags;
    bool accepted = false;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_parse(mutant->bytes, mutant->n, &diags);
    if (ir) {
        assert_int_equal(diags.n_errors, 0);
        accepted = cz_plan_view_build(&arena, ir, &diags) != NULL;
        check_print(ir, &diags);
    }
    if (accepted != (diags.n_errors == 0))
        fail_msg("rejected without a word, or accepted with one");
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return accepted;
}

static void no_mutant_crashes(void **state)
{
    const char *asked = getenv("MUTANTS"), *why;
    const int n = asked ? atoi(asked) : N_MUTANTS;
    int n_accepted = 0;
    cz_text sample;

    cz_text_init(&sample);
    assert_true(cz_text_read_file(
        &sample, CANZONA_SOURCE_DIR "/tests/unit/dsl/ir/sample.mlir", 1 << 20,
        &why));
    for (int i = 0; i < n; i++) {
        cz_text mutant;
        cz_text_init(&mutant);
        seed = (uint64_t)i * 1000003;
        mutate(&mutant, sample.bytes, sample.n);
        n_accepted += try_one(&mutant);
        cz_text_fini(&mutant);
    }
    cz_text_fini(&sample);
    printf("%d of %d mutants have a right form\n", n_accepted, n);
    assert_in_range(n_accepted, 1, n - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_mutant_crashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
