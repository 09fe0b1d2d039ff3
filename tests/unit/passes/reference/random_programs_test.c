/* The float64 interpreter before and after every pass, on random programs with
 * whole states, factorisations, chains of defs and phases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/program/compile.h"
#include "tests/unit/passes/reference/random_program.h"
#include "tests/unit/passes/reference/reference.h"

enum {
    N_PROGRAMS = 40, /* or RANDOM_PROGRAMS of the environment */
    LEAST = 12,      /* of a hundred programs, that have a feature */
    FIRST_SEED = 1
};

/* Whether parameters and states of a program are numbers, and the first moves
 * in each step. */
static bool is_worth_comparing(const ref_values *values)
{
    const ref_part *last = NULL;

    for (int i = 0; i < values->n; i++) {
        const ref_part *part = &values->parts[i];
        for (int64_t k = 0; k < part->n; k++)
            if (!isfinite(part->values[k]))
                return false;
        if (strcmp(part->what, "param") != 0)
            continue;
        if (part->step > 0 &&
            memcmp(part->values, last->values,
                   (size_t)part->n * sizeof *part->values) == 0)
            return false;
        last = part;
    }
    return last != NULL;
}

static void print_program(unsigned seed, const cz_text *text, cz_diags *diags)
{
    cz_text said;

    cz_text_init(&said);
    cz_diags_print(diags, &said, false);
    fprintf(stderr, "seed %u:\n%.*s%s", seed, (int)text->n, text->bytes,
            cz_text_string(&said));
    cz_text_fini(&said);
}

/* What the program's rule has; adds to *n_worth. */
static uint32_t check_seed(unsigned seed, int *n_worth)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text;
    ref_taken taken;
    char name[32];

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&text);
    snprintf(name, sizeof name, "seed %u", seed);
    const uint32_t features = rp_program(seed, &text);
    const cz_compile_options options = {
        .path = "random.cz", .text = &text, .compiler = "test"};
    cz_ir *ir = cz_compile(&arena, &options, &diags);
    const bool ok = ir && ref_take(&arena, ir, &diags, &taken) &&
                    ref_pipeline(name, ir, &diags);
    if (!ok)
        print_program(seed, &text, &diags);
    assert_true(ok);
    *n_worth += is_worth_comparing(&taken.of[0][1]);
    cz_ir_close(ir);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return features;
}

/* A generator that draws something no more proves nothing of it. */
static void assert_drawn(int n, const int *counts, int n_worth)
{
    static const char *const names[] = {
#define NAME(tag, name) name,
        RP_FEATURES(NAME)
#undef NAME
    };

    for (int i = 0; i < RP_N_FEATURES; i++)
        printf("%s%s in %d", i ? ", " : "", names[i], counts[i]);
    printf(" of %d programs from seed %d; %d move and are finite\n", n,
           FIRST_SEED, n_worth);
    for (int i = 0; i < RP_N_FEATURES; i++)
        assert_true(counts[i] >= n * LEAST / 100);
    assert_true(n_worth >= n * 9 / 10);
}

static void random_programs_keep_their_values(void **state)
{
    const char *more = getenv("RANDOM_PROGRAMS");
    const int n = more ? atoi(more) : N_PROGRAMS;
    int counts[RP_N_FEATURES] = {0}, n_worth = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        const uint32_t features =
            check_seed(FIRST_SEED + (unsigned)i, &n_worth);
        for (int k = 0; k < RP_N_FEATURES; k++)
            counts[k] += (features & UINT32_C(1) << k) != 0;
    }
    assert_drawn(n, counts, n_worth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_their_values)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
