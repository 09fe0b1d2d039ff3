/* The threads world: what trainers call, and what happens when a rank fails,
 * does not come, or does something else. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/unit.h"
#include "runtime/world/world.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

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

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

static czr_status absent_body(czr_world *world, void *user)
{
    world->deadline_ms = 50;
    if (czr_world_rank(world) == 1) {
        sleep_ms(400); /* does not come, and does not fail */
        return CZR_OK;
    }
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

/* Ranks in a line; each exchanges with its neighbours, the first pair last. */
static czr_status line_body(czr_world *world, void *user)
{
    const int rank = czr_world_rank(world), last = czr_world_size(world) - 1;
    const czr_collective barrier = {.kind = CZR_COLLECTIVE_BARRIER, .op = rank};
    char *why = user;
    char mine[CZR_WHY_BYTES] = "";
    czr_status status = czr_world_barrier(world);

    world->deadline_ms = rank == 0 ? 100 : 20000; /* rank 0 alone is late */
    if (rank == last)
        sleep_ms(600);
    for (int left = rank; left >= rank - 1 && status == CZR_OK; left--) {
        const int pair[2] = {left, left + 1};
        czr_collective meet = barrier;
        czr_comm *comm;
        if (left < 0 || left == last)
            continue;
        meet.op = left;
        status = world->ops->join(world, CZR_CHANNEL_PLAN, pair, 2, &comm);
        if (status == CZR_OK)
            status = czr_comm_run(comm, &meet, mine);
    }
    if (rank == 0)
        memcpy(why, mine, sizeof mine);
    return seen[rank] = status;
}

static void
the_rank_that_was_waited_for_was_blamed_and_not_the_root(void **state)
{
    char why[CZR_WHY_BYTES];

    assert_int_equal(czr_world_threads_run(4, line_body, why), CZR_ERR_TIMEOUT);
    assert_non_null(strstr(why, "rank 0 waited 100 ms for rank 3, which did "
                                "not come: last seen behind barrier, "));
}

static void a_failure_left_nothing_to_look_at(void **state)
{
    char folder[] = "/tmp/czr_trace_XXXXXX", path[64], text[1 << 16];
    char why[CZR_WHY_BYTES];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/canzona.trace.json", folder);
    assert_int_equal(setenv("CZR_TRACE_FOLDER", folder, 1), 0);
    assert_int_equal(czr_world_threads_run(4, line_body, why), CZR_ERR_TIMEOUT);
    assert_int_equal(unsetenv("CZR_TRACE_FOLDER"), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_non_null(strstr(text, "\"failure\":\"rank 0 waited 100 ms for rank "
                                 "3, which did not come"));
    assert_non_null(strstr(text, "\"args\":{\"name\":\"rank 3\"}"));
    assert_non_null(strstr(text, "{\"name\":\"barrier\",\"ph\":\"X\""));
}

/* Each of three ranks waits for the next one. */
static czr_status circle_body(czr_world *world, void *user)
{
    const int rank = czr_world_rank(world), next = (rank + 1) % 3;
    const int pair[2] = {rank < next ? rank : next, rank < next ? next : rank};
    const czr_collective barrier = {.kind = CZR_COLLECTIVE_BARRIER, .op = rank};
    char *why = user;
    char mine[CZR_WHY_BYTES] = "";
    czr_comm *comm;

    world->deadline_ms = rank == 0 ? 100 : 20000;
    czr_status status =
        world->ops->join(world, CZR_CHANNEL_PLAN, pair, 2, &comm);
    if (status == CZR_OK)
        status = czr_comm_run(comm, &barrier, mine);
    if (rank == 0)
        memcpy(why, mine, sizeof mine);
    return seen[rank] = status;
}

static void ranks_that_wait_for_each_other_are_named(void **state)
{
    char why[CZR_WHY_BYTES];

    assert_int_equal(czr_world_threads_run(3, circle_body, why),
                     CZR_ERR_TIMEOUT);
    assert_string_equal(why, "rank 0 waits in operation 0 for rank 1, which "
                             "waits in operation 1 for rank 2, which waits in "
                             "operation 2 for rank 0");
}

/* ---- ranks that end ----------------------------------------------------- */

typedef enum ending { RETURNS, EXITS } ending;
typedef struct ends {
    ending how;
    int rank;       /* that ends */
    bool is_behind; /* all collectives; else the others want one more */
    char why[MAX_RANKS][CZR_WHY_BYTES];
} ends;

static czr_status ending_body(czr_world *world, void *user)
{
    ends *self = user;
    const int rank = czr_world_rank(world);
    czr_status status = czr_world_barrier(world);

    if (rank == self->rank && self->how == EXITS)
        pthread_exit(NULL);
    if (status == CZR_OK && rank != self->rank && !self->is_behind)
        status = czr_world_barrier(world);
    snprintf(self->why[rank], CZR_WHY_BYTES, "%s", czr_world_error(world));
    return seen[rank] = status;
}

static void a_thread_that_ended_behind_its_last_collective_was_ok(void **state)
{
    ends self = {.how = EXITS, .rank = 1, .is_behind = true};

    assert_int_equal(czr_world_threads_run(3, ending_body, &self),
                     CZR_ERR_ENDED);
}

/* The default deadline is ten minutes. */
static void ranks_waited_minutes_for_one_that_had_ended(void **state)
{
    for (ending how = RETURNS; how <= EXITS; how++) {
        ends self = {.how = how, .rank = 2};
        char expected[CZR_WHY_BYTES];
        assert_int_equal(czr_world_threads_run(4, ending_body, &self),
                         CZR_ERR_ENDED);
        snprintf(expected, sizeof expected, "rank %d has ended", self.rank);
        for (int rank = 0; rank < 4; rank++)
            if (rank != self.rank) {
                assert_true(seen[rank] == CZR_ERR_ENDED ||
                            seen[rank] == CZR_ERR_ABORTED);
                assert_non_null(strstr(self.why[rank], expected));
                assert_non_null(strstr(self.why[rank], "behind barrier"));
            }
    }
}

static void *call_in_a_thread(void *user)
{
    czr_world_threads_run(3, ending_body, user);
    return user; /* not reached */
}

static void the_calling_thread_ended_and_left_its_ranks_behind(void **state)
{
    ends self = {.how = EXITS, .rank = 0};
    pthread_t thread;
    void *result = &self;

    assert_int_equal(pthread_create(&thread, NULL, call_in_a_thread, &self), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    for (int rank = 1; rank < 3; rank++)
        assert_non_null(strstr(self.why[rank], "rank 0 has ended"));
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

static void
a_longer_all_gather_on_one_rank_wrote_behind_the_others(void **state)
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
        cmocka_unit_test(
            the_rank_that_was_waited_for_was_blamed_and_not_the_root),
        cmocka_unit_test(a_failure_left_nothing_to_look_at),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_named),
        cmocka_unit_test(a_thread_that_ended_behind_its_last_collective_was_ok),
        cmocka_unit_test(ranks_waited_minutes_for_one_that_had_ended),
        cmocka_unit_test(the_calling_thread_ended_and_left_its_ranks_behind),
        cmocka_unit_test(unequal_collectives_are_named_on_every_rank),
        cmocka_unit_test(
            a_longer_all_gather_on_one_rank_wrote_behind_the_others),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
