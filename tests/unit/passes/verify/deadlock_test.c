/* Deadlock against a naive run that walks all ranks again and again until
 * nothing changes: the same verdict, the same first operation and rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "passes/verify/internal.h"

enum {
    N_ROUNDS = 20000,
    N_AXES = 2,
    MINOR = 3,
    N_RANKS = 2 * MINOR,
    N_OPS = 7,
    MAX_ROWS = 16
};

/* A list of operations that nothing else is known of. */
typedef struct plan {
    uint64_t random;
    cz_fact_mesh mesh;
    cz_fact_pattern pattern_fact;
    cz_view_pattern pattern;
    cz_view_param param;
    cz_view_bucket bucket;
    cz_fact_op facts[N_OPS];
    cz_fact_table table_facts[N_OPS];
    cz_view_table tables[N_OPS];
    cz_view_op ops[N_OPS];
    int64_t starts[N_OPS][N_RANKS + 1];
    cz_view_transfer_entry rows[N_OPS][2 * MAX_ROWS];
    cz_plan_view view;
} plan;

static int64_t axes[N_AXES] = {0, 1}, sizes[N_AXES] = {2, MINOR};
static const char *name = "w";

static int draw(plan *p, int n)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((p->random >> 33) % (uint64_t)n);
}

/* A collective over one axis or all of them, or a transfer between any two. */
static void draw_op(plan *p, int op)
{
    static const cz_step_kind kinds[] = {CZ_STEP_TRANSFER, CZ_STEP_TRANSFER,
                                         CZ_STEP_TRANSFER, CZ_STEP_ALL_REDUCE,
                                         CZ_STEP_ALL_GATHER};
    const cz_step_kind kind = kinds[draw(p, 5)];
    const int axis = draw(p, N_AXES);

    p->facts[op].comm = kind == CZ_STEP_ALL_GATHER ? (cz_ints){axes + axis, 1}
                                                   : (cz_ints){axes, N_AXES};
    p->ops[op] = (cz_view_op){&p->facts[op], kind, CZ_SECTION_UPDATE,
                              kind == CZ_STEP_TRANSFER ? op : -1};
    p->table_facts[op].selector = (cz_ints){axes, N_AXES};
    p->tables[op] = (cz_view_table){.fact = &p->table_facts[op],
                                    .kind = CZ_ENTRY_TRANSFER,
                                    .n_coordinates = N_RANKS,
                                    .starts = p->starts[op],
                                    .rows.transfer = p->rows[op]};
}

static void insert_row(plan *p, int op, int rank, int peer, bool is_recv)
{
    int64_t *starts = p->starts[op];
    cz_view_transfer_entry *rows = p->rows[op];

    memmove(&rows[starts[rank + 1] + 1], &rows[starts[rank + 1]],
            (size_t)(starts[N_RANKS] - starts[rank + 1]) * sizeof *rows);
    rows[starts[rank + 1]] = (cz_view_transfer_entry){
        0, is_recv, peer, 0, 1, 64, 64, 1, rank, 1, 1, 1, 1, 0};
    for (int k = rank + 1; k <= N_RANKS; k++)
        starts[k]++;
}

/* Mostly both ends in one operation, as V2 asks for. */
static void draw_rows(plan *p)
{
    const int n_rows = draw(p, MAX_ROWS);

    for (int i = 0; i < n_rows; i++) {
        const int sent = draw(p, N_OPS);
        const int received = draw(p, 6) ? sent : draw(p, N_OPS);
        const int from = draw(p, N_RANKS), to = draw(p, N_RANKS);
        if (p->ops[sent].table < 0 || p->ops[received].table < 0)
            continue;
        insert_row(p, sent, from, to, false);
        insert_row(p, received, to, from, true);
    }
}

static void draw_plan(plan *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->random = seed;
    p->mesh.axes.n = N_AXES;
    p->mesh.sizes = (cz_ints){sizes, N_AXES};
    p->pattern.fact = &p->pattern_fact;
    p->param.name = name;
    p->param.names = &name;
    p->bucket.pattern = -1;
    for (int op = 0; op < N_OPS; op++)
        draw_op(p, op);
    draw_rows(p);
    p->view = (cz_plan_view){.mesh = &p->mesh,
                             .n_ranks = N_RANKS,
                             .n_patterns = 1,
                             .patterns = &p->pattern,
                             .n_params = 1,
                             .params = &p->param,
                             .n_buckets = 1,
                             .buckets = &p->bucket,
                             .n_tables = N_OPS,
                             .tables = p->tables,
                             .n_ops = N_OPS,
                             .ops = p->ops};
}

