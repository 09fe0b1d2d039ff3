/* Schedules of random plans, against naive readings of dsl/SCHEDULE.md: every
 * element once, sends and receives that fit, order by transitive closure, and
 * scratch that is exactly what rows touch. */
#include "passes/schedule/schedule.h"

#include "dsl/plan/box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/passes/fake_plan.h"

enum { SEEDS = 400, MAX_OPS = 256, MAX_PARAMS = 32, MAX_TOUCHES = 512 };

typedef struct planned {
    fake_plan fake;
    cz_diags diags;
    cz_schedule schedule;
} planned;

static void plan(planned *p, uint64_t seed)
{
    fake_plan_init(&p->fake, seed);
    cz_diags_init(&p->diags, &p->fake.arena);
    assert_true(cz_schedule_build(&p->fake.arena, &p->fake.view, &p->diags,
                                  &p->schedule));
    assert_true(p->schedule.n_ops <= MAX_OPS);
}

static const cz_fact_table *table_of(const planned *p, int op)
{
    for (int t = 0; t < p->schedule.n_tables; t++)
        if (strcmp(p->schedule.tables[t].sym_name, p->schedule.ops[op].table) ==
            0)
            return &p->schedule.tables[t];
    return NULL;
}

/* Kernels, boxes and spans have the numbers of the IR in their order. */
typedef struct row_list {
    cz_view_rows of;
    int n;
} row_list;

static row_list rows_of(const planned *p, int op, int64_t rank)
{
    const cz_fact_table *table = table_of(p, op);
    if (!table)
        return (row_list){{NULL}, 0};
    const int columns = cz_entry_schemas[table->row].n_columns;
    const int64_t c = cz_view_coordinate(&p->fake.view, &table->selector, rank);
    const int64_t first = table->starts.v[c];
    return (row_list){{table->rows.v + first * columns},
                      (int)(table->starts.v[c + 1] - first)};
}

static bool is_kind(const planned *p, int op, const char *kind)
{
    return strcmp(cz_step_kind_word(p->schedule.ops[op].kind), kind) == 0;
}

/* Whether the boxes of an entry are a rank's. */
static bool is_of(const planned *p, int op, int64_t rank,
                  const cz_view_transfer_entry *row)
{
    return cz_view_has_member(
        row,
        cz_view_coordinate(&p->fake.view, &p->schedule.ops[op].comm, rank));
}

static bool is_skipped(const planned *p, int op, int64_t rank)
{
    const row_list rows = rows_of(p, op, rank);
    int n = 0;
    for (int i = 0; i < rows.n; i++)
        n += !is_kind(p, op, "transfer") ||
             is_of(p, op, rank, &rows.of.transfer[i]);
    return table_of(p, op) && n == 0;
}

/* ---- every element once ---- */

static void count_elements(const planned *p, int64_t rank, const char *kind,
                           int stage, int64_t *elements)
{
    memset(elements, 0, sizeof *elements * MAX_PARAMS);
    for (int op = 0; op < p->schedule.n_ops; op++) {
        const row_list rows = rows_of(p, op, rank);
        for (int i = 0; is_kind(p, op, kind) && i < rows.n; i++) {
            if (stage < 0)
                elements[rows.of.span[i].param] += rows.of.span[i].count;
            else if (rows.of.kernel[i].stage == stage)
                elements[rows.of.kernel[i].param] += rows.of.kernel[i].count;
        }
    }
}

/* Elements of a parameter that lie in the rank's slice. */
static int64_t own_elements(const planned *p, int param, int64_t rank)
{
    const cz_plan_view *v = &p->fake.view;
    const int64_t row = cz_view_coordinate(v, &v->reductions->split_axes, rank);
    const cz_view_param *q = &v->params[param];
    const int64_t *slices = v->buckets[q->bucket].fact->slices.v;
    int64_t n = 0;
    const int64_t local =
        cz_view_shard_elements(v, &v->patterns[q->pattern], rank);
    for (int64_t e = 0; e < local; e++)
        n += q->offset + e >= slices[row] && q->offset + e < slices[row + 1];
    return n;
}

static void check_updates(const planned *p, int64_t rank)
{
    const cz_plan_view *v = &p->fake.view;
    int64_t before[MAX_PARAMS], after[MAX_PARAMS], local[MAX_PARAMS];
    count_elements(p, rank, "kernel", FAKE_BEFORE, before);
    count_elements(p, rank, "kernel", FAKE_AFTER, after);
    count_elements(p, rank, "kernel", FAKE_LOCAL, local);
    for (int i = 0; i < v->n_params; i++) {
        const int64_t own = own_elements(p, i, rank);
        const bool is_matrix = v->params[i].split_owner >= 0;
        assert_int_equal(before[i], is_matrix ? own : 0);
        assert_int_equal(after[i], is_matrix ? own : 0);
        assert_int_equal(local[i], is_matrix ? 0 : own);
    }
}

