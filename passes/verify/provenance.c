/* V6: an abstract run.  Scratch holds pieces of matrices; every write says
 * what it put where, and every stage finds what it means to read.  List order
 * stands for all orders, since check_races() has passed. */
#include "passes/verify/internal.h"

#include "passes/verify/region.h"

#include <stdlib.h>

typedef struct run {
    verifier *v;
    region_list *scratch;     /* [n_ranks] */
    int64_t *updated;         /* [n_ranks * n_buckets] elements so far */
    bool *reduced, *gathered; /* [n_buckets] */
    region phases_of;         /* what was asked for last, */
    uint32_t phases;          /* and those that read it */
} run;

/* What a parameter's shard is of the whole matrix, on one rank.  Tensors of
 * one dimension are a single row. */
static box shard_box(const verifier *v, int64_t param, int64_t rank)
{
    const cz_view_pattern *pattern =
        &v->view->patterns[v->view->params[param].pattern];
    const cz_view_shard shard = cz_view_shard_of(v->view, pattern, rank);
    box b = {0, 0, 1, 1};
    int64_t *sizes[2] = {&b.rows, &b.columns};
    int64_t *starts[2] = {&b.row, &b.column};

    for (int d = 0; d < pattern->n_dims && d < 2; d++) {
        const int slot = pattern->n_dims == 1 ? 1 : d;
        *sizes[slot] = shard.shape[d];
        *starts[slot] = shard.start[d];
    }
    return b;
}

/* What a rank computes of a matrix: all of it, or its part. */
static box whole_box(const verifier *v, int64_t param, int64_t rank)
{
    const cz_view_param *p = &v->view->params[param];
    const cz_view_pattern *pattern = &v->view->patterns[p->pattern];
    const int64_t member = member_of(v, param, rank);
    const cz_view_shard part =
        cz_view_subgroup_shard(v->view, (int)param, member > 0 ? member : 0);

    if (pattern->n_dims == 1)
        return (box){0, 0, 1, part.shape[0]};
    return (box){part.start[0], part.start[1], part.shape[0], part.shape[1]};
}

/* A slot of a stage as memory: contiguous elements of a box. */
static region slot_region(const run *r, int64_t rank,
                          const cz_view_kernel_entry *row,
                          const cz_view_slot *slot)
{
    const cz_view_stage *stage = &r->v->view->stages[row->stage];
    region m = {.param = row->param, .kind = slot->kind, .index = slot->index};
    int64_t offset, bytes;

    slot_extent(stage, slot, row->count, &offset, &bytes);
    m.element_bytes = cz_dtype_bytes(slot->dtype);
    m.what = cz_view_is_shaped(stage) ? whole_box(r->v, row->param, rank)
                                      : shard_box(r->v, row->param, rank);
    m.offset = scratch_of(row, slot->kind) + offset;
    m.stride_bytes = m.what.columns * m.element_bytes;
    return m;
}

/* The stages that travel through scratch take whole shards, not runs. */
static bool is_full_shard(run *r, int op, int64_t rank,
                          const cz_view_kernel_entry *row)
{
    const int64_t n = elements_on(r->v, row->param, rank);

    if (cz_view_is_shaped(&r->v->view->stages[row->stage]) || row->count == n)
        return true;
    reject(r->v, (place){op, rank, row->param},
           "works on %lld of the shard's %lld elements, which scratch holds as "
           "one",
           (long long)row->count, (long long)n);
    return false;
}

static bool in_scratch(const cz_view_slot *slot)
{
    return slot->kind >= CZ_SLOT_GATHER;
}

/* The workspace of a matrix that is shared, behind a segment: with its partial
 * sums, or with the sums of all who share it. */
static region work_region(const cz_view_stage *stage,
                          const cz_view_kernel_entry *row, int64_t segment,
                          bool is_summed)
{
    return (region){.param = row->param,
                    .kind = CZ_N_SLOTS,
                    .index = (int)(2 * segment + is_summed),
                    .what = {0, 0, 1, stage->fact->work_bytes},
                    .element_bytes = 1,
                    .offset = row->work,
                    .stride_bytes = stage->fact->work_bytes};
}

