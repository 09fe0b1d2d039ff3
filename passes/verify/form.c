/* V0: every number in range, every row inside the memory it names. */
#include "passes/verify/verify_internal.h"

static void check_slices(verifier *v, int number)
{
    const cz_fact_bucket *bucket = v->view->buckets[number].fact;
    const int64_t members =
        cz_view_extent(v->view, &v->view->policy->split_axes);
    const cz_ints *s = &bucket->slices;

    if (s->n != members + 1 || s->v[0] != 0 || s->v[members] != bucket->length)
        reject(v, -1, -1, -1,
               "bucket %d: slices do not run from 0 to its length over %lld "
               "owners",
               number, (long long)members);
    for (int i = 0; i + 1 < s->n; i++)
        if (s->v[i] > s->v[i + 1])
            reject(v, -1, -1, -1, "bucket %d: slice %d ends before it starts",
                   number, i);
}

/* Parameters of a bucket lie one behind the other and inside it. */
static void check_places(verifier *v, int number)
{
    const cz_fact_bucket *bucket = v->view->buckets[number].fact;
    int64_t end = 0;

    for (int i = 0; i < bucket->params.n; i++) {
        const cz_view_param *param = &v->view->params[bucket->params.v[i]];
        const cz_view_family *family = &v->view->families[param->family];
        if (param->bucket != number || bucket->offsets.v[i] < end)
            reject(v, -1, -1, bucket->params.v[i],
                   "overlaps its neighbour in bucket %d", number);
        if (v->view->rules[family->rule].use != v->view->buckets[number].use)
            reject(v, -1, -1, bucket->params.v[i],
                   "is in a bucket of another group");
        end = bucket->offsets.v[i] + family->local_elements;
    }
    if (end > bucket->length)
        reject(v, -1, -1, -1, "bucket %d ends before its last parameter",
               number);
}

static int64_t arena_of(const verifier *v, int64_t rank)
{
    const cz_fact_arena *arena = v->view->arena;

    return arena->bytes.v[cz_view_coordinate(v->view, &arena->selector, rank)];
}

static void check_scratch(verifier *v, int op, int64_t rank, int64_t param,
                          int64_t offset, int64_t bytes)
{
    if (bytes > 0 && (offset < 0 || offset > arena_of(v, rank) - bytes))
        reject(v, op, rank, param,
               "bytes [%lld, %lld) lie outside the scratch of %lld bytes",
               (long long)offset, (long long)(offset + bytes),
               (long long)arena_of(v, rank));
    if (bytes > 0 && offset % CZ_ALIGN_BYTES != 0)
        reject(v, op, rank, param, "scratch byte %lld is not aligned to %d",
               (long long)offset, CZ_ALIGN_BYTES);
}

static void check_kernel_scratch(verifier *v, int op, int64_t rank,
                                 const cz_view_kernel_row *row)
{
    const cz_view_stage *stage = &v->view->stages[row->stage];

    for (int i = 0; i < stage->n_in + stage->n_out; i++) {
        const cz_view_slot *slot =
            i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
        int64_t offset, bytes;
        if (slot->kind < CZ_SLOT_GATHER)
            continue;
        slot_extent(stage, slot, row->count, &offset, &bytes);
        check_scratch(v, op, rank, row->param,
                      scratch_of(row, slot->kind) < 0
                          ? -1
                          : scratch_of(row, slot->kind) + offset,
                      bytes);
    }
    check_scratch(v, op, rank, row->param, row->work, stage->fact->work_bytes);
}

/* A shard stage works inside the rank's slice and inside the parameter. */
static void check_run(verifier *v, int op, int64_t rank, int64_t number,
                      int64_t offset, int64_t count)
{
    const cz_view_param *param = &v->view->params[number];
    const int64_t n = v->view->families[param->family].local_elements;
    int64_t lo, hi;

    if (param->bucket < 0) {
        reject(v, op, rank, number, "has no place in any bucket");
        return;
    }
    slice_of(v, param->bucket, rank, &lo, &hi);
    if (count <= 0 || offset < param->offset ||
        count > param->offset + n - offset)
        reject(v, op, rank, number,
               "elements [%lld, %lld) of bucket %d are not its own",
               (long long)offset, (long long)(offset + count), param->bucket);
    else if (offset < lo || count > hi - offset)
        reject(v, op, rank, number,
               "elements [%lld, %lld) lie outside the slice [%lld, %lld) that "
               "the rank owns",
               (long long)offset, (long long)(offset + count), (long long)lo,
               (long long)hi);
}