static void check_whole(const planned *p, int64_t rank)
{
    const cz_plan_view *v = &p->fake.view;
    const int64_t tp = 2;
    const cz_ints tp_axis = {&tp, 1};
    int64_t whole[MAX_PARAMS];
    count_elements(p, rank, "kernel", FAKE_WHOLE, whole);
    for (int i = 0; i < v->n_params; i++) {
        const cz_view_param *q = &v->params[i];
        const bool is_owner =
            q->split_owner ==
                cz_view_coordinate(v, &v->reductions->split_axes, rank) &&
            (q->shard_owner < 0 ||
             q->shard_owner == cz_view_coordinate(v, &tp_axis, rank));
        assert_int_equal(whole[i],
                         is_owner ? v->patterns[q->pattern].elements : 0);
    }
}

/* Over all ranks, each logical element is in the norm once. */
static void check_norm(const planned *p)
{
    const cz_plan_view *v = &p->fake.view;
    int64_t sum[MAX_PARAMS] = {0}, part[MAX_PARAMS];
    for (int rank = 0; rank < v->n_ranks; rank++) {
        count_elements(p, rank, "square_sum", -1, part);
        for (int i = 0; i < v->n_params; i++)
            sum[i] += part[i];
    }
    for (int i = 0; i < v->n_params; i++)
        assert_int_equal(sum[i],
                         v->policy->clip > 0 ? v->patterns[i].elements : 0);
}

static void test_every_element_once(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        planned p;
        plan(&p, seed);
        for (int rank = 0; rank < p.fake.view.n_ranks; rank++) {
            check_updates(&p, rank);
            check_whole(&p, rank);
        }
        check_norm(&p);
        fake_plan_fini(&p.fake);
    }
}

/* ---- sends and receives ---- */

/* The k-th entry of a direction with a box between two ranks, or NULL. */
static const cz_view_transfer_entry *find_row(const planned *p, int op,
                                              int64_t rank, int64_t peer,
                                              int is_recv, int k)
{
    const row_list rows = rows_of(p, op, rank);
    const int64_t at =
        cz_view_coordinate(&p->fake.view, &p->schedule.ops[op].comm, peer);
    for (int i = 0; i < rows.n; i++) {
        const cz_view_transfer_entry *row = &rows.of.transfer[i];
        if (row->is_recv == is_recv && is_of(p, op, rank, row) &&
            cz_view_has_peer(row, at) && k-- == 0)
            return row;
    }
    return NULL;
}

static void check_pair(const planned *p, int op, int64_t from, int64_t to)
{
    for (int k = 0;; k++) {
        const cz_view_transfer_entry *send = find_row(p, op, from, to, 0, k);
        const cz_view_transfer_entry *receive = find_row(p, op, to, from, 1, k);
        assert_true((send == NULL) == (receive == NULL));
        if (!send)
            return;
        assert_int_equal(send->param, receive->param);
        assert_int_equal(send->n_rows, receive->n_rows);
        assert_int_equal(send->row_bytes, receive->row_bytes);
    }
}

static void check_transfer(const planned *p, int op)
{
    const cz_plan_view *v = &p->fake.view;
    const cz_ints *comm = &p->schedule.ops[op].comm;
    for (int rank = 0; rank < v->n_ranks; rank++)
        for (int64_t m = 0; m < cz_view_extent(v, comm); m++) {
            const int64_t peer = cz_view_rank_at(v, comm, m, rank);
            check_pair(p, op, rank, peer);
        }
}

static void test_sends_meet_receives(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        planned p;
        plan(&p, seed);
        for (int op = 0; op < p.schedule.n_ops; op++)
            if (is_kind(&p, op, "transfer"))
                check_transfer(&p, op);
        fake_plan_fini(&p.fake);
    }
}

/* ---- order and scratch ---- */

/* A stretch of scratch that an operation touches; buckets are stretches of an
 * address space of their own. */
typedef struct touch {
    int op;
    bool is_write;
    int64_t lo, hi;
} touch;

typedef struct rank_walk {
    const planned *p;
    int64_t rank;
    bool before[MAX_OPS][MAX_OPS]; /* [a][b]: a completes before b starts */
    touch touches[MAX_TOUCHES];
    int n_touches;
    int64_t peak;
} rank_walk;

static void touch_bytes(rank_walk *w, int op, bool is_write, int64_t lo,
                        int64_t n)
{
    assert_true(w->n_touches < MAX_TOUCHES);
    w->touches[w->n_touches++] = (touch){op, is_write, lo, lo + n};
    if (lo >= 0 && cz_round_up(lo + n, CZ_ALIGN_BYTES) > w->peak)
        w->peak = cz_round_up(lo + n, CZ_ALIGN_BYTES);
}

/* Reduced gradients and values of a bucket: below zero. */
static void touch_bucket(rank_walk *w, int op, bool is_write, int64_t bucket,
                         bool is_values)
{
    touch_bytes(w, op, is_write, -4 * bucket - (is_values ? 2 : 4), 1);
}

