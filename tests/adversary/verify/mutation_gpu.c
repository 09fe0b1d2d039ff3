/* Mutations of what a plan says of a GPU: batches, and tiles of products. */
#include "tests/adversary/verify/mutation.h"

#include <stddef.h>

enum { N_TRIES = 64 };

static mutable_table *pick_batches(mutable_plan *plan, randoms *r)
{
    for (int i = 0; i < N_TRIES; i++) {
        mutable_table *table = pick_table(plan, r, CZ_ENTRY_KERNEL);
        if (table && table->batch_of_row)
            return table;
    }
    return NULL;
}

static cz_view_batch *pick_batch(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_batches(plan, r);

    return table ? &table->batches[draw(r, table->n_batches)] : NULL;
}

static bool set(int64_t *number, int64_t value)
{
    const bool changed = *number != value;

    *number = value;
    return changed;
}

static int64_t param_of(mutable_table *table, int64_t row)
{
    return mutable_row(table, row)[1];
}

/* Of one row. */
static bool change_batch_of_row(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_batches(plan, r);

    return table && set(&table->batch_of_row[draw(r, table->n_rows)],
                        draw_in(r, 0, table->n_batches + 1));
}

/* Of all rows of a matrix; its batches count it out, and in, every other time.
 */
static bool move_matrix(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_batches(plan, r);
    const bool counts = chance(r, 2);

    if (!table)
        return false;
    int64_t row = draw(r, table->n_rows);
    const int64_t was = table->batch_of_row[row];
    const int64_t to = draw_in(r, 0, table->n_batches);
    const int64_t param = param_of(table, row);
    while (row > 0 && param_of(table, row - 1) == param)
        row--;
    if (counts && was)
        table->batches[was - 1].n_matrices--;
    if (counts && to)
        table->batches[to - 1].n_matrices++;
    for (; row < table->n_rows && param_of(table, row) == param; row++)
        table->batch_of_row[row] = to;
    return to != was;
}

/* Two batches as one. */
static bool join_batches(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_batches(plan, r);

    if (!table || table->n_batches < 2)
        return false;
    const int64_t a = draw(r, table->n_batches), b = draw(r, table->n_batches);
    for (int64_t i = 0; i < table->n_rows; i++)
        if (table->batch_of_row[i] == b + 1)
            table->batch_of_row[i] = a + 1;
    table->batches[a].n_matrices += table->batches[b].n_matrices;
    return a != b;
}

/* Rows of a matrix of its own as a batch, or of all of one parameter alone. */
static bool change_batch_first(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_batches(plan, r);

    return table && set(&table->batches[draw(r, table->n_batches)].first,
                        draw(r, table->n_rows));
}

static bool change_batch_counts(mutable_plan *plan, randoms *r)
{
    cz_view_batch *batch = pick_batch(plan, r);

    if (!batch)
        return false;
    int64_t *number = chance(r, 2) ? &batch->n_rows : &batch->n_matrices;
    return set(number, *number + (chance(r, 2) ? 1 : -1));
}

/* A line more or less, from another one on, all or nothing. */
static bool change_batch_bytes(mutable_plan *plan, randoms *r)
{
    cz_view_batch *batch = pick_batch(plan, r);
    const int64_t line = CZ_ALIGN_BYTES * draw_in(r, 1, 8);

    if (!batch)
        return false;
    switch (draw(r, 6)) {
    case 0:
        return set(&batch->bytes, 0);
    case 1:
        return set(&batch->bytes, batch->bytes - line);
    case 2:
        return set(&batch->bytes, batch->bytes + line);
    case 3:
        return set(&batch->scratch, batch->scratch + line);
    case 4:
        return set(&batch->scratch, batch->scratch - line);
    default: /* without its first bytes */
        batch->scratch += line;
        return set(&batch->bytes, batch->bytes - line);
    }
}

/* All of the arena moves with each. */
static bool move_everything(mutable_plan *plan, randoms *r)
{
    cz_view_batch *batch = pick_batch(plan, r);
    int64_t least = INT64_MAX;

    if (!batch)
        return false;
    for (int i = 0; i < plan->origin->arena->bytes.n; i++)
        if (plan->arena_bytes[i] < least)
            least = plan->arena_bytes[i];
    for (int i = 0; i < plan->origin->batch_arena->bytes.n; i++)
        plan->batch_bytes[i] = least * batch->n_matrices;
    batch->scratch = 0;
    return set(&batch->bytes, least);
}

static bool change_batch_arena(mutable_plan *plan, randoms *r)
{
    const int n = plan->batch_bytes ? plan->origin->batch_arena->bytes.n : 0;

    if (n == 0)
        return false;
    int64_t *bytes = &plan->batch_bytes[draw(r, n)];
    const int64_t near = *bytes + draw_in(r, -65, 65);
    return set(bytes, chance(r, 2) && near >= 0 ? near : draw_in(r, 0, *bytes));
}

static bool change_tiling(mutable_plan *plan, randoms *r)
{
    static const size_t fields[] = {
        offsetof(cz_fact_tiling, m),         offsetof(cz_fact_tiling, n),
        offsetof(cz_fact_tiling, k),         offsetof(cz_fact_tiling, batch),
        offsetof(cz_fact_tiling, symmetric), offsetof(cz_fact_tiling, addend),
        offsetof(cz_fact_tiling, library)};
    static const int64_t numbers[] = {0, 1, 2, 3, 8, 16, 32, 64};

    if (plan->n_tilings == 0)
        return false;
    char *tiling = (char *)&plan->tilings[draw(r, plan->n_tilings)];
    int64_t *field = (int64_t *)(void *)(tiling + fields[draw(r, 7)]);
    return set(field, *field < 2 ? 1 - *field : numbers[draw(r, 8)]);
}

static bool change_tile(mutable_plan *plan, randoms *r)
{
    if (plan->n_tilings == 0)
        return false;
    cz_fact_tiling *t = &plan->tilings[draw(r, plan->n_tilings)];
    switch (draw(r, 4)) {
    case 0:
        return set(&t->rows, 32 * draw_in(r, 1, 10));
    case 1:
        return set(&t->columns, 32 * draw_in(r, 1, 10));
    case 2:
        return set(&t->stages, draw_in(r, 0, 9));
    default:
        return set(&t->splits, draw_in(r, 0, 4));
    }
}

static bool duplicate_tiling(mutable_plan *plan, randoms *r)
{
    if (plan->n_tilings == 0)
        return false;
    plan->tilings[plan->n_tilings] = plan->tilings[draw(r, plan->n_tilings)];
    plan->n_tilings++;
    return true;
}

const mutation gpu_mutations[] = {
    {"change a row's batch", change_batch_of_row, false},
    {"move a matrix", move_matrix, false},
    {"join two batches", join_batches, false},
    {"change a batch's first row", change_batch_first, false},
    {"change a batch's counts", change_batch_counts, false},
    {"change what a batch moves", change_batch_bytes, false},
    {"move all of the scratch", move_everything, false},
    {"change the arena of batches", change_batch_arena, false},
    {"change a tiled product", change_tiling, false},
    {"change a tile", change_tile, false},
    {"duplicate tiles", duplicate_tiling, false},
};
const int n_gpu_mutations = sizeof gpu_mutations / sizeof *gpu_mutations;
