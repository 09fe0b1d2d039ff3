/* Waits.  For every class of equal ranks, walk the list with a vector clock
 * per stream; where two operations of different streams touch the same bytes,
 * one of them writing, and the clock does not yet order them, the later one
 * gets a wait.  Holds however late a stream runs, and with every skipped
 * operation taken out (dsl/SCHEDULE.md). */
#include "passes/schedule/internal.h"

#include "dsl/base/checked.h"
#include "dsl/plan/box.h"
#include "dsl/plan/within.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { N_STREAMS = 3 };

/* Things that are touched as a whole, besides two per bucket. */
enum resource { NORM, DECISION, SCALARS, FAULTS, KEPT, N_SINGLE };

typedef struct use {
    int resource;
    bool is_write;
} use;

/* Bytes of scratch. */
typedef struct span {
    bool is_write;
    int64_t lo, hi;
} span;

/* What one operation touches; every span lies in [lo, hi). */
typedef struct accesses {
    use *uses;
    int n_uses;
    uint64_t read, written; /* bit r % 64 for every use of resource r */
    span *spans;
    int n_spans;
    int64_t lo, hi;
} accesses;

/* Operation of each stream that is known to have completed; -1: none. */
typedef struct clock {
    int done[N_STREAMS];
} clock;

/* One class of ranks while its operations are walked. */
typedef struct walk {
    const cz_scheduler *s;
    cz_arena *arena;
    int64_t rank;
    const int *streams;  /* [n_ops] */
    bool *is_skipped;    /* [n_ops] */
    accesses *touched;   /* [n_ops] */
    clock *started;      /* [n_ops] what completed before each one starts */
    int last[N_STREAMS]; /* operation last seen on each stream; -1: none */
} walk;

typedef struct wait_list {
    int64_t *v;
    int n;
} wait_list;

static int reduced(int bucket)
{
    return N_SINGLE + 2 * bucket;
}

static int values(int bucket)
{
    return N_SINGLE + 2 * bucket + 1;
}

static void touch_scratch(walk *w, accesses *a, int64_t lo, int64_t hi,
                          bool is_write)
{
    const span *last = a->n_spans > 0 ? &a->spans[a->n_spans - 1] : NULL;
    if (last && last->is_write == is_write && last->lo == lo && last->hi == hi)
        return;
    a->lo = last && a->lo < lo ? a->lo : lo;
    a->hi = last && a->hi > hi ? a->hi : hi;
    *CZ_PUSH(w->arena, a->spans, a->n_spans) = (span){is_write, lo, hi};
}

static void add_use(walk *w, accesses *a, int resource, bool is_write)
{
    *CZ_PUSH(w->arena, a->uses, a->n_uses) = (use){resource, is_write};
    *(is_write ? &a->written : &a->read) |= (uint64_t)1 << resource % 64;
}

static void touch_whole(walk *w, accesses *a, int resource, bool is_write)
{
    const uint64_t known = is_write ? a->written : a->read;
    for (int i = known >> resource % 64 & 1 ? 0 : a->n_uses; i < a->n_uses; i++)
        if (a->uses[i].resource == resource && a->uses[i].is_write == is_write)
            return;
    add_use(w, a, resource, is_write);
}

/* ---- what an operation touches ---- */

static void touch_slot(walk *w, accesses *a, const cz_view_stage *stage,
                       const cz_view_kernel_entry *row,
                       const cz_view_slot *slot, bool is_write)
{
    const int bucket = w->s->view->params[row->param].bucket;
    const int64_t scratch[CZ_N_SLOTS] = {[CZ_SLOT_GATHER] = row->gather,
                                         [CZ_SLOT_SCATTER] = row->scatter,
                                         [CZ_SLOT_TEMP] = row->temp};
    switch (slot->kind) {
    case CZ_SLOT_GRAD:
        touch_whole(w, a, reduced(bucket), is_write);
        break;
    case CZ_SLOT_STATE:
        /* A whole one is this stage's alone, but for KEEP, which comes before
         * all kernels, and UNDO, which waits for all of them. */
        if (!cz_view_is_shaped(stage))
            touch_whole(w, a, values(bucket), is_write);
        break;
    case CZ_SLOT_PARAM:
    case CZ_SLOT_STORED:
        touch_whole(w, a, values(bucket), is_write);
        break;
    case CZ_SLOT_GATHER:
    case CZ_SLOT_SCATTER:
    case CZ_SLOT_TEMP: {
        const int64_t lo = scratch[slot->kind];
        const int64_t n =
            cz_view_slot_bytes(stage, slot->kind, row->count, NULL);
        touch_scratch(w, a, lo, lo + n, is_write);
        break;
    }
    case CZ_N_SLOTS:
        break;
    }
}

