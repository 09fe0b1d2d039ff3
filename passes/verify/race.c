/* V5: two operations of a rank that touch the same bytes, one of them
 * writing, need an order by streams and waits.  Inside one transfer, where
 * all rows move at once, no row may touch what another writes. */
#include "dsl/plan/within.h"
#include "passes/verify/conflict.h"
#include "passes/verify/internal.h"

#include <assert.h>
#include <stdlib.h>

/* Memory that operations touch; bucket spaces come once per bucket. */
typedef enum space {
    SPACE_SCRATCH,
    SPACE_NORM,
    SPACE_DECISION,
    SPACE_SCALARS,
    SPACE_FAULTS, /* of operations: what failed in each */
    SPACE_KEPT,
    SPACE_GRAD,
    SPACE_REDUCED,
    SPACE_PARAM,
    SPACE_MASTER,
    SPACE_STATE /* and one more per state */
} space;

typedef struct access_list {
    verifier *v;
    int64_t rank;
    access *v_access;
    int n, op;
    int n_kinds; /* spaces of a bucket; as many come before the first bucket */
    int *last;   /* [2 * n_kinds] access added last, by kind of space, of those
                  * that read and of those that write */
    /* A rough list has one access for all that an operation reads of a bucket's
     * space, and one for what it writes, from the first to the last byte; and
     * none of those of KEEP and UNDO to the values of all buckets, but
     * which operations read or write values. */
    bool is_rough;
    bool *reads_values, *writes_values; /* [n_ops] */
} access_list;

static bool same_memory(const access *a, const access *b)
{
    return a->space == b->space && a->lo == b->lo && a->hi == b->hi &&
           a->op == b->op && a->writes == b->writes;
}

/* What an operation touches time and again, as the scalars, is kept once. */
static void add(access_list *list, int64_t space_number, int64_t lo, int64_t hi,
                bool writes, int64_t param)
{
    const access a = {space_number, lo, hi, param, list->op, writes};
    const int64_t kind = space_number % list->n_kinds;
    int *last = &list->last[2 * kind + writes];

    assert(*last >= 0);
    if (lo >= hi)
        return;
    if (kind >= SPACE_PARAM) {
        list->reads_values[list->op] |= !writes;
        list->writes_values[list->op] |= writes;
    }
    if (*last < list->n) {
        access *before = &list->v_access[*last];
        if (same_memory(before, &a))
            return;
        if (list->is_rough && space_number >= list->n_kinds &&
            before->space == space_number && before->op == list->op &&
            before->writes == writes) {
            before->lo = lo < before->lo ? lo : before->lo;
            before->hi = hi > before->hi ? hi : before->hi;
            return;
        }
    }
    *last = list->n;
    *CZ_PUSH(list->v->arena, list->v_access, list->n) = a;
}

static int64_t bucket_space(const access_list *list, int64_t bucket,
                            int64_t kind)
{
    return (bucket + 1) * list->n_kinds + kind;
}

static int64_t slot_space(const access_list *list, const cz_view_slot *slot,
                          int bucket)
{
    const bool has_master = list->v->view->buckets[bucket].has_master;

    switch (slot->kind) {
    case CZ_SLOT_GRAD:
        return bucket_space(list, bucket, SPACE_REDUCED);
    case CZ_SLOT_PARAM:
        return bucket_space(list, bucket,
                            has_master ? SPACE_MASTER : SPACE_PARAM);
    case CZ_SLOT_STATE:
        return bucket_space(list, bucket, SPACE_STATE + slot->index);
    case CZ_SLOT_STORED:
        return bucket_space(list, bucket, SPACE_PARAM);
    case CZ_SLOT_GATHER:
    case CZ_SLOT_SCATTER:
    case CZ_SLOT_TEMP:
    case CZ_N_SLOTS:
        break;
    }
    return SPACE_SCRATCH;
}

static void add_slot(access_list *list, const cz_view_kernel_entry *row,
                     const cz_view_slot *slot, bool writes)
{
    const cz_view_stage *stage = &list->v->view->stages[row->stage];
    const int bucket = list->v->view->params[row->param].bucket;
    const int64_t where = slot_space(list, slot, bucket);
    int64_t lo = row->offset, hi = row->offset + row->count;

    if (slot->kind == CZ_SLOT_STATE && cz_view_is_shaped(stage)) {
        lo = list->v->view->params[row->param].offset;
        hi = lo + 1; /* all of a whole state */
    } else if (where == SPACE_SCRATCH) {
        int64_t offset, bytes;
        slot_extent(stage, slot, row->count, &offset, &bytes);
        lo = scratch_of(row, slot->kind) + offset;
        hi = lo + bytes;
    }
    add(list, where, lo, hi, writes, row->param);
}

