/* Which equal matrices of one rank's rows may run as one: they are told from
 * the rows alone. */
#include "codegen/cuda/batch.h"

#include <stdlib.h>

/* Kinds of scratch that a row has. */
enum { N_KINDS = 4 };

/* Scratch bytes [start, end). */
typedef struct range {
    int64_t start, end;
} range;

typedef struct unit {
    int64_t first; /* row */
    int n_rows;
    int kind;  /* units that are alike have one number */
    int batch; /* from 1; 0: none */
} unit;

/* Where the rows of a kind have scratch. */
typedef enum place {
    NOWHERE,
    IN_TURN, /* all at the same bytes */
    APART,   /* the first one where no other is; if others are where one of them
              * is, that is a conflict */
    MIXED
} place;

typedef struct finder {
    const cz_plan_view *view;
    const cz_view_kernel_row *rows; /* of the table */
    cz_arena *arena;                /* for what is gone behind it */
    unit *units;
    int n_units, n_kinds;
} finder;

/* ---- units -------------------------------------------------------------- */

static bool is_alike(const finder *f, const unit *a, const unit *b)
{
    if (a->n_rows != b->n_rows)
        return false;
    for (int i = 0; i < a->n_rows; i++) {
        const cz_view_kernel_row *x = &f->rows[a->first + i];
        const cz_view_kernel_row *y = &f->rows[b->first + i];
        if (x->stage != y->stage || x->count != y->count)
            return false;
    }
    return true;
}

/* The first of each kind tells of the others. */
static void name_kinds(finder *f)
{
    unit **firsts = CZ_NEW(f->arena, unit *, f->n_units);

    for (int u = 0; u < f->n_units; u++) {
        int kind = 0;
        while (kind < f->n_kinds && !is_alike(f, firsts[kind], &f->units[u]))
            kind++;
        if (kind == f->n_kinds)
            firsts[f->n_kinds++] = &f->units[u];
        f->units[u].kind = kind;
    }
}

/* False: a parameter has two. */
static bool find_units(finder *f, int64_t first, int64_t end)
{
    bool *has_unit = CZ_NEW(f->arena, bool, f->view->n_params);

    for (int64_t i = first; i < end; i++) {
        const int64_t param = f->rows[i].param;
        if (i > first && f->rows[i - 1].param == param) {
            f->units[f->n_units - 1].n_rows++;
            continue;
        }
        if (has_unit[param])
            return false;
        has_unit[param] = true;
        *CZ_PUSH(f->arena, f->units, f->n_units) =
            (unit){.first = i, .n_rows = 1};
    }
    name_kinds(f);
    return true;
}

/* ---- scratch ------------------------------------------------------------ */

static range range_of(const finder *f, int64_t number, int kind)
{
    static const cz_slot_kind slots[] = {CZ_SLOT_GATHER, CZ_SLOT_SCATTER,
                                         CZ_SLOT_TEMP};
    const cz_view_kernel_row *row = &f->rows[number];
    const cz_view_stage *stage = &f->view->stages[row->stage];
    const int64_t starts[N_KINDS] = {row->gather, row->scatter, row->temp,
                                     row->work};
    const int64_t bytes =
        kind == N_KINDS - 1
            ? (stage->fact->work_bytes + CZ_ALIGN_BYTES - 1) / CZ_ALIGN_BYTES *
                  CZ_ALIGN_BYTES
            : cz_view_slot_bytes(stage, slots[kind], row->count, NULL);

    return (range){starts[kind], starts[kind] + bytes};
}

/* Of row `row` of all units of a kind. */
static place place_of(const finder *f, const unit *of, int row, int kind)
{
    const range own = range_of(f, of->first + row, kind);
    int n = 0, n_equal = 0;

    if (own.start < 0)
        return NOWHERE;
    for (int u = 0; u < f->n_units; u++)
        if (f->units[u].kind == of->kind) {
            n++;
            n_equal +=
                range_of(f, f->units[u].first + row, kind).start == own.start;
        }
    return n_equal == n ? IN_TURN : n_equal == 1 ? APART : MIXED;
}

static range join(range a, range b)
{
    if (a.start == a.end)
        return b;
    return (range){a.start < b.start ? a.start : b.start,
                   a.end > b.end ? a.end : b.end};
}

static bool overlap(range a, range b)
{
    return a.start < b.end && b.start < a.end;
}

/* Whether what units of a kind have apart is apart from `in_turn`, too. */
static bool is_clear(const finder *f, const unit *of, range in_turn)
{
    for (int i = 0; i < of->n_rows; i++)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int u = 0; place_of(f, of, i, kind) == APART && u < f->n_units;
                 u++)
                if (f->units[u].kind == of->kind &&
                    overlap(range_of(f, f->units[u].first + i, kind), in_turn))
                    return false;
    return true;
}

/* What units of a kind use in turn, empty where nothing; false: it cannot be
 * told from what they have apart. */
static bool find_in_turn(const finder *f, const unit *of, range *out)
{
    *out = (range){0, 0};
    for (int i = 0; i < of->n_rows; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            const place at = place_of(f, of, i, kind);
            if (at == MIXED)
                return false;
            if (at == IN_TURN)
                *out = join(*out, range_of(f, of->first + i, kind));
        }
    return is_clear(f, of, *out);
}

/* ---- conflicts ---------------------------------------------------------- */

