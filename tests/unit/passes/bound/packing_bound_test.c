/* The bound by fit of forms, by hand. */
#include "passes/bound/packing_bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N_FORMS = 3, N_BATCHES = 2 };

/* Whole 600, or halves of 400 each; a third way that is not open. */
typedef struct hand {
    cz_arena arena;
    cz_form forms[N_FORMS];
    cz_form_class class;
    int64_t count, batch_ps[N_BATCHES];
} hand;

static int open_hand(void **state)
{
    static hand h;
    h = (hand){.forms = {{.form = CZ_SUBGROUP_OWNER,
                          .subgroup_size = 1,
                          .is_admitted = true,
                          .time_ps = {600, 1200, 2400}},
                         {.form = CZ_SUBGROUP_GRAM,
                          .subgroup_size = 2,
                          .is_admitted = true,
                          .time_ps = {400, 800, 1600}},
                         {.form = CZ_SUBGROUP_GRAM,
                          .subgroup_size = 4,
                          .time_ps = {150, 300, 600}}},
               .count = 9,
               .batch_ps = {600, 1200}};
    h.class = (cz_form_class){.n_matrices = 9,
                              .n_of_rule = 9,
                              .n_batches = 3,
                              .n_forms = N_FORMS,
                              .forms = h.forms};
    cz_arena_init(&h.arena);
    *state = &h;
    return 0;
}

static int close_hand(void **state)
{
    hand *h = *state;
    cz_arena_fini(&h->arena);
    return 0;
}

/* On eight ranks. */
static cz_packing_bound find(hand *h, int64_t elements_ps, int64_t low_ps)
{
    const cz_forms forms = {.n_classes = 1, .classes = &h->class};
    const cz_stage_time owner = {.n_batches = N_BATCHES,
                                 .batch_ps = h->batch_ps};
    const cz_stage_time *const owners[] = {&owner};
    const cz_packing_work work = {&h->count, owners, elements_ps, 8};
    return cz_packing_bound_find(&h->arena, &forms, &work, low_ps);
}

/* Below 1000 a rank has a whole one or two halves: eight ranks, eight
 * matrices. */
static void pieces_do_not_come_in_halves(void **state)
{
    hand *h = *state;
    const cz_packing_bound bound = find(h, 0, 675);
    assert_int_equal(bound.value_ps, 1000);
    assert_int_equal(bound.class, 0);
    assert_true(bound.prices[0] > 0);
    assert_int_equal(bound.elements, 0);
    h->count = 8;
    assert_int_equal(find(h, 0, 599).value_ps, 600);
}

/* Two ranks with one and a half, six with one and 400 of elements, which makes
 * 1000; with 3200 of them all wait until 1100, which the mean puts at 1075. */
static void elements_fill_what_is_left(void **state)
{
    hand *h = *state;
    assert_int_equal(find(h, 2400, 975).value_ps, 1000);
    assert_int_equal(find(h, 3200, 1075).value_ps, 1100);
}

/* With quarters of 150 a rank has one matrix's worth below 750, and five
 * quarters then. */
static void forms_that_are_not_admitted_make_no_pieces(void **state)
{
    hand *h = *state;
    h->forms[2].is_admitted = true;
    assert_int_equal(find(h, 0, 599).value_ps, 750);
    h->forms[2].obstacle = CZ_FORM_LENGTH;
    assert_int_equal(find(h, 0, 675).value_ps, 1000);
}

/* What an owner has is a batch of its stage, of which two in 900 are below one
 * and a half of another; what ranks share is one matrix. */
static void batches_are_what_operations_have(void **state)
{
    hand *h = *state;
    h->forms[0].time_ps[2] = 4;
    h->forms[1].time_ps[1] = 2;
    assert_int_equal(find(h, 0, 675).value_ps, 1000);
    h->batch_ps[1] = 900;
    assert_int_equal(find(h, 0, 600).value_ps, 900);
}

/* A batch may have another class's matrices: its halves of 450 are single
 * pieces, of which one and a half end at 850. */
static void a_batch_of_two_classes_is_divided(void **state)
{
    hand *h = *state;
    h->batch_ps[1] = 900;
    h->class.n_of_rule = 10;
    assert_int_equal(find(h, 0, 600).value_ps, 850);
}

static void what_is_not_refuted_is_no_bound(void **state)
{
    hand *h = *state;
    const cz_packing_bound bound = find(h, 0, 1000);
    assert_int_equal(bound.value_ps, 0);
    assert_int_equal(bound.class, -1);
    assert_null(bound.prices);
}

/* Work that takes no time could be anywhere. */
static void a_class_of_no_time_needs_no_rank(void **state)
{
    hand *h = *state;
    h->forms[1].time_ps[0] = 0;
    assert_int_equal(find(h, 0, 1).value_ps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_do_not_come_in_halves, open_hand,
                                        close_hand),
        cmocka_unit_test_setup_teardown(elements_fill_what_is_left, open_hand,
                                        close_hand),
        cmocka_unit_test_setup_teardown(
            forms_that_are_not_admitted_make_no_pieces, open_hand, close_hand),
        cmocka_unit_test_setup_teardown(a_batch_of_two_classes_is_divided,
                                        open_hand, close_hand),
        cmocka_unit_test_setup_teardown(batches_are_what_operations_have,
                                        open_hand, close_hand),
        cmocka_unit_test_setup_teardown(what_is_not_refuted_is_no_bound,
                                        open_hand, close_hand),
        cmocka_unit_test_setup_teardown(a_class_of_no_time_needs_no_rank,
                                        open_hand, close_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
