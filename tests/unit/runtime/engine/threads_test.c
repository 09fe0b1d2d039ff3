/* Elements that threads share: one thread has each of them. */
#include "tests/unit/unit.h"

#include "runtime/base/testing.h"
#include "runtime/engine/engine.h"

enum { MOST = 700 };

typedef struct seen {
    int64_t n;
    int n_threads;
    unsigned char of[MOST]; /* how often */
} seen;

static void see(void *user, int thread)
{
    seen *own = user;
    const czr_range range = czr_thread_range(own->n, own->n_threads, thread);

    for (int64_t i = range.first; i < range.first + range.n; i++)
        own->of[i]++;
}

static void each_element_has_one_thread(void **state)
{
    static const int numbers[] = {1, 2, 3, 7, CZR_MAX_THREADS};

    for (int64_t n = 0; n < MOST; n += 1 + n / 9)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            seen own = {.n = n, .n_threads = numbers[k]};
            czr_threads_run(own.n_threads, see, &own);
            for (int64_t i = 0; i < MOST; i++)
                assert_int_equal(own.of[i], i < n);
        }
}

static void there_are_as_many_as_work_is_worth(void **state)
{
    czr_engine engine = {.math.n_threads = 4};

    czr_testing_thread_elements(10);
    assert_int_equal(czr_threads_worth(&engine, 0), 1);
    assert_int_equal(czr_threads_worth(&engine, 19), 1);
    assert_int_equal(czr_threads_worth(&engine, 20), 2);
    assert_int_equal(czr_threads_worth(&engine, 1000), 4);
    engine.math.n_threads = 1000;
    assert_int_equal(czr_threads_worth(&engine, 100000), CZR_MAX_THREADS);
    engine.math.n_threads = 0; /* a GPU's */
    assert_int_equal(czr_threads_worth(&engine, 1000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_has_one_thread),
        cmocka_unit_test(there_are_as_many_as_work_is_worth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
