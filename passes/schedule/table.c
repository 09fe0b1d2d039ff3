/* The rows of every operation, per coordinate of what they depend on: shards
 * on the row, and on the column too where they are uneven; whole matrices on
 * both, and so do transfers and sums (travel.c). */
#include "passes/schedule/internal.h"

int64_t cz_schedule_slice_of(const cz_scheduler *s, int64_t param,
                             int64_t elements, int row, int64_t *n)
{
    const cz_plan_view *view = s->view;
    const cz_view_param *p = &view->params[param];
    const int split = cz_owner_grid_split(&s->grid, p->pattern, row);
    *n = 0;
    if (split < 0)
        return 0;
    const int64_t *slices = view->buckets[p->bucket].fact->slices.v + split;
    const int64_t end = p->offset + elements;
    const int64_t lo = p->offset > slices[0] ? p->offset : slices[0];
    const int64_t hi = end < slices[1] ? end : slices[1];
    *n = hi > lo ? hi - lo : 0;
    return lo;
}

/* The first parameter of a bucket that lies behind an element. */
static int first_behind(const cz_fact_bucket *bucket, int64_t element)
{
    int first = 0, end = bucket->offsets.n;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (bucket->offsets.v[middle] >= element)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* Offsets ascend, so one parameter at most begins before the slice and reaches
 * into it. */
cz_param_range cz_schedule_params(const cz_scheduler *s, int bucket, int row)
{
    const cz_view_bucket *b = &s->view->buckets[bucket];
    const int split = cz_owner_grid_split(&s->grid, b->pattern, row);
    if (split < 0)
        return (cz_param_range){0, 0};
    const int64_t *slices = b->fact->slices.v + split;
    const int first = first_behind(b->fact, slices[0]);
    return (cz_param_range){first > 0 ? first - 1 : 0,
                            first_behind(b->fact, slices[1])};
}

/* Elements of a parameter on the rank, and the part in its slice. */
static int64_t part_of(const cz_scheduler *s, int64_t param,
                       const cz_row_place *at, int64_t *n)
{
    const cz_plan_view *view = s->view;
    const int64_t elements = cz_view_shard_elements(
        view, &view->patterns[view->params[param].pattern], at->rank);
    return cz_schedule_slice_of(s, param, elements, at->row, n);
}

/* ---- kernels ---- */

static bool has_slot(const cz_view_stage *stage, cz_slot_kind kind)
{
    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == kind)
            return true;
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == kind)
            return true;
    return false;
}

/* Scratch bytes of a kernel row's buffers; what a stage lacks becomes -1. */
typedef struct scratch {
    int64_t gather, scatter, temp, work;
} scratch;

static void put_kernel(const cz_scheduler *s, cz_rows *r,
                       const cz_view_stage *stage, int param, int64_t offset,
                       int64_t count, scratch at)
{
    const cz_view_kernel_entry kernel = {
        .stage = stage - s->view->stages,
        .param = param,
        .offset = offset,
        .count = count,
        .gather = has_slot(stage, CZ_SLOT_GATHER) ? at.gather : -1,
        .scatter = has_slot(stage, CZ_SLOT_SCATTER) ? at.scatter : -1,
        .temp = has_slot(stage, CZ_SLOT_TEMP) ? at.temp : -1,
        .work = stage->fact->work_bytes > 0 ? at.work : -1};
    cz_rows_put(r, (cz_entry){.kernel = kernel});
}

const cz_view_stage *cz_schedule_element_wise(const cz_plan_view *view,
                                              int64_t param)
{
    const int rule = view->patterns[view->params[param].pattern].rule;
    const int local = cz_rule_stages_find(view, rule).local;
    return local < 0 ? NULL : &view->stages[local];
}

static void fill_bucket(const cz_scheduler *s, const cz_planned_op *op,
                        int bucket, const cz_row_place *at, cz_rows *r)
{
    const cz_ints params = s->view->buckets[bucket].fact->params;
    const cz_param_range range = cz_schedule_params(s, bucket, at->row);
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const cz_view_stage *local =
            cz_schedule_element_wise(s->view, params.v[i]);
        const int64_t offset = part_of(s, params.v[i], at, &n);
        if (local && n > 0)
            put_kernel(s, r, local, (int)params.v[i], offset, n,
                       (scratch){.work = op->work[at->row]});
    }
}

static void put_shard(const cz_scheduler *s, cz_rows *r,
                      const cz_view_stage *stage, const cz_matrix *m,
                      int64_t count, int64_t work)
{
    if (stage && count > 0)
        put_kernel(s, r, stage, m->param, m->offset, count,
                   (scratch){m->gather, m->scatter, m->temp, work});
}

