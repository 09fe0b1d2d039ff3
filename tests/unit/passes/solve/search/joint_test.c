/* Dense matrices and experts on the same ranks, whose owners are alike for all
 * coordinates of ep: what they reach together, and that plans are plans. */
#include "passes/solve/search/joint.h"

#include "tests/unit/passes/solve/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const int n_gpus = 1024, tp = 4;

/* GPU g has coordinate g / tp of dp and g / ep of edp. */
static cz_joint_problem on_gpus(cz_arena *arena, const model *m, int ep)
{
    int *outer_of = CZ_NEW(arena, int, n_gpus);
    int64_t state = 0;
    for (int gpu = 0; gpu < n_gpus; gpu++)
        outer_of[gpu] = gpu / ep;
    cz_joint_problem joint = {dense_problem(arena, m, n_gpus / tp, tp),
                              expert_problem(arena, m, ep, n_gpus / ep),
                              outer_of};
    for (int i = 0; i < joint.inner.n_items; i++)
        state += tp * joint.inner.classes[joint.inner.class_of[i]].state_bytes;
    for (int i = 0; i < joint.outer.n_items; i++)
        state += ep * joint.outer.classes[joint.outer.class_of[i]].state_bytes;
    joint.inner.state = joint.outer.state = (cz_solve_cap){105, 100};
    joint.inner.state_mean = joint.outer.state_mean = state / n_gpus;
    return joint;
}

/* Max and sum over GPUs, from the two plans alone. */
typedef struct load {
    int64_t max_ps, total_ps, max_bytes;
} load;

static load measure(cz_arena *arena, const cz_joint_problem *joint,
                    const cz_joint_solved *solved)
{
    load all = {0};
    const cz_solve_score inner =
        cz_solve_evaluate(arena, &joint->inner, &solved->inner.plan);
    const cz_solve_score outer =
        cz_solve_evaluate(arena, &joint->outer, &solved->outer.plan);
    for (int gpu = 0; gpu < n_gpus; gpu++) {
        const int edp = joint->outer_of[gpu];
        const int64_t ps = inner.load_ps[gpu] + outer.load_ps[edp];
        const int64_t bytes =
            inner.state_bytes[gpu / tp] + outer.state_bytes[edp];
        all.total_ps += ps;
        if (ps > all.max_ps)
            all.max_ps = ps;
        if (bytes > all.max_bytes)
            all.max_bytes = bytes;
    }
    return all;
}

static void test_235b_on_1024(void **unused)
{
    (void)unused;
    for (int ep = 8; ep <= 32; ep *= 4) {
        cz_arena arena;
        cz_arena_init(&arena);
        const cz_joint_problem joint = on_gpus(&arena, &qwen3_235b, ep);
        const cz_joint_solved got = cz_solve_joint(&arena, &joint);
        assert_null(cz_solve_check(&arena, &joint.inner, &got.inner.plan));
        assert_null(cz_solve_check(&arena, &joint.outer, &got.outer.plan));
        const load all = measure(&arena, &joint, &got);
        printf("| 235B, ep %d, on %d | %.4f | | %.3f | |\n", ep, n_gpus,
               (double)all.max_ps * n_gpus / (double)all.total_ps,
               (double)all.max_bytes / (double)joint.inner.state_mean);
        assert_true(all.max_ps / 1010 <= all.total_ps / n_gpus / 1000);
        assert_true(all.max_bytes / 1050 <= joint.inner.state_mean / 1000);
        cz_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_235b_on_1024)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
