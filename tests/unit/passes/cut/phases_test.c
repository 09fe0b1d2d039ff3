/* Rules with phases through all passes up to kernel form: in each phase math
 * form, the cut and the kernels do what that phase's own update does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dsl/reference/reference.h"
#include "dsl/plan/build/build.h"
#include "passes/passes.h"
#include "passes/cut/phases.h"
#include "tests/unit/passes/random_module.h"

enum { N_PHASE_MODULES = 200, MAX_UPDATES = 3 };

/* Update 1, every second one, and the others: in order of their masks. */
static const cz_event events[] = {{1, 0, false}, {2, 2, false}};
static const int64_t times[MAX_UPDATES] = {3, 1, 2};
static const char *const names[] = {"R.update", "R.update1", "R.update2"};

/* ---- updates that are alike but for one operation ---- */

static bool is_varied(const cz_graph_node *node)
{
    return node->kind == CZ_GRAPH_ELEMENT && node->n_in == 2 &&
           (node->op == CZ_OP_ADD || node->op == CZ_OP_SUB ||
            node->op == CZ_OP_MUL);
}

static cz_graph *vary(cz_arena *arena, const cz_graph *graph, random *r)
{
    int *image = CZ_NEW(arena, int, graph->n);
    const unsigned at = draw(r, (unsigned)graph->n);
    bool done = false;
    cz_graph *made = cz_graph_make(arena);

    for (int i = 0; i < graph->n; i++) {
        cz_graph_node node = graph->nodes[i];
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        if (!done && (unsigned)i >= at && is_varied(&node)) {
            node.op = node.op == CZ_OP_ADD ? CZ_OP_SUB : CZ_OP_ADD;
            done = true;
        }
        image[i] = cz_graph_add(made, &node);
    }
    for (int i = 0; i < graph->n_out; i++)
        cz_graph_add_out(made, image[graph->out[i]]);
    return made;
}

/* updates[0] is the trial's own. */
static void make_updates(trial *t, const cz_graph **updates)
{
    random r = {t->seed * 7919u};

    updates[0] = t->rule.update;
    for (int p = 1; p < MAX_UPDATES; p++)
        switch (draw(&r, 3)) {
        case 0:
            updates[p] = random_rule(&t->arena, &r, t->shape);
            break;
        case 1:
            updates[p] = updates[p - 1];
            break;
        default:
            updates[p] = vary(&t->arena, updates[p - 1], &r);
        }
}

/* ---- one module ---- */

static void add_phases(cz_ir *ir, const trial *t, const cz_graph **updates)
{
    static const char *const phases[] = {"R.phase0", "R.phase1", "R.phase2"};
    static const int64_t fires[] = {0, 1};
    cz_ir_type in[N_IN];

    for (int i = 0; i < N_IN; i++)
        in[i] = t->shape;
    for (int e = 0; e < 2; e++)
        cz_ir_add_event(ir, &(cz_fact_event){.rule = "R",
                                             .start = events[e].start,
                                             .period = events[e].period});
    for (int p = 1; p < MAX_UPDATES; p++)
        cz_math_form_write(ir, updates[p], names[p], in, N_IN, N_SCALARS);
    for (int p = 0; p < MAX_UPDATES; p++)
        cz_ir_add_phase(
            ir, &(cz_fact_phase){.sym_name = phases[p],
                                 .rule = "R",
                                 .fires = {p ? &fires[p - 1] : NULL, p > 0},
                                 .update = names[p]});
}

/* One update, results into out: param, then the states. */
static void interpret(trial *t, const cz_ir *ir, const cz_plan_view *view,
                      cz_reference_form form, bool round, int64_t step,
                      double **out)
{
    const double *const states[] = {t->in[2], t->in[3]};

    for (int i = 0; i <= N_STATES; i++)
        out[i] = CZ_NEW(&t->arena, double, t->count);
    cz_reference_rule(ir, view,
                      &(cz_reference_call){.form = form,
                                           .round = round,
                                           .count = t->count,
                                           .t = (double)step,
                                           .clip = 1,
                                           .grad = t->in[0],
                                           .param = t->in[1],
                                           .states = states,
                                           .param_out = out[0],
                                           .states_out = &out[1]});
}

static void run_pass(cz_ir *ir, bool (*pass)(cz_ir *, cz_diags *),
                     cz_diags *diags)
{
    assert_true(pass(ir, diags) && cz_ir_verify(ir));
}

static void same_results(const trial *t, double *const *a, double *const *b)
{
    for (int i = 0; i <= N_STATES; i++)
        for (int64_t k = 0; k < t->count; k++)
            assert_true(eval_same(a[i][k], b[i][k]));
}

