/* The threads world: what trainers call, and what happens when a rank fails,
 * does not come, or does something else. */
#include "tests/unit/unit.h"
#include "runtime/world/world.h"

enum { MAX_RANKS = 8, COUNT = 37 };

/* Statuses that the ranks saw. */
static czr_status seen[MAX_RANKS];

static float value_of(int rank, int i)
{
    return (float)((rank + 1) * (i + 3)) / 7;
}

/* ---- results ------------------------------------------------------------ */

/* The sum over ranks [first, first + n): the largest power of two of them that
 * is less than n, and the rest. */
static float tree(int first, int n, int i, bool is_narrow)
{
    const float value = value_of(first, i);
    int half = 1;

    if (n == 1)
        return is_narrow ? czr_bf16_to_f32(czr_f32_to_bf16(value)) : value;
    while (2 * half < n)
        half *= 2;
    return tree(first, half, i, is_narrow) +
           tree(first + half, n - half, i, is_narrow);
}

static czr_status check_sums(czr_world *world)
{
    const int size = czr_world_size(world);
    float data[COUNT];
    czr_bf16 narrow[COUNT];
    double wide[COUNT];

    for (int i = 0; i < COUNT; i++) {
        data[i] = value_of(czr_world_rank(world), i);
        narrow[i] = czr_f32_to_bf16(data[i]);
        wide[i] = (double)data[i];
    }
    if (czr_world_all_reduce(world, NULL, data, COUNT, CZR_F32) != CZR_OK ||
        czr_world_all_reduce(world, NULL, wide, COUNT, CZR_F64) != CZR_OK ||
        czr_world_all_reduce(world, NULL, narrow, COUNT, CZR_BF16) != CZR_OK)
        return CZR_ERR_STATE;
    for (int i = 0; i < COUNT; i++) {
        const float sum = tree(0, size, i, false);
        const float rounded = tree(0, size, i, true);
        double wide_sum = 0;
        for (int rank = 0; rank < size; rank++)
            wide_sum += (double)value_of(rank, i); /* exact in any order */
        if (memcmp(&sum, &data[i], sizeof sum) != 0 || wide_sum != wide[i] ||
            czr_f32_to_bf16(rounded) != narrow[i])
            return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

static czr_status check_gather(czr_world *world)
{
    const int size = czr_world_size(world), rank = czr_world_rank(world);
    float send[COUNT], receive[MAX_RANKS * COUNT];

    for (int i = 0; i < COUNT; i++)
        send[i] = value_of(rank, i);
    const czr_status status =
        czr_world_all_gather(world, NULL, send, receive, COUNT, CZR_F32);
    for (int i = 0; i < size * COUNT; i++)
        if (receive[i] < value_of(i / COUNT, i % COUNT) ||
            receive[i] > value_of(i / COUNT, i % COUNT))
            return CZR_ERR_MISMATCH;
    return status;
}

static czr_status collectives_body(czr_world *world, void *user)
{
    enum { ROUNDS = 20 };
    czr_status status = CZR_OK;

    for (int round = 0; round < ROUNDS && status == CZR_OK; round++) {
        status = check_sums(world);
        if (status == CZR_OK)
            status = check_gather(world);
        if (status == CZR_OK)
            status = czr_world_barrier(world);
    }
    return status;
}

static void collectives_equal_plain_loops(void **state)
{
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        assert_int_equal(czr_world_threads_run(ranks, collectives_body, NULL),
                         CZR_OK);
}

/* ---- failures ----------------------------------------------------------- */

static czr_status failing_body(czr_world *world, void *user)
{
    const int *failing = user;

    if (czr_world_rank(world) == *failing)
        return CZR_ERR_HYPER;
    return seen[czr_world_rank(world)] = czr_world_barrier(world);
}

static void a_failing_rank_releases_the_others(void **state)
{
    enum { RANKS = 5 };

    for (int failing = 0; failing < RANKS; failing++) {
        assert_int_equal(czr_world_threads_run(RANKS, failing_body, &failing),
                         CZR_ERR_HYPER);
        for (int rank = 0; rank < RANKS; rank++)
            if (rank != failing)
                assert_int_equal(seen[rank], CZR_ERR_ABORTED);
    }
}

static czr_status absent_body(czr_world *world, void *user)
{
    world->deadline_ms = 50;
    if (czr_world_rank(world) == 1)
        return CZR_OK; /* does not come, and does not fail */
    return seen[czr_world_rank(world)] = czr_world_barrier(world);
}

static void an_absent_rank_is_a_timeout(void **state)
{
    enum { RANKS = 4 };

    seen[1] = CZR_ERR_ABORTED;
    assert_int_equal(czr_world_threads_run(RANKS, absent_body, NULL),
                     CZR_ERR_TIMEOUT);
    for (int rank = 0; rank < RANKS; rank++)
        assert_true(seen[rank] == CZR_ERR_TIMEOUT ||
                    seen[rank] == CZR_ERR_ABORTED);
}

static czr_status other_size_body(czr_world *world, void *user)
{
    float data[COUNT] = {0};
    const size_t count = czr_world_rank(world) == 2 ? COUNT - 1 : COUNT;

    return seen[czr_world_rank(world)] =
               czr_world_all_reduce(world, NULL, data, count, CZR_F32);
}

static czr_status other_kind_body(czr_world *world, void *user)
{
    float data[COUNT] = {0};

    return seen[czr_world_rank(world)] =
               czr_world_rank(world) == 0
                   ? czr_world_barrier(world)
                   : czr_world_all_reduce(world, NULL, data, COUNT, CZR_F32);
}

/* Of `user` only as much as this rank's call says is its own. */
static czr_status other_gather_body(czr_world *world, void *user)
{
    const size_t count = czr_world_rank(world) == 1 ? COUNT : 1;
    float *data = calloc(4 * count, sizeof *data);
    const czr_status status =
        czr_world_all_gather(world, NULL, data, data + count, count, CZR_F32);

    free(data);
    return seen[czr_world_rank(world)] = status;
}

static void a_longer_all_gather_on_one_rank_wrote_behind_the_others(void **state)
{
    enum { RANKS = 3 };

    assert_int_equal(czr_world_threads_run(RANKS, other_gather_body, NULL),
                     CZR_ERR_MISMATCH);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(seen[rank], CZR_ERR_MISMATCH);
}

static void unequal_collectives_are_named_on_every_rank(void **state)
{
    enum { RANKS = 3 };

    assert_int_equal(czr_world_threads_run(RANKS, other_size_body, NULL),
                     CZR_ERR_MISMATCH);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(seen[rank], CZR_ERR_MISMATCH);
    assert_int_equal(czr_world_threads_run(RANKS, other_kind_body, NULL),
                     CZR_ERR_MISMATCH);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(seen[rank], CZR_ERR_MISMATCH);
}

static czr_status unknown_axis_body(czr_world *world, void *user)
{
    float data[COUNT] = {0};

    return czr_world_all_reduce(world, "nowhere", data, COUNT, CZR_F32);
}

static void arguments_are_checked(void **state)
{
    assert_int_equal(czr_world_threads_run(2, unknown_axis_body, NULL),
                     CZR_ERR_NOT_FOUND);
    assert_int_equal(czr_world_threads_run(0, unknown_axis_body, NULL),
                     CZR_ERR_ARGUMENT);
    assert_string_equal(czr_status_name(CZR_ERR_TIMEOUT), "CZR_ERR_TIMEOUT");
    assert_string_equal(czr_status_name((czr_status)99), "CZR_UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_equal_plain_loops),
        cmocka_unit_test(a_failing_rank_releases_the_others),
        cmocka_unit_test(an_absent_rank_is_a_timeout),
        cmocka_unit_test(unequal_collectives_are_named_on_every_rank),
        cmocka_unit_test(
            a_longer_all_gather_on_one_rank_wrote_behind_the_others),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
