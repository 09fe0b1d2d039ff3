/* Phases in the plan view: the sample's `sgd`, told to differ at its first
 * update, and what is said about that text with one thing changed. */
#include "dsl/plan/build/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Its second body copies the parameter only. */
static const char phases[] =
    "func.func private @same(%p: f32) -> f32 { return %p : f32 }\n"
    "func.func @sgd.first(%grad: tensor<1xf32>, %param: tensor<1xf32>,"
    " %lr: f32) -> tensor<1xf32> {\n"
    "%p = \"kernel.map\"(%param) {body = @same, access = array<i64: 0>,"
    " out_access = array<i64: 0>, space = array<i64: 1, 1>,"
    " offsets = array<i64: -1>} : (tensor<1xf32>) -> tensor<1xf32>\n"
    "return %p : tensor<1xf32>\n}\n"
    "\"canzona.event\"() {rule = @sgd, start = 1 : i64, period = 0 : i64,"
    " stagger = 0 : i64}"
    " : () -> ()\n"
    "\"canzona.event\"() {rule = @sgd, start = 1 : i64, period = 4 : i64,"
    " stagger = 0 : i64}"
    " : () -> ()\n"
    "\"canzona.phase\"() {sym_name = \"p0\", rule = @sgd, fires = array<i64>,"
    " update = @sgd.update} : () -> ()\n"
    "\"canzona.phase\"() {sym_name = \"p1\", rule = @sgd,"
    " fires = array<i64: 1>, update = @sgd.update} : () -> ()\n"
    "\"canzona.phase\"() {sym_name = \"p2\", rule = @sgd,"
    " fires = array<i64: 0, 1>, update = @sgd.update} : () -> ()\n"
    "\"canzona.variant\"() {stage = @sgd.1, phase = @p0, body = @sgd.local,"
    " flops = 2 : i64} : () -> ()\n"
    "\"canzona.variant\"() {stage = @sgd.1, phase = @p1, body = @sgd.first,"
    " flops = 0 : i64} : () -> ()\n"
    "\"canzona.variant\"() {stage = @sgd.1, phase = @p2, body = @sgd.first,"
    " flops = 0 : i64} : () -> ()\n"
    "}\n";

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    char *text;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *why;
    cz_text sample;
    cz_arena_init(&f->arena);
    cz_text_init(&sample);
    if (!cz_text_read_file(&sample,
                           CANZONA_SOURCE_DIR "/tests/unit/dsl/ir/sample.mlir",
                           1 << 20, &why))
        return 1;
    f->text = cz_arena_printf(&f->arena, "%.*s%s",
                              (int)(strrchr(sample.bytes, '}') - sample.bytes),
                              sample.bytes, phases);
    cz_text_fini(&sample);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    cz_arena_fini(&f->arena);
    free(f);
    return 0;
}

static const char *messages(fixture *f)
{
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&f->diags, &text, false);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static cz_plan_view *view_of(fixture *f, const char *text)
{
    cz_diags_init(&f->diags, &f->arena);
    cz_ir *ir = cz_ir_parse(text, strlen(text), &f->diags);
    if (!ir)
        return NULL;
    cz_plan_view *view = cz_plan_view_build(&f->arena, ir, &f->diags);
    cz_ir_close(ir);
    return view;
}

static void a_stage_has_a_body_in_each_phase(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, f->text);
    assert_string_equal(messages(f), "");
    assert_non_null(view);
    const cz_view_rule *rule = &view->rules[1];
    const cz_view_stage *stage = &view->stages[rule->first_stage];
    assert_int_equal(view->rules[0].n_phases, 0);
    assert_int_equal(cz_view_n_bodies(&view->stages[0]), 1);
    assert_ptr_equal(cz_view_variant(&view->stages[0], 0), &view->stages[0]);
    assert_int_equal(rule->n_phases, 3);
    assert_int_equal(cz_view_n_bodies(stage), 3);
    assert_int_equal(cz_view_variant(stage, 0)->n_steps, stage->n_steps);
    assert_int_equal(cz_view_variant(stage, 1)->n_steps, 1);
    assert_int_equal(cz_view_variant(stage, 1)->steps[0].in[0], 1);
    assert_int_equal(cz_view_variant(stage, 1)->fact->flops, 0);
    assert_int_equal(cz_view_first_alike(stage, 0), 0);
    assert_int_equal(cz_view_first_alike(stage, 1), 1);
    assert_int_equal(cz_view_first_alike(stage, 2), 1);
}

