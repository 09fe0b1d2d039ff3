/* From owners and buckets to a schedule, step by step. */
#include "passes/schedule/internal.h"

#include "dsl/plan/metrics.h"
#include "passes/grid/bucket.h"

/* Where ranks share matrices, segments wait for each other: moves make steps up
 * to a fifth shorter.  Of other micro-groups a few are worth it; many more end
 * the update sooner, and what the forward pass needs first later.  Where
 * nothing is sharded the order of need is the best. */
enum { BY_NEED = 1, GROUPS_EFFORT = 3000000, SHARED_EFFORT = 100000000 };

cz_ints cz_schedule_comm(const cz_scheduler *s, const cz_planned_op *op)
{
    int64_t *all;
    switch (op->role) {
    case CZ_ROLE_REDUCE:
        return cz_view_bucket_reduction(s->view, op->bucket)->reduce_axes;
    case CZ_ROLE_ALL_GATHER:
        return cz_view_bucket_reduction(s->view, op->bucket)->split_axes;
    case CZ_ROLE_GATHER:
    case CZ_ROLE_ADD:
    case CZ_ROLE_SCATTER:
        return s->sharded.axes[op->micro_group];
    case CZ_ROLE_GUARD:
    case CZ_ROLE_SUM:
    case CZ_ROLE_UNDO:
        all = CZ_NEW(s->arena, int64_t, s->view->mesh->axes.n);
        for (int axis = 0; axis < s->view->mesh->axes.n; axis++)
            all[axis] = axis;
        return (cz_ints){all, s->view->mesh->axes.n};
    case CZ_ROLE_KEEP:
    case CZ_ROLE_SQUARES:
    case CZ_ROLE_DECIDE:
    case CZ_ROLE_PROLOGUE:
    case CZ_ROLE_ELEMENT_WISE:
    case CZ_ROLE_ALONE:
    case CZ_ROLE_PRE_GATHER:
    case CZ_ROLE_FULL_MATRIX:
    case CZ_ROLE_POST_SCATTER:
    case CZ_N_ROLES:
        break;
    }
    return (cz_ints){NULL, 0};
}

cz_block cz_schedule_block(const cz_scheduler *s, const cz_planned_op *op)
{
    return op->role == CZ_ROLE_ADD ? s->sharded.blocks[op->micro_group]
                                   : (cz_block){0, 0};
}

static cz_fact_op op_fact(const cz_scheduler *s, int i)
{
    const cz_planned_op *op = &s->ops[i];
    const cz_block block = cz_schedule_block(s, op);
    const cz_role_fact *role = cz_schedule_role(op->role);
    return (cz_fact_op){
        .kind = role->kind,
        .stream = role->stream,
        .section = role->section,
        .comm = cz_schedule_comm(s, op),
        .block_size = block.size,
        .stride = block.stride,
        .bucket = op->n_buckets == 1 ? op->bucket : -1,
        .table = op->table < 0 ? "" : s->tables[op->table].sym_name,
        .waits = s->waits[i],
    };
}

static int64_t bytes_of_rank(const cz_scheduler *s, int64_t rank)
{
    return s->class_bytes[cz_view_coordinate(s->view, &s->class_axes, rank)];
}

/* Ranks that agree on `axes` touch as much scratch. */
static bool tells_bytes(const cz_scheduler *s, const cz_ints *axes)
{
    const int64_t n = cz_view_extent(s->view, &s->class_axes);
    for (int64_t c = 0; c < n; c++) {
        const int64_t rank = cz_view_rank_at(s->view, &s->class_axes, c, 0);
        const int64_t first = cz_view_rank_at(
            s->view, axes, cz_view_coordinate(s->view, axes, rank), 0);
        if (bytes_of_rank(s, rank) != bytes_of_rank(s, first))
            return false;
    }
    return true;
}

