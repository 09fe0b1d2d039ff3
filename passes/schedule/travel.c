/* Rows of what travels: slots of matrices between shards and those who compute
 * them, and the partial sums of those who share one. */
#include "passes/schedule/internal.h"

void cz_rows_put(cz_rows *rows, cz_entry entry)
{
    int64_t numbers[sizeof entry / sizeof(int64_t)];

    cz_entry_write(rows->kind, &entry, numbers);
    for (int i = 0; i < cz_entry_schemas[rows->kind].n_columns; i++)
        *CZ_PUSH(rows->arena, rows->values, rows->n_values) = numbers[i];
}

/* ---- transfers ---- */

/* One slot of a matrix on its way between shards and those who compute. */
typedef struct parcel {
    const cz_matrix *matrix;
    int64_t bytes;              /* of an element */
    int64_t shard, full_matrix; /* scratch bytes of the slot on either side */
    int64_t phases;             /* in which it is read */
} parcel;

/* One end of what travels between a shard and a part of the matrix; the peer is
 * the shard coordinate of the rank at the other end. */
typedef struct parcel_end {
    bool is_recv, in_whole;
    int peer;
} parcel_end;

/* What a shard and a part have in common lies in either as a run for each row
 * of it, or as one run for all when both hold its rows wholly.  Nothing in
 * common: no box. */
static void put_box(cz_rows *r, const parcel *p, const parcel_end *end,
                    const cz_view_shard *shard, const cz_view_shard *part)
{
    const cz_view_shard both = cz_view_overlap(shard, part, 2);
    const cz_view_shard *holder = end->in_whole ? part : shard;
    const int64_t width = both.shape[1];
    const bool at_once = width == shard->shape[1] && width == part->shape[1];
    if (both.elements == 0)
        return;
    const int64_t n_rows = at_once ? 1 : both.shape[0];
    const int64_t row_bytes = both.elements / n_rows * p->bytes;
    const int64_t first =
        (both.start[0] - holder->start[0]) * holder->shape[1] + both.start[1] -
        holder->start[1];
    const cz_view_transfer_entry box = {
        .param = p->matrix->param,
        .is_recv = end->is_recv,
        .peer = end->peer,
        .offset =
            (end->in_whole ? p->full_matrix : p->shard) + first * p->bytes,
        .n_rows = n_rows,
        .row_bytes = row_bytes,
        .stride_bytes = n_rows == 1 ? row_bytes : holder->shape[1] * p->bytes,
        .phases = p->phases};
    cz_rows_put(r, (cz_entry){.transfer = box});
}

static cz_view_shard shard_at(const cz_scheduler *s, const cz_matrix *m,
                              int shard, const cz_row_place *at)
{
    return cz_view_shard_of(s->view, m->pattern,
                            cz_view_rank_at(s->view,
                                            &s->sharded.axes[m->micro_group],
                                            shard, at->rank));
}

/* Shards send to those who compute (gather), or these to them (scatter). */
static void put_parcel(const cz_scheduler *s, cz_rows *r, const parcel *p,
                       const cz_row_place *at, bool is_gather)
{
    const cz_matrix *m = p->matrix;
    const int own = m->shard_of_column[at->column];
    const int n =
        (int)cz_view_extent(s->view, &s->sharded.axes[m->micro_group]);
    const cz_view_shard shard = shard_at(s, m, own, at);
    for (int k = 0; k < m->n_owners; k++) {
        const cz_view_shard part = cz_view_subgroup_shard(s->view, m->param, k);
        put_box(r, p,
                &(parcel_end){!is_gather, false, m->owner + k * m->stride},
                &shard, &part);
    }
    if (!cz_schedule_owns(m, at->column))
        return;
    const cz_view_shard part = cz_view_subgroup_shard(
        s->view, m->param, cz_schedule_member(m, at->column));
    for (int t = 0; t < n; t++) {
        const cz_view_shard other = shard_at(s, m, t, at);
        put_box(r, p, &(parcel_end){is_gather, true, t}, &other, &part);
    }
}

