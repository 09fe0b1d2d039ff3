/* What is known to equal its transpose, and facts that say so wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/kernel/internal.h"
#include "passes/passes.h"

/* ---- graphs ---- */

enum { SIDE = 4, LENGTH = 6 };

typedef struct sample {
    cz_arena arena;
    cz_graph *graph;
    int l, x; /* arguments 0, [SIDE, SIDE], and 1, [SIDE, LENGTH] */
} sample;

static cz_ir_type matrix(int64_t columns)
{
    const int64_t shape[] = {SIDE, columns};

    return cz_ir_tensor_type(CZ_F32, 2, shape);
}

static void begin(sample *s)
{
    cz_arena_init(&s->arena);
    s->graph = cz_graph_make(&s->arena);
    s->l = cz_graph_in(s->graph, 0, matrix(SIDE));
    s->x = cz_graph_in(s->graph, 1, matrix(LENGTH));
}

static int add(sample *s, cz_graph_kind kind, cz_opcode op, int a, int b)
{
    const cz_ir_type type = s->graph->nodes[a].type;
    const int64_t turned[] = {type.shape[1], type.shape[0]};
    cz_graph_node node = {
        .kind = kind, .op = op, .n_in = b < 0 ? 1 : 2, .in = {a, b}};

    node.type = kind == CZ_GRAPH_TRANSPOSE
                    ? cz_ir_tensor_type(CZ_F32, 2, turned)
                : kind == CZ_GRAPH_PRODUCT ? matrix(SIDE)
                                           : type;
    return cz_graph_add(s->graph, &node);
}

static int turned(sample *s, int a)
{
    return add(s, CZ_GRAPH_TRANSPOSE, CZ_OP_ADD, a, -1);
}

static bool is_symmetric(sample *s, int node, bool is_l)
{
    const bool in[] = {is_l, false};

    return cz_kernel_find_symmetric(s->graph, &s->arena, in, true)[node];
}

static void an_average_of_gram_matrices_is_symmetric_if_it_was(void **state)
{
    sample s;

    (void)state;
    begin(&s);
    const int gram = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, s.x, turned(&s, s.x));
    const int sum = add(&s, CZ_GRAPH_ELEMENT, CZ_OP_ADD, s.l, gram);
    cz_graph_add_out(s.graph, sum);
    for (int is_l = 0; is_l < 2; is_l++) {
        const cz_ir_type types[] = {matrix(SIDE), matrix(LENGTH)};
        const bool in[] = {is_l, false};
        const cz_kernel *kernel =
            cz_kernel_build(&s.arena, s.graph, 2, types, 0, false, in, true);
        assert_int_equal(kernel->n_steps, 1);
        assert_int_equal(kernel->steps[0].symmetric, is_l);
        assert_int_equal(kernel->out_symmetric[0], is_l);
        assert_true(is_symmetric(&s, gram, is_l));
    }
    cz_arena_fini(&s.arena);
}

static void a_sum_with_its_transpose_is_and_a_difference_is_not(void **state)
{
    sample s;

    (void)state;
    begin(&s);
    const int other = turned(&s, s.l);
    assert_true(is_symmetric(
        &s, add(&s, CZ_GRAPH_ELEMENT, CZ_OP_ADD, s.l, other), false));
    assert_false(is_symmetric(
        &s, add(&s, CZ_GRAPH_ELEMENT, CZ_OP_SUB, s.l, other), false));
    assert_false(is_symmetric(
        &s, add(&s, CZ_GRAPH_ELEMENT, CZ_OP_ADD, s.l, s.l), false));
    assert_true(is_symmetric(&s, other, true));
    cz_arena_fini(&s.arena);
}

static void products_of_two_symmetric_matrices_are_not(void **state)
{
    sample s;

    (void)state;
    begin(&s);
    const int square = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, s.l, s.l);
    const int cube = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, square, s.l);
    assert_true(is_symmetric(&s, square, true));
    assert_false(is_symmetric(&s, square, false));
    assert_false(is_symmetric(&s, cube, true));
    cz_arena_fini(&s.arena);
}