/* The matrix, or the part of it that a member of those who share it has. */
static void put_whole(const cz_scheduler *s, cz_rows *r, const cz_matrix *m,
                      int segment, int member, cz_matrix_scratch at)
{
    if (segment < m->full_matrix->n_segments)
        put_kernel(s, r, m->full_matrix + segment, m->param, member,
                   m->elements, (scratch){at.gather, at.scatter, -1, at.work});
}

/* A matrix that no axis shards, or the rank's shard of one that stays: its
 * three stages, in scratch of their own one behind the other. */
static void put_alone(const cz_scheduler *s, const cz_planned_op *op,
                      const cz_row_place *at, cz_matrix m, cz_rows *r)
{
    const int64_t count = m.elements;
    m.gather = op->work[at->row];
    m.scatter = m.gather +
                cz_view_slot_bytes(m.full_matrix, CZ_SLOT_GATHER, count, NULL);
    m.temp = m.scatter +
             cz_view_slot_bytes(m.full_matrix, CZ_SLOT_SCATTER, count, NULL);
    const int64_t work =
        m.temp + cz_view_slot_bytes(m.before, CZ_SLOT_TEMP, count, NULL);
    put_shard(s, r, m.before, &m, count, work);
    put_whole(s, r, &m, 0, m.n_owners > 1 ? m.shard_of_column[at->column] : 0,
              (cz_matrix_scratch){m.gather, m.scatter, work});
    put_shard(s, r, m.after, &m, count, work);
}

static void fill_alone(const cz_scheduler *s, const cz_planned_op *op,
                       const cz_row_place *at, cz_rows *r)
{
    for (int k = op->n_buckets - 1; k >= 0; k--) {
        int n;
        const cz_matrix *list =
            cz_schedule_matrices(&s->alone, at->row, op->bucket + k, &n);
        for (int i = 0; i < n; i++)
            put_alone(s, op, at, list[i], r);
    }
}

static void fill_group(const cz_scheduler *s, const cz_planned_op *op,
                       const cz_row_place *at, cz_rows *r)
{
    int n;
    const int64_t work = op->work[at->row];
    if (op->role == CZ_ROLE_FULL_MATRIX) {
        const int *owned =
            cz_schedule_owned(&s->sharded, at, op->micro_group, &n);
        for (int i = 0; i < n; i++) {
            const cz_matrix *m = &s->sharded.list[owned[i]];
            put_whole(s, r, m, op->segment, cz_schedule_member(m, at->column),
                      m->scratch_at[at->column]);
        }
        return;
    }
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->micro_group, &n);
    for (int i = 0; i < n; i++) {
        const cz_matrix *m = &list[i];
        const int64_t count =
            cz_view_shard_elements(s->view, m->pattern, at->rank);
        if (op->role == CZ_ROLE_PRE_GATHER)
            put_shard(s, r, m->before, m, count, work);
        else
            put_shard(s, r, m->after, m, count, work);
    }
}

/* ---- squares ---- */

/* Coordinates of the axis hold other elements of the parameter. */
static bool tells_apart(const cz_plan_view *view, int64_t param, int64_t axis)
{
    return cz_view_distinct_set(view, view->params[param].pattern) >> axis & 1;
}

static bool splits_over(const cz_plan_view *view, int64_t param, int64_t axis)
{
    const cz_ints split =
        cz_view_pattern_reduction(view, view->params[param].pattern)
            ->split_axes;
    for (int i = 0; i < split.n; i++)
        if (split.v[i] == axis)
            return true;
    return false;
}

static bool is_of_home(const cz_plan_view *view, int64_t param, int64_t axis)
{
    return view->patterns[view->params[param].pattern].fact->resident_axes >>
               axis &
           1;
}

/* Replicas hold the same elements: those at coordinate 0 of the axes that
 * neither split nor shard the parameter count them, and its first home. */
static bool counts_param(const cz_plan_view *view, int64_t param, int64_t rank)
{
    if (cz_view_resident_rank(view, view->params[param].pattern, 0, rank) !=
        rank)
        return false;
    for (int axis = 0; axis < view->mesh->axes.n; axis++) {
        const int64_t a = axis;
        const cz_ints one = {&a, 1};
        if (!splits_over(view, param, axis) &&
            !tells_apart(view, param, axis) && !is_of_home(view, param, axis) &&
            cz_view_coordinate(view, &one, rank) != 0)
            return false;
    }
    return true;
}

