/* V11: equal matrices that a GPU computes as one, and element-wise rows of any
 * length.  Their rows run together, in the place of the first, and bytes
 * [scratch, scratch + bytes) of the arena each has for itself behind it.  So
 * they are alike, nothing else of the operation has a part of what they keep
 * where it is, and, as V6 looks at, what they have for themselves comes from
 * nobody and goes to nobody. */
#include "passes/verify/conflict.h"
#include "passes/verify/internal.h"

enum { MIN_MATRICES = 2, STREAM = 0 };

/* One operation on one rank. */
typedef struct operation {
    verifier *v;
    int number;
    int64_t rank;
    row_range rows;
    const cz_view_table *table;
    int64_t *seen; /* [n_params] twice the last operation and rank with rows of
                    * it, and 1 more if they are in a batch */
    int64_t stamp; /* twice this operation and rank */
} operation;

static const cz_view_kernel_entry *row_of(const operation *o, int64_t row)
{
    return &o->table->rows.kernel[row];
}

static void reject_row(const operation *o, int64_t row, const char *why,
                       int64_t number)
{
    reject(o->v, (place){o->number, o->rank, row_of(o, row)->param},
           "batch %lld %s", (long long)number, why);
}

/* ---- what a batch says of itself ---------------------------------------- */

static int64_t room_of(const verifier *v, int64_t rank)
{
    const cz_fact_batch_arena *arena = v->view->batch_arena;

    return arena ? arena->bytes
                       .v[cz_view_coordinate(v->view, &arena->selector, rank)]
                 : 0;
}

/* Whether its matrices are one element-wise row each, which has no bytes for
 * itself: these have the bits that they have alone, and may differ in length.
 */
static bool is_element_wise(const operation *o, const cz_view_batch *batch)
{
    const cz_view_kernel_entry *first = row_of(o, batch->first);

    return batch->n_rows == 1 && batch->bytes == 0 &&
           !cz_view_is_shaped(&o->v->view->stages[first->stage]);
}

/* NULL: the bytes are there, in the arena and behind it. */
static const char *find_bytes_fault(const operation *o,
                                    const cz_view_batch *batch)
{
    const cz_fact_policy *policy = o->v->view->policy;
    const int64_t arena = arena_of(o->v, o->rank);
    int64_t all;

    if (batch->scratch < 0 || batch->bytes < 0 ||
        batch->bytes > arena - batch->scratch)
        return "moves bytes outside the scratch";
    if (batch->scratch % CZ_ALIGN_BYTES || batch->bytes % CZ_ALIGN_BYTES ||
        arena % CZ_ALIGN_BYTES)
        return "moves bytes to where they are not aligned";
    if (__builtin_mul_overflow(batch->bytes, batch->n_matrices, &all) ||
        all > room_of(o->v, o->rank))
        return "has more bytes behind the arena than the plan says";
    if (policy->micro_group_bytes > 0 && all > policy->micro_group_bytes)
        return "has more bytes than the cap of a group";
    if (policy->memory_bytes > 0 && all > 0)
        return "has bytes that no cap on memory counts";
    return NULL;
}

/* Rows of the rank that say that they are in it. */
static int64_t count_rows(const operation *o, int64_t number)
{
    int64_t n = 0;

    for (int64_t i = o->rows.first; i < o->rows.end; i++)
        n += o->table->batch_of_row[i] == number;
    return n;
}

/* NULL: n_rows rows from `row` on are a matrix of it, like the first one. */
static const char *find_matrix_fault(const operation *o,
                                     const cz_view_batch *batch, int64_t number,
                                     int64_t row)
{
    const int64_t end = row + batch->n_rows, param = row_of(o, row)->param;

    if (batch->n_rows > o->rows.end - row)
        return "has a matrix with fewer rows than the others";
    if ((row > o->rows.first && row_of(o, row - 1)->param == param) ||
        (end < o->rows.end && row_of(o, end)->param == param))
        return "has rows of a matrix that is not in it with all of them";
    for (int64_t i = 0; i < batch->n_rows; i++) {
        const cz_view_kernel_entry *own = row_of(o, row + i);
        const cz_view_kernel_entry *first = row_of(o, batch->first + i);
        if (o->table->batch_of_row[row + i] != number || own->param != param)
            return "has rows of a matrix that is not in it with all of them";
        if (own->stage != first->stage ||
            (own->count != first->count && !is_element_wise(o, batch)))
            return "has matrices of unequal shape";
    }
    return NULL;
}

