/* Which equal matrices of one rank's rows, and element-wise rows, may run as
 * one: the rows alone tell. */
#include "passes/gpu/batch.h"

#include <stdlib.h>

/* Kinds of scratch that a row has. */
enum { N_KINDS = 4 };

/* Scratch bytes [start, end). */
typedef struct range {
    int64_t start, end;
} range;

typedef struct matrix {
    int64_t first; /* row */
    int n_rows;
    int class; /* matrices that are alike have one number */
    int batch; /* from 1; 0: none */
} matrix;

/* Where the matrices of a class have one kind of scratch. */
typedef enum place {
    NOWHERE,
    REUSED, /* all at the same bytes, one after the other */
    APART,  /* the first one where no other is; if others are where one of them
             * is, that is a conflict */
    MIXED
} place;

typedef struct finder {
    const cz_plan_view *view;
    const cz_batch_rule *rule;
    const cz_view_kernel_entry *rows; /* of the table */
    cz_arena *arena;                  /* for what is gone behind it */
    matrix *matrices;
    int n_matrices, n_classes;
} finder;

/* ---- matrices --------------------------------------------------------------
 */

/* Whether it has one row, which may have any number of elements. */
static bool is_element_wise(const finder *f, const matrix *m)
{
    return f->rule->most_element_wise > 0 && m->n_rows == 1 &&
           !cz_view_is_shaped(&f->view->stages[f->rows[m->first].stage]);
}

static bool is_alike(const finder *f, const matrix *a, const matrix *b)
{
    const bool is_any_count = is_element_wise(f, a);

    if (a->n_rows != b->n_rows)
        return false;
    for (int i = 0; i < a->n_rows; i++) {
        const cz_view_kernel_entry *x = &f->rows[a->first + i];
        const cz_view_kernel_entry *y = &f->rows[b->first + i];
        if (x->stage != y->stage || (x->count != y->count && !is_any_count))
            return false;
    }
    return true;
}

/* Neighbouring rows of one parameter.  False: a parameter has two such runs. */
static bool find_matrices(finder *f, int64_t first, int64_t end)
{
    bool *has_matrix = CZ_NEW(f->arena, bool, f->view->n_params);

    for (int64_t i = first; i < end; i++) {
        const int64_t param = f->rows[i].param;
        if (i > first && f->rows[i - 1].param == param) {
            f->matrices[f->n_matrices - 1].n_rows++;
            continue;
        }
        if (has_matrix[param])
            return false;
        has_matrix[param] = true;
        *CZ_PUSH(f->arena, f->matrices, f->n_matrices) =
            (matrix){.first = i, .n_rows = 1};
    }
    /* The first of each class tells of the others. */
    matrix **firsts = CZ_NEW(f->arena, matrix *, f->n_matrices);

    for (int u = 0; u < f->n_matrices; u++) {
        int class = 0;
        while (class < f->n_classes &&
               !is_alike(f, firsts[class], &f->matrices[u]))
            class ++;
        if (class == f->n_classes)
            firsts[f->n_classes++] = &f->matrices[u];
        f->matrices[u].class = class;
    }
    return true;
}

/* ---- scratch ------------------------------------------------------------ */