static void updates_find_their_phase(void **state)
{
    static const int wanted[] = {2, 0, 0, 0, 1, 0, 0, 0, 1, 0};
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, f->text);
    assert_non_null(view);
    for (int t = 1; t <= 10; t++) {
        assert_int_equal(cz_view_phase_at(&view->rules[1], 0, t),
                         wanted[t - 1]);
        assert_int_equal(cz_view_phase_at(&view->rules[0], 0, t), 0);
    }
}

/* ---- turns ---- */

/* The second event, and the turns of the sample's family `v`: its indices are
 * (0, 5), (0, 6), (1, 5) and (1, 6). */
#define SECOND_EVENT "period = 4 : i64, stagger = 0"
#define STAGGERED "period = 4 : i64, stagger = 1"
#define FIRST_PHASE "\"canzona.phase\"() {sym_name = \"p0\""
#define TURN                                                                   \
    "\"canzona.turn\"() {family = @v, base = 2 : i64, indices = array<i64: "   \
    "1>}"                                                                      \
    " : () -> ()\n"

static const char *with(fixture *f, const char *text, const char *from,
                        const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("the text has no '%s'", from);
    return cz_arena_printf(&f->arena, "%.*s%s%s", (int)(at - text), text, to,
                           at + strlen(from));
}

static const char *staggered(fixture *f)
{
    return with(f, with(f, f->text, SECOND_EVENT, STAGGERED), FIRST_PHASE,
                TURN FIRST_PHASE);
}

/* Due at t > 1 with (t - 1 + turn) % 4 = 0, for 7 and for 8 at 2 and at 5. */
static void a_turn_is_the_base_and_the_values_of_indices(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, staggered(f));
    assert_string_equal(messages(f), "");
    assert_non_null(view);
    const cz_view_param *v = &view->params[view->families[1].first_param];
    assert_int_equal(view->params[0].turn, 0);
    for (int k = 0; k < 4; k++)
        assert_int_equal(v[k].turn, 2 + 5 + k % 2);
    assert_int_equal(cz_view_phase_at(&view->rules[1], v[0].turn, 1), 2);
    assert_int_equal(cz_view_phase_at(&view->rules[1], v[1].turn, 1), 2);
    for (int t = 2; t < 10; t++) {
        assert_int_equal(cz_view_phase_at(&view->rules[1], v[0].turn, t),
                         t % 4 == 2);
        assert_int_equal(cz_view_phase_at(&view->rules[1], v[1].turn, t),
                         t % 4 == 1);
    }
}

/* ---- rejecting ---- */

