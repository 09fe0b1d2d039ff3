/* Counts a plan's costs rank by rank, from the rows that the rank runs. */
#include "dsl/plan/box.h"
#include "dsl/plan/metrics.h"

#include "dsl/base/checked.h"
#include "dsl/plan/frequency.h"
#include "dsl/plan/state.h"

#include <string.h>

/* Equal parts begin at multiples of so many elements (CZR_EQUAL_PART_ALIGN). */
enum { PART_ALIGN = 16 };

typedef struct counter {
    const cz_plan_view *view;
    const cz_frequency *frequencies;
    int64_t rank;
    cz_rank_metrics *out;
    int64_t *op_sent, *op_received; /* [n_ops] what is added to */
} counter;

const char *cz_memory_name(cz_memory memory)
{
    static const char *const names[CZ_N_MEMORIES] = {
#define CZ_MEMORY(tag, name) name,
        CZ_MEMORIES(CZ_MEMORY)
#undef CZ_MEMORY
    };
    return names[memory];
}

int64_t cz_metrics_slice(const cz_view_bucket *bucket, int64_t coordinate)
{
    const int64_t *slices = bucket->fact->slices.v;
    return slices[coordinate + 1] - slices[coordinate];
}

static bool is_equal(const cz_view_bucket *bucket)
{
    return bucket->fact->geometry == CZ_GEOMETRY_EQUAL;
}

int64_t cz_metrics_equal_step(int64_t length, int n)
{
    return cz_round_up(cz_ceil_div(length, n), PART_ALIGN);
}

int64_t cz_metrics_equal_start(const cz_view_bucket *bucket, int64_t coordinate)
{
    const int64_t length = bucket->fact->length;
    const int64_t step =
        cz_metrics_equal_step(length, bucket->fact->slices.n - 1);
    return coordinate * step < length ? coordinate * step : length;
}

static int64_t equal_part(const cz_view_bucket *bucket, int64_t coordinate)
{
    return is_equal(bucket) ? cz_metrics_equal_start(bucket, coordinate + 1) -
                                  cz_metrics_equal_start(bucket, coordinate)
                            : cz_metrics_slice(bucket, coordinate);
}

int64_t cz_metrics_sum_bytes(const cz_view_op *op, const cz_view_sum_entry *row,
                             int64_t position)
{
    const cz_block block = {op->fact->block_size, op->fact->stride};
    const int64_t subgroup_size = block.size,
                  seat = cz_block_place(block, position);
    const int64_t own =
        row->count / subgroup_size + (seat < row->count % subgroup_size);
    const int64_t others = row->how == CZ_EXCHANGE_SUM ? row->count - own : 0;
    return (others +
            cz_view_band_elements(own, row->band) * (subgroup_size - 1)) *
           row->width;
}

/* ---- collectives ---- */

static bool covers(const cz_ints *axes, const cz_ints *part)
{
    for (int i = 0; i < part->n; i++) {
        bool found = false;
        for (int k = 0; k < axes->n; k++)
            found = found || axes->v[k] == part->v[i];
        if (!found)
            return false;
    }
    return true;
}

/* Elements of the slices of all members of this rank's communicator.  Where
 * it spans the split, every slice is there equally often. */
static int64_t all_slices(const counter *c, const cz_view_op *op)
{
    const cz_plan_view *view = c->view;
    const cz_ints *comm = &op->fact->comm;
    const cz_ints *split =
        &cz_view_bucket_reduction(view, (int)op->fact->bucket)->split_axes;
    const cz_view_bucket *bucket = &view->buckets[op->fact->bucket];
    const int64_t n = cz_view_extent(view, comm);
    int64_t all = 0;
    if (covers(comm, split))
        return bucket->fact->length * (n / cz_view_extent(view, split));
    for (int64_t member = 0; member < n; member++) {
        const int64_t rank = cz_view_rank_at(view, comm, member, c->rank);
        all += cz_metrics_slice(bucket, cz_view_coordinate(view, split, rank));
    }
    return all;
}

bool cz_metrics_exchanges(const cz_plan_view *view, int bucket,
                          const cz_ints *comm)
{
    return is_equal(&view->buckets[bucket]) &&
           covers(comm, &cz_view_bucket_reduction(view, bucket)->split_axes);
}

static void count_moved(counter *c, int number, int64_t sent, int64_t received)
{
    const cz_step_kind kind = c->view->ops[number].kind;
    c->out->sent[kind] += sent;
    c->out->received[kind] += received;
    c->op_sent[number] = cz_limited_add(c->op_sent[number], sent);
    c->op_received[number] = cz_limited_add(c->op_received[number], received);
}

