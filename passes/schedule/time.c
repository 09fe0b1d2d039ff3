/* When a list of operations would be done: planned operations as a plan's
 * document has them, a rank for each cell of the owner grid, on the simulated
 * executor.  Operations wait for what they need, as the schedule's waits will
 * have it.  Then the update's are put in the order that is done soonest:
 * scratch and waits come later, and hold for any order. */
#include "passes/schedule/internal.h"

#include "passes/cost/op_time.h"
#include "passes/cost/plan_time.h"
#include "passes/cost/step.h"
#include "passes/kernel/flops.h"
#include "passes/solve/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct cz_schedule_prices {
    cz_machine machine;
    cz_document document; /* without operations */
};

/* ---- the document ---- */

static const cz_document_stage *
stages_of(cz_arena *arena, const cz_plan_view *view, const cz_machine *machine)
{
    const cz_stage_time *times = cz_stage_times(arena, view, machine);
    cz_document_stage *stages =
        CZ_NEW(arena, cz_document_stage, view->n_stages + 1);
    for (int s = 0; s < view->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        const cz_view_stage *body =
            cz_view_variant(stage, cz_flops_most_variant(view, stage));
        const bool is_shaped = cz_view_is_shaped(stage);
        const int n = is_shaped ? 0 : body->n_steps;
        cz_step_kernel *kernels = CZ_NEW(arena, cz_step_kernel, n + 1);
        cz_document_step *steps = CZ_NEW(arena, cz_document_step, n + 1);
        if (!is_shaped)
            cz_cost_kernels(arena, body, NULL, 1, kernels);
        for (int i = 0; i < n; i++)
            steps[i].bytes = cz_time_limit((cz_wide)kernels[i].product.bytes *
                                           CZ_DOCUMENT_ELEMENTS);
        stages[s] = (cz_document_stage){.is_shaped = is_shaped,
                                        .time_ps = times[s].time_ps,
                                        .n_batches = times[s].n_batches,
                                        .batch_ps = times[s].batch_ps,
                                        .n_steps = n,
                                        .steps = steps};
    }
    return stages;
}

static const cz_document_reduction *reductions_of(cz_arena *arena,
                                                  const cz_plan_view *view)
{
    cz_document_reduction *reductions =
        CZ_NEW(arena, cz_document_reduction, view->n_reductions + 1);
    for (int i = 0; i < view->n_reductions; i++) {
        const cz_fact_reduction *how = &view->reductions[i];
        reductions[i] = (cz_document_reduction){
            .reduce_set = cz_view_set_of(&how->reduce_axes),
            .split_set = cz_view_set_of(&how->split_axes),
            .grad_bytes = how->n_grads * cz_dtype_bytes(how->dtype)};
    }
    return reductions;
}

static const cz_document_bucket *buckets_of(cz_arena *arena,
                                            const cz_plan_view *view)
{
    cz_document_bucket *buckets =
        CZ_NEW(arena, cz_document_bucket, view->n_buckets + 1);
    for (int b = 0; b < view->n_buckets; b++) {
        const cz_view_bucket *bucket = &view->buckets[b];
        const cz_fact_bucket *fact = bucket->fact;
        buckets[b] = (cz_document_bucket){
            .reduction = bucket->reduction,
            .element_bytes = cz_dtype_bytes(bucket->dtype),
            .is_padded = fact->geometry == CZ_GEOMETRY_PADDED,
            .is_equal = fact->geometry == CZ_GEOMETRY_EQUAL,
            .message = b,
            .length = fact->length,
            .n_slices = fact->slices.n - 1};
        if (bucket->pattern >= 0) {
            const cz_fact_pattern *pattern =
                view->patterns[bucket->pattern].fact;
            buckets[b].residents = (cz_document_residents){
                pattern->resident_axes, pattern->residents.n,
                pattern->residents.v};
        }
        cz_document_measure_slices(&buckets[b], fact->slices.v,
                                   CZ_NEW(arena, int64_t, buckets[b].n_slices));
    }
    return buckets;
}

