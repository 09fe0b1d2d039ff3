/* Mutations of rows of tables. */
#include "tests/adversary/verify/mutation.h"

#include <string.h>

/* Columns, in the order of abi.def. */
enum { STAGE, PARAM, OFFSET, COUNT, GATHER, SCATTER, TEMP, WORK };
enum {
    BOX_PARAM,
    IS_RECV,
    PEER,
    PLACE,
    N_ROWS,
    ROW_BYTES,
    STRIDE,
    PHASES,
    MEMBER,
    N_MEMBERS,
    MEMBER_STEP,
    N_PEERS,
    PEER_STEP,
    OFFSET_STEP
};
enum { SPAN_PARAM, SPAN_OFFSET, SPAN_COUNT };
enum { SUM_PARAM, WIDTH, HOW, BAND, SUM_OFFSET, SUM_COUNT, SIDE };
enum { MOVED_IS_RECV, MOVED_PEER, MOVED_FIRST, MOVED_COUNT, MOVED_COLUMNS };
enum { ANY_KIND = -1, N_TRIES = 64, MAX_COLUMNS = 14 };

mutable_table *pick_table(mutable_plan *plan, randoms *r, int kind)
{
    for (int i = 0; i < N_TRIES && plan->n_tables; i++) {
        mutable_table *table = &plan->tables[draw(r, plan->n_tables)];
        if (table->n_rows && (kind < 0 || (int)table->kind == kind))
            return table;
    }
    return NULL;
}

static int64_t *pick_row(mutable_plan *plan, randoms *r, int kind)
{
    mutable_table *table = pick_table(plan, r, kind);

    return table ? mutable_row(table, draw(r, table->n_rows)) : NULL;
}

static bool set(int64_t *number, int64_t value)
{
    const bool changed = *number != value;

    *number = value;
    return changed;
}

/* ---- whole rows ---- */

static int coordinate_of(const mutable_table *table, int64_t row)
{
    int c = 0;

    while (table->starts[c + 1] <= row)
        c++;
    return c;
}

/* Batches that begin at a row or behind it begin so much further on. */
static void shift_batches(mutable_table *table, int64_t row, int by)
{
    for (int b = 0; b < table->n_batches; b++)
        if (table->batches[b].first >= row)
            table->batches[b].first += by;
}

static void remove_row(mutable_table *table, int64_t row)
{
    const size_t bytes = (size_t)table->n_columns * sizeof *table->rows;

    for (int c = coordinate_of(table, row) + 1; c <= table->n_coordinates; c++)
        table->starts[c]--;
    memmove(mutable_row(table, row), mutable_row(table, row + 1),
            (size_t)(--table->n_rows - row) * bytes);
    if (table->batch_of_row)
        memmove(&table->batch_of_row[row], &table->batch_of_row[row + 1],
                (size_t)(table->n_rows - row) * sizeof *table->batch_of_row);
    shift_batches(table, row + 1, -1);
}

/* In front of row number `row`, for this coordinate. */
static void insert_row(mutable_table *table, int64_t row, int coordinate,
                       const int64_t *values)
{
    const size_t bytes = (size_t)table->n_columns * sizeof *table->rows;

    memmove(mutable_row(table, row + 1), mutable_row(table, row),
            (size_t)(table->n_rows++ - row) * bytes);
    memcpy(mutable_row(table, row), values, bytes);
    for (int c = coordinate + 1; c <= table->n_coordinates; c++)
        table->starts[c]++;
    if (!table->batch_of_row)
        return;
    memmove(&table->batch_of_row[row + 1], &table->batch_of_row[row],
            (size_t)(table->n_rows - 1 - row) * sizeof *table->batch_of_row);
    table->batch_of_row[row] = row > 0 ? table->batch_of_row[row - 1] : 0;
    shift_batches(table, row, 1);
}

bool drop_row(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);

    if (table)
        remove_row(table, draw(r, table->n_rows));
    return table != NULL;
}

static int64_t pick_place(mutable_table *table, randoms *r, int coordinate)
{
    return draw_in(r, table->starts[coordinate], table->starts[coordinate + 1]);
}

bool duplicate_row(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);
    int64_t copy[MAX_COLUMNS], row;

    if (!table)
        return false;
    row = draw(r, table->n_rows);
    memcpy(copy, mutable_row(table, row),
           (size_t)table->n_columns * sizeof *copy);
    insert_row(table, pick_place(table, r, coordinate_of(table, row)),
               coordinate_of(table, row), copy);
    return true;
}

