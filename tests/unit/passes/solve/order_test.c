/* Orders of random lists against the simulated executor and all orders. */
#include "passes/solve/order.h"

#include "passes/solve/partition.h"
#include "passes/timeline/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { SEEDS = 400, MOST_OPS = 14, MOST_RANKS = 6, MOST_COMMS = 3 };

typedef struct fixture {
    cz_arena arena;
    uint64_t random;
    cz_timeline_list list;
} fixture;

static int draw(fixture *f, int n)
{
    return (int)(cz_partition_random(&f->random) % (uint64_t)n);
}

/* Joint or not, in communicators or all together. */
static cz_timeline_op draw_op(fixture *f, int number)
{
    int64_t *ps = CZ_NEW(&f->arena, int64_t, f->list.n_ranks);
    int *of = CZ_NEW(&f->arena, int, f->list.n_ranks);
    int *waits = CZ_NEW(&f->arena, int, 3);
    cz_timeline_op op = {.stream = (cz_timeline_stream)draw(f, 3),
                         .of = draw(f, 4) - 1,
                         .ps = ps,
                         .waits = waits};
    if (draw(f, 2) == 0)
        op.comm = (cz_timeline_comm){1 + draw(f, MOST_COMMS), of};
    for (int r = 0; r < f->list.n_ranks; r++) {
        ps[r] = draw(f, 4) == 0 ? -1 : draw(f, 20);
        of[r] = op.comm.n > 0 ? draw(f, op.comm.n) : 0;
    }
    for (int i = 0; i < 3 && number > 0; i++)
        if (draw(f, 2) == 0)
            waits[op.n_waits++] = draw(f, number);
    return op;
}

/* Half of all lists have each rank twice. */
static void double_ranks(fixture *f, int n)
{
    for (int o = 0; o < f->list.n_ops; o++) {
        int64_t *ps = CZ_NEW(&f->arena, int64_t, 2 * n);
        int *of = CZ_NEW(&f->arena, int, 2 * n);
        for (int r = 0; r < 2 * n; r++) {
            ps[r] = f->list.ops[o].ps[r % n];
            of[r] =
                f->list.ops[o].comm.n > 0 ? f->list.ops[o].comm.of[r % n] : 0;
        }
        f->list.ops[o].ps = ps;
        f->list.ops[o].comm.of = of;
    }
    f->list.n_ranks = 2 * n;
}

static void draw_list(fixture *f, int seed, int most_ops)
{
    f->random = (uint64_t)seed;
    cz_arena_init(&f->arena);
    f->list.n_ranks = 1 + draw(f, MOST_RANKS);
    f->list.n_ops = 1 + draw(f, most_ops);
    f->list.ops = CZ_NEW(&f->arena, cz_timeline_op, f->list.n_ops);
    for (int o = 0; o < f->list.n_ops; o++)
        f->list.ops[o] = draw_op(f, o);
    if (seed % 2 == 0)
        double_ranks(f, f->list.n_ranks);
}

static cz_order_problem problem_of(const fixture *f, int64_t effort)
{
    return (cz_order_problem){.list = &f->list,
                              .n_moved = f->list.n_ops,
                              .n_micro_groups = 3,
                              .effort = effort};
}

/* ---- what an order is worth, by the executor ---- */

/* The list in the order; false where something comes before what it waits
 * for, or is not there once. */
static bool permute(fixture *f, const int *order, cz_timeline_list *list)
{
    const int n = f->list.n_ops;
    int place[MOST_OPS];
    memset(place, -1, sizeof place);
    *list = (cz_timeline_list){f->list.n_ranks, n,
                               CZ_NEW(&f->arena, cz_timeline_op, n)};
    for (int i = 0; i < n; i++) {
        const cz_timeline_op *op = &f->list.ops[order[i]];
        int *waits = CZ_NEW(&f->arena, int, op->n_waits + 1);
        if (place[order[i]] >= 0)
            return false;
        place[order[i]] = i;
        list->ops[i] = *op;
        for (int w = 0; w < op->n_waits; w++) {
            if (place[op->waits[w]] < 0)
                return false;
            waits[w] = place[op->waits[w]];
        }
        list->ops[i].waits = waits;
    }
    return true;
}