static void touch_kernel(walk *w, accesses *a, const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &w->s->view->stages[row->stage];
    for (int i = 0; i < stage->n_in; i++)
        touch_slot(w, a, stage, row, &stage->in[i], cz_view_reuses(stage, i));
    for (int i = 0; i < stage->n_out; i++)
        touch_slot(w, a, stage, row, &stage->out[i], true);
    if (row->work >= 0)
        touch_scratch(w, a, row->work, row->work + stage->fact->work_bytes,
                      true);
}

/* Entries of this rank: [first, end) of the table. */
static int64_t first_entry(const walk *w, const cz_fact_table *table,
                           int64_t *end)
{
    const int64_t c = cz_view_coordinate(w->s->view, &table->selector, w->rank);
    *end = table->starts.v[c + 1];
    return table->starts.v[c];
}

static int64_t position_of(const walk *w, const cz_planned_op *op)
{
    const cz_ints comm = cz_schedule_comm(w->s, op);
    return cz_view_coordinate(w->s->view, &comm, w->rank);
}

static bool is_of(const cz_fact_table *table, int64_t i, int64_t position)
{
    cz_entry e;
    cz_entry_read(table->row,
                  table->rows.v + i * cz_entry_schemas[table->row].n_columns,
                  &e);
    return table->row != CZ_ENTRY_TRANSFER ||
           cz_view_has_member(&e.transfer, position);
}

/* Boxes that leave no byte between them are one span. */
static void touch_boxes(walk *w, accesses *a,
                        const cz_view_transfer_entry *entry)
{
    const int64_t n = cz_view_boxes_touch(entry) ? 1 : entry->n_peers;
    const int64_t bytes = n == 1 ? cz_view_boxes_end(entry) - entry->offset
                                 : cz_view_box_length(entry);
    for (int64_t k = 0; k < n; k++) {
        const int64_t lo = entry->offset + k * entry->offset_step;
        touch_scratch(w, a, lo, lo + bytes, entry->is_recv == 1);
    }
}

static void touch_rows(walk *w, accesses *a, const cz_fact_table *table,
                       int64_t position)
{
    int64_t end;
    for (int64_t i = first_entry(w, table, &end); i < end; i++) {
        cz_entry e;
        cz_entry_read(
            table->row,
            table->rows.v + i * cz_entry_schemas[table->row].n_columns, &e);
        switch (table->row) {
        case CZ_ENTRY_KERNEL:
            touch_kernel(w, a, &e.kernel);
            break;
        case CZ_ENTRY_TRANSFER:
            if (cz_view_has_member(&e.transfer, position))
                touch_boxes(w, a, &e.transfer);
            break;
        case CZ_ENTRY_SUM:
            touch_scratch(w, a, e.sum.offset,
                          e.sum.offset + e.sum.count * e.sum.width, true);
            break;
        case CZ_ENTRY_SPAN:
        case CZ_ENTRY_EXCHANGE: /* of buckets, which touch_all() has */
        case CZ_N_ENTRY_KINDS:
            break;
        }
    }
    if (table->row == CZ_ENTRY_KERNEL)
        touch_whole(w, a, FAULTS, true);
}

/* What is reduced, and what updates write, of all buckets that the rank has,
 * which the operation has not touched before. */
