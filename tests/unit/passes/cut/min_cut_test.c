/* Minimum cuts: by hand, and against every subset of random small graphs. */
#include "passes/cut/min_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_NODES = 9, MAX_EDGES = 40, N_TRIALS = 400 };

/* a -> b -> c, all of one price: the sides decide. */
static void test_ties(void **state)
{
    static const int edges[][2] = {{0, 1}, {1, 2}};
    static const int64_t capacity[] = {4, 4, 4};
    static const bool source[] = {true, false, false},
                      sink[] = {false, false, true};
    cz_min_cut problem = {3, capacity, source, sink, 2, edges, false};
    bool cut[3];
    cz_arena arena;

    (void)state;
    cz_arena_init(&arena);
    assert_true(cz_min_cut_solve(&arena, &problem, cut));
    assert_true(cut[0] && !cut[1] && !cut[2]);
    problem.near_sink = true;
    assert_true(cz_min_cut_solve(&arena, &problem, cut));
    assert_true(!cut[0] && !cut[1] && cut[2]);
    cz_arena_fini(&arena);
}

static void test_no_separation(void **state)
{
    static const int edges[][2] = {{0, 1}};
    static const int64_t capacity[] = {CZ_CUT_NEVER, CZ_CUT_NEVER};
    static const bool source[] = {true, false}, sink[] = {false, true};
    const cz_min_cut problem = {2, capacity, source, sink, 1, edges, false};
    bool cut[2];
    cz_arena arena;

    (void)state;
    cz_arena_init(&arena);
    assert_false(cz_min_cut_solve(&arena, &problem, cut));
    cz_arena_fini(&arena);
}

/* ---- against all subsets ---- */

typedef struct trial {
    uint64_t random;
    int n, n_edges;
    int edges[MAX_EDGES][2];
    int64_t capacity[MAX_NODES];
    bool source[MAX_NODES], sink[MAX_NODES];
} trial;

static int draw(trial *t, int n)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((t->random >> 33) % (unsigned)n);
}

static void make(trial *t)
{
    t->n = 2 + draw(t, MAX_NODES - 1);
    for (int v = 0; v < t->n; v++) {
        t->capacity[v] = draw(t, 5) == 0 ? CZ_CUT_NEVER : draw(t, 6);
        t->source[v] = draw(t, 3) == 0;
        t->sink[v] = draw(t, 3) == 0;
        for (int u = 0; u < v; u++)
            if (draw(t, 3) == 0) {
                t->edges[t->n_edges][0] = u;
                t->edges[t->n_edges++][1] = v;
            }
    }
}

/* Edges go from lower to higher numbers. */
static bool separates(const trial *t, unsigned cut)
{
    bool reached[MAX_NODES] = {false};

    for (int v = 0; v < t->n; v++) {
        reached[v] = t->source[v];
        for (int e = 0; e < t->n_edges; e++)
            if (t->edges[e][1] == v && reached[t->edges[e][0]])
                reached[v] = true;
        reached[v] = reached[v] && !(cut & 1u << v);
        if (reached[v] && t->sink[v])
            return false;
    }
    return true;
}

static int64_t price(const trial *t, unsigned cut)
{
    int64_t sum = 0;

    for (int v = 0; v < t->n; v++)
        if (cut & 1u << v) {
            if (t->capacity[v] == CZ_CUT_NEVER)
                return INT64_MAX;
            sum += t->capacity[v];
        }
    return sum;
}

static int64_t best_price(const trial *t)
{
    int64_t best = INT64_MAX;

    for (unsigned cut = 0; cut < 1u << t->n; cut++)
        if (separates(t, cut) && price(t, cut) < best)
            best = price(t, cut);
    return best;
}

static void check_side(const trial *t, bool near_sink, int64_t best)
{
    const cz_min_cut problem = {t->n,       t->capacity,
                                t->source,  t->sink,
                                t->n_edges, (const int(*)[2])t->edges,
                                near_sink};
    bool marked[MAX_NODES] = {false};
    unsigned cut = 0;
    cz_arena arena;

    cz_arena_init(&arena);
    assert_int_equal(cz_min_cut_solve(&arena, &problem, marked),
                     best < INT64_MAX);
    for (int v = 0; v < t->n; v++)
        cut |= marked[v] ? 1u << v : 0;
    if (best < INT64_MAX) {
        assert_true(separates(t, cut));
        assert_true(price(t, cut) == best);
    }
    cz_arena_fini(&arena);
}

static void test_all_subsets(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= N_TRIALS; seed++) {
        trial t = {.random = seed};
        make(&t);
        check_side(&t, false, best_price(&t));
        check_side(&t, true, best_price(&t));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_no_separation),
        cmocka_unit_test(test_all_subsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