/* Its matrices as the runtime finds them, from the first row on. */
static void check_matrices(const operation *o, const cz_view_batch *batch,
                           int64_t number)
{
    int64_t row = batch->first;

    for (int64_t k = 0; k < batch->n_matrices; k++) {
        while (row < o->rows.end && o->table->batch_of_row[row] != number)
            row++;
        const char *why = row < o->rows.end
                              ? find_matrix_fault(o, batch, number, row)
                              : "has fewer matrices than it says";
        if (why) {
            reject_row(o, row < o->rows.end ? row : batch->first, why, number);
            return;
        }
        row += batch->n_rows;
    }
    if (count_rows(o, number) != batch->n_matrices * batch->n_rows)
        reject_row(o, batch->first, "has other rows than those of its matrices",
                   number);
}

static void check_batch(const operation *o, int64_t number)
{
    const cz_view_batch *batch = &o->table->batches[number - 1];
    const char *why = NULL;

    if (batch->first < o->rows.first || batch->first >= o->rows.end)
        return;
    if (batch->n_matrices < MIN_MATRICES || batch->n_rows < 1 ||
        batch->n_matrices > o->rows.end - o->rows.first)
        why = "is not of two matrices or more";
    else if (o->v->view->program->strict && !is_element_wise(o, batch))
        why = "is one of a strict plan, whose matrices run one by one";
    else if (o->table->batch_of_row[batch->first] != number)
        why = "begins with a row that is not in it";
    else
        why = find_bytes_fault(o, batch);
    if (why)
        reject_row(o, batch->first, why, number);
    else
        check_matrices(o, batch, number);
}

/* ---- rows beside each other --------------------------------------------- */

static const cz_view_batch *batch_of(const cz_view_table *table, int64_t row)
{
    const int64_t number = table->batch_of_row ? table->batch_of_row[row] : 0;

    return number ? &table->batches[number - 1] : NULL;
}

static bool is_moved(const cz_view_batch *batch, int64_t base)
{
    return batch && base >= batch->scratch &&
           base < batch->scratch + batch->bytes;
}

/* What a slot or the workspace has of the bytes that move, all or nothing: a
 * row goes by the first byte of each kind. */
static bool is_moved_whole(const cz_view_batch *batch, const extent *e)
{
    const int64_t end = batch->scratch + batch->bytes;

    return is_moved(batch, e->base) ? e->lo >= batch->scratch && e->hi <= end
                                    : e->hi <= batch->scratch || e->lo >= end;
}

typedef struct kept_list {
    const operation *o;
    access *v;
    int n;
} kept_list;

/* What stays where the plan has it, as of matrix `matrix` of the operation; an
 * access names its row. */
static void add_kept(kept_list *list, int64_t row, int matrix)
{
    const operation *o = list->o;
    const cz_view_batch *batch = batch_of(o->table, row);
    const cz_view_kernel_entry *r = row_of(o, row);
    extent extents[MAX_EXTENTS];
    const int n = scratch_extents(r, &o->v->view->stages[r->stage], extents);

    for (int i = 0; i < n; i++) {
        const extent *e = &extents[i];
        if (batch && !is_moved_whole(batch, e))
            reject_row(o, row, "moves a part of what one of its rows has",
                       o->table->batch_of_row[row]);
        else if (!is_moved(batch, e->base) && e->lo < e->hi)
            *CZ_PUSH(o->v->arena, list->v, list->n) =
                (access){0, e->lo, e->hi, row, matrix, e->writes};
    }
}

static bool check_pair(void *context, const access *first, const access *second)
{
    const operation *o = context;
    const int64_t *of_row = o->table->batch_of_row;
    const access *batched = of_row[first->param] ? first : second;
    const access *other = batched == first ? second : first;

    if (of_row[batched->param] == 0)
        return true;
    reject(o->v, (place){o->number, o->rank, row_of(o, batched->param)->param},
           "batch %lld comes in no order with %s, which has scratch byte %lld, "
           "too",
           (long long)of_row[batched->param],
           cz_view_name_at(o->v->view, (int)row_of(o, other->param)->param,
                           o->rank),
           (long long)(first->lo > second->lo ? first->lo : second->lo));
    return false;
}

/* Neighbouring rows of one parameter come in their order; all others of it
 * would come in none if one of them is in a batch. */
