/* The cut: what crosses, in which type, and what is recomputed instead. */
#include "passes/cut/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { GRAD, PARAM, MOM, N_IN, ROWS = 4, COLUMNS = 6 };

typedef struct fixture {
    cz_arena arena;
    cz_graph *graph;
    cz_ir_type type;
    cz_cut_stage stages[CZ_CUT_MAX_STAGES];
    int n_stages;
} fixture;

static void begin(fixture *f)
{
    static const int64_t shape[] = {ROWS, COLUMNS};

    *f = (fixture){0};
    cz_arena_init(&f->arena);
    f->type = cz_ir_tensor_type(CZ_F32, 2, shape);
    f->graph = cz_graph_make(&f->arena);
    for (int i = 0; i < N_IN; i++)
        cz_graph_in(f->graph, i, f->type);
}

static int binary(fixture *f, cz_opcode op, int a, int b)
{
    return cz_graph_add(f->graph,
                        &(cz_graph_node){.kind = CZ_GRAPH_ELEMENT,
                                         .op = op,
                                         .type = f->graph->nodes[a].type,
                                         .n_in = 2,
                                         .in = {a, b}});
}

static int scaled(fixture *f, int scalar, int a)
{
    return binary(f, CZ_OP_MUL, cz_graph_scalar(f->graph, scalar, f->type), a);
}

static int moved(fixture *f, cz_graph_kind kind, cz_ir_type type, unsigned dims,
                 int a)
{
    return cz_graph_add(
        f->graph,
        &(cz_graph_node){
            .kind = kind, .type = type, .dims = dims, .n_in = 1, .in = {a}});
}

static int product(fixture *f, int a, int b)
{
    cz_ir_type type = cz_ir_type_with(f->graph->nodes[a].type, CZ_F32);

    type.shape[1] = f->graph->nodes[b].type.shape[1];
    return cz_graph_add(f->graph, &(cz_graph_node){.kind = CZ_GRAPH_PRODUCT,
                                                   .type = type,
                                                   .n_in = 2,
                                                   .in = {a, b}});
}

static int transpose(fixture *f, int a)
{
    const cz_ir_type *from = &f->graph->nodes[a].type;
    const int64_t shape[] = {from->shape[1], from->shape[0]};

    return moved(f, CZ_GRAPH_TRANSPOSE,
                 cz_ir_tensor_type(from->dtype, 2, shape), 0, a);
}

/* bf16((x @ x') @ x) of x = bf16(u), as f32 */
static int whole_step(fixture *f, int u)
{
    int x = cz_graph_unary(f->graph, CZ_OP_TRUNCATE, u, CZ_BF16);
    int g = product(f, x, transpose(f, x));
    int y = product(f, cz_graph_unary(f->graph, CZ_OP_TRUNCATE, g, CZ_BF16), x);

    y = cz_graph_unary(f->graph, CZ_OP_TRUNCATE, y, CZ_BF16);
    return cz_graph_unary(f->graph, CZ_OP_EXTEND, y, CZ_F32);
}

/* u / |u| */
static int normalised(fixture *f, int u)
{
    int x = cz_graph_unary(f->graph, CZ_OP_EXTEND, u, CZ_F64);

    x = moved(f, CZ_GRAPH_REDUCE, cz_ir_tensor_type(CZ_F64, 0, NULL), 3,
              binary(f, CZ_OP_MUL, x, x));
    x = cz_graph_unary(f->graph, CZ_OP_SQRT, x, CZ_F64);
    x = cz_graph_unary(f->graph, CZ_OP_TRUNCATE, x, CZ_F32);
    return binary(f, CZ_OP_DIV, u, moved(f, CZ_GRAPH_BROADCAST, f->type, 3, x));
}

static int momentum(fixture *f)
{
    return binary(f, CZ_OP_ADD, scaled(f, 0, MOM), scaled(f, 1, GRAD));
}

static void cut_for(fixture *f, int param, int mom, bool has_stored,
                    bool narrows)
{
    static const cz_dtype states[] = {CZ_F32};
    static const bool whole[] = {false};
    const cz_cut_rule rule = {.update = f->graph,
                              .n_states = 1,
                              .states = states,
                              .full_matrix = whole,
                              .param = CZ_F32,
                              .has_stored = has_stored,
                              .stored = CZ_BF16,
                              .narrows = narrows};

    cz_graph_add_out(f->graph, param);
    cz_graph_add_out(f->graph, mom);
    f->n_stages = cz_cut_solve(&f->arena, &rule, f->stages);
}