static void fill_squares(const cz_scheduler *s, const cz_planned_op *op,
                         const cz_row_place *at, cz_rows *r)
{
    const cz_ints params = s->view->buckets[op->bucket].fact->params;
    const cz_param_range range = cz_schedule_params(s, op->bucket, at->row);
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int64_t offset = part_of(s, params.v[i], at, &n);
        if (n > 0 && counts_param(s->view, params.v[i], at->rank))
            cz_rows_put(r, (cz_entry){.span = {params.v[i], offset, n}});
    }
}

/* ---- what rows depend on ---- */

/* Parameters of a bucket differ in length between ranks of this axis. */
static bool is_uneven_over(const cz_view_pattern *pattern, int axis)
{
    for (int d = 0; d < pattern->n_dims; d++)
        if (pattern->bounds.of[d] && pattern->fact->shard.v[d] >> axis & 1)
            return true;
    return false;
}

/* Some parameter of the bucket is there alike on all ranks of the axis. */
static bool has_replicas(const cz_plan_view *view, cz_ints params, int axis)
{
    for (int i = 0; view->mesh->sizes.v[axis] > 1 && i < params.n; i++)
        if (!tells_apart(view, params.v[i], axis))
            return true;
    return false;
}

/* Rows over a bucket depend on its home, on the split, on uneven shards, and,
 * where each element counts once, on the axes that leave replicas. */
static cz_ints bucket_axes(const cz_scheduler *s, int bucket, bool once)
{
    const cz_plan_view *view = s->view;
    const cz_ints params = view->buckets[bucket].fact->params;
    int64_t *axes = CZ_NEW(s->arena, int64_t, view->mesh->axes.n);
    int n = 0;
    for (int axis = 0; axis < view->mesh->axes.n; axis++) {
        bool depends = is_of_home(view, params.v[0], axis) ||
                       splits_over(view, params.v[0], axis) ||
                       (once && has_replicas(view, params, axis));
        for (int i = 0; !depends && i < params.n; i++)
            depends = is_uneven_over(
                &view->patterns[view->params[params.v[i]].pattern], axis);
        if (depends)
            axes[n++] = axis;
    }
    return (cz_ints){axes, n};
}

/* Rows over the shards of a micro-group: alike in a row of ranks when they
 * are of equal length. */
static cz_ints shard_axes(const cz_scheduler *s, int micro_group)
{
    for (int i = 0; i < s->sharded.n; i++)
        if (s->sharded.list[i].micro_group == micro_group &&
            cz_view_is_uneven(s->sharded.list[i].pattern))
            return s->grid.axes;
    return s->grid.row_axes;
}

/* Rows of matrices that stay say which shard they are of, in whichever of its
 * buckets. */
static cz_ints alone_axes(const cz_scheduler *s, const cz_planned_op *op)
{
    for (int i = 0; i < s->alone.n; i++)
        if (s->alone.list[i].bucket >= op->bucket &&
            s->alone.list[i].bucket < op->bucket + op->n_buckets &&
            s->alone.list[i].n_owners > 1)
            return s->grid.axes;
    return s->grid.row_axes;
}

/* Entries of transfers say which members have them: of the grid's axes, those
 * that are not the communicator's. */
static cz_ints axes_beside(const cz_scheduler *s, cz_ints comm)
{
    int64_t *axes = CZ_NEW(s->arena, int64_t, CZ_VIEW_MAX_AXES);
    return cz_view_axes_of(
        s->view, cz_view_set_of(&s->grid.axes) & ~cz_view_set_of(&comm), axes);
}

/* ---- tables ---- */

static void fill_local(const cz_scheduler *s, const cz_planned_op *op,
                       const cz_row_place *at, cz_rows *r)
{
    for (int b = op->bucket; b < op->bucket + op->n_buckets; b++)
        if (op->n_buckets == 1 ||
            cz_view_bucket_is_resident(s->view, b, at->rank))
            fill_bucket(s, op, b, at, r);
}

typedef struct table_kind {
    cz_entry_kind row;
    void (*fill)(const cz_scheduler *, const cz_planned_op *,
                 const cz_row_place *, cz_rows *);
} table_kind;