static void touch_slots(rank_walk *w, int op, const cz_view_slot *slots, int n,
                        const cz_view_kernel_entry *row, bool is_write)
{
    const cz_plan_view *v = &w->p->fake.view;
    const int bucket = v->params[row->param].bucket;
    for (int i = 0; i < n; i++) {
        const cz_slot_kind kind = slots[i].kind;
        const int64_t start = kind == CZ_SLOT_GATHER    ? row->gather
                              : kind == CZ_SLOT_SCATTER ? row->scatter
                              : kind == CZ_SLOT_TEMP    ? row->temp
                                                        : -1;
        if (kind == CZ_SLOT_GRAD)
            touch_bucket(w, op, is_write, bucket, false);
        else if (start < 0)
            touch_bucket(w, op, is_write, bucket, true);
        else
            touch_bytes(w, op, is_write, start,
                        cz_view_slot_bytes(&v->stages[row->stage], kind,
                                           row->count, NULL));
    }
}

static void touch_boxes(rank_walk *w, int op, const cz_view_transfer_entry *row)
{
    for (int k = 0; k < row->n_peers && is_of(w->p, op, w->rank, row); k++)
        touch_bytes(w, op, row->is_recv == 1, cz_view_box_at(row, k).offset,
                    cz_view_box_length(row));
}

static void touch_kernel(rank_walk *w, int op, const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &w->p->fake.view.stages[row->stage];
    touch_slots(w, op, stage->in, stage->n_in, row, false);
    touch_slots(w, op, stage->out, stage->n_out, row, true);
    if (row->work >= 0)
        touch_bytes(w, op, true, row->work, stage->fact->work_bytes);
}

static void touch_op(rank_walk *w, int op)
{
    const cz_fact_op *fact = &w->p->schedule.ops[op];
    const row_list rows = rows_of(w->p, op, w->rank);
    if (is_kind(w->p, op, "reduce_scatter"))
        touch_bucket(w, op, true, fact->bucket, false);
    else if (is_kind(w->p, op, "square_sum"))
        touch_bucket(w, op, false, fact->bucket, false);
    else if (is_kind(w->p, op, "all_gather"))
        touch_bucket(w, op, true, fact->bucket, true);
    else
        for (int i = 0; i < rows.n; i++)
            if (is_kind(w->p, op, "transfer"))
                touch_boxes(w, op, &rows.of.transfer[i]);
            else
                touch_kernel(w, op, &rows.of.kernel[i]);
}

/* Streams and waits of what is not skipped, and their transitive closure. */
static void order_ops(rank_walk *w)
{
    const int n = w->p->schedule.n_ops;
    memset(w->before, 0, sizeof w->before);
    for (int b = 0; b < n; b++) {
        const cz_fact_op *op = &w->p->schedule.ops[b];
        for (int a = 0; a < b; a++)
            w->before[a][b] = w->p->schedule.ops[a].stream == op->stream &&
                              !is_skipped(w->p, a, w->rank) &&
                              !is_skipped(w->p, b, w->rank);
        for (int i = 0; i < op->waits.n; i++)
            if (!is_skipped(w->p, (int)op->waits.v[i], w->rank) &&
                !is_skipped(w->p, b, w->rank))
                w->before[op->waits.v[i]][b] = true;
    }
    for (int k = 0; k < n; k++)
        for (int a = 0; a < k; a++)
            for (int b = k + 1; w->before[a][k] && b < n; b++)
                w->before[a][b] |= w->before[k][b];
}

static void check_conflicts(const rank_walk *w)
{
    for (int i = 0; i < w->n_touches; i++)
        for (int k = 0; k < i; k++) {
            const touch *a = &w->touches[k], *b = &w->touches[i];
            if (a->op != b->op && (a->is_write || b->is_write) &&
                a->lo < b->hi && b->lo < a->hi)
                assert_true(w->before[a->op][b->op]);
        }
}

/* Nothing of `update` starts before the decision. */
static void check_decision(const rank_walk *w)
{
    int decide = -1;
    for (int op = 0; op < w->p->schedule.n_ops; op++) {
        if (is_kind(w->p, op, "decide"))
            decide = op;
        else if (decide >= 0 && !is_skipped(w->p, op, w->rank))
            assert_true(w->before[decide][op]);
    }
}

static void walk(const planned *p, int64_t rank)
{
    static rank_walk w;
    const cz_fact_arena *arena = &p->schedule.arena;
    w.p = p;
    w.rank = rank;
    w.n_touches = 0;
    w.peak = 0;
    for (int op = 0; op < p->schedule.n_ops; op++)
        if (!is_skipped(p, op, rank))
            touch_op(&w, op);
    order_ops(&w);
    check_conflicts(&w);
    check_decision(&w);
    assert_int_equal(arena->bytes.v[cz_view_coordinate(&p->fake.view,
                                                       &arena->selector, rank)],
                     w.peak);
}

static void test_conflicts_are_ordered_and_scratch_is_exact(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        planned p;
        plan(&p, seed);
        for (int rank = 0; rank < p.fake.view.n_ranks; rank++)
            walk(&p, rank);
        fake_plan_fini(&p.fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_element_once),
        cmocka_unit_test(test_sends_meet_receives),
        cmocka_unit_test(test_conflicts_are_ordered_and_scratch_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