const cz_schedule_prices *cz_schedule_price(cz_arena *arena,
                                            const cz_plan_view *view)
{
    cz_schedule_prices *prices = CZ_NEW(arena, cz_schedule_prices, 1);
    const int n_axes = view->mesh->sizes.n;
    cz_document_axis *axes = CZ_NEW(arena, cz_document_axis, n_axes + 1);
    if (!cz_machine_of(arena, view, &prices->machine))
        return NULL;
    for (int a = 0; a < n_axes; a++)
        axes[a].size = view->mesh->sizes.v[a];
    prices->document =
        (cz_document){.n_axes = n_axes,
                      .n_ranks = view->n_ranks,
                      .axes = axes,
                      .stages = stages_of(arena, view, &prices->machine),
                      .reductions = reductions_of(arena, view),
                      .buckets = buckets_of(arena, view)};
    return prices;
}

int64_t cz_schedule_matrix_ps(const cz_scheduler *s, const cz_view_stage *whole)
{
    return s->prices->document.stages[whole - s->view->stages].time_ps;
}

/* ---- operations ---- */

/* An operation while it is described: what each cell works and moves. */
typedef struct described {
    const cz_scheduler *s;
    const cz_planned_op *op;
    int n_grid_cells;
    int64_t **rows,
        **elements; /* [n_stages][n_grid_cells]; NULL: no work of it */
    int64_t *sent, *received; /* [n_grid_cells] */
} described;

/* A row of so many elements of a stage, unless there is none of either. */
static void add_row(described *d, int cell, const cz_view_stage *stage,
                    int64_t elements)
{
    if (!stage || elements == 0)
        return;
    const ptrdiff_t of = stage - d->s->view->stages;
    if (!d->rows[of]) {
        d->rows[of] = CZ_NEW(d->s->arena, int64_t, d->n_grid_cells);
        d->elements[of] = CZ_NEW(d->s->arena, int64_t, d->n_grid_cells);
    }
    d->rows[of][cell]++;
    d->elements[of][cell] += elements;
}

static void add_bucket(described *d, int cell, int bucket,
                       const cz_row_place *at)
{
    const cz_plan_view *view = d->s->view;
    const cz_ints params = view->buckets[bucket].fact->params;
    const cz_param_range range = cz_schedule_params(d->s, bucket, at->row);
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int pattern = view->params[params.v[i]].pattern;
        cz_schedule_slice_of(d->s, params.v[i],
                             view->patterns[pattern].local_elements, at->row,
                             &n);
        add_row(d, cell, cz_schedule_element_wise(view, params.v[i]), n);
    }
}

static void add_local(described *d, int cell, const cz_row_place *at)
{
    const int first = d->op->bucket;
    for (int b = first; b < first + d->op->n_buckets; b++)
        if (d->op->n_buckets == 1 ||
            cz_view_bucket_is_resident(d->s->view, b, at->rank))
            add_bucket(d, cell, b, at);
}

static void add_alone(described *d, int cell, const cz_row_place *at)
{
    for (int k = 0; k < d->op->n_buckets; k++) {
        int n;
        const cz_matrix *list =
            cz_schedule_matrices(&d->s->alone, at->row, d->op->bucket + k, &n);
        for (int i = 0; i < n; i++) {
            add_row(d, cell, list[i].before, list[i].elements);
            add_row(d, cell, list[i].full_matrix, list[i].elements);
            add_row(d, cell, list[i].after, list[i].elements);
        }
    }
}

/* What a cell has of a matrix as one of those who shard it, and as one of those
 * who compute it, less what it has as both. */
