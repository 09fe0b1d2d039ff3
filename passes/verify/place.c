/* Where a mistake shows: the operation, the rank and the parameter to name.
 * Numbers that no check has seen yet are looked at with care. */
#include "passes/verify/internal.h"

/* NULL for an operation without a table that exists. */
static const cz_view_table *table_of(const verifier *v, int op)
{
    const int table = v->view->ops[op].table;

    return table >= 0 && table < v->view->n_tables ? &v->view->tables[table]
                                                   : NULL;
}

static int64_t param_of_row(const cz_view_table *table, int64_t row)
{
    switch (table->kind) {
    case CZ_ENTRY_KERNEL:
        return table->rows.kernel[row].param;
    case CZ_ENTRY_TRANSFER:
        return table->rows.transfer[row].param;
    case CZ_ENTRY_SUM:
        return table->rows.sum[row].param;
    case CZ_ENTRY_SPAN:
        return table->rows.span[row].param;
    case CZ_ENTRY_EXCHANGE: /* of all that its bucket has there */
    case CZ_N_ENTRY_KINDS:
        break;
    }
    return -1;
}

static bool is_wanted(const verifier *v, const row_filter *wanted,
                      int64_t param)
{
    return param >= 0 && param < v->view->n_params &&
           (wanted->param < 0 || wanted->param == param) &&
           (wanted->bucket < 0 ||
            wanted->bucket == v->view->params[param].bucket);
}

static bool find_in_op(const verifier *v, int op, const row_filter *wanted,
                       place *found)
{
    const cz_view_table *table = table_of(v, op);
    const bool any_rank = wanted->rank < 0;
    const int64_t end = any_rank ? v->view->n_ranks : wanted->rank + 1;

    for (int64_t rank = any_rank ? 0 : wanted->rank; table && rank < end;
         rank++) {
        const row_range rows = rows_of(v, &v->view->ops[op], rank);
        const int64_t position = position_of(v, &v->view->ops[op], rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const int64_t param = param_of_row(table, i);
            if (is_wanted(v, wanted, param) && has_row(table, i, position)) {
                *found = (place){op, rank, param};
                return true;
            }
        }
    }
    return false;
}

bool find_row(const verifier *v, row_filter wanted, place *found)
{
    const int step = wanted.from <= wanted.to ? 1 : -1;

    for (int op = wanted.from; op >= 0 && op < v->view->n_ops; op += step) {
        const bool is_kind =
            wanted.kind < 0 || wanted.kind == (int)v->view->ops[op].kind;
        if (is_kind && find_in_op(v, op, &wanted, found))
            return true;
        if (op == wanted.to)
            break;
    }
    return false;
}

int64_t owner_of(const verifier *v, int bucket, int64_t element, int64_t near)
{
    const cz_ints *slices = &v->view->buckets[bucket].fact->slices;
    const cz_ints *split =
        &cz_view_bucket_reduction(v->view, bucket)->split_axes;

    for (int c = 0; c + 1 < slices->n && c < cz_view_extent(v->view, split);
         c++)
        if (slices->v[c] <= element && element < slices->v[c + 1])
            return cz_view_rank_at(v->view, split, c, near);
    return near;
}

/* The bucket of an operation.  One that needs a bucket and names none that
 * exists was to serve the first that no other of its kind serves.  -1: none. */
static int bucket_of(const verifier *v, int op)
{
    const cz_view_op *o = &v->view->ops[op];
    int bucket = 0;

    if (o->fact->bucket >= 0 && o->fact->bucket < v->view->n_buckets)
        return (int)o->fact->bucket;
    if (o->kind != CZ_STEP_REDUCE_SCATTER && o->kind != CZ_STEP_ALL_GATHER)
        return -1;
    for (int i = 0; bucket < v->view->n_buckets && i < v->view->n_ops; i++)
        if (v->view->ops[i].kind == o->kind &&
            v->view->ops[i].fact->bucket == bucket) {
            bucket++;
            i = -1;
        }
    return bucket < v->view->n_buckets ? bucket : -1;
}