static range range_of(const finder *f, int64_t number, int kind)
{
    static const cz_slot_kind slots[] = {CZ_SLOT_GATHER, CZ_SLOT_SCATTER,
                                         CZ_SLOT_TEMP};
    const cz_view_kernel_entry *row = &f->rows[number];
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

/* Of row `row` of all matrices of a class. */
static place place_of(const finder *f, const matrix *of, int row, int kind)
{
    const range own = range_of(f, of->first + row, kind);
    int n = 0, n_equal = 0;

    if (own.start < 0)
        return NOWHERE;
    for (int u = 0; u < f->n_matrices; u++)
        if (f->matrices[u].class == of->class) {
            n++;
            n_equal += range_of(f, f->matrices[u].first + row, kind).start ==
                       own.start;
        }
    return n_equal == n ? REUSED : n_equal == 1 ? APART : MIXED;
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

/* Whether what matrices of a class have apart is apart from `reused`, too. */
static bool is_clear(const finder *f, const matrix *of, range reused)
{
    for (int i = 0; i < of->n_rows; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            if (place_of(f, of, i, kind) != APART)
                continue;
            for (int u = 0; u < f->n_matrices; u++)
                if (f->matrices[u].class == of->class &&
                    overlap(range_of(f, f->matrices[u].first + i, kind),
                            reused))
                    return false;
        }
    return true;
}

/* What matrices of a class use one after the other, empty where nothing; false:
 * it cannot be told from what they have apart. */
static bool find_reused(const finder *f, const matrix *of, range *out)
{
    *out = (range){0, 0};
    for (int i = 0; i < of->n_rows; i++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            const place at = place_of(f, of, i, kind);
            if (at == MIXED)
                return false;
            if (at == REUSED)
                *out = join(*out, range_of(f, of->first + i, kind));
        }
    return is_clear(f, of, *out);
}

/* ---- conflicts ---------------------------------------------------------- */

/* Scratch that a row has where the plan says. */
typedef struct use {
    range at;
    int matrix;
    bool is_batched;
} use;

static int by_start(const void *a, const void *b)
{
    const use *x = a, *y = b;

    if (x->at.start != y->at.start)
        return x->at.start < y->at.start ? -1 : 1;
    return x->matrix - y->matrix;
}

static bool is_within(range a, range b)
{
    return a.start >= b.start && a.start < b.end;
}

typedef struct uses {
    use *list;
    int n;
} uses;

/* What of a matrix does not move: all, unless it is batched. */
static void add_uses(const finder *f, int number, const cz_batch_list *batches,
                     uses *out)
{
    const matrix *u = &f->matrices[number];
    range moved = {0, 0};

    if (u->batch) {
        const cz_view_batch *batch = &batches->list[u->batch - 1];
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
    int matrix;
} reach;

static bool reaches(const reach *r, const use *u)
{
    return r->matrix != u->matrix && r->end > u->at.start;
}

/* Whether a batched matrix has bytes that another matrix has, too, which come
 * to it in another order then. */
static bool has_conflict(const finder *f, const cz_batch_list *batches)
{
    reach batched = {0, -1}, single = {0, -1};
    uses all = {NULL, 0};

    for (int u = 0; u < f->n_matrices; u++)
        add_uses(f, u, batches, &all);
    if (all.n)
        qsort(all.list, (size_t)all.n, sizeof *all.list, by_start);
    for (int i = 0; i < all.n; i++) {
        const use *u = &all.list[i];
        if (reaches(&batched, u) || (u->is_batched && reaches(&single, u)))
            return true;
        reach *r = u->is_batched ? &batched : &single;
        if (u->at.end > r->end)
            *r = (reach){u->at.end, u->matrix};
    }
    return false;
}

/* ---- batches ------------------------------------------------------------ */

/* The next n matrices of a class that are in no batch, from matrix `from` on.
 */
static void add_batch(const finder *f, int from, int64_t n, range reused,
                      cz_arena *arena, cz_batch_list *out)
{
    const matrix *of = &f->matrices[from];

    *CZ_PUSH(arena, out->list, out->n) = (cz_view_batch){
        of->first, of->n_rows, n, reused.start, reused.end - reused.start};
    for (int u = from; n > 0; u++)
        if (f->matrices[u].class == of->class) {
            f->matrices[u].batch = out->n;
            n--;
        }
}

static void add_class(const finder *f, int first, cz_arena *arena,
                      cz_batch_list *out)
{
    const cz_batch_rule *rule = f->rule;
    const matrix *of = &f->matrices[first];
    const bool is_any_count = is_element_wise(f, of);
    const int class = of->class;
    int64_t left = 0;

    for (int u = 0; u < f->n_matrices; u++)
        left += f->matrices[u].class == class;
    range reused;

    if (left < 2 || !find_reused(f, of, &reused))
        return;
    const int64_t bytes = reused.end - reused.start;
    int64_t each = is_any_count ? rule->most_element_wise
                                : rule->count(rule->user, &f->rows[of->first],
                                              of->n_rows, left);
    if (bytes > 0 && (is_any_count || each > rule->cap / bytes))
        each = is_any_count ? 0 : rule->cap / bytes;
    for (int u = first; each > 1 && left > 1; u++)
        if (f->matrices[u].class == of->class && !f->matrices[u].batch) {
            const int64_t n = left < each ? left : each;
            add_batch(f, u, n, reused, arena, out);
            left -= n;
        }
}

static void write_rows(const finder *f, int table, cz_arena *arena,
                       cz_batch_list *out)
{
    const cz_view_table *of = &f->view->tables[table];

    if (!out->of_row)
        out->of_row = CZ_NEW(arena, int64_t, of->starts[of->n_coordinates]);
    for (int u = 0; u < f->n_matrices; u++)
        for (int i = 0; i < f->matrices[u].n_rows; i++)
            out->of_row[f->matrices[u].first + i] = f->matrices[u].batch;
}

/* Those that are element-wise, or all others; none if they conflict. */
static void add_classes(const finder *f, bool element_wise, cz_arena *arena,
                        cz_batch_list *out)
{
    const int n_before = out->n;
    int class = 0;

    for (int u = 0; u < f->n_matrices; u++)
        if (f->matrices[u].class == class) {
            if (is_element_wise(f, &f->matrices[u]) == element_wise)
                add_class(f, u, arena, out);
            class ++;
        }
    if (out->n == n_before || !has_conflict(f, out))
        return;
    out->n = n_before;
    for (int u = 0; u < f->n_matrices; u++)
        if (f->matrices[u].batch > n_before)
            f->matrices[u].batch = 0;
}

static void add_all(const finder *f, int table, cz_arena *arena,
                    cz_batch_list *out)
{
    const int n_before = out->n;

    add_classes(f, false, arena, out);
    if (f->rule->most_element_wise > 0)
        add_classes(f, true, arena, out);
    if (out->n > n_before)
        write_rows(f, table, arena, out);
}

void cz_batch_find(const cz_plan_view *view, const cz_batch_rule *rule,
                   int table, int64_t first, int64_t end, cz_arena *arena,
                   cz_batch_list *out)
{
    cz_arena scratch;
    finder f = {.view = view,
                .rule = rule,
                .rows = view->tables[table].rows.kernel,
                .arena = &scratch};

    cz_arena_init(&scratch);
    if (find_matrices(&f, first, end))
        add_all(&f, table, arena, out);
    cz_arena_fini(&scratch);
}
