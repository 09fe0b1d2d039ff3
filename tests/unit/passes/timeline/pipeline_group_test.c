/* Micro-groups: the study's table of public groupings comes out, staging is
 * what is held, and nothing beats the bound. */
#include "passes/timeline/group.h"

#include "tests/unit/passes/solve/published_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WIDTH = 8, MAX_ITEMS = 256 };

/* Qwen3-32B as Megatron stores it, in the order of definition. */
static int fill_layers(cz_pipeline_item *items, int n_layers,
                       const published_machine *machine)
{
    static const int64_t shapes[][2] = {
        {5120, 8192}, {5120, 10240}, {5120, 51200}, {5120, 25600}};
    int n = 0;
    for (int layer = 0; layer < n_layers; layer++)
        for (int m = 0; m < 4; m++) {
            const published_shape shape = {shapes[m][0], shapes[m][1], false,
                                           false};
            const cz_subgroup_way *ways;
            cz_arena arena;
            cz_arena_init(&arena);
            published_list_ways(&arena, machine, &shape, WIDTH, 1, &ways);
            items[n++] = (cz_pipeline_item){
                .elements = shapes[m][0] * shapes[m][1],
                .compute_ps = cz_subgroup_work_ps(&ways[0]),
                .gather_ps = ways[0].gather_ps,
                .gather_other_ps = ways[0].gather_ps / (WIDTH - 1),
                .scatter_ps = ways[0].scatter_ps,
                .scatter_other_ps = ways[0].scatter_ps / (WIDTH - 1),
                .staging_bytes = ways[0].staging_bytes};
            cz_arena_fini(&arena);
        }
    return n;
}

static void expect_near(int64_t ps, int tenths_ms)
{
    const int64_t want = tenths_ms * 100000000LL;
    assert_in_range(ps, want - want / 200 - 50000000,
                    want + want / 200 + 50000000);
}

typedef struct row {
    int n_layers;
    int public[CZ_PIPELINE_N_PUBLIC][2]; /* serial, double; tenths of ms */
} row;

/* Slots count elements of shards there: eight times as many of matrices. */
static void check_row(const row *want)
{
    const published_machine machine = notes_machine();
    cz_pipeline_item items[MAX_ITEMS];
    cz_pipeline_problem problem = {WIDTH,
                                   fill_layers(items, want->n_layers, &machine),
                                   items, machine.latency_ps, INT64_MAX};
    cz_arena arena;
    cz_arena_init(&arena);
    for (int kind = 0; kind < CZ_PIPELINE_N_PUBLIC; kind++)
        for (int overlap = 0; overlap < 2; overlap++) {
            const cz_pipeline_groups groups = cz_pipeline_publish(
                &arena, &problem, (cz_pipeline_public)kind,
                (int64_t)CZ_PUBLIC_SLOT * WIDTH, (cz_pipeline_overlap)overlap);
            const cz_pipeline_cost cost =
                cz_pipeline_evaluate(&arena, &problem, &groups, NULL);
            expect_near(cost.time_ps, want->public[kind][overlap]);
            assert_true(cost.time_ps >= cz_pipeline_bound(&problem));
        }
    cz_arena_fini(&arena);
}

