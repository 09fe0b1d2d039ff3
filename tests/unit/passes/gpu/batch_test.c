/* Which equal matrices are batches: by hand, and drawn rows beside a look at
 * every pair.
 *
 * batch_test [TRIALS [SEED]] */
#include "passes/gpu/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ROWS = 24, N_STAGES = 2, COUNT = 100, SLOT = 448, WORK = 256 };

static int trials = 2000;
static unsigned first_seed = 1;

/* Both take from gather slots and give to scatter slots, f32; work_bytes are no
 * multiple of 64. */
static const cz_view_slot gathered = {.kind = CZ_SLOT_GATHER, .dtype = CZ_F32};
static const cz_view_slot scattered = {.kind = CZ_SLOT_SCATTER,
                                       .dtype = CZ_F32};

typedef struct plan {
    cz_fact_stage facts[N_STAGES];
    cz_view_stage stages[N_STAGES];
    cz_view_kernel_entry rows[MAX_ROWS];
    int64_t starts[2];
    cz_view_table table;
    cz_plan_view view;
    int64_t each; /* matrices that a batch shall have */
    int64_t most_element_wise;
    cz_arena arena;
    cz_batch_list out;
} plan;

static int64_t count(void *user, const cz_view_kernel_entry *rows, int n_rows,
                     int64_t available)
{
    const plan *p = user;

    assert_true(n_rows >= 1 && rows[0].count > 0 && available >= 2);
    return p->each < available ? p->each : available;
}

static void open_plan(plan *p, int64_t each)
{
    *p = (plan){.each = each};
    for (int i = 0; i < N_STAGES; i++) {
        p->facts[i].work_bytes = WORK - 8;
        p->stages[i] = (cz_view_stage){.fact = &p->facts[i],
                                       .n_in = 1,
                                       .n_out = 1,
                                       .in = &gathered,
                                       .out = &scattered};
    }
    p->table = (cz_view_table){.kind = CZ_ENTRY_KERNEL,
                               .n_coordinates = 1,
                               .starts = p->starts,
                               .rows.kernel = p->rows};
    p->view = (cz_plan_view){.n_params = MAX_ROWS,
                             .n_stages = N_STAGES,
                             .stages = p->stages,
                             .n_tables = 1,
                             .tables = &p->table};
    cz_arena_init(&p->arena);
}

static void add(plan *p, int64_t stage, int64_t param, int64_t gather,
                int64_t scatter, int64_t work)
{
    p->rows[p->starts[1]++] = (cz_view_kernel_entry){.stage = stage,
                                                     .param = param,
                                                     .count = COUNT,
                                                     .gather = gather,
                                                     .scatter = scatter,
                                                     .temp = -1,
                                                     .work = work};
}

static void find(plan *p, int64_t cap)
{
    const cz_batch_rule rule = {.count = count,
                                .user = p,
                                .cap = cap,
                                .most_element_wise = p->most_element_wise};

    cz_batch_find(&p->view, &rule, 0, 0, p->starts[1], &p->arena, &p->out);
}

static void expect(const plan *p, int number, int64_t first, int n_rows,
                   int n_matrices, int64_t scratch, int64_t bytes)
{
    const cz_view_batch *b = &p->out.list[number];

    assert_true(number < p->out.n);
    assert_int_equal(b->first, first);
    assert_int_equal(b->n_rows, n_rows);
    assert_int_equal(b->n_matrices, n_matrices);
    assert_int_equal(b->scratch, scratch);
    assert_int_equal(b->bytes, bytes);
}

/* ---- by hand ------------------------------------------------------------ */

/* Slots of their own, one workspace; another in between. */
static void add_owned(plan *p, int n, int64_t work)
{
    for (int i = 0; i < n; i++)
        add(p, i == 1, i, i * 2 * SLOT, (i * 2 + 1) * SLOT, work);
}