/* The update of phase p by its name. */
static void run_update(trial *t, const cz_ir *ir, int p, bool round,
                       double **out)
{
    static const double scalars[N_SCALARS] = {0, 1, 2}; /* of the prologue */
    const double *in[N_IN + N_SCALARS];

    for (int i = 0; i < N_IN; i++)
        in[i] = t->in[i];
    for (int i = 0; i < N_SCALARS; i++)
        in[N_IN + i] = &scalars[i];
    for (int i = 0; i <= N_STATES; i++)
        out[i] = CZ_NEW(&t->arena, double, t->count);
    cz_reference_function(cz_ir_find_function(ir, names[p]), round, 0, in, out);
}

/* Math form takes the phase's update, and the stages do what it does.  A
 * parameter that is its own master is rounded by stages alone. */
static void check_phases(trial *t, const cz_ir *ir, const cz_plan_view *view,
                         cz_reference_form form)
{
    double *want[1 + N_STATES], *got[1 + N_STATES];

    for (int p = 0; p < MAX_UPDATES; p++)
        for (int round = 0; round < 2; round++) {
            run_update(t, ir, p, round, want);
            interpret(t, ir, view, CZ_REFERENCE_MATH, round, times[p], got);
            same_results(t, want, got);
            if (round && t->rule.param == CZ_BF16)
                continue;
            interpret(t, ir, view, form, round, times[p], got);
            same_results(t, want, got);
        }
}

static void check_module(unsigned seed)
{
    trial t;
    cz_diags diags;
    const cz_graph *updates[MAX_UPDATES];
    cz_ir *ir;

    trial_begin(&t, seed);
    cz_diags_init(&diags, &t.arena);
    make_updates(&t, updates);
    ir = random_module(&t, &diags);
    assert_non_null(ir);
    add_phases(ir, &t, updates);
    run_pass(ir, cz_simplify_pass, &diags);
    run_pass(ir, cz_cut_pass, &diags);
    check_phases(&t, ir, NULL, CZ_REFERENCE_CUT);
    run_pass(ir, cz_kernel_pass, &diags);
    run_pass(ir, cz_workspace_pass, &diags);
    run_pass(ir, cz_flops_pass, &diags);
    const cz_plan_view *view = cz_plan_view_build(&t.arena, ir, &diags);
    assert_non_null(view);
    check_phases(&t, ir, view, CZ_REFERENCE_STAGES);
    cz_ir_close(ir);
    trial_end(&t);
}

static void every_phase_keeps_its_numbers(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= N_PHASE_MODULES; seed++)
        check_module(seed);
}

/* ---- what is shared ---- */

static int count(const cz_graph *graph, cz_graph_kind kind)
{
    int n = 0;

    for (int i = 0; i < graph->n; i++)
        n += graph->nodes[i].kind == kind;
    return n;
}

/* x @ x @ x for x = sqrt(argument 0), or x = |argument 0|. */
static cz_graph *powers(cz_arena *arena, cz_opcode op)
{
    static const int64_t square[] = {3, 3};
    const cz_ir_type type = cz_ir_tensor_type(CZ_F32, 2, square);
    cz_graph *graph = cz_graph_make(arena);
    const int in = cz_graph_in(graph, 0, type);
    const int x = cz_graph_unary(graph, op, in, CZ_F32);
    int product = x;

    for (int i = 0; i < 2; i++) {
        cz_graph_node node = {
            .kind = CZ_GRAPH_PRODUCT, .type = type, .n_in = 2};
        node.in[0] = product;
        node.in[1] = x;
        product = cz_graph_add(graph, &node);
    }
    cz_graph_add_out(graph, product);
    cz_graph_add_out(graph, in);
    return graph;
}

static void what_follows_a_difference_is_there_once(void **state)
{
    cz_arena arena;

    (void)state;
    cz_arena_init(&arena);
    const cz_graph *updates[] = {powers(&arena, CZ_OP_SQRT),
                                 powers(&arena, CZ_OP_ABS),
                                 powers(&arena, CZ_OP_SQRT)};
    const cz_graph *merged = cz_phases_merge(&arena, updates, 3);
    assert_int_equal(count(merged, CZ_GRAPH_PRODUCT), 2);
    assert_int_equal(count(merged, CZ_GRAPH_CHOICE), 1);
    assert_int_equal(count(merged, CZ_GRAPH_ELEMENT), 2);
    assert_int_equal(merged->n, 6);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_keeps_its_numbers),
        cmocka_unit_test(what_follows_a_difference_is_there_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
