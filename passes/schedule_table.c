/* The rows of every operation, per coordinate of what they depend on: shards
 * on the row, and on the column too where they are uneven; whole matrices and
 * transfers on both. */
#include "passes/schedule_internal.h"

enum { KERNEL_COLUMNS = 8, TRANSFER_COLUMNS = 7, SPAN_COLUMNS = 3 };

int64_t cz_schedule_part(const cz_scheduler *s, int64_t param, int64_t elements,
                         int row, int64_t *n)
{
    const cz_plan_view *view = s->view;
    const cz_view_param *p = &view->params[param];
    const int split = cz_owner_grid_split(&s->grid, p->family, row);
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
    const int split = cz_owner_grid_split(&s->grid, b->family, row);
    if (split < 0)
        return (cz_param_range){0, 0};
    const int64_t *slices = b->fact->slices.v + split;
    const int first = first_behind(b->fact, slices[0]);
    return (cz_param_range){first > 0 ? first - 1 : 0,
                            first_behind(b->fact, slices[1])};
}

/* The rank whose rows are being written. */
typedef struct place {
    int64_t rank;
    int row, column;
} place;

/* Elements of a parameter on the rank, and the part in its slice. */
static int64_t part_of(const cz_scheduler *s, int64_t param, const place *at,
                       int64_t *n)
{
    const cz_plan_view *view = s->view;
    const int64_t elements = cz_view_shard_elements(
        view, &view->families[view->params[param].family], at->rank);
    return cz_schedule_part(s, param, elements, at->row, n);
}

typedef struct rows {
    cz_arena *arena;
    int64_t *values;
    int n_values;
} rows;

static void put(rows *r, const int64_t *columns, int n)
{
    for (int i = 0; i < n; i++)
        *CZ_PUSH(r->arena, r->values, r->n_values) = columns[i];
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

static void put_kernel(const cz_scheduler *s, rows *r,
                       const cz_view_stage *stage, int param, int64_t offset,
                       int64_t count, scratch at)
{
    const int64_t columns[KERNEL_COLUMNS] = {
        stage - s->view->stages,
        param,
        offset,
        count,
        has_slot(stage, CZ_SLOT_GATHER) ? at.gather : -1,
        has_slot(stage, CZ_SLOT_SCATTER) ? at.scatter : -1,
        has_slot(stage, CZ_SLOT_TEMP) ? at.temp : -1,
        stage->fact->work_bytes > 0 ? at.work : -1};
    put(r, columns, KERNEL_COLUMNS);
}

static int64_t work_of(const cz_scheduler *s, const cz_planned_op *op,
                       const place *at)
{
    return op->work[at->row * s->grid.n_shard + at->column];
}

static void fill_local(const cz_scheduler *s, const cz_planned_op *op,
                       const place *at, rows *r)
{
    const cz_plan_view *view = s->view;
    const cz_ints params = view->buckets[op->bucket].fact->params;
    const cz_param_range range = cz_schedule_params(s, op->bucket, at->row);
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int family = view->params[params.v[i]].family;
        const int64_t offset = part_of(s, params.v[i], at, &n);
        const cz_rule_stages stages =
            cz_rule_stages_find(view, view->families[family].rule);
        if (n > 0)
            put_kernel(s, r, &view->stages[stages.local], (int)params.v[i],
                       offset, n, (scratch){.work = work_of(s, op, at)});
    }
}

static void put_shard(const cz_scheduler *s, rows *r,
                      const cz_view_stage *stage, const cz_matrix *m,
                      int64_t count, int64_t work)
{
    if (stage && count > 0)
        put_kernel(s, r, stage, m->param, m->offset, count,
                   (scratch){m->gather, m->scatter, m->temp, work});
}

static void put_whole(const cz_scheduler *s, rows *r, const cz_matrix *m,
                      cz_whole at, int64_t work)
{
    put_kernel(s, r, m->whole, m->param, 0, m->family->elements,
               (scratch){at.gather, at.scatter, -1, work});
}

