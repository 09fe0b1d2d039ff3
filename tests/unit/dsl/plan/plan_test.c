/* The plan view: what it reads from tests/unit/dsl/ir/sample.mlir, and what it
 * says about that text with one thing changed. */
#include "tests/unit/dsl/module.h"

/* ---- reading ---- */

static void counts_are_those_of_the_text(void **state)
{
    const cz_plan_view *view = sample(*state);
    assert_int_equal(view->n_ranks, 4);
    assert_int_equal(view->n_uses, 2);
    assert_int_equal(view->n_rules, 2);
    assert_int_equal(view->n_scalars, 3);
    assert_int_equal(view->n_patterns, 2);
    assert_int_equal(view->n_params, 7);
    assert_int_equal(view->n_stages, 4);
    assert_int_equal(view->n_buckets, 2);
    assert_int_equal(view->n_tables, 3);
    assert_int_equal(view->n_ops, 5);
    assert_int_equal(view->n_bodies, 8);
    assert_non_null(view->arena);
}

static void names_are_expanded_row_major(void **state)
{
    static const char *const names[] = {
        "layers.1.w", "layers.2.w", "layers.3.w", "5.v.0",
        "6.v.0",      "5.v.1",      "6.v.1"};
    const cz_plan_view *view = sample(*state);
    for (int i = 0; i < view->n_params; i++)
        assert_string_equal(view->params[i].name, names[i]);
    assert_int_equal(view->params[1].shard_owner, 1);
    assert_int_equal(view->params[2].split_owner, 1);
    assert_int_equal(view->params[2].offset, 24);
    assert_int_equal(view->params[3].bucket, 1);
    assert_int_equal(view->patterns[0].local_elements, 12);
    assert_int_equal(cz_view_shard_of(view, &view->patterns[0], 0).shape[0], 2);
    assert_true(view->buckets[0].has_master);
    assert_false(view->buckets[1].has_master);
    assert_int_equal(view->rules[0].fact->states.n, 1);
    assert_int_equal(view->rules[0].states[0], CZ_F32);
}

static void frozen_and_tied_names_take_no_number(void **state)
{
    const cz_plan_view *view = sample(*state);
    assert_int_equal(view->n_frozen_patterns, 1);
    assert_int_equal(view->frozen_patterns[0].rule, -1);
    assert_int_equal(view->frozen_patterns[0].local_elements, 4);
    assert_int_equal(view->n_frozen_params, 3);
    assert_string_equal(view->frozen_params[2].name, "still.4");
    assert_int_equal(view->frozen_params[2].bucket, -1);
    assert_int_equal(view->n_ties, 1);
    assert_int_equal(view->ties[0].param, 5);
    assert_int_equal(view->ties[0].n_names, 2);
    assert_string_equal(view->ties[0].names[1], "again.1");
}

static void stages_are_flat(void **state)
{
    const cz_plan_view *view = sample(*state);
    const cz_view_rule *rule = &view->rules[0];
    assert_int_equal(rule->n_stages, 3);
    const cz_view_stage *whole = &view->stages[rule->first_stage + 1];
    assert_int_equal(whole->where, CZ_WHERE_FULL_MATRIX);
    assert_int_equal(whole->in[0].kind, CZ_SLOT_GATHER);
    assert_int_equal(whole->n_steps, 4);
    const cz_view_step *gram = &whole->steps[0], *last = &whole->steps[3];
    assert_true(gram->is_product && gram->symmetric && gram->transpose_b);
    assert_int_equal(gram->rows, 4);
    assert_int_equal(gram->columns, 4);
    assert_int_equal(gram->inner, 6);
    assert_int_equal(gram->offsets[1], 64);
    assert_int_equal(gram->body, -1);
    assert_int_equal(whole->steps[1].out_access[0], CZ_SUM_ALL);
    assert_int_equal(last->in[0], 1);
    assert_int_equal(last->in[1], 0);
    assert_int_equal(last->in[2], 3);
    assert_string_equal(view->bodies[last->body].name, "mat.divide");
    assert_int_equal(whole->out_value[0], 4);
    const cz_view_stage *local = &view->stages[3];
    const cz_view_body *body = &view->bodies[local->steps[0].body];
    assert_int_equal(body->n_exprs, 6);
    assert_string_equal(body->exprs[2].predicate, "olt");
    assert_int_equal(body->exprs[2].dtype, CZ_F32);
    assert_int_equal(body->exprs[2].args[1], 3);
    assert_int_equal(body->out[0], 8);
}

