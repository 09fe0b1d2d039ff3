/* Matrices that are computed together: loads are those of batches, and owners
 * make the most of them. */
#include "passes/solve/batch.h"

#include "passes/solve/solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MAX_ITEMS = 24, N_CLASSES = 3, N_BATCHES = 4, ROUNDS = 300, SHARED = 2 };

typedef struct instance {
    cz_solve_problem problem;
    cz_solve_class classes[N_CLASSES];
    int64_t batch_ps[N_CLASSES][N_BATCHES];
    int class_of[MAX_ITEMS], starts[4];
} instance;

static uint64_t seed = 1;

static int draw(int n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int)(seed >> 33) % n;
}

/* Batches of concave cost; the last class is computed by all hosts. */
static void make(instance *it, int n_items, int n_ranks, int n_hosts,
                 int n_buckets)
{
    *it = (instance){0};
    for (int c = 0; c < N_CLASSES; c++) {
        const int64_t first = 100 * (1 + draw(9)), more = 1 + draw(100);
        for (int n = 0; n < N_BATCHES; n++)
            it->batch_ps[c][n] = first + n * more;
        it->classes[c] =
            (cz_solve_class){.elements = 16 * (1 + draw(9)),
                             .cost_ps = c == SHARED ? 0 : first + 5,
                             .coordinate_ps = c == SHARED ? first + 7 : 7,
                             .state_bytes = 4,
                             .n_batches = N_BATCHES,
                             .batch_ps = it->batch_ps[c],
                             .matrix_ps = first};
    }
    for (int i = 0; i < n_items; i++)
        it->class_of[i] = draw(N_CLASSES);
    for (int b = 0; b <= n_buckets; b++)
        it->starts[b] = n_items * b / n_buckets;
    it->problem = (cz_solve_problem){.n_ranks = n_ranks,
                                     .n_hosts = n_hosts,
                                     .n_classes = N_CLASSES,
                                     .classes = it->classes,
                                     .n_items = n_items,
                                     .class_of = it->class_of,
                                     .n_buckets = n_buckets,
                                     .bucket_start = it->starts,
                                     .align = 16,
                                     .is_joined = draw(2) == 1};
}

/* One matrix after the other, each as what it adds to the batch so far. */
static int64_t load_of(const instance *it, const int *owner, const int *host,
                       int rank, int of_host)
{
    const cz_solve_problem *p = &it->problem;
    int n[N_CLASSES] = {0};
    int64_t ps = 0;
    for (int i = 0, b = 0; i < p->n_items; i++) {
        const int c = it->class_of[i];
        while (i >= it->starts[b + 1]) {
            b++;
            for (int k = 0; k < N_CLASSES && !p->is_joined; k++)
                n[k] = 0;
        }
        if (owner[i] != rank)
            continue;
        ps += c == SHARED ? 7 : 7 + (host[i] == of_host ? 5 : 0);
        if (c != SHARED && host[i] != of_host)
            continue;
        const int at = n[c]++ % N_BATCHES;
        ps += it->batch_ps[c][at] - (at > 0 ? it->batch_ps[c][at - 1] : 0);
    }
    return ps;
}

static void loads_are_those_of_batches(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        instance it;
        cz_arena arena;
        cz_arena_init(&arena);
        make(&it, 1 + draw(MAX_ITEMS), 1 + draw(5), 1 + draw(3), 1 + draw(3));
        const cz_solved solved = cz_solve(&arena, &it.problem);
        assert_null(cz_solve_check(&arena, &it.problem, &solved.plan));
        for (int r = 0; r < it.problem.n_ranks; r++)
            for (int h = 0; h < it.problem.n_hosts; h++)
                assert_int_equal(
                    solved.score.load_ps[r * it.problem.n_hosts + h],
                    load_of(&it, solved.plan.owner, solved.plan.host, r, h));
        cz_arena_fini(&arena);
    }
}

/* Of all owners, one host a rank. */
static int64_t least_of(const instance *it, int *owner, int item)
{
    static const int host[MAX_ITEMS] = {0};
    int64_t least = INT64_MAX, most = 0;
    if (item == it->problem.n_items) {
        for (int r = 0; r < it->problem.n_ranks; r++) {
            const int64_t ps = load_of(it, owner, host, r, 0);
            most = ps > most ? ps : most;
        }
        return most;
    }
    for (owner[item] = 0; owner[item] < it->problem.n_ranks; owner[item]++) {
        const int64_t ps = least_of(it, owner, item + 1);
        least = ps < least ? ps : least;
    }
    return least;
}

static void owners_are_nearly_the_best_of_all(void **state)
{
    (void)state;
    int n_best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        instance it;
        cz_arena arena;
        int owner[MAX_ITEMS];
        cz_arena_init(&arena);
        make(&it, 1 + draw(6), 1 + draw(3), 1, 1 + draw(2));
        const int64_t found = cz_solve(&arena, &it.problem).score.max_load_ps;
        const int64_t least = least_of(&it, owner, 0);
        assert_in_range(found, least, least + least / 4);
        n_best += found == least;
        cz_arena_fini(&arena);
    }
    print_message("%d of %d are the best\n", n_best, ROUNDS);
    assert_in_range(n_best, ROUNDS * 9 / 10, ROUNDS);
}

/* Twelve layers of three matrices whose batches take hardly longer than one. */
static void equal_matrices_go_to_one_rank(void **state)
{
    (void)state;
    instance it;
    cz_arena arena;
    cz_arena_init(&arena);
    make(&it, MAX_ITEMS, 3, 1, 1);
    for (int c = 0; c < N_CLASSES; c++) {
        it.classes[c].elements = 64;
        it.classes[c].cost_ps = it.classes[c].matrix_ps = 1000;
        it.classes[c].coordinate_ps = 0;
        for (int n = 0; n < N_BATCHES; n++)
            it.batch_ps[c][n] = 1000 + n;
    }
    for (int i = 0; i < MAX_ITEMS; i++)
        it.class_of[i] = i % N_CLASSES;
    const cz_solved solved = cz_solve(&arena, &it.problem);
    assert_int_equal(solved.score.max_load_ps, 2 * 1003);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_are_those_of_batches),
        cmocka_unit_test(owners_are_nearly_the_best_of_all),
        cmocka_unit_test(equal_matrices_go_to_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
