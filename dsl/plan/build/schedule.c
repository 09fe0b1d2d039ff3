/* The schedule: arena, tables and operations. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- rows ---- */

/* One row's numbers into its struct. */
static bool read_row(cz_view_builder *b, const cz_view_table *table,
                     const int64_t *numbers, int64_t *row)
{
    const cz_entry_schema *schema = &cz_entry_schemas[table->kind];

    cz_entry_read(table->kind, numbers, row);
    for (int i = 0; i < schema->n_columns; i++) {
        const cz_column *column = &schema->columns[i];
        const cz_view_limits limits = cz_view_limits_of(b->view, column->range);
        if (row[i] < limits.low || row[i] > limits.high)
            return cz_view_fail(b,
                                "table '%s': %s is %" PRId64
                                ", not in [%" PRId64 ", %" PRId64 "]",
                                table->fact->sym_name, column->name, row[i],
                                limits.low, limits.high);
    }
    return true;
}

/* A box's rows do not overlap, and bytes of all boxes can be counted. */
static bool check_boxes(cz_view_builder *b, const cz_view_table *table,
                        int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const cz_view_transfer_entry *row = &table->rows.transfer[i];
        int64_t bytes, between;
        if (row->stride_bytes < row->row_bytes ||
            !cz_checked_mul(row->n_rows, row->stride_bytes, &bytes) ||
            !cz_checked_mul(row->n_peers, row->offset_step, &between) ||
            bytes > CZ_VIEW_MAX_NUMBER || between > CZ_VIEW_MAX_NUMBER - bytes)
            return cz_view_fail(b, "table '%s': row %" PRId64 " is no box",
                                table->fact->sym_name, i);
    }
    return true;
}

/* ---- tables ---- */

static bool read_table(cz_view_builder *b, cz_view_table *table)
{
    const cz_ints *numbers = &table->fact->rows;
    const int n_columns = cz_entry_schemas[table->fact->row].n_columns;
    const int64_t n_rows = numbers->n / n_columns;
    int64_t *rows = CZ_NEW(b->arena, int64_t, numbers->n + 1);

    table->kind = table->fact->row;
    table->n_coordinates = (int)cz_view_extent(b->view, &table->fact->selector);
    table->starts = table->fact->starts.v;
    table->rows = (cz_view_rows){rows};
    if (numbers->n % n_columns != 0)
        return cz_view_fail(b, "table '%s': %d numbers make no whole rows",
                            table->fact->sym_name, numbers->n);
    if (!cz_view_bounds(b, "table: starts", &table->fact->starts,
                        table->n_coordinates, n_rows))
        return false;
    for (int64_t i = 0; i < n_rows; i++)
        if (!read_row(b, table, numbers->v + i * n_columns,
                      rows + i * n_columns))
            return false;
    return table->kind != CZ_ENTRY_TRANSFER || check_boxes(b, table, n_rows);
}

bool cz_view_read_tables(cz_view_builder *b)
{
    int n;
    const cz_fact_table *facts = CZ_VIEW_FACTS(b, table, &n);
    cz_view_table *tables = CZ_NEW(b->arena, cz_view_table, n);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        tables[i].fact = &facts[i];
        ok &= read_table(b, &tables[i]);
    }
    b->view->n_tables = n;
    b->view->tables = tables;
    const cz_fact_arena *arena = CZ_VIEW_FACTS(b, arena, &n);
    b->view->arena = n > 0 ? arena : NULL;
    return ok;
}

/* ---- operations ---- */

/* Positions in the communicator; numbers of entries are below 2^48, so that
 * products of two of 31 bits can be counted. */
static bool check_peers(cz_view_builder *b, int number, const cz_view_op *op)
{
    const cz_view_table *table = &b->view->tables[op->table];
    const int64_t n_peers = cz_view_extent(b->view, &op->fact->comm);
    const int64_t n_rows = table->starts[table->n_coordinates];
    for (int64_t i = 0; i < n_rows; i++) {
        const cz_view_transfer_entry *row = &table->rows.transfer[i];
        const bool is_box = table->kind == CZ_ENTRY_TRANSFER;
        const int64_t peer =
            is_box ? row->peer + (row->n_peers - 1) * row->peer_step
                   : table->rows.exchange[i].peer;
        const int64_t member =
            is_box ? row->member + (row->n_members - 1) * row->member_step : 0;
        if (peer >= n_peers || member >= n_peers)
            return cz_view_fail(
                b, "operation %d: table '%s' names %s %" PRId64 " of %" PRId64,
                number, op->fact->table, peer >= n_peers ? "peer" : "member",
                peer >= n_peers ? peer : member, n_peers);
    }
    return true;
}

static bool read_op_table(cz_view_builder *b, int number, cz_view_op *op)
{
    const int want = cz_step_schemas[op->kind].entries;
    op->table = -1;
    if (want == CZ_ENTRY_EXCHANGE && !*op->fact->table)
        return true;
    if (want == CZ_ENTRY_NONE)
        return !*op->fact->table ||
               cz_view_fail(b, "operation %d: %s has no table", number,
                            cz_step_kind_word(op->kind));
    if (!cz_view_find(b, CZ_FACT_table, op->fact->table, &op->table))
        return false;
    if ((int)b->view->tables[op->table].kind != want)
        return cz_view_fail(b, "operation %d: %s needs a table of %s rows",
                            number, cz_step_kind_word(op->kind),
                            cz_entry_kind_word((cz_entry_kind)want));
    return (want != CZ_ENTRY_TRANSFER && want != CZ_ENTRY_EXCHANGE) ||
           check_peers(b, number, op);
}

/* A communicator is made of equal blocks; only sums are made in them. */
static bool check_blocks(cz_view_builder *b, int number, const cz_view_op *op)
{
    const int64_t members = cz_view_extent(b->view, &op->fact->comm);
    const cz_block block = {op->fact->block_size, op->fact->stride};

    if (op->kind != CZ_STEP_GROUP_SUM)
        return (block.size == 0 && block.stride == 0) ||
               cz_view_fail(b, "operation %d: %s has no blocks", number,
                            cz_step_kind_word(op->kind));
    return (block.size > 1 && cz_block_divides(block, members)) ||
           cz_view_fail(b,
                        "operation %d: %" PRId64 " ranks are not blocks of "
                        "%" PRId64 ", %" PRId64 " apart",
                        number, members, block.size, block.stride);
}

static bool read_op(cz_view_builder *b, int number, cz_view_op *op)
{
    const cz_fact_op *fact = op->fact;

    op->kind = fact->kind;
    op->section = fact->section;
    bool ok = cz_view_in(b, "operation: bucket", fact->bucket,
                         cz_step_schemas[op->kind].has_bucket ? 0 : -1,
                         b->view->n_buckets - 1);
    ok = ok && check_blocks(b, number, op);
    ok &= cz_view_all_in(b, "operation: waits", &fact->waits, fact->waits.n, 0,
                         number - 1);
    return ok && read_op_table(b, number, op);
}

bool cz_view_read_ops(cz_view_builder *b)
{
    int n;
    const cz_fact_op *facts = CZ_VIEW_FACTS(b, op, &n);
    cz_view_op *ops = CZ_NEW(b->arena, cz_view_op, n);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        ops[i].fact = &facts[i];
        ok &= read_op(b, i, &ops[i]);
    }
    b->view->n_ops = n;
    b->view->ops = ops;
    return ok;
}