/* A matrix that no axis shards: its three stages, in scratch of their own
 * one behind the other. */
static void fill_alone(const cz_scheduler *s, const cz_planned_op *op,
                       const place *at, rows *r)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&s->alone, at->row, op->bucket, &n);
    for (int i = 0; i < n; i++) {
        cz_matrix m = list[i];
        const int64_t count = m.family->elements;
        m.gather = work_of(s, op, at);
        m.scatter =
            m.gather + cz_view_slot_bytes(m.whole, CZ_SLOT_GATHER, count, NULL);
        m.temp = m.scatter +
                 cz_view_slot_bytes(m.whole, CZ_SLOT_SCATTER, count, NULL);
        const int64_t work =
            m.temp + cz_view_slot_bytes(m.before, CZ_SLOT_TEMP, count, NULL);
        put_shard(s, r, m.before, &m, count, work);
        put_whole(s, r, &m, (cz_whole){m.gather, m.scatter}, work);
        put_shard(s, r, m.after, &m, count, work);
    }
}

static void fill_group(const cz_scheduler *s, const cz_planned_op *op,
                       const place *at, rows *r)
{
    int n;
    const int64_t work = work_of(s, op, at);
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->group, &n);
    for (int i = 0; i < n; i++) {
        const cz_matrix *m = &list[i];
        const int64_t count =
            cz_view_shard_elements(s->view, m->family, at->rank);
        if (op->role == CZ_ROLE_BEFORE)
            put_shard(s, r, m->before, m, count, work);
        else if (op->role == CZ_ROLE_AFTER)
            put_shard(s, r, m->after, m, count, work);
        else if (cz_schedule_owns(m, at->column))
            put_whole(s, r, m, m->whole_at[at->column], work);
    }
}

/* ---- transfers ---- */

/* One slot of a matrix on its way between shards and owner. */
typedef struct parcel {
    const cz_matrix *matrix;
    int64_t bytes;        /* of an element */
    int64_t shard, whole; /* scratch bytes of the slot on either side */
} parcel;

/* One end of what travels between the owner and the shard of a coordinate;
 * peers are such coordinates too. */
typedef struct parcel_end {
    bool is_recv, in_whole;
    int shard, peer;
} parcel_end;

/* A shard's box has a run for each row of it, or one run for all when it
 * holds whole rows.  A shard without elements has no box. */
static void put_box(const cz_scheduler *s, rows *r, const parcel *p,
                    const parcel_end *end, const place *at)
{
    const cz_view_family *f = p->matrix->family;
    const cz_ints *axes = &s->sharded.axes[p->matrix->group];
    const cz_view_shard shard = cz_view_shard_of(
        s->view, f, cz_view_rank_at(s->view, axes, end->shard, at->rank));
    const bool by_columns = cz_view_parts(s->view, f->fact->shard.v[1]) > 1;
    const int64_t n_columns = f->fact->shape.v[1];
    const int64_t n_rows = by_columns ? shard.shape[0] : 1;
    if (shard.elements == 0)
        return;
    const int64_t row_bytes = shard.elements / n_rows * p->bytes;
    const int64_t stride =
        end->in_whole && by_columns ? n_columns * p->bytes : row_bytes;
    const int64_t first = shard.start[0] * n_columns + shard.start[1];
    const int64_t start =
        end->in_whole ? p->whole + first * p->bytes : p->shard;
    const int64_t columns[TRANSFER_COLUMNS] = {
        p->matrix->param, end->is_recv, end->peer, start,
        n_rows,           row_bytes,    stride};
    put(r, columns, TRANSFER_COLUMNS);
}