static void touch_buckets(walk *w, accesses *a, int (*which)(int bucket),
                          bool is_write)
{
    for (int b = 0; b < w->s->view->n_buckets; b++)
        if (cz_view_bucket_is_resident(w->s->view, b, w->rank))
            add_use(w, a, which(b), is_write);
}

static void touch_all(walk *w, int i)
{
    const cz_planned_op *op = &w->s->ops[i];
    accesses *a = &w->touched[i];
    switch (op->role) {
    case CZ_ROLE_REDUCE:
        touch_whole(w, a, reduced(op->bucket), true);
        return;
    case CZ_ROLE_GUARD:
        touch_buckets(w, a, reduced, false);
        touch_whole(w, a, DECISION, true);
        return;
    case CZ_ROLE_KEEP:
        touch_buckets(w, a, values, false);
        touch_whole(w, a, KEPT, true);
        return;
    case CZ_ROLE_UNDO:
        touch_buckets(w, a, values, true);
        touch_whole(w, a, KEPT, false);
        touch_whole(w, a, FAULTS, true);
        return;
    case CZ_ROLE_SQUARES:
        touch_whole(w, a, reduced(op->bucket), false);
        touch_whole(w, a, NORM, true);
        return;
    case CZ_ROLE_SUM:
        touch_buckets(w, a, reduced, false);
        touch_whole(w, a, NORM, true);
        return;
    case CZ_ROLE_DECIDE:
        touch_whole(w, a, NORM, false);
        touch_whole(w, a, DECISION, true);
        return;
    case CZ_ROLE_PROLOGUE:
        touch_whole(w, a, DECISION, false);
        touch_whole(w, a, SCALARS, true);
        return;
    case CZ_ROLE_ALL_GATHER:
        touch_whole(w, a, DECISION, false);
        touch_whole(w, a, values(op->bucket), true);
        return;
    case CZ_ROLE_ELEMENT_WISE:
    case CZ_ROLE_ALONE:
    case CZ_ROLE_PRE_GATHER:
    case CZ_ROLE_GATHER:
    case CZ_ROLE_FULL_MATRIX:
    case CZ_ROLE_ADD:
    case CZ_ROLE_SCATTER:
    case CZ_ROLE_POST_SCATTER:
        touch_whole(w, a, DECISION, false);
        touch_whole(w, a, SCALARS, false);
        touch_rows(w, a, &w->s->tables[op->table], position_of(w, op));
        return;
    case CZ_N_ROLES:
        return;
    }
}

static bool skips(const walk *w, const cz_planned_op *op)
{
    if (op->table < 0 || op->role == CZ_ROLE_REDUCE ||
        op->role == CZ_ROLE_ALL_GATHER)
        return op->bucket >= 0 &&
               !cz_view_bucket_is_resident(w->s->view, op->bucket, w->rank);
    const cz_fact_table *table = &w->s->tables[op->table];
    const int64_t position = position_of(w, op);
    int64_t end, i = first_entry(w, table, &end);
    while (i < end && !is_of(table, i, position))
        i++;
    return i == end;
}

/* ---- order ---- */

/* The masks tell most pairs apart at once. */
static bool uses_may_conflict(const accesses *a, const accesses *b)
{
    return (a->written & (b->read | b->written)) || (a->read & b->written);
}

static bool uses_conflict(const accesses *a, const accesses *b)
{
    for (int i = 0; i < a->n_uses; i++)
        for (int k = 0; k < b->n_uses; k++) {
            const use *p = &a->uses[i], *q = &b->uses[k];
            if (p->resource == q->resource && (p->is_write || q->is_write))
                return true;
        }
    return false;
}

static bool spans_conflict(const accesses *a, const accesses *b)
{
    for (int i = 0; i < a->n_spans; i++) {
        const span *p = &a->spans[i];
        for (int k = 0; k < b->n_spans && p->lo < b->hi && b->lo < p->hi; k++) {
            const span *q = &b->spans[k];
            if ((p->is_write || q->is_write) && p->lo < q->hi && q->lo < p->hi)
                return true;
        }
    }
    return false;
}