/* A segment goes on with what the one before it left and the group added up. */
static void read_work(run *r, int op, int64_t rank,
                      const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &r->v->view->stages[row->stage];

    if (!stage->subgroup || stage->subgroup->segment == 0)
        return;
    const region wanted =
        work_region(stage, row, stage->subgroup->segment - 1, true);
    if (!region_holds(&r->scratch[rank], &wanted))
        reject(r->v, (place){op, rank, row->param},
               "goes on at scratch byte %lld, where the segment before it has "
               "not left its values, or nobody added up its sums",
               (long long)wanted.offset);
}

static void read_slots(run *r, int op, int64_t rank,
                       const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &r->v->view->stages[row->stage];
    const int bucket = r->v->view->params[row->param].bucket;

    read_work(r, op, rank, row);
    for (int i = 0; i < stage->n_in; i++) {
        if (stage->in[i].kind == CZ_SLOT_GRAD && !r->reduced[bucket])
            reject(r->v, (place){op, rank, row->param},
                   "reads a gradient that is not reduced yet");
        if (!in_scratch(&stage->in[i]) || !is_full_shard(r, op, rank, row))
            continue;
        const region wanted = slot_region(r, rank, row, &stage->in[i]);
        if (!region_holds(&r->scratch[rank], &wanted))
            reject(r->v, (place){op, rank, row->param},
                   "reads scratch byte %lld, where its %s are not, or not all",
                   (long long)wanted.offset,
                   stage->in[i].kind == CZ_SLOT_GATHER    ? "gathered shards"
                   : stage->in[i].kind == CZ_SLOT_SCATTER ? "scattered results"
                                                          : "kept values");
    }
}

static void write_slots(run *r, int op, int64_t rank,
                        const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &r->v->view->stages[row->stage];
    const int bucket = r->v->view->params[row->param].bucket;

    forget_reused(stage, row, &r->scratch[rank]);
    if (stage->subgroup && stage->subgroup->segment + 1 < stage->n_segments) {
        /* Until the last segment its slots are half written. */
        for (int i = 0; i < stage->n_out; i++) {
            int64_t offset, bytes;
            slot_extent(stage, &stage->out[i], row->count, &offset, &bytes);
            offset += scratch_of(row, stage->out[i].kind);
            region_forget(&r->scratch[rank], offset, offset + bytes);
        }
        region_put(r->v->arena, &r->scratch[rank],
                   work_region(stage, row, stage->subgroup->segment, false));
        return;
    }
    for (int i = 0; i < stage->n_out; i++) {
        if (stage->out[i].kind == CZ_SLOT_PARAM) {
            r->updated[rank * r->v->view->n_buckets + bucket] += row->count;
            if (r->gathered[bucket])
                reject(r->v, (place){op, rank, row->param},
                       "updates after the bucket was gathered");
        }
        if (!in_scratch(&stage->out[i]))
            continue;
        if (is_full_shard(r, op, rank, row))
            region_put(r->v->arena, &r->scratch[rank],
                       slot_region(r, rank, row, &stage->out[i]));
    }
}

/* The owner alone computes a whole matrix that has one. */
static void check_owner(run *r, int op, int64_t rank,
                        const cz_view_kernel_entry *row)
{
    const cz_view_param *param = &r->v->view->params[row->param];

    if (!cz_view_is_shaped(&r->v->view->stages[row->stage]))
        return;
    const int64_t member = member_of(r->v, row->param, rank);
    const cz_ints *split =
        &cz_view_pattern_reduction(r->v->view, param->pattern)->split_axes;
    if (param->split_owner != cz_view_coordinate(r->v->view, split, rank) ||
        (param->shard_owner >= 0 && member < 0))
        reject(r->v, (place){op, rank, row->param},
               "is computed here, where it is not owned");
}