static void add_parcel(described *d, int cell, const cz_row_place *at,
                       const cz_matrix *m)
{
    const cz_plan_view *view = d->s->view;
    const cz_slot_kind kind =
        d->op->role == CZ_ROLE_GATHER ? CZ_SLOT_GATHER : CZ_SLOT_SCATTER;
    const int64_t element_bytes =
        cz_view_slot_bytes(m->full_matrix, kind, CZ_ALIGN_BYTES, NULL) /
        CZ_ALIGN_BYTES;
    const cz_view_shard shard = cz_view_shard_of(view, m->pattern, at->rank);
    int64_t both = 0;
    if (cz_schedule_owns(m, at->column)) {
        const cz_view_shard part = cz_view_subgroup_shard(
            view, m->param, cz_schedule_member(m, at->column));
        both = cz_view_overlap(&shard, &part, 2).elements;
        d->received[cell] += (part.elements - both) * element_bytes;
    }
    d->sent[cell] += (shard.elements - both) * element_bytes;
}

/* Of a matrix in the operation's group, which the cell computes where the
 * operation does that. */
static void add_matrix(described *d, int cell, const cz_row_place *at,
                       const cz_matrix *m)
{
    const cz_role role = d->op->role;
    const int segment = d->op->segment;
    if (role == CZ_ROLE_PRE_GATHER || role == CZ_ROLE_POST_SCATTER)
        add_row(d, cell, role == CZ_ROLE_PRE_GATHER ? m->before : m->after,
                cz_view_shard_elements(d->s->view, m->pattern, at->rank));
    else if (role == CZ_ROLE_GATHER || role == CZ_ROLE_SCATTER)
        add_parcel(d, cell, at, m);
    else if (role == CZ_ROLE_FULL_MATRIX &&
             segment < m->full_matrix->n_segments)
        add_row(d, cell, m->full_matrix + segment, m->elements);
    /* Each of a block sends the others their parts of its partial sums, and
     * then its own sums to all; of what is divided its own part to all. */
    else if (role == CZ_ROLE_ADD)
        d->sent[cell] +=
            (m->n_owners - 1) * cz_schedule_sum_bytes(m, segment) / m->n_owners;
}

/* As the document has it, but for its waits. */
static cz_document_op describe(const cz_scheduler *s, int number,
                               const cz_row_place *cells, int n_grid_cells)
{
    const cz_planned_op *op = &s->ops[number];
    const cz_role_fact *role = cz_schedule_role(op->role);
    const cz_ints comm = cz_schedule_comm(s, op);
    const int n_stages = s->view->n_stages;
    described d = {s,
                   op,
                   n_grid_cells,
                   CZ_NEW(s->arena, int64_t *, n_stages + 1),
                   CZ_NEW(s->arena, int64_t *, n_stages + 1),
                   CZ_NEW(s->arena, int64_t, n_grid_cells),
                   CZ_NEW(s->arena, int64_t, n_grid_cells)};
    for (int c = 0; c < n_grid_cells; c++) {
        int n = 0;
        const cz_matrix *list = s->sharded.list;
        const int *numbers = NULL;
        if (op->role == CZ_ROLE_FULL_MATRIX || op->role == CZ_ROLE_ADD)
            numbers =
                cz_schedule_owned(&s->sharded, &cells[c], op->micro_group, &n);
        else if (op->micro_group >= 0)
            list = cz_schedule_matrices(&s->sharded, cells[c].row,
                                        op->micro_group, &n);
        for (int i = 0; i < n; i++)
            add_matrix(&d, c, &cells[c], &list[numbers ? numbers[i] : i]);
        if (op->role == CZ_ROLE_ELEMENT_WISE)
            add_local(&d, c, &cells[c]);
        if (op->role == CZ_ROLE_ALONE)
            add_alone(&d, c, &cells[c]);
    }
    cz_document_work *work = CZ_NEW(s->arena, cz_document_work, n_stages + 1);
    int n_work = 0;
    for (int i = 0; i < n_stages; i++)
        if (d.rows[i])
            work[n_work++] = (cz_document_work){i, d.rows[i], d.elements[i]};
    return (cz_document_op){.kind = role->kind,
                            .stream = role->stream,
                            .bucket = op->bucket,
                            .comm = cz_view_set_of(&comm),
                            .block = cz_schedule_block(s, op),
                            .over = cz_view_set_of(&s->grid.axes),
                            .n_work = n_work,
                            .work = work,
                            .sent = d.sent,
                            .received = d.received};
}

