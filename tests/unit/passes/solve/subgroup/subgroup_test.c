/* The sub-group solver: every matrix is planned once on an aligned block, caps
 * hold, times lie between those of the busiest rank and of one matrix after the
 * other, no plan of one size for all is better, and neither the order of
 * classes nor another run changes anything. */
#include "passes/solve/subgroup/subgroup.h"

#include "tests/unit/passes/solve/published_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_CLASSES = 4, MAX_WIDTH = 16 };

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

/* The owner, and one way for each size of group: n x n products dealt out. */
static void list_ways(sample *s, const published_machine *machine,
                      const published_shape *shape, cz_subgroup_class *of)
{
    const cz_subgroup_candidate *all;
    const int n = published_list_ways(s->arena, machine, shape,
                                      s->problem.width, 1, &all);
    cz_subgroup_candidate *candidates =
        CZ_NEW(s->arena, cz_subgroup_candidate, n);
    for (int w = 0; w < n; w++)
        if (all[w].form != CZ_SUBGROUP_GRAM)
            candidates[of->n_candidates++] = all[w];
    of->candidates = candidates;
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
        .staging_cap_bytes = INT64_MAX};
    for (int c = 0; c < s->problem.n_classes; c++) {
        const int64_t n = 512 * (1 + (int64_t)next_random(&random, 8));
        const published_shape shape = {
            n, n * (1 + (int64_t)next_random(&random, 8)),
            next_random(&random, 3) == 0, in_place};
        s->classes[c] = (cz_subgroup_class){
            .count = (int)next_random(&random, (uint64_t)max_matrices + 1),
            .state_bytes = shape.short_side * shape.long_side * 8};
        list_ways(s, &machine, &shape, &s->classes[c]);
    }
}

static cz_subgroup_plan best(const sample *s)
{
    return cz_subgroup_within(cz_subgroup_solve(s->arena, &s->problem),
                              INT64_MAX);
}

/* A row's figures, as far as its jobs alone say them. */
static void check_row(const cz_subgroup_problem *problem,
                      const cz_subgroup_row *row, int *counts)
{
    int64_t compute[MAX_WIDTH] = {0}, alone = 0, wire = 0, state = 0;
    for (int i = 0; i < row->n_jobs; i++) {
        const cz_subgroup_job *job = &row->jobs[i];
        const cz_subgroup_class *of = &problem->classes[job->of];
        const cz_subgroup_candidate *candidate =
            &of->candidates[job->candidate];
        const int64_t ps = cz_subgroup_alone_ps(candidate, problem->latency_ps);
        assert_true(job->first >= 0 && job->first % candidate->g == 0 &&
                    job->first + candidate->g <= problem->width);
        assert_true(row->cost.time_ps >= ps);
        assert_true(candidate->staging_bytes <= row->cost.staging_bytes);
        for (int k = job->first; k < job->first + candidate->g; k++)
            compute[k] += cz_subgroup_work_ps(candidate) / candidate->g;
        alone += ps;
        wire += candidate->wire_bytes;
        state += of->state_bytes;
        counts[job->of]++;
    }
    for (int k = 0; k < problem->width; k++)
        assert_true(row->cost.time_ps >= compute[k]);
    assert_true(row->cost.time_ps <= alone);
    assert_true(row->cost.wire_bytes == wire);
    assert_true(row->cost.staging_bytes <= problem->staging_cap_bytes);
    assert_true(row->state_bytes == state);
}

static void check(const cz_subgroup_problem *problem,
                  const cz_subgroup_plan *plan)
{
    int counts[MAX_CLASSES] = {0};
    int64_t time = 0, score = 0, wire = 0;
    for (int row = 0; row < problem->n_rows; row++) {
        const cz_subgroup_cost *cost = &plan->rows[row].cost;
        check_row(problem, &plan->rows[row], counts);
        time = cz_solve_max(time, cost->time_ps);
        score = cz_solve_max(score, cost->score_ps);
        wire += cost->wire_bytes;
    }
    for (int c = 0; c < problem->n_classes; c++)
        assert_int_equal(counts[c], problem->classes[c].count);
    assert_true(plan->time_ps == time);
    assert_true(plan->score_ps == score);
    assert_true(plan->wire_bytes == wire);
}