static void run_kernel(run *r, int op)
{
    for (int64_t rank = 0; rank < r->v->view->n_ranks; rank++) {
        const row_range rows = rows_of(r->v, &r->v->view->ops[op], rank);
        const cz_view_table *table =
            &r->v->view->tables[r->v->view->ops[op].table];
        for (int64_t i = rows.first; i < rows.end; i++) {
            const cz_view_kernel_entry *row = &table->rows.kernel[i];
            forget_moved(r->v, table, rows, i, false, &r->scratch[rank]);
            read_slots(r, op, rank, row);
            write_slots(r, op, rank, row);
            check_owner(r, op, rank, row);
            forget_moved(r->v, table, rows, i, true, &r->scratch[rank]);
            if (r->v->n_errors)
                return;
        }
    }
}

/* What a row carries travels in the phases that read it: so whatever is read in
 * one has come in it, and what has not been made is not sent. */
static bool has_its_phases(run *r, int op, int64_t rank,
                           const cz_view_box *moved, const region *sent)
{
    if (r->phases_of.param != sent->param || r->phases_of.kind != sent->kind ||
        r->phases_of.index != sent->index)
        r->phases =
            cz_view_slot_phases(r->v->view, rule_of_param(r->v, sent->param),
                                sent->kind, sent->index);
    r->phases_of = *sent;

    if ((uint64_t)moved->phases == r->phases)
        return true;
    reject(r->v, (place){op, rank, sent->param},
           "sends scratch byte %lld in other phases of its rule than those "
           "that read it",
           (long long)moved->offset);
    return false;
}

static bool take_sent(run *r, int op, const transfer_pair *pair, region *sent)
{
    const cz_view_box moved = cz_view_box_at(pair->send, pair->send_number);

    if (region_find_named(&r->scratch[pair->source], &moved, sent) &&
        sent->param == moved.param)
        return has_its_phases(r, op, pair->source, &moved, sent);
    reject(r->v, (place){op, pair->source, moved.param},
           "sends scratch byte %lld, where no value of it lies",
           (long long)moved.offset);
    return false;
}

/* Where a pair puts what was sent. */
static bool place_sent(run *r, int op, const transfer_pair *pair, region *put)
{
    const cz_view_box moved =
        cz_view_box_at(pair->receive, pair->receive_number);

    if (moved.param == put->param && region_place(put, &moved))
        return true;
    reject(r->v, (place){op, pair->target, moved.param},
           "receives what rank %lld sends of another parameter or another form",
           (long long)pair->source);
    return false;
}

/* All sends are read before anything received is put down: rank by rank, boxes
 * of an entry that go on with each other at once. */
static void run_transfer(run *r, int op)
{
    int n = 0, i = 0;
    const transfer_pair *pairs = pair_transfers(r->v, op, true, &n);
    cz_arena arena;

    cz_arena_init(&arena);
    region *sent = CZ_NEW(&arena, region, n + 1);
    int *received = CZ_NEW(&arena, int, n + 1);
    while (i < n && take_sent(r, op, &pairs[i], &sent[i]))
        i++;
    for (i = 0; i < n && r->v->n_errors == 0; i++) {
        place_sent(r, op, &pairs[i], &sent[i]);
        received[pairs[i].place] = i;
    }
    for (i = 0; i < n && r->v->n_errors == 0;) {
        const int target = pairs[received[i]].target;
        region put = sent[received[i++]];
        while (i < n && pairs[received[i]].target == target &&
               region_append(&put, &sent[received[i]]))
            i++;
        region_put(r->v->arena, &r->scratch[target], put);
    }
    cz_arena_fini(&arena);
}

/* The workspace that a segment of the parameter left, not yet added up. */
static region *find_work(const run *r, int64_t rank, int64_t param)
{
    for (int i = 0; i < r->scratch[rank].n; i++) {
        region *m = r->scratch[rank].v[i].of;
        if (m->kind == CZ_N_SLOTS && m->param == param && m->index % 2 == 0)
            return m;
    }
    return NULL;
}

