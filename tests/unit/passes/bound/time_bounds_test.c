/* Bounds by hand, and what they must not depend on. */
#include "passes/bound/time_bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/cost/time.h"
#include "tests/unit/passes/cost/fixture.h"

/* The fixture's plan, as if its schedule asked for another strategy. */
typedef struct planned {
    cz_plan_view view;
    cz_fact_policy policy;
    cz_machine machine;
    const cz_stage_time *times;
    cz_forms forms;
} planned;

static void plan(fixture *f, cz_strategy strategy, planned *p)
{
    p->view = *f->view;
    p->policy = *f->view->policy;
    p->policy.tp_strategy = strategy;
    p->view.policy = &p->policy;
    assert_true(cz_machine_of(&f->arena, &p->view, &p->machine));
    p->times = cz_stage_times(&f->arena, &p->view, &p->machine);
    p->forms = cz_forms_find(&f->arena, &p->view, &p->machine);
    assert_int_equal(p->forms.n_classes, 1);
}

static cz_time_bounds find(fixture *f, const planned *p)
{
    return cz_time_bounds_find(&f->arena, &p->view, &p->machine, p->times,
                               &p->forms);
}

/* One matrix that two ranks shard: alone, by both, by both with products dealt
 * out; nobody has a second one to batch it with. */
static void forms_are_those_that_shards_allow(void **state)
{
    fixture *f = *state;
    planned p;
    plan(f, CZ_STRATEGY_AUTO, &p);
    const cz_form_class *of = &p.forms.classes[0];
    assert_int_equal(of->n_matrices, 1);
    assert_int_equal(of->n_batches, 1);
    assert_int_equal(of->n_shards, 2);
    assert_int_equal(of->call.n_near, 2);
    assert_int_equal(of->n_forms, 3);
    assert_int_equal(of->forms[0].subgroup_size, 1);
    assert_int_equal(of->forms[1].subgroup_size, 2);
    assert_int_equal(of->forms[2].form, CZ_SUBGROUP_PARTITIONED);
    assert_true(cz_form_is_open(&of->forms[1]));
}

