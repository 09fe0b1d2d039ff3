/* Phases in the plan view: the sample's `sgd`, told to differ at its first
 * update, and what is said about that text with one thing changed. */
#include "tests/unit/dsl/module.h"

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

/* The sample with phases. */
static const char *phased(fixture *f)
{
    const char *text = f->sample.bytes;
    return cz_arena_printf(&f->arena, "%.*s%s",
                           (int)(strrchr(text, '}') - text), text, phases);
}

static void a_stage_has_a_body_in_each_phase(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, phased(f));
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
    const cz_plan_view *view = view_of(f, phased(f));
    assert_non_null(view);
    for (int t = 1; t <= 10; t++) {
        assert_int_equal(cz_view_phase_at(&view->rules[1], 0, t),
                         wanted[t - 1]);
        assert_int_equal(cz_view_phase_at(&view->rules[0], 0, t), 0);
    }
}

/* ---- turns ---- */

/* The second event, and the turns of the sample's pattern `v`: its indices are
 * (0, 5), (0, 6), (1, 5) and (1, 6). */
#define SECOND_EVENT "period = 4 : i64, stagger = 0"
#define STAGGERED "period = 4 : i64, stagger = 1"
#define FIRST_PHASE "\"canzona.phase\"() {sym_name = \"p0\""
#define TURN                                                                   \
    "\"canzona.stagger\"() {pattern = @v, base = 2 : i64, indices = "          \
    "array<i64: "                                                              \
    "1>}"                                                                      \
    " : () -> ()\n"

static const char *staggered(fixture *f)
{
    return with(f, with(f, phased(f), SECOND_EVENT, STAGGERED), FIRST_PHASE,
                TURN FIRST_PHASE);
}

/* Due at t > 1 with (t - 1 + turn) % 4 = 0, for 7 and for 8 at 2 and at 5. */
static void a_turn_is_the_base_and_the_values_of_indices(void **state)
{
    fixture *f = *state;
    const cz_plan_view *view = view_of(f, staggered(f));
    assert_string_equal(messages(f), "");
    assert_non_null(view);
    const cz_view_param *v = &view->params[view->patterns[1].first_param];
    assert_int_equal(view->params[0].stagger_offset, 0);
    for (int k = 0; k < 4; k++)
        assert_int_equal(v[k].stagger_offset, 2 + 5 + k % 2);
    assert_int_equal(cz_view_phase_at(&view->rules[1], v[0].stagger_offset, 1),
                     2);
    assert_int_equal(cz_view_phase_at(&view->rules[1], v[1].stagger_offset, 1),
                     2);
    for (int t = 2; t < 10; t++) {
        assert_int_equal(
            cz_view_phase_at(&view->rules[1], v[0].stagger_offset, t),
            t % 4 == 2);
        assert_int_equal(
            cz_view_phase_at(&view->rules[1], v[1].stagger_offset, t),
            t % 4 == 1);
    }
}

/* ---- rejecting ---- */

static const sample_change changes[] = {
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
    {"\"p1\", rule = @sgd", "\"p1\", rule = @mat",
     "phase: fires is 1, not in [0, -1]"},
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
     "%p: f32) -> f64 { %q = arith.extf %p : f32 to f64 return %q : f64 }",
     "the body does not take its operands and give its results"},
};

/* With another text for one part. */
static const sample_change turn_changes[] = {
    {TURN, "", "pattern 'v' lacks its stagger"},
    {TURN, TURN TURN, "1 turns too many"},
    {STAGGERED, SECOND_EVENT, "1 turns too many"},
    {STAGGERED, "period = 4 : i64, stagger = 2", "event: stagger"},
    {"period = 0 : i64, stagger = 0", "period = 0 : i64, stagger = 1",
     "event: stagger"},
    {"pattern = @v, base", "pattern = @w, base",
     "pattern 'v' lacks its stagger"},
    {"base = 2", "base = -1", "stagger: base"},
    {"indices = array<i64: 1>", "indices = array<i64: 2>", "stagger: indices"},
    {"indices = array<i64: 1>", "indices = array<i64: 1, 0>", "ascending"},
    {"indices = array<i64: 1>", "indices = array<i64: 1, 1>", "ascending"},
    {"rule = @sgd, reduction = @r, expert_axes = 0 : i64, expert_index = 0",
     "rule = @sgd, reduction = @r, expert_axes = 2 : i64, expert_index = 1",
     "that all its ranks have"},
};

static void a_change_is_rejected_with_a_sentence(void **state)
{
    check_changes(*state, phased(*state), changes,
                  sizeof changes / sizeof *changes);
}

static void a_change_of_turns_is_rejected_with_a_sentence(void **state)
{
    check_changes(*state, staggered(*state), turn_changes,
                  sizeof turn_changes / sizeof *turn_changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stage_has_a_body_in_each_phase),
        TEST(updates_find_their_phase),
        TEST(a_turn_is_the_base_and_the_values_of_indices),
        TEST(a_change_is_rejected_with_a_sentence),
        TEST(a_change_of_turns_is_rejected_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