bool swap_rows(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);
    bool changed = false;

    if (!table)
        return false;
    int64_t *a = mutable_row(table, draw(r, table->n_rows));
    int64_t *b = mutable_row(table, draw(r, table->n_rows));
    for (int i = 0; i < table->n_columns; i++) {
        const int64_t kept = a[i];
        changed = set(&a[i], b[i]) || changed;
        b[i] = kept;
    }
    return changed;
}

bool move_row(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);
    int64_t copy[MAX_COLUMNS], row;
    int from, to;

    if (!table || table->n_coordinates < 2)
        return false;
    row = draw(r, table->n_rows);
    from = coordinate_of(table, row);
    to = (int)draw(r, table->n_coordinates);
    memcpy(copy, mutable_row(table, row),
           (size_t)table->n_columns * sizeof *copy);
    remove_row(table, row);
    insert_row(table, pick_place(table, r, to), to, copy);
    return from != to;
}

/* One run as two. */
bool split_row(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);
    int64_t copy[MAX_COLUMNS], row;
    const bool is_kernel = table && table->kind == CZ_ENTRY_KERNEL;
    const bool is_exchange = table && table->kind == CZ_ENTRY_EXCHANGE;
    const int offset = is_kernel     ? OFFSET
                       : is_exchange ? MOVED_FIRST
                                     : SPAN_OFFSET; /* a sum's too */
    const int count = is_kernel     ? COUNT
                      : is_exchange ? MOVED_COUNT
                                    : SPAN_COUNT;

    if (!table || table->kind == CZ_ENTRY_TRANSFER)
        return false;
    row = draw(r, table->n_rows);
    memcpy(copy, mutable_row(table, row),
           (size_t)table->n_columns * sizeof *copy);
    if (copy[count] < 2)
        return false;
    const int64_t first = draw_in(r, 1, copy[count] - 1);
    mutable_row(table, row)[count] = first;
    copy[offset] += first;
    copy[count] -= first;
    insert_row(table, row + 1, coordinate_of(table, row), copy);
    return true;
}

/* ---- kernel rows ---- */

static int64_t nudge(randoms *r, int64_t value, int64_t step)
{
    return value + (chance(r, 2) ? step : -step);
}

bool change_element(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_KERNEL);

    return row &&
           set(&row[OFFSET], chance(r, 2) ? nudge(r, row[OFFSET], 1)
                                          : nudge(r, row[OFFSET], row[COUNT]));
}

bool change_count(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_KERNEL);

    return row && set(&row[COUNT],
                      chance(r, 2) ? nudge(r, row[COUNT], 1) : draw(r, 64));
}

/* A neighbour's place, the next line, or anywhere. */
static int64_t other_scratch(mutable_plan *plan, randoms *r, int64_t was)
{
    const int64_t lines = plan->arena_bytes[0] / CZ_ALIGN_BYTES + 1;

    switch (draw(r, 4)) {
    case 0:
        return nudge(r, was, CZ_ALIGN_BYTES);
    case 1:
        return nudge(r, was, 4);
    case 2:
        return -1;
    default:
        return draw(r, lines) * CZ_ALIGN_BYTES;
    }
}

bool change_scratch(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_KERNEL);
    const int64_t column = draw_in(r, GATHER, TEMP);

    if (!row || (row[column] < 0 && !chance(r, 4)))
        return false;
    return set(&row[column], other_scratch(plan, r, row[column]));
}

/* Often onto another slot of the same row. */
bool change_workspace(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_KERNEL);

    if (!row || row[WORK] < 0)
        return false;
    return set(&row[WORK], chance(r, 2) ? row[draw_in(r, GATHER, TEMP)]
                                        : other_scratch(plan, r, row[WORK]));
}

bool change_param(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, ANY_KIND);
    int64_t *row;

    if (!table)
        return false;
    row = mutable_row(table, draw(r, table->n_rows));
    return set(&row[table->kind == CZ_ENTRY_KERNEL ? PARAM : 0],
               draw(r, plan->origin->n_params));
}

bool change_stage(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_KERNEL);

    return row && set(&row[STAGE], draw(r, plan->origin->n_stages));
}

bool change_span(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_SPAN);

    if (!row)
        return false;
    int64_t *number = &row[draw_in(r, SPAN_OFFSET, SPAN_COUNT)];
    return set(number, nudge(r, *number, draw_in(r, 1, 3)));
}