static void an_owner_alone_is_admitted_when_asked_for(void **state)
{
    fixture *f = *state;
    planned p;
    int n;
    plan(f, CZ_STRATEGY_OWNER, &p);
    const int64_t *groups = cz_forms_admitted(&f->arena, &p.forms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(groups[0], 1);
    plan(f, CZ_STRATEGY_GRAM, &p);
    groups = cz_forms_admitted(&f->arena, &p.forms, &n);
    assert_int_equal(n, 1);
    assert_int_equal(groups[0], 2);
}

/* Eight ranks, one matrix, 64 * 32 elements before and after it and 16 of a
 * vector. */
static void the_mean_is_the_least_work_of_all(void **state)
{
    fixture *f = *state;
    planned p;
    plan(f, CZ_STRATEGY_OWNER, &p);
    const cz_time_bounds bounds = find(f, &p);
    int64_t sum = p.forms.classes[0].forms[0].time_ps[0];
    for (int s = 0; s < p.view.n_stages; s++) {
        const cz_where where = p.view.stages[s].where;
        if (where != CZ_WHERE_FULL_MATRIX)
            sum += (where == CZ_WHERE_ELEMENT_WISE ? 16 : 64 * 32) *
                   p.times[s].time_ps / CZ_TIMED_ELEMENTS;
    }
    assert_int_equal(bounds.of[CZ_TIME_MEAN].value_ps, cz_ceil_div(sum, 8));
    assert_int_equal(bounds.of[CZ_TIME_MEAN].n_ranks, 8);
    assert_int_equal(bounds.of[CZ_TIME_LARGEST].value_ps,
                     p.forms.classes[0].forms[0].time_ps[0]);
    assert_int_equal(bounds.of[CZ_TIME_LARGEST].n_ranks, 1);
    assert_int_equal(bounds.kernels, CZ_TIME_LARGEST);
}

static void groups_lower_the_item(void **state)
{
    fixture *f = *state;
    planned p;
    int64_t least = INT64_MAX;
    plan(f, CZ_STRATEGY_AUTO, &p);
    const cz_form_class *of = &p.forms.classes[0];
    for (int i = 0; i < of->n_forms; i++)
        if (of->forms[i].time_ps[0] < least)
            least = of->forms[i].time_ps[0];
    assert_int_equal(find(f, &p).of[CZ_TIME_LARGEST].value_ps, least);
}

/* Nine, as if the pattern had so many. */
static const cz_view_pattern *nine_of(fixture *f, const planned *p)
{
    cz_view_pattern *patterns =
        CZ_NEW(&f->arena, cz_view_pattern, p->view.n_patterns);
    memcpy(patterns, p->view.patterns,
           (size_t)p->view.n_patterns * sizeof *patterns);
    for (int i = 0; i < p->view.n_patterns; i++)
        if (p->forms.class_of[i] >= 0)
            patterns[i].n_params = 9;
    return patterns;
}

/* As a strict plan computes them. */
static const cz_stage_time *one_by_one(fixture *f, const planned *p)
{
    cz_stage_time *times = CZ_NEW(&f->arena, cz_stage_time, p->view.n_stages);
    memcpy(times, p->times, (size_t)p->view.n_stages * sizeof *times);
    for (int s = 0; s < p->view.n_stages; s++)
        times[s].n_batches = times[s].n_batches > 0;
    return times;
}

/* By the mean some rank has nine eighths of one.  A half takes longer than the
 * whole, so that it has two whole ones. */
static void whole_pieces_take_longer_than_the_mean(void **state)
{
    fixture *f = *state;
    planned p;
    plan(f, CZ_STRATEGY_AUTO, &p);
    p.view.patterns = nine_of(f, &p);
    p.times = one_by_one(f, &p);
    const cz_time_bounds bounds = find(f, &p);
    const cz_time_bound *fit = &bounds.of[CZ_TIME_PACKING];
    const cz_form_class *of = &p.forms.classes[0];
    const int64_t whole = of->forms[0].time_ps[0];
    assert_int_equal(bounds.kernels, CZ_TIME_PACKING);
    assert_in_range(fit->value_ps, 2 * whole - whole / 1000,
                    2 * whole + whole / 1000);
    assert_int_equal(fit->n_ranks, 8);
    assert_int_equal(fit->param,
                     p.view.patterns[of->first_pattern].first_param);
    assert_non_null(fit->prices);
    assert_true(bounds.of[CZ_TIME_MEAN].prices == NULL);
}

/* Whoever owns what, and shares it: a plan of other owners has equal bounds. */
static void what_the_planner_chose_is_not_looked_at(void **state)
{
    fixture *f = *state;
    planned p;
    plan(f, CZ_STRATEGY_AUTO, &p);
    const cz_time_bounds before = find(f, &p);
    cz_view_param *params = CZ_NEW(&f->arena, cz_view_param, p.view.n_params);
    memcpy(params, p.view.params, (size_t)p.view.n_params * sizeof *params);
    for (int i = 0; i < p.view.n_params; i++) {
        params[i].split_owner = 3;
        params[i].shard_owner = 0;
        params[i].subgroup_size = 2;
        params[i].stride = 1;
    }
    p.view.params = params;
    p.forms = cz_forms_find(&f->arena, &p.view, &p.machine);
    const cz_time_bounds after = find(f, &p);
    for (int k = 0; k < CZ_TIME_N_BOUNDS; k++) {
        assert_int_equal(before.of[k].value_ps, after.of[k].value_ps);
        assert_int_equal(before.of[k].bytes, after.of[k].bytes);
    }
}

static int open_wire(void **state)
{
    return fixture_open_file(state, CANZONA_SOURCE_DIR
                             "/tests/unit/passes/cost/wire.cz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_those_that_shards_allow),
        cmocka_unit_test(an_owner_alone_is_admitted_when_asked_for),
        cmocka_unit_test(the_mean_is_the_least_work_of_all),
        cmocka_unit_test(groups_lower_the_item),
        cmocka_unit_test(whole_pieces_take_longer_than_the_mean),
        cmocka_unit_test(what_the_planner_chose_is_not_looked_at),
    };
    return cmocka_run_group_tests(tests, open_wire, fixture_close);
}