/* ---- what an operation waits for ---- */

/* Numbers by what they belong to, ascending: list[start[i]] and on. */
typedef struct by_key {
    int *start; /* [n_keys + 1] */
    int *list;
} by_key;

typedef struct needs {
    const cz_scheduler *s;
    by_key of_group;  /* operations of a group */
    by_key of_bucket; /* operations of no group, by their bucket; the last key
                       * is that of none */
    by_key buckets;   /* of a group's matrices */
    by_key micro_groups; /* that have matrices in a bucket */
} needs;

typedef struct pair {
    int key, value;
} pair;

static int by_pair(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                            : (a->value > b->value) - (a->value < b->value);
}

/* Each pair once. */
static by_key sort_pairs(cz_arena *arena, pair *pairs, int n, int n_keys)
{
    by_key out = {CZ_NEW(arena, int, n_keys + 1), CZ_NEW(arena, int, n + 1)};
    int n_list = 0, key = 0;
    if (n > 0)
        qsort(pairs, (size_t)n, sizeof *pairs, by_pair);
    for (int i = 0; i < n; i++) {
        if (i > 0 && by_pair(&pairs[i - 1], &pairs[i]) == 0)
            continue;
        while (key < pairs[i].key)
            out.start[++key] = n_list;
        out.list[n_list++] = pairs[i].value;
    }
    while (key < n_keys)
        out.start[++key] = n_list;
    return out;
}

static int bucket_key(const cz_scheduler *s, int bucket)
{
    return bucket >= 0 ? bucket : s->view->n_buckets;
}

static const needs *find_needs(const cz_scheduler *s)
{
    cz_arena *arena = s->arena;
    const cz_matrix_set *set = &s->sharded;
    const int n_micro_groups = set->n_micro_groups,
              n_buckets = s->view->n_buckets + 1;
    needs *out = CZ_NEW(arena, needs, 1);
    pair *a = CZ_NEW(arena, pair, s->n_ops + set->n + 1);
    int n_a = 0, n_b = 0, n_keys = set->n + 1;
    for (int i = 0; i < s->n_ops; i++)
        n_keys += s->ops[i].n_buckets;
    pair *b = CZ_NEW(arena, pair, n_keys);
    out->s = s;
    for (int i = 0; i < s->n_ops; i++)
        if (s->ops[i].micro_group >= 0)
            a[n_a++] = (pair){s->ops[i].micro_group, i};
        else
            for (int k = 0; k < s->ops[i].n_buckets; k++)
                b[n_b++] = (pair){bucket_key(s, s->ops[i].bucket + k), i};
    out->of_group = sort_pairs(arena, a, n_a, n_micro_groups);
    out->of_bucket = sort_pairs(arena, b, n_b, n_buckets);
    for (int i = 0; i < set->n; i++) {
        const int micro_group = set->list[i].micro_group,
                  bucket = set->list[i].bucket;
        a[i] = (pair){micro_group, bucket};
        b[i] = (pair){bucket, micro_group};
    }
    out->buckets = sort_pairs(arena, a, set->n, n_micro_groups);
    out->micro_groups = sort_pairs(arena, b, set->n, n_buckets);
    return out;
}

#define BIT(role) (1U << (role))

/* What an operation waits for: those before it with one of these roles and
 * with something in common.  Where no transfer comes between them, kernels wait
 * for each other. */
