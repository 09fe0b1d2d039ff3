/* Ways from constants: the study's modelled times come out, and bytes and
 * work are what the algebra says. */
#include "tests/unit/passes/solve/published_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WIDTH = 8 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const cz_subgroup_candidate *
find(const cz_subgroup_candidate *candidates, int n, cz_subgroup_form form,
     int g)
{
    for (int w = 0; w < n; w++)
        if (candidates[w].g == g && (g == 1 || candidates[w].form == form))
            return &candidates[w];
    return NULL;
}

/* Gather and scatter apart: what the study calls splitting. */
static void test_split_matrices_take_the_modelled_times(void **unused)
{
    static const struct {
        int64_t rows, columns;
        int tenths_ms[4]; /* g = 1, 2, 4, 8 */
    } want[] = {{51200, 5120, {495, 267, 152, 95}},
                {5120, 25600, {259, 149, 93, 65}},
                {10240, 5120, {117, 78, 58, 48}},
                {5120, 8192, {98, 69, 53, 45}}};
    const published_machine machine = notes_machine();
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (size_t i = 0; i < COUNT(want); i++) {
        const int64_t a = want[i].rows, b = want[i].columns;
        const published_shape shape = {a < b ? a : b, a < b ? b : a, false,
                                       true};
        const cz_subgroup_candidate *candidates;
        const int n = published_list_ways(&arena, &machine, &shape, WIDTH, 1,
                                          &candidates);
        for (int g = 1, k = 0; g <= WIDTH; g *= 2, k++) {
            const cz_subgroup_candidate *candidate =
                find(candidates, n, CZ_SUBGROUP_GRAM, g);
            const int64_t ps =
                cz_subgroup_alone_ps(candidate, machine.latency_ps);
            assert_in_range(ps, (want[i].tenths_ms[k] * 10 - 5) * 10000000LL,
                            (want[i].tenths_ms[k] * 10 + 5) * 10000000LL);
        }
    }
    cz_arena_fini(&arena);
}

static void test_batches_take_the_modelled_times(void **unused)
{
    static const struct {
        int64_t n, l;
        int us[3]; /* batches of 1, 16, 64 */
    } want[] = {{768, 2048, {299, 58, 47}},
                {1536, 2048, {401, 215, 206}},
                {3072, 4096, {2104, 1648, 1642}},
                {5120, 51200, {47000, 0, 0}}};
    published_machine machine = tiled_machine();
    (void)unused;
    machine.bytes_per_element = 0;
    for (size_t i = 0; i < COUNT(want); i++)
        for (int b = 0; b < 3 && want[i].us[b] > 0; b++) {
            const published_shape shape = {want[i].n, want[i].l, false, true};
            const int batch = b == 0 ? 1 : b == 1 ? 16 : 64;
            const int64_t ps = published_whole_ps(&machine, &shape, batch);
            assert_in_range(ps, want[i].us[b] * 980000LL,
                            want[i].us[b] * 1020000LL);
        }
}

/* Bytes that all ranks send, per element of the matrix. */
static void test_bytes_on_the_wire_are_those_of_the_algebra(void **unused)
{
    const int64_t n = 1024, l = 4096;
    published_machine machine = notes_machine();
    const published_shape shape = {n, l, false, false};
    const cz_subgroup_candidate *candidates;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int packed = 0; packed < 2; packed++) {
        machine.is_packed = packed;
        const int64_t square = packed ? n * (n + 1) : n * n * 2;
        const int n_candidates = published_list_ways(&arena, &machine, &shape,
                                                     WIDTH, 1, &candidates);
        assert_int_equal(candidates[0].wire_bytes, n * l * 6 * 7 / 8);
        for (int g = 2; g <= WIDTH; g *= 2) {
            const int64_t moved = n * l * 6 * (WIDTH - g) / WIDTH;
            assert_int_equal(
                find(candidates, n_candidates, CZ_SUBGROUP_GRAM, g)->wire_bytes,
                moved + 5 * 2 * (g - 1) * square);
            assert_int_equal(
                find(candidates, n_candidates, CZ_SUBGROUP_PARTITIONED, g)
                    ->wire_bytes,
                moved + 5 * 3 * (g - 1) * square);
        }
    }
    cz_arena_fini(&arena);
}

/* n x n products shared out: g ranks work as long as one; on every rank: they
 * work longer. */
static void test_work_is_that_of_the_flops(void **unused)
{
    const int64_t n = 1024, l = 8192;
    published_machine machine = notes_machine();
    const published_shape shape = {n, l, false, false};
    const cz_subgroup_candidate *candidates;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    machine.bytes_per_element = 0;
    const int n_candidates =
        published_list_ways(&arena, &machine, &shape, WIDTH, 1, &candidates);
    const int64_t unit = 5 * 2 * n * n * 10 / 6; /* ps of one column, 1e3/600 */
    for (int w = 0; w < n_candidates; w++) {
        const int64_t g = candidates[w].g;
        const int64_t columns[] = {2 * l + n, 2 * l + n * g, 2 * l + n};
        const int64_t want = unit * columns[candidates[w].form] / 1000;
        assert_in_range(cz_subgroup_work_ps(&candidates[w]), want - want / 1000,
                        want + want / 1000);
    }
    cz_arena_fini(&arena);
}

static void test_a_sharded_short_side_always_travels(void **unused)
{
    const published_machine machine = notes_machine();
    const published_shape by_long = {512, 4096, false, false};
    const published_shape by_short = {512, 4096, true, false};
    const cz_subgroup_candidate *a, *b;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const int n = published_list_ways(&arena, &machine, &by_long, WIDTH, 1, &a);
    assert_int_equal(
        published_list_ways(&arena, &machine, &by_short, WIDTH, 1, &b), n);
    for (int w = 0; w < n; w++) {
        assert_true(a[w].g == WIDTH ? a[w].gather_ps == 0 : a[w].gather_ps > 0);
        assert_true(b[w].gather_ps > 0);
        assert_true(b[w].gather_ps >= a[w].gather_ps);
        assert_true(b[w].wire_bytes >= a[w].wire_bytes);
    }
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_matrices_take_the_modelled_times),
        cmocka_unit_test(test_batches_take_the_modelled_times),
        cmocka_unit_test(test_bytes_on_the_wire_are_those_of_the_algebra),
        cmocka_unit_test(test_work_is_that_of_the_flops),
        cmocka_unit_test(test_a_sharded_short_side_always_travels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
