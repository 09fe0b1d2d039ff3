/* Sums in bf16 among ranks: the same bits however many members there are, if
 * each has added up what the members of a larger group have.  And the largest
 * magnitude of gradients. */
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

enum { MOST_GRADS = 2 * 2048 + 41 };

/* Of the gradients of one member, scaled by 1 or looked at where they are. */
static int32_t largest_of(const float *grad, int64_t n, float *out)
{
    int32_t largest = 0;
    const czr_collective sum = {.of.reduce_scatter = {.grad = grad,
                                                      .dtype = CZR_F32,
                                                      .n_grads = 1,
                                                      .n = n,
                                                      .out = out,
                                                      .scale = 1,
                                                      .largest = &largest}};
    const czr_collective *const members[] = {&sum};

    czr_sum_grads(&sum.of.reduce_scatter, members, 1, false);
    return largest;
}

/* Wherever it stands among however many. */
static void the_largest_magnitude_is_found(void **state)
{
    static const float large[] = {-2, 3e38f, -INFINITY, NAN};
    static float grad[MOST_GRADS], out[MOST_GRADS];
    int32_t one, bits;

    for (int i = 0; i < MOST_GRADS; i++)
        grad[i] = i % 2 ? -1 : 1;
    memcpy(&one, &grad[0], sizeof one);
    assert_int_equal(largest_of(grad, 0, NULL), 0);
    for (int k = 0; k < (int)(sizeof large / sizeof *large); k++)
        for (int n = 1; n <= MOST_GRADS; n += 1 + n / 5)
            for (int at = 0; at < n; at += 1 + at / 4) {
                const float was = grad[at];
                assert_int_equal(largest_of(grad, n, NULL), one);
                grad[at] = large[k];
                memcpy(&bits, &grad[at], sizeof bits);
                assert_int_equal(largest_of(grad, n, NULL), bits & INT32_MAX);
                assert_int_equal(largest_of(grad, n, out), bits & INT32_MAX);
                grad[at] = was;
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_with_the_sums_of_more_have_their_bits),
        cmocka_unit_test(sums_rounded_once_have_other_bits),
        cmocka_unit_test(the_largest_magnitude_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
