/* tests/unit/dsl/ir/sample.mlir, read to a view, and the same text with one
 * thing changed. */
#ifndef SAMPLED_H
#define SAMPLED_H

#include "dsl/plan/build/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_text sample;
} fixture;

static inline int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *why;
    cz_arena_init(&f->arena);
    cz_diags_init(&f->diags, &f->arena);
    cz_text_init(&f->sample);
    if (!cz_text_read_file(&f->sample,
                           CANZONA_SOURCE_DIR "/tests/unit/dsl/ir/sample.mlir",
                           1 << 20, &why))
        return 1;
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    fixture *f = *state;
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

typedef struct sample_change {
    const char *from, *to, *message;
} sample_change;

static inline const char *changed(fixture *f, const sample_change *change)
{
    const char *at = strstr(f->sample.bytes, change->from);
    if (!at)
        fail_msg("the sample has no '%s'", change->from);
    const int before = (int)(at - f->sample.bytes);
    return cz_arena_printf(&f->arena, "%.*s%s%s", before, f->sample.bytes,
                           change->to, at + strlen(change->from));
}

/* Each change is rejected with its message; "" is accepted. */
static inline void check_changes(fixture *f, const sample_change *changes,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = changed(f, &changes[i]);
        const cz_plan_view *view = view_of(f, text);
        if (!*changes[i].message) {
            assert_non_null(view);
            continue;
        }
        if (view || f->diags.n_errors == 0)
            fail_msg("'%s' was accepted", changes[i].to);
        if (!strstr(messages(f), changes[i].message))
            fail_msg("'%s' gave %s", changes[i].to, messages(f));
    }
}

#endif
