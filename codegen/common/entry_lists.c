/* What of a table is printed once.  Coordinates whose entries are equal, with
 * all that the table's batches say of them, have one list; tables may have
 * lists, starts or entries of earlier ones. */
#include "codegen/common/internal.h"

#include <string.h>

typedef struct part {
    const cz_view_table *table;
    int64_t first, n;
} part;

static part part_at(const cz_view_table *table, int64_t c)
{
    return (part){table, table->starts[c],
                  table->starts[c + 1] - table->starts[c]};
}

static const int64_t *numbers_of(const part *p, int64_t i)
{
    return p->table->rows.numbers +
           (p->first + i) * cz_entry_schemas[p->table->kind].n_columns;
}

static uint64_t hash_of(const part *p)
{
    const int64_t *v = numbers_of(p, 0), *end = numbers_of(p, p->n);
    uint64_t hash = (uint64_t)p->n;

    for (; v < end; v++) {
        hash = (hash ^ (uint64_t)*v) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The batch of entry i, as from the first entry of the part. */
static cz_view_batch batch_of(const part *p, int64_t i)
{
    const int64_t number =
        p->table->n_batches > 0 ? p->table->batch_of_row[p->first + i] : 0;
    cz_view_batch batch = {0};

    if (number > 0) {
        batch = p->table->batches[number - 1];
        batch.first -= p->first;
    }
    return batch;
}

static bool are_equal(const part *a, const part *b)
{
    const size_t width =
        (size_t)cz_entry_schemas[a->table->kind].n_columns * sizeof(int64_t);

    if (a->n != b->n || (a->n > 0 && memcmp(numbers_of(a, 0), numbers_of(b, 0),
                                            (size_t)a->n * width) != 0))
        return false;
    for (int64_t i = 0; a->table->n_batches > 0 && i < a->n; i++) {
        const cz_view_batch x = batch_of(a, i), y = batch_of(b, i);
        if (memcmp(&x, &y, sizeof x) != 0)
            return false;
    }
    return true;
}

cz_entry_lists cz_entry_lists_of(cz_arena *arena, const cz_view_table *table)
{
    const int n = table->n_coordinates;
    cz_entry_lists lists = {0, CZ_NEW(arena, int64_t, n),
                            CZ_NEW(arena, int64_t, n + 1),
                            CZ_NEW(arena, int64_t, n)};
    int n_places = 1;

    while (n_places < 2 * n)
        n_places *= 2;
    int *places = CZ_NEW(arena, int, n_places); /* lists from 1, by hash */
    for (int c = 0; c < n; c++) {
        const part own = part_at(table, c);
        int at = (int)(hash_of(&own) & (uint64_t)(n_places - 1));
        for (; places[at] > 0; at = (at + 1) & (n_places - 1)) {
            const part other = part_at(table, lists.first[places[at] - 1]);
            if (are_equal(&own, &other))
                break;
        }
        if (places[at] == 0) {
            lists.first[lists.n] = c;
            lists.starts[lists.n + 1] = lists.starts[lists.n] + own.n;
            places[at] = ++lists.n;
        }
        lists.of[c] = places[at] - 1;
    }
    return lists;
}
