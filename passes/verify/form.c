/* V0: every number in range, every row inside the memory it names, which has
 * the types that its stage takes. */
#include "dsl/plan/within.h"
#include "passes/verify/internal.h"

#include <string.h>

/* The owner of a slice that ends before it starts, and the last parameter in
 * front of its start: what lies between is another's too, or is padding. */
static place place_of_slice(const verifier *v, int number, int slice)
{
    const cz_fact_bucket *bucket = v->view->buckets[number].fact;
    place at = place_in_bucket(v, number, -1);

    at.rank = cz_view_rank_at(
        v->view, &cz_view_bucket_reduction(v->view, number)->split_axes, slice,
        first_resident(v, number));
    for (int i = 0; i < bucket->params.n; i++)
        if (bucket->offsets.v[i] < bucket->slices.v[slice])
            at.param = bucket->params.v[i];
    return at;
}

/* One reduce-scatter does for padded slices. */
static void check_padded(verifier *v, int number)
{
    const cz_fact_bucket *bucket = v->view->buckets[number].fact;
    const cz_ints *s = &bucket->slices;

    if (bucket->geometry != CZ_GEOMETRY_PADDED)
        return;
    for (int i = 1; i + 1 < s->n && v->n_errors == 0; i++)
        if (s->v[i + 1] - s->v[i] != s->v[1])
            reject(v, place_in_bucket(v, number, -1),
                   "bucket %d: slice [%lld, %lld) is not as long as the first, "
                   "but they are padded",
                   number, (long long)s->v[i], (long long)s->v[i + 1]);
}

static void check_slices(verifier *v, int number)
{
    const cz_fact_bucket *bucket = v->view->buckets[number].fact;
    const int64_t members = cz_view_extent(
        v->view, &cz_view_bucket_reduction(v->view, number)->split_axes);
    const cz_ints *s = &bucket->slices;

    if (s->n != members + 1 || s->v[0] != 0 || s->v[members] != bucket->length)
        reject(v, place_in_bucket(v, number, -1),
               "bucket %d: slices do not run from 0 to its length over %lld "
               "owners",
               number, (long long)members);
    for (int i = 0; i + 1 < s->n && v->n_errors == 0; i++)
        if (s->v[i] > s->v[i + 1])
            reject(v, place_of_slice(v, number, i),
                   "the slice [%lld, %lld) of bucket %d, which the rank owns, "
                   "ends before it starts",
                   (long long)s->v[i], (long long)s->v[i + 1], number);
    if (v->n_errors == 0)
        check_padded(v, number);
}

int64_t arena_of(const verifier *v, int64_t rank)
{
    const cz_fact_arena *arena = v->view->arena;

    return arena->bytes.v[cz_view_coordinate(v->view, &arena->selector, rank)];
}

static void check_scratch(verifier *v, int op, int64_t rank, int64_t param,
                          int64_t offset, int64_t bytes)
{
    if (bytes > 0 && (offset < 0 || offset > arena_of(v, rank) - bytes))
        reject(v, (place){op, rank, param},
               "bytes [%lld, %lld) lie outside the scratch of %lld bytes",
               (long long)offset, (long long)(offset + bytes),
               (long long)arena_of(v, rank));
    else if (bytes > 0 && offset % CZ_ALIGN_BYTES != 0)
        reject(v, (place){op, rank, param},
               "scratch byte %lld is not aligned to %d", (long long)offset,
               CZ_ALIGN_BYTES);
}

int scratch_extents(const cz_view_kernel_entry *row, const cz_view_stage *stage,
                    extent *out)
{
    int n = 0;

    for (int i = 0; i < stage->n_in + stage->n_out && n + 1 < MAX_EXTENTS;
         i++) {
        const bool is_out = i >= stage->n_in;
        const bool writes = is_out || cz_view_reuses(stage, i);
        const cz_view_slot *slot =
            is_out ? &stage->out[i - stage->n_in] : &stage->in[i];
        const int64_t base = scratch_of(row, slot->kind);
        int64_t offset, bytes;
        if (slot->kind < CZ_SLOT_GATHER)
            continue;
        slot_extent(stage, slot, row->count, &offset, &bytes);
        bytes = (bytes + CZ_ALIGN_BYTES - 1) / CZ_ALIGN_BYTES * CZ_ALIGN_BYTES;
        offset = base < 0 ? -1 : base + offset;
        out[n++] = (extent){base, offset, offset + bytes, writes};
    }
    if (stage->fact->work_bytes > 0)
        out[n++] = (extent){row->work, row->work,
                            row->work + stage->fact->work_bytes, true};
    return n;
}

