/* Graphs: equal nodes are one, and moved values have one form. */
#include "passes/graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct fixture {
    cz_arena arena;
    cz_graph *graph;
    cz_ir_type type; /* 2 x 3, f32 */
} fixture;

static void begin(fixture *f)
{
    static const int64_t shape[] = {2, 3};

    cz_arena_init(&f->arena);
    f->graph = cz_graph_make(&f->arena);
    f->type = cz_ir_tensor_type(CZ_F32, 2, shape);
}

static int transpose(fixture *f, int a)
{
    cz_graph_node node = {.kind = CZ_GRAPH_TRANSPOSE, .n_in = 1, .in = {a}};

    node.type = f->graph->nodes[a].type;
    node.type.shape[0] = f->graph->nodes[a].type.shape[1];
    node.type.shape[1] = f->graph->nodes[a].type.shape[0];
    return cz_graph_add(f->graph, &node);
}

static const cz_graph_node *at(const fixture *f, int node)
{
    return &f->graph->nodes[node];
}

static void test_equal_nodes(void **state)
{
    fixture f;
    int a, b;

    (void)state;
    begin(&f);
    a = cz_graph_in(f.graph, 0, f.type);
    b = cz_graph_in(f.graph, 1, f.type);
    assert_int_equal(cz_graph_in(f.graph, 0, f.type), a);
    assert_int_not_equal(a, b);
    assert_int_equal(cz_graph_unary(f.graph, CZ_OP_SQRT, a, CZ_F32),
                     cz_graph_unary(f.graph, CZ_OP_SQRT, a, CZ_F32));
    assert_int_not_equal(cz_graph_unary(f.graph, CZ_OP_SQRT, a, CZ_F32),
                         cz_graph_unary(f.graph, CZ_OP_SQRT, b, CZ_F32));
    cz_arena_fini(&f.arena);
}

static void test_double_transpose(void **state)
{
    fixture f;
    int a;

    (void)state;
    begin(&f);
    a = cz_graph_in(f.graph, 0, f.type);
    assert_int_equal(transpose(&f, transpose(&f, a)), a);
    cz_arena_fini(&f.arena);
}

/* Rounded before it moves, extended after. */
static void test_conversions(void **state)
{
    fixture f;
    int node;

    (void)state;
    begin(&f);
    node = transpose(&f, cz_graph_in(f.graph, 0, f.type));
    node = cz_graph_unary(f.graph, CZ_OP_TRUNCATE, node, CZ_BF16);
    assert_int_equal(at(&f, node)->kind, CZ_GRAPH_TRANSPOSE);
    assert_int_equal(at(&f, node)->type.dtype, CZ_BF16);
    assert_int_equal(at(&f, node)->type.shape[0], 3);
    node = cz_graph_unary(f.graph, CZ_OP_EXTEND, node, CZ_F32);
    node = transpose(&f, node);
    assert_int_equal(at(&f, node)->op, CZ_OP_EXTEND);
    assert_int_equal(at(&f, node)->type.shape[0], 2);
    node = at(&f, node)->in[0];
    assert_int_equal(at(&f, node)->op, CZ_OP_TRUNCATE);
    assert_int_equal(at(&f, at(&f, node)->in[0])->kind, CZ_GRAPH_IN);
    cz_arena_fini(&f.arena);
}

/* The same everywhere: nothing to move, also a long way down. */
static void test_uniform(void **state)
{
    fixture f;
    int node;

    (void)state;
    begin(&f);
    node = cz_graph_scalar(f.graph, 0, f.type);
    for (int i = 0; i < 100; i++) {
        cz_graph_node sum = {.kind = CZ_GRAPH_ELEMENT,
                             .op = CZ_OP_ADD,
                             .type = f.type,
                             .n_in = 2,
                             .in = {node, node}};
        node = cz_graph_add(f.graph, &sum);
    }
    assert_true(cz_graph_is_uniform(f.graph, node));
    node = transpose(&f, node);
    assert_int_equal(at(&f, node)->op, CZ_OP_ADD);
    assert_int_equal(at(&f, node)->type.shape[0], 3);
    assert_true(cz_graph_is_uniform(f.graph, node));
    assert_false(cz_graph_is_uniform(f.graph, cz_graph_in(f.graph, 0, f.type)));
    cz_arena_fini(&f.arena);
}

static void test_uses(void **state)
{
    fixture f;
    int a, square, dead;
    int *uses;

    (void)state;
    begin(&f);
    a = cz_graph_in(f.graph, 0, f.type);
    square = cz_graph_add(f.graph, &(cz_graph_node){.kind = CZ_GRAPH_ELEMENT,
                                                    .op = CZ_OP_MUL,
                                                    .type = f.type,
                                                    .n_in = 2,
                                                    .in = {a, a}});
    dead = cz_graph_unary(f.graph, CZ_OP_SQRT, square, CZ_F32);
    cz_graph_add_out(f.graph, square);
    uses = cz_graph_count_uses(f.graph, &f.arena);
    assert_int_equal(uses[a], 1);
    assert_int_equal(uses[square], 1);
    assert_int_equal(uses[dead], 0);
    assert_false(cz_graph_find_live(f.graph, &f.arena)[dead]);
    cz_arena_fini(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_nodes),
        cmocka_unit_test(test_double_transpose),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_uses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