/* Cuts with the momentum where it had better live; whether that is whole. */
static bool settle(fixture *f, int param, int mom)
{
    static const cz_dtype states[] = {CZ_F32};
    bool whole[] = {false};
    const cz_cut_rule rule = {.update = f->graph,
                              .n_states = 1,
                              .states = states,
                              .full_matrix = whole,
                              .param = CZ_F32};

    cz_graph_add_out(f->graph, param);
    cz_graph_add_out(f->graph, mom);
    const int n = cz_cut_settle(&f->arena, &rule, whole);
    assert_int_equal(n, whole[0]);
    f->n_stages = cz_cut_solve(&f->arena, &rule, f->stages);
    return whole[0];
}

static void cut(fixture *f, int param, int mom, bool has_stored)
{
    cut_for(f, param, mom, has_stored, false);
}

/* "grad f32, state0 f32 -> state0 f32": the stage's slots. */
static const char *slots(fixture *f, int stage)
{
    static const char *const names[] = {"grad",   "param",   "state", "stored",
                                        "gather", "scatter", "temp"};
    const cz_cut_stage *it = &f->stages[stage];
    cz_text text;
    const char *copy;

    cz_text_init(&text);
    for (int i = 0; i < it->n_in + it->n_out; i++) {
        const cz_view_slot *slot =
            i < it->n_in ? &it->in[i] : &it->out[i - it->n_in];
        cz_text_printf(&text, "%s%s%d %s",
                       i == it->n_in ? " -> "
                       : i > 0       ? ", "
                                     : "",
                       names[slot->kind], slot->index,
                       cz_dtype_name(slot->dtype));
    }
    copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static void check(fixture *f, int n, const char *const *want)
{
    assert_int_equal(f->n_stages, n);
    for (int i = 0; i < n; i++)
        assert_string_equal(slots(f, i), want[i]);
    cz_arena_fini(&f->arena);
}

static void test_elementwise_is_local(void **state)
{
    static const char *const want[] = {"grad0 f32, param0 f32, state0 f32 -> "
                                       "param0 f32, state0 f32, stored0 bf16"};
    fixture f;
    int mom;

    (void)state;
    begin(&f);
    mom = momentum(&f);
    cut(&f, binary(&f, CZ_OP_SUB, PARAM, mom), mom, true);
    assert_int_equal(f.stages[0].where, CZ_WHERE_ELEMENT_WISE);
    assert_int_equal(f.stages[0].scalars.n, 2);
    check(&f, 1, want);
}

/* The norm needs u in f32; the result was rounded: bf16 on the way back. */
static void test_muon(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> state0 f32, gather0 f32",
        "gather0 f32 -> scatter0 bf16",
        "param0 f32, scatter0 bf16 -> param0 f32, stored0 bf16"};
    fixture f;
    int mom, u, o;

    (void)state;
    begin(&f);
    mom = momentum(&f);
    u = binary(&f, CZ_OP_ADD, scaled(&f, 0, GRAD), scaled(&f, 1, mom));
    o = whole_step(&f, normalised(&f, u));
    cut(&f, binary(&f, CZ_OP_SUB, PARAM, scaled(&f, 2, o)), mom, true);
    assert_int_equal(f.stages[2].scalars.n, 1);
    assert_int_equal(f.stages[2].scalars.v[0], 2);
    check(&f, 3, want);
}

/* All that the owner does with u is to round it: so do the shards. */
static void test_gather_is_narrow(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> state0 f32, gather0 bf16",
        "gather0 bf16 -> scatter0 bf16",
        "param0 f32, scatter0 bf16 -> param0 f32"};
    fixture f;
    int mom;

    (void)state;
    begin(&f);
    mom = momentum(&f);
    cut(&f, binary(&f, CZ_OP_SUB, PARAM, whole_step(&f, mom)), mom, false);
    check(&f, 3, want);
}