/* The first parameter of a bucket, on the first rank that owns of it; on a
 * given rank, the first that this rank owns of. */
static bool find_in_bucket(const verifier *v, int bucket, place *found)
{
    const cz_ints *params = &v->view->buckets[bucket].fact->params;

    if (params->n == 0)
        return false;
    found->param = params->v[0];
    if (found->rank < 0)
        found->rank = owner_of(v, bucket, v->view->params[params->v[0]].offset,
                               first_resident(v, bucket));
    for (int i = 0; i < params->n; i++) {
        int64_t lo, hi;
        slice_of(v, bucket, found->rank, &lo, &hi);
        if (overlap_of(v, params->v[i], found->rank, lo, hi) > 0) {
            found->param = params->v[i];
            break;
        }
    }
    return true;
}

int64_t overlap_of(const verifier *v, int64_t param, int64_t rank, int64_t lo,
                   int64_t hi)
{
    const cz_view_param *p = &v->view->params[param];
    const int64_t end = p->offset + elements_on(v, param, rank);
    const int64_t from = p->offset > lo ? p->offset : lo;
    const int64_t to = end < hi ? end : hi;

    return to > from ? to - from : 0;
}

/* What an operation stands for that has neither rows nor a bucket: the norm
 * counts what square_sum counts, the scalars go into kernels. */
static bool find_served(const verifier *v, int op, place *found)
{
    const cz_step_kind kind = v->view->ops[op].kind;
    const bool is_norm = kind == CZ_STEP_ALL_REDUCE || kind == CZ_STEP_DECIDE;
    row_filter wanted = {0,
                         v->view->n_ops - 1,
                         is_norm ? CZ_STEP_SQUARE_SUM : CZ_STEP_KERNEL,
                         found->rank,
                         -1,
                         -1};

    if (find_row(v, wanted, found))
        return true;
    wanted.rank = -1;
    return find_row(v, wanted, found);
}

place place_on(const verifier *v, int op, int64_t rank)
{
    row_filter own = {op, op, -1, rank, -1, -1};
    place found = {op, rank, -1};
    const int bucket = op < 0 ? -1 : bucket_of(v, op);
    bool ok = op >= 0 && find_row(v, own, &found);

    own.rank = -1;
    ok = ok || (op >= 0 && find_row(v, own, &found));
    ok = ok || (bucket >= 0 && find_in_bucket(v, bucket, &found));
    ok = ok || (op >= 0 && find_served(v, op, &found));
    if (!ok && v->view->n_params > 0)
        found.param = 0;
    if (rank >= 0 || found.rank < 0)
        found.rank = rank < 0 ? 0 : rank;
    found.op = op;
    return found;
}

place place_of(const verifier *v, int op)
{
    return place_on(v, op, -1);
}

place place_in_bucket(const verifier *v, int bucket, int64_t param)
{
    const cz_view_bucket *b = &v->view->buckets[bucket];
    place found = {v->view->n_ops > 0 ? 0 : -1, 0, param};
    place row;
    int op = 0;

    while (op < v->view->n_ops && v->view->ops[op].fact->bucket != bucket)
        op++;
    if (op < v->view->n_ops)
        found.op = op;
    else if (find_row(v, (row_filter){0, op - 1, -1, -1, bucket, -1}, &row))
        found.op = row.op;
    if (param < 0 && b->fact->params.n > 0)
        found.param = b->fact->params.v[0];
    if (found.param >= 0) {
        const cz_view_param *p = &v->view->params[found.param];
        const int64_t residents =
            cz_view_resident_rank(v->view, p->pattern, 0, 0);
        found.rank = owner_of(v, bucket, p->offset, residents);
    }
    return found;
}

int last_to_touch(const verifier *v, int64_t param)
{
    const int last = last_op_of(v, v->view->params[param].bucket);
    place row = {-1, 0, param};

    find_row(v, (row_filter){v->view->n_ops - 1, 0, -1, -1, -1, param}, &row);
    return row.op > last ? row.op : last;
}
