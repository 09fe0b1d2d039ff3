/* The schedule: arena, tables and operations. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- rows ---- */

enum high {
    HIGH_ANY,
    HIGH_STAGE,
    HIGH_PARAM,
    HIGH_FLAG,
    HIGH_EXCHANGE,
    HIGH_PHASES,
    HIGH_WIDTH
};

/* The columns of rows.def: where each lies in its row. */
static const struct column {
    const char *row, *name;
    size_t offset;
} columns[] = {
#define CZ_ROW(kind, column)                                                   \
    {#kind, #column, offsetof(cz_view_##kind##_row, column)},
#include "dsl/vocab/rows.def"
#undef CZ_ROW
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Limits of the columns that are not simply >= 0. */
static const struct limit {
    const char *column;
    int64_t low;
    enum high high;
} limits[] = {
    {"stage", 0, HIGH_STAGE},   {"param", 0, HIGH_PARAM},
    {"count", 1, HIGH_ANY},     {"gather", -1, HIGH_ANY},
    {"scatter", -1, HIGH_ANY},  {"temp", -1, HIGH_ANY},
    {"work", -1, HIGH_ANY},     {"is_recv", 0, HIGH_FLAG},
    {"n_rows", 1, HIGH_ANY},    {"row_bytes", 1, HIGH_ANY},
    {"width", 2, HIGH_WIDTH},   {"how", 0, HIGH_EXCHANGE},
    {"phases", 0, HIGH_PHASES},
};

static const char *const row_names[] = {[CZ_ROW_KERNEL] = "kernel",
                                        [CZ_ROW_TRANSFER] = "transfer",
                                        [CZ_ROW_SUM] = "sum",
                                        [CZ_ROW_SPAN] = "span",
                                        [CZ_ROW_EXCHANGE] = "exchange"};
static const size_t row_bytes[] = {
    [CZ_ROW_KERNEL] = sizeof(cz_view_kernel_row),
    [CZ_ROW_TRANSFER] = sizeof(cz_view_transfer_row),
    [CZ_ROW_SUM] = sizeof(cz_view_sum_row),
    [CZ_ROW_SPAN] = sizeof(cz_view_span_row),
    [CZ_ROW_EXCHANGE] = sizeof(cz_view_exchange_row)};

enum { N_ROW_KINDS = sizeof row_names / sizeof *row_names };

static int64_t highest(const cz_plan_view *view, enum high high)
{
    switch (high) {
    case HIGH_STAGE:
        return view->n_stages - 1;
    case HIGH_PARAM:
        return view->n_params - 1;
    case HIGH_FLAG:
        return 1;
    case HIGH_EXCHANGE:
        return CZ_N_EXCHANGES - 1;
    case HIGH_PHASES:
        return ((int64_t)1 << CZ_MAX_PHASES) - 1;
    case HIGH_WIDTH:
        return 8;
    case HIGH_ANY:
        break;
    }
    return CZ_VIEW_MAX_NUMBER;
}

/* A column of one table: its place in a row's struct, its limits. */
typedef struct field {
    const char *name;
    size_t offset;
    int64_t low, high;
} field;

static field field_of(const cz_plan_view *view, const struct column *column)
{
    field f = {column->name, column->offset, 0, CZ_VIEW_MAX_NUMBER};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].column, column->name) == 0) {
            f.low = limits[i].low;
            f.high = highest(view, limits[i].high);
        }
    return f;
}

/* The columns of rows of a kind, in their order: looked up once a table, not
 * once a number. */
static int find_fields(const cz_plan_view *view, cz_row_kind kind,
                       field *fields)
{
    int n = 0;
    for (int i = 0; i < N_COLUMNS; i++)
        if (strcmp(columns[i].row, row_names[kind]) == 0)
            fields[n++] = field_of(view, &columns[i]);
    return n;
}

/* One row's numbers into its struct. */
static bool read_row(cz_view_builder *b, const cz_view_table *table,
                     const field *fields, int n, const int64_t *numbers,
                     char *row)
{
    for (int i = 0; i < n; i++) {
        const field *f = &fields[i];
        if (numbers[i] < f->low || numbers[i] > f->high)
            return cz_view_fail(b,
                                "table '%s': %s is %" PRId64
                                ", not in [%" PRId64 ", %" PRId64 "]",
                                table->fact->sym_name, f->name, numbers[i],
                                f->low, f->high);
        memcpy(row + f->offset, &numbers[i], sizeof *numbers);
    }
    return true;
}