/* x x' and 2 (x x') (x x') - x x' commute; l is another matrix. */
static void polynomials_of_one_matrix_commute_but_for_rounding(void **state)
{
    sample s;

    (void)state;
    begin(&s);
    const bool in[] = {true, false};
    const int gram = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, s.x, turned(&s, s.x));
    const int square = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, gram, gram);
    const int twice = add(&s, CZ_GRAPH_ELEMENT, CZ_OP_ADD, square, square);
    const int sum = add(&s, CZ_GRAPH_ELEMENT, CZ_OP_SUB, twice, gram);
    const int cube = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, gram, sum);
    const int with_l = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, cube, s.l);
    const int mixed = add(&s, CZ_GRAPH_ELEMENT, CZ_OP_ADD, cube, s.l);
    const int with_mixed = add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, mixed, cube);
    const int hadamard = add(&s, CZ_GRAPH_ELEMENT, CZ_OP_MUL, gram, square);
    const int with_hadamard =
        add(&s, CZ_GRAPH_PRODUCT, CZ_OP_ADD, hadamard, gram);
    const bool *strict = cz_kernel_find_symmetric(s.graph, &s.arena, in, true);
    const bool *other = cz_kernel_find_symmetric(s.graph, &s.arena, in, false);
    assert_false(strict[cube]);
    assert_true(other[cube] && other[square]);
    assert_true(other[mixed] && other[hadamard]);
    assert_false(other[with_l] || other[with_mixed] || other[with_hadamard]);
    cz_arena_fini(&s.arena);
}

/* ---- facts ---- */

/* A rule on 2 x 2 matrices whose state is whole; %d: whether it is said to be
 * symmetric, %s: what it becomes. */
static const char format[] =
    "module {\n"
    "\"canzona.program\"() {name = \"p\", source_hash = \"\", compiler = \"\", "
    "format = 2,"
    " strict = 0 : i64} : () -> ()\n"
    "\"canzona.mesh\"() {axes = [], sizes = array<i64>,"
    " names = [], sets = array<i64>} : () -> ()\n"
    "\"canzona.policy\"() {master_dtype = \"f32\", geometry = \"uneven\", "
    "layout = \"engine\", form = \"auto\", memory_bytes = 0 : i64,"
    " tolerance = 0.0 : f64, wire = 0.5 : f64, wire_is_free = 0 : i64, tokens "
    "= 1048576 : i64, active = 1000000 : i64,"
    " clip = 0.0 : f64, skip = 0 : i64, bucket_elements = 100 : i64, "
    "bucket_is_free = 0 : i64,"
    " joins_updates = 0 : i64, layout_is_free = 0 : i64, micro_group_bytes = 0 "
    ": i64, tp_strategy = "
    "\"auto\","
    " tp_subgroup = 0 : i64} : () -> ()\n"
    "\"canzona.use\"() {sym_name = \"u\", optimizer = \"o\", hypers = [],"
    " defaults = array<f64>, has_default = array<i64>} : () -> ()\n"
    "func.func @R.prologue(%%t: f64, %%c: f64) { return }\n"
    "func.func @R.update(%%g: tensor<2x2xf32>, %%p: tensor<2x2xf32>,"
    " %%m: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {\n"
    "%%z = arith.constant dense<0.0> : tensor<2x2xf32>\n"
    "%%t = \"canzona.transpose\"(%%g) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
    "%%gram = linalg.matmul ins(%%g, %%t : tensor<2x2xf32>, tensor<2x2xf32>)"
    " outs(%%z : tensor<2x2xf32>) -> tensor<2x2xf32>\n"
    "%%next = arith.addf %%m, %%%s : tensor<2x2xf32>\n"
    "return %%p, %%next : tensor<2x2xf32>, tensor<2x2xf32>\n}\n"
    "\"canzona.rule\"() {sym_name = \"R\", use = @u, shape = array<i64: 2, 2>,"
    " transposed = 0 : i64, states = [\"m\"], state_dtypes = [\"f32\"],"
    " state_init = array<f64: 0.0>, state_diagonal = array<i64: 0>,"
    " state_symmetric = array<i64: %d>, state_shapes = array<i64: 2, 2>,"
    " state_extern = array<i64: 0>, update = @R.update,"
    " prologue = @R.prologue} : () -> ()\n"
    "}\n";

static void check_fact(const char *added, int said, bool ok)
{
    char source[4096];
    cz_arena arena;
    cz_diags diags;

    snprintf(source, sizeof source, format, added, said);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_parse(source, strlen(source), &diags);
    assert_non_null(ir);
    assert_true(cz_cut_pass(ir, &diags));
    assert_int_equal(cz_kernel_pass(ir, &diags), ok);
    assert_int_equal(diags.n_errors, ok ? 0 : 1);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
}

static void facts_that_an_update_breaks_are_refused(void **state)
{
    (void)state;
    check_fact("gram", 1, true);
    check_fact("gram", 0, true);
    check_fact("g", 0, true);
    check_fact("g", 1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_average_of_gram_matrices_is_symmetric_if_it_was),
        cmocka_unit_test(a_sum_with_its_transpose_is_and_a_difference_is_not),
        cmocka_unit_test(products_of_two_symmetric_matrices_are_not),
        cmocka_unit_test(polynomials_of_one_matrix_commute_but_for_rounding),
        cmocka_unit_test(facts_that_an_update_breaks_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