/* Scratch that a row has where the plan says. */
typedef struct use {
    range at;
    int unit;
    bool is_batched;
} use;

static int by_start(const void *a, const void *b)
{
    const use *x = a, *y = b;

    if (x->at.start != y->at.start)
        return x->at.start < y->at.start ? -1 : 1;
    return x->unit - y->unit;
}

static bool is_within(range a, range b)
{
    return a.start >= b.start && a.start < b.end;
}

typedef struct uses {
    use *list;
    int n;
} uses;

/* What of a unit does not move: all, unless it is batched. */
static void add_uses(const finder *f, int number, const cz_batches *batches,
                     uses *out)
{
    const unit *u = &f->units[number];
    range moved = {0, 0};

    if (u->batch) {
        const cz_batch *batch = &batches->list[u->batch - 1];
        moved = (range){batch->scratch, batch->scratch + batch->bytes};
    }
    for (int i = 0; i < u->n_rows; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            const range at = range_of(f, u->first + i, kind);
            if (at.start >= 0 && at.end > at.start && !is_within(at, moved))
                *CZ_PUSH(f->arena, out->list, out->n) =
                    (use){at, number, u->batch > 0};
        }
}

/* The furthest end so far. */
typedef struct reach {
    int64_t end;
    int unit;
} reach;

static void extend(reach *r, const use *u)
{
    if (u->at.end > r->end)
        *r = (reach){u->at.end, u->unit};
}

static bool reaches(const reach *r, const use *u)
{
    return r->unit != u->unit && r->end > u->at.start;
}

/* Whether a batched unit has bytes that another unit has, too, which come to
 * it in another order then. */
static bool has_conflict(const finder *f, const cz_batches *batches)
{
    reach batched = {0, -1}, single = {0, -1};
    uses all = {NULL, 0};

    for (int u = 0; u < f->n_units; u++)
        add_uses(f, u, batches, &all);
    if (all.n)
        qsort(all.list, (size_t)all.n, sizeof *all.list, by_start);
    for (int i = 0; i < all.n; i++) {
        const use *u = &all.list[i];
        if (reaches(&batched, u) || (u->is_batched && reaches(&single, u)))
            return true;
        extend(u->is_batched ? &batched : &single, u);
    }
    return false;
}

/* ---- batches ------------------------------------------------------------ */

static int64_t count_alike(const finder *f, int kind)
{
    int64_t n = 0;

    for (int u = 0; u < f->n_units; u++)
        n += f->units[u].kind == kind;
    return n;
}

/* The next n units of a kind that are in no batch, from unit `from` on. */
static void add_batch(const finder *f, int from, int64_t n, range in_turn,
                      cz_arena *arena, cz_batches *out)
{
    const unit *of = &f->units[from];

    *CZ_PUSH(arena, out->list, out->n) =
        (cz_batch){of->first, of->n_rows, (int)n, in_turn.start,
                   in_turn.end - in_turn.start};
    for (int u = from; n > 0; u++)
        if (f->units[u].kind == of->kind) {
            f->units[u].batch = out->n;
            n--;
        }
}

static void add_kind(const finder *f, const cz_batch_rule *rule, int first,
                     cz_arena *arena, cz_batches *out)
{
    const unit *of = &f->units[first];
    int64_t left = count_alike(f, of->kind);
    range in_turn;

    if (left < 2 || !find_in_turn(f, of, &in_turn))
        return;
    const int64_t bytes = in_turn.end - in_turn.start;
    int64_t each =
        rule->count(rule->user, &f->rows[of->first], of->n_rows, left);
    if (bytes > 0 && each > rule->cap / bytes)
        each = rule->cap / bytes;
    for (int u = first; each > 1 && left > 1; u++)
        if (f->units[u].kind == of->kind && !f->units[u].batch) {
            const int64_t n = left < each ? left : each;
            add_batch(f, u, n, in_turn, arena, out);
            left -= n;
        }
}

static void write_rows(const finder *f, int table, cz_arena *arena,
                       cz_batches *out)
{
    const cz_view_table *of = &f->view->tables[table];

    if (!out->of_row)
        out->of_row = CZ_NEW(arena, int64_t, of->starts[of->n_coordinates]);
    for (int u = 0; u < f->n_units; u++)
        for (int i = 0; i < f->units[u].n_rows; i++)
            out->of_row[f->units[u].first + i] = f->units[u].batch;
}

static void add_all(const finder *f, const cz_batch_rule *rule, int table,
                    cz_arena *arena, cz_batches *out)
{
    const int n_before = out->n;
    int kind = 0;

    for (int u = 0; u < f->n_units; u++)
        if (f->units[u].kind == kind) {
            add_kind(f, rule, u, arena, out);
            kind++;
        }
    if (out->n > n_before && has_conflict(f, out))
        out->n = n_before;
    if (out->n > n_before)
        write_rows(f, table, arena, out);
}

void cz_batch_find(const cz_plan_view *view, const cz_batch_rule *rule,
                   int table, int64_t first, int64_t end, cz_arena *arena,
                   cz_batches *out)
{
    cz_arena scratch;
    finder f = {.view = view,
                .rows = view->tables[table].rows.kernel,
                .arena = &scratch};

    cz_arena_init(&scratch);
    if (find_units(&f, first, end))
        add_all(&f, rule, table, arena, out);
    cz_arena_fini(&scratch);
}
