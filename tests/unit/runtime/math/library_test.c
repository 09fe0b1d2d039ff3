/* Threads: of a library no more work than a rank may have, whatever the
 * machine. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "runtime/math/product.h"

enum { RANKS = 3, SIDE = 512, MAX_TASKS = 4096 };

/* Nanoseconds that thread `task` of this process has had a processor. */
static int64_t busy(int task)
{
    char path[64];
    long long ns = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", task);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lld", &ns) != 1)
        ns = 0;
    fclose(file);
    return ns;
}

static int list_tasks(int *tasks)
{
    DIR *folder = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) && n < MAX_TASKS;)
        if (entry->d_name[0] != '.')
            tasks[n++] = atoi(entry->d_name);
    closedir(folder);
    return n;
}

static bool is_asleep(int task)
{
    char path[64], state = 'S'; /* of a thread that is gone */
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", task);
    file = fopen(path, "r");
    if (!file)
        return true;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'S';
    fclose(file);
    return state == 'S';
}

/* A library's threads turn for a while when they are made, longer where other
 * processes are in their way. */
static void wait_for_sleep(void)
{
    static int tasks[MAX_TASKS];
    const struct timespec moment = {.tv_nsec = 10000000};
    bool all = false;

    for (int segment = 0; segment < 2000 && !all; segment++) {
        const int n = list_tasks(tasks);
        all = true;
        for (int i = 0; i < n; i++)
            all = all && (tasks[i] == gettid() || is_asleep(tasks[i]));
        if (!all)
            nanosleep(&moment, NULL);
    }
    assert_true(all);
}

typedef struct rank {
    czr_dtype dtype;
    bool is_symmetric;
    pthread_barrier_t *barrier;
    int id;     /* of its thread */
    int64_t ns; /* that it worked */
} rank;

static void multiply(const rank *self, const czr_host_math *math, void *a,
                     float *c)
{
    const czr_product p = {.m = SIDE,
                           .n = SIDE,
                           .k = SIDE,
                           .a = a,
                           .b = a,
                           .c = c,
                           .a_dtype = self->dtype,
                           .b_dtype = self->dtype,
                           .transpose_b = 1,
                           .symmetric = self->is_symmetric};

    math->math.product(&math->math, &p);
}

static void *run_rank(void *user)
{
    rank *self = user;
    void *a = calloc((size_t)SIDE * SIDE, sizeof(float));
    float *c = calloc((size_t)SIDE * SIDE, sizeof(float));
    czr_host_math math = {.n_threads = 0};

    assert_int_equal(czr_host_math_open(&math, 0, 1), CZR_OK);
    pthread_barrier_wait(self->barrier);
    for (int i = 0; i < 8; i++)
        multiply(self, &math, a, c);
    self->id = gettid();
    self->ns = busy(self->id);
    czr_host_math_close(&math);
    free(a);
    free(c);
    return NULL;
}

static bool is_rank(int task, const rank *ranks)
{
    for (int i = 0; i < RANKS; i++)
        if (ranks[i].id == task)
            return true;
    return false;
}

/* Nanoseconds that all threads have worked but this one and the ranks. */
static int64_t others(const rank *ranks)
{
    static int tasks[MAX_TASKS];
    const int n = list_tasks(tasks);
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        if (tasks[i] != gettid() && !is_rank(tasks[i], ranks))
            sum += busy(tasks[i]);
    return sum;
}

/* Time of threads that are no ranks, per time of ranks. */
static double share_of_others(czr_dtype dtype, bool is_symmetric)
{
    pthread_t threads[RANKS];
    rank ranks[RANKS] = {0};
    pthread_barrier_t barrier;
    const int64_t before = others(ranks);
    int64_t own = 0;

    pthread_barrier_init(&barrier, NULL, RANKS);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (rank){dtype, is_symmetric, &barrier, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &ranks[i]),
                         0);
    }
    for (int i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        own += ranks[i].ns;
    }
    pthread_barrier_destroy(&barrier);
    assert_true(own > 0);
    return (double)(others(ranks) - before) / (double)own;
}

static void no_thread_works_but_the_ranks(void **state)
{
    czr_host_math math = {.n_threads = 0};

    assert_int_equal(czr_host_math_open(&math, 0, 1), CZR_OK);
    wait_for_sleep();
    for (int variant = 0; variant < 4; variant++)
        assert_true(share_of_others(variant & 1 ? CZR_BF16 : CZR_F32,
                                    variant & 2) < 0.05);
    czr_host_math_close(&math);
}

static void processors_are_shared_among_ranks(void **state)
{
    cpu_set_t all, one;
    int n;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    n = CPU_COUNT(&all);
    assert_int_equal(czr_threads_per_rank(1), n);
    assert_int_equal(czr_threads_per_rank(n), 1);
    assert_int_equal(czr_threads_per_rank(n + 1), 1);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(czr_threads_per_rank(1), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_shared_among_ranks),
        cmocka_unit_test(no_thread_works_but_the_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