/* ---- the naive run ---- */

typedef struct state {
    bool started[N_RANKS][N_OPS], completed[N_RANKS][N_OPS];
} state;

static bool skips(const plan *p, int op, int rank)
{
    return p->ops[op].kind == CZ_STEP_TRANSFER &&
           p->starts[op][rank] == p->starts[op][rank + 1];
}

static bool meets(const plan *p, int op, int a, int b)
{
    const cz_ints *comm = &p->facts[op].comm;

    return comm->n == N_AXES ||
           (comm->v[0] == 0 ? a % MINOR == b % MINOR : a / MINOR == b / MINOR);
}

/* The k-th row (k < 0: count them) of `rank` with `peer` one way: its
 * operation. */
static int find_row_of(const plan *p, int rank, int peer, bool is_recv, int k)
{
    int n = 0;

    for (int op = 0; op < N_OPS; op++)
        for (int64_t i = p->starts[op][rank]; i < p->starts[op][rank + 1]; i++)
            if (p->rows[op][i].peer == peer &&
                p->rows[op][i].is_recv == is_recv)
                if (n++ == k)
                    return op;
    return n;
}

static bool partners_started(const plan *p, const state *s, int op, int rank)
{
    for (int peer = 0; peer < N_RANKS; peer++)
        for (int way = 0; way < 2; way++) {
            const int n = find_row_of(p, rank, peer, way, -1);
            if (n != find_row_of(p, peer, rank, !way, -1))
                continue;
            for (int k = 0; k < n; k++)
                if (find_row_of(p, rank, peer, way, k) == op &&
                    !s->started[peer][find_row_of(p, peer, rank, !way, k)])
                    return false;
        }
    return true;
}

static bool may_complete(const plan *p, const state *s, int op, int rank)
{
    if (p->ops[op].kind == CZ_STEP_TRANSFER)
        return partners_started(p, s, op, rank);
    for (int other = 0; other < N_RANKS; other++)
        if (meets(p, op, rank, other) && !s->started[other][op])
            return false;
    return true;
}

/* The next step of one rank; false where it waits or has ended. */
static bool step(const plan *p, state *s, int rank)
{
    int op = 0;

    while (op < N_OPS && (s->completed[rank][op] || skips(p, op, rank)))
        op++;
    if (op == N_OPS || (s->started[rank][op] && !may_complete(p, s, op, rank)))
        return false;
    if (s->started[rank][op])
        s->completed[rank][op] = true;
    s->started[rank][op] = true;
    return true;
}

static bool find_first_stuck(const plan *p, int *op, int *rank)
{
    state s = {0};

    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < N_RANKS; k++)
            moved = step(p, &s, k) || moved;
    }
    for (*op = 0; *op < N_OPS; ++*op)
        for (*rank = 0; *rank < N_RANKS; ++*rank)
            if (!s.completed[*rank][*op] && !skips(p, *op, *rank))
                return true;
    return false;
}

/* ---- the comparison ---- */

/* Whether the plan gets stuck. */
static bool compare_one(plan *p)
{
    cz_arena arena;
    cz_diags diags;
    bool *moves[N_OPS] = {NULL};
    op_pairs pairs[N_OPS] = {{NULL, 0}};
    verifier v = {.view = &p->view,
                  .diags = &diags,
                  .arena = &arena,
                  .kept = &arena,
                  .pairs = pairs,
                  .moves = moves};
    int op, rank;
    const bool stuck = find_first_stuck(p, &op, &rank);

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    v.maps = rank_maps_build(&arena, &p->view);
    find_moves(&v);
    check_deadlock(&v);
    assert_int_equal(v.n_errors, stuck);
    if (stuck) {
        char start[64];
        const char *kind = p->ops[op].kind == CZ_STEP_TRANSFER ? "transfer"
                           : p->ops[op].kind == CZ_STEP_ALL_REDUCE
                               ? "all_reduce"
                               : "all_gather";
        snprintf(start, sizeof start, "operation %d (%s) on rank %d, w: ", op,
                 kind, rank);
        assert_memory_equal(diags.list[0].message, start, strlen(start));
    }
    cz_arena_fini(&arena);
    return stuck;
}

static void test_random_lists(void **unused)
{
    static plan p;
    int n_stuck = 0;

    (void)unused;
    for (int round = 0; round < N_ROUNDS; round++) {
        draw_plan(&p, (uint64_t)round);
        n_stuck += compare_one(&p);
    }
    assert_in_range(n_stuck, N_ROUNDS / 10, N_ROUNDS - N_ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_lists)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