static int64_t element_bytes(const cz_view_stage *stage, cz_slot_kind kind,
                             int index)
{
    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == kind && stage->in[i].index == index)
            return cz_dtype_bytes(stage->in[i].dtype);
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == kind && stage->out[i].index == index)
            return cz_dtype_bytes(stage->out[i].dtype);
    return 0;
}

static void put_matrix(const cz_scheduler *s, cz_rows *r, const cz_matrix *m,
                       const cz_row_place *at, bool is_gather)
{
    const cz_slot_kind kind = is_gather ? CZ_SLOT_GATHER : CZ_SLOT_SCATTER;
    const cz_view_stage *shard = is_gather ? m->before : m->after;
    const int64_t count = cz_view_shard_elements(s->view, m->pattern, at->rank);
    if (!shard)
        return;
    const cz_matrix_scratch whole = m->scratch_at[at->column];
    int64_t shard_at[CZ_MAX_STAGE_SLOTS], scratch_at[CZ_MAX_STAGE_SLOTS], bytes;
    cz_view_slot_bytes(shard, kind, count, shard_at);
    cz_view_slot_bytes(m->full_matrix, kind, m->elements, scratch_at);
    for (int i = 0; (bytes = element_bytes(m->full_matrix, kind, i)) > 0; i++) {
        const parcel p = {
            m, bytes, (is_gather ? m->gather : m->scatter) + shard_at[i],
            (is_gather ? whole.gather : whole.scatter) + scratch_at[i],
            cz_view_slot_phases(s->view, m->pattern->rule, kind, i)};
        put_parcel(s, r, &p, at, is_gather);
    }
}

void cz_schedule_fill_transfer(const cz_scheduler *s, const cz_planned_op *op,
                               const cz_row_place *at, cz_rows *r)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->micro_group, &n);
    for (int i = 0; i < n; i++)
        put_matrix(s, r, &list[i], at, op->role == CZ_ROLE_GATHER);
}

/* ---- sums of those who share ---- */

int64_t cz_schedule_sum_bytes(const cz_matrix *m, int segment)
{
    int64_t bytes = 0;
    for (int i = 0; i < m->full_matrix->n_steps; i++) {
        const cz_view_step *step = &m->full_matrix->steps[i];
        for (int k = 0; step->segment == segment && k < step->n_out; k++) {
            cz_exchange how;
            if (cz_view_is_exchanged(step, k, &how))
                bytes += (how == CZ_EXCHANGE_SUM ? 2 : 1) *
                         cz_view_band_elements(cz_view_result_elements(step, k),
                                               step->band) *
                         cz_dtype_bytes(step->out_dtype[k]);
        }
    }
    return bytes;
}

/* What a segment leaves to add up or gather, in the matrix's workspace. */
static void put_sums(cz_rows *r, const cz_matrix *m, int segment, int64_t work)
{
    for (int i = 0; i < m->full_matrix->n_steps; i++) {
        const cz_view_step *step = &m->full_matrix->steps[i];
        for (int k = 0; step->segment == segment && k < step->n_out; k++) {
            cz_exchange how;
            if (!cz_view_is_exchanged(step, k, &how))
                continue;
            const cz_view_sum_entry sum = {
                .param = m->param,
                .width = cz_dtype_bytes(step->out_dtype[k]),
                .how = how,
                .band = step->band,
                .offset = work + step->offsets[k],
                .count = cz_view_result_elements(step, k),
                .side = step->band > 0 ? step->columns : 0};
            cz_rows_put(r, (cz_entry){.sum = sum});
        }
    }
}

void cz_schedule_fill_sums(const cz_scheduler *s, const cz_planned_op *op,
                           const cz_row_place *at, cz_rows *r)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->micro_group, &n);
    for (int i = 0; i < n; i++)
        if (cz_schedule_owns(&list[i], at->column))
            put_sums(r, &list[i], op->segment,
                     list[i].scratch_at[at->column].work);
}
