/* Pass: stages from math form to kernel form.
 *
 * requires: stages with functions in math form
 * provides: stages and variants with functions of maps and products, and their
 *           bodies as private functions, equal ones once
 * breaks:   the stages' functions in math form are gone */
#include "passes/kernel/kernel.h"
#include "passes/kernel/write.h"
#include "passes/graph/math_form.h"
#include "passes/passes.h"

#include "dsl/plan/state.h"

#include <string.h>

typedef struct kernel_pass {
    cz_ir *ir;
    cz_arena *arena;
    cz_diags *diags;
    const cz_fact_rule *rules;
    int n_rules;
    bool is_strict;
    cz_kernel_writer writer;
} kernel_pass;

/* ---- stages ---- */

static const cz_ir_type *argument_types(cz_arena *arena, cz_ir_op function,
                                        int n)
{
    cz_ir_type *types = CZ_NEW(arena, cz_ir_type, n);

    for (int i = 0; i < n; i++)
        types[i] = cz_ir_value_type(cz_ir_function_in(function, i));
    return types;
}

/* The input whose place an output takes, or -1. */
static int *find_renewed(cz_arena *arena, const cz_fact_stage *stage)
{
    int *renews = CZ_NEW(arena, int, stage->outs.n);

    for (int i = 0; i < stage->outs.n; i++) {
        renews[i] = -1;
        for (int k = 0; k < stage->ins.n; k++)
            if (strcmp(stage->outs.v[i], stage->ins.v[k]) == 0)
                renews[i] = k;
    }
    return renews;
}

/* ---- states that stay symmetric ---- */

/* NULL: its lists are no lists of its states. */
static const cz_fact_rule *rule_of(kernel_pass *pass,
                                   const cz_fact_stage *stage)
{
    for (int i = 0; i < pass->n_rules; i++)
        if (strcmp(pass->rules[i].sym_name, stage->rule) == 0 &&
            cz_states_are_listed(&pass->rules[i]))
            return &pass->rules[i];
    return NULL;
}

/* Whether the slot is that of such a state. */
static bool stays_symmetric(kernel_pass *pass, const cz_fact_rule *rule,
                            const char *slot)
{
    for (int i = 0; rule && i < rule->states.n; i++)
        if (rule->state_symmetric.v[i] &&
            strcmp(slot, cz_arena_printf(pass->arena, "state:%d", i)) == 0)
            return true;
    return false;
}

static const bool *find_symmetric(kernel_pass *pass, const cz_fact_stage *stage)
{
    const cz_fact_rule *rule = rule_of(pass, stage);
    bool *symmetric = CZ_NEW(pass->arena, bool, stage->ins.n);

    for (int i = 0; i < stage->ins.n; i++)
        symmetric[i] = stays_symmetric(pass, rule, stage->ins.v[i]);
    return symmetric;
}

/* ---- bodies ---- */

/* "R.whole.math" or "R.whole.phase1.math", without its end. */
static const char *stem_of(cz_arena *arena, const char *body)
{
    static const char end[] = ".math";
    const size_t n = strlen(body), n_end = sizeof end - 1;
    const bool has_end = n > n_end && strcmp(body + n - n_end, end) == 0;

    return cz_arena_copy(arena, body, has_end ? n - n_end : n);
}

