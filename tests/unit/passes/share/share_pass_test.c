/* Shared stages: what is said about their text with one thing changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "passes/passes.h"

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    const char *text;   /* in which sums are f32 */
    const char *narrow; /* bf16, in parts that no mesh changes */
} fixture;

static const char *text_of(fixture *f, cz_compile_options options)
{
    cz_text text;
    options.path = CANZONA_SOURCE_DIR "/tests/fixtures/plans/few.cz";
    options.compiler = "test";
    cz_ir *ir = cz_compile(&f->arena, &options, &f->diags);
    if (!ir || !cz_passes_run(ir, "share", &f->diags))
        return NULL;
    cz_text_init(&text);
    cz_ir_print(ir, &text);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    cz_ir_close(ir);
    return copy;
}

static int setup(void **state)
{
    static fixture f;
    static const char *const tolerance[] = {"schedule.tolerance=0.05"};
    cz_arena_init(&f.arena);
    cz_diags_init(&f.diags, &f.arena);
    f.text = text_of(&f, (cz_compile_options){0});
    f.narrow =
        text_of(&f, (cz_compile_options){
                        .defines = tolerance, .n_defines = 1, .strict = true});
    *state = &f;
    return !f.text || !f.narrow;
}

static int teardown(void **state)
{
    cz_arena_fini(&((fixture *)*state)->arena);
    return 0;
}

/* The text with `new` in place of the first `old` behind `after`. */
static const char *edit(fixture *f, const char *text, const char *after,
                        const char *old, const char *new)
{
    const char *from = strstr(text, after);
    assert_non_null(from);
    const char *at = strstr(from, old);
    assert_non_null(at);
    return cz_arena_printf(&f->arena, "%.*s%s%s", (int)(at - text), text, new,
                           at + strlen(old));
}

/* Why there is no view of the text; NULL when there is one. */
static const char *complaint(fixture *f, const char *text)
{
    cz_text out;
    cz_diags_init(&f->diags, &f->arena);
    cz_ir *ir = cz_ir_parse(text, strlen(text), &f->diags);
    const bool ok = ir && cz_plan_view_build(&f->arena, ir, &f->diags);
    if (ir)
        cz_ir_close(ir);
    if (ok)
        return NULL;
    cz_text_init(&out);
    cz_diags_print(&f->diags, &out, false);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return copy;
}

typedef struct change {
    const char *after, *old, *new, *what;
} change;

/* The text is fine, and each change of it is complained about. */
static void check_changes(fixture *f, const char *text, const change *changes,
                          size_t n)
{
    assert_null(complaint(f, text));
    for (size_t i = 0; i < n; i++) {
        const change *one = &changes[i];
        const char *said =
            complaint(f, edit(f, text, one->after, one->old, one->new));
        if (!said || !strstr(said, one->what))
            fail_msg("%s for %s gave %s", one->new, one->old,
                     said ? said : "a view");
    }
}

/* Few rules are shared by two and by four: 32 rows in 16 or 32 blocks. */
static void rows_that_a_rank_does_not_have_are_not_read(void **state)
{
    static const char other[] = "that the ranks who share it do not have";
    static const char rows[] = "whose rows cannot be dealt out like that";
    static const change changes[] = {
        {".shared4.kernel", "band = 32", "band = 16", other},
        {".shared4.kernel", "band = 32", "band = 0", other},
        {".shared4.kernel", "band = 32", "band = 30", other},
        {".shared4.kernel", "band = 32", "band = -4", other},
        {".shared4.kernel", "scatter = 1", "scatter = 0", other},
        {".shared4.kernel", "scatter = 1", "scatter = 2", "not 0 or 1"},
        {".shared4.kernel", "deal = 4", "deal = 2", other},
        {".shared4.kernel", "deal = 4", "deal = 3", rows},
        {".shared4.kernel", "deal = 4", "deal = 0", other},
        {"scatter = 1", "symmetric = 1", "symmetric = 0", other},
    };
    fixture *f = *state;
    check_changes(f, f->text, changes, sizeof changes / sizeof *changes);
}

static void sums_are_rounded_where_all_ranks_round_them(void **state)
{
    static const char other[] = "has other sums than";
    static const change changes[] = {
        {"canzona.policy", "tolerance = 5.0", "tolerance = 4.0",
         "that no tolerance admits"},
        {".whole.kernel", "narrow = 1", "narrow = 0", other},
        {".whole.kernel", "narrow = 1", "narrow = 2", "not 0 or 1"},
        {".whole.kernel", "blocks = array<i64: 1, 1, 8>",
         "blocks = array<i64: 1, 1, 4>", other},
        {".shared2.kernel", "narrow = 1", "narrow = 0",
         "bf16 whose parts are not"},
        {".shared2.kernel", "blocks = array<i64: 1, 1, 4>",
         "blocks = array<i64: 1, 1, 2>", other},
        {".shared2.kernel", "blocks = array<i64: 1, 1, 4>, ", "", other},
    };
    fixture *f = *state;
    check_changes(f, f->narrow, changes, sizeof changes / sizeof *changes);
}

/* Without a tolerance nothing says anything of width. */
static void sums_are_f32_unless_told(void **state)
{
    const fixture *f = *state;
    assert_null(strstr(f->text, "narrow"));
    assert_non_null(strstr(f->narrow, "narrow = 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_a_rank_does_not_have_are_not_read),
        cmocka_unit_test(sums_are_rounded_where_all_ranks_round_them),
        cmocka_unit_test(sums_are_f32_unless_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