/* Between equal parts and slices: of an element so many bytes. */
static void count_exchange(counter *c, int number, int64_t bytes)
{
    const cz_view_op *op = &c->view->ops[number];
    const int64_t self = cz_view_coordinate(c->view, &op->fact->comm, c->rank);
    const cz_view_table *table = &c->view->tables[op->table];
    const int64_t at =
        cz_view_coordinate(c->view, &table->fact->selector, c->rank);
    for (int64_t i = table->starts[at]; i < table->starts[at + 1]; i++) {
        const cz_view_exchange_entry *row = &table->rows.exchange[i];
        const int64_t moved = row->peer == self ? 0 : row->count * bytes;
        count_moved(c, number, row->is_recv ? 0 : moved,
                    row->is_recv ? moved : 0);
    }
}

static void count_collective(counter *c, int number)
{
    const cz_view_op *op = &c->view->ops[number];
    const cz_view_bucket *bucket = &c->view->buckets[op->fact->bucket];
    const int64_t n = cz_view_extent(c->view, &op->fact->comm);
    const cz_fact_reduction *reduction =
        cz_view_bucket_reduction(c->view, (int)op->fact->bucket);
    const int64_t at =
        cz_view_coordinate(c->view, &reduction->split_axes, c->rank);
    const bool exchanges =
        cz_metrics_exchanges(c->view, (int)op->fact->bucket, &op->fact->comm);
    const int64_t own =
        exchanges ? equal_part(bucket, at) : cz_metrics_slice(bucket, at);
    const int64_t others = all_slices(c, op) - own;
    if (op->kind == CZ_STEP_REDUCE_SCATTER) {
        const int64_t bytes =
            reduction->n_grads * cz_dtype_bytes(reduction->dtype);
        count_moved(c, number, others * bytes, own * bytes * (n - 1));
    } else {
        const int64_t bytes = cz_dtype_bytes(bucket->dtype);
        count_moved(c, number, own * bytes * (n - 1), others * bytes);
    }
    if (op->table >= 0)
        count_exchange(c, number,
                       op->kind == CZ_STEP_REDUCE_SCATTER
                           ? cz_dtype_bytes(CZ_F32)
                           : cz_dtype_bytes(bucket->dtype));
}

/* ---- rows ---- */

static void touch_scratch(counter *c, int64_t end)
{
    end = cz_round_up(end, CZ_ALIGN_BYTES);
    if (end > c->out->peak_scratch)
        c->out->peak_scratch = end;
}

static void touch_slots(counter *c, const cz_view_stage *stage,
                        cz_slot_kind kind, int64_t start, int64_t count)
{
    if (start >= 0)
        touch_scratch(c, start + cz_view_slot_bytes(stage, kind, count, NULL));
}

static bool writes_param(const cz_view_stage *stage)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZ_SLOT_PARAM)
            return true;
    return false;
}

/* A matrix begins with its whole stage, or with the first of shared ones. */
static bool begins_matrix(const cz_view_stage *stage)
{
    return stage->where == CZ_WHERE_FULL_MATRIX ||
           (stage->where == CZ_WHERE_SUBGROUP && stage->subgroup->segment == 0);
}

static void count_update(cz_rank_metrics *out, const cz_view_kernel_entry *row,
                         const cz_view_stage *stage, int64_t n_written)
{
    out->n_matrices += begins_matrix(stage);
    out->n_updates += n_written;
    if (out->full_matrix)
        out->full_matrix[row->param] += stage->where == CZ_WHERE_FULL_MATRIX;
    if (out->updates)
        out->updates[row->param] += n_written;
}

static void count_kernel(counter *c, const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &c->view->stages[row->stage];
    const int64_t flops = stage->fact->flops;
    c->out->flops = cz_limited_add(
        c->out->flops,
        cz_view_is_shaped(stage) ? flops : cz_limited_mul(flops, row->count));
    count_update(c->out, row, stage, writes_param(stage) ? row->count : 0);
    touch_slots(c, stage, CZ_SLOT_GATHER, row->gather, row->count);
    touch_slots(c, stage, CZ_SLOT_SCATTER, row->scatter, row->count);
    touch_slots(c, stage, CZ_SLOT_TEMP, row->temp, row->count);
    if (row->work >= 0)
        touch_scratch(c, row->work + stage->fact->work_bytes);
}

static void count_transfer(counter *c, const cz_view_op *op, int number,
                           int64_t first, int64_t end)
{
    const int64_t self = cz_view_coordinate(c->view, &op->fact->comm, c->rank);
    const cz_view_transfer_entry *rows =
        c->view->tables[op->table].rows.transfer;
    for (int64_t i = first; i < end; i++)
        if (cz_view_has_member(&rows[i], self))
            touch_scratch(c, cz_view_boxes_end(&rows[i]));
    count_moved(c, number,
                cz_frequency_moved(c->view, c->frequencies, rows, first, end,
                                   self, false),
                cz_frequency_moved(c->view, c->frequencies, rows, first, end,
                                   self, true));
}

