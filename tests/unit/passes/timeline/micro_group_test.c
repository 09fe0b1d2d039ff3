/* Micro-groups: the study's table of baselines comes out, staging is
 * what is held, and nothing beats the bound. */
#include "passes/timeline/micro_group.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"
#include "tests/unit/passes/solve/published_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WIDTH = 8, MAX_ITEMS = 256 };

/* Qwen3-32B as Megatron stores it, in the order of definition. */
static int fill_layers(cz_timeline_item *items, int n_layers,
                       const published_machine *machine)
{
    static const int64_t shapes[][2] = {
        {5120, 8192}, {5120, 10240}, {5120, 51200}, {5120, 25600}};
    int n = 0;
    for (int layer = 0; layer < n_layers; layer++)
        for (int m = 0; m < 4; m++) {
            const published_shape shape = {shapes[m][0], shapes[m][1], false,
                                           false};
            const cz_subgroup_candidate *candidates;
            cz_arena arena;
            cz_arena_init(&arena);
            published_list_ways(&arena, machine, &shape, WIDTH, 1, &candidates);
            items[n++] = (cz_timeline_item){
                .elements = shapes[m][0] * shapes[m][1],
                .compute_ps = cz_subgroup_work_ps(&candidates[0]),
                .gather_ps = candidates[0].gather_ps,
                .gather_other_ps = candidates[0].gather_ps / (WIDTH - 1),
                .scatter_ps = candidates[0].scatter_ps,
                .scatter_other_ps = candidates[0].scatter_ps / (WIDTH - 1),
                .staging_bytes = candidates[0].staging_bytes};
            cz_arena_fini(&arena);
        }
    return n;
}

/* No grouping of full matrices is faster: compute or link time divided evenly,
 * or the slowest matrix. */
static int64_t bound_of(const cz_timeline_problem *problem)
{
    int64_t compute = 0, link = 0, slowest = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_timeline_item *item = &problem->items[i];
        int64_t alone = item->compute_ps + item->gather_ps + item->scatter_ps;
        alone += item->gather_ps > 0 ? problem->latency_ps : 0;
        alone += item->scatter_ps > 0 ? problem->latency_ps : 0;
        compute += item->compute_ps;
        link += item->gather_ps + item->scatter_ps;
        slowest = cz_solve_max(slowest, alone);
    }
    return cz_solve_max(
        slowest, cz_ceil_div(cz_solve_max(compute, link), problem->n_ranks));
}

static void expect_near(int64_t ps, int tenths_ms)
{
    const int64_t want = tenths_ms * 100000000LL;
    assert_in_range(ps, want - want / 200 - 50000000,
                    want + want / 200 + 50000000);
}

typedef struct row {
    int n_layers;
    int baselines[CZ_TIMELINE_N_BASELINES]; /* tenths of ms */
} row;

/* Slots count elements of shards there: eight times as many of matrices. */
static void check_row(const row *want)
{
    const published_machine machine = notes_machine();
    cz_timeline_item items[MAX_ITEMS];
    cz_timeline_problem problem = {WIDTH,
                                   fill_layers(items, want->n_layers, &machine),
                                   items, machine.latency_ps};
    cz_arena arena;
    cz_arena_init(&arena);
    for (int kind = 0; kind < CZ_TIMELINE_N_BASELINES; kind++) {
        const cz_timeline_micro_groups groups = cz_timeline_micro_groups_make(
            &arena, &problem, (cz_timeline_baseline)kind,
            (int64_t)CZ_TIMELINE_SLOT_ELEMENTS * WIDTH);
        const cz_timeline_cost cost =
            cz_timeline_micro_groups_run(&arena, &problem, &groups);
        expect_near(cost.time_ps, want->baselines[kind]);
        assert_true(cost.time_ps >= bound_of(&problem));
    }
    cz_arena_fini(&arena);
}

