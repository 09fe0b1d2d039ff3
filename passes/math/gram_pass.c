/* Pass: polynomial iterations in x x' by way of the Gram matrix.
 *
 * requires: functions in math form, nothing twice
 * provides: update functions in which `form` has put iterations in Gram form,
 *           and a `rewrite` that says so of each
 * breaks:   bits, but not the mathematics: rounding differs.  That of bf16
 *           iterates, in f16 or with f32 square matrices, is less than in the
 *           formula's form; that of f32 ones, made anew every CZ_GRAM_SEGMENT
 *           rows, up to three times as much where small singular values matter
 *           (tests/numbers/oracle_form.py).
 * So `auto` takes f32 ones where a tolerance admits it alone, and either where
 * it is predicted to be quicker.  It never takes f16, which CPUs multiply
 * slower than bf16; cz_gram_time() says what that would gain on a GPU. */
#include "dsl/plan/error_bound.h"
#include "dsl/ir/mlir.h"
#include "passes/math/gram.h"
#include "passes/math/graph_cost.h"
#include "passes/graph/math_form.h"
#include "passes/passes.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

typedef struct gram_pass {
    cz_ir *ir;
    cz_arena *arena;
    const cz_fact_policy *policy;
    bool has_machine, is_strict;
    cz_machine machine;
} gram_pass;

/* ---- which ---- */

static bool is_better(const gram_pass *pass, const cz_graph_cost *before,
                      const cz_graph_cost *after)
{
    if (pass->policy->form == CZ_ITERATION_AUTO && pass->has_machine)
        return after->time_ps < before->time_ps;
    return after->flops < before->flops;
}

static bool is_precise(const gram_pass *pass, const cz_graph *graph,
                       const cz_gram_chain *chain)
{
    return pass->policy->form == CZ_ITERATION_GRAM ||
           graph->nodes[chain->first].type.dtype == CZ_BF16 ||
           cz_error_admits_gram(pass->policy);
}

static cz_graph_cost cost_of(gram_pass *pass, const cz_graph *graph)
{
    return cz_graph_cost_of(pass->arena, graph,
                            pass->has_machine ? &pass->machine : NULL,
                            pass->is_strict);
}

/* Keeps the chains that are worth it; how many. */
static int choose(gram_pass *pass, const cz_graph *graph, cz_gram_chain *chains,
                  int n, const cz_graph_cost *before)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        cz_graph_cost after;
        if (pass->policy->form != CZ_ITERATION_GRAM)
            chains[i].inner = CZ_F32;
        if (!is_precise(pass, graph, &chains[i]))
            continue;
        after =
            cost_of(pass, cz_gram_rewrite(pass->arena, graph, &chains[i], 1));
        if (is_better(pass, before, &after))
            chains[kept++] = chains[i];
    }
    return kept;
}

/* ---- writing back ---- */

/* The function of the same name, place and type, with this graph. */
static void replace(gram_pass *pass, cz_ir_op function, const cz_graph *graph,
                    int n_in, int n_scalars)
{
    const char *name =
        cz_arena_printf(pass->arena, "%s", cz_ir_function_name(function));
    cz_ir_type *in = CZ_NEW(pass->arena, cz_ir_type, n_in);
    for (int i = 0; i < n_in; i++)
        in[i] = cz_ir_value_type(cz_ir_function_in(function, i));
    const MlirOperation made = cz_ir_op_mlir(cz_math_form_write(
        pass->ir, graph, cz_arena_printf(pass->arena, "%s.gram", name), in,
        n_in, n_scalars));
    mlirOperationMoveBefore(made, cz_ir_op_mlir(function));
    cz_ir_function_erase(function);
    mlirOperationSetAttributeByName(
        made, mlirStringRefCreateFromCString("sym_name"),
        mlirStringAttrGet(cz_ir_context(pass->ir),
                          mlirStringRefCreateFromCString(name)));
}