/* Shards send to the owner (gather), or it sends to them (scatter). */
static void put_parcel(const cz_scheduler *s, rows *r, const parcel *p,
                       const place *at, bool is_gather)
{
    const cz_matrix *m = p->matrix;
    const int own = m->shard_of_column[at->column];
    const int n = (int)cz_view_extent(s->view, &s->sharded.axes[m->group]);
    put_box(s, r, p, &(parcel_end){!is_gather, false, own, m->owner}, at);
    for (int t = 0; own == m->owner && t < n; t++)
        put_box(s, r, p, &(parcel_end){is_gather, true, t, t}, at);
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

static void put_matrix(const cz_scheduler *s, rows *r, const cz_matrix *m,
                       const place *at, bool is_gather)
{
    const cz_slot_kind kind = is_gather ? CZ_SLOT_GATHER : CZ_SLOT_SCATTER;
    const cz_view_stage *shard = is_gather ? m->before : m->after;
    const int64_t count = cz_view_shard_elements(s->view, m->family, at->rank);
    if (!shard)
        return;
    const cz_whole whole = m->whole_at[at->column];
    int64_t shard_at[CZ_MAX_STAGE_SLOTS], whole_at[CZ_MAX_STAGE_SLOTS], bytes;
    cz_view_slot_bytes(shard, kind, count, shard_at);
    cz_view_slot_bytes(m->whole, kind, m->family->elements, whole_at);
    for (int i = 0; (bytes = element_bytes(m->whole, kind, i)) > 0; i++) {
        const parcel p = {
            m, bytes, (is_gather ? m->gather : m->scatter) + shard_at[i],
            (is_gather ? whole.gather : whole.scatter) + whole_at[i]};
        put_parcel(s, r, &p, at, is_gather);
    }
}

static void fill_transfer(const cz_scheduler *s, const cz_planned_op *op,
                          const place *at, rows *r)
{
    int n;
    const cz_matrix *list =
        cz_schedule_matrices(&s->sharded, at->row, op->group, &n);
    for (int i = 0; i < n; i++)
        put_matrix(s, r, &list[i], at, op->role == CZ_ROLE_GATHER);
}

/* ---- squares ---- */

/* Coordinates of the axis hold other elements of the parameter. */
static bool tells_apart(const cz_plan_view *view, int64_t param, int64_t axis)
{
    return cz_view_distinct_set(view, view->params[param].family) >> axis & 1;
}

static bool splits_over(const cz_plan_view *view, int64_t param, int64_t axis)
{
    const cz_ints split =
        cz_view_family_reduction(view, view->params[param].family)->split_axes;
    for (int i = 0; i < split.n; i++)
        if (split.v[i] == axis)
            return true;
    return false;
}

static bool is_of_home(const cz_plan_view *view, int64_t param, int64_t axis)
{
    return view->families[view->params[param].family].fact->home_axes >> axis &
           1;
}

/* Replicas hold the same elements: those at coordinate 0 of the axes that
 * neither split nor shard the parameter count them, and its first home. */
static bool counts_param(const cz_plan_view *view, int64_t param, int64_t rank)
{
    if (cz_view_home_rank(view, view->params[param].family, 0, rank) != rank)
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
                         const place *at, rows *r)
{
    const cz_ints params = s->view->buckets[op->bucket].fact->params;
    const cz_param_range range = cz_schedule_params(s, op->bucket, at->row);
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int64_t offset = part_of(s, params.v[i], at, &n);
        const int64_t columns[SPAN_COLUMNS] = {params.v[i], offset, n};
        if (n > 0 && counts_param(s->view, params.v[i], at->rank))
            put(r, columns, SPAN_COLUMNS);
    }
}

/* ---- what rows depend on ---- */

/* Parameters of a bucket differ in length between ranks of this axis. */
static bool is_uneven_over(const cz_view_family *family, int axis)
{
    for (int d = 0; d < family->n_dims; d++)
        if (family->bounds.of[d] && family->fact->shard.v[d] >> axis & 1)
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
                &view->families[view->params[params.v[i]].family], axis);
        if (depends)
            axes[n++] = axis;
    }
    return (cz_ints){axes, n};
}

