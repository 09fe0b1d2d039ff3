/* Every pass up to kernel form leaves the bits of a random rule alone: its
 * module is read back and run after each, in the types and the memory that it
 * says (reference/ compares all passes in float64). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dsl/plan/build/build.h"
#include "passes/passes.h"
#include "tests/unit/passes/random_module.h"

enum { N_MODULES = 200 };

/* ---- after each pass ---- */

static void check_update(trial *t, const cz_ir *ir)
{
    const cz_graph *graph =
        cz_math_form_read(&t->arena, cz_ir_find_function(ir, "R.update"));
    double scalars[N_SCALARS], **values;

    assert_non_null(graph);
    for (int i = 0; i < N_SCALARS; i++)
        scalars[i] = (double)t->scalars[i];
    values = eval_graph(&t->arena, graph, t->in, scalars, 0);
    for (int i = 0; i <= N_STATES; i++)
        for (int64_t k = 0; k < t->count; k++)
            assert_true(eval_same(values[graph->out[i]][k],
                                  t->want[t->rule.update->out[i]][k]));
}

/* "state:1" to its memory and kind. */
static void *named_slot(trial *t, const char *name)
{
    static const char *const kinds[CZ_N_SLOTS] = {
        [CZ_SLOT_GRAD] = "grad",     [CZ_SLOT_PARAM] = "param",
        [CZ_SLOT_STATE] = "state",   [CZ_SLOT_STORED] = "stored",
        [CZ_SLOT_GATHER] = "gather", [CZ_SLOT_SCATTER] = "scatter",
        [CZ_SLOT_TEMP] = "temp"};
    const char *colon = strchr(name, ':');
    const size_t n = colon ? (size_t)(colon - name) : strlen(name);

    for (int k = 0; k < CZ_N_SLOTS; k++)
        if (strlen(kinds[k]) == n && strncmp(kinds[k], name, n) == 0)
            return t->slots[EVAL_STRIDE * k + (colon ? atoi(colon + 1) : 0)];
    fail();
    return NULL;
}

static cz_dtype named_dtype(const char *name)
{
    cz_dtype dtype = CZ_F32;

    assert_true(cz_dtype_find(name, &dtype));
    return dtype;
}

/* One stage in math form: slots to slots. */
static void run_math(trial *t, const cz_ir *ir, const cz_fact_stage *stage)
{
    const cz_graph *graph =
        cz_math_form_read(&t->arena, cz_ir_find_function(ir, stage->body));
    double *in[EVAL_MAX_VALUES], scalars[N_SCALARS], **values;

    assert_non_null(graph);
    for (int i = 0; i < stage->ins.n; i++) {
        in[i] = CZ_NEW(&t->arena, double, t->count);
        for (int64_t k = 0; k < t->count; k++)
            in[i][k] = eval_load(named_slot(t, stage->ins.v[i]),
                                 named_dtype(stage->in_dtypes.v[i]), k);
    }
    for (int i = 0; i < stage->scalars.n; i++)
        scalars[i] = (double)t->scalars[stage->scalars.v[i]];
    values = eval_graph(&t->arena, graph, in, scalars,
                        stage->where == CZ_WHERE_FULL_MATRIX ? 0 : t->count);
    for (int i = 0; i < stage->outs.n; i++)
        for (int64_t k = 0; k < t->count; k++)
            eval_store(named_slot(t, stage->outs.v[i]),
                       named_dtype(stage->out_dtypes.v[i]), k,
                       values[graph->out[i]][k]);
}

static void check_cut(trial *t, const cz_ir *ir)
{
    int n;
    const cz_fact_stage *stages = cz_ir_read_stage(ir, &t->arena, &n);

    trial_reset(t);
    for (int i = 0; i < n; i++)
        run_math(t, ir, &stages[i]);
    assert_true(trial_holds(t));
}

static void *copy(trial *t, const void *list, int n, size_t size)
{
    void *to = cz_arena_alloc(&t->arena, (size_t)n, size);

    return n > 0 ? memcpy(to, list, (size_t)n * size) : to;
}

static int list_types(trial *t, cz_ir_op function, cz_ir_type **types)
{
    int n = cz_ir_function_n_in(function);

    *types = CZ_NEW(&t->arena, cz_ir_type, EVAL_MAX_VALUES);
    for (int i = 0; i < n; i++)
        (*types)[i] = cz_ir_value_type(cz_ir_function_in(function, i));
    for (cz_ir_op op = cz_ir_first_op(function); op.p; op = cz_ir_next_op(op))
        for (int i = 0; i < cz_ir_op_n_results(op); i++)
            (*types)[n++] = cz_ir_value_type(cz_ir_op_result(op, i));
    return n;
}

/* The view's stage in the structs that the interpreter takes. */
static void run_kernel(trial *t, const cz_ir *ir, const cz_plan_view *view,
                       const cz_view_stage *stage)
{
    cz_kernel kernel = {
        .n_steps = stage->n_steps,
        .steps = copy(t, stage->steps, stage->n_steps, sizeof *stage->steps),
        .bodies = copy(t, view->bodies, view->n_bodies, sizeof *view->bodies),
        .out_value = copy(t, stage->out_value, stage->n_out, sizeof(int))};
    const cz_cut_stage cut = {
        .where = stage->where,
        .n_in = stage->n_in,
        .n_out = stage->n_out,
        .in = copy(t, stage->in, stage->n_in, sizeof *stage->in),
        .out = copy(t, stage->out, stage->n_out, sizeof *stage->out),
        .scalars = stage->fact->scalars};

    kernel.n_values = list_types(t, cz_ir_find_function(ir, stage->fact->body),
                                 &kernel.types);
    eval_stage(&t->arena, &cut, &kernel, t->slots, t->scalars, t->count);
}

static void check_kernels(trial *t, const cz_ir *ir, cz_diags *diags)
{
    const cz_plan_view *view = cz_plan_view_build(&t->arena, ir, diags);

    assert_non_null(view);
    trial_reset(t);
    for (int i = 0; i < view->n_stages; i++)
        run_kernel(t, ir, view, &view->stages[i]);
    assert_true(trial_holds(t));
}

static void print_module(const cz_ir *ir, const cz_diags *diags)
{
    cz_text text;

    cz_text_init(&text);
    cz_ir_print(ir, &text);
    cz_diags_print(diags, &text, false);
    fputs(cz_text_string(&text), stderr);
    cz_text_fini(&text);
}

static void run_pass(cz_ir *ir, bool (*pass)(cz_ir *, cz_diags *),
                     cz_diags *diags)
{
    const bool ok = pass(ir, diags) && cz_ir_verify(ir);

    if (!ok)
        print_module(ir, diags);
    assert_true(ok);
}

static void check_module(unsigned seed)
{
    trial t;
    cz_diags diags;
    cz_ir *ir;

    trial_begin(&t, seed);
    cz_diags_init(&diags, &t.arena);
    ir = random_module(&t, &diags);
    assert_non_null(ir);
    check_update(&t, ir);
    run_pass(ir, cz_simplify_pass, &diags);
    check_update(&t, ir);
    run_pass(ir, cz_cut_pass, &diags);
    check_cut(&t, ir);
    run_pass(ir, cz_kernel_pass, &diags);
    run_pass(ir, cz_workspace_pass, &diags);
    run_pass(ir, cz_flops_pass, &diags);
    check_kernels(&t, ir, &diags);
    cz_ir_close(ir);
    trial_end(&t);
}

static void test_passes_keep_bits(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= N_MODULES; seed++)
        check_module(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_passes_keep_bits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