/* Whether a row exchanges result k of the step, as the step says. */
static bool is_row_of(const cz_view_sum_entry *row, const region *work,
                      const cz_view_step *step, int k, cz_exchange how)
{
    return row->param == work->param &&
           row->offset == work->offset + step->offsets[k] &&
           row->count == cz_view_result_elements(step, k) &&
           row->width == cz_dtype_bytes(step->out_dtype[k]) &&
           row->how == (int64_t)how && row->band == step->band &&
           row->side == (step->band > 0 ? step->columns : 0);
}

/* Rows [*at, end) begin with all partial sums of the segment, and all that it
 * deals out, in order. */
static bool take_sums(const cz_view_stage *stage, const region *work,
                      const cz_view_sum_entry *rows, int64_t *at, int64_t end)
{
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        for (int k = 0; k < step->n_out; k++) {
            cz_exchange how;
            if (step->segment != work->index / 2 ||
                !cz_view_is_exchanged(step, k, &how))
                continue;
            if (*at == end || !is_row_of(&rows[*at], work, step, k, how))
                return false;
            ++*at;
        }
    }
    return true;
}

/* All partial sums of a segment, of the same one on all ranks that add up. */
static void run_sums_of(run *r, int op, int64_t rank)
{
    const row_range range = rows_of(r->v, &r->v->view->ops[op], rank);
    const cz_view_sum_entry *rows =
        r->v->view->tables[r->v->view->ops[op].table].rows.sum;
    const int64_t first = first_of_block(r->v, &r->v->view->ops[op], rank);

    for (int64_t i = range.first; i < range.end && r->v->n_errors == 0;) {
        const int64_t param = rows[i].param;
        const cz_view_stage *stage =
            cz_view_subgroup_stage(r->v->view, (int)param);
        region *work = find_work(r, rank, param);
        const bool is_taken =
            stage && work && take_sums(stage, work, rows, &i, range.end);
        if (is_taken && rank != first) {
            const region_list *others = &r->scratch[first];
            region there = *work;
            there.index++;
            int k = 0;
            while (k < others->n && (others->v[k].of->kind != CZ_N_SLOTS ||
                                     others->v[k].of->param != param ||
                                     others->v[k].of->index != there.index))
                k++;
            if (k == others->n)
                reject(r->v, (place){op, rank, param},
                       "adds up sums of another segment than rank %lld",
                       (long long)first);
        }
        if (!is_taken)
            reject(r->v, (place){op, rank, param},
                   "adds up other values than the partial sums of the segment "
                   "before it");
        else
            work->index++;
    }
}

static void run_sums(run *r, int op)
{
    for (int64_t rank = 0; rank < r->v->view->n_ranks && r->v->n_errors == 0;
         rank++)
        run_sums_of(r, op, rank);
}

static void run_spans(run *r, int op)
{
    for (int64_t rank = 0; rank < r->v->view->n_ranks; rank++) {
        const row_range rows = rows_of(r->v, &r->v->view->ops[op], rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const int64_t param = r->v->view->tables[r->v->view->ops[op].table]
                                      .rows.span[i]
                                      .param;
            if (!r->reduced[r->v->view->params[param].bucket]) {
                reject(r->v, (place){op, rank, param},
                       "counts a gradient that is not reduced yet");
                return;
            }
        }
    }
}

/* The last parameter of a bucket that begins at an element or before it; else
 * the first.  They lie one behind the other (V0). */
