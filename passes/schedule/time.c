/* When a list of operations would be done: a rank for each cell of the owner
 * grid, times from the machine, and the simulated executor.  Operations wait
 * for what they need, as the schedule's waits will have it. */
#include "passes/schedule/internal.h"

#include <assert.h>

#include "dsl/base/checked.h"
#include "passes/cost/plan_time.h"
#include "passes/cost/time.h"
#include "passes/timeline/timeline.h"

struct cz_schedule_prices {
    cz_machine machine;
    const cz_stage_time *stages; /* [n_stages] */
};

/* A list while it is simulated. */
typedef struct timer {
    const cz_scheduler *s;
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    int n_cells;
    cz_row_place *cells;
    const cz_schedule_needs *needs;
    cz_timeline_list list;
    int *number_of; /* [n_ops] in the list; -1: it takes no time */
} timer;

const cz_schedule_prices *cz_schedule_price(cz_arena *arena,
                                            const cz_plan_view *view)
{
    cz_schedule_prices *prices = CZ_NEW(arena, cz_schedule_prices, 1);
    if (!cz_machine_of(arena, view, &prices->machine))
        return NULL;
    prices->stages = cz_stage_times(arena, view, &prices->machine);
    return prices;
}

static int64_t stage_ps(const cz_scheduler *s, const cz_view_stage *stage)
{
    return s->prices->stages[stage - s->view->stages].time_ps;
}

int64_t cz_schedule_whole_ps(const cz_scheduler *s, const cz_view_stage *whole)
{
    return stage_ps(s, whole);
}

/* ---- kernels ---- */

static int64_t elements_ps(const timer *t, const cz_view_stage *stage,
                           int64_t count)
{
    if (!stage || count == 0)
        return 0;
    const cz_stage_time *time = &t->s->prices->stages[stage - t->view->stages];
    return cz_time_add(
        cz_time_limit((cz_wide)stage->n_steps * t->machine->launch),
        cz_stage_time_part(time, count));
}

static int64_t local_ps(const timer *t, int bucket, const cz_row_place *at)
{
    const cz_ints params = t->view->buckets[bucket].fact->params;
    const cz_param_range range = cz_schedule_params(t->s, bucket, at->row);
    int64_t sum = 0;
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int family = t->view->params[params.v[i]].family;
        const cz_view_stage *local = cz_schedule_local(t->view, params.v[i]);
        if (!local)
            continue;
        cz_schedule_part(t->s, params.v[i],
                         t->view->families[family].local_elements, at->row, &n);
        sum = cz_time_add(sum, elements_ps(t, local, n));
    }
    return sum;
}

static int64_t alone_ps(const timer *t, int bucket, const cz_row_place *at)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&t->s->alone, at->row, bucket, &n);
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        const int64_t count = list[i].family->elements;
        sum = cz_time_add(sum, elements_ps(t, list[i].before, count));
        sum = cz_time_add(sum, stage_ps(t->s, list[i].whole));
        sum = cz_time_add(sum, elements_ps(t, list[i].after, count));
    }
    return sum;
}

/* Of one matrix; nothing where the rank has no part in it. */
static int64_t matrix_ps(const timer *t, const cz_planned_op *op,
                         const cz_matrix *m, const cz_row_place *at)
{
    if (op->role != CZ_ROLE_WHOLE)
        return elements_ps(
            t, op->role == CZ_ROLE_BEFORE ? m->before : m->after,
            cz_view_shard_elements(t->view, m->family, at->rank));
    return cz_schedule_owns(m, at->column) && op->segment < m->whole->n_segments
               ? stage_ps(t->s, m->whole + op->segment)
               : 0;
}

static int64_t group_ps(const timer *t, const cz_planned_op *op,
                        const cz_row_place *at)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&t->s->sharded, at->row, op->group, &n);
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum = cz_time_add(sum, matrix_ps(t, op, &list[i], at));
    return sum;
}