static void count_sum(counter *c, const cz_view_op *op, int number,
                      const cz_view_sum_entry *row)
{
    const int64_t bytes = cz_metrics_sum_bytes(
        op, row, cz_view_coordinate(c->view, &op->fact->comm, c->rank));
    touch_scratch(c, row->offset + row->count * row->width);
    count_moved(c, number, bytes, bytes);
}

static void count_rows(counter *c, int number)
{
    const cz_view_op *op = &c->view->ops[number];
    const cz_view_table *table = &c->view->tables[op->table];
    const int64_t at =
        cz_view_coordinate(c->view, &table->fact->selector, c->rank);
    if (table->kind == CZ_ENTRY_TRANSFER)
        count_transfer(c, op, number, table->starts[at], table->starts[at + 1]);
    for (int64_t i = table->starts[at]; i < table->starts[at + 1]; i++)
        if (table->kind == CZ_ENTRY_KERNEL)
            count_kernel(c, &table->rows.kernel[i]);
        else if (table->kind == CZ_ENTRY_SUM)
            count_sum(c, op, number, &table->rows.sum[i]);
}

static void count_op(counter *c, int number)
{
    const cz_view_op *op = &c->view->ops[number];
    if (op->kind == CZ_STEP_REDUCE_SCATTER || op->kind == CZ_STEP_ALL_GATHER) {
        if (cz_view_bucket_is_resident(c->view, (int)op->fact->bucket, c->rank))
            count_collective(c, number);
    } else if (op->table >= 0)
        count_rows(c, number);
}

/* ---- memory ---- */

/* The first parameter of a bucket that reaches beyond an element. */
static int first_beyond(const cz_plan_view *view, const cz_fact_bucket *bucket,
                        int64_t element)
{
    int first = 0, end = bucket->params.n;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        const int pattern = view->params[bucket->params.v[middle]].pattern;
        if (bucket->offsets.v[middle] + view->patterns[pattern].local_elements >
            element)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* States of what each parameter has in the slice. */
static void count_states(counter *c, const cz_view_bucket *bucket,
                         int64_t coordinate)
{
    const cz_plan_view *view = c->view;
    const cz_fact_bucket *fact = bucket->fact;
    const int64_t *slice = fact->slices.v + coordinate;
    for (int i = first_beyond(view, fact, slice[0]);
         i < fact->params.n && fact->offsets.v[i] < slice[1]; i++) {
        const cz_view_pattern *pattern =
            &view->patterns[view->params[fact->params.v[i]].pattern];
        const cz_view_rule *rule = &view->rules[pattern->rule];
        const int64_t begin = fact->offsets.v[i];
        const int64_t end =
            begin + cz_view_shard_elements(view, pattern, c->rank);
        const int64_t n = (end < slice[1] ? end : slice[1]) -
                          (begin > slice[0] ? begin : slice[0]);
        for (int k = 0; n > 0 && k < rule->fact->states.n; k++)
            if (!cz_state_is_owned(rule->fact, k))
                c->out->memory[CZ_MEMORY_STATE] += cz_round_up(
                    n * cz_dtype_bytes(rule->states[k]), CZ_ALIGN_BYTES);
        if (cz_view_is_owner(view, (int)fact->params.v[i], c->rank))
            c->out->memory[CZ_MEMORY_STATE] += cz_state_owned_bytes(rule->fact);
    }
}

static void count_bucket(counter *c, const cz_view_bucket *bucket)
{
    const cz_plan_view *view = c->view;
    int64_t *memory = c->out->memory;
    const cz_fact_reduction *reduction = &view->reductions[bucket->reduction];
    const int64_t at =
        cz_view_coordinate(view, &reduction->split_axes, c->rank);
    const int64_t own = cz_metrics_slice(bucket, at);
    memory[CZ_MEMORY_PARAM] +=
        bucket->fact->length * cz_dtype_bytes(bucket->dtype);
    memory[CZ_MEMORY_GRAD] += bucket->fact->length * reduction->n_grads *
                              cz_dtype_bytes(reduction->dtype);
    const int64_t part = is_equal(bucket) ? equal_part(bucket, at) : 0;
    memory[CZ_MEMORY_REDUCED] += (own + part) * cz_dtype_bytes(CZ_F32);
    if (bucket->has_master)
        memory[CZ_MEMORY_MASTER] +=
            own * cz_dtype_bytes(view->policy->master_dtype);
    count_states(c, bucket, at);
}

static void count_memory(counter *c)
{
    const cz_plan_view *view = c->view;
    for (int b = 0; b < view->n_buckets; b++)
        if (cz_view_bucket_is_resident(view, b, c->rank))
            count_bucket(c, &view->buckets[b]);
    if (view->arena)
        c->out->memory[CZ_MEMORY_SCRATCH] =
            view->arena->bytes
                .v[cz_view_coordinate(view, &view->arena->selector, c->rank)];
}

/* ---- over ranks ---- */

void cz_metrics_add(cz_summary *summary, int64_t value)
{
    if (!cz_checked_add(summary->sum, value, &summary->sum))
        summary->sum = INT64_MAX;
    if (summary->n == 0 || value < summary->min)
        summary->min = value;
    if (summary->n == 0 || value > summary->max)
        summary->max = value;
    summary->n++;
}

static void add_rank(const cz_rank_metrics *rank, cz_metrics *out)
{
    cz_metrics_add(&out->flops, rank->flops);
    cz_metrics_add(&out->matrices, rank->n_matrices);
    for (int k = 0; k < CZ_N_STEPS; k++) {
        cz_metrics_add(&out->sent[k], rank->sent[k]);
        cz_metrics_add(&out->received[k], rank->received[k]);
    }
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        cz_metrics_add(&out->memory[k], rank->memory[k]);
}

int64_t cz_metrics_item_flops(const cz_plan_view *view, int param)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    return p->split_owner < 0
               ? 0
               : cz_view_rule_flops(view, pattern->rule,
                                    cz_view_subgroup_stage(view, param),
                                    cz_view_owner_elements(view, param));
}

