/* Placement by liveness: what lives together never shares bytes, what does
 * not may, and the peak is no less than the bytes alive at any time. */
#include "passes/kernel/liveness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_BUFFERS = 40, ALIGN = 64 };

static int64_t place(cz_live *buffers, int n)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const int64_t peak = cz_liveness_place(&scratch, buffers, n, ALIGN);
    cz_arena_fini(&scratch);
    return peak;
}

static void test_a_chain_needs_two(void **unused)
{
    cz_live chain[] = {
        {100, 0, 1, -1, 0}, {100, 1, 2, -1, 0}, {100, 2, 3, -1, 0}};
    (void)unused;
    assert_int_equal(place(chain, 3), 256);
    assert_int_equal(chain[0].offset, chain[2].offset);
    assert_int_equal(chain[1].offset, 128);
}

static void test_nothing_needs_nothing(void **unused)
{
    (void)unused;
    assert_int_equal(place(NULL, 0), 0);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void check_apart(const cz_live *buffers, int n, int64_t peak)
{
    for (int i = 0; i < n; i++) {
        const cz_live *a = &buffers[i];
        assert_true(a->offset % ALIGN == 0 && a->offset + a->bytes <= peak);
        for (int k = 0; k < i; k++) {
            const cz_live *b = &buffers[k];
            const int together = a->first <= b->last && b->first <= a->last;
            assert_true(!together || a->offset + a->bytes <= b->offset ||
                        b->offset + b->bytes <= a->offset);
        }
    }
}

static void test_random_buffers_stay_apart(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        cz_live buffers[MAX_BUFFERS];
        const int n = 1 + (int)(next_random(&random) % MAX_BUFFERS);
        for (int i = 0; i < n; i++) {
            const int first = (int)(next_random(&random) % 20);
            buffers[i] =
                (cz_live){.bytes = 1 + (int64_t)(next_random(&random) % 1000),
                          .first = first,
                          .last = first + (int)(next_random(&random) % 5)};
        }
        check_apart(buffers, n, place(buffers, n));
    }
}

/* Rooms one behind the other, so that buffers of two are apart. */
static void in_line(cz_live *buffers, int n, const cz_live_place *places,
                    int n_places)
{
    enum { FAR = 1 << 20 };
    for (int i = 0; i < n; i++) {
        const cz_live *b = &buffers[i];
        if (b->place < n_places) {
            const cz_live_place *room = &places[b->place];
            assert_true(b->offset + b->bytes <= room->bytes);
            assert_true(b->last < room->first || room->last < b->first);
        }
        buffers[i].offset += (int64_t)b->place * FAR;
    }
    check_apart(buffers, n, (int64_t)FAR * (n_places + 1));
}

static void random_buffers_stay_apart_in_rooms(void **unused)
{
    static const cz_live_place places[] = {{1500, -1, 7}, {900, 12, 24}};
    int used = 0;

    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        cz_live buffers[MAX_BUFFERS];
        cz_arena arena;
        const int n = 1 + (int)(next_random(&random) % MAX_BUFFERS);
        for (int i = 0; i < n; i++) {
            const int first = (int)(next_random(&random) % 20);
            buffers[i] =
                (cz_live){.bytes = 1 + (int64_t)(next_random(&random) % 1000),
                          .first = first,
                          .last = first + (int)(next_random(&random) % 5)};
        }
        cz_arena_init(&arena);
        cz_liveness_place_among(&arena, buffers, n, ALIGN, places, 2, seed % 2);
        for (int i = 0; i < n; i++)
            used += buffers[i].place < 2;
        in_line(buffers, n, places, 2);
        cz_arena_fini(&arena);
    }
    assert_true(used > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_needs_two),
        cmocka_unit_test(test_nothing_needs_nothing),
        cmocka_unit_test(test_random_buffers_stay_apart),
        cmocka_unit_test(random_buffers_stay_apart_in_rooms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
