/* What tests of modules begin with: an empty module, and the text of
 * tests/unit/dsl/ir/sample.mlir, to be read to a view as it is or changed. */
#ifndef TESTS_DSL_MODULE_H
#define TESTS_DSL_MODULE_H

#include "dsl/plan/build/build.h"
#include "tests/unit/unit.h"

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir; /* empty */
    cz_text sample;
} fixture;

static inline int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *why;
    cz_arena_init(&f->arena);
    cz_diags_init(&f->diags, &f->arena);
    cz_text_init(&f->sample);
    f->ir = cz_ir_open(&f->diags);
    *state = f;
    return !cz_text_read_file(
        &f->sample, CANZONA_SOURCE_DIR "/tests/unit/dsl/ir/sample.mlir",
        1 << 20, &why);
}

static inline int teardown(void **state)
{
    fixture *f = *state;
    cz_ir_close(f->ir);
    cz_text_fini(&f->sample);
    cz_arena_fini(&f->arena);
    free(f);
    return 0;
}

static inline const char *messages(fixture *f)
{
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&f->diags, &text, false);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static inline cz_plan_view *view_of(fixture *f, const char *text)
{
    cz_diags_init(&f->diags, &f->arena);
    cz_ir *ir = cz_ir_parse(text, strlen(text), &f->diags);
    if (!ir)
        return NULL;
    cz_plan_view *view = cz_plan_view_build(&f->arena, ir, &f->diags);
    cz_ir_close(ir);
    return view;
}

static inline const cz_plan_view *sample(fixture *f)
{
    const cz_plan_view *view = view_of(f, f->sample.bytes);
    assert_string_equal(messages(f), "");
    assert_non_null(view);
    return view;
}

/* The text with the first `from` replaced. */
static inline const char *with(fixture *f, const char *text, const char *from,
                               const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("the text has no '%s'", from);
    return cz_arena_printf(&f->arena, "%.*s%s%s", (int)(at - text), text, to,
                           at + strlen(from));
}

typedef struct sample_change {
    const char *from, *to, *message;
} sample_change;

/* Each change of the text, or of the sample, is rejected with its message; ""
 * is accepted. */
static inline void check_changes(fixture *f, const char *text,
                                 const sample_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const sample_change *c = &changes[i];
        const cz_plan_view *view =
            view_of(f, with(f, text ? text : f->sample.bytes, c->from, c->to));
        if (!*c->message) {
            assert_non_null(view);
            continue;
        }
        if (view || f->diags.n_errors == 0)
            fail_msg("'%s' was accepted", c->to);
        if (!strstr(messages(f), c->message))
            fail_msg("'%s' gave %s", c->to, messages(f));
    }
}

#endif