static bool conflict(const accesses *a, const accesses *b)
{
    return (uses_may_conflict(a, b) && uses_conflict(a, b)) ||
           (a->lo < b->hi && b->lo < a->hi && spans_conflict(a, b));
}

/* What is done once `op` has completed joins what is done before `into`. */
static void join(const walk *w, clock *into, int op)
{
    const clock *from = &w->started[op];
    for (int s = 0; s < N_STREAMS; s++)
        if (from->done[s] > into->done[s])
            into->done[s] = from->done[s];
    if (op > into->done[w->streams[op]])
        into->done[w->streams[op]] = op;
}

static void start_clock(walk *w, int op, const wait_list *waits)
{
    clock *start = &w->started[op];
    const int before = w->last[w->streams[op]];
    for (int s = 0; s < N_STREAMS; s++)
        start->done[s] = -1;
    if (before >= 0)
        join(w, start, before);
    for (int i = 0; i < waits->n; i++)
        if (!w->is_skipped[waits->v[i]])
            join(w, start, (int)waits->v[i]);
}

/* Everything up to this operation is done, whatever its stream. */
static int all_done(const walk *w, const clock *start)
{
    int done = INT_MAX;
    for (int s = 0; s < N_STREAMS; s++)
        if (start->done[s] < w->last[s] && start->done[s] < done)
            done = start->done[s];
    return done;
}

static void order_op(walk *w, int op, wait_list *waits)
{
    clock *start = &w->started[op];
    start_clock(w, op, waits);
    int done = all_done(w, start);
    for (int i = op - 1; i > done; i--) {
        if (w->is_skipped[i] || i <= start->done[w->streams[i]] ||
            !conflict(&w->touched[i], &w->touched[op]))
            continue;
        *CZ_PUSH(w->s->arena, waits->v, waits->n) = i;
        join(w, start, i);
        done = all_done(w, start);
    }
    w->last[w->streams[op]] = op;
}

/* ---- ranks that are alike ---- */

/* What a rank touches in each operation that it does not skip, as numbers. */
typedef struct profile {
    int64_t *v;
    int n;
    uint64_t hash;
    const struct profile *next;
} profile;

enum { N_PROFILE_LISTS = 1 << 12 };

static void put_number(cz_arena *arena, profile *p, int64_t number)
{
    *CZ_PUSH(arena, p->v, p->n) = number;
    p->hash = (p->hash ^ (uint64_t)number) * 0x9e3779b97f4a7c15u;
    p->hash ^= p->hash >> 29;
}

static profile profile_of(const walk *w)
{
    profile p = {.n = 0};
    for (int i = 0; i < w->s->n_ops; i++) {
        const accesses *a = &w->touched[i];
        put_number(w->arena, &p, w->is_skipped[i] ? -1 : a->n_uses);
        for (int k = 0; k < a->n_uses; k++)
            put_number(w->arena, &p,
                       2 * (int64_t)a->uses[k].resource + a->uses[k].is_write);
        put_number(w->arena, &p, a->n_spans);
        for (int k = 0; k < a->n_spans; k++) {
            put_number(w->arena, &p, a->spans[k].is_write);
            put_number(w->arena, &p, a->spans[k].lo);
            put_number(w->arena, &p, a->spans[k].hi);
        }
    }
    return p;
}

/* Whether an earlier rank has the same; else it is kept. */
static bool is_known(const walk *w, const profile **lists)
{
    const profile p = profile_of(w);
    const profile **list = &lists[p.hash % N_PROFILE_LISTS];
    const size_t bytes = (size_t)p.n * sizeof *p.v;
    for (const profile *other = *list; other; other = other->next)
        if (other->n == p.n && memcmp(other->v, p.v, bytes) == 0)
            return true;
    profile *kept = CZ_NEW(w->s->arena, profile, 1);
    *kept = p;
    kept->v = CZ_NEW(w->s->arena, int64_t, p.n);
    memcpy(kept->v, p.v, bytes);
    kept->next = *list;
    *list = kept;
    return false;
}