/* Rows over the shards of a micro-group: alike in a row of ranks when they
 * are of equal length. */
static cz_ints shard_axes(const cz_scheduler *s, int group)
{
    for (int i = 0; i < s->sharded.n; i++)
        if (s->sharded.list[i].group == group &&
            cz_view_is_uneven(s->sharded.list[i].family))
            return s->grid.axes;
    return s->grid.row_axes;
}

/* ---- tables ---- */

typedef struct table_kind {
    const char *row;
    int n_columns;
    void (*fill)(const cz_scheduler *, const cz_planned_op *, const place *,
                 rows *);
} table_kind;

static const table_kind *kind_of(cz_role role)
{
    static const table_kind table[CZ_N_ROLES] = {
        [CZ_ROLE_SQUARES] = {"span", SPAN_COLUMNS, fill_squares},
        [CZ_ROLE_LOCAL] = {"kernel", KERNEL_COLUMNS, fill_local},
        [CZ_ROLE_ALONE] = {"kernel", KERNEL_COLUMNS, fill_alone},
        [CZ_ROLE_BEFORE] = {"kernel", KERNEL_COLUMNS, fill_group},
        [CZ_ROLE_WHOLE] = {"kernel", KERNEL_COLUMNS, fill_group},
        [CZ_ROLE_AFTER] = {"kernel", KERNEL_COLUMNS, fill_group},
        [CZ_ROLE_GATHER] = {"transfer", TRANSFER_COLUMNS, fill_transfer},
        [CZ_ROLE_SCATTER] = {"transfer", TRANSFER_COLUMNS, fill_transfer},
    };
    return table[role].row ? &table[role] : NULL;
}

/* The axes that the rows of an operation depend on. */
static cz_ints selector_of(const cz_scheduler *s, const cz_planned_op *op)
{
    switch (op->role) {
    case CZ_ROLE_SQUARES:
    case CZ_ROLE_LOCAL:
        return bucket_axes(s, op->bucket, op->role == CZ_ROLE_SQUARES);
    case CZ_ROLE_BEFORE:
    case CZ_ROLE_AFTER:
        return shard_axes(s, op->group);
    case CZ_ROLE_WHOLE:
    case CZ_ROLE_GATHER:
    case CZ_ROLE_SCATTER:
        return s->grid.axes;
    case CZ_ROLE_REDUCE:
    case CZ_ROLE_SUM:
    case CZ_ROLE_DECIDE:
    case CZ_ROLE_PROLOGUE:
    case CZ_ROLE_ALONE:
    case CZ_ROLE_PUBLISH:
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
    rows r = {s->arena, NULL, 0};
    for (int c = 0; c < n; c++) {
        const int64_t rank = cz_view_rank_at(view, &selector, c, 0);
        const place at = {
            rank, (int)cz_view_coordinate(view, &s->grid.row_axes, rank),
            (int)cz_view_coordinate(view, &s->grid.shard_axes, rank)};
        kind->fill(s, op, &at, &r);
        starts[c + 1] = r.n_values / kind->n_columns;
    }
    return (cz_fact_table){cz_arena_printf(s->arena, "table%d", number),
                           kind->row,
                           selector,
                           {starts, n + 1},
                           {r.values, r.n_values}};
}

void cz_schedule_tables(cz_scheduler *s)
{
    for (int i = 0; i < s->n_ops; i++) {
        const table_kind *kind = kind_of(s->ops[i].role);
        if (!kind)
            continue;
        s->ops[i].table = s->n_tables;
        cz_fact_table table = build_table(s, &s->ops[i], kind, s->n_tables);
        cz_schedule_shrink(s, &table, kind->n_columns);
        *CZ_PUSH(s->arena, s->tables, s->n_tables) = table;
    }
}
