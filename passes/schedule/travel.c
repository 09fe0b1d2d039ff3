/* Rows of what travels: slots of matrices between shards and those who compute
 * them, and the partial sums of those who share one. */
#include "passes/schedule/internal.h"

#include <assert.h>
#include <string.h>

void cz_rows_put(cz_rows *rows, cz_entry entry)
{
    int64_t numbers[sizeof entry / sizeof(int64_t)];

    cz_entry_write(rows->kind, &entry, numbers);
    for (int i = 0; i < cz_entry_schemas[rows->kind].n_columns; i++)
        *CZ_PUSH(rows->arena, rows->values, rows->n_values) = numbers[i];
}

/* ---- transfers ---- */

/* The ranks of a communicator, and their shards of a pattern.  They may be in
 * several rows of the grid, which have the same matrices of the group, but
 * other scratch. */
typedef struct members {
    const cz_view_pattern *pattern;
    int n;
    const cz_matrix **lists; /* [n] the group's matrices in the member's row */
    int *columns;            /* [n] */
    int64_t *ranks;
    cz_view_shard *shards;
} members;

/* One slot of a matrix on its way between shards and those who compute. */
typedef struct parcel {
    const cz_matrix *matrix;
    const members *of;
    const cz_view_shard *parts; /* [n_owners] of the matrix */
    int64_t bytes;              /* of an element */
    int64_t phases;             /* in which it is read */
    const int64_t *on_shards;   /* [of->n] scratch bytes of the slot */
    const int64_t *on_owners;   /* [n_owners] the same */
} parcel;

/* One end of all that travels: shards or those who compute. */
typedef struct parcel_end {
    bool is_recv, in_whole;
} parcel_end;

/* What a shard and a part have in common lies in either as a run for each row
 * of it, or as one run for all when both hold its rows wholly.  Nothing in
 * common: no box. */
static bool find_box(const parcel *p, const parcel_end *end, int t, int k,
                     cz_view_transfer_entry *out)
{
    const cz_view_shard *shard = &p->of->shards[t], *part = &p->parts[k];
    const cz_view_shard both = cz_view_overlap(shard, part, 2);
    const cz_view_shard *holder = end->in_whole ? part : shard;
    const int64_t width = both.shape[1];
    const bool at_once = width == shard->shape[1] && width == part->shape[1];
    const int owner = p->matrix->owner + k * p->matrix->stride;
    if (both.elements == 0)
        return false;
    const int64_t n_rows = at_once ? 1 : both.shape[0];
    const int64_t row_bytes = both.elements / n_rows * p->bytes;
    const int64_t first =
        (both.start[0] - holder->start[0]) * holder->shape[1] + both.start[1] -
        holder->start[1];
    *out = (cz_view_transfer_entry){
        .param = p->matrix->param,
        .is_recv = end->is_recv,
        .peer = end->in_whole ? t : owner,
        .offset = (end->in_whole ? p->on_owners[k] : p->on_shards[t]) +
                  first * p->bytes,
        .n_rows = n_rows,
        .row_bytes = row_bytes,
        .stride_bytes = n_rows == 1 ? row_bytes : holder->shape[1] * p->bytes,
        .phases = p->phases,
        .member = end->in_whole ? owner : t,
        .n_members = 1,
        .member_step = 1,
        .n_peers = 1,
        .peer_step = 1};
    return true;
}

/* n from `first` on go on to `next`: any second one is a step from the first.
 */
static bool goes_on(int64_t first, int64_t n, int64_t *step, int64_t next,
                    int64_t least)
{
    if (n == 1 && next - first >= least) {
        *step = next - first;
        return true;
    }
    return n > 1 && next == first + n * *step;
}

/* Takes the box of one more peer into an entry; false: it is another run. */
static bool take_peer(cz_view_transfer_entry *entry,
                      const cz_view_transfer_entry *box)
{
    int64_t peer_step = entry->peer_step, offset_step = entry->offset_step;
    if (entry->n_rows != box->n_rows || entry->row_bytes != box->row_bytes ||
        entry->stride_bytes != box->stride_bytes ||
        !goes_on(entry->peer, entry->n_peers, &peer_step, box->peer, 1) ||
        !goes_on(entry->offset, entry->n_peers, &offset_step, box->offset, 0))
        return false;
    entry->peer_step = peer_step;
    entry->offset_step = offset_step;
    entry->n_peers++;
    return true;
}

/* The same for a member that has the same boxes. */
static bool take_member(cz_view_transfer_entry *entry,
                        const cz_view_transfer_entry *other)
{
    int64_t step = entry->member_step;
    cz_view_transfer_entry alike = *other;
    alike.member = entry->member;
    alike.n_members = entry->n_members;
    alike.member_step = entry->member_step;
    if (memcmp(&alike, entry, sizeof alike) != 0 ||
        !goes_on(entry->member, entry->n_members, &step, other->member, 1))
        return false;
    entry->member_step = step;
    entry->n_members++;
    return true;
}

/* Entries of one end: of each member runs over its peers, and members that
 * have the same one behind the other together. */