/* A kernel reads and writes all of its slots at the same time. */
static void check_apart(verifier *v, int op, int64_t rank, int64_t param,
                        const extent *extents, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if ((extents[i].writes || extents[k].writes) &&
                extents[i].lo < extents[k].hi &&
                extents[k].lo < extents[i].hi) {
                reject(v, (place){op, rank, param},
                       "its scratch at bytes %lld and %lld overlaps",
                       (long long)extents[k].lo, (long long)extents[i].lo);
                return;
            }
}

static void check_kernel_scratch(verifier *v, int op, int64_t rank,
                                 const cz_view_kernel_entry *row)
{
    extent extents[MAX_EXTENTS];
    const int n = scratch_extents(row, &v->view->stages[row->stage], extents);

    for (int i = 0; i < n; i++)
        check_scratch(v, op, rank, row->param, extents[i].lo,
                      extents[i].hi - extents[i].lo);
    if (v->n_errors == 0)
        check_apart(v, op, rank, row->param, extents, n);
}

/* A shard stage works inside the rank's slice and inside the parameter. */
static void check_run(verifier *v, int op, int64_t rank, int64_t number,
                      int64_t offset, int64_t count)
{
    const cz_view_param *param = &v->view->params[number];
    const int64_t n = elements_on(v, number, rank);
    int64_t lo, hi;

    if (param->bucket < 0) {
        reject(v, (place){op, rank, number}, "has no place in any bucket");
        return;
    }
    slice_of(v, param->bucket, rank, &lo, &hi);
    if (count <= 0 || offset < param->offset ||
        count > param->offset + n - offset)
        reject(v, (place){op, rank, number},
               "elements [%lld, %lld) of bucket %d are not its own",
               (long long)offset, (long long)(offset + count), param->bucket);
    else if (offset < lo || count > hi - offset)
        reject(v, (place){op, rank, number},
               "elements [%lld, %lld) lie outside the slice [%lld, %lld) that "
               "the rank owns",
               (long long)offset, (long long)(offset + count), (long long)lo,
               (long long)hi);
}

/* A parameter that exists, and lives here. */
static bool is_param(verifier *v, int op, int64_t rank, int64_t param)
{
    if (param < 0 || param >= v->view->n_params) {
        reject(v, place_on(v, op, rank),
               "a row names parameter %lld, which does not exist",
               (long long)param);
        return false;
    }
    if (!is_resident(v, param, rank))
        reject(v, (place){op, rank, param},
               "the parameter is not resident on this rank");
    return v->n_errors == 0;
}

/* States of a stage on whole matrices are whole: the plan view sees to it. */
static bool is_of_shard(cz_slot_kind kind)
{
    return kind < CZ_SLOT_GATHER && kind != CZ_SLOT_STATE;
}

/* A stage on whole matrices sees scratch, and its states: shards lie
 * elsewhere. */
static void check_whole(verifier *v, int op, int64_t rank,
                        const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &v->view->stages[row->stage];
    const cz_view_param *param = &v->view->params[row->param];
    const int64_t subgroup_size = stage->subgroup ? stage->subgroup->size : 1;
    const int64_t n =
        v->view->patterns[param->pattern].elements / subgroup_size;
    const int64_t member =
        subgroup_size > 1 ? member_of(v, row->param, rank) : 0;
    const int64_t part = member > 0 ? member : 0;
    bool sees_shard = false;

    for (int i = 0; i < stage->n_in; i++)
        sees_shard = sees_shard || is_of_shard(stage->in[i].kind);
    for (int i = 0; i < stage->n_out; i++)
        sees_shard = sees_shard || is_of_shard(stage->out[i].kind);
    if (sees_shard)
        reject(v, (place){op, rank, row->param},
               "a stage on the whole matrix reads or writes a shard");
    else if (param->subgroup_size != subgroup_size)
        reject(v, (place){op, rank, row->param},
               "%lld ranks share the matrix, and the stage is one for %lld",
               (long long)param->subgroup_size, (long long)subgroup_size);
    else if (!cz_view_runs(v->view, stage, (int)row->param))
        reject(v, (place){op, rank, row->param},
               "the stage is one for parts that are cut the other way");
    else if (row->count != n || (subgroup_size == 1 && row->offset != 0))
        reject(
            v, (place){op, rank, row->param},
            "the matrix, or the rank's part of it, is elements [0, %lld), not "
            "[%lld, %lld)",
            (long long)n, (long long)row->offset,
            (long long)(row->offset + row->count));
    else if (row->offset != part)
        reject(v, (place){op, rank, row->param},
               "the rank's part of the matrix is number %lld, not %lld",
               (long long)part, (long long)row->offset);
}

