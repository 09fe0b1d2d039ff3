/* Rules with phases: which bodies run at which update, and what is refused. */
#include "tests/unit/unit.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

enum { PHASES = 3, STEPS = 7, MAX_CALLS = 64 };

/* Update 1, and 3, 6, ...: the third phase is the second event alone. */
static czr_event events[] = {{1, 0, 0}, {3, 3, 0}};
static uint32_t fires[] = {0, 1, 2};
static czr_phases phases = {2, PHASES, events, fires};

/* ---- which body ran ---- */

static char calls[MAX_CALLS];
static int n_calls;

static void note(char letter)
{
    if (n_calls < MAX_CALLS - 1 && (!n_calls || calls[n_calls - 1] != letter))
        calls[n_calls++] = letter;
    calls[n_calls] = '\0';
}

static void run_usual(const czr_call *call)
{
    (void)call;
    note('u');
}

static void run_first(const czr_call *call)
{
    (void)call;
    note('f');
}

static void run_every(const czr_call *call)
{
    (void)call;
    note('e');
}

static czr_kernel bodies[] = {run_usual, run_first, run_every};
static czr_variants variants[2];
static const czr_phases *const of_rules[] = {&phases};
static toy self;

static void make_program(void)
{
    const toy_options options = toy_usual(1);

    toy_init(&self, &options);
    events[0] = (czr_event){1, 0, 0};
    events[1] = (czr_event){3, 3, 0};
    fires[0] = 0;
    bodies[0] = run_usual;
    phases.n_events = 2;
    variants[0] = variants[1] = (czr_variants){&phases, bodies};
    self.program.variants = variants;
    self.program.phases = of_rules;
    n_calls = 0;
}

/* ---- one rank ---- */

static char said[CZR_ERROR_BYTES];
static int64_t allocations;

static czr_status train(czr_world *world, void *user)
{
    const int *spoilt = user; /* step whose gradient is not finite, or NULL */
    czr_engine *engine = NULL;
    czr_layout_info place;
    czr_counters counters;
    czr_status status = toy_open(&self, world, &quick, &engine);

    for (int step = 0; step < STEPS && status == CZR_OK; step++) {
        status = czr_layout(engine, names[0], &place);
        if (status == CZR_OK)
            *(float *)place.grad = spoilt && step == *spoilt ? NAN : 0.25f;
        note('.');
        if (status == CZR_OK)
            status = czr_step(engine, &hyper, NULL, NULL);
    }
    if (status == CZR_OK && czr_counters_get(engine, &counters) == CZR_OK)
        allocations = counters.step_allocations;
    snprintf(said, sizeof said, "%s", czr_error(engine));
    czr_close(engine);
    return status;
}

static czr_status run(int *spoilt)
{
    return czr_world_threads_run(1, train, spoilt);
}

/* ---- tests ---- */

static void each_update_runs_the_bodies_of_its_phase(void **state)
{
    make_program();
    assert_int_equal(run(NULL), CZR_OK);
    assert_string_equal(calls, ".f.u.e.u.u.e.u");
    assert_int_equal(allocations, 0);
}

static void a_skipped_step_takes_no_phase_away(void **state)
{
    int spoilt = 0;

    make_program();
    assert_int_equal(run(&spoilt), CZR_OK);
    assert_string_equal(calls, ".f.u.e.u.u.e");
    spoilt = 2;
    make_program();
    assert_int_equal(run(&spoilt), CZR_OK);
    assert_string_equal(calls, ".f.u.e.u.u.e");
}

/* All at update 3, then at 6, 9, ... and, where the turn is 2, at 4, 7, ... */
static void staggered_work_comes_in_turns(void **state)
{
    make_program();
    events[1].staggered = 1;
    for (int i = 0; i < TOY_PARAMS; i++)
        self.places[i].stagger_offset = 2 + 3 * i;
    assert_int_equal(run(NULL), CZR_OK);
    assert_string_equal(calls, ".f.u.e.e.u.u.e");
    make_program();
    events[1].staggered = 1;
    self.places[0].stagger_offset = 5;
    assert_int_equal(run(NULL), CZR_OK);
    assert_string_equal(calls, ".f.u.e.eu.u.ue.eu");
}

static void stages_without_phases_keep_their_body(void **state)
{
    make_program();
    variants[0] = variants[1] = (czr_variants){NULL, NULL};
    assert_int_equal(run(NULL), CZR_OK);
    assert_string_equal(calls, ".");
}

/* Makes the program anew behind it. */
static void assert_refused(void)
{
    assert_int_equal(run(NULL), CZR_ERR_VERSION);
    make_program();
}

static void malformed_phases_are_refused(void **state)
{
    make_program();
    events[0].start = 0;
    assert_refused();
    events[1].period = -3;
    assert_refused();
    phases.n_events = 33;
    assert_refused();
    events[1].staggered = 2;
    assert_refused();
    self.places[0].stagger_offset = -1;
    assert_refused();
    self.program.phases = NULL;
    assert_refused();
    bodies[0] = NULL;
    assert_refused();
    assert_non_null(strstr(said, "bodies of stage"));
}

static void an_update_without_phase_ends_the_run(void **state)
{
    make_program();
    fires[0] = 3;
    assert_int_equal(run(NULL), CZR_ERR_VERSION);
    assert_non_null(strstr(said, "no phase for update 2"));
    assert_string_equal(calls, ".f.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_update_runs_the_bodies_of_its_phase),
        cmocka_unit_test(a_skipped_step_takes_no_phase_away),
        cmocka_unit_test(staggered_work_comes_in_turns),
        cmocka_unit_test(stages_without_phases_keep_their_body),
        cmocka_unit_test(malformed_phases_are_refused),
        cmocka_unit_test(an_update_without_phase_ends_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