static void add_kernel_row(access_list *list, const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &list->v->view->stages[row->stage];

    for (int i = 0; i < stage->n_in; i++)
        add_slot(list, row, &stage->in[i], cz_view_reuses(stage, i));
    for (int i = 0; i < stage->n_out; i++)
        add_slot(list, row, &stage->out[i], true);
    if (stage->fact->work_bytes > 0)
        add(list, SPACE_SCRATCH, row->work, row->work + stage->fact->work_bytes,
            true, row->param);
    if (stage->fact->scalars.n)
        add(list, SPACE_SCALARS, 0, 1, false, row->param);
}

/* Boxes that leave no byte between them are one access. */
static void add_boxes(access_list *list, const cz_view_transfer_entry *row)
{
    const int64_t n = cz_view_boxes_touch(row) ? 1 : row->n_peers;
    const int64_t bytes =
        n == 1 ? cz_view_boxes_end(row) - row->offset : cz_view_box_length(row);

    for (int64_t k = 0; k < n; k++) {
        const int64_t lo = row->offset + k * row->offset_step;
        add(list, SPACE_SCRATCH, lo, lo + bytes, row->is_recv, row->param);
    }
}

static int64_t sum_end(const cz_view_sum_entry *row)
{
    return row->offset + row->count * row->width;
}

static void add_rows(access_list *list, const cz_view_op *op)
{
    const row_range rows = rows_of(list->v, op, list->rank);
    const int64_t position = position_of(list->v, op, list->rank);
    const cz_view_table *table;

    if (op->table < 0)
        return;
    table = &list->v->view->tables[op->table];
    if (table->kind == CZ_ENTRY_KERNEL)
        add(list, SPACE_FAULTS, list->op, list->op + 1, true,
            table->rows.kernel[rows.first].param);
    for (int64_t i = rows.first; i < rows.end; i++) {
        const cz_view_span_entry *span = &table->rows.span[i];
        if (!has_row(table, i, position))
            continue;
        if (table->kind == CZ_ENTRY_KERNEL)
            add_kernel_row(list, &table->rows.kernel[i]);
        else if (table->kind == CZ_ENTRY_TRANSFER)
            add_boxes(list, &table->rows.transfer[i]);
        else if (table->kind == CZ_ENTRY_SUM)
            add(list, SPACE_SCRATCH, table->rows.sum[i].offset,
                sum_end(&table->rows.sum[i]), true, table->rows.sum[i].param);
        else if (table->kind == CZ_ENTRY_SPAN)
            add(list,
                bucket_space(list, list->v->view->params[span->param].bucket,
                             SPACE_REDUCED),
                span->offset, span->offset + span->count, false, span->param);
    }
}

static void add_bucket_op(access_list *list, const cz_view_op *op)
{
    const int64_t b = op->fact->bucket;
    const int64_t length = list->v->view->buckets[b].fact->length;
    int64_t lo, hi;

    slice_of(list->v, (int)b, list->rank, &lo, &hi);
    if (op->kind == CZ_STEP_REDUCE_SCATTER) {
        add(list, bucket_space(list, b, SPACE_GRAD), 0, length, false, -1);
        add(list, bucket_space(list, b, SPACE_REDUCED), lo, hi, true, -1);
    } else {
        add(list, bucket_space(list, b, SPACE_PARAM), lo, hi, false, -1);
        add(list, bucket_space(list, b, SPACE_PARAM), 0, lo, true, -1);
        add(list, bucket_space(list, b, SPACE_PARAM), hi, length, true, -1);
    }
}

/* A parameter to name of a bucket: its first. */
static int64_t first_param(const cz_view_bucket *bucket)
{
    return bucket->fact->params.n > 0 ? bucket->fact->params.v[0] : -1;
}

/* The guard looks at all gradients; and so does the sum of the norm, for those
 * that are not finite, in whichever copy. */
static void add_gradients(access_list *list)
{
    const verifier *v = list->v;
    int64_t lo, hi;

    for (int b = 0; b < v->view->n_buckets; b++) {
        if (!has_bucket(v, b, list->rank))
            continue;
        slice_of(v, b, list->rank, &lo, &hi);
        add(list, bucket_space(list, b, SPACE_REDUCED), lo, hi, false,
            first_param(&v->view->buckets[b]));
    }
}