/* A stage takes what lies in its parameter's bucket as what it is there; its
 * states and what travels have one type in all stages, as the plan view sees.
 */
static void check_types(verifier *v, int op, int64_t rank,
                        const cz_view_kernel_entry *row)
{
    static const char *const names[CZ_N_SLOTS] = {[CZ_SLOT_GRAD] = "gradient",
                                                  [CZ_SLOT_PARAM] = "parameter",
                                                  [CZ_SLOT_STORED] =
                                                      "stored copy"};
    const cz_view_stage *stage = &v->view->stages[row->stage];
    const cz_view_bucket *bucket =
        &v->view->buckets[v->view->params[row->param].bucket];
    const cz_dtype kept[CZ_N_SLOTS] = {
        [CZ_SLOT_GRAD] = CZ_F32,
        [CZ_SLOT_PARAM] =
            bucket->has_master ? v->view->policy->master_dtype : bucket->dtype,
        [CZ_SLOT_STORED] = bucket->dtype};

    for (int i = 0; i < stage->n_in + stage->n_out && v->n_errors == 0; i++) {
        const cz_view_slot *slot =
            i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
        if (names[slot->kind] && slot->dtype != kept[slot->kind])
            reject(v, (place){op, rank, row->param},
                   "the stage takes its %s as %s, which is kept as %s",
                   names[slot->kind], cz_dtype_name(slot->dtype),
                   cz_dtype_name(kept[slot->kind]));
        else if (slot->kind == CZ_SLOT_STORED && !bucket->has_master)
            reject(v, (place){op, rank, row->param},
                   "the stage writes a stored copy of what is stored");
    }
}

static void check_kernel_row(verifier *v, int op, int64_t rank,
                             const cz_view_kernel_entry *row)
{
    if (!is_param(v, op, rank, row->param))
        return;
    if (row->stage < 0 || row->stage >= v->view->n_stages ||
        v->view->stages[row->stage].rule != rule_of_param(v, row->param)) {
        reject(v, (place){op, rank, row->param},
               "stage %lld is not of its rule", (long long)row->stage);
        return;
    }
    if (v->view->params[row->param].bucket < 0)
        reject(v, (place){op, rank, row->param}, "has no place in any bucket");
    else if (cz_view_is_shaped(&v->view->stages[row->stage]))
        check_whole(v, op, rank, row);
    else
        check_run(v, op, rank, row->param, row->offset, row->count);
    if (v->n_errors == 0)
        check_types(v, op, rank, row);
    if (v->n_errors == 0)
        check_kernel_scratch(v, op, rank, row);
}

/* n positions in a communicator of so many members. */
static bool are_positions(int64_t first, int64_t n, int64_t step,
                          int64_t members)
{
    return first >= 0 && first < members && n > 0 && step > 0 &&
           n - 1 <= (members - 1 - first) / step;
}

static void check_transfer_row(verifier *v, int op, int64_t rank,
                               const cz_view_transfer_entry *row)
{
    const int64_t members =
        cz_view_extent(v->view, &v->view->ops[op].fact->comm);
    int64_t last, next, end;

    if (!are_positions(row->member, row->n_members, row->member_step, members))
        reject(v, (place){op, rank, row->param},
               "%lld members from %lld on, %lld apart, are not of %lld",
               (long long)row->n_members, (long long)row->member,
               (long long)row->member_step, (long long)members);
    else if (!cz_view_has_member(
                 row, cz_view_coordinate(v->view, &v->view->ops[op].fact->comm,
                                         rank)))
        return;
    if (v->n_errors || !is_param(v, op, rank, row->param))
        return;
    if (!are_positions(row->peer, row->n_peers, row->peer_step, members))
        reject(v, (place){op, rank, row->param},
               row->n_peers == 1 ? "peer %lld of %lld does not exist"
                                 : "peers from %lld on are not of %lld",
               (long long)row->peer, (long long)members);
    if (row->is_recv != 0 && row->is_recv != 1)
        reject(v, (place){op, rank, row->param},
               "a row is neither send nor receive");
    if (row->n_rows <= 0 || row->row_bytes <= 0 || row->offset < 0 ||
        row->offset_step < 0 || row->stride_bytes < row->row_bytes ||
        __builtin_mul_overflow(row->n_rows - 1, row->stride_bytes, &last) ||
        __builtin_mul_overflow(row->n_peers - 1, row->offset_step, &next) ||
        __builtin_add_overflow(last, row->row_bytes, &end) ||
        __builtin_add_overflow(end, next, &end) || end > arena_of(v, rank) ||
        row->offset > arena_of(v, rank) - end)
        reject(v, (place){op, rank, row->param},
               "a box lies outside the scratch of %lld bytes",
               (long long)arena_of(v, rank));
}