/* 0 is as good as skipped. */
static int64_t kernel_ps(const timer *t, const cz_planned_op *op,
                         const cz_row_place *at)
{
    const int64_t ps = op->role == CZ_ROLE_LOCAL   ? local_ps(t, op->bucket, at)
                       : op->role == CZ_ROLE_ALONE ? alone_ps(t, op->bucket, at)
                                                   : group_ps(t, op, at);
    return ps > 0 ? ps : -1;
}

static const int64_t *kernel_times(const timer *t, const cz_planned_op *op)
{
    int64_t *ps = CZ_NEW(t->arena, int64_t, t->n_cells);
    for (int c = 0; c < t->n_cells; c++)
        ps[c] = kernel_ps(t, op, &t->cells[c]);
    return ps;
}

/* ---- links ---- */

static cz_link_speed link_over(const timer *t, const cz_ints *axes,
                               cz_block block)
{
    return cz_machine_link(
        t->machine, cz_machine_link_over(t->machine, cz_view_mesh_axes(t->view),
                                         cz_view_set_of(axes), block));
}

static bool has_axis(const cz_ints *axes, int64_t axis)
{
    for (int i = 0; i < axes->n; i++)
        if (axes->v[i] == axis)
            return true;
    return false;
}

/* Cells that agree on all axes of the grid but these, in blocks unless those
 * are of 0. */
static cz_timeline_comm comm_over(const timer *t, const cz_ints *axes,
                                  cz_block block)
{
    int64_t *others = CZ_NEW(t->arena, int64_t, t->s->grid.axes.n);
    int *of = CZ_NEW(t->arena, int, t->n_cells);
    const int64_t extent = cz_view_extent(t->view, axes);
    const int64_t n_blocks = block.size > 0 ? extent / block.size : 1;
    cz_ints rest = {others, 0};
    for (int i = 0; i < t->s->grid.axes.n; i++)
        if (!has_axis(axes, t->s->grid.axes.v[i]))
            others[rest.n++] = t->s->grid.axes.v[i];
    for (int c = 0; c < t->n_cells; c++) {
        const int64_t rank = t->cells[c].rank;
        const int64_t at = cz_view_coordinate(t->view, axes, rank);
        of[c] = (int)(cz_view_coordinate(t->view, &rest, rank) * n_blocks +
                      (block.size > 0 ? cz_block_number(block, at) : 0));
    }
    return (cz_timeline_comm){(int)(cz_view_extent(t->view, &rest) * n_blocks),
                              of};
}

/* Bytes of one element of a matrix in slots that travel. */
static int64_t slot_bytes(const cz_view_stage *whole, cz_slot_kind kind)
{
    return cz_view_slot_bytes(whole, kind, CZ_ALIGN_BYTES, NULL) /
           CZ_ALIGN_BYTES;
}

/* What a rank has of a matrix as one of those who shard it, and as one of those
 * who compute it, less what it has as both. */
static void add_parcel(const timer *t, const cz_matrix *m,
                       const cz_row_place *at, int64_t *shards, int64_t *wholes)
{
    const cz_view_shard shard = cz_view_shard_of(t->view, m->family, at->rank);
    int64_t both = 0;
    if (cz_schedule_owns(m, at->column)) {
        const cz_view_shard part = cz_view_part_of(
            t->view, m->param, cz_schedule_member(m, at->column));
        both = cz_view_overlap(&shard, &part, 2).elements;
        *wholes += part.elements - both;
    }
    *shards += shard.elements - both;
}

/* Bytes that a cell sends or receives, whichever is more. */
static int64_t transfer_bytes(const timer *t, const cz_planned_op *op,
                              const cz_row_place *at)
{
    const bool is_gather = op->role == CZ_ROLE_GATHER;
    const cz_slot_kind kind = is_gather ? CZ_SLOT_GATHER : CZ_SLOT_SCATTER;
    int64_t out = 0, in = 0;
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&t->s->sharded, at->row, op->group, &n);
    for (int i = 0; i < n; i++) {
        int64_t shards = 0, wholes = 0;
        const int64_t bytes = slot_bytes(list[i].whole, kind);
        add_parcel(t, &list[i], at, &shards, &wholes);
        out += shards * bytes;
        in += wholes * bytes;
    }
    return out > in ? out : in;
}

