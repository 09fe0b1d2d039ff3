/* Conflicts against all pairs: every visited pair is ordered exactly when every
 * conflicting pair is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "passes/verify/conflict.h"

enum {
    N_ROUNDS = 20000,
    N_OPS = 7,
    N_ACCESSES = 12,
    N_BYTES = 9,
    N_SPACES = 2
};

typedef struct plan {
    uint64_t random;
    bool before[N_OPS][N_OPS]; /* transitive */
    access list[N_ACCESSES];
    bool all_ordered;
    int n_visited;
} plan;

static int draw(plan *p, int n)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((p->random >> 33) % (uint64_t)n);
}

/* Each operation behind some earlier ones, and what these are behind. */
static void draw_order(plan *p)
{
    const int one_in = 1 + draw(p, 4);

    for (int b = 0; b < N_OPS; b++)
        for (int a = b - 1; a >= 0; a--) {
            bool given = draw(p, one_in) == 0;
            for (int k = a + 1; k < b; k++)
                given = given || (p->before[a][k] && p->before[k][b]);
            p->before[a][b] = given;
        }
}

static void draw_accesses(plan *p)
{
    for (int i = 0; i < N_ACCESSES; i++) {
        const int lo = draw(p, N_BYTES);
        p->list[i] = (access){.space = draw(p, N_SPACES),
                              .lo = lo,
                              .hi = lo + 1 + draw(p, N_BYTES - lo),
                              .op = i * N_OPS / N_ACCESSES,
                              .writes = draw(p, 3) == 0};
    }
}

static bool conflict(const access *a, const access *b)
{
    return a->space == b->space && a->lo < b->hi && b->lo < a->hi &&
           a->op < b->op && (a->writes || b->writes);
}

static bool all_pairs_ordered(const plan *p)
{
    for (int i = 0; i < N_ACCESSES; i++)
        for (int k = 0; k < N_ACCESSES; k++)
            if (conflict(&p->list[i], &p->list[k]) &&
                !p->before[p->list[i].op][p->list[k].op])
                return false;
    return true;
}

static bool see(void *context, const access *first, const access *second)
{
    plan *p = context;

    assert_true(conflict(first, second));
    p->n_visited++;
    p->all_ordered = p->all_ordered && p->before[first->op][second->op];
    return p->all_ordered;
}

static void test_visited_pairs_stand_for_all(void **state)
{
    int n_ordered = 0;

    (void)state;
    for (int round = 0; round < N_ROUNDS; round++) {
        plan p = {.random = (uint64_t)round, .all_ordered = true};
        cz_arena arena;
        cz_arena_init(&arena);
        draw_order(&p);
        draw_accesses(&p);
        visit_conflicts(&arena, p.list, N_ACCESSES, N_SPACES, see, &p);
        assert_int_equal(p.all_ordered, all_pairs_ordered(&p));
        n_ordered += p.all_ordered && p.n_visited > 0;
        cz_arena_fini(&arena);
    }
    assert_in_range(n_ordered, N_ROUNDS / 20, N_ROUNDS - N_ROUNDS / 20);
}

static void test_pairs_grow_as_accesses_not_as_their_square(void **state)
{
    enum { N = 4000 };
    static access list[N];
    plan p = {.all_ordered = true};
    cz_arena arena;

    (void)state;
    cz_arena_init(&arena);
    for (int i = 0; i < N; i++)
        list[i] = (access){.hi = 64, .op = i * N_OPS / N, .writes = i % 2 == 0};
    for (int a = 0; a < N_OPS; a++)
        for (int b = a + 1; b < N_OPS; b++)
            p.before[a][b] = true;
    visit_conflicts(&arena, list, N, 1, see, &p);
    assert_in_range(p.n_visited, N_OPS - 1, 2 * N);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visited_pairs_stand_for_all),
        cmocka_unit_test(test_pairs_grow_as_accesses_not_as_their_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