/* A transpose between the rounding and its extension does not widen it. */
static void test_transposed_result_is_narrow(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 bf16",
        "gather0 bf16 -> scatter0 bf16",
        "param0 f32, scatter0 bf16 -> param0 f32",
    };
    fixture f;
    int o;

    (void)state;
    begin(&f);
    o = transpose(&f, whole_step(&f, transpose(&f, GRAD)));
    cut(&f, binary(&f, CZ_OP_SUB, PARAM, o), MOM, false);
    check(&f, 3, want);
}

/* `after` needs u again: computed anew from the gradient and the new state,
 * which lie there. */
static void test_recomputed_from_slots(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> state0 f32, gather0 bf16",
        "gather0 bf16 -> scatter0 bf16",
        "grad0 f32, param0 f32, state0 f32, scatter0 bf16 -> param0 f32"};
    fixture f;
    int mom, u;

    (void)state;
    begin(&f);
    mom = momentum(&f);
    u = binary(&f, CZ_OP_ADD, GRAD, mom);
    cut(&f,
        binary(&f, CZ_OP_SUB, PARAM,
               binary(&f, CZ_OP_MUL, u, whole_step(&f, u))),
        mom, false);
    check(&f, 3, want);
}

/* u comes from the old state, which `before` writes over: it is kept. */
static void test_kept_when_overwritten(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> state0 f32, gather0 bf16, temp0 f32",
        "gather0 bf16 -> scatter0 bf16",
        "param0 f32, scatter0 bf16, temp0 f32 -> param0 f32"};
    fixture f;
    int u;

    (void)state;
    begin(&f);
    u = binary(&f, CZ_OP_ADD, GRAD, MOM);
    cut(&f,
        binary(&f, CZ_OP_SUB, PARAM,
               binary(&f, CZ_OP_MUL, u, whole_step(&f, u))),
        momentum(&f), false);
    check(&f, 3, want);
}

static void test_late_state(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 bf16", "gather0 bf16 -> scatter0 bf16",
        "param0 f32, state0 f32, scatter0 bf16 -> param0 f32, state0 f32"};
    fixture f;
    int mom;

    (void)state;
    begin(&f);
    mom = binary(&f, CZ_OP_ADD, MOM, whole_step(&f, GRAD));
    cut(&f, binary(&f, CZ_OP_SUB, PARAM, mom), mom, false);
    check(&f, 3, want);
}

/* mom * o1 + o2 + ... + on of n results of the whole matrix in f32. */
static void combined(fixture *f, int n)
{
    const int gram = product(f, GRAD, transpose(f, GRAD));
    int power = gram;
    int sum = binary(f, CZ_OP_MUL, MOM, product(f, gram, GRAD));

    for (int i = 1; i < n; i++) {
        power = product(f, power, gram);
        sum = binary(f, CZ_OP_ADD, sum, product(f, power, GRAD));
    }
    cut(f, binary(f, CZ_OP_SUB, PARAM, sum), MOM, false);
}

/* What is gathered and scattered in f32 may be rounded, and the state is not.
 */
static void test_narrow_wire(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> state0 f32, gather0 bf16",
        "gather0 bf16 -> scatter0 bf16",
        "param0 f32, scatter0 bf16 -> param0 f32"};
    fixture f;
    int mom;

    (void)state;
    begin(&f);
    mom = momentum(&f);
    cut_for(&f,
            binary(&f, CZ_OP_SUB, PARAM,
                   product(&f, product(&f, mom, transpose(&f, mom)), mom)),
            mom, false, true);
    check(&f, 3, want);
}

/* What becomes the parameter as it comes, and what is made of the parameter. */
static void test_parameter_never_travels_narrow(void **state)
{
    static const char *const want[] = {"param0 f32 -> gather0 f32",
                                       "gather0 f32 -> scatter0 f32",
                                       "scatter0 f32 -> param0 f32"};
    fixture f;

    (void)state;
    begin(&f);
    cut_for(&f, product(&f, product(&f, PARAM, transpose(&f, PARAM)), PARAM),
            MOM, false, true);
    check(&f, 3, want);
}

/* The numbers of rows, which bf16 cannot tell apart, and what is made of
 * them. */
