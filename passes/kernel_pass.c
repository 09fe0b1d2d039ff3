/* Pass: stages from math form to kernel form.
 *
 * requires: stages with functions in math form
 * provides: stages and variants with functions of maps and products, and their
 *           bodies as private functions, equal ones once
 * breaks:   the stages' functions in math form are gone */
#include "passes/kernel.h"
#include "passes/math_form.h"
#include "passes/passes.h"

#include <string.h>

typedef struct kernel_pass {
    cz_ir *ir;
    cz_arena *arena;
    cz_diags *diags;
    int n_bodies;
    cz_view_body *bodies; /* written so far */
} kernel_pass;

/* ---- bodies ---- */

static bool same_dtypes(const cz_dtype *a, const cz_dtype *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static int n_args(cz_opcode op)
{
    static const int arity[CZ_N_OPCODES] = {
#define CZ_OPCODE(tag, mlir_name, arity) arity,
#include "dsl/opcode.def"
#undef CZ_OPCODE
    };
    return arity[op];
}

static bool same_expr(const cz_view_expr *a, const cz_view_expr *b)
{
    if (a->op != b->op || a->dtype != b->dtype ||
        !cz_graph_same_constant(a->constant, b->constant))
        return false;
    for (int k = 0; k < n_args(a->op); k++)
        if (a->args[k] != b->args[k])
            return false;
    return a->op != CZ_OP_COMPARE || strcmp(a->predicate, b->predicate) == 0;
}

static bool same_body(const cz_view_body *a, const cz_view_body *b)
{
    if (a->n_in != b->n_in || a->n_exprs != b->n_exprs ||
        a->n_out != b->n_out || !same_dtypes(a->in, b->in, a->n_in) ||
        !same_dtypes(a->out_dtype, b->out_dtype, a->n_out))
        return false;
    for (int i = 0; i < a->n_exprs; i++)
        if (!same_expr(&a->exprs[i], &b->exprs[i]))
            return false;
    for (int i = 0; i < a->n_out; i++)
        if (a->out[i] != b->out[i])
            return false;
    return true;
}

static cz_ir_value write_expr(cz_ir_builder *builder, const cz_view_expr *expr,
                              const cz_ir_value *values)
{
    cz_ir_value args[3] = {{NULL}};

    for (int k = 0; k < n_args(expr->op); k++)
        args[k] = values[expr->args[k]];
    if (expr->op == CZ_OP_CONSTANT)
        return cz_ir_constant(builder, cz_ir_scalar_type(expr->dtype),
                              expr->constant);
    if (expr->op == CZ_OP_COMPARE)
        return cz_ir_compare(builder, expr->predicate, args[0], args[1]);
    return cz_ir_element(builder, expr->op, args, n_args(expr->op),
                         expr->dtype);
}

static const cz_ir_type *scalars(cz_arena *arena, const cz_dtype *dtypes, int n)
{
    cz_ir_type *types = CZ_NEW(arena, cz_ir_type, n);

    for (int i = 0; i < n; i++)
        types[i] = cz_ir_scalar_type(dtypes[i]);
    return types;
}

static void write_body(kernel_pass *pass, const cz_view_body *body)
{
    cz_arena *arena = pass->arena;
    cz_ir_value *values =
        CZ_NEW(arena, cz_ir_value, body->n_in + body->n_exprs);
    cz_ir_value *out = CZ_NEW(arena, cz_ir_value, body->n_out);
    cz_ir_signature signature = {
        .name = body->name,
        .is_private = true,
        .n_in = body->n_in,
        .n_out = body->n_out,
        .in = scalars(arena, body->in, body->n_in),
        .out = scalars(arena, body->out_dtype, body->n_out)};
    cz_ir_builder builder = cz_ir_function(pass->ir, &signature, (cz_span){0});

    for (int i = 0; i < body->n_in; i++)
        values[i] = cz_ir_function_in(builder.function, i);
    for (int i = 0; i < body->n_exprs; i++)
        values[body->n_in + i] = write_expr(&builder, &body->exprs[i], values);
    for (int i = 0; i < body->n_out; i++)
        out[i] = values[body->out[i]];
    cz_ir_return(&builder, out, body->n_out);
}

/* Name of a function equal to `body`; written as `name` if it is the first. */
static const char *find_body(kernel_pass *pass, cz_view_body body,
                             const char *name)
{
    for (int i = 0; i < pass->n_bodies; i++)
        if (same_body(&pass->bodies[i], &body))
            return pass->bodies[i].name;
    body.name = name;
    write_body(pass, &body);
    *CZ_PUSH(pass->arena, pass->bodies, pass->n_bodies) = body;
    return name;
}

/* ---- steps ---- */

static const char *step_body(kernel_pass *pass, const cz_kernel *kernel,
                             const char *stage, int number)
{
    const cz_view_step *step = &kernel->steps[number];
    const char *name;

    if (step->body < 0)
        return NULL;
    name = cz_arena_printf(pass->arena, "%s.%s%d", stage,
                           step->is_product ? "product" : "map", number);
    return find_body(pass, kernel->bodies[step->body], name);
}

static void write_step(cz_ir_builder *builder, const cz_view_step *step,
                       const char *body, const cz_ir_value *in,
                       const cz_ir_type *out, cz_ir_value *results)
{
    cz_ir_map map = {.body = body,
                     .n_in = step->n_in,
                     .in = in,
                     .access = step->access,
                     .n_out = step->n_out,
                     .out = out,
                     .out_access = step->out_access,
                     .rows = step->rows,
                     .columns = step->columns};
    cz_ir_product product = {.body = body,
                             .n_in = step->n_in,
                             .in = in,
                             .access = step->access,
                             .transpose_a = step->transpose_a,
                             .transpose_b = step->transpose_b,
                             .symmetric = step->symmetric,
                             .alpha = step->alpha,
                             .beta = step->beta,
                             .out = *out,
                             .result_offset = -1,
                             .accumulator_offset = -1};

    if (step->is_product)
        results[0] = cz_ir_build_product(builder, &product);
    else
        cz_ir_build_map(builder, &map, results);
}

static cz_ir_signature signature_of(cz_arena *arena, const cz_kernel *kernel,
                                    const char *name)
{
    cz_ir_type *out = CZ_NEW(arena, cz_ir_type, kernel->n_out);

    for (int i = 0; i < kernel->n_out; i++)
        out[i] = kernel->types[kernel->out_value[i]];
    return (cz_ir_signature){.name = name,
                             .n_in = kernel->n_in + kernel->n_scalars,
                             .n_out = kernel->n_out,
                             .in = kernel->types,
                             .out = out};
}

static void write_kernel(kernel_pass *pass, const cz_kernel *kernel,
                         const char *name, const char *const *bodies)
{
    cz_arena *arena = pass->arena;
    cz_ir_signature signature = signature_of(arena, kernel, name);
    cz_ir_builder builder = cz_ir_function(pass->ir, &signature, (cz_span){0});
    cz_ir_value *values = CZ_NEW(arena, cz_ir_value, kernel->n_values);
    cz_ir_value *out = CZ_NEW(arena, cz_ir_value, kernel->n_out);
    int next = signature.n_in;

    for (int i = 0; i < next; i++)
        values[i] = cz_ir_function_in(builder.function, i);
    for (int s = 0; s < kernel->n_steps; s++) {
        const cz_view_step *step = &kernel->steps[s];
        cz_ir_value *in = CZ_NEW(arena, cz_ir_value, step->n_in);
        for (int i = 0; i < step->n_in; i++)
            in[i] = values[step->in[i]];
        write_step(&builder, step, bodies[s], in, &kernel->types[next],
                   &values[next]);
        next += step->n_out;
    }
    for (int i = 0; i < kernel->n_out; i++)
        out[i] = values[kernel->out_value[i]];
    cz_ir_return(&builder, out, kernel->n_out);
}

/* ---- stages ---- */

static const cz_ir_type *argument_types(cz_arena *arena, cz_ir_op function,
                                        int n)
{
    cz_ir_type *types = CZ_NEW(arena, cz_ir_type, n);

    for (int i = 0; i < n; i++)
        types[i] = cz_ir_value_type(cz_ir_function_in(function, i));
    return types;
}

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
    const cz_kernel *kernel;
    const char **bodies, *stem = stem_of(arena, body), *name;

    if (!graph) {
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "stage '%s' is not in math form", stage->sym_name);
        return NULL;
    }
    kernel = cz_kernel_build(
        arena, graph, stage->ins.n, argument_types(arena, math, stage->ins.n),
        stage->scalars.n, strcmp(stage->where, "whole") != 0);
    bodies = CZ_NEW(arena, const char *, kernel->n_steps);
    for (int s = 0; s < kernel->n_steps; s++)
        bodies[s] = step_body(pass, kernel, stem, s);
    name = cz_arena_printf(arena, "%s.kernel", stem);
    write_kernel(pass, kernel, name, bodies);
    cz_ir_function_erase(math);
    return name;
}

static bool form_stage(kernel_pass *pass, int number, cz_fact_stage stage)
{
    stage.body = form_body(pass, &stage, stage.body);
    if (stage.body)
        cz_ir_replace_stage(pass->ir, number, &stage);
    return stage.body;
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
    kernel_pass pass = {.ir = ir, .arena = &arena, .diags = diags};
    const cz_fact_stage *stages, *made;
    bool ok = true;
    int n;

    cz_arena_init(&arena);
    stages = cz_ir_read_stage(ir, &arena, &n);
    for (int i = 0; i < n && ok; i++)
        ok = form_stage(&pass, i, stages[i]);
    made = cz_ir_read_stage(ir, &arena, &n);
    ok = ok && form_variants(&pass, stages, made, n);
    cz_arena_fini(&arena);
    return ok;
}