static const struct change {
    const char *from, *to, *message;
} changes[] = {
    {"start = 1 : i64, period = 0", "start = 0 : i64, period = 0",
     "event: start"},
    {"start = 1 : i64, period = 0", "start = 1 : i64, period = -1",
     "event: period"},
    {"start = 1 : i64, period = 0", "start = 2 : i64, period = 0",
     "are not those of its events"},
    {"start = 1 : i64, period = 4", "start = 1 : i64, period = 0",
     "are not those of its events"},
    {"{rule = @sgd, start = 1 : i64, period = 4",
     "{rule = @mat, start = 1 : "
     "i64, period = 4",
     "fires"},
    {"fires = array<i64: 1>", "fires = array<i64: 2>", "fires"},
    {"fires = array<i64: 1>", "fires = array<i64: 0>",
     "are not those of its events"},
    {"fires = array<i64: 1>, update = @sgd.update",
     "fires = array<i64: 1>, update = @mat.update",
     "arguments and results of an update"},
    {"\"p1\", rule = @sgd", "\"p1\", rule = @mat", ""},
    {"stage = @sgd.1, phase = @p1", "stage = @mat.1, phase = @p1",
     "lacks its variant in phase 'p1'"},
    {"stage = @sgd.1, phase = @p1", "stage = @sgd.1, phase = @p2",
     "lacks its variant in phase 'p1'"},
    {"phase = @p0, body = @sgd.local", "phase = @p0, body = @sgd.first",
     "body of its first phase"},
    {"body = @sgd.first", "body = @mat.whole", "slots and scalars"},
    {"body = @sgd.local, flops = 2 : i64} ",
     "body = @sgd.local, flops = 1 : i64} ", "flops of its costliest"},
    {"body = @sgd.first, flops = 0", "body = @sgd.first, flops = 9",
     "variant: flops"},
    {"\"canzona.variant\"() {stage = @sgd.1, phase = @p2, body = @sgd.first,"
     " flops = 0 : i64} : () -> ()\n",
     "", "lacks variants"},
    {"flops = 0 : i64} : () -> ()\n}",
     "flops = 0 : i64} : () -> ()\n\"canzona.variant\"() {stage = @sgd.1,"
     " phase = @p2, body = @sgd.first, flops = 0 : i64} : () -> ()\n}",
     "variants of stages too many"},
    {"flops = 0 : i64} : () -> ()\n}",
     "flops = 0 : i64} : () -> ()\n\"canzona.settled\"() {rule = @mat,"
     " states = array<i64: 0>} : () -> ()\n}",
     "settled: not the states of rule 'mat' that are whole"},
    {"flops = 0 : i64} : () -> ()\n}",
     "flops = 0 : i64} : () -> ()\n\"canzona.settled\"() {rule = @sgd,"
     " states = array<i64: -1>} : () -> ()\n}",
     "settled: not the states of rule 'sgd' that are whole"},
    {"%p: f32) -> f32 { return %p : f32 }",
     "%p: f32) -> f64 { %q = arith.extf %p : f32 to f64 return %q : f64 }", ""},
};

/* With another text for one part. */
static const struct change turn_changes[] = {
    {TURN, "", "family 'v' lacks its turn"},
    {TURN, TURN TURN, "1 turns too many"},
    {STAGGERED, SECOND_EVENT, "1 turns too many"},
    {STAGGERED, "period = 4 : i64, stagger = 2", "event: stagger"},
    {"period = 0 : i64, stagger = 0", "period = 0 : i64, stagger = 1",
     "event: stagger"},
    {"family = @v, base", "family = @w, base", "family 'v' lacks its turn"},
    {"base = 2", "base = -1", "turn: base"},
    {"indices = array<i64: 1>", "indices = array<i64: 2>", "turn: indices"},
    {"indices = array<i64: 1>", "indices = array<i64: 1, 0>", "ascending"},
    {"indices = array<i64: 1>", "indices = array<i64: 1, 1>", "ascending"},
    {"rule = @sgd, reduction = @r, spread = 0 : i64, spread_index = 0",
     "rule = @sgd, reduction = @r, spread = 2 : i64, spread_index = 1",
     "that all its ranks have"},
};

static void reject(fixture *f, const char *text, const struct change *change)
{
    const cz_plan_view *view =
        view_of(f, with(f, text, change->from, change->to));
    if (view || f->diags.n_errors == 0)
        fail_msg("'%s' was accepted", change->to);
    if (!strstr(messages(f), change->message))
        fail_msg("'%s' gave %s", change->to, messages(f));
}

static void a_change_is_rejected_with_a_sentence(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        reject(f, f->text, &changes[i]);
}

static void a_change_of_turns_is_rejected_with_a_sentence(void **state)
{
    fixture *f = *state;
    const char *text = staggered(f);
    for (size_t i = 0; i < sizeof turn_changes / sizeof *turn_changes; i++)
        reject(f, text, &turn_changes[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stage_has_a_body_in_each_phase),
        TEST(updates_find_their_phase),
        TEST(a_turn_is_the_base_and_the_values_of_indices),
        TEST(a_change_is_rejected_with_a_sentence),
        TEST(a_change_of_turns_is_rejected_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