static void test_public_groupings_take_the_modelled_times(void **unused)
{
    static const row rows[] = {
        {64, {{16940, 15860}, {8270, 7770}, {8390, 8190}, {8260, 8070}}},
        {16, {{4230, 3990}, {2070, 1960}, {2070, 2070}, {2070, 2070}}},
        {2, {{529, 529}, {529, 529}, {529, 529}, {529, 529}}},
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

static void draw_items(cz_pipeline_problem *problem, cz_pipeline_item *items,
                       uint64_t *random)
{
    for (int i = 0; i < problem->n_items; i++) {
        const int64_t size = 1 + (int64_t)next_random(random, 50);
        items[i] = (cz_pipeline_item){
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
static int64_t held_at(const cz_pipeline_problem *problem,
                       const cz_pipeline_groups *groups,
                       const cz_pipeline_list *list,
                       const cz_pipeline_times *times, int rank, int64_t at)
{
    int64_t held = 0;
    int n_gathers = 0, n_scatters = 0;
    int64_t from[MAX_ITEMS], to[MAX_ITEMS];
    for (int op = 0; op < list->n_ops; op++) {
        const cz_pipeline_op *o = &list->ops[op];
        const int64_t end = times->end[op * list->n_ranks + rank];
        const bool is_scatter =
            o->n_waits > 0 &&
            list->ops[o->waits[0]].stream == CZ_PIPELINE_COMPUTE;
        if (o->stream == CZ_PIPELINE_COMPUTE)
            continue;
        if (is_scatter)
            to[n_scatters++] = end;
        else
            from[n_gathers++] = end - (o->ps[rank] > 0 ? o->ps[rank] : 0);
    }
    assert_int_equal(n_gathers, groups->n_groups);
    assert_int_equal(n_scatters, groups->n_groups);
    for (int i = 0; i < problem->n_items; i++)
        if (groups->owner[i] == rank && at >= from[groups->group[i]] &&
            at < to[groups->group[i]])
            held += problem->items[i].staging_bytes;
    return held;
}

static void check_groups(const cz_pipeline_problem *problem,
                         const cz_pipeline_groups *groups,
                         const cz_pipeline_cost *want)
{
    cz_arena arena;
    cz_pipeline_list list;
    cz_arena_init(&arena);
    const cz_pipeline_cost cost =
        cz_pipeline_evaluate(&arena, problem, groups, &list);
    const cz_pipeline_times times = cz_pipeline_simulate(&arena, &list);
    assert_true(cost.time_ps == want->time_ps);
    assert_true(times.makespan == cost.time_ps);
    for (int i = 0; i < problem->n_items; i++) {
        assert_in_range(groups->group[i], 0, groups->n_groups - 1);
        assert_in_range(groups->owner[i], 0, problem->n_ranks - 1);
    }
    for (int rank = 0; rank < problem->n_ranks && problem->n_ranks > 1; rank++)
        for (int op = 0; op < list.n_ops; op++)
            assert_true(held_at(problem, groups, &list, &times, rank,
                                times.end[op * list.n_ranks + rank]) <=
                        cost.staging_bytes);
    cz_arena_fini(&arena);
}

static void test_random_groupings_hold_their_staging_and_no_bound(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        cz_pipeline_item items[MAX_ITEMS];
        cz_pipeline_problem problem = {1 + (int)next_random(&random, 6),
                                       1 + (int)next_random(&random, 30), items,
                                       3, INT64_MAX};
        cz_arena arena;
        cz_arena_init(&arena);
        draw_items(&problem, items, &random);
        if (seed % 2)
            problem.staging_cap_bytes = 80;
        for (int kind = 0; kind < CZ_PIPELINE_N_PUBLIC; kind++)
            for (int overlap = 0; overlap < 2; overlap++) {
                const cz_pipeline_groups groups = cz_pipeline_publish(
                    &arena, &problem, (cz_pipeline_public)kind, 50,
                    (cz_pipeline_overlap)overlap);
                const cz_pipeline_cost cost =
                    cz_pipeline_evaluate(&arena, &problem, &groups, NULL);
                check_groups(&problem, &groups, &cost);
                assert_true(cost.time_ps >= cz_pipeline_bound(&problem));
            }
        cz_arena_fini(&arena);
    }
}

static void test_nothing_makes_no_group(void **unused)
{
    const cz_pipeline_problem problem = {4, 0, NULL, 3, 0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int kind = 0; kind < CZ_PIPELINE_N_PUBLIC; kind++) {
        const cz_pipeline_groups groups = cz_pipeline_publish(
            &arena, &problem, (cz_pipeline_public)kind, 50, CZ_PIPELINE_DOUBLE);
        assert_int_equal(groups.n_groups, 0);
    }
    assert_int_equal(cz_pipeline_bound(&problem), 0);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_groupings_take_the_modelled_times),
        cmocka_unit_test(test_random_groupings_hold_their_staging_and_no_bound),
        cmocka_unit_test(test_nothing_makes_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