static void rewrite(gram_pass *pass, const char *update)
{
    const cz_ir_op function = cz_ir_find_function(pass->ir, update);
    const cz_graph *graph =
        function.p ? cz_math_form_read(pass->arena, function) : NULL;
    int n = 0;
    cz_gram_chain *chains = graph ? cz_gram_find(pass->arena, graph, &n) : NULL;
    if (n == 0)
        return;
    const cz_graph_cost before = cost_of(pass, graph);
    n = choose(pass, graph, chains, n, &before);
    if (n == 0)
        return;
    graph = cz_gram_rewrite(pass->arena, graph, chains, n);
    int n_tensors = 0;
    for (int i = 0; i < cz_ir_function_n_in(function); i++)
        n_tensors += cz_ir_value_type(cz_ir_function_in(function, i)).rank !=
                     CZ_IR_SCALAR;
    /* The graph's nodes name operations that are replaced. */
    const int64_t after = cost_of(pass, graph).flops;
    replace(pass, function, graph, n_tensors,
            cz_ir_function_n_in(function) - n_tensors);
    cz_ir_add_rewrite(pass->ir, &(cz_fact_rewrite){.update = update,
                                                   .name = "gram",
                                                   .count = n,
                                                   .before = before.flops,
                                                   .after = after});
}

/* ---- all updates ---- */

static void rewrite_all(gram_pass *pass)
{
    int n_rules, n_phases;
    const cz_fact_rule *rules =
        cz_ir_read_rule(pass->ir, pass->arena, &n_rules);
    const cz_fact_phase *phases =
        cz_ir_read_phase(pass->ir, pass->arena, &n_phases);
    for (int i = 0; i < n_rules; i++)
        if (rules[i].shape.n == CZ_IR_MAX_RANK)
            rewrite(pass, rules[i].update);
    /* The first phase of a rule has its update. */
    for (int i = 0; i < n_phases; i++)
        if (cz_ir_find_function(pass->ir, phases[i].update).p)
            rewrite(pass, phases[i].update);
}

/* False: it has no policy. */
static bool open(gram_pass *pass)
{
    cz_plan_view view = {0};
    int n_programs, n_policies, n_machines;
    cz_ir *ir = pass->ir;
    cz_arena *arena = pass->arena;

    const cz_fact_program *program = cz_ir_read_program(ir, arena, &n_programs);
    pass->is_strict = n_programs > 0 && program->strict;
    pass->policy = cz_ir_read_policy(ir, arena, &n_policies);
    view.machine = cz_ir_read_machine(ir, arena, &n_machines);
    if (n_machines == 0)
        view.machine = NULL;
    pass->has_machine = cz_machine_of(arena, &view, &pass->machine);
    return n_policies > 0;
}

bool cz_gram_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    gram_pass pass = {.ir = ir, .arena = &arena};

    (void)diags;
    cz_arena_init(&arena);
    if (open(&pass) && pass.policy->form != CZ_ITERATION_STANDARD)
        rewrite_all(&pass);
    cz_arena_fini(&arena);
    return true;
}

bool cz_gram_time(cz_ir *ir, const char *update, int64_t *before,
                  int64_t *after)
{
    cz_arena arena;
    gram_pass pass = {.ir = ir, .arena = &arena};
    int n = 0;

    cz_arena_init(&arena);
    const cz_ir_op function = cz_ir_find_function(ir, update);
    const cz_graph *graph =
        function.p ? cz_math_form_read(&arena, function) : NULL;
    cz_gram_chain *chains = graph ? cz_gram_find(&arena, graph, &n) : NULL;
    for (int i = n - 1; i >= 0; i--)
        if (chains[i].inner != CZ_F16)
            chains[i] = chains[--n];
    const bool is_found = open(&pass) && pass.has_machine && n > 0 &&
                          pass.policy->form == CZ_ITERATION_AUTO;
    if (is_found) {
        *before = cost_of(&pass, graph).time_ps;
        *after =
            cost_of(&pass, cz_gram_rewrite(&arena, graph, chains, n)).time_ps;
    }
    cz_arena_fini(&arena);
    return is_found;
}