static void find_item(const cz_plan_view *view, cz_metrics *out)
{
    out->item_param = -1;
    for (int p = 0; p < view->n_params; p++) {
        const int64_t flops = cz_metrics_item_flops(view, p);
        if (flops > out->item_flops) {
            out->item_flops = flops;
            out->item_param = p;
        }
    }
}

static void count_rank(counter *c)
{
    for (int i = 0; i < c->view->n_ops; i++)
        count_op(c, i);
    count_memory(c);
}

/* What is the same in every update, so many times. */
static void repeat(const cz_plan_view *view, cz_rank_metrics *m, int64_t times)
{
    m->flops = cz_limited_mul(m->flops, times);
    m->n_updates *= times;
    m->n_matrices *= times;
    for (int p = 0; p < view->n_params; p++) {
        m->updates[p] *= times;
        m->full_matrix[p] *= times;
    }
    for (int i = 0; i < view->n_ops; i++)
        if (view->ops[i].kind != CZ_STEP_TRANSFER) {
            m->op_sent[i] *= times;
            m->op_received[i] *= times;
        }
    for (int k = 0; k < CZ_N_STEPS; k++)
        if (k != CZ_STEP_TRANSFER) {
            m->sent[k] *= times;
            m->received[k] *= times;
        }
}

cz_rank_metrics cz_metrics_rank(cz_arena *arena, const cz_plan_view *view,
                                int64_t rank, int64_t n_updates)
{
    cz_rank_metrics metrics = {
        .updates = CZ_NEW(arena, int64_t, view->n_params),
        .full_matrix = CZ_NEW(arena, int64_t, view->n_params),
        .op_sent = CZ_NEW(arena, int64_t, view->n_ops),
        .op_received = CZ_NEW(arena, int64_t, view->n_ops)};
    counter c = {view,
                 cz_frequencies(arena, view, n_updates),
                 rank,
                 &metrics,
                 metrics.op_sent,
                 metrics.op_received};
    count_rank(&c);
    if (n_updates >= 0)
        repeat(view, &metrics, n_updates);
    return metrics;
}

cz_metrics *cz_metrics_build(cz_arena *arena, const cz_plan_view *view)
{
    cz_metrics *metrics = CZ_NEW(arena, cz_metrics, 1);
    cz_rank_metrics *ranks = CZ_NEW(arena, cz_rank_metrics, view->n_ranks);
    const cz_frequency *frequencies =
        cz_frequencies(arena, view, CZ_MEAN_UPDATE);
    metrics->n_ranks = view->n_ranks;
    metrics->ranks = ranks;
    metrics->op_sent = CZ_NEW(arena, int64_t, view->n_ops);
    metrics->op_received = CZ_NEW(arena, int64_t, view->n_ops);
    for (int rank = 0; rank < view->n_ranks; rank++) {
        counter c = {view,         frequencies,      rank,
                     &ranks[rank], metrics->op_sent, metrics->op_received};
        count_rank(&c);
        add_rank(&ranks[rank], metrics);
    }
    find_item(view, metrics);
    return metrics;
}

int64_t cz_metrics_memory(const cz_rank_metrics *rank)
{
    int64_t sum = 0;
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        sum += rank->memory[k];
    return sum;
}
