/* Copying a view, and making a view of the copy. */
#include "tests/adversary/verify/mutable_plan.h"

#include <string.h>

static int64_t *copy_ints(cz_arena *arena, const int64_t *v, int64_t n)
{
    int64_t *copy = CZ_NEW(arena, int64_t, n + 1);

    if (n > 0)
        memcpy(copy, v, (size_t)n * sizeof *v);
    return copy;
}

static mutable_table copy_table(cz_arena *arena, const cz_view_table *table)
{
    mutable_table copy = {.kind = table->kind,
                          .n_coordinates = table->n_coordinates,
                          .n_columns = cz_entry_schemas[table->kind].n_columns,
                          .n_rows = table->starts[table->n_coordinates]};
    const int64_t n = copy.n_rows * copy.n_columns;

    copy.starts = copy_ints(arena, table->starts, copy.n_coordinates + 1);
    copy.rows = CZ_NEW(arena, int64_t, 2 * n + copy.n_columns);
    if (n > 0)
        memcpy(copy.rows, table->rows.numbers, (size_t)n * sizeof *copy.rows);
    if (!table->batch_of_row)
        return copy;
    copy.batch_of_row = CZ_NEW(arena, int64_t, 2 * copy.n_rows + 1);
    copy.n_batches = table->n_batches;
    copy.batches = CZ_NEW(arena, cz_view_batch, copy.n_batches);
    memcpy(copy.batch_of_row, table->batch_of_row,
           (size_t)copy.n_rows * sizeof *copy.batch_of_row);
    memcpy(copy.batches, table->batches,
           (size_t)copy.n_batches * sizeof *copy.batches);
    return copy;
}

static mutable_op copy_op(cz_arena *arena, const cz_view_op *op)
{
    mutable_op copy = {*op, *op->fact};

    copy.fact.waits.v =
        copy_ints(arena, op->fact->waits.v, op->fact->waits.n + 1);
    copy.fact.comm.v = copy_ints(arena, op->fact->comm.v, op->fact->comm.n);
    return copy;
}

static mutable_bucket copy_bucket(cz_arena *arena, const cz_fact_bucket *fact)
{
    return (mutable_bucket){copy_ints(arena, fact->slices.v, fact->slices.n),
                            copy_ints(arena, fact->offsets.v, fact->offsets.n),
                            fact->slices.n, fact->params.n, fact->geometry};
}

void mutable_plan_copy(mutable_plan *plan, cz_arena *arena,
                       const cz_plan_view *view)
{
    *plan = (mutable_plan){.arena = arena,
                           .origin = view,
                           .n_tables = view->n_tables,
                           .n_ops = view->n_ops,
                           .n_buckets = view->n_buckets};
    plan->tables = CZ_NEW(arena, mutable_table, view->n_tables + 1);
    plan->ops = CZ_NEW(arena, mutable_op, 2 * view->n_ops + 1);
    plan->buckets = CZ_NEW(arena, mutable_bucket, view->n_buckets + 1);
    plan->params = CZ_NEW(arena, cz_view_param, view->n_params + 1);
    for (int i = 0; i < view->n_tables; i++)
        plan->tables[i] = copy_table(arena, &view->tables[i]);
    for (int i = 0; i < view->n_ops; i++)
        plan->ops[i] = copy_op(arena, &view->ops[i]);
    for (int i = 0; i < view->n_buckets; i++)
        plan->buckets[i] = copy_bucket(arena, view->buckets[i].fact);
    memcpy(plan->params, view->params,
           (size_t)view->n_params * sizeof *plan->params);
    plan->patterns = CZ_NEW(arena, cz_fact_pattern, view->n_patterns + 1);
    for (int i = 0; i < view->n_patterns; i++)
        plan->patterns[i] = *view->patterns[i].fact;
    plan->arena_bytes =
        copy_ints(arena, view->arena->bytes.v, view->arena->bytes.n);
    if (view->batch_arena)
        plan->batch_bytes = copy_ints(arena, view->batch_arena->bytes.v,
                                      view->batch_arena->bytes.n);
    plan->n_tilings = view->n_tilings;
    plan->tilings = CZ_NEW(arena, cz_fact_tiling, view->n_tilings + 1);
    if (view->n_tilings > 0)
        memcpy(plan->tilings, view->tilings,
               (size_t)view->n_tilings * sizeof *plan->tilings);
    mutable_stages_copy(plan);
}

int64_t *mutable_row(mutable_table *table, int64_t row)
{
    return table->rows + row * table->n_columns;
}

/* ---- back to a view ---- */

static cz_view_table view_of_table(mutable_plan *plan, int number)
{
    const mutable_table *table = &plan->tables[number];
    cz_view_table view = plan->origin->tables[number];

    view.starts = table->starts;
    view.batch_of_row = table->batch_of_row;
    view.batches = table->batches;
    view.rows.numbers = table->rows;
    return view;
}

static cz_view_bucket view_of_bucket(mutable_plan *plan, int number)
{
    const mutable_bucket *bucket = &plan->buckets[number];
    cz_view_bucket view = plan->origin->buckets[number];
    cz_fact_bucket *fact = CZ_NEW(plan->arena, cz_fact_bucket, 1);

    *fact = *view.fact;
    fact->slices.v = bucket->slices;
    fact->offsets.v = bucket->offsets;
    fact->geometry = bucket->geometry;
    view.fact = fact;
    return view;
}

const cz_plan_view *mutable_plan_view(mutable_plan *plan)
{
    cz_plan_view *view = CZ_NEW(plan->arena, cz_plan_view, 1);
    cz_view_table *tables = CZ_NEW(plan->arena, cz_view_table, plan->n_tables);
    cz_view_op *ops = CZ_NEW(plan->arena, cz_view_op, plan->n_ops + 1);
    cz_view_bucket *buckets =
        CZ_NEW(plan->arena, cz_view_bucket, plan->n_buckets);
    cz_view_pattern *patterns =
        CZ_NEW(plan->arena, cz_view_pattern, plan->origin->n_patterns);
    cz_fact_arena *arena = CZ_NEW(plan->arena, cz_fact_arena, 1);

    for (int i = 0; i < plan->origin->n_patterns; i++) {
        patterns[i] = plan->origin->patterns[i];
        patterns[i].fact = &plan->patterns[i];
    }
    for (int i = 0; i < plan->n_tables; i++)
        tables[i] = view_of_table(plan, i);
    for (int i = 0; i < plan->n_buckets; i++)
        buckets[i] = view_of_bucket(plan, i);
    for (int i = 0; i < plan->n_ops; i++) {
        ops[i] = plan->ops[i].view;
        ops[i].fact = &plan->ops[i].fact;
    }
    *arena = *plan->origin->arena;
    arena->bytes.v = plan->arena_bytes;
    *view = *plan->origin;
    view->tables = tables;
    view->ops = ops;
    view->n_ops = plan->n_ops;
    view->buckets = buckets;
    view->params = plan->params;
    view->patterns = patterns;
    view->stages = plan->stages;
    view->bodies = plan->bodies;
    view->arena = arena;
    view->tilings = plan->tilings;
    view->n_tilings = plan->n_tilings;
    if (plan->batch_bytes) {
        cz_fact_batch_arena *behind =
            CZ_NEW(plan->arena, cz_fact_batch_arena, 1);
        *behind = *plan->origin->batch_arena;
        behind->bytes.v = plan->batch_bytes;
        view->batch_arena = behind;
    }
    return view;
}