/* What updates write: parameters, masters and states. */
static void add_values(access_list *list, bool writes)
{
    const verifier *v = list->v;

    for (int b = 0; b < v->view->n_buckets && !list->is_rough; b++)
        for (int kind = SPACE_PARAM;
             kind < list->n_kinds && has_bucket(v, b, list->rank); kind++)
            add(list, bucket_space(list, b, kind), 0,
                v->view->buckets[b].fact->length, writes,
                first_param(&v->view->buckets[b]));
}

static void add_op(access_list *list, const cz_view_op *op)
{
    switch (op->kind) {
    case CZ_STEP_REDUCE_SCATTER:
    case CZ_STEP_ALL_GATHER:
        add_bucket_op(list, op);
        break;
    case CZ_STEP_SQUARE_SUM:
        add(list, SPACE_NORM, 0, 1, true,
            place_on(list->v, list->op, list->rank).param);
        break;
    case CZ_STEP_ALL_REDUCE:
        add_gradients(list);
        add(list, SPACE_NORM, 0, 1, true, -1);
        break;
    case CZ_STEP_DECIDE:
        add(list, SPACE_NORM, 0, 1, false, -1);
        add(list, SPACE_DECISION, 0, 1, true, -1);
        break;
    case CZ_STEP_PROLOGUE:
        add(list, SPACE_DECISION, 0, 1, false, -1);
        add(list, SPACE_SCALARS, 0, 1, true, -1);
        break;
    case CZ_STEP_GUARD:
        add_gradients(list);
        add(list, SPACE_DECISION, 0, 1, true, -1);
        break;
    case CZ_STEP_KEEP:
        add_values(list, false);
        add(list, SPACE_KEPT, 0, 1, true, -1);
        break;
    case CZ_STEP_UNDO:
        add(list, SPACE_FAULTS, 0, list->v->view->n_ops, false, -1);
        add(list, SPACE_KEPT, 0, 1, false, -1);
        add_values(list, true);
        break;
    case CZ_STEP_KERNEL:
    case CZ_STEP_TRANSFER:
    case CZ_STEP_GROUP_SUM:
    case CZ_N_STEPS:
        break;
    }
    add_rows(list, op);
}

typedef struct checked_rank {
    verifier *v;
    int64_t rank;
    const order *order;
    bool is_rough, is_ordered;
} checked_rank;

/* Of a rough list it is only noted that there is such a pair. */
static bool check_pair(void *context, const access *first, const access *second)
{
    checked_rank *on = context;
    place at;

    if (is_before(on->order, first->op, second->op))
        return true;
    on->is_ordered = false;
    if (on->is_rough)
        return false;
    at = place_on(on->v, second->op, on->rank);
    if (second->param >= 0 || first->param >= 0)
        at.param = second->param >= 0 ? second->param : first->param;
    reject(on->v, at,
           "%s what operation %d %s, and no stream or wait orders the two",
           second->writes ? "writes" : "reads", first->op,
           first->writes ? "writes" : "still reads");
    return false;
}

/* V9: whatever updates has a decision behind it, by streams and waits. */
static void check_decided(verifier *v, int64_t rank, const order *o,
                          cz_step_kind kind, const char *what)
{
    int decision = -1;

    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        const cz_view_op *op = &v->view->ops[i];
        if (op->kind == kind)
            decision = i;
        if (op->section == CZ_SECTION_UPDATE && decision >= 0 &&
            !is_skipped(v, op, rank) && !is_before(o, decision, i))
            reject(v, place_on(v, i, rank), "may start before the %s", what);
    }
}

static int count_kinds(const verifier *v)
{
    int n_states = 0;

    for (int r = 0; r < v->view->n_rules; r++)
        if (v->view->rules[r].fact->states.n > n_states)
            n_states = v->view->rules[r].fact->states.n;
    return SPACE_STATE + n_states;
}

static access_list list_accesses(verifier *v, int from, int64_t rank,
                                 bool is_rough)
{
    const int n_ops = v->view->n_ops;
    access_list list = {.v = v,
                        .rank = rank,
                        .op = from,
                        .n_kinds = count_kinds(v),
                        .is_rough = is_rough,
                        .reads_values = CZ_NEW(v->arena, bool, n_ops + 1),
                        .writes_values = CZ_NEW(v->arena, bool, n_ops + 1)};

    list.last = CZ_NEW(v->arena, int, 2 * list.n_kinds);
    for (; list.op < n_ops; list.op++)
        if (!is_skipped(v, &v->view->ops[list.op], rank))
            add_op(&list, &v->view->ops[list.op]);
    return list;
}

