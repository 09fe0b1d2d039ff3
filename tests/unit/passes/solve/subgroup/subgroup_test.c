/* The sub-group planner: lists are as fast as they claim, caps hold, every
 * matrix is planned once, tiny problems are solved to the optimum, and no
 * plan at all beats a bound. */
#include "passes/solve/subgroup/subgroup.h"

#include "tests/unit/passes/solve/grids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_CLASSES = 4, MAX_JOBS = 16, MAX_BATCH = 3 };

typedef struct sample {
    cz_arena *arena;
    cz_subgroup_problem problem;
    cz_subgroup_class classes[MAX_CLASSES];
} sample;

static uint64_t next_random(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

/* Matrices of random shape; some cut along their short side, in some problems
 * all in place. */
static void make(sample *s, uint64_t seed, int n_rows, int width,
                 int max_matrices)
{
    uint64_t random = seed;
    published_machine machine =
        next_random(&random, 2) ? tiled_machine() : notes_machine();
    machine.is_packed = next_random(&random, 2);
    const bool in_place = next_random(&random, 3) == 0;
    s->problem = (cz_subgroup_problem){
        .n_rows = n_rows,
        .width = width,
        .n_classes = 1 + (int)next_random(&random, MAX_CLASSES - 1),
        .classes = s->classes,
        .latency_ps = machine.latency_ps,
        .states_on_block = in_place,
        .staging_cap_bytes = INT64_MAX,
        .state_cap_bytes = INT64_MAX,
        .wire_cap_bytes = INT64_MAX,
        .effort = 4000};
    for (int c = 0; c < s->problem.n_classes; c++) {
        const int64_t n = 512 * (1 + (int64_t)next_random(&random, 8));
        const published_shape shape = {
            n, n * (1 + (int64_t)next_random(&random, 8)),
            next_random(&random, 3) == 0, in_place};
        s->classes[c] = (cz_subgroup_class){
            .count = (int)next_random(&random, (uint64_t)max_matrices + 1),
            .state_bytes = shape.short_side * shape.long_side * 8};
        s->classes[c].n_ways = published_list_ways(
            s->arena, &machine, &shape, width, MAX_BATCH, &s->classes[c].ways);
    }
}

static cz_subgroup_job random_job(const sample *s, uint64_t *random, int of)
{
    const int n_ways = s->classes[of].n_ways;
    const int way = (int)next_random(random, (uint64_t)n_ways);
    const int g = s->classes[of].ways[way].g;
    return (cz_subgroup_job){
        of, way,
        g * (int)next_random(random, (uint64_t)(s->problem.width / g))};
}

static int random_jobs(const sample *s, uint64_t *random, cz_subgroup_job *jobs)
{
    const int n = 1 + (int)next_random(random, MAX_JOBS);
    for (int i = 0; i < n; i++)
        jobs[i] = random_job(
            s, random,
            (int)next_random(random, (uint64_t)s->problem.n_classes));
    return n;
}

/* Buffers waited for on one rank may hold up another one a little more in the
 * builder's own clock, never less. */
static void test_a_list_takes_what_its_builder_says(void **unused)
{
    int n_equal = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed * 77;
        cz_subgroup_job jobs[MAX_JOBS];
        cz_subgroup_cost cost;
        cz_pipeline_list list;
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1, 8, 4);
        if (seed % 2)
            s.problem.staging_cap_bytes = 512 << 20;
        const int n = random_jobs(&s, &random, jobs);
        if (cz_subgroup_run(&arena, &s.problem, jobs, n, &cost, &list)) {
            const cz_pipeline_times times = cz_pipeline_simulate(&arena, &list);
            assert_true(times.makespan <= cost.time_ps);
            assert_true(times.makespan >= cost.time_ps / 100 * 97);
            n_equal += times.makespan == cost.time_ps;
            assert_true(cost.staging_bytes <= s.problem.staging_cap_bytes);
        }
        cz_arena_fini(&arena);
    }
    assert_true(n_equal > 250);
}

/* Compute and link time of every rank is the sum over its matrices. */
static void test_a_list_has_all_the_work(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * 31;
        cz_subgroup_job jobs[MAX_JOBS];
        cz_subgroup_cost cost;
        cz_pipeline_list list;
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1, 8, 4);
        const int n = random_jobs(&s, &random, jobs);
        assert_true(cz_subgroup_run(&arena, &s.problem, jobs, n, &cost, &list));
        const cz_pipeline_times times = cz_pipeline_simulate(&arena, &list);
        int64_t wire = 0;
        for (int rank = 0; rank < 8; rank++) {
            int64_t compute = 0;
            for (int i = 0; i < n; i++) {
                const cz_subgroup_way *way =
                    &s.classes[jobs[i].of].ways[jobs[i].way];
                if (rank >= jobs[i].first && rank < jobs[i].first + way->g)
                    compute += cz_subgroup_work_ps(way) / way->g;
                wire += rank == 0 ? way->wire_bytes : 0;
            }
            assert_true(times.busy[rank] == compute);
        }
        assert_true(cost.wire_bytes == wire);
        cz_arena_fini(&arena);
    }
}

