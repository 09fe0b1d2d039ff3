/* Names to numbers and back, coordinates, shards, slices. */
#include "tests/unit/unit.h"
#include "runtime/program/program.h"
#include "tests/unit/runtime/engine/toy.h"

static const char *const dp_axes[] = {"dp"};
static const int32_t dp_sizes[] = {1};
const czr_pattern patterns[] = {
    {.name = "embed", .n_dims = 1, .shape = {4}},
    {.name = "layers.{0}.experts.{1}.w",
     .first_param = 1,
     .n_indices = 2,
     .first = {3, 0},
     .extents = {12, 11}},
    {.name = "head.{0}", .first_param = 133, .n_indices = 1, .extents = {2}},
};
static const czr_pattern frozen[] = {
    {.name = "bias.{0}", .n_indices = 1, .first = {2}, .extents = {2}}};
static const czr_pattern ties[] = {
    {.name = "again.{0}", .first_param = 133, .n_indices = 1, .extents = {2}}};
enum { N_NAMED = 135 };
static const czr_place places[N_NAMED]; /* all in one bucket, which all have */
static const czr_bucket bucket;
static const czr_program named = {.n_axes = 1,
                                  .axes = dp_axes,
                                  .sizes = dp_sizes,
                                  .n_patterns = 3,
                                  .patterns = patterns,
                                  .n_params = N_NAMED,
                                  .places = places,
                                  .n_buckets = 1,
                                  .buckets = &bucket,
                                  .n_frozen = 1,
                                  .frozen = frozen,
                                  .n_ties = 1,
                                  .ties = ties};

static void names_and_numbers_agree(void **state)
{
    static const char *const unknown[] = {"",
                                          "embe",
                                          "bias.2",
                                          "again.2",
                                          "embedd",
                                          "layers.2.experts.0.w",
                                          "head.",
                                          "head.01",
                                          "head.2",
                                          "layers.15.experts.0.w",
                                          "head.1.",
                                          "head.99999999999",
                                          "layers.03.experts.0.w",
                                          "layers.3.experts.11.w",
                                          "layers.{0}.experts.{1}.w"};
    char name[64];

    for (int param = 0; param < named.n_params; param++) {
        assert_true(czr_program_name(&named, param, 0, name, sizeof name) <
                    sizeof name);
        assert_int_equal(czr_program_find(&named, name, 0), param);
    }
    czr_program_name(&named, 1 + 11 + 10, 0, name, sizeof name);
    assert_string_equal(name, "layers.4.experts.10.w");
    assert_int_equal(czr_program_name(&named, 22, 0, name, 5), 21);
    assert_string_equal(name, "laye");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(czr_program_find(&named, unknown[i], 0), -1);
    assert_int_equal(czr_program_find(&named, "again.0", 0), 133);
    assert_int_equal(czr_program_find(&named, "again.1", 0), 133);
    assert_true(czr_program_is_frozen(&named, "bias.3"));
    assert_false(czr_program_is_frozen(&named, "bias.4"));
    assert_false(czr_program_is_frozen(&named, "head.0"));
}

static void coordinates_are_row_major(void **state)
{
    static const int32_t sizes[] = {2, 3, 4};
    const czr_program program = {.n_axes = 3, .sizes = sizes};

    assert_int_equal(czr_program_ranks(&program), 24);
    for (uint32_t axes = 0; axes < 8; axes++)
        for (int rank = 0; rank < 24; rank++) {
            const int extent = czr_program_extent(&program, axes);
            const int at = czr_program_coordinate(&program, axes, rank);
            assert_in_range(at, 0, extent - 1);
            assert_int_equal(czr_program_rank_at(&program, axes, at, rank),
                             rank);
            for (int other = 0; other < extent; other++) {
                const int there =
                    czr_program_rank_at(&program, axes, other, rank);
                assert_int_equal(czr_program_coordinate(&program, axes, there),
                                 other);
                assert_int_equal(
                    czr_program_coordinate(&program, 7 & ~axes, there),
                    czr_program_coordinate(&program, 7 & ~axes, rank));
            }
        }
    assert_int_equal(czr_program_coordinate(&program, 5, 1 * 12 + 2 * 4 + 3),
                     7);
}

static void shards_and_slices_cover_all(void **state)
{
    const toy_options options = {.dp = 3, .tp = 2};
    static toy toy_program;

    toy_init(&toy_program, &options);
    const czr_program *program = &toy_program.program;
    const czr_shard shard = czr_program_shard(program, 0, 3);
    assert_int_equal(shard.shape[0], 3);
    assert_int_equal(shard.start[0], 3);
    assert_int_equal(shard.n, 24);
    int64_t end = 0;
    for (int dp = 0; dp < options.dp; dp++) {
        const czr_range slice = czr_program_slice(program, 0, 2 * dp + 1);
        assert_int_equal(slice.first, end);
        end += slice.n;
    }
    assert_int_equal(end, program->buckets[0].length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_agree),
        cmocka_unit_test(coordinates_are_row_major),
        cmocka_unit_test(shards_and_slices_cover_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