/* None; or blocks of rows of a square matrix, in equal parts. */
static bool is_band(const cz_view_sum_entry *row, int64_t subgroup_size)
{
    if (row->band == 0)
        return row->side == 0;
    return row->how != CZ_EXCHANGE_SUM && row->side > 0 &&
           row->count % row->side == 0 && row->count / row->side == row->side &&
           row->side % row->band == 0 && row->band % subgroup_size == 0;
}

static void check_sum_row(verifier *v, int op, int64_t rank,
                          const cz_view_sum_entry *row)
{
    const int64_t subgroup_size = v->view->ops[op].fact->block_size;
    const bool is_type = row->width == 2 || row->width == 4 ||
                         (row->width == 8 && row->how != CZ_EXCHANGE_GATHER);
    int64_t bytes;

    if (!is_type)
        reject(v, (place){op, rank, row->param},
               "adds up or gathers elements of %lld bytes",
               (long long)row->width);
    else if (row->count <= 0 ||
             __builtin_mul_overflow(row->count, row->width, &bytes))
        reject(v, (place){op, rank, row->param}, "adds up %lld elements",
               (long long)row->count);
    else if (row->how != CZ_EXCHANGE_SUM &&
             (subgroup_size < 1 || row->count % subgroup_size != 0))
        reject(v, (place){op, rank, row->param},
               "gathers or scatters %lld elements, which have no %lld equal "
               "parts",
               (long long)row->count, (long long)subgroup_size);
    else if (!is_band(row, subgroup_size))
        reject(v, (place){op, rank, row->param},
               "moves a band of %lld blocks, which %lld elements do not have",
               (long long)row->band, (long long)row->count);
    else
        check_scratch(v, op, rank, row->param, row->offset, bytes);
}

static void check_row(verifier *v, int op, int64_t rank, int64_t i)
{
    const cz_view_table *table = &v->view->tables[v->view->ops[op].table];

    switch (table->kind) {
    case CZ_ENTRY_KERNEL:
        check_kernel_row(v, op, rank, &table->rows.kernel[i]);
        break;
    case CZ_ENTRY_TRANSFER:
        check_transfer_row(v, op, rank, &table->rows.transfer[i]);
        break;
    case CZ_ENTRY_SUM:
        if (is_param(v, op, rank, table->rows.sum[i].param))
            check_sum_row(v, op, rank, &table->rows.sum[i]);
        break;
    case CZ_ENTRY_SPAN:
        if (is_param(v, op, rank, table->rows.span[i].param))
            check_run(v, op, rank, table->rows.span[i].param,
                      table->rows.span[i].offset, table->rows.span[i].count);
        break;
    case CZ_ENTRY_EXCHANGE: /* check_exchanges() */
    case CZ_N_ENTRY_KINDS:
        break;
    }
}

/* The rows that a kind of operation goes through; -1: none. */
static int row_kind_of(cz_step_kind kind)
{
    switch (kind) {
    case CZ_STEP_KERNEL:
        return CZ_ENTRY_KERNEL;
    case CZ_STEP_TRANSFER:
        return CZ_ENTRY_TRANSFER;
    case CZ_STEP_GROUP_SUM:
        return CZ_ENTRY_SUM;
    case CZ_STEP_SQUARE_SUM:
        return CZ_ENTRY_SPAN;
    case CZ_STEP_REDUCE_SCATTER:
    case CZ_STEP_ALL_GATHER:
        return CZ_ENTRY_EXCHANGE;
    case CZ_STEP_ALL_REDUCE:
    case CZ_STEP_DECIDE:
    case CZ_STEP_PROLOGUE:
    case CZ_STEP_GUARD:
    case CZ_STEP_KEEP:
    case CZ_STEP_UNDO:
    case CZ_N_STEPS:
        break;
    }
    return -1;
}