static bool is_param(verifier *v, int op, int64_t rank, int64_t param)
{
    if (param >= 0 && param < v->view->n_params)
        return true;
    reject(v, op, rank, -1, "parameter %lld does not exist", (long long)param);
    return false;
}

static void check_kernel_row(verifier *v, int op, int64_t rank,
                             const cz_view_kernel_row *row)
{
    const cz_view_stage *stage;

    if (!is_param(v, op, rank, row->param))
        return;
    if (row->stage < 0 || row->stage >= v->view->n_stages ||
        v->view->stages[row->stage].rule != rule_of_param(v, row->param)) {
        reject(v, op, rank, row->param, "stage %lld is not of its rule",
               (long long)row->stage);
        return;
    }
    stage = &v->view->stages[row->stage];
    if (stage->where != CZ_WHERE_WHOLE)
        check_run(v, op, rank, row->param, row->offset, row->count);
    else if (row->count !=
             v->view->families[v->view->params[row->param].family].elements)
        reject(v, op, rank, row->param,
               "the whole matrix has another number of elements than %lld",
               (long long)row->count);
    if (v->n_errors == 0)
        check_kernel_scratch(v, op, rank, row);
}

static void check_transfer_row(verifier *v, int op, int64_t rank,
                               const cz_view_transfer_row *row)
{
    const int64_t members =
        cz_view_extent(v->view, &v->view->ops[op].fact->comm);
    int64_t last, end;

    if (!is_param(v, op, rank, row->param))
        return;
    if (row->peer < 0 || row->peer >= members)
        reject(v, op, rank, row->param, "peer %lld of %lld does not exist",
               (long long)row->peer, (long long)members);
    if (row->is_recv != 0 && row->is_recv != 1)
        reject(v, op, rank, row->param, "a row is neither send nor receive");
    if (row->n_rows <= 0 || row->row_bytes <= 0 || row->offset < 0 ||
        (row->n_rows > 1 && row->stride_bytes < row->row_bytes) ||
        __builtin_mul_overflow(row->n_rows - 1, row->stride_bytes, &last) ||
        __builtin_add_overflow(last, row->row_bytes, &end) ||
        end > arena_of(v, rank) || row->offset > arena_of(v, rank) - end)
        reject(v, op, rank, row->param,
               "a box lies outside the scratch of %lld bytes",
               (long long)arena_of(v, rank));
}

static void check_row(verifier *v, int op, int64_t rank, int64_t i)
{
    const cz_view_table *table = &v->view->tables[v->view->ops[op].table];

    switch (table->kind) {
    case CZ_ROW_KERNEL:
        check_kernel_row(v, op, rank, &table->rows.kernel[i]);
        break;
    case CZ_ROW_TRANSFER:
        check_transfer_row(v, op, rank, &table->rows.transfer[i]);
        break;
    case CZ_ROW_SPAN:
        if (is_param(v, op, rank, table->rows.span[i].param))
            check_run(v, op, rank, table->rows.span[i].param,
                      table->rows.span[i].offset, table->rows.span[i].count);
        break;
    }
}

static void check_op(verifier *v, int number)
{
    const cz_view_op *op = &v->view->ops[number];

    for (int i = 0; i < op->fact->waits.n; i++)
        if (op->fact->waits.v[i] < 0 || op->fact->waits.v[i] >= number)
            reject(v, number, -1, -1,
                   "waits for operation %lld, which is not "
                   "an earlier one",
                   (long long)op->fact->waits.v[i]);
    for (int64_t rank = 0; rank < v->view->n_ranks && v->n_errors == 0;
         rank++) {
        const row_range rows = rows_of(v, op, rank);
        for (int64_t i = rows.first; i < rows.end && v->n_errors == 0; i++)
            check_row(v, number, rank, i);
    }
}

void check_form(verifier *v)
{
    if (!v->view->arena) {
        reject(v, -1, -1, -1, "there is no arena");
        return;
    }
    for (int i = 0; i < v->view->n_buckets; i++) {
        check_slices(v, i);
        check_places(v, i);
    }
    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++)
        check_op(v, i);
}
