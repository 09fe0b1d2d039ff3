/* Tables over fewer coordinates: rows that do not depend on an axis after all
 * are stored once. */
#include "passes/schedule/internal.h"

#include <string.h>

/* Rows of one coordinate over the selector. */
typedef struct row_part {
    const int64_t *rows;
    int64_t n; /* numbers */
} row_part;

static row_part rows_at(const cz_fact_table *table, int64_t c)
{
    const int n_columns = cz_entry_schemas[table->row].n_columns;
    const int64_t first = table->starts.v[c] * n_columns;
    return (row_part){table->rows.v + first,
                      table->starts.v[c + 1] * n_columns - first};
}

/* Whether rows are the same all along the selector's i-th axis. */
static bool is_needless(const cz_scheduler *s, const cz_fact_table *table,
                        int i)
{
    const int64_t *sizes = s->view->mesh->sizes.v, *axes = table->selector.v;
    int64_t inner = 1;
    for (int k = i + 1; k < table->selector.n; k++)
        inner *= sizes[axes[k]];
    for (int64_t c = 0; c + 1 < table->starts.n; c++) {
        const int64_t first = c - c / inner % sizes[axes[i]] * inner;
        const row_part a = rows_at(table, c);
        const row_part b = rows_at(table, first);
        if (a.n != b.n ||
            (a.n && memcmp(a.rows, b.rows, (size_t)a.n * sizeof *a.rows) != 0))
            return false;
    }
    return true;
}

/* Leave the selector's i-th axis out: keep the rows of its coordinate 0. */
static void drop_axis(const cz_scheduler *s, cz_fact_table *table, int i)
{
    const int64_t *sizes = s->view->mesh->sizes.v, *axes = table->selector.v;
    int64_t *kept = CZ_NEW(s->arena, int64_t, table->selector.n), inner = 1;
    int64_t *starts = CZ_NEW(s->arena, int64_t, table->starts.n);
    int64_t *values = CZ_NEW(s->arena, int64_t, table->rows.n);
    int n = 0, n_values = 0;
    for (int k = i + 1; k < table->selector.n; k++)
        inner *= sizes[axes[k]];
    for (int64_t c = 0; c + 1 < table->starts.n; c++) {
        const row_part p = rows_at(table, c);
        if (c / inner % sizes[axes[i]] != 0)
            continue;
        for (int64_t k = 0; k < p.n; k++)
            values[n_values++] = p.rows[k];
        starts[++n] = n_values / cz_entry_schemas[table->row].n_columns;
    }
    for (int k = 0, m = 0; k < table->selector.n; k++)
        if (k != i)
            kept[m++] = axes[k];
    table->selector = (cz_ints){kept, table->selector.n - 1};
    table->starts = (cz_ints){starts, n + 1};
    table->rows = (cz_ints){values, n_values};
}

void cz_schedule_shrink(const cz_scheduler *s, cz_fact_table *table)
{
    for (int i = table->selector.n - 1; i >= 0; i--)
        if (s->view->mesh->sizes.v[table->selector.v[i]] > 1 &&
            is_needless(s, table, i))
            drop_axis(s, table, i);
}
