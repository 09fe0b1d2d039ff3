/* Buckets: every item once, aligned, owned items inside their slice, slices
 * that cover the bucket, and the order in which buckets close. */
#include "passes/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_ITEMS = 60 };

static void check_cover(const cz_bucket *bucket, int n_slices)
{
    assert_int_equal(bucket->slices[0], 0);
    assert_int_equal(bucket->slices[n_slices], bucket->length);
    for (int r = 0; r < n_slices; r++) {
        assert_true(bucket->slices[r] <= bucket->slices[r + 1]);
        assert_true(bucket->slices[r] % CZ_BUCKET_ALIGN == 0);
    }
}

static void check_items(const cz_bucket_problem *problem,
                        const cz_bucket *bucket, int *seen)
{
    int64_t end = 0;
    for (int i = 0; i < bucket->n; i++) {
        const cz_bucket_item *item = &problem->items[bucket->params[i]];
        const int64_t offset = bucket->offsets[i];
        seen[bucket->params[i]]++;
        assert_int_equal(item->kind, bucket->kind);
        assert_true(offset >= end && offset % CZ_BUCKET_ALIGN == 0);
        end = offset + item->elements;
        if (item->owner < 0)
            continue;
        assert_true(offset >= bucket->slices[item->owner]);
        assert_true(end <= bucket->slices[item->owner + 1]);
    }
    assert_true(end <= bucket->length);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void test_random_items_are_laid_out_once(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        cz_bucket_item items[MAX_ITEMS];
        int seen[MAX_ITEMS] = {0}, n_buckets;
        const int n_slices = 1 + (int)(next_random(&random) % 9);
        const int n = 1 + (int)(next_random(&random) % MAX_ITEMS);
        for (int i = 0; i < n; i++) {
            const int kind = (int)(next_random(&random) % 3);
            const int owner = (int)(next_random(&random) % (uint64_t)n_slices);
            items[i] =
                (cz_bucket_item){i, 1 + (int64_t)(next_random(&random) % 100),
                                 kind, kind == 1 ? -1 : owner};
        }
        const int slices[] = {n_slices, n_slices, n_slices};
        const cz_bucket_problem problem = {n, items, 3, slices, 300};
        cz_arena arena;
        cz_arena_init(&arena);
        const cz_bucket *buckets =
            cz_bucket_solve(&arena, &problem, &n_buckets);
        for (int b = 0; b < n_buckets; b++) {
            check_cover(&buckets[b], n_slices);
            check_items(&problem, &buckets[b], seen);
        }
        for (int i = 0; i < n; i++)
            assert_int_equal(seen[i], 1);
        cz_arena_fini(&arena);
    }
}

static void test_a_full_bucket_closes_first(void **unused)
{
    const cz_bucket_item items[] = {
        {10, 8, 0, -1}, {11, 64, 1, -1}, {12, 64, 1, -1},
        {13, 8, 0, -1}, {14, 8, 1, -1},
    };
    const int slices[] = {3, 3};
    const cz_bucket_problem problem = {5, items, 2, slices, 128};
    int n_buckets;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_bucket *buckets = cz_bucket_solve(&arena, &problem, &n_buckets);
    assert_int_equal(n_buckets, 3);
    assert_int_equal(buckets[0].kind, 1);
    assert_int_equal(buckets[0].n, 2);
    assert_int_equal(buckets[0].slices[1], 48);
    assert_int_equal(buckets[0].slices[2], 96);
    assert_int_equal(buckets[1].kind, 0);
    assert_int_equal(buckets[1].offsets[1], 16);
    assert_int_equal(buckets[2].params[0], 14);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_items_are_laid_out_once),
        cmocka_unit_test(test_a_full_bucket_closes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