/* Each of a block sends the others their shares of its partial sums, and then
 * its own sums to all; of what is dealt out its own share to all. */
static int64_t sum_bytes(const timer *t, const cz_planned_op *op,
                         const cz_row_place *at)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&t->s->sharded, at->row, op->group, &n);
    int64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (cz_schedule_owns(&list[i], at->column))
            bytes += (list[i].n_owners - 1) *
                     cz_schedule_sum_bytes(&list[i], op->segment) /
                     list[i].n_owners;
    return bytes;
}

/* As long as on the member with most bytes. */
static const int64_t *travel_times(const timer *t, const cz_planned_op *op,
                                   const cz_timeline_comm *comm)
{
    const cz_link_speed link = link_over(t, &t->s->sharded.axes[op->group],
                                         cz_schedule_block(t->s, op));
    int64_t *ps = CZ_NEW(t->arena, int64_t, t->n_cells);
    int64_t *most = CZ_NEW(t->arena, int64_t, comm->n);
    for (int c = 0; c < t->n_cells; c++) {
        ps[c] = op->role == CZ_ROLE_ADD ? sum_bytes(t, op, &t->cells[c])
                                        : transfer_bytes(t, op, &t->cells[c]);
        if (ps[c] > most[comm->of[c]])
            most[comm->of[c]] = ps[c];
    }
    for (int c = 0; c < t->n_cells; c++)
        ps[c] = ps[c] > 0 ? cz_time_send(&link, most[comm->of[c]]) : -1;
    return ps;
}

static int64_t grad_bytes(const cz_fact_reduction *how)
{
    return how->leaves * cz_dtype_bytes(how->dtype);
}

/* A bucket's reduction or all_gather. */
static const int64_t *bucket_times(const timer *t, const cz_planned_op *op,
                                   const cz_ints *axes)
{
    const cz_view_bucket *bucket = &t->view->buckets[op->bucket];
    const cz_fact_reduction *how =
        cz_view_bucket_reduction(t->view, op->bucket);
    const cz_link_speed link = link_over(t, axes, (cz_block){0, 0});
    const int64_t n = cz_view_extent(t->view, axes);
    const bool is_reduce = op->role == CZ_ROLE_REDUCE;
    const int64_t element =
        is_reduce ? grad_bytes(how) : cz_dtype_bytes(bucket->dtype);
    const int64_t bytes = bucket->fact->length * element;
    int64_t *ps = CZ_NEW(t->arena, int64_t, t->n_cells);
    for (int c = 0; c < t->n_cells; c++)
        ps[c] = !cz_view_bucket_is_home(t->view, op->bucket, t->cells[c].rank)
                    ? -1
                : is_reduce ? cz_time_reduce_scatter(&link, n, bytes)
                            : cz_time_all_gather(&link, n, bytes);
    return ps;
}

/* ---- the list ---- */

/* The axes that an operation's communicator spans; NULL: it has none. */
static const cz_ints *axes_of(const timer *t, const cz_planned_op *op)
{
    switch (op->role) {
    case CZ_ROLE_REDUCE:
        return &cz_view_bucket_reduction(t->view, op->bucket)->reduce_axes;
    case CZ_ROLE_PUBLISH:
        return &cz_view_bucket_reduction(t->view, op->bucket)->split_axes;
    case CZ_ROLE_GATHER:
    case CZ_ROLE_ADD:
    case CZ_ROLE_SCATTER:
        return &t->s->sharded.axes[op->group];
    case CZ_ROLE_LOCAL:
    case CZ_ROLE_ALONE:
    case CZ_ROLE_BEFORE:
    case CZ_ROLE_WHOLE:
    case CZ_ROLE_AFTER:
    case CZ_ROLE_GUARD:
    case CZ_ROLE_KEEP:
    case CZ_ROLE_SQUARES:
    case CZ_ROLE_SUM:
    case CZ_ROLE_DECIDE:
    case CZ_ROLE_PROLOGUE:
    case CZ_ROLE_UNDO:
    case CZ_N_ROLES:
        break;
    }
    return NULL;
}

