/* Regions against a model that tags every byte with the element it is of:
 * what the list claims to hold, the bytes do hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "passes/verify/region.h"

enum {
    N_BYTES = 192,
    N_MATRICES = 3,
    N_ROUNDS = 2000,
    N_MOVES = 24,
    ROWS = 4,
    COLUMNS = 6,
    ELEMENT = 4
};

typedef struct model {
    uint64_t random;
    int tags[N_BYTES]; /* 0: unknown */
    cz_arena arena;
    region_list list;
} model;

static int64_t draw(model *m, int64_t n)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((m->random >> 33) % (uint64_t)n);
}

static int tag_of(int64_t param, int64_t row, int64_t column, int64_t byte)
{
    return (int)(1 + ((param * ROWS + row) * COLUMNS + column) * ELEMENT +
                 byte);
}

static int64_t byte_of(const region *r, int64_t row, int64_t column)
{
    return r->offset + row * r->stride_bytes + column * ELEMENT;
}

static void write_tags(model *m, const region *r)
{
    for (int64_t i = 0; i < r->what.rows; i++)
        for (int64_t k = 0; k < r->what.columns; k++)
            for (int64_t b = 0; b < ELEMENT; b++)
                m->tags[byte_of(r, i, k) + b] =
                    tag_of(r->param, r->what.row + i, r->what.column + k, b);
}

static bool tags_hold(const model *m, const region *r)
{
    for (int64_t i = 0; i < r->what.rows; i++)
        for (int64_t k = 0; k < r->what.columns; k++)
            for (int64_t b = 0; b < ELEMENT; b++)
                if (m->tags[byte_of(r, i, k) + b] !=
                    tag_of(r->param, r->what.row + i, r->what.column + k, b))
                    return false;
    return true;
}

/* A box of a matrix at a random place, dense or with gaps. */
static region random_region(model *m)
{
    region r = {.param = draw(m, N_MATRICES),
                .kind = CZ_SLOT_GATHER,
                .element_bytes = ELEMENT};

    r.what.rows = 1 + draw(m, ROWS);
    r.what.columns = 1 + draw(m, COLUMNS);
    r.what.row = draw(m, ROWS - r.what.rows + 1);
    r.what.column = draw(m, COLUMNS - r.what.columns + 1);
    r.stride_bytes = ELEMENT * (draw(m, 2) ? r.what.columns : COLUMNS);
    r.offset =
        ELEMENT * draw(m, (N_BYTES - ROWS * COLUMNS * ELEMENT) / ELEMENT);
    return r;
}

static void put(model *m)
{
    const region r = random_region(m);

    region_put(&m->arena, &m->list, r);
    write_tags(m, &r);
}

static void forget(model *m)
{
    const int64_t lo = draw(m, N_BYTES), hi = lo + draw(m, N_BYTES - lo + 1);

    region_forget(&m->list, lo, hi);
    memset(&m->tags[lo], 0, (size_t)(hi - lo) * sizeof *m->tags);
}

/* Send a random box to a random place, as a transfer does. */
static void move(model *m, int *n_moved)
{
    const region shape = random_region(m), place = random_region(m);
    const cz_view_box send = {.offset = shape.offset,
                              .n_rows = shape.what.rows,
                              .row_bytes = shape.what.columns * ELEMENT,
                              .stride_bytes = shape.stride_bytes};
    cz_view_box receive = send;
    region part;

    if (!region_find_named(&m->list, &send, &part))
        return;
    assert_true(tags_hold(m, &part));
    receive.offset = place.offset;
    receive.stride_bytes = draw(m, 2) ? send.row_bytes : COLUMNS * ELEMENT;
    if (!region_place(&part, &receive))
        return;
    region_put(&m->arena, &m->list, part);
    write_tags(m, &part);
    ++*n_moved;
}

static void what_is_claimed_is_there(void **state)
{
    int n_moved = 0, n_held = 0;
    (void)state;
    for (int round = 0; round < N_ROUNDS; round++) {
        model m = {.random = (uint64_t)round};
        cz_arena_init(&m.arena);
        for (int i = 0; i < N_MOVES; i++) {
            const int64_t kind = draw(&m, 8);
            if (kind == 0)
                forget(&m);
            else if (kind < 5)
                put(&m);
            else
                move(&m, &n_moved);
            for (int k = 0; k < m.list.n; k++) {
                assert_true(tags_hold(&m, m.list.v[k].of));
                assert_true(region_holds(&m.list, m.list.v[k].of));
            }
            const region wanted = random_region(&m);
            if (region_holds(&m.list, &wanted)) {
                assert_true(tags_hold(&m, &wanted));
                n_held++;
            }
        }
        cz_arena_fini(&m.arena);
    }
    assert_true(n_moved > N_ROUNDS / 10 && n_held > 0);
}

/* Two shards side by side make up the matrix; with one rewritten they do
 * not. */
static void shards_make_up_a_matrix(void **state)
{
    cz_arena arena;
    region_list list = {NULL, 0, 0};
    region left = {.param = 1,
                   .kind = CZ_SLOT_GATHER,
                   .what = {0, 0, ROWS, COLUMNS / 2},
                   .element_bytes = ELEMENT,
                   .offset = 64,
                   .stride_bytes = COLUMNS * ELEMENT};
    region right = left, whole = left;
    (void)state;
    cz_arena_init(&arena);
    right.what.column = COLUMNS / 2;
    right.offset += COLUMNS / 2 * ELEMENT;
    whole.what.columns = COLUMNS;
    region_put(&arena, &list, left);
    assert_false(region_holds(&list, &whole));
    region_put(&arena, &list, right);
    assert_true(region_holds(&list, &whole));
    right.param = 2;
    region_put(&arena, &list, right);
    assert_false(region_holds(&list, &whole));
    assert_int_equal(list.n, 2);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_claimed_is_there),
        cmocka_unit_test(shards_make_up_a_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