static const table_kind *kind_of(cz_role role)
{
    static const table_kind table[CZ_N_ROLES] = {
        [CZ_ROLE_SQUARES] = {CZ_ENTRY_SPAN, fill_squares},
        [CZ_ROLE_ELEMENT_WISE] = {CZ_ENTRY_KERNEL, fill_local},
        [CZ_ROLE_ALONE] = {CZ_ENTRY_KERNEL, fill_alone},
        [CZ_ROLE_PRE_GATHER] = {CZ_ENTRY_KERNEL, fill_group},
        [CZ_ROLE_FULL_MATRIX] = {CZ_ENTRY_KERNEL, fill_group},
        [CZ_ROLE_POST_SCATTER] = {CZ_ENTRY_KERNEL, fill_group},
        [CZ_ROLE_ADD] = {CZ_ENTRY_SUM, cz_schedule_fill_sums},
        [CZ_ROLE_GATHER] = {CZ_ENTRY_TRANSFER, cz_schedule_fill_transfer},
        [CZ_ROLE_SCATTER] = {CZ_ENTRY_TRANSFER, cz_schedule_fill_transfer},
    };
    return table[role].fill ? &table[role] : NULL;
}

static const table_kind exchanges = {CZ_ENTRY_EXCHANGE,
                                     cz_schedule_fill_exchange};

/* Of all buckets that it updates. */
static cz_ints local_axes(const cz_scheduler *s, const cz_planned_op *op)
{
    int64_t set = 0;
    for (int b = op->bucket; b < op->bucket + op->n_buckets; b++) {
        const cz_ints axes = bucket_axes(s, b, false);
        set |= cz_view_set_of(&axes);
    }
    return cz_view_axes_of(s->view, set,
                           CZ_NEW(s->arena, int64_t, CZ_VIEW_MAX_AXES));
}

/* The axes that the rows of an operation depend on. */
static cz_ints selector_of(const cz_scheduler *s, const cz_planned_op *op)
{
    switch (op->role) {
    case CZ_ROLE_SQUARES:
        return bucket_axes(s, op->bucket, true);
    case CZ_ROLE_ELEMENT_WISE:
        return local_axes(s, op);
    case CZ_ROLE_PRE_GATHER:
    case CZ_ROLE_POST_SCATTER:
        return shard_axes(s, op->micro_group);
    case CZ_ROLE_FULL_MATRIX:
    case CZ_ROLE_ADD:
        return s->grid.axes;
    case CZ_ROLE_GATHER:
    case CZ_ROLE_SCATTER:
        return axes_beside(s, cz_schedule_comm(s, op));
    case CZ_ROLE_REDUCE:
    case CZ_ROLE_ALL_GATHER:
        return cz_schedule_comm(s, op);
    case CZ_ROLE_ALONE:
        return alone_axes(s, op);
    case CZ_ROLE_GUARD:
    case CZ_ROLE_KEEP:
    case CZ_ROLE_SUM:
    case CZ_ROLE_DECIDE:
    case CZ_ROLE_PROLOGUE:
    case CZ_ROLE_UNDO:
    case CZ_N_ROLES:
        break;
    }
    return s->grid.row_axes;
}

static cz_fact_table build_table(const cz_scheduler *s, const cz_planned_op *op,
                                 const table_kind *kind, int number)
{
    const cz_plan_view *view = s->view;
    const cz_ints selector = selector_of(s, op);
    const int n = (int)cz_view_extent(view, &selector);
    int64_t *starts = CZ_NEW(s->arena, int64_t, n + 1);
    cz_rows r = {s->arena, kind->row, NULL, 0};
    for (int c = 0; c < n; c++) {
        const int64_t rank = cz_view_rank_at(view, &selector, c, 0);
        const cz_row_place at = {
            rank, (int)cz_view_coordinate(view, &s->grid.row_axes, rank),
            (int)cz_view_coordinate(view, &s->grid.shard_axes, rank)};
        kind->fill(s, op, &at, &r);
        starts[c + 1] = r.n_values / cz_entry_schemas[kind->row].n_columns;
    }
    return (cz_fact_table){cz_arena_printf(s->arena, "table%d", number),
                           kind->row,
                           selector,
                           {starts, n + 1},
                           {r.values, r.n_values}};
}

static void put_table(cz_scheduler *s, cz_planned_op *op,
                      const table_kind *kind)
{
    op->table = s->n_tables;
    cz_fact_table table = build_table(s, op, kind, s->n_tables);
    cz_schedule_shrink(s, &table);
    *CZ_PUSH(s->arena, s->tables, s->n_tables) = table;
}

void cz_schedule_tables(cz_scheduler *s)
{
    for (int i = 0; i < s->n_ops; i++)
        if (kind_of(s->ops[i].role))
            put_table(s, &s->ops[i], kind_of(s->ops[i].role));
    for (int i = 0; i < s->n_ops; i++)
        if (cz_schedule_exchanges(s, &s->ops[i]))
            put_table(s, &s->ops[i], &exchanges);
}
