/* Bad plans: a good one, printed as IR, with one or two pieces of its text
 * replaced, and what the verifier says then. */
#ifndef CZ_TESTS_PASSES_VERIFY_BAD_PLAN_H
#define CZ_TESTS_PASSES_VERIFY_BAD_PLAN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "dsl/plan/build/build.h"
#include "passes/verify/verify.h"

/* A matrix with one owner and an element-wise vector, clipped, on 2 x 2. */
#define TWO_GROUPS                                                             \
    CANZONA_SOURCE_DIR "/tests/unit/passes/verify/two_groups.mlir"
#define SCHEDULES CANZONA_SOURCE_DIR "/tests/fixtures/schedules/"

typedef struct bad_plan {
    const char *file;
    const char *change[2][2]; /* text and replacement; the text comes once */
    const char *sentence;     /* "": the plan is good */
} bad_plan;

static inline void replace_once(cz_text *text, const char *const change[2])
{
    const char *string = cz_text_string(text);
    const char *place = change[0] ? strstr(string, change[0]) : NULL;
    cz_text changed = {0};

    if (!change[0])
        return;
    if (!place || strstr(place + 1, change[0]))
        fail_msg("not there, or not once: %s", change[0]);
    cz_text_put(&changed, string, (size_t)(place - string));
    cz_text_puts(&changed, change[1]);
    cz_text_puts(&changed, place + strlen(change[0]));
    cz_text_fini(text);
    *text = changed;
}

/* How many sentences there are; the first is compared. */
static inline int check_bad_plan(const bad_plan *bad)
{
    enum { MAX_TEXT = 1 << 20 };
    const char *why = "";
    cz_text text = {0};
    cz_arena arena;
    cz_diags diags;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    if (!cz_text_read_file(&text, bad->file, MAX_TEXT, &why))
        fail_msg("%s %s", bad->file, why);
    replace_once(&text, bad->change[0]);
    replace_once(&text, bad->change[1]);
    cz_ir *ir = cz_ir_parse(cz_text_string(&text), text.n, &diags);
    assert_non_null(ir);
    const cz_plan_view *view = cz_plan_view_build(&arena, ir, &diags);
    if (!view)
        fail_msg("no view: %s", diags.list[0].message);
    assert_int_equal(cz_verify(view, &diags), *bad->sentence == '\0');
    if (*bad->sentence)
        assert_string_equal(diags.list[0].message, bad->sentence);
    cz_ir_close(ir);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return diags.n_errors;
}

#define CHECK_BAD_PLANS(list)                                                  \
    do {                                                                       \
        for (size_t i_ = 0; i_ < sizeof(list) / sizeof *(list); i_++)          \
            check_bad_plan(&(list)[i_]);                                       \
    } while (0)

#endif