static const int widths[] = {1, 2, 4, 8, 3, 6, 12, 16};

static void test_plans_keep_caps(void **unused)
{
    int n_tight = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1 + (int)(seed % 5), widths[seed % 8], 8);
        const cz_subgroup_plans *plans = cz_subgroup_solve(&arena, &s.problem);
        const cz_subgroup_plan any = cz_subgroup_within(plans, INT64_MAX);
        assert_true(any.is_feasible);
        check(&s.problem, &any);
        int64_t last = any.score_ps;
        for (int64_t cap = any.wire_bytes; cap > 0; cap -= cap / 8 + 1) {
            const cz_subgroup_plan light = cz_subgroup_within(plans, cap);
            if (!light.is_feasible)
                break;
            check(&s.problem, &light);
            assert_true(light.wire_bytes <= cap);
            assert_true(light.score_ps >= last);
            n_tight += light.score_ps > last;
            last = light.score_ps;
        }
        cz_arena_fini(&arena);
    }
    assert_true(n_tight > 80);
}

static int64_t largest_staging(const cz_subgroup_problem *problem)
{
    int64_t most = 0;
    for (int c = 0; c < problem->n_classes; c++)
        for (int w = 0; w < problem->classes[c].n_candidates; w++)
            most = cz_solve_max(
                most, problem->classes[c].candidates[w].staging_bytes);
    return most;
}

/* Room for any matrix by itself, and for no two. */
static void test_buffers_keep_their_cap(void **unused)
{
    int n_slower = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_arena_init(&arena);
        make(&s, seed, 1, widths[seed % 8], 8);
        const cz_subgroup_plan free = best(&s);
        s.problem.staging_cap_bytes = largest_staging(&s.problem);
        const cz_subgroup_plan tight = best(&s);
        assert_true(tight.is_feasible);
        check(&s.problem, &tight);
        n_slower += tight.score_ps > free.score_ps;
        cz_arena_fini(&arena);
    }
    assert_true(n_slower > 20);
}

/* Each class in one way alone: the owner, or groups of all such sizes. */
static void test_no_plan_of_one_size_is_better(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_subgroup_class whole[MAX_CLASSES];
        cz_arena_init(&arena);
        make(&s, seed, 1 + (int)(seed % 3), widths[seed % 8], 8);
        const cz_subgroup_plan free = best(&s);
        memcpy(whole, s.classes, sizeof whole);
        for (int w = 0; w < whole[0].n_candidates; w++) {
            cz_subgroup_candidate of[MAX_CLASSES];
            for (int c = 0; c < s.problem.n_classes; c++) {
                of[c] = whole[c].candidates[w];
                s.classes[c].candidates = &of[c];
                s.classes[c].n_candidates = 1;
            }
            const cz_subgroup_plan alike = best(&s);
            check(&s.problem, &alike);
            if (s.problem.n_rows == 1)
                assert_true(free.score_ps <= alike.score_ps);
            assert_true(free.score_ps <= alike.score_ps + alike.score_ps / 10);
        }
        cz_arena_fini(&arena);
    }
}

/* ---- every plan of a tiny row ---- */

typedef struct everything {
    const sample *s;
    cz_subgroup_class *classes; /* one matrix each, with one way each */
    const cz_subgroup_candidate *const *candidates;
    int64_t best;
} everything;