typedef struct worth {
    int64_t makespan, micro_groups_end;
    int open;
    cz_timeline_times times;
} worth;

static int count_open(const cz_timeline_list *list)
{
    int most = 0;
    for (int i = 0; i < list->n_ops; i++) {
        int n = 0;
        for (int group = 0; group < 3; group++) {
            bool before = false, after = false;
            for (int k = 0; k < list->n_ops; k++)
                if (list->ops[k].of == group) {
                    before |= k <= i;
                    after |= k >= i;
                }
            n += before && after;
        }
        most = n > most ? n : most;
    }
    return most;
}

static bool find_worth(fixture *f, const int *order, worth *out)
{
    cz_timeline_list list;
    if (!permute(f, order, &list))
        return false;
    const cz_timeline_times times = cz_timeline_simulate(&f->arena, &list);
    *out = (worth){times.makespan, 0, count_open(&list), times};
    for (int i = 0; i < list.n_ops; i++)
        for (int r = 0; r < list.n_ranks; r++) {
            const int64_t end = times.end[i * list.n_ranks + r];
            if (list.ops[i].of >= 0 && end > out->micro_groups_end)
                out->micro_groups_end = end;
        }
    return true;
}

static worth worth_as_listed(fixture *f)
{
    int order[MOST_OPS];
    worth listed;
    for (int o = 0; o < f->list.n_ops; o++)
        order[o] = o;
    assert_true(find_worth(f, order, &listed));
    return listed;
}

/* ---- tests ---- */

static void test_a_folded_list_takes_as_long(void **unused)
{
    (void)unused;
    for (int seed = 0; seed < SEEDS; seed++) {
        fixture f;
        draw_list(&f, seed, MOST_OPS);
        const cz_order_problem problem = problem_of(&f, 0);
        const cz_order found = cz_order_find(&f.arena, &problem);
        const worth listed = worth_as_listed(&f);
        if (found.makespan != listed.makespan ||
            found.micro_groups_end != listed.micro_groups_end)
            fail_msg("seed %d", seed);
        cz_arena_fini(&f.arena);
    }
}

static void test_ranks_that_see_the_same_are_one(void **unused)
{
    (void)unused;
    for (int seed = 0; seed < SEEDS; seed += 2) {
        fixture f;
        draw_list(&f, seed, MOST_OPS);
        const cz_timeline_list folded =
            cz_timeline_fold(&f.arena, &f.list, NULL);
        if (folded.n_ranks > f.list.n_ranks / 2)
            fail_msg("seed %d", seed);
        cz_arena_fini(&f.arena);
    }
}

/* What runs before place i and still does when it starts on some rank. */
static int since_of(const fixture *f, const worth *it, const int *order, int i)
{
    const int n = f->list.n_ranks;
    for (int at = 0; at < i; at++)
        for (int r = 0; r < n; r++) {
            const int64_t ps = f->list.ops[order[i]].ps[r];
            if (ps >= 0 &&
                it->times.end[at * n + r] > it->times.end[i * n + r] - ps)
                return at;
        }
    return i;
}