bool change_sum(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_SUM);

    if (!row)
        return false;
    switch (draw(r, 6)) {
    case 0:
        return set(&row[SUM_OFFSET], other_scratch(plan, r, row[SUM_OFFSET]));
    case 1:
        return set(&row[SUM_COUNT], nudge(r, row[SUM_COUNT], draw_in(r, 1, 3)));
    case 2:
        return set(&row[WIDTH], (int64_t)2 << draw(r, 3));
    case 3:
        return set(&row[SIDE], nudge(r, row[SIDE], draw_in(r, 1, 3)));
    case 4: /* twice as many blocks, or none */
        return set(&row[BAND], chance(r, 2) ? 2 * row[BAND] : 0);
    default:
        return set(&row[HOW], (row[HOW] + draw_in(r, 1, 2)) % CZ_N_EXCHANGES);
    }
}

/* ---- transfer rows ---- */

bool change_box_place(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);

    if (!row)
        return false;
    return set(&row[PLACE], chance(r, 2) ? nudge(r, row[PLACE], row[ROW_BYTES])
                                         : other_scratch(plan, r, row[PLACE]));
}

/* As many bytes in another shape, another stride, or more or fewer bytes. */
bool change_box_shape(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);

    if (!row)
        return false;
    switch (draw(r, 4)) {
    case 0:
        row[ROW_BYTES] *= row[N_ROWS];
        row[STRIDE] = row[ROW_BYTES];
        return set(&row[N_ROWS], 1);
    case 1:
        if (row[ROW_BYTES] % 8)
            return false;
        row[N_ROWS] *= 2;
        row[STRIDE] = row[STRIDE] / 2;
        return set(&row[ROW_BYTES], row[ROW_BYTES] / 2);
    case 2:
        return set(&row[STRIDE], nudge(r, row[STRIDE], 4));
    default:
        return set(&row[draw_in(r, N_ROWS, ROW_BYTES)], draw_in(r, 1, 64));
    }
}

bool change_peer(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);

    return row &&
           set(&row[PEER], draw_in(r, 0, row[PEER] < 0 ? 0 : row[PEER] + 1));
}

bool flip_direction(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);

    return row && set(&row[IS_RECV], !row[IS_RECV]);
}

/* Travels in one phase more, or less. */
bool change_phases(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);

    return row && set(&row[PHASES], row[PHASES] ^ (1 << draw_in(r, 0, 1)));
}

/* Boxes of other members, of more or fewer, or for other peers. */
bool change_members(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_TRANSFER);
    const int64_t column = draw_in(r, MEMBER, OFFSET_STEP);

    if (!row)
        return false;
    const int64_t step = column == OFFSET_STEP ? row[ROW_BYTES] : 1;
    /* From one alone there is no step. */
    if ((column == MEMBER_STEP && row[N_MEMBERS] < 2) ||
        (column > N_PEERS && row[N_PEERS] < 2))
        return false;
    return set(&row[column], nudge(r, row[column], step));
}

/* ---- exchanges ---------------------------------------------------------- */

/* Another way, peer, place or length. */
bool change_exchange(mutable_plan *plan, randoms *r)
{
    int64_t *row = pick_row(plan, r, CZ_ENTRY_EXCHANGE);
    const int64_t column = draw(r, MOVED_COLUMNS);

    if (!row)
        return false;
    return set(&row[column],
               column == MOVED_IS_RECV ? !row[column]
               : column == MOVED_PEER
                   ? draw_in(r, 0, row[column] < 0 ? 0 : row[column] + 1)
                   : nudge(r, row[column], 4));
}

/* Left out, or there twice, on one side alone. */
bool miss_exchange(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, CZ_ENTRY_EXCHANGE);

    if (!table)
        return false;
    remove_row(table, draw(r, table->n_rows));
    return true;
}

bool double_exchange(mutable_plan *plan, randoms *r)
{
    mutable_table *table = pick_table(plan, r, CZ_ENTRY_EXCHANGE);
    int64_t copy[MAX_COLUMNS];

    if (!table)
        return false;
    const int64_t row = draw(r, table->n_rows);
    memcpy(copy, mutable_row(table, row),
           (size_t)table->n_columns * sizeof *copy);
    insert_row(table, row, coordinate_of(table, row), copy);
    return true;
}