/* ---- buffers, from the list alone ---- */

typedef struct span {
    int64_t from, to;
} span;

/* Whether the operation, which is of several jobs, scatters this one: it waits
 * for one that is of the job alone, and of its block. */
static bool scatters(const cz_pipeline_list *list, const cz_pipeline_op *op,
                     int job)
{
    for (int w = 0; w < op->n_waits; w++) {
        const cz_pipeline_op *last = &list->ops[op->waits[w]];
        if (op->of == -1 && last->of == job && last->n < list->n_ranks)
            return true;
    }
    return false;
}

/* On a rank: from the start of the job's gather, or else of its first product,
 * to the end of its last operation. */
static span span_of(const cz_pipeline_list *list,
                    const cz_pipeline_times *times, int job, bool gathers,
                    int rank)
{
    span held = {-1, 0};
    for (int i = 0; i < list->n_ops; i++) {
        const cz_pipeline_op *op = &list->ops[i];
        const int64_t end = times->end[i * list->n_ranks + rank];
        if (op->of != job && !scatters(list, op, job))
            continue;
        if (held.from < 0)
            held.from = end - op->ps[rank - op->first];
        for (int w = 0; gathers && w < op->n_waits && held.to == 0; w++) {
            const cz_pipeline_op *gather = &list->ops[op->waits[w]];
            if (op->stream == CZ_PIPELINE_COMPUTE && gather->of == -1)
                held.from = times->end[op->waits[w] * list->n_ranks + rank] -
                            gather->ps[rank];
        }
        held.to = end;
    }
    return held;
}

static void check_buffers(const sample *s, const cz_subgroup_job *jobs, int n,
                          const cz_pipeline_list *list,
                          const cz_pipeline_times *times, int64_t peak)
{
    for (int rank = 0; rank < list->n_ranks; rank++) {
        span spans[MAX_JOBS];
        int64_t bytes[MAX_JOBS];
        for (int i = 0; i < n; i++) {
            const cz_subgroup_way *way =
                &s->classes[jobs[i].of].ways[jobs[i].way];
            const bool is_on =
                rank >= jobs[i].first && rank < jobs[i].first + way->g;
            spans[i] = (span){0, 0};
            if (is_on)
                spans[i] = span_of(list, times, i, way->gather_ps > 0, rank);
            bytes[i] = is_on ? way->staging_bytes : 0;
        }
        for (int at = 0; at < n; at++) {
            int64_t held = 0;
            for (int i = 0; i < n; i++)
                if (spans[i].from <= spans[at].from &&
                    spans[at].from < spans[i].to)
                    held += bytes[i];
            assert_true(held <= peak);
        }
    }
}

static void test_buffers_are_waited_for(void **unused)
{
    int n_short = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed * 99;
        cz_subgroup_job jobs[MAX_JOBS];
        cz_subgroup_cost cost, free;
        cz_pipeline_list list;
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1, 8, 4);
        const int n = random_jobs(&s, &random, jobs);
        assert_true(cz_subgroup_run(&arena, &s.problem, jobs, n, &free, NULL));
        s.problem.staging_cap_bytes = free.staging_bytes / 2;
        if (cz_subgroup_run(&arena, &s.problem, jobs, n, &cost, &list)) {
            const cz_pipeline_times times = cz_pipeline_simulate(&arena, &list);
            assert_true(cost.staging_bytes <= s.problem.staging_cap_bytes);
            check_buffers(&s, jobs, n, &list, &times, cost.staging_bytes);
            n_short++;
        }
        cz_arena_fini(&arena);
    }
    assert_true(n_short > 150);
}

/* Four pairs of ranks gather and scatter all at once: a row takes what one of
 * them takes alone, but that a rank also sends to three others. */