static void put_end(const cz_scheduler *s, cz_rows *r, const parcel *p,
                    const parcel_end *end)
{
    const int n_owners = p->matrix->n_owners, n_shards = p->of->n;
    const int n_members = end->in_whole ? n_owners : n_shards;
    const int n_peers = end->in_whole ? n_shards : n_owners;
    cz_view_transfer_entry *list = NULL,
                           *own = CZ_NEW(s->arena, cz_view_transfer_entry,
                                         n_peers);
    int *last = CZ_NEW(s->arena, int, n_peers), n = 0, n_last = 0;
    for (int i = 0; i < n_members; i++) {
        int n_own = 0;
        for (int k = 0; k < n_peers; k++) {
            cz_view_transfer_entry box;
            if (find_box(p, end, end->in_whole ? k : i, end->in_whole ? i : k,
                         &box) &&
                (n_own == 0 || !take_peer(&own[n_own - 1], &box)))
                own[n_own++] = box;
        }
        for (int k = 0; k < n_own; k++)
            if (k >= n_last || !take_member(&list[last[k]], &own[k])) {
                last[k] = n;
                *CZ_PUSH(s->arena, list, n) = own[k];
            }
        n_last = n_own;
    }
    for (int i = 0; i < n; i++)
        cz_rows_put(r, (cz_entry){.transfer = list[i]});
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

/* The number-th of the group. */
static void put_matrix(const cz_scheduler *s, cz_rows *r, int number,
                       const members *of, bool is_gather)
{
    const cz_matrix *m = &of->lists[0][number];
    const cz_slot_kind kind = is_gather ? CZ_SLOT_GATHER : CZ_SLOT_SCATTER;
    const cz_view_stage *shard = is_gather ? m->before : m->after;
    int64_t at[CZ_MAX_STAGE_SLOTS], bytes;
    if (!shard)
        return;
    cz_view_shard *parts = CZ_NEW(s->arena, cz_view_shard, m->n_owners);
    int64_t *on_shards = CZ_NEW(s->arena, int64_t, of->n);
    int64_t *on_owners = CZ_NEW(s->arena, int64_t, m->n_owners);
    for (int k = 0; k < m->n_owners; k++)
        parts[k] = cz_view_subgroup_shard(s->view, m->param, k);
    for (int i = 0; (bytes = element_bytes(m->full_matrix, kind, i)) > 0; i++) {
        const parcel p = {
            m,
            of,
            parts,
            bytes,
            cz_view_slot_phases(s->view, m->pattern->rule, kind, i),
            on_shards,
            on_owners};
        for (int t = 0; t < of->n; t++) {
            const cz_matrix *there = &of->lists[t][number];
            assert(there->param == m->param);
            cz_view_slot_bytes(shard, kind, of->shards[t].elements, at);
            on_shards[t] = (is_gather ? there->gather : there->scatter) + at[i];
        }
        cz_view_slot_bytes(m->full_matrix, kind, m->elements, at);
        for (int k = 0; k < m->n_owners; k++) {
            const int t = m->owner + k * m->stride;
            const cz_matrix_scratch whole =
                of->lists[t][number].scratch_at[of->columns[t]];
            on_owners[k] = (is_gather ? whole.gather : whole.scatter) + at[i];
        }
        put_end(s, r, &p, &(parcel_end){!is_gather, false});
        put_end(s, r, &p, &(parcel_end){is_gather, true});
    }
}

static members members_of(const cz_scheduler *s, const cz_planned_op *op,
                          const cz_row_place *at)
{
    const cz_ints comm = cz_schedule_comm(s, op);
    const int n = (int)cz_view_extent(s->view, &comm);
    members of = {.n = n,
                  .lists = CZ_NEW(s->arena, const cz_matrix *, n),
                  .columns = CZ_NEW(s->arena, int, n),
                  .ranks = CZ_NEW(s->arena, int64_t, n),
                  .shards = CZ_NEW(s->arena, cz_view_shard, n)};
    for (int t = 0; t < n; t++) {
        int n_matrices;
        of.ranks[t] = cz_view_rank_at(s->view, &comm, t, at->rank);
        of.lists[t] = cz_schedule_matrices(
            &s->sharded,
            (int)cz_view_coordinate(s->view, &s->grid.row_axes, of.ranks[t]),
            op->micro_group, &n_matrices);
        of.columns[t] =
            (int)cz_view_coordinate(s->view, &s->grid.shard_axes, of.ranks[t]);
    }
    return of;
}

void cz_schedule_fill_transfer(const cz_scheduler *s, const cz_planned_op *op,
                               const cz_row_place *at, cz_rows *r)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->micro_group, &n);
    members of = n > 0 ? members_of(s, op, at) : (members){.n = 0};
    for (int i = 0; i < n; i++) {
        for (int t = 0; list[i].pattern != of.pattern && t < of.n; t++)
            of.shards[t] =
                cz_view_shard_of(s->view, list[i].pattern, of.ranks[t]);
        of.pattern = list[i].pattern;
        put_matrix(s, r, i, &of, op->role == CZ_ROLE_GATHER);
    }
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
    const int *owned = cz_schedule_owned(&s->sharded, at, op->micro_group, &n);
    for (int i = 0; i < n; i++) {
        const cz_matrix *m = &s->sharded.list[owned[i]];
        put_sums(r, m, op->segment, m->scratch_at[at->column].work);
    }
}
