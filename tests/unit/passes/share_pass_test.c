/* Shared stages: what is said about their text with one thing changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dsl/plan_view_build.h"
#include "frontend/compile.h"
#include "passes/passes.h"

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    const char *text;
} fixture;

static int setup(void **state)
{
    static fixture f;
    const cz_compile_options options = {
        .path = CANZONA_SOURCE_DIR "/tests/plans/few.cz", .compiler = "test"};
    cz_text text;
    cz_arena_init(&f.arena);
    cz_diags_init(&f.diags, &f.arena);
    cz_ir *ir = cz_compile(&f.arena, &options, &f.diags);
    if (!ir || !cz_passes_run(ir, "share", &f.diags))
        return 1;
    cz_text_init(&text);
    cz_ir_print(ir, &text);
    f.text = cz_arena_copy(&f.arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    cz_ir_close(ir);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    cz_arena_fini(&((fixture *)*state)->arena);
    return 0;
}

/* The text with `new` in place of the first `old` behind `after`. */
static const char *edit(fixture *f, const char *after, const char *old,
                        const char *new)
{
    const char *from = strstr(f->text, after);
    assert_non_null(from);
    const char *at = strstr(from, old);
    assert_non_null(at);
    return cz_arena_printf(&f->arena, "%.*s%s%s", (int)(at - f->text), f->text,
                           new, at + strlen(old));
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

/* Few rules are shared by two and by four: 32 rows in 16 or 32 blocks. */
static void rows_that_a_rank_does_not_have_are_not_read(void **state)
{
    static const char other[] = "that the ranks who share it do not have";
    static const char rows[] = "whose rows cannot be dealt out like that";
    static const struct {
        const char *after, *old, *new, *what;
    } edits[] = {
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
    assert_null(complaint(f, f->text));
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const char *said =
            complaint(f, edit(f, edits[i].after, edits[i].old, edits[i].new));
        if (!said || !strstr(said, edits[i].what))
            fail_msg("%s for %s gave %s", edits[i].new, edits[i].old,
                     said ? said : "a view");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_a_rank_does_not_have_are_not_read),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