static void try_all(everything *all, int of)
{
    const cz_subgroup_problem *problem = &all->s->problem;
    if (of == problem->n_classes) {
        cz_arena arena;
        sample s = {.arena = &arena, .problem = *problem};
        cz_arena_init(&arena);
        s.problem.classes = all->classes;
        all->best = cz_solve_min(all->best, best(&s).score_ps);
        cz_arena_fini(&arena);
        return;
    }
    for (int w = 0; w < all->s->classes[of].n_candidates; w++) {
        all->classes[of].candidates = &all->candidates[of][w];
        all->classes[of].n_candidates = 1;
        try_all(all, of + 1);
    }
}

static void test_tiny_rows_are_nearly_as_good_as_by_trying_all(void **unused)
{
    int n_equal = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        cz_arena arena;
        sample s = {.arena = &arena};
        cz_subgroup_class classes[MAX_CLASSES];
        const cz_subgroup_candidate *candidates[MAX_CLASSES];
        cz_arena_init(&arena);
        make(&s, seed, 1, 8, 1);
        memcpy(classes, s.classes, sizeof classes);
        for (int c = 0; c < s.problem.n_classes; c++)
            candidates[c] = s.classes[c].candidates;
        everything all = {&s, classes, candidates, INT64_MAX};
        try_all(&all, 0);
        const int64_t score = best(&s).score_ps;
        assert_true(score >= all.best);
        assert_true(score <= all.best + all.best / 10);
        n_equal += score == all.best;
        cz_arena_fini(&arena);
    }
    print_message("%d of 100 as good as any\n", n_equal);
    assert_true(n_equal >= 95);
}

/* ---- what decides nothing ---- */

static void assert_equal_rows(const cz_subgroup_row *a,
                              const cz_subgroup_row *b, const int *class_of)
{
    assert_int_equal(a->n_jobs, b->n_jobs);
    for (int i = 0; i < a->n_jobs; i++) {
        assert_int_equal(class_of[a->jobs[i].of], b->jobs[i].of);
        assert_int_equal(a->jobs[i].candidate, b->jobs[i].candidate);
        assert_int_equal(a->jobs[i].first, b->jobs[i].first);
    }
}

static void test_the_order_of_classes_decides_nothing(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        int class_of[MAX_CLASSES];
        cz_arena arena;
        sample s = {.arena = &arena}, turned;
        cz_arena_init(&arena);
        make(&s, seed, 3, 8, 8);
        turned = s;
        turned.problem.classes = turned.classes;
        for (int c = 0, n = s.problem.n_classes; c < n; c++) {
            class_of[c] = (c + 1 + (int)seed % 2) % n;
            turned.classes[class_of[c]] = s.classes[c];
        }
        const cz_subgroup_plan a = best(&s), b = best(&turned);
        for (int row = 0; row < 3; row++)
            assert_equal_rows(&a.rows[row], &b.rows[row], class_of);
        cz_arena_fini(&arena);
    }
}

static void test_equal_problems_have_equal_plans(void **unused)
{
    static const int same[] = {0, 1, 2, 3};
    cz_subgroup_plan plans[2];
    cz_arena arenas[2];
    (void)unused;
    for (int i = 0; i < 2; i++) {
        sample s = {.arena = &arenas[i]};
        cz_arena_init(&arenas[i]);
        make(&s, 5, 3, 8, 8);
        plans[i] = best(&s);
    }
    for (int row = 0; row < 3; row++)
        assert_equal_rows(&plans[0].rows[row], &plans[1].rows[row], same);
    for (int i = 0; i < 2; i++)
        cz_arena_fini(&arenas[i]);
}

/* ---- by hand ---- */

static void
test_times_of_a_link_that_hardly_moves_do_not_overflow(void **unused)
{
    const int64_t most = (int64_t)1 << 62;
    const cz_subgroup_segment part = {most, most};
    const cz_subgroup_candidate candidate = {.g = 2,
                                             .n_segments = 1,
                                             .segments = &part,
                                             .gather_ps = most,
                                             .scatter_ps = most};
    assert_true(cz_subgroup_alone_ps(&candidate, most) == most);
}

/* Four pairs of ranks gather and scatter at once; a fifth matrix gathers while
 * the first on its pair is computed, and is computed while that one scatters.
 */