static int find_param(const cz_fact_bucket *bucket, int64_t element)
{
    int first = 0, end = bucket->params.n;

    while (end - first > 1) {
        const int middle = first + (end - first) / 2;
        if (bucket->offsets.v[middle] <= element)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Elements of parameters in a rank's slice. */
static int64_t owned_elements(const verifier *v, int bucket, int64_t rank)
{
    const cz_fact_bucket *fact = v->view->buckets[bucket].fact;
    int64_t lo, hi, n = 0;

    slice_of(v, bucket, rank, &lo, &hi);
    for (int i = find_param(fact, lo);
         i < fact->params.n && fact->offsets.v[i] < hi; i++)
        n += overlap_of(v, fact->params.v[i], rank, lo, hi);
    return n;
}

static bool is_uneven(const verifier *v, const cz_fact_bucket *bucket)
{
    for (int i = 0; i < bucket->params.n; i++) {
        const int pattern = v->view->params[bucket->params.v[i]].pattern;
        if (cz_view_is_uneven(&v->view->patterns[pattern]))
            return true;
    }
    return false;
}

static void check_finished(run *r, int op, int bucket)
{
    /* Elements in every rank's slice; where shards are equal, counted once for
     * each coordinate of the split. */
    const verifier *v = r->v;
    const cz_ints *split =
        &cz_view_bucket_reduction(v->view, bucket)->split_axes;
    const bool each = is_uneven(v, v->view->buckets[bucket].fact);
    const int64_t residents = first_resident(v, bucket);
    int64_t *owned = CZ_NEW(v->arena, int64_t, v->view->n_ranks);

    for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
        const int64_t first = cz_view_rank_at(
            v->view, split, cz_view_coordinate(v->view, split, rank),
            residents);
        owned[rank] = each || first == rank ? owned_elements(v, bucket, rank)
                                            : owned[first];
    }

    for (int64_t rank = 0; rank < r->v->view->n_ranks; rank++) {
        const int64_t done = r->updated[rank * r->v->view->n_buckets + bucket];
        if (!has_bucket(r->v, bucket, rank))
            continue;
        if (done != owned[rank]) {
            place late = place_on(r->v, op, rank);
            find_row(r->v,
                     (row_filter){op + 1, r->v->view->n_ops - 1, CZ_STEP_KERNEL,
                                  rank, bucket, -1},
                     &late);
            reject(r->v, (place){op, rank, late.param},
                   "gathers bucket %d after %lld of %lld updated elements",
                   bucket, (long long)done, (long long)owned[rank]);
            return;
        }
    }
    r->gathered[bucket] = true;
}

static void run_op(run *r, int number)
{
    const cz_view_op *op = &r->v->view->ops[number];

    switch (op->kind) {
    case CZ_STEP_REDUCE_SCATTER:
        r->reduced[op->fact->bucket] = true;
        break;
    case CZ_STEP_ALL_GATHER:
        check_finished(r, number, (int)op->fact->bucket);
        break;
    case CZ_STEP_TRANSFER:
        run_transfer(r, number);
        break;
    case CZ_STEP_KERNEL:
        run_kernel(r, number);
        break;
    case CZ_STEP_GROUP_SUM:
        run_sums(r, number);
        break;
    case CZ_STEP_SQUARE_SUM:
        run_spans(r, number);
        break;
    case CZ_STEP_ALL_REDUCE:
    case CZ_STEP_DECIDE:
    case CZ_STEP_PROLOGUE:
    case CZ_STEP_GUARD:
    case CZ_STEP_KEEP:
    case CZ_STEP_UNDO:
    case CZ_N_STEPS:
        break;
    }
}

void check_provenance(verifier *v)
{
    const int n_buckets = v->view->n_buckets + 1;
    run r = {.v = v, .phases_of = {.param = -1}};

    r.scratch = CZ_NEW(v->arena, region_list, v->view->n_ranks);
    r.updated =
        CZ_NEW(v->arena, int64_t, (int64_t)v->view->n_ranks * n_buckets);
    r.reduced = CZ_NEW(v->arena, bool, n_buckets);
    r.gathered = CZ_NEW(v->arena, bool, n_buckets);
    for (int op = 0; op < v->view->n_ops && v->n_errors == 0; op++)
        run_op(&r, op);
}