static void test_matrices_on_other_ranks_scatter_together(void **unused)
{
    const cz_subgroup_part part = {100, 0};
    const cz_subgroup_way way = {.g = 2,
                                 .n_parts = 1,
                                 .parts = &part,
                                 .gather_ps = 30,
                                 .gather_other_ps = 5,
                                 .scatter_ps = 20,
                                 .scatter_other_ps = 5};
    cz_subgroup_class class = {.count = 4, .n_ways = 1, .ways = &way};
    const cz_subgroup_problem problem = {.n_rows = 1,
                                         .width = 8,
                                         .n_classes = 1,
                                         .classes = &class,
                                         .latency_ps = 7,
                                         .staging_cap_bytes = INT64_MAX};
    const cz_subgroup_job jobs[] = {
        {.first = 0}, {.first = 2}, {.first = 4}, {.first = 6}, {.first = 0}};
    cz_subgroup_cost cost;
    cz_pipeline_list list;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    assert_true(cz_subgroup_run(&arena, &problem, jobs, 4, &cost, &list));
    assert_int_equal(cost.time_ps, cz_subgroup_alone_ps(&way, 7));
    assert_int_equal(list.n_ops, 1 + 4 + 1);
    assert_int_equal(list.ops[5].of, -1);
    assert_int_equal(list.ops[5].n_waits, 4);
    /* a second one on the first pair goes back alone */
    assert_true(cz_subgroup_run(&arena, &problem, jobs, 5, &cost, &list));
    assert_int_equal(cost.time_ps, 37 + 100 + 100 + 27);
    cz_arena_fini(&arena);
}

static void count_jobs(const cz_subgroup_problem *problem,
                       const cz_subgroup_plan *plan, int *counts)
{
    for (int row = 0; row < problem->n_rows; row++)
        for (int i = 0; i < plan->rows[row].n_jobs; i++) {
            const cz_subgroup_job *job = &plan->rows[row].jobs[i];
            const cz_subgroup_way *way =
                &problem->classes[job->of].ways[job->way];
            assert_true(job->first >= 0 && job->first % way->g == 0 &&
                        job->first + way->g <= problem->width);
            counts[job->of] += cz_subgroup_batch(way);
        }
}

/* The plan's figures, row by row, from its jobs alone. */
static void check(cz_arena *arena, const cz_subgroup_problem *problem,
                  const cz_subgroup_plan *plan)
{
    int counts[MAX_CLASSES] = {0};
    int64_t time = 0, wire = 0;
    count_jobs(problem, plan, counts);
    for (int c = 0; c < problem->n_classes; c++)
        assert_int_equal(counts[c], problem->classes[c].count);
    for (int row = 0; row < problem->n_rows; row++) {
        cz_subgroup_cost cost;
        assert_true(cz_subgroup_run(arena, problem, plan->rows[row].jobs,
                                    plan->rows[row].n_jobs, &cost, NULL));
        time = cost.time_ps > time ? cost.time_ps : time;
        wire += cost.wire_bytes;
        assert_true(cost.staging_bytes <= plan->staging_bytes);
        assert_true(cost.state_bytes <= plan->state_bytes);
    }
    assert_true(time == plan->time_ps);
    assert_true(wire == plan->wire_bytes);
}

/* Rows that may exchange matrices are done as soon, but for a part in 32, and
 * none has more states.  Whether they are done sooner. */
static bool check_redealt(sample *s, const cz_subgroup_plan *dealt)
{
    s->problem.n_redeals = 200;
    const cz_subgroup_plan plan = cz_subgroup_solve(s->arena, &s->problem);
    s->problem.n_redeals = 0;
    check(s->arena, &s->problem, &plan);
    assert_true(plan.is_feasible == dealt->is_feasible);
    assert_true(plan.time_ps <= dealt->time_ps + dealt->time_ps / 32);
    if (!s->problem.states_on_block)
        assert_true(plan.state_bytes <= dealt->state_bytes);
    if (plan.is_feasible)
        assert_true(plan.wire_bytes <= s->problem.wire_cap_bytes);
    return plan.time_ps < dealt->time_ps;
}

static void test_plans_keep_caps_and_bounds(void **unused)
{
    static const int widths[] = {1, 2, 4, 8, 3, 6, 12};
    int n_sooner = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1 + (int)(seed % 5), widths[seed % 7], 8);
        const cz_subgroup_plan free = cz_subgroup_solve(&arena, &s.problem);
        const cz_subgroup_bounds bounds =
            cz_subgroup_find_bounds(&arena, &s.problem);
        assert_true(free.is_feasible);
        check(&arena, &s.problem, &free);
        assert_true(free.time_ps >= bounds.of_kind[bounds.binding].time_ps);
        s.problem.wire_cap_bytes = free.wire_bytes - free.wire_bytes / 20;
        s.problem.staging_cap_bytes = free.staging_bytes;
        s.problem.state_cap_bytes = free.state_bytes;
        const cz_subgroup_plan tight = cz_subgroup_solve(&arena, &s.problem);
        check(&arena, &s.problem, &tight);
        assert_true(tight.staging_bytes <= free.staging_bytes);
        assert_true(tight.state_bytes <= free.state_bytes);
        assert_true(tight.is_feasible ==
                    (tight.wire_bytes <= s.problem.wire_cap_bytes));
        n_sooner += check_redealt(&s, &tight);
        cz_arena_fini(&arena);
    }
    print_message("%d of 60 done sooner with other rows\n", n_sooner);
    assert_true(n_sooner > 0);
}