static bool has_its_table(const verifier *v, const cz_view_op *op)
{
    const int kind = row_kind_of(op->kind);

    if (op->table < 0 || op->table >= v->view->n_tables)
        return op->table == -1 && (kind < 0 || kind == CZ_ENTRY_EXCHANGE);
    return (int)v->view->tables[op->table].kind == kind;
}

static bool axes_exist(const verifier *v, const cz_ints *axes)
{
    for (int i = 0; i < axes->n; i++)
        if (axes->v[i] < (i ? axes->v[i - 1] + 1 : 0) ||
            axes->v[i] >= v->view->mesh->axes.n)
            return false;
    return true;
}

/* Sums, and nothing else, are made in equal blocks of a communicator. */
static bool has_blocks(const verifier *v, const cz_view_op *op)
{
    const cz_block block = {op->fact->block_size, op->fact->stride};

    if (op->kind != CZ_STEP_GROUP_SUM)
        return block.size == 0 && block.stride == 0;
    return block.size > 1 &&
           cz_block_divides(block, cz_view_extent(v->view, &op->fact->comm));
}

static void check_facts(verifier *v, int number)
{
    const cz_view_op *op = &v->view->ops[number];
    const cz_fact_op *fact = op->fact;
    const bool needs_bucket =
        op->kind == CZ_STEP_REDUCE_SCATTER || op->kind == CZ_STEP_ALL_GATHER;

    if (!has_its_table(v, op))
        reject(v, place_of(v, number), "has another table than its kind needs");
    else if (fact->stream < 0 || fact->stream >= MAX_STREAMS)
        reject(v, place_of(v, number), "stream %lld is not one of %d",
               (long long)fact->stream, MAX_STREAMS);
    else if (fact->bucket < (needs_bucket ? 0 : -1) ||
             fact->bucket >= v->view->n_buckets)
        reject(v, place_of(v, number), "bucket %lld does not exist",
               (long long)fact->bucket);
    else if (!axes_exist(v, &fact->comm))
        reject(v, place_of(v, number), "its axes are not the mesh's, in order");
    else if (!has_blocks(v, op))
        reject(v, place_of(v, number),
               "its ranks make no blocks of %lld, %lld apart, that add up "
               "apart",
               (long long)fact->block_size, (long long)fact->stride);
    for (int i = 0; i < fact->waits.n; i++)
        if (fact->waits.v[i] < 0 || fact->waits.v[i] >= number)
            reject(v, place_of(v, number),
                   "waits for operation %lld, which is not an earlier one",
                   (long long)fact->waits.v[i]);
}

static void check_op(verifier *v, int number)
{
    const cz_view_op *op = &v->view->ops[number];

    check_facts(v, number);
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
        place at = place_of(v, v->view->n_ops > 0 ? 0 : -1);
        find_row(
            v, (row_filter){0, v->view->n_ops - 1, CZ_STEP_KERNEL, -1, -1, -1},
            &at);
        reject(v, at, "there is no arena");
        return;
    }
    for (int i = 0; i < v->view->n_buckets; i++) {
        check_slices(v, i);
        /* Parameters of a bucket lie one behind the other and inside it. */
        const cz_fact_bucket *bucket = v->view->buckets[i].fact;
        const cz_fact_pattern *residents =
            bucket->params.n > 0
                ? v->view->patterns[v->view->buckets[i].pattern].fact
                : NULL;
        int64_t end = 0;

        for (int j = 0; j < bucket->params.n; j++) {
            const cz_view_param *param = &v->view->params[bucket->params.v[j]];
            const cz_view_pattern *pattern = &v->view->patterns[param->pattern];
            if (param->bucket != i || bucket->offsets.v[j] < end)
                reject(v, place_in_bucket(v, i, bucket->params.v[j]),
                       "overlaps its neighbour in bucket %d", i);
            if (!cz_view_same_residents(residents, pattern->fact))
                reject(v, place_in_bucket(v, i, bucket->params.v[j]),
                       "is in a bucket of another home");
            end = bucket->offsets.v[j] + pattern->local_elements;
        }
        if (end > bucket->length)
            reject(
                v,
                place_in_bucket(v, i, bucket->params.v[bucket->params.n - 1]),
                "bucket %d ends before its last parameter", i);
    }
    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++)
        check_op(v, i);
}