static void test_transfers_overlap_with_products(void **unused)
{
    const cz_subgroup_segment part = {100, 0};
    const cz_subgroup_candidate candidate = {.g = 2,
                                             .n_segments = 1,
                                             .segments = &part,
                                             .gather_ps = 30,
                                             .scatter_ps = 20,
                                             .staging_bytes = 8};
    cz_subgroup_class class = {
        .count = 4, .n_candidates = 1, .candidates = &candidate};
    cz_arena arena;
    sample s = {.arena = &arena,
                .problem = {.n_rows = 1,
                            .width = 8,
                            .n_classes = 1,
                            .classes = &class,
                            .latency_ps = 7,
                            .staging_cap_bytes = 16}};
    (void)unused;
    cz_arena_init(&arena);
    assert_int_equal(best(&s).time_ps, cz_subgroup_alone_ps(&candidate, 7));
    class.count = 5;
    assert_int_equal(best(&s).time_ps, 37 + 100 + 100 + 27);
    s.problem.staging_cap_bytes = 8; /* then it waits for the bytes */
    assert_int_equal(best(&s).time_ps, 2 * (37 + 100 + 27));
    cz_arena_fini(&arena);
}

/* Of one long matrix and seven ranks' worth of short ones, ranks share the
 * long one alone. */
static void test_ranks_share_what_others_would_wait_for(void **unused)
{
    const cz_subgroup_segment whole = {400, 0}, half = {200, 0},
                              little = {200, 0};
    const cz_subgroup_candidate of_long[] = {
        {.g = 1, .n_segments = 1, .segments = &whole},
        {.g = 2, .n_segments = 1, .segments = &half, .wire_bytes = 50}};
    const cz_subgroup_candidate of_short = {
        .g = 1, .n_segments = 1, .segments = &little};
    const cz_subgroup_class classes[] = {
        {.count = 6, .n_candidates = 1, .candidates = &of_short},
        {.count = 1, .n_candidates = 2, .candidates = of_long}};
    const cz_subgroup_problem problem = {.n_rows = 1,
                                         .width = 8,
                                         .n_classes = 2,
                                         .classes = classes,
                                         .staging_cap_bytes = INT64_MAX};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_subgroup_plans *plans = cz_subgroup_solve(&arena, &problem);
    assert_int_equal(cz_subgroup_within(plans, 50).time_ps, 200);
    assert_int_equal(cz_subgroup_within(plans, 49).time_ps, 400);
    cz_arena_fini(&arena);
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
    assert_false(best(&s).is_feasible);
    cz_arena_fini(&arena);
}

/* The search is cut short, and what it has found is a plan. */
static void test_rows_of_many_matrices_have_a_plan(void **unused)
{
    cz_arena arena;
    sample s = {.arena = &arena};
    (void)unused;
    cz_arena_init(&arena);
    make(&s, 4, 1, 16, 4);
    for (int c = 0; c < s.problem.n_classes; c++)
        s.classes[c].count = 700;
    const cz_subgroup_plan plan = best(&s);
    check(&s.problem, &plan);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_keep_caps),
        cmocka_unit_test(test_buffers_keep_their_cap),
        cmocka_unit_test(test_no_plan_of_one_size_is_better),
        cmocka_unit_test(test_tiny_rows_are_nearly_as_good_as_by_trying_all),
        cmocka_unit_test(test_the_order_of_classes_decides_nothing),
        cmocka_unit_test(test_equal_problems_have_equal_plans),
        cmocka_unit_test(
            test_times_of_a_link_that_hardly_moves_do_not_overflow),
        cmocka_unit_test(test_transfers_overlap_with_products),
        cmocka_unit_test(test_ranks_share_what_others_would_wait_for),
        cmocka_unit_test(test_a_matrix_beyond_the_cap_has_no_plan),
        cmocka_unit_test(test_rows_of_many_matrices_have_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