static void test_baselines_take_the_modelled_times(void **unused)
{
    static const row rows[] = {
        {64, {15860, 7770, 8190, 8070}},
        {16, {3990, 1960, 2070, 2070}},
        {2, {529, 529, 529, 529}},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

/* ---- random problems ---- */

static uint64_t next_random(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

static void draw_items(cz_timeline_problem *problem, cz_timeline_item *items,
                       uint64_t *random)
{
    for (int i = 0; i < problem->n_items; i++) {
        const int64_t size = 1 + (int64_t)next_random(random, 50);
        items[i] = (cz_timeline_item){
            .elements = size,
            .compute_ps = size * (int64_t)next_random(random, 40),
            .gather_ps = problem->n_ranks > 1 ? 4 * size : 0,
            .gather_other_ps = problem->n_ranks > 1 ? size : 0,
            .scatter_ps = problem->n_ranks > 1 ? 2 * size : 0,
            .scatter_other_ps = problem->n_ranks > 1 ? 1 : 0,
            .staging_bytes = size};
    }
}

/* Bytes held on a rank at a time: from the start of a group's gather to the
 * end of its scatter.  Gathers and scatters come group by group. */
static int64_t held_at(const cz_timeline_problem *problem,
                       const cz_timeline_micro_groups *groups,
                       const cz_timeline_list *list,
                       const cz_timeline_times *times, int rank, int64_t at)
{
    int64_t held = 0;
    int n_gathers = 0, n_scatters = 0;
    int64_t from[MAX_ITEMS], to[MAX_ITEMS];
    for (int op = 0; op < list->n_ops; op++) {
        const cz_timeline_op *o = &list->ops[op];
        const int64_t end = times->end[op * list->n_ranks + rank];
        const bool is_scatter =
            o->n_waits > 0 &&
            list->ops[o->waits[0]].stream == CZ_TIMELINE_COMPUTE;
        if (o->stream == CZ_TIMELINE_COMPUTE)
            continue;
        if (is_scatter)
            to[n_scatters++] = end;
        else
            from[n_gathers++] = end - (o->ps[rank] > 0 ? o->ps[rank] : 0);
    }
    assert_int_equal(n_gathers, groups->n);
    assert_int_equal(n_scatters, groups->n);
    for (int i = 0; i < problem->n_items; i++)
        if (groups->owner[i] == rank && at >= from[groups->of[i]] &&
            at < to[groups->of[i]])
            held += problem->items[i].staging_bytes;
    return held;
}

static void check_groups(cz_arena *arena, const cz_timeline_problem *problem,
                         const cz_timeline_micro_groups *groups)
{
    const cz_timeline_cost cost =
        cz_timeline_micro_groups_run(arena, problem, groups);
    const cz_timeline_list list =
        cz_timeline_micro_groups_list(arena, problem, groups);
    const cz_timeline_times times = cz_timeline_simulate(arena, &list);
    assert_true(times.makespan == cost.time_ps);
    assert_true(cost.time_ps >= bound_of(problem));
    for (int i = 0; i < problem->n_items; i++) {
        assert_in_range(groups->of[i], 0, groups->n - 1);
        assert_in_range(groups->owner[i], 0, problem->n_ranks - 1);
    }
    for (int rank = 0; rank < problem->n_ranks && problem->n_ranks > 1; rank++)
        for (int op = 0; op < list.n_ops; op++)
            assert_true(held_at(problem, groups, &list, &times, rank,
                                times.end[op * list.n_ranks + rank]) <=
                        cost.staging_bytes);
}

static void test_random_groups_hold_their_staging_and_no_bound(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        cz_timeline_item items[MAX_ITEMS];
        cz_timeline_problem problem = {1 + (int)next_random(&random, 6),
                                       1 + (int)next_random(&random, 30), items,
                                       3};
        cz_arena arena;
        cz_arena_init(&arena);
        draw_items(&problem, items, &random);
        for (int kind = 0; kind < CZ_TIMELINE_N_BASELINES; kind++) {
            const cz_timeline_micro_groups groups =
                cz_timeline_micro_groups_make(&arena, &problem,
                                              (cz_timeline_baseline)kind, 50);
            check_groups(&arena, &problem, &groups);
        }
        cz_arena_fini(&arena);
    }
}

static void test_nothing_makes_no_group(void **unused)
{
    const cz_timeline_problem problem = {4, 0, NULL, 3};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int kind = 0; kind < CZ_TIMELINE_N_BASELINES; kind++) {
        const cz_timeline_micro_groups groups = cz_timeline_micro_groups_make(
            &arena, &problem, (cz_timeline_baseline)kind, 50);
        assert_int_equal(groups.n, 0);
        assert_int_equal(
            cz_timeline_micro_groups_run(&arena, &problem, &groups).time_ps, 0);
    }
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_baselines_take_the_modelled_times),
        cmocka_unit_test(test_random_groups_hold_their_staging_and_no_bound),
        cmocka_unit_test(test_nothing_makes_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