static bool are_ordered(const order *o, int a, int b)
{
    return a == b || (a < b ? is_before(o, a, b) : is_before(o, b, a));
}

/* KEEP reads the values of all buckets, and UNDO writes them. */
static bool are_values_ordered(const access_list *list, const order *o)
{
    const cz_plan_view *view = list->v->view;

    for (int op = 0; op < view->n_ops; op++)
        for (int i = 0;
             i < view->n_ops && (view->ops[op].kind == CZ_STEP_KEEP ||
                                 view->ops[op].kind == CZ_STEP_UNDO);
             i++)
            if ((list->writes_values[i] ||
                 (list->reads_values[i] &&
                  view->ops[op].kind == CZ_STEP_UNDO)) &&
                !are_ordered(o, op, i))
                return false;
    return true;
}

/* True if the list has conflicts in order alone. */
static bool check_conflicts(const access_list *list, const order *o)
{
    checked_rank context = {list->v, list->rank, o, list->is_rough, true};

    visit_conflicts(list->v->arena, list->v_access, list->n,
                    (int64_t)(list->v->view->n_buckets + 1) * list->n_kinds,
                    check_pair, &context);
    return context.is_ordered;
}

static void check_rank(verifier *v, int from, int64_t rank)
{
    const order o = order_of_rank(v, rank);
    access_list list = list_accesses(v, from, rank, true);

    check_decided(v, rank, &o, CZ_STEP_GUARD, "guard of gradients has decided");
    check_decided(v, rank, &o, CZ_STEP_DECIDE, "clip-and-skip decision");
    if (v->n_errors ||
        (are_values_ordered(&list, &o) && check_conflicts(&list, &o)))
        return;
    list = list_accesses(v, from, rank, false);
    check_conflicts(&list, &o);
}

/* Boxes of equal stride that lie side by side share no byte; b lies `shift`
 * bytes behind a. */
static bool boxes_overlap(const cz_view_transfer_entry *a,
                          const cz_view_transfer_entry *b, int64_t shift)
{
    const int64_t stride = a->stride_bytes;

    if (cz_view_box_length(a) <= shift || cz_view_box_length(b) <= -shift)
        return false;
    if (a->n_rows == 1 || b->n_rows == 1 || stride != b->stride_bytes)
        return true;
    shift = (shift % stride + stride) % stride;
    return shift < a->row_bytes || shift + b->row_bytes > stride;
}

/* Whether a box of one overlaps with a box of the other, or, of the same entry,
 * two of its boxes. */
static bool entries_overlap(const cz_view_transfer_entry *a,
                            const cz_view_transfer_entry *b)
{
    for (int64_t i = 0; i < (a == b ? 1 : a->n_peers); i++)
        for (int64_t k = a == b; k < b->n_peers; k++) {
            const int64_t shift =
                b->offset + k * b->offset_step - a->offset - i * a->offset_step;
            if (shift >= cz_view_box_length(a))
                break;
            if (boxes_overlap(a, b, shift))
                return true;
        }
    return false;
}

static int compare_rows(const void *left, const void *right)
{
    const cz_view_transfer_entry *a =
        *(const cz_view_transfer_entry *const *)left;
    const cz_view_transfer_entry *b =
        *(const cz_view_transfer_entry *const *)right;

    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void check_unit(verifier *v, int number, int64_t rank)
{
    const cz_view_op *op = &v->view->ops[number];
    const row_range rows = rows_of(v, op, rank);
    const int64_t position = position_of(v, op, rank);
    const cz_view_table *table = &v->view->tables[op->table];
    const cz_view_transfer_entry **list = CZ_NEW(
        v->arena, const cz_view_transfer_entry *, rows.end - rows.first + 1);
    int n = 0;

    for (int64_t i = rows.first; i < rows.end; i++)
        if (has_row(table, i, position))
            list[n++] = &table->rows.transfer[i];
    qsort(list, (size_t)n, sizeof *list, compare_rows);
    for (int i = 0; i < n; i++)
        for (int k = i; k < n && list[k]->offset < cz_view_boxes_end(list[i]);
             k++)
            if ((list[i]->is_recv || list[k]->is_recv) &&
                entries_overlap(list[i], list[k])) {
                reject(v, (place){number, rank, list[k]->param},
                       "receives into bytes that another row of the group "
                       "moves at the same time");
                return;
            }
}

void check_races(verifier *v)
{
    for (int op = 0; op < v->view->n_ops; op++)
        if (v->view->ops[op].kind == CZ_STEP_TRANSFER)
            for_each_rank(v, op, check_unit);
    for_each_rank(v, 0, check_rank);
}