static void append(timer *t, int number)
{
    const cz_planned_op *op = &t->s->ops[number];
    const cz_ints *axes = axes_of(t, op);
    cz_timeline_comm comm = {0, NULL};
    int n_waits;
    const int *waits =
        cz_schedule_needs_of(t->needs, number, t->number_of, &n_waits);
    if (axes)
        comm = comm_over(t, axes, cz_schedule_block(t->s, op));
    const int64_t *ps = !axes            ? kernel_times(t, op)
                        : op->group >= 0 ? travel_times(t, op, &comm)
                                         : bucket_times(t, op, axes);
    t->number_of[number] = t->list.n_ops;
    t->list.ops[t->list.n_ops++] =
        (cz_timeline_op){(cz_timeline_stream)cz_schedule_role(op->role)->stream,
                         op->group,
                         comm,
                         ps,
                         waits,
                         n_waits};
}

/* Behind a decision all gradients are there at once. */
static bool takes_time(const timer *t, cz_role role)
{
    return role == CZ_ROLE_REDUCE ? !cz_schedule_has_decision(t->view)
                                  : cz_schedule_needs_any(role);
}

static void list_cells(timer *t)
{
    const cz_owner_grid *grid = &t->s->grid;
    t->n_cells = (int)cz_view_extent(t->view, &grid->axes);
    t->cells = CZ_NEW(t->arena, cz_row_place, t->n_cells);
    for (int c = 0; c < t->n_cells; c++) {
        const int64_t rank = cz_view_rank_at(t->view, &grid->axes, c, 0);
        t->cells[c] = (cz_row_place){
            rank, (int)cz_view_coordinate(t->view, &grid->row_axes, rank),
            (int)cz_view_coordinate(t->view, &grid->shard_axes, rank)};
    }
}

/* The next forward pass: what of it needs a bucket waits for its all_gather,
 * and takes as long as that.  The last bucket is the first that it needs. */
static void append_forward(timer *t)
{
    const int n_buckets = t->view->n_buckets;
    int *publish = CZ_NEW(t->arena, int, n_buckets + 1);
    for (int b = 0; b < n_buckets; b++)
        publish[b] = -1;
    for (int i = 0; i < t->s->n_ops; i++)
        if (t->s->ops[i].role == CZ_ROLE_PUBLISH)
            publish[t->s->ops[i].bucket] = i;
    for (int b = n_buckets - 1; b >= 0; b--) {
        if (publish[b] < 0)
            continue;
        const int *number = &t->number_of[publish[b]];
        t->list.ops[t->list.n_ops++] =
            (cz_timeline_op){.stream = CZ_TIMELINE_COMPUTE,
                             .of = -1,
                             .ps = t->list.ops[*number].ps,
                             .waits = number,
                             .n_waits = 1};
    }
}

cz_timed_list cz_schedule_timed_list(const cz_scheduler *s)
{
    const int n_most = s->n_ops + s->view->n_buckets;
    timer t = {.s = s,
               .arena = s->arena,
               .view = s->view,
               .machine = &s->prices->machine,
               .number_of = CZ_NEW(s->arena, int, s->n_ops)};
    t.list.ops = CZ_NEW(s->arena, cz_timeline_op, n_most);
    list_cells(&t);
    t.needs = cz_schedule_needs_find(s);
    t.list.n_ranks = t.n_cells;
    for (int i = 0; i < s->n_ops; i++)
        if (takes_time(&t, s->ops[i].role))
            append(&t, i);
        else
            t.number_of[i] = -1;
    const int n_timed = t.list.n_ops;
    append_forward(&t);
    return (cz_timed_list){t.list, n_timed, t.number_of};
}