static unsigned needs_of(cz_role role, bool moves)
{
    static const unsigned table[CZ_N_ROLES] = {
        [CZ_ROLE_ELEMENT_WISE] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_ALONE] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_PRE_GATHER] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_GATHER] = BIT(CZ_ROLE_PRE_GATHER),
        [CZ_ROLE_FULL_MATRIX] = BIT(CZ_ROLE_GATHER) | BIT(CZ_ROLE_ADD),
        [CZ_ROLE_ADD] = BIT(CZ_ROLE_FULL_MATRIX),
        [CZ_ROLE_SCATTER] = BIT(CZ_ROLE_FULL_MATRIX),
        [CZ_ROLE_POST_SCATTER] = BIT(CZ_ROLE_SCATTER),
        [CZ_ROLE_ALL_GATHER] = BIT(CZ_ROLE_ELEMENT_WISE) | BIT(CZ_ROLE_ALONE) |
                               BIT(CZ_ROLE_POST_SCATTER),
    };
    assert(role >= 0 && role < CZ_N_ROLES);
    if (!moves && role == CZ_ROLE_FULL_MATRIX)
        return BIT(CZ_ROLE_PRE_GATHER) | BIT(CZ_ROLE_ADD);
    if (!moves && role == CZ_ROLE_POST_SCATTER)
        return BIT(CZ_ROLE_FULL_MATRIX);
    return table[role];
}

/* Those of one key before `number` that it waits for. */
static void collect_waits(const needs *from_all, const by_key *from, int key,
                          int number, const int *number_of, int **list, int *n)
{
    const cz_scheduler *s = from_all->s;
    const cz_planned_op *op = &s->ops[number];
    const unsigned roles = needs_of(
        op->role, op->micro_group < 0 || s->sharded.moves[op->micro_group]);
    for (int k = from->start[key]; k < from->start[key + 1]; k++) {
        const int i = from->list[k];
        if (i >= number)
            break;
        if (number_of[i] >= 0 && roles & BIT(s->ops[i].role))
            *CZ_PUSH(s->arena, *list, *n) = number_of[i];
    }
}