static void owned_matrices_are_cut_to_batches(void **state)
{
    static const int64_t of_row[] = {1, 0, 1, 1, 2, 2};
    const int64_t work = INT64_C(100) * SLOT;
    plan p;

    (void)state;
    open_plan(&p, 3);
    add_owned(&p, 6, work);
    find(&p, INT64_MAX);
    assert_int_equal(p.out.n, 2);
    expect(&p, 0, 0, 1, 3, work, WORK);
    expect(&p, 1, 4, 1, 2, work, WORK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(p.out.of_row[i], of_row[i]);
    cz_arena_fini(&p.arena);
}

/* All their slots in turn, two rows each. */
static void matrices_in_turn_have_all_for_themselves(void **state)
{
    plan p;

    (void)state;
    open_plan(&p, 8);
    for (int i = 0; i < 3; i++) {
        add(&p, 0, i, 0, SLOT, 2 * SLOT);
        add(&p, 1, i, -1, SLOT, -1);
    }
    find(&p, INT64_MAX);
    assert_int_equal(p.out.n, 1);
    expect(&p, 0, 0, 2, 3, 0, 2 * SLOT + WORK);
    cz_arena_fini(&p.arena);
}

static void the_cap_makes_batches_smaller(void **state)
{
    plan p;

    (void)state;
    open_plan(&p, 8);
    add_owned(&p, 6, INT64_C(100) * SLOT);
    find(&p, 3 * WORK - 1);
    assert_int_equal(p.out.n, 2);
    assert_int_equal(p.out.list[0].n_matrices, 2);
    cz_arena_fini(&p.arena);
    open_plan(&p, 8);
    add_owned(&p, 6, INT64_C(100) * SLOT);
    find(&p, 2 * WORK - 1);
    assert_int_equal(p.out.n, 0);
    assert_null(p.out.of_row);
    cz_arena_fini(&p.arena);
}

static void assert_none(plan *p)
{
    find(p, INT64_MAX);
    assert_int_equal(p->out.n, 0);
    assert_null(p->out.of_row);
    cz_arena_fini(&p->arena);
}

static void what_depends_on_order_is_no_batch(void **state)
{
    const int64_t work = INT64_C(100) * SLOT;
    plan p;

    (void)state;
    /* Another matrix's result goes where the first was gathered. */
    open_plan(&p, 8);
    add_owned(&p, 4, work);
    p.rows[1].scatter = p.rows[3].gather;
    assert_none(&p);
    /* A parameter comes twice. */
    open_plan(&p, 8);
    add_owned(&p, 4, work);
    p.rows[3].param = 0;
    assert_none(&p);
    /* Two of three have one workspace. */
    open_plan(&p, 8);
    add_owned(&p, 4, work);
    p.rows[3].work = work + WORK;
    assert_none(&p);
    /* A slot lies in the workspace. */
    open_plan(&p, 8);
    add_owned(&p, 4, work);
    p.rows[3].gather = work;
    assert_none(&p);
}

/* Of one shape two workspaces: the other shape has its batch nevertheless. */
static void one_shape_does_not_spoil_another(void **state)
{
    const int64_t work = INT64_C(100) * SLOT;
    plan p;

    (void)state;
    open_plan(&p, 8);
    add_owned(&p, 6, work);
    p.rows[1].stage = 0;
    p.rows[4].stage = p.rows[5].stage = 1;
    p.rows[3].work = work + WORK;
    find(&p, INT64_MAX);
    assert_int_equal(p.out.n, 1);
    expect(&p, 0, 4, 1, 2, work, WORK);
    cz_arena_fini(&p.arena);
}

static void shapes_and_lengths_are_told_apart(void **state)
{
    plan p;

    (void)state;
    open_plan(&p, 8);
    add_owned(&p, 3, INT64_C(100) * SLOT);
    p.rows[2].count = COUNT - 1;
    assert_none(&p);
    open_plan(&p, 1);
    add_owned(&p, 6, INT64_C(100) * SLOT);
    assert_none(&p);
}

/* ---- element-wise rows ---- */

static void open_element_wise(plan *p, int64_t most)
{
    open_plan(p, 8);
    p->most_element_wise = most;
    for (int i = 0; i < N_STAGES; i++) {
        p->facts[i].work_bytes = 0;
        p->stages[i].where = CZ_WHERE_ELEMENT_WISE;
    }
}

static void element_wise_rows_have_any_length(void **state)
{
    static const int64_t of_row[] = {1, 0, 1, 1, 2, 2};
    plan p;

    (void)state;
    open_element_wise(&p, 3);
    add_owned(&p, 6, -1);
    for (int i = 0; i < 6; i++)
        p.rows[i].count = COUNT - i;
    find(&p, 0);
    assert_int_equal(p.out.n, 2);
    expect(&p, 0, 0, 1, 3, 0, 0);
    expect(&p, 1, 4, 1, 2, 0, 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(p.out.of_row[i], of_row[i]);
    cz_arena_fini(&p.arena);
}

static void element_wise_rows_have_no_bytes_in_turn(void **state)
{
    plan p;

    (void)state;
    open_element_wise(&p, 8);
    p.facts[0].work_bytes = WORK;
    add_owned(&p, 4, INT64_C(100) * SLOT);
    assert_none(&p);
    open_element_wise(&p, 8);
    add_owned(&p, 4, -1);
    p.rows[3].scatter = p.rows[2].gather;
    assert_none(&p);
    /* A matrix's rows come one after the other. */
    open_element_wise(&p, 8);
    add_owned(&p, 2, -1);
    add(&p, 0, 1, 8 * SLOT, 9 * SLOT, -1);
    assert_none(&p);
}

/* Of a conflict of theirs the others' batch has nothing. */
static void element_wise_rows_do_not_spoil_matrices(void **state)
{
    plan p;

    (void)state;
    open_element_wise(&p, 8);
    p.stages[0].where = CZ_WHERE_FULL_MATRIX;
    p.facts[0].work_bytes = WORK - 8;
    for (int i = 0; i < 2; i++)
        add(&p, 0, i, 2 * i * SLOT, (2 * i + 1) * SLOT, INT64_C(100) * SLOT);
    for (int i = 2; i < 4; i++)
        add(&p, 1, i, 2 * i * SLOT, (2 * i + 1) * SLOT, -1);
    p.rows[3].gather = p.rows[2].scatter;
    find(&p, INT64_MAX);
    assert_int_equal(p.out.n, 1);
    expect(&p, 0, 0, 1, 2, INT64_C(100) * SLOT, WORK);
    cz_arena_fini(&p.arena);
}

/* ---- drawn -------------------------------------------------------------- */

static int draw(int n)
{
    return rand() % n;
}

/* Slots, often each its own, and workspaces, often one. */
static void draw_rows(plan *p)
{
    const int n = 2 + draw(6), n_places = draw(3) ? 100 : 2 * n;
    const bool is_in_turn = draw(3) == 0;

    for (int i = 0; i < n; i++) {
        const int64_t at = is_in_turn ? 0 : (int64_t)i * 2 * SLOT;
        const int64_t else_at = (int64_t)draw(n_places) * SLOT;
        add(p, draw(4) == 0, i, draw(12) ? at : else_at, at + SLOT,
            INT64_C(200) * SLOT + (draw(12) ? 0 : WORK));
    }
}

static int64_t end_of(const cz_view_kernel_entry *row, int kind)
{
    const int64_t at = kind == 0   ? row->gather
                       : kind == 1 ? row->scatter
                                   : row->work;
    return at + (kind < 2 ? SLOT : WORK);
}

static int64_t start_of(const cz_view_kernel_entry *row, int kind)
{
    return end_of(row, kind) - (kind < 2 ? SLOT : WORK);
}

/* The bytes that a row has of a kind, moved as the runtime does; a batch's copy
 * of its own is beyond all others. */
static int64_t moved(const plan *p, int row, int kind)
{
    const int64_t at = start_of(&p->rows[row], kind);
    const int64_t number = p->out.of_row[row];
    const cz_view_batch *b = number ? &p->out.list[number - 1] : NULL;

    return b && at >= b->scratch && at < b->scratch + b->bytes
               ? INT64_C(1000000) * (1 + row) + at
               : at;
}

/* Bytes that rows have in common where one of them is in a batch; kinds of a
 * row lie apart where the plan has them so. */
static bool has_meeting(const plan *p, int a, int b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int64_t x = moved(p, a, i), y = moved(p, b, j);
            const int64_t x_end =
                x + end_of(&p->rows[a], i) - start_of(&p->rows[a], i);
            const int64_t y_end =
                y + end_of(&p->rows[b], j) - start_of(&p->rows[b], j);
            if (x < y_end && y < x_end)
                return true;
        }
    return false;
}

static void check_batches(const plan *p, unsigned seed)
{
    for (int a = 0; a < p->starts[1]; a++)
        for (int b = 0; b < p->starts[1]; b++) {
            if (a == b || !p->out.of_row[a])
                continue;
            if (has_meeting(p, a, b))
                fail_msg("seed %u: rows %d and %d have the same bytes", seed, a,
                         b);
            if (p->out.of_row[a] == p->out.of_row[b])
                assert_int_equal(p->rows[a].stage, p->rows[b].stage);
        }
}

static void drawn_rows_do_not_meet(void **state)
{
    int n_with = 0;

    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        plan p;
        srand(seed);
        open_plan(&p, 2 + draw(3));
        draw_rows(&p);
        find(&p, INT64_MAX);
        n_with += p.out.n > 0;
        if (p.out.n > 0)
            check_batches(&p, seed);
        cz_arena_fini(&p.arena);
    }
    assert_true(trials < 100 || (n_with > trials / 10 && n_with < trials));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owned_matrices_are_cut_to_batches),
        cmocka_unit_test(matrices_in_turn_have_all_for_themselves),
        cmocka_unit_test(the_cap_makes_batches_smaller),
        cmocka_unit_test(what_depends_on_order_is_no_batch),
        cmocka_unit_test(one_shape_does_not_spoil_another),
        cmocka_unit_test(shapes_and_lengths_are_told_apart),
        cmocka_unit_test(element_wise_rows_have_any_length),
        cmocka_unit_test(element_wise_rows_have_no_bytes_in_turn),
        cmocka_unit_test(element_wise_rows_do_not_spoil_matrices),
        cmocka_unit_test(drawn_rows_do_not_meet),
    };

    if (argc > 1)
        trials = atoi(argv[1]);
    if (argc > 2)
        first_seed = (unsigned)strtoul(argv[2], NULL, 10);
    print_message("%d trials, seed %u\n", trials, first_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