/* Bytes per coordinate of the fewest axes that tell ranks apart. */
static cz_fact_arena arena_fact(const cz_scheduler *s)
{
    const cz_ints selector = tells_bytes(s, &s->grid.row_axes)
                                 ? s->grid.row_axes
                             : tells_bytes(s, &s->grid.axes) ? s->grid.axes
                                                             : s->class_axes;
    const int n = (int)cz_view_extent(s->view, &selector);
    int64_t *values = CZ_NEW(s->arena, int64_t, n);
    for (int c = 0; c < n; c++)
        values[c] = bytes_of_rank(s, cz_view_rank_at(s->view, &selector, c, 0));
    return (cz_fact_arena){selector, {values, n}};
}

static const int64_t *fixed_bytes(cz_arena *arena, const cz_plan_view *view)
{
    if (view->policy->memory_bytes == 0)
        return NULL;
    const cz_metrics *metrics = cz_metrics_build(arena, view);
    int64_t *bytes = CZ_NEW(arena, int64_t, metrics->n_ranks);
    for (int r = 0; r < metrics->n_ranks; r++)
        for (int k = 0; k < CZ_N_MEMORIES; k++)
            bytes[r] +=
                k == CZ_MEMORY_SCRATCH ? 0 : metrics->ranks[r].memory[k];
    return bytes;
}

int64_t cz_schedule_excess(const cz_scheduler *s)
{
    int64_t excess = 0;
    if (!s->fixed_bytes)
        return 0;
    for (int64_t r = 0; r < s->view->n_ranks; r++) {
        const int64_t above = s->fixed_bytes[r] + bytes_of_rank(s, r) -
                              s->view->policy->memory_bytes;
        excess = above > excess ? above : excess;
    }
    return excess;
}

static int64_t order_effort(const cz_scheduler *s)
{
    if (cz_schedule_has_subgroups(s))
        return SHARED_EFFORT;
    return s->sharded.n_micro_groups > 0 ? GROUPS_EFFORT : BY_NEED;
}

static bool schedule(cz_scheduler *s)
{
    if (!cz_schedule_collect(s))
        return false;
    cz_schedule_micro_groups(s);
    cz_schedule_list(s);
    if (s->prices)
        cz_schedule_order(s, order_effort(s));
    cz_schedule_scratch(s);
    cz_schedule_tables(s);
    cz_schedule_waits(s);
    return true;
}

/* The quickest first: what keeps the cap on memory without it costs nothing.
 * The first that keeps it, or the one that is the least above it. */
static bool schedule_in_room(cz_scheduler *s)
{
    static const struct {
        bool caps_micro_groups, keeps_order;
    } candidates[] = {{false, false}, {true, false}, {true, true}};
    const cz_scheduler start = *s;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates && least > 0;
         i++) {
        cz_scheduler trial = start;
        trial.caps_micro_groups = candidates[i].caps_micro_groups;
        trial.keeps_order = candidates[i].keeps_order;
        if (!schedule(&trial))
            return false;
        const int64_t excess = cz_schedule_excess(&trial);
        if (excess < least) {
            least = excess;
            *s = trial;
        }
    }
    return true;
}

bool cz_schedule_build(cz_arena *arena, const cz_plan_view *view,
                       cz_diags *diags, cz_schedule *out)
{
    cz_scheduler s = {.arena = arena, .view = view, .diags = diags};
    s.fixed_bytes = fixed_bytes(arena, view);
    if (!cz_buckets_check(view->n_buckets, diags) ||
        !cz_owner_grid_find(arena, view, diags, &s.grid) ||
        !schedule_in_room(&s))
        return false;

    cz_fact_op *ops = CZ_NEW(arena, cz_fact_op, s.n_ops);
    for (int i = 0; i < s.n_ops; i++)
        ops[i] = op_fact(&s, i);
    *out = (cz_schedule){s.n_tables, s.n_ops,        s.tables,
                         ops,        arena_fact(&s), s.micro_group_choice};
    return true;
}