static int ascending(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

/* Those that operation `number` of s->ops waits for, ascending, as
 * number_of[n_ops] calls them; who is -1 there is left out. */
static const int *waits_of(const needs *from_all, int number,
                           const int *number_of, int *n)
{
    const cz_planned_op *op = &from_all->s->ops[number];
    const bool is_group = op->micro_group >= 0;
    const int first =
        is_group ? op->micro_group : bucket_key(from_all->s, op->bucket);
    const by_key *same = is_group ? &from_all->of_group : &from_all->of_bucket;
    const by_key *across =
        is_group ? &from_all->buckets : &from_all->micro_groups;
    const by_key *other = is_group ? &from_all->of_bucket : &from_all->of_group;
    int *list = NULL;
    *n = 0;
    if (needs_of(op->role, true) == 0)
        return NULL;
    for (int key = first; key < first + op->n_buckets; key++) {
        collect_waits(from_all, same, key, number, number_of, &list, n);
        for (int k = across->start[key]; k < across->start[key + 1]; k++)
            collect_waits(from_all, other, across->list[k], number, number_of,
                          &list, n);
    }
    if (*n > 0)
        qsort(list, (size_t)*n, sizeof *list, ascending);
    return list;
}

/* ---- the list ---- */

/* The operations as listed, a rank for each cell of the owner grid, and behind
 * them a forward pass that takes as long as the all_gathers it waits for; `of`
 * is the group. */
typedef struct timed_list {
    cz_timeline_list list;
    int n_timed;          /* operations that take time, which come first */
    const int *number_of; /* [n_ops] in the list; -1: takes no time */
} timed_list;

/* All gradients are there at once: behind the guard or the decision. */
static bool takes_time(cz_role role)
{
    return needs_of(role, true) != 0;
}

/* The next forward pass: what of it needs a bucket waits for its all_gather,
 * and takes as long as that.  The last bucket is the first that it needs. */
static void append_forward(const cz_scheduler *s, const int *number_of,
                           cz_timeline_list *list)
{
    const int n_buckets = s->view->n_buckets;
    int *publish = CZ_NEW(s->arena, int, n_buckets + 1);
    for (int b = 0; b < n_buckets; b++)
        publish[b] = -1;
    for (int i = 0; i < s->n_ops; i++)
        if (s->ops[i].role == CZ_ROLE_ALL_GATHER)
            publish[s->ops[i].bucket] = i;
    for (int b = n_buckets - 1; b >= 0; b--) {
        if (publish[b] < 0)
            continue;
        const int *number = &number_of[publish[b]];
        list->ops[list->n_ops++] =
            (cz_timeline_op){.stream = CZ_TIMELINE_COMPUTE,
                             .of = -1,
                             .ps = list->ops[*number].ps,
                             .waits = number,
                             .n_waits = 1};
    }
}

static timed_list list_timed(const cz_scheduler *s)
{
    const int64_t grid = cz_view_set_of(&s->grid.axes);
    cz_document document = s->prices->document;
    cz_document_op *ops = CZ_NEW(s->arena, cz_document_op, s->n_ops);
    document.ops = ops;
    cz_op_prices prices =
        cz_op_prices_make(s->arena, &document, &s->prices->machine, grid);
    const int n_grid_cells = prices.n_ranks;
    cz_row_place *cells = CZ_NEW(s->arena, cz_row_place, n_grid_cells);
    for (int c = 0; c < n_grid_cells; c++) {
        const int64_t rank = prices.ranks[c];
        cells[c] = (cz_row_place){
            rank, (int)cz_view_coordinate(s->view, &s->grid.row_axes, rank),
            (int)cz_view_coordinate(s->view, &s->grid.shard_axes, rank)};
    }
    const needs *all = find_needs(s);
    int *number_of = CZ_NEW(s->arena, int, s->n_ops);
    cz_timeline_list list = {
        n_grid_cells, 0,
        CZ_NEW(s->arena, cz_timeline_op, s->n_ops + s->view->n_buckets)};
    for (int i = 0; i < s->n_ops; i++) {
        number_of[i] = -1;
        if (!takes_time(s->ops[i].role))
            continue;
        ops[document.n_ops++] = describe(s, i, cells, n_grid_cells);
        cz_timeline_op *op = &list.ops[list.n_ops];
        *op = cz_op_time(&prices, list.n_ops);
        op->of = s->ops[i].micro_group;
        op->waits = waits_of(all, i, number_of, &op->n_waits);
        number_of[i] = list.n_ops++;
    }
    const int n_timed = list.n_ops;
    append_forward(s, number_of, &list);
    return (timed_list){list, n_timed, number_of};
}

/* ---- the order ---- */

/* Between the prologue and undo, which stay, everything takes time. */
static void reorder(cz_scheduler *s, const timed_list *timed,
                    const cz_order *found)
{
    const int n = timed->n_timed, n_head = s->n_ops - n - 1;
    cz_planned_op *moved = CZ_NEW(s->arena, cz_planned_op, n + 1);
    int *op_of = CZ_NEW(s->arena, int, timed->n_timed + 1);
    s->since = CZ_NEW(s->arena, int, s->n_ops + 1);
    assert(s->ops[s->n_ops - 1].role == CZ_ROLE_UNDO);
    for (int i = 0; i < s->n_ops; i++) {
        s->since[i] = i;
        if (timed->number_of[i] >= 0)
            op_of[timed->number_of[i]] = i;
    }
    for (int i = 0; i < n; i++) {
        moved[i] = s->ops[op_of[found->order[i]]];
        s->since[n_head + i] = n_head + found->since[i];
    }
    memcpy(s->ops + n_head, moved, (size_t)n * sizeof *moved);
}

int64_t cz_schedule_order(cz_scheduler *s, int64_t effort)
{
    const timed_list timed = list_timed(s);
    const cz_order_problem problem = {.list = &timed.list,
                                      .n_moved = timed.n_timed,
                                      .n_micro_groups =
                                          s->sharded.n_micro_groups,
                                      .effort = s->keeps_order ? 0 : effort};
    const cz_order found = cz_order_find(s->arena, &problem);
    if (!s->keeps_order)
        reorder(s, &timed, &found);
    return cz_ceil_div(found.makespan + found.micro_groups_end, 2);
}