/* ---- the whole list ---- */

/* Returns the end of the scratch that the rank touches. */
static int64_t walk_rank(const cz_scheduler *s, cz_arena *arena, int64_t rank,
                         const int *streams, const profile **known,
                         wait_list *waits)
{
    int64_t end = 0;
    walk w = {s,
              arena,
              rank,
              streams,
              CZ_NEW(arena, bool, s->n_ops),
              CZ_NEW(arena, accesses, s->n_ops),
              CZ_NEW(arena, clock, s->n_ops),
              {-1, -1, -1}};
    for (int i = 0; i < s->n_ops; i++) {
        w.is_skipped[i] = skips(&w, &s->ops[i]);
        if (w.is_skipped[i])
            continue;
        touch_all(&w, i);
        end = w.touched[i].hi > end ? w.touched[i].hi : end;
    }
    const bool is_alike = is_known(&w, known);
    for (int i = 0; i < s->n_ops && !is_alike; i++)
        if (!w.is_skipped[i])
            order_op(&w, i, &waits[i]);
    return cz_round_up(end, CZ_ALIGN_BYTES);
}

static int by_number(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Every axis that some table, transfer or home depends on: ranks that agree on
 * them are equal.  Exchanges touch no scratch. */
static cz_ints class_axes(const cz_scheduler *s)
{
    const int n_axes = s->view->mesh->axes.n;
    int64_t *axes = CZ_NEW(s->arena, int64_t, n_axes), of_homes = 0;
    int n = 0;
    for (int f = 0; f < s->view->n_patterns; f++)
        of_homes |= s->view->patterns[f].fact->resident_axes;
    for (int axis = 0; axis < n_axes; axis++) {
        bool used = of_homes >> axis & 1;
        for (int i = 0; i < s->n_ops; i++)
            if (cz_schedule_role(s->ops[i].role)->kind == CZ_STEP_TRANSFER) {
                const cz_ints comm = cz_schedule_comm(s, &s->ops[i]);
                used |= cz_view_set_of(&comm) >> axis & 1;
            }
        for (int t = 0; t < s->n_tables; t++)
            for (int i = 0; i < s->tables[t].selector.n; i++)
                used = used || (s->tables[t].selector.v[i] == axis &&
                                s->tables[t].row != CZ_ENTRY_EXCHANGE);
        if (used)
            axes[n++] = axis;
    }
    return (cz_ints){axes, n};
}

static const int *find_streams(const cz_scheduler *s)
{
    int *streams = CZ_NEW(s->arena, int, s->n_ops);
    for (int i = 0; i < s->n_ops; i++)
        streams[i] = cz_schedule_role(s->ops[i].role)->stream;
    return streams;
}

void cz_schedule_waits(cz_scheduler *s)
{
    const int *streams = find_streams(s);
    s->class_axes = class_axes(s);
    const int64_t n_classes = cz_view_extent(s->view, &s->class_axes);
    wait_list *waits = CZ_NEW(s->arena, wait_list, s->n_ops);
    s->class_bytes = CZ_NEW(s->arena, int64_t, n_classes);
    const profile **known = CZ_NEW(s->arena, const profile *, N_PROFILE_LISTS);
    cz_arena scratch;
    cz_arena_init(&scratch);
    for (int64_t c = 0; c < n_classes; c++) {
        s->class_bytes[c] = walk_rank(
            s, &scratch, cz_view_rank_at(s->view, &s->class_axes, c, 0),
            streams, known, waits);
        cz_arena_clear(&scratch);
    }
    cz_arena_fini(&scratch);
    s->waits = CZ_NEW(s->arena, cz_ints, s->n_ops);
    for (int i = 0; i < s->n_ops; i++) {
        if (waits[i].n > 0)
            qsort(waits[i].v, (size_t)waits[i].n, sizeof *waits[i].v,
                  by_number);
        s->waits[i] = (cz_ints){waits[i].v, waits[i].n};
    }
}