/* A box's rows do not overlap, and its bytes can be counted. */
static bool check_boxes(cz_view_builder *b, const cz_view_table *table,
                        int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const cz_view_transfer_row *row = &table->rows.transfer[i];
        int64_t bytes;
        if (row->stride_bytes < row->row_bytes ||
            !cz_checked_mul(row->n_rows, row->stride_bytes, &bytes) ||
            bytes > CZ_VIEW_MAX_NUMBER)
            return cz_view_fail(b, "table '%s': row %" PRId64 " is no box",
                                table->fact->sym_name, i);
    }
    return true;
}

/* ---- tables ---- */

static bool read_rows(cz_view_builder *b, cz_view_table *table)
{
    const cz_ints *numbers = &table->fact->rows;
    const size_t bytes = row_bytes[table->kind];
    field fields[N_COLUMNS];
    const int n_columns = find_fields(b->view, table->kind, fields);
    const int64_t n_rows = numbers->n / n_columns;
    char *rows = cz_arena_alloc(b->arena, (size_t)n_rows + 1, bytes);

    if (numbers->n % n_columns != 0)
        return cz_view_fail(b, "table '%s': %d numbers make no whole rows",
                            table->fact->sym_name, numbers->n);
    if (!cz_view_bounds(b, "table: starts", &table->fact->starts,
                        table->n_coordinates, n_rows))
        return false;
    for (int64_t i = 0; i < n_rows; i++)
        if (!read_row(b, table, fields, n_columns, numbers->v + i * n_columns,
                      rows + (size_t)i * bytes))
            return false;
    switch (table->kind) {
    case CZ_ROW_KERNEL:
        table->rows.kernel = (const cz_view_kernel_row *)(void *)rows;
        return true;
    case CZ_ROW_TRANSFER:
        table->rows.transfer = (const cz_view_transfer_row *)(void *)rows;
        return check_boxes(b, table, n_rows);
    case CZ_ROW_SUM:
        table->rows.sum = (const cz_view_sum_row *)(void *)rows;
        return true;
    case CZ_ROW_SPAN:
        table->rows.span = (const cz_view_span_row *)(void *)rows;
        return true;
    case CZ_ROW_EXCHANGE:
        table->rows.exchange = (const cz_view_exchange_row *)(void *)rows;
        return true;
    case CZ_N_ENTRY_KINDS:
        break;
    }
    return false;
}

static bool read_table(cz_view_builder *b, cz_view_table *table)
{
    int kind;
    if (!cz_view_name(b, "table: row", table->fact->row, row_names, N_ROW_KINDS,
                      &kind) ||
        !cz_view_axes(b, "table: selector", &table->fact->selector))
        return false;
    table->kind = (cz_row_kind)kind;
    table->n_coordinates = (int)cz_view_extent(b->view, &table->fact->selector);
    table->starts = table->fact->starts.v;
    return read_rows(b, table);
}

static bool read_arena(cz_view_builder *b)
{
    int n;
    const cz_fact_arena *arena = cz_ir_read_arena(b->ir, b->arena, &n);
    if (n == 0)
        return true;
    b->view->arena = arena;
    return cz_view_axes(b, "arena: selector", &arena->selector) &&
           cz_view_all_in(b, "arena: bytes", &arena->bytes,
                          (int)cz_view_extent(b->view, &arena->selector), 0,
                          CZ_VIEW_MAX_NUMBER);
}

bool cz_view_read_tables(cz_view_builder *b)
{
    int n;
    const cz_fact_table *facts = cz_ir_read_table(b->ir, b->arena, &n);
    cz_view_table *tables = CZ_NEW(b->arena, cz_view_table, n);
    bool ok = read_arena(b);

    for (int i = 0; i < n; i++) {
        tables[i].fact = &facts[i];
        ok &= read_table(b, &tables[i]);
    }
    b->view->n_tables = n;
    b->view->tables = tables;
    return ok;
}

/* ---- operations ---- */

static const char *const step_names[CZ_N_STEPS] = {
#define CZ_STEP(tag, name, what) name,
#include "dsl/vocab/step.def"
#undef CZ_STEP
};

static const char *const section_names[CZ_N_SECTIONS] = {
    [CZ_SECTION_REDUCE] = "reduce",
    [CZ_SECTION_DECIDE] = "decide",
    [CZ_SECTION_UPDATE] = "update",
    [CZ_SECTION_RECOVER] = "recover"};

enum { NO_TABLE = -1 };

/* What each kind of operation needs: a table of which rows, a bucket.  Tables
 * of exchanges are those of equal buckets alone. */