static void check_once_each(const operation *o, int64_t row)
{
    const int64_t is_batched = o->table->batch_of_row[row] != 0;
    int64_t *seen = &o->seen[row_of(o, row)->param];

    if (*seen / 2 == o->stamp / 2 && (*seen % 2 || is_batched))
        reject(o->v, (place){o->number, o->rank, row_of(o, row)->param},
               "has rows in a batch, and others in no order with them");
    *seen = o->stamp + is_batched;
}

static void check_together(operation *o)
{
    kept_list kept = {o, NULL, 0};
    int matrix = 0;

    for (int64_t i = o->rows.first; i < o->rows.end && o->v->n_errors == 0;
         i++) {
        if (i == o->rows.first ||
            row_of(o, i)->param != row_of(o, i - 1)->param) {
            check_once_each(o, i);
            matrix++;
        }
        add_kept(&kept, i, matrix);
    }
    if (o->v->n_errors == 0 && kept.n)
        visit_conflicts(o->v->arena, kept.v, kept.n, 1, check_pair, o);
}

/* ---- operations --------------------------------------------------------- */

/* Every row is in a batch that begins on the rank, or alone. */
static void check_numbers(const operation *o)
{
    for (int64_t i = o->rows.first; i < o->rows.end && o->v->n_errors == 0;
         i++) {
        const int64_t number = o->table->batch_of_row[i];
        const cz_view_batch *batch = number > 0 && number <= o->table->n_batches
                                         ? &o->table->batches[number - 1]
                                         : NULL;
        if (number != 0 && !batch)
            reject_row(o, i, "does not exist", number);
        else if (batch &&
                 (batch->first < o->rows.first || batch->first >= o->rows.end))
            reject_row(o, i, "begins with none of the rank's rows", number);
    }
}

void check_batches(verifier *v)
{
    cz_arena *const outer = v->arena;
    int64_t *seen = CZ_NEW(outer, int64_t, v->view->n_params + 1);
    cz_arena arena;

    cz_arena_init(&arena);
    for (int op = 0; op < v->view->n_ops && v->n_errors == 0; op++) {
        const cz_view_op *of = &v->view->ops[op];
        if (of->kind != CZ_STEP_KERNEL ||
            !v->view->tables[of->table].batch_of_row)
            continue;
        if (of->fact->stream != STREAM)
            reject(v, place_of(v, op),
                   "has batches, whose bytes are those of stream 0 alone");
        v->arena = &arena;
        for (int64_t rank = 0; rank < v->view->n_ranks && v->n_errors == 0;
             rank++) {
            operation o = {.v = v,
                           .number = op,
                           .rank = rank,
                           .rows = rows_of(v, of, rank),
                           .table = &v->view->tables[of->table],
                           .seen = seen,
                           .stamp =
                               2 * ((int64_t)op * v->view->n_ranks + rank + 1)};
            check_numbers(&o);
            for (int64_t b = 1; b <= o.table->n_batches && o.v->n_errors == 0;
                 b++)
                check_batch(&o, b);
            if (o.v->n_errors == 0)
                check_together(&o);
            cz_arena_clear(&arena);
        }
        v->arena = outer;
    }
    cz_arena_fini(&arena);
}

/* ---- for V6 ------------------------------------------------------------- */

static void forget_row(const verifier *v, const cz_view_table *table,
                       int64_t row, region_list *scratch)
{
    const cz_view_kernel_entry *r = &table->rows.kernel[row];
    extent extents[MAX_EXTENTS];
    const int n = scratch_extents(r, &v->view->stages[r->stage], extents);

    for (int i = 0; i < n; i++)
        if (is_moved(batch_of(table, row), extents[i].base))
            region_forget(scratch, extents[i].lo, extents[i].hi);
}

static bool is_of(const cz_view_table *table, row_range rows, int64_t a,
                  int64_t b)
{
    return b >= rows.first && b < rows.end &&
           table->rows.kernel[a].param == table->rows.kernel[b].param;
}

void forget_moved(const verifier *v, const cz_view_table *table, row_range rows,
                  int64_t row, bool is_behind, region_list *scratch)
{
    const int64_t step = is_behind ? -1 : 1;

    if (!batch_of(table, row) || is_of(table, rows, row, row - step))
        return;
    for (int64_t i = row; is_of(table, rows, row, i); i += step)
        forget_row(v, table, i, scratch);
}