static void rows_are_read_by_column(void **state)
{
    const cz_plan_view *view = sample(*state);
    const cz_view_kernel_entry *row = &view->tables[0].rows.kernel[1];
    assert_int_equal(row->stage, 3);
    assert_int_equal(row->count, 6);
    assert_int_equal(row->gather, -1);
    assert_int_equal(view->tables[1].rows.transfer[0].stride_bytes, 64);
    assert_int_equal(view->tables[2].rows.span[1].param, 1);
    assert_int_equal(view->tables[2].n_coordinates, 4);
    assert_int_equal(view->ops[3].table, 0);
    assert_int_equal(view->ops[3].kind, CZ_STEP_KERNEL);
    assert_int_equal(view->ops[0].table, -1);
}

static void a_module_before_scheduling_has_a_view(void **state)
{
    fixture *f = *state;
    char *text = cz_arena_copy(&f->arena, f->sample.bytes, f->sample.n);
    strcpy(strstr(text, "  // ---- passes"), "}\n");
    const cz_plan_view *view = view_of(f, text);
    assert_string_equal(messages(f), "");
    assert_non_null(view);
    assert_int_equal(view->n_ops, 0);
    assert_int_equal(view->n_buckets, 0);
    assert_int_equal(view->params[0].bucket, -1);
    assert_null(view->arena);
}

static void coordinates_invert_each_other(void **state)
{
    cz_fact_mesh mesh = {.sizes = {(int64_t[]){2, 3, 4}, 3}};
    const cz_plan_view view = {.mesh = &mesh, .n_ranks = 24};
    for (int set = 0; set < 8; set++) {
        int64_t numbers[3];
        cz_ints axes = {numbers, 0};
        for (int i = 0; i < 3; i++)
            if (set >> i & 1)
                numbers[axes.n++] = i;
        for (int64_t rank = 0; rank < 24; rank++) {
            const int64_t at = cz_view_coordinate(&view, &axes, rank);
            assert_in_range(at, 0, cz_view_extent(&view, &axes) - 1);
            assert_int_equal(cz_view_rank_at(&view, &axes, at, rank), rank);
        }
    }
    const cz_ints outer = {(int64_t[]){0, 2}, 2};
    assert_int_equal(cz_view_coordinate(&view, &outer, 12 + 4 + 3), 4 + 3);
    assert_int_equal(cz_view_rank_at(&view, &outer, 7, 8), 12 + 8 + 3);
}

static void slots_are_rounded_up(void **state)
{
    const cz_view_slot slots[] = {{CZ_SLOT_TEMP, 1, CZ_F32},
                                  {CZ_SLOT_TEMP, 0, CZ_BF16},
                                  {CZ_SLOT_GATHER, 0, CZ_F32},
                                  {CZ_SLOT_TEMP, 1, CZ_F32}};
    const cz_view_stage stage = {
        .n_in = 2, .in = slots, .n_out = 2, .out = slots + 2};
    int64_t offsets[2];
    assert_int_equal(cz_view_slot_bytes(&stage, CZ_SLOT_TEMP, 33, offsets),
                     128 + 192);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], 128);
    assert_int_equal(cz_view_slot_bytes(&stage, CZ_SLOT_SCATTER, 33, NULL), 0);
}

/* ---- rejecting ---- */