/* ---- every plan of a tiny row ---- */

typedef struct everything {
    const cz_subgroup_problem *problem;
    int n;
    cz_subgroup_job jobs[MAX_JOBS];
    int64_t best;
} everything;

static void try_all(everything *all, int job)
{
    if (job == all->n) {
        cz_arena arena;
        cz_subgroup_cost cost;
        cz_arena_init(&arena);
        if (cz_subgroup_run(&arena, all->problem, all->jobs, all->n, &cost,
                            NULL) &&
            cost.time_ps < all->best)
            all->best = cost.time_ps;
        cz_arena_fini(&arena);
        return;
    }
    const cz_subgroup_class *of = &all->problem->classes[all->jobs[job].of];
    for (int way = 0; way < of->n_ways; way++)
        for (int first = 0; first < all->problem->width;
             first += of->ways[way].g) {
            all->jobs[job].way = way;
            all->jobs[job].first = first;
            try_all(all, job + 1);
        }
}

static void test_tiny_rows_are_planned_as_well_as_by_trying_all(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        everything all = {.problem = &s.problem, .best = INT64_MAX};
        cz_arena_init(&arena);
        make(&s, seed, 1, 4, 1);
        for (int c = 0; c < s.problem.n_classes; c++)
            for (int i = 0; i < s.classes[c].count; i++)
                all.jobs[all.n++].of = c;
        try_all(&all, 0);
        const cz_subgroup_plan plan = cz_subgroup_solve(&arena, &s.problem);
        const cz_subgroup_bounds bounds =
            cz_subgroup_find_bounds(&arena, &s.problem);
        assert_true(plan.time_ps <= all.best);
        assert_true(all.best >= bounds.of_kind[bounds.binding].time_ps);
        cz_arena_fini(&arena);
    }
}

/* 64 matrices of 768 x 2048 fill no GPU one by one. */
static void test_small_matrices_are_updated_in_batches(void **unused)
{
    published_machine machine = tiled_machine();
    const published_shape shape = {768, 2048, false, false};
    int64_t time[2];
    (void)unused;
    for (int batches = 0; batches < 2; batches++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, 1, 1, 8, 0);
        s.problem.n_classes = 1;
        s.classes[0] = (cz_subgroup_class){.count = 64};
        s.classes[0].n_ways = published_list_ways(
            &arena, &machine, &shape, 8, batches ? 8 : 1, &s.classes[0].ways);
        const cz_subgroup_plan plan = cz_subgroup_solve(&arena, &s.problem);
        check(&arena, &s.problem, &plan);
        time[batches] = plan.time_ps;
        cz_arena_fini(&arena);
    }
    assert_true(time[1] < time[0] / 2);
}

static void test_equal_problems_have_equal_plans(void **unused)
{
    cz_subgroup_plan plans[2];
    cz_arena arenas[2];
    (void)unused;
    for (int i = 0; i < 2; i++) {
        sample s = {.arena = &arenas[i]};
        cz_arena_init(&arenas[i]);
        make(&s, 5, 3, 8, 8);
        plans[i] = cz_subgroup_solve(&arenas[i], &s.problem);
    }
    for (int row = 0; row < 3; row++) {
        const cz_subgroup_row *a = &plans[0].rows[row],
                              *b = &plans[1].rows[row];
        assert_int_equal(a->n_jobs, b->n_jobs);
        assert_memory_equal(a->jobs, b->jobs,
                            sizeof *a->jobs * (size_t)a->n_jobs);
    }
    for (int i = 0; i < 2; i++)
        cz_arena_fini(&arenas[i]);
}

static void test_a_matrix_beyond_the_cap_has_no_plan(void **unused)
{
    cz_arena arena;
    sample s = {.arena = &arena};
    (void)unused;
    cz_arena_init(&arena);
    make(&s, 3, 2, 4, 4);
    s.classes[0].count = 1;
    s.problem.staging_cap_bytes = 0;
    s.problem.wire_cap_bytes = 0;
    assert_false(cz_subgroup_solve(&arena, &s.problem).is_feasible);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_takes_what_its_builder_says),
        cmocka_unit_test(test_a_list_has_all_the_work),
        cmocka_unit_test(test_buffers_are_waited_for),
        cmocka_unit_test(test_matrices_on_other_ranks_scatter_together),
        cmocka_unit_test(test_plans_keep_caps_and_bounds),
        cmocka_unit_test(test_tiny_rows_are_planned_as_well_as_by_trying_all),
        cmocka_unit_test(test_small_matrices_are_updated_in_batches),
        cmocka_unit_test(test_equal_problems_have_equal_plans),
        cmocka_unit_test(test_a_matrix_beyond_the_cap_has_no_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
