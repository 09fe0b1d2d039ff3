/* The layout of a bucket: every item once, aligned, owned items inside their
 * slice, slices that cover the bucket and are as long as was asked. */
#include "passes/grid/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_ITEMS = 60, MAX_SLICES = 9 };

static void check_cover(const cz_bucket *bucket, int n_slices, int64_t align)
{
    assert_int_equal(bucket->slices[0], 0);
    assert_int_equal(bucket->slices[n_slices], bucket->length);
    for (int r = 0; r < n_slices; r++) {
        assert_true(bucket->slices[r] <= bucket->slices[r + 1]);
        assert_true(bucket->slices[r] % align == 0);
    }
}

static void check_items(const cz_bucket_problem *problem,
                        const cz_bucket *bucket)
{
    int seen[MAX_ITEMS] = {0};
    int64_t end = 0;
    assert_int_equal(bucket->n, problem->n_items);
    for (int i = 0; i < bucket->n; i++) {
        const cz_bucket_item *item = &problem->items[bucket->params[i]];
        const int64_t offset = bucket->offsets[i];
        assert_int_equal(seen[bucket->params[i]]++, 0);
        assert_true(offset >= end && offset % problem->align == 0);
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
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed;
        cz_bucket_item items[MAX_ITEMS];
        const int n_slices = 1 + (int)(next_random(&random) % MAX_SLICES);
        const int n = 1 + (int)(next_random(&random) % MAX_ITEMS);
        const bool is_cut = next_random(&random) % 2;
        for (int i = 0; i < n; i++)
            items[i] = (cz_bucket_item){
                i, 1 + (int64_t)(next_random(&random) % 100),
                is_cut ? -1 : (int)(next_random(&random) % (uint64_t)n_slices)};
        const cz_bucket_problem problem = {
            n,
            items,
            n_slices,
            next_random(&random) % 2 ? 64 : CZ_BUCKET_ALIGN,
            next_random(&random) % 2,
            NULL};
        cz_arena arena;
        cz_arena_init(&arena);
        const cz_bucket bucket = cz_bucket_lay_out(&arena, &problem);
        check_cover(&bucket, n_slices, problem.align);
        check_items(&problem, &bucket);
        for (int r = 0; problem.is_padded && r < n_slices; r++)
            assert_int_equal(bucket.slices[r + 1] - bucket.slices[r],
                             bucket.slices[1]);
        cz_arena_fini(&arena);
    }
}

static void test_what_may_be_cut_is_cut_as_said(void **unused)
{
    const cz_bucket_item items[] = {{10, 8, -1}, {11, 64, -1}, {12, 60, -1}};
    const int64_t amounts[] = {48, 0, 96};
    const cz_bucket_problem problem = {3,     items,  3, CZ_BUCKET_ALIGN,
                                       false, amounts};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_bucket bucket = cz_bucket_lay_out(&arena, &problem);
    check_cover(&bucket, 3, CZ_BUCKET_ALIGN);
    assert_int_equal(bucket.offsets[1], 16);
    assert_int_equal(bucket.slices[1], 48);
    assert_int_equal(bucket.slices[2], 48);
    assert_int_equal(bucket.length, 144);
    cz_arena_fini(&arena);
}

static void test_cut_without_a_word_is_cut_evenly(void **unused)
{
    const cz_bucket_item items[] = {{0, 64, -1}, {1, 64, -1}};
    const cz_bucket_problem problem = {2,     items, 3, CZ_BUCKET_ALIGN,
                                       false, NULL};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_bucket bucket = cz_bucket_lay_out(&arena, &problem);
    assert_int_equal(bucket.slices[1], 48);
    assert_int_equal(bucket.slices[2], 96);
    assert_int_equal(bucket.slices[3], 128);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_items_are_laid_out_once),
        cmocka_unit_test(test_what_may_be_cut_is_cut_as_said),
        cmocka_unit_test(test_cut_without_a_word_is_cut_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
