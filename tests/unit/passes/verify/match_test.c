/* V2 and V4: partners that do not meet, or wait for each other. */
#include "tests/unit/passes/verify/bad_plan.h"

#define MEMBER_1 ", 1, 1, 1, 1, 1, 0>, selector"
#define SEND_OF_1 "0, 0, 0, 0, 1, 32, 32, 1" MEMBER_1

static void sends_and_receives_pair_up(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{SEND_OF_1, "0, 0, 1, 0, 1, 32, 32, 1" MEMBER_1}},
         "operation 11 (transfer) on rank 0, a: a receive from rank 1 that "
         "nobody sends"},
        {TWO_GROUPS,
         {{SEND_OF_1, "0, 0, 0, 0, 1, 16, 32, 1" MEMBER_1}},
         "operation 11 (transfer) on rank 1, a: sends 1 x 16 bytes to rank 0, "
         "which expects 1 x 32"},
        /* sent never, waited for always */
        {TWO_GROUPS,
         {{SEND_OF_1, "0, 0, 0, 0, 1, 32, 32, 0" MEMBER_1}},
         "operation 11 (transfer) on rank 1, a: is sent in other phases of its "
         "rule than rank 0 expects it in"},
        /* as many bytes, but in another shape */
        {TWO_GROUPS,
         {{SEND_OF_1, "0, 0, 0, 0, 2, 16, 16, 1" MEMBER_1}},
         "operation 11 (transfer) on rank 1, a: sends 2 x 16 bytes to rank 0, "
         "which expects 1 x 32"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void nobody_waits_for_what_comes_later(void **state)
{
    static const bad_plan bad = {
        SCHEDULES "sends_before_receives.mlir",
        {{NULL}},
        "operation 5 (transfer) on rank 0, b: never completes unless sends are "
        "buffered: it waits, through other ranks, for an operation behind it"};
    (void)state;
    check_bad_plan(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_receives_pair_up),
        cmocka_unit_test(nobody_waits_for_what_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