static const struct {
    int row;
    bool bucket;
} needs[CZ_N_STEPS] = {
    [CZ_STEP_REDUCE_SCATTER] = {CZ_ROW_EXCHANGE, true},
    [CZ_STEP_ALL_GATHER] = {CZ_ROW_EXCHANGE, true},
    [CZ_STEP_ALL_REDUCE] = {NO_TABLE, false},
    [CZ_STEP_TRANSFER] = {CZ_ROW_TRANSFER, false},
    [CZ_STEP_GROUP_SUM] = {CZ_ROW_SUM, false},
    [CZ_STEP_KERNEL] = {CZ_ROW_KERNEL, false},
    [CZ_STEP_SQUARE_SUM] = {CZ_ROW_SPAN, false},
    [CZ_STEP_DECIDE] = {NO_TABLE, false},
    [CZ_STEP_PROLOGUE] = {NO_TABLE, false},
    [CZ_STEP_GUARD] = {NO_TABLE, false},
    [CZ_STEP_KEEP] = {NO_TABLE, false},
    [CZ_STEP_UNDO] = {NO_TABLE, false},
};

static bool check_peers(cz_view_builder *b, int number, const cz_view_op *op)
{
    const cz_view_table *table = &b->view->tables[op->table];
    const int64_t n_peers = cz_view_extent(b->view, &op->fact->comm);
    const int64_t n_rows = table->starts[table->n_coordinates];
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t peer = table->kind == CZ_ROW_TRANSFER
                                 ? table->rows.transfer[i].peer
                                 : table->rows.exchange[i].peer;
        if (peer >= n_peers)
            return cz_view_fail(b,
                                "operation %d: table '%s' names peer %" PRId64
                                " of %" PRId64,
                                number, op->fact->table, peer, n_peers);
    }
    return true;
}

static bool read_op_table(cz_view_builder *b, int number, cz_view_op *op)
{
    const int want = needs[op->kind].row;
    op->table = -1;
    if (want == CZ_ROW_EXCHANGE && !*op->fact->table)
        return true;
    if (want == NO_TABLE)
        return !*op->fact->table ||
               cz_view_fail(b, "operation %d: %s has no table", number,
                            op->fact->kind);
    if (!cz_view_find(b, CZ_FACT_table, op->fact->table, &op->table))
        return false;
    if ((int)b->view->tables[op->table].kind != want)
        return cz_view_fail(b, "operation %d: %s needs a table of %s rows",
                            number, op->fact->kind, row_names[want]);
    return (want != CZ_ROW_TRANSFER && want != CZ_ROW_EXCHANGE) ||
           check_peers(b, number, op);
}

/* A communicator is made of equal blocks; only sums are made in them. */
static bool check_blocks(cz_view_builder *b, int number, const cz_view_op *op)
{
    const int64_t members = cz_view_extent(b->view, &op->fact->comm);
    const cz_block block = {op->fact->group, op->fact->stride};

    if (op->kind != CZ_STEP_GROUP_SUM)
        return (block.size == 0 && block.stride == 0) ||
               cz_view_fail(b, "operation %d: %s has no blocks", number,
                            op->fact->kind);
    return (block.size > 1 && cz_block_divides(block, members)) ||
           cz_view_fail(b,
                        "operation %d: %" PRId64 " ranks are not blocks of "
                        "%" PRId64 ", %" PRId64 " apart",
                        number, members, block.size, block.stride);
}

static bool read_op(cz_view_builder *b, int number, cz_view_op *op)
{
    const cz_fact_op *fact = op->fact;
    int kind, section;

    if (!cz_view_name(b, "operation: kind", fact->kind, step_names, CZ_N_STEPS,
                      &kind) ||
        !cz_view_name(b, "operation: section", fact->section, section_names,
                      CZ_N_SECTIONS, &section))
        return false;
    op->kind = (cz_step_kind)kind;
    op->section = (cz_section)section;
    bool ok = cz_view_in(b, "operation: stream", fact->stream, 0,
                         CZ_VIEW_MAX_STREAMS - 1);
    ok &= cz_view_in(b, "operation: bucket", fact->bucket,
                     needs[kind].bucket ? 0 : -1, b->view->n_buckets - 1);
    ok &= cz_view_axes(b, "operation: comm", &fact->comm);
    ok = ok && check_blocks(b, number, op);
    ok &= cz_view_all_in(b, "operation: waits", &fact->waits, fact->waits.n, 0,
                         number - 1);
    return ok && read_op_table(b, number, op);
}

bool cz_view_read_ops(cz_view_builder *b)
{
    int n;
    const cz_fact_op *facts = cz_ir_read_op(b->ir, b->arena, &n);
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