static void test_positions_never_travel_narrow(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 bf16", "gather0 bf16 -> scatter0 f32",
        "param0 f32, scatter0 f32 -> param0 f32"};
    fixture f;
    int o, rows;

    (void)state;
    begin(&f);
    rows = cz_graph_add(
        f.graph, &(cz_graph_node){
                     .kind = CZ_GRAPH_INDEX,
                     .type = cz_ir_tensor_type(CZ_F32, 1, &f.type.shape[0])});
    o = product(&f, product(&f, GRAD, transpose(&f, GRAD)), GRAD);
    o = binary(&f, CZ_OP_MUL, o,
               moved(&f, CZ_GRAPH_BROADCAST, f.type, 2, rows));
    cut_for(&f, binary(&f, CZ_OP_SUB, PARAM, o), MOM, false, true);
    check(&f, 3, want);
}

/* A state that the owner would write is kept as wide as it is. */
static void test_state_never_travels_narrow(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 bf16", "gather0 bf16 -> scatter0 f32",
        "param0 f32, scatter0 f32 -> param0 f32, state0 f32"};
    fixture f;
    int o;

    (void)state;
    begin(&f);
    o = product(&f, product(&f, GRAD, transpose(&f, GRAD)), GRAD);
    cut_for(&f, binary(&f, CZ_OP_SUB, PARAM, o), o, false, true);
    check(&f, 3, want);
}

/* One value to the owner saves two on the way back. */
static void test_owner_combines_three_results(void **state)
{
    static const char *const want[] = {
        "grad0 f32, state0 f32 -> gather0 f32, gather1 f32",
        "gather0 f32, gather1 f32 -> scatter0 f32",
        "param0 f32, scatter0 f32 -> param0 f32"};
    fixture f;

    (void)state;
    begin(&f);
    combined(&f, 3);
    check(&f, 3, want);
}

/* One there for one back gains nothing: what is least is gathered. */
static void test_shards_combine_two_results(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 f32", "gather0 f32 -> scatter0 f32, scatter1 f32",
        "param0 f32, state0 f32, scatter0 f32, scatter1 f32 -> param0 f32"};
    fixture f;

    (void)state;
    begin(&f);
    combined(&f, 2);
    check(&f, 3, want);
}

/* A state in another basis, as SOAP's moments are. */
static void test_state_of_whole_work_settles(void **state)
{
    static const char *const want[] = {
        "grad0 f32 -> gather0 bf16",
        "state0 f32, gather0 bf16 -> state0 f32, scatter0 bf16",
        "param0 f32, scatter0 bf16 -> param0 f32"};
    fixture f;

    (void)state;
    begin(&f);
    const int mom =
        binary(&f, CZ_OP_ADD, scaled(&f, 0, MOM), whole_step(&f, GRAD));
    assert_true(
        settle(&f, binary(&f, CZ_OP_SUB, PARAM, whole_step(&f, mom)), mom));
    check(&f, 3, want);
}

/* Muon's momentum travels as bf16, the gradient would in f32. */
static void test_state_of_shards_stays(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    const int mom = momentum(&f);
    assert_false(
        settle(&f, binary(&f, CZ_OP_SUB, PARAM, whole_step(&f, mom)), mom));
    cz_arena_fini(&f.arena);
}

/* Nor where nothing travels, as much or as little as there is. */
static void test_state_of_elements_stays(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    const int mom = momentum(&f);
    assert_false(settle(&f, binary(&f, CZ_OP_SUB, PARAM, mom), mom));
    assert_int_equal(f.n_stages, 1);
    cz_arena_fini(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise_is_local),
        cmocka_unit_test(test_muon),
        cmocka_unit_test(test_gather_is_narrow),
        cmocka_unit_test(test_transposed_result_is_narrow),
        cmocka_unit_test(test_recomputed_from_slots),
        cmocka_unit_test(test_kept_when_overwritten),
        cmocka_unit_test(test_late_state),
        cmocka_unit_test(test_narrow_wire),
        cmocka_unit_test(test_parameter_never_travels_narrow),
        cmocka_unit_test(test_positions_never_travel_narrow),
        cmocka_unit_test(test_state_never_travels_narrow),
        cmocka_unit_test(test_owner_combines_three_results),
        cmocka_unit_test(test_shards_combine_two_results),
        cmocka_unit_test(test_state_of_whole_work_settles),
        cmocka_unit_test(test_state_of_shards_stays),
        cmocka_unit_test(test_state_of_elements_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