static const sample_change changes[] = {
    {"sizes = array<i64: 2, 2>", "sizes = array<i64: 2>", "mesh: sizes"},
    {"sizes = array<i64: 2, 2>", "sizes = array<i64: 2, 0>", "mesh: sizes"},
    {"sizes = array<i64: 2, 2>", "sizes = array<i64: 1000000, 1000000>",
     "ranks"},
    {"[\"dp\", \"tp\"]", "[\"dp\", \"dp\"]", "appears twice"},
    {"n_grads = 2 : i64", "n_grads = 0 : i64", "n_grads"},
    {"dtype = \"f32\", sym_name = \"r\"", "dtype = \"f8\", sym_name = \"r\"",
     "'dtype': 'f8' is not a word"},
    {"dtype = \"f32\", sym_name = \"r\"", "dtype = \"f64\", sym_name = \"r\"",
     "gradients cannot be f64"},
    {"split_axes = array<i64: 0>", "split_axes = array<i64: 2>", "split_axes"},
    {"reduce_axes = array<i64: 0>", "reduce_axes = array<i64: 1, 0>", "ascend"},
    {"clip = 1.000000e+00", "clip = -1.0", "clip"},
    {"defaults = array<f64: 0.5>", "defaults = array<f64>", "defaults"},
    {"use = @matrices, shape", "use = \"\", shape", "names no use"},
    {"shape = array<i64: 4, 6>, transposed",
     "shape = array<i64: 6, 4>, transposed",
     "arguments and results of an update"},
    {"state_dtypes = [\"f32\"]", "state_dtypes = []", "differ in number"},
    {"prologue = @mat.prologue", "prologue = @sgd.update", "body"},
    {"layers.{0}.w", "layers.w", "lacks {0}"},
    {"layers.{0}.w", "layers.{1}.w", "pattern"},
    {"layers.{0}.w", "layers.{0}.{0}", "pattern"},
    {"layers.{0}.w", "layers.{", "pattern"},
    {"{1}.v.{0}", "{1}{0}", ""},
    {"extents = array<i64: 3>", "extents = array<i64: 99999999>", "extents"},
    {"extents = array<i64: 2, 2>", "extents = array<i64: 4000000, 4000000>",
     "parameters"},
    {"shard = array<i64: 2, 0>", "shard = array<i64: 2, 2>", "shards twice"},
    {"shard = array<i64: 2, 0>", "shard = array<i64: 2>", "pattern: shard"},
    {"shard = array<i64: 0>", "shard = array<i64: 2>", "do not divide"},
    {"shard = array<i64: 2, 0>", "shard = array<i64: 1, 0>",
     "tells elements apart"},
    {"expert_axes = 0 : i64", "expert_axes = 2 : i64", "shards and spreads"},
    {"expert_axes = 0 : i64", "expert_axes = 4 : i64", "pattern: expert_axes"},
    {"sets = array<i64: 1, 2>", "sets = array<i64: 1, 4>", "mesh: sets"},
    {"shape = array<i64: 3>", "shape = array<i64: 0>", "pattern: shape"},
    {"extents = array<i64: 3>, shape = array<i64: 4, 6>",
     "extents = array<i64: 3>, shape = array<i64: 4, 8>", "differ in shape"},
    {"shape = array<i64: 8>", "shape = array<i64: 9>", "do not divide"},
    {"still.{0}", "still", "lacks {0}"},
    {"still.{0}", "layers.{0}.w", "two parameters are named"},
    {"again.{0}", "still.{0}", ""},
    {"again.{0}", "{0}.v.0", ""},
    {"again.{0}", "layers.{0}.w", "two parameters are named"},
    {"again.{0}", "again", "lacks {0}"},
    {"index = array<i64: 1, 5>", "index = array<i64: 1>", "1 indices"},
    {"index = array<i64: 1, 5>", "index = array<i64: 1, 7>", "tie: index"},
    {"pattern = @v, index", "pattern = @still, index", "names no"},
    {"where = \"whole\"", "where = \"there\"",
     "'where': 'there' is not a word"},
    {"ins = [\"gather:0\"]", "ins = [\"gather\"]", "is no slot"},
    {"ins = [\"gather:0\"]", "ins = [\"gather:00\"]", "is no slot"},
    {"ins = [\"gather:0\"]", "ins = [\"gather:1\"]", "without the one before"},
    {"ins = [\"grad\", \"state:0\"]", "ins = [\"grad\", \"state:1\"]",
     "has no state 1"},
    {"ins = [\"grad\", \"param\"]", "ins = [\"grad\", \"grad\"]", "twice"},
    {"in_dtypes = [\"bf16\"]", "in_dtypes = [\"f32\"]",
     "arguments and results"},
    {"scalars = array<i64: 0>", "scalars = array<i64: 1>", "stage: scalars"},
    {"body = @mat.whole", "body = @mat.before", "arguments and results"},
    {"work_bytes = 384", "work_bytes = 320", "workspace"},
    {"offsets = array<i64: 0, 64>", "offsets = array<i64: 4, 64>", "workspace"},
    {"offsets = array<i64: 0, 64>", "offsets = array<i64: 0>", "length"},
    {"offsets = array<i64: 0, 64>", "offsets = array<i64: -1, 64>",
     "without a place"},
    {"offsets = array<i64: 0, 64>",
     "offsets = array<i64: 0, 64>, within = "
     "array<i64: 0>",
     "length"},
    {"offsets = array<i64: 0, 64>",
     "offsets = array<i64: 0, 64>, within = "
     "array<i64: 9, 0>",
     "the slot it names"},
    {"offsets = array<i64: -1, 256>", "offsets = array<i64: 256, 256>",
     "result of its own"},
    {"out_access = array<i64: 6>", "out_access = array<i64: 7>", "access"},
    {"out_access = array<i64: 6>", "out_access = array<i64: 99>", "access"},
    {"out_access = array<i64: 6>", "out_access = array<i64: 4>", "access"},
    {"space = array<i64: 4, 4>", "space = array<i64: 4, 0>", "space"},
    {"space = array<i64: 4, 4>", "space = array<i64: 2, 8>", "access"},
    {"access = array<i64: 0, 0, 3>", "access = array<i64: 1, 0, 3>", "factors"},
    {"access = array<i64: 0, 0, 3>", "access = array<i64: 0, 0, 8>", "access"},
    {"transpose_b = 1", "transpose_b = 0", "lengths differ"},
    {"transpose_b = 1", "transpose_b = 2", "flag"},
    {"%g = \"kernel.product\"(%x, %x) {body = \"\", access = array<i64: 0, 0>, "
     "transpose_a = 0 : i64, transpose_b = 1 : i64, symmetric = 1 : i64, alpha "
     "= 1.0 : f64, beta = 0.0 : f64, offsets = array<i64: 0, 64>} : "
     "(tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x4xbf16>",
     "%g, %h = \"kernel.product\"(%x, %x) {body = \"\", access = array<i64: 0, "
     "0>, transpose_a = 0 : i64, transpose_b = 1 : i64, symmetric = 1 : i64, "
     "alpha = 1.0 : f64, beta = 0.0 : f64, offsets = array<i64: 0, 64>} : "
     "(tensor<4x6xbf16>, tensor<4x6xbf16>) -> (tensor<4x4xbf16>, "
     "tensor<4x4xbf16>)",
     "to one result"},
    {"    return %y : tensor<4x6xf32>",
     "    %w = \"kernel.map\"(%sum) {body = @mat.norm, access = array<i64: 0>, "
     "out_access = array<i64: 0>, space = array<i64: 1, 1>, offsets = "
     "array<i64: 320>} : (tensor<f64>) -> tensor<i1> return %y : "
     "tensor<4x6xf32>",
     "a result that its access does not fit"},
    {"    return %y : tensor<4x6xf32>",
     "    %q, %r = \"kernel.call\"(%y) {factor = \"qr\", parameters = "
     "array<f64>, offsets = array<i64: 0, 64>} : (tensor<4x6xf32>) -> "
     "(tensor<4x4xf32>, tensor<4x6xf32>) return %y : tensor<4x6xf32>",
     "an array of the wrong length"},
    {"    return %y : tensor<4x6xf32>",
     "    %q, %r = \"kernel.call\"(%y) {factor = \"qr\", parameters = "
     "array<f64>, offsets = array<i64: 0, 64, 1048576>} : (tensor<4x6xf32>) -> "
     "(tensor<4x4xf32>, tensor<4x6xf32>) return %y : tensor<4x6xf32>",
     "does not lie in the workspace"},
    {"    return %y : tensor<4x6xf32>",
     "    %q, %r = \"kernel.call\"(%y) {factor = \"qr\", parameters = "
     "array<f64>, offsets = array<i64: 0, 32, -1>} : (tensor<4x6xf32>) -> "
     "(tensor<4x4xf32>, tensor<4x6xf32>) return %y : tensor<4x6xf32>",
     "does not lie in the workspace"},
    {"    return %y : tensor<4x6xf32>",
     "    %q, %r = \"kernel.call\"(%y) {factor = \"qr\", parameters = "
     "array<f64>, offsets = array<i64: 0, 64, -1>} : (tensor<4x6xf32>) -> "
     "(tensor<4x4xf32>, tensor<4x6xf32>) return %y : tensor<4x6xf32>",
     "without its workspace"},
    {"body = @mat.square", "body = @mat.norm", "body does not take"},
    {"body = @mat.square", "body = @mat.square, generated = array<i64: 0>",
     "body does not take"},
    {"body = @mat.square", "body = @mat.square, generated = array<i64: 2>",
     "that nothing generates"},
    {"body = @mat.square", "body = @mat.square, generated = array<i64>",
     "no whole matrix"},
    {"body = @sgd.body", "body = @sgd.body, generated = array<i64: 1>",
     "no whole matrix"},
    {"body = \"\"", "body = \"\", generated = array<i64: 0>",
     "number of operands"},
    {"alpha = 1.0 : f64, beta = 0.0", "alpha = 1.0 : f64, beta = 2.0",
     "number of operands"},
    {"arith.cmpf olt, %size, %small : f32",
     "arith.cmpf uno, %size, %small : f32", "compares with 'uno'"},
    {"pattern = @w", "pattern = @v", "assign: split_owner"},
    {"split_owner = array<i64: 0, 0, 1>", "split_owner = array<i64: 0, 0, 2>",
     "split_owner"},
    {"shard_owner = array<i64: 0, 1, 0>", "shard_owner = array<i64: 0, 1>",
     "shard_owner"},
    {"subgroup_size = array<i64: 1, 1, 1>",
     "subgroup_size = array<i64: 1, 1, 9>", "assign: subgroup_size"},
    {"subgroup_size = array<i64: 1, 1, 1>",
     "subgroup_size = array<i64: 1, 2, 1>", "are no block of its"},
    {"stride = array<i64: 1, 1, 1>", "stride = array<i64: 1, 2, 1>",
     "are no block of its"},
    {"stride = array<i64: 1, 1, 1>", "stride = array<i64: 1, 0, 1>",
     "assign: stride"},
    {"params = array<i64: 0, 1, 2>", "params = array<i64: 0, 1, 1>",
     "two buckets"},
    {"params = array<i64: 0, 1, 2>", "params = array<i64: 0, 1, 3>",
     "the reduction, home and type"},
    {"params = array<i64: 0, 1, 2>", "params = array<i64: 0, 1, 7>", "params"},
    {"offsets = array<i64: 0, 12, 24>", "offsets = array<i64: 0, 12, 25>",
     "beyond"},
    {"slices = array<i64: 0, 24, 36>", "slices = array<i64: 0, 37, 36>",
     "descend"},
    {"slices = array<i64: 0, 24, 36>", "slices = array<i64: 0, 24, 30>",
     "does not run"},
    {"slices = array<i64: 0, 24, 36>", "slices = array<i64: 0, 36>", "slices"},
    {"sym_name = \"b0\", geometry = \"uneven\"",
     "sym_name = \"b0\", geometry = \"padded\"", "not of one length"},
    {"sym_name = \"b0\", geometry = \"uneven\"",
     "sym_name = \"b0\", geometry = \"even\"", "'geometry': 'even' is not"},
    {"tp_strategy = \"auto\"", "tp_strategy = \"replicated\"",
     "'tp_strategy': 'replicated' is not a word"},
    {"bytes = array<i64: 512, 1024>", "bytes = array<i64: 512>", "arena"},
    {"row = \"kernel\"", "row = \"colonel\"", "not a word"},
    {"rows = array<i64: 0, 0, 0, 12,", "rows = array<i64: 0, 12,",
     "no whole rows"},
    {"rows = array<i64: 0, 0, 0, 12,", "rows = array<i64: 4, 0, 0, 12,",
     "stage is 4"},
    {"rows = array<i64: 0, 0, 0, 12,", "rows = array<i64: 0, 7, 0, 12,",
     "param is 7"},
    {"rows = array<i64: 0, 0, 0, 12,", "rows = array<i64: 0, 0, -1, 12,",
     "offset is -1"},
    {"starts = array<i64: 0, 1, 2>", "starts = array<i64: 1, 1, 2>", "starts"},
    {"rows = array<i64: 0, 1, 1, 0, 2, 12, 64, 1, 0, 2, 1, 1, 1, 0>",
     "rows = array<i64: 0, 1, 2, 0, 2, 12, 64, 1, 0, 2, 1, 1, 1, 0>",
     "names peer 2 of 2"},
    {"rows = array<i64: 0, 1, 1, 0, 2, 12, 64, 1, 0, 2, 1, 1, 1, 0>",
     "rows = array<i64: 0, 1, 1, 0, 2, 12, 8, 1, 0, 2, 1, 1, 1, 0>", "no box"},
    {"12, 64, 1, 0, 2, 1, 1, 1, 0>", "12, 64, 1, 0, 3, 1, 1, 1, 0>",
     "names member 2 of 2"},
    {"12, 64, 1, 0, 2, 1, 1, 1, 0>", "12, 64, 1, 0, 1, 2, 2, 1, 0>",
     "names peer 2 of 2"},
    {"12, 64, 1, 0, 2, 1, 1, 1, 0>",
     "12, 64, 1, 0, 1, 1, 2147483647, 2147483647, 0>", "names peer"},
    {"kind = \"decide\"", "kind = \"divide\"", "not a word"},
    {"section = \"reduce\"", "section = \"\"", "not a word"},
    {"bucket = 0 : i64, table", "bucket = -1 : i64, table", "bucket"},
    {"bucket = 0 : i64, table", "bucket = 2 : i64, table", "bucket"},
    {"waits = array<i64: 0, 2>", "waits = array<i64: 0, 3>", "waits"},
    {"table = @k", "table = @s", "needs a table of kernel rows"},
    {"table = @k", "table = \"\"", "names no table"},
    {"stream = 2 : i64", "stream = -1 : i64", "stream"},
    {"comm = array<i64: 1>", "comm = array<i64: 9>", "comm"},
};

static void a_change_is_rejected_with_a_sentence(void **state)
{
    check_changes(*state, NULL, changes, sizeof changes / sizeof *changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_are_those_of_the_text),
        TEST(names_are_expanded_row_major),
        TEST(frozen_and_tied_names_take_no_number),
        TEST(stages_are_flat),
        TEST(rows_are_read_by_column),
        TEST(a_module_before_scheduling_has_a_view),
        TEST(coordinates_invert_each_other),
        TEST(slots_are_rounded_up),
        TEST(a_change_is_rejected_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
