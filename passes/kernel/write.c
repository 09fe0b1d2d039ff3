/* Kernel form into the module. */
#include "passes/kernel/write.h"

#include "passes/graph/graph.h"

#include <string.h>

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
#include "dsl/vocab/opcode.def"
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

    builder->name = expr->name;
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

static void write_body(cz_kernel_writer *writer, const cz_view_body *body)
{
    cz_arena *arena = writer->arena;
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
    cz_ir_builder builder =
        cz_ir_function(writer->ir, &signature, (cz_span){0});

    for (int i = 0; i < body->n_in; i++)
        values[i] = cz_ir_function_in(builder.function, i);
    for (int i = 0; i < body->n_exprs; i++)
        values[body->n_in + i] = write_expr(&builder, &body->exprs[i], values);
    for (int i = 0; i < body->n_out; i++)
        out[i] = values[body->out[i]];
    cz_ir_return(&builder, out, body->n_out);
}

/* ---- steps ---- */

static const char *step_body(cz_kernel_writer *writer, const cz_kernel *kernel,
                             const char *stage, int number)
{
    const cz_view_step *step = &kernel->steps[number];
    const char *name;

    if (step->body < 0)
        return NULL;
    name = cz_arena_printf(writer->arena, "%s.%s%d", stage,
                           step->is_product ? "product" : "map", number);
    /* Name of a function equal to `body`; written as `name` if it is the first.
     */
    cz_view_body body = kernel->bodies[step->body];
    for (int i = 0; i < writer->n_bodies; i++)
        if (same_body(&writer->bodies[i], &body))
            return writer->bodies[i].name;
    body.name = name;
    write_body(writer, &body);
    *CZ_PUSH(writer->arena, writer->bodies, writer->n_bodies) = body;
    return name;
}

/* What most steps do without. */
static void write_extras(cz_arena *arena, cz_ir_op op, const cz_view_step *step)
{
    const int64_t blocks[] = {step->blocks.rows > 1 ? step->blocks.rows : 1,
                              step->blocks.columns > 1 ? step->blocks.columns
                                                       : 1,
                              step->blocks.inner > 1 ? step->blocks.inner : 1};

    if (step->n_generated > 0) {
        int64_t *numbers = CZ_NEW(arena, int64_t, step->n_generated);

        for (int i = 0; i < step->n_generated; i++)
            numbers[i] = step->generated[i];
        cz_ir_op_set_ints(op, "generated",
                          (cz_ints){numbers, step->n_generated});
    }
    if (blocks[0] * blocks[1] * blocks[2] > 1)
        cz_ir_op_set_ints(op, "blocks", (cz_ints){blocks, 3});
    if (step->segment > 0)
        cz_ir_op_set_int(op, "segment", step->segment);
    if (step->partial)
        cz_ir_op_set_int(op, "partial", step->partial);
    if (step->scatter)
        cz_ir_op_set_int(op, "scatter", 1);
    if (step->partition > 1)
        cz_ir_op_set_int(op, "deal", step->partition);
    if (step->band > 0)
        cz_ir_op_set_int(op, "band", step->band);
    if (step->narrow)
        cz_ir_op_set_int(op, "narrow", 1);
}

static void write_step(cz_arena *arena, cz_ir_builder *builder,
                       const cz_view_step *step, const char *body,
                       const cz_ir_value *in, const cz_ir_type *out,
                       cz_ir_value *results)
{
    cz_ir_map map = {.body = body,
                     .n_in = step->n_in,
                     .in = in,
                     .access = step->access,
                     .n_out = step->n_out,
                     .out = out,
                     .out_access = step->out_access,
                     .rows = cz_view_all_rows(step),
                     .columns = step->columns,
                     .offsets = step->offsets};
    cz_ir_product product = {
        .body = body,
        .n_in = step->n_in,
        .in = in,
        .access = step->access,
        .transpose_a = step->transpose_a,
        .transpose_b = step->transpose_b,
        .symmetric = step->symmetric,
        .alpha = step->alpha,
        .beta = step->beta,
        .out = *out,
        .result_offset = step->offsets ? step->offsets[0] : -1,
        .accumulator_offset = step->offsets ? step->offsets[1] : -1};

    if (step->factor)
        cz_ir_build_call(
            builder,
            &(cz_ir_call){step->factor, step->parameters, in, step->offsets},
            results);
    else if (step->is_product)
        results[0] = cz_ir_build_product(builder, &product);
    else
        cz_ir_build_map(builder, &map, results);
    write_extras(arena, cz_ir_value_op(results[0]), step);
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

void cz_kernel_write(cz_kernel_writer *writer, const cz_kernel *kernel,
                     const char *stem, const char *name)
{
    cz_arena *arena = writer->arena;
    cz_ir_signature signature = signature_of(arena, kernel, name);
    cz_ir_value *values = CZ_NEW(arena, cz_ir_value, kernel->n_values);
    const char **bodies = CZ_NEW(arena, const char *, kernel->n_steps);
    cz_ir_value *out = CZ_NEW(arena, cz_ir_value, kernel->n_out);
    int next = signature.n_in;

    for (int s = 0; s < kernel->n_steps; s++)
        bodies[s] = step_body(writer, kernel, stem, s);
    cz_ir_builder builder =
        cz_ir_function(writer->ir, &signature, (cz_span){0});
    for (int i = 0; i < next; i++)
        values[i] = cz_ir_function_in(builder.function, i);
    for (int s = 0; s < kernel->n_steps; s++) {
        const cz_view_step *step = &kernel->steps[s];
        cz_ir_value *in = CZ_NEW(arena, cz_ir_value, step->n_in);
        for (int i = 0; i < step->n_in; i++)
            in[i] = values[step->in[i]];
        write_step(arena, &builder, step, bodies[s], in, &kernel->types[next],
                   &values[next]);
        next += step->n_out;
    }
    for (int i = 0; i < kernel->n_out; i++)
        out[i] = values[kernel->out_value[i]];
    cz_ir_return(&builder, out, kernel->n_out);
}