static void test_orders_are_legal_and_no_worse(void **unused)
{
    int n_better = 0;
    (void)unused;
    for (int seed = 0; seed < SEEDS; seed++) {
        fixture f;
        worth it;
        draw_list(&f, seed, MOST_OPS);
        cz_order_problem problem = problem_of(&f, 20000);
        if (f.list.n_ops > 4)
            problem.n_moved = f.list.n_ops - 1;
        const cz_order found = cz_order_find(&f.arena, &problem);
        const worth listed = worth_as_listed(&f);
        bool good = find_worth(&f, found.order, &it) &&
                    it.makespan == found.makespan &&
                    it.micro_groups_end == found.micro_groups_end &&
                    it.open <= listed.open &&
                    it.makespan + it.micro_groups_end <=
                        listed.makespan + listed.micro_groups_end;
        for (int i = 0; good && i < f.list.n_ops; i++)
            good = found.since[i] == since_of(&f, &it, found.order, i) &&
                   (i < problem.n_moved || found.order[i] == i);
        if (!good)
            fail_msg("seed %d", seed);
        n_better += it.makespan + it.micro_groups_end <
                    listed.makespan + listed.micro_groups_end;
        cz_arena_fini(&f.arena);
    }
    printf("%d of %d orders are better than the list's\n", n_better, SEEDS);
    assert_true(n_better > SEEDS / 4);
}

/* Buckets as gradients fill them, which the forward pass needs backwards: too
 * many for moves of one at a time. */
static void test_gathers_come_in_order_of_need(void **unused)
{
    enum { BUCKETS = 100, PS = 10 };
    static const int64_t ps[] = {PS};
    cz_timeline_op ops[2 * BUCKETS];
    int gather[BUCKETS];
    const cz_timeline_list list = {1, 2 * BUCKETS, ops};
    const cz_order_problem problem = {
        .list = &list, .n_moved = BUCKETS, .effort = 1};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int b = 0; b < BUCKETS; b++) {
        gather[b] = b;
        ops[b] =
            (cz_timeline_op){.stream = CZ_TIMELINE_LINK, .of = -1, .ps = ps};
        ops[2 * BUCKETS - 1 - b] =
            (cz_timeline_op){.stream = CZ_TIMELINE_COMPUTE,
                             .of = -1,
                             .ps = ps,
                             .waits = &gather[b],
                             .n_waits = 1};
    }
    const cz_order found = cz_order_find(&arena, &problem);
    assert_int_equal(found.makespan, (BUCKETS + 1) * PS);
    cz_arena_fini(&arena);
}

/* The best of all orders of places [i, n), as the list's groups allow. */
static int64_t best_of_all(fixture *f, int *order, int i, int open)
{
    worth it;
    int64_t best = INT64_MAX;
    if (i == f->list.n_ops)
        return find_worth(f, order, &it) && it.open <= open
                   ? it.makespan + it.micro_groups_end
                   : INT64_MAX;
    for (int k = i; k < f->list.n_ops; k++) {
        const int here = order[i];
        order[i] = order[k];
        order[k] = here;
        const int64_t found = best_of_all(f, order, i + 1, open);
        best = found < best ? found : best;
        order[k] = order[i];
        order[i] = here;
    }
    return best;
}

static void test_short_lists_against_all_orders(void **unused)
{
    enum { SHORT = 6, N = 100 };
    int n_best = 0, worst = 1000;
    (void)unused;
    for (int seed = 0; seed < N; seed++) {
        fixture f;
        int order[MOST_OPS];
        draw_list(&f, seed, SHORT);
        const cz_order_problem problem = problem_of(&f, 100000);
        const cz_order found = cz_order_find(&f.arena, &problem);
        for (int o = 0; o < f.list.n_ops; o++)
            order[o] = o;
        const int64_t best =
            best_of_all(&f, order, 0, worth_as_listed(&f).open);
        const int64_t ours = found.makespan + found.micro_groups_end;
        assert_true(ours >= best);
        n_best += ours == best;
        if (best > 0 && ours * 1000 / best > worst)
            worst = (int)(ours * 1000 / best);
        cz_arena_fini(&f.arena);
    }
    printf("%d of %d are the best, the worst 1.%03d of it\n", n_best, N,
           worst - 1000);
    assert_true(n_best >= N * 9 / 10);
    assert_true(worst <= 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_folded_list_takes_as_long),
        cmocka_unit_test(test_ranks_that_see_the_same_are_one),
        cmocka_unit_test(test_orders_are_legal_and_no_worse),
        cmocka_unit_test(test_gathers_come_in_order_of_need),
        cmocka_unit_test(test_short_lists_against_all_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
