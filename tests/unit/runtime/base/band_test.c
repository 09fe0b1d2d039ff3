/* Bands of symmetric matrices: every element is in the band or its mirrored
 * place is, each row has as much of it, and what ranks add up and exchange of
 * it is all that there is. */
#include "runtime/base/band.h"
#include "tests/unit/unit.h"
#include "runtime/world/sum.h"

enum { MAX_SIDE = 48, MEMBERS = 4 };

static const czr_band bands[] = {{2, 2},  {3, 3},  {4, 2},   {12, 3},
                                 {12, 4}, {12, 6}, {12, 12}, {40, 20},
                                 {35, 5}, {48, 16}};
enum { N_BANDS = sizeof bands / sizeof *bands };

static void mark(const czr_band *band, bool *is_in)
{
    memset(is_in, 0, band->side * band->side * sizeof *is_in);
    for (size_t row = 0; row < band->side; row++) {
        czr_run runs[2];
        const int n = czr_band_runs(band, row, runs);
        for (int k = 0; k < n; k++)
            for (size_t i = 0; i < runs[k].n; i++) {
                assert_int_equal((runs[k].first + i) / band->side, row);
                assert_false(is_in[runs[k].first + i]);
                is_in[runs[k].first + i] = true;
            }
    }
}

static void each_pair_of_places_has_one_in_the_band(void **state)
{
    static bool is_in[MAX_SIDE * MAX_SIDE];
    for (int b = 0; b < N_BANDS; b++) {
        const czr_band *band = &bands[b];
        size_t n = 0;
        mark(band, is_in);
        for (size_t i = 0; i < band->side; i++)
            for (size_t k = 0; k < band->side; k++) {
                n += is_in[i * band->side + k];
                assert_true(is_in[i * band->side + k] ||
                            is_in[k * band->side + i]);
            }
        assert_int_equal(n, band->side * band->side / band->blocks *
                                (band->blocks / 2 + 1));
    }
}

static uint16_t value_at(size_t i, size_t k)
{
    return (uint16_t)((i < k ? i : k) * 977 + (i < k ? k : i) * 13);
}

static void mirrors_make_the_rest_of_the_band(void **state)
{
    static bool is_in[MAX_SIDE * MAX_SIDE];
    static uint16_t matrix[MAX_SIDE * MAX_SIDE];
    for (int b = 0; b < N_BANDS; b++) {
        const size_t n = bands[b].side;
        mark(&bands[b], is_in);
        for (size_t i = 0; i < n * n; i++)
            matrix[i] = is_in[i] ? value_at(i / n, i % n) : 0xdead;
        czr_band_mirror(&bands[b], matrix, sizeof *matrix);
        for (size_t i = 0; i < n * n; i++)
            assert_int_equal(matrix[i], value_at(i / n, i % n));
    }
}

/* Of 12 rows four members have three each, or with no band a quarter of the
 * elements: there they get sums, and nothing else of theirs is written. */
static void check_parts(czr_band band)
{
    enum { SIDE = 12, COUNT = SIDE * SIDE };
    static bool is_in[MAX_SIDE * MAX_SIDE];
    float data[MEMBERS][COUNT];
    czr_collective collectives[MEMBERS];
    const czr_collective *posted[MEMBERS];
    for (int i = 0; i < COUNT; i++)
        is_in[i] = true;
    if (band.blocks > 0)
        mark(&band, is_in);
    for (int m = 0; m < MEMBERS; m++) {
        for (int i = 0; i < COUNT; i++)
            data[m][i] = (float)((m + 1) * 1000 + i);
        collectives[m] = (czr_collective){
            .of.all_reduce = {data[m], COUNT, CZR_SUM_F32, band}};
        posted[m] = &collectives[m];
    }
    for (int m = 0; m < MEMBERS; m++)
        czr_sum_equal_part(posted, MEMBERS, m);
    for (int m = 0; m < MEMBERS; m++)
        for (int i = 0; i < COUNT; i++) {
            const bool is_sum = is_in[i] && i / (COUNT / MEMBERS) == m;
            assert_int_equal((int)data[m][i],
                             is_sum ? 10000 + 4 * i : (m + 1) * 1000 + i);
        }
}

static void members_get_the_sums_of_their_rows_alone(void **state)
{
    check_parts((czr_band){0, 0});
    check_parts((czr_band){12, 4});
    check_parts((czr_band){12, 12});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_of_places_has_one_in_the_band),
        cmocka_unit_test(mirrors_make_the_rest_of_the_band),
        cmocka_unit_test(members_get_the_sums_of_their_rows_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