/* The function of a stage, or of it in one phase; NULL after reporting. */
static const char *form_body(kernel_pass *pass, const cz_fact_stage *stage,
                             const char *body)
{
    cz_arena *arena = pass->arena;
    cz_ir_op math = cz_ir_find_function(pass->ir, body);
    const cz_graph *graph = math.p ? cz_math_form_read(arena, math) : NULL;
    const bool is_whole = stage->where == CZ_WHERE_FULL_MATRIX;
    const char *stem = stem_of(arena, body), *name;

    if (!graph) {
        if (math.p && cz_math_form_is_long(math))
            cz_diag_error(pass->diags, CZ_TOO_LARGE, (cz_span){0},
                          "rule '%s' unrolls to more than %d operations on "
                          "tensors",
                          stage->rule, CZ_MATH_FORM_MAX_OPS);
        else
            cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                          "stage '%s' is not in math form", stage->sym_name);
        return NULL;
    }
    cz_kernel *kernel = cz_kernel_build(
        arena, graph, stage->ins.n, argument_types(arena, math, stage->ins.n),
        stage->scalars.n, !is_whole, find_symmetric(pass, stage),
        pass->is_strict);
    /* What the rule's fact says holds only if no stage breaks it. */
    const cz_fact_rule *rule = rule_of(pass, stage);

    for (int i = 0; i < stage->outs.n; i++)
        if (stays_symmetric(pass, rule, stage->outs.v[i]) &&
            !kernel->out_symmetric[i]) {
            cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                          "stage '%s' does not keep '%s' symmetric, as its "
                          "rule says",
                          stage->sym_name, stage->outs.v[i]);
            return NULL;
        }
    if (is_whole)
        cz_kernel_renew(arena, kernel, find_renewed(arena, stage));
    name = cz_arena_printf(arena, "%s.kernel", stem);
    cz_kernel_write(&pass->writer, kernel, stem, name);
    cz_ir_function_erase(math);
    return name;
}

/* ---- variants ---- */

/* The stage or the variant before number `n` that has this body, formed. */
static const char *find_formed(const cz_fact_stage *stage,
                               const cz_fact_variant *variants,
                               const char *const *formed, int n,
                               const char *body, const char *stage_body)
{
    if (strcmp(stage->body, body) == 0)
        return stage_body;
    for (int i = 0; i < n; i++)
        if (strcmp(variants[i].body, body) == 0)
            return formed[i];
    return NULL;
}

/* All variants; stages[i] as they were, made[i] as they are. */
static bool form_variants(kernel_pass *pass, const cz_fact_stage *stages,
                          const cz_fact_stage *made, int n_stages)
{
    int n;
    const cz_fact_variant *variants =
        cz_ir_read_variant(pass->ir, pass->arena, &n);
    const char **formed = CZ_NEW(pass->arena, const char *, n);

    for (int i = 0; i < n; i++) {
        cz_fact_variant variant = variants[i];
        int s = 0;
        while (s < n_stages && strcmp(stages[s].sym_name, variant.stage) != 0)
            s++;
        if (s < n_stages)
            formed[i] = find_formed(&stages[s], variants, formed, i,
                                    variant.body, made[s].body);
        if (s < n_stages && !formed[i])
            formed[i] = form_body(pass, &stages[s], variant.body);
        if (!formed[i])
            return false;
        variant.body = formed[i];
        cz_ir_replace_variant(pass->ir, i, &variant);
    }
    return true;
}

bool cz_kernel_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    kernel_pass pass = {.ir = ir,
                        .arena = &arena,
                        .diags = diags,
                        .writer = {.ir = ir, .arena = &arena}};
    const cz_fact_stage *stages, *made;
    bool ok = true;
    int n;

    cz_arena_init(&arena);
    int n_programs;
    const cz_fact_program *program =
        cz_ir_read_program(ir, &arena, &n_programs);
    pass.is_strict = n_programs > 0 && program->strict;
    pass.rules = cz_ir_read_rule(ir, &arena, &pass.n_rules);
    stages = cz_ir_read_stage(ir, &arena, &n);
    for (int i = 0; i < n && ok; i++) {
        cz_fact_stage stage = stages[i];
        stage.body = form_body(&pass, &stage, stage.body);
        if (stage.body)
            cz_ir_replace_stage(pass.ir, i, &stage);
        ok = stage.body;
    }
    made = cz_ir_read_stage(ir, &arena, &n);
    ok = ok && form_variants(&pass, stages, made, n);
    cz_arena_fini(&arena);
    return ok;
}
