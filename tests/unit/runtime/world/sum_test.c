/* Sums in bf16 among ranks: the same bits however many members there are, if
 * each has added up what the members of a larger group have. */
#include "runtime/world/sum.h"
#include "tests/unit/unit.h"

enum { MOST = 8, COUNT = 96 };

typedef czr_bf16 parts[MOST][COUNT];

static void fill(parts all)
{
    uint32_t seed = 7;

    for (int m = 0; m < MOST; m++)
        for (int i = 0; i < COUNT; i++) {
            seed = seed * 1664525u + 1013904223u;
            all[m][i] =
                czr_f32_to_bf16((float)(int32_t)seed / (float)(1 << 20));
        }
}

/* Each of n members has the sum of two neighbours'. */
static void add_pairs(parts all, int n)
{
    for (int m = 0; m < n; m++)
        for (int i = 0; i < COUNT; i++)
            all[m][i] = czr_f32_to_bf16(czr_bf16_to_f32(all[2 * m][i]) +
                                        czr_bf16_to_f32(all[2 * m + 1][i]));
}

static void sum(parts all, int n, czr_sum type, bool is_scattered,
                czr_bf16 *out)
{
    czr_collective collectives[MOST];
    const czr_collective *posted[MOST] = {NULL};

    for (int m = 0; m < n; m++) {
        collectives[m] = (czr_collective){
            .of.all_reduce = {.data = all[m], .count = COUNT, .type = type}};
        posted[m] = &collectives[m];
    }
    for (int m = 0; is_scattered && m < n; m++) {
        const int part = COUNT / n;
        czr_sum_equal_part(posted, n, m);
        memcpy(out + m * part, all[m] + m * part, (size_t)part * sizeof *out);
    }
    if (is_scattered)
        return;
    czr_sum_slice(posted, n, 0, COUNT);
    for (int m = 0; m < n; m++)
        assert_memory_equal(all[m], all[0], sizeof all[0]);
    memcpy(out, all[0], sizeof all[0]);
}

/* Elements of the sum over n of 8 members' parts, by pairs, that differ from
 * those of all 8. */
static int count_others(czr_sum type, int n, bool is_scattered)
{
    static parts all, fewer;
    czr_bf16 wanted[COUNT], found[COUNT];
    int others = 0;

    fill(all);
    fill(fewer);
    sum(all, MOST, CZR_SUM_BF16_EACH, false, wanted);
    for (int left = MOST / 2; left >= n; left /= 2)
        add_pairs(fewer, left);
    sum(fewer, n, type, is_scattered, found);
    for (int i = 0; i < COUNT; i++)
        others += memcmp(&wanted[i], &found[i], sizeof found[i]) != 0;
    return others;
}

static void members_with_the_sums_of_more_have_their_bits(void **state)
{
    for (int n = 1; n <= MOST; n *= 2) {
        assert_int_equal(count_others(CZR_SUM_BF16_EACH, n, false), 0);
        assert_int_equal(count_others(CZR_SUM_BF16_EACH, n, true), 0);
    }
}

/* What the test before would see: sums of four that are rounded once. */
static void sums_rounded_once_have_other_bits(void **state)
{
    assert_in_range(count_others(CZR_SUM_BF16, 4, false), 1, COUNT);
    assert_in_range(count_others(CZR_SUM_BF16, 4, true), 1, COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_with_the_sums_of_more_have_their_bits),
        cmocka_unit_test(sums_rounded_once_have_other_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
