/* Functions without steps as flat arrays: bodies of maps and prologues, of
 * scalars alone, and the updates of rules, in math form. */
#include "dsl/plan/build/internal.h"

#include <string.h>

enum { MAX_EXPRS = 1 << 14, MAX_TERMS = 1 << 16 };

/* Values of one function by number.  Lookup goes from the newest back, since
 * operands are mostly recent. */
typedef struct value_list {
    int n;
    cz_ir_value *list;
} value_list;

static void add_value(cz_view_builder *b, value_list *values, cz_ir_value value)
{
    *CZ_PUSH(b->arena, values->list, values->n) = value;
}

static int number_of(const value_list *values, cz_ir_value value)
{
    int i = values->n - 1;
    while (i >= 0 && values->list[i].p != value.p)
        i--;
    return i;
}

/* ---- bodies ---- */

static bool is_known_predicate(const char *predicate)
{
    static const char *const known[] = {"oeq", "ogt", "oge",
                                        "olt", "ole", "une"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], predicate) == 0)
            return true;
    return false;
}

static bool read_expr(cz_view_builder *b, const char *name, cz_ir_op op,
                      const value_list *values, cz_view_expr *expr)
{
    const cz_ir_type type = cz_ir_value_type(cz_ir_op_result(op, 0));
    const int n = cz_ir_op_n_operands(op);

    const char *of = cz_ir_op_value_name(op);
    expr->op = cz_ir_op_opcode(op);
    expr->name = of ? cz_arena_copy(b->arena, of, strlen(of)) : NULL;
    expr->dtype = type.dtype;
    if (type.rank != CZ_IR_SCALAR)
        return cz_view_fail(b, "body '%s' computes with tensors", name);
    for (int i = 0; i < n && i < 3; i++)
        expr->args[i] = number_of(values, cz_ir_op_operand(op, i));
    if (expr->op == CZ_OP_CONSTANT)
        cz_ir_op_constant(op, &expr->constant);
    if (expr->op != CZ_OP_COMPARE)
        return true;
    expr->dtype = cz_ir_value_type(cz_ir_op_operand(op, 0)).dtype;
    expr->predicate = cz_ir_op_predicate(op);
    return is_known_predicate(expr->predicate) ||
           cz_view_fail(b, "body '%s' compares with '%s'", name,
                        expr->predicate);
}

static bool read_exprs(cz_view_builder *b, cz_ir_op function,
                       value_list *values, cz_view_body *body)
{
    cz_view_expr *exprs = NULL;
    for (cz_ir_op op = cz_ir_first_op(function);
         cz_ir_op_kind(op) != CZ_IR_RETURN; op = cz_ir_next_op(op)) {
        if (cz_ir_op_kind(op) != CZ_IR_ELEMENT)
            return cz_view_fail(b, "body '%s' does more than arithmetic",
                                body->name);
        if (body->n_exprs == MAX_EXPRS)
            return cz_view_fail(b, "body '%s' is too long", body->name);
        cz_view_expr *expr = CZ_PUSH(b->arena, exprs, body->n_exprs);
        if (!read_expr(b, body->name, op, values, expr))
            return false;
        add_value(b, values, cz_ir_op_result(op, 0));
    }
    body->exprs = exprs;
    return true;
}

static bool read_inputs(cz_view_builder *b, cz_ir_op function,
                        value_list *values, cz_view_body *body)
{
    body->n_in = cz_ir_function_n_in(function);
    cz_dtype *in = CZ_NEW(b->arena, cz_dtype, body->n_in);
    for (int i = 0; i < body->n_in; i++) {
        const cz_ir_value value = cz_ir_function_in(function, i);
        const cz_ir_type type = cz_ir_value_type(value);
        if (type.rank != CZ_IR_SCALAR || type.is_bool)
            return cz_view_fail(b, "body '%s' takes more than numbers",
                                body->name);
        in[i] = type.dtype;
        add_value(b, values, value);
    }
    body->in = in;
    return true;
}

static bool read_outputs(cz_view_builder *b, cz_ir_op function,
                         const value_list *values, cz_view_body *body)
{
    body->n_out = cz_ir_function_n_out(function);
    int *out = CZ_NEW(b->arena, int, body->n_out);
    cz_dtype *dtypes = CZ_NEW(b->arena, cz_dtype, body->n_out);
    for (int i = 0; i < body->n_out; i++) {
        const cz_ir_type type = cz_ir_function_out_type(function, i);
        if (type.is_bool)
            return cz_view_fail(b, "body '%s' returns more than numbers",
                                body->name);
        out[i] = number_of(values, cz_ir_function_out(function, i));
        dtypes[i] = type.dtype;
    }
    body->out = out;
    body->out_dtype = dtypes;
    return true;
}

static int find_body(const cz_view_builder *b, const char *name)
{
    int i = b->view->n_bodies - 1;
    while (i >= 0 && strcmp(b->bodies[i].name, name) != 0)
        i--;
    return i;
}

bool cz_view_read_body(cz_view_builder *b, const char *name, int *number)
{
    cz_ir_op function;
    value_list values = {0};
    cz_view_body body = {.name = cz_arena_copy(b->arena, name, strlen(name))};

    *number = find_body(b, name);
    if (*number >= 0)
        return true;
    if (!cz_view_find_function(b, name, &function) ||
        !read_inputs(b, function, &values, &body) ||
        !read_exprs(b, function, &values, &body) ||
        !read_outputs(b, function, &values, &body))
        return false;
    *number = b->view->n_bodies;
    *CZ_PUSH(b->arena, b->bodies, b->view->n_bodies) = body;
    return true;
}

/* ---- updates ---- */

/* A function while it is read; values by number. */
typedef struct reader {
    cz_view_builder *b;
    const char *name;
    value_list values;
    int n_shapes, n_terms;
    cz_view_shape *shapes;
    cz_view_term *terms;
} reader;

static void add_shaped(reader *r, cz_ir_value value)
{
    const cz_ir_type type = cz_ir_value_type(value);
    cz_view_shape shape = {type.rank > 0 ? type.rank : 0, {1, 1}, type.dtype};

    for (int d = 0; d < shape.rank; d++)
        shape.size[d] = type.shape[d];
    add_value(r->b, &r->values, value);
    *CZ_PUSH(r->b->arena, r->shapes, r->n_shapes) = shape;
}

static uint32_t dims_of(const reader *r, cz_ir_op op)
{
    const cz_ints dims = cz_ir_op_ints(op, "dims", r->b->arena);
    uint32_t set = 0;

    for (int i = 0; i < dims.n; i++)
        set |= (uint32_t)1 << dims.v[i];
    return set;
}

static void read_element(cz_ir_op op, cz_view_term *term)
{
    term->kind = CZ_TERM_ELEMENT;
    term->opcode = (int)cz_ir_op_opcode(op);
    if (term->opcode == CZ_OP_CONSTANT)
        cz_ir_op_constant(op, &term->constant);
    if (term->opcode == CZ_OP_COMPARE)
        term->predicate = cz_ir_op_predicate(op);
}

static void read_factor(const reader *r, cz_ir_op op, cz_view_term *term)
{
    term->kind = CZ_TERM_FACTOR;
    term->factor = cz_factor_find(cz_ir_op_string(op, "factor"));
    term->result = (int)cz_ir_op_int(op, "result");
    term->parameters = cz_ir_op_reals(op, "parameters", r->b->arena).v;
}

/* All but the arguments; false for what is no math form. */
static bool read_kind(const reader *r, cz_ir_op op, cz_view_term *term)
{
    switch (cz_ir_op_kind(op)) {
    case CZ_IR_ELEMENT:
        read_element(op, term);
        return true;
    case CZ_IR_SPLAT:
        term->kind = CZ_TERM_SPLAT;
        return true;
    case CZ_IR_MATMUL:
        term->kind = CZ_TERM_MATMUL;
        return true;
    case CZ_IR_TRANSPOSE:
        term->kind = CZ_TERM_TRANSPOSE;
        return true;
    case CZ_IR_INDEX:
        term->kind = CZ_TERM_INDEX;
        return true;
    case CZ_IR_REDUCE:
        term->kind = CZ_TERM_REDUCE;
        term->dims = dims_of(r, op);
        term->largest = strcmp(cz_ir_op_string(op, "kind"), "max") == 0;
        return true;
    case CZ_IR_BROADCAST:
        term->kind = CZ_TERM_BROADCAST;
        term->dims = dims_of(r, op);
        return true;
    case CZ_IR_FACTOR:
        read_factor(r, op, term);
        return true;
    case CZ_IR_MAP:
    case CZ_IR_PRODUCT:
    case CZ_IR_CALL:
    case CZ_IR_RETURN:
    case CZ_IR_OTHER:
        break;
    }
    return false;
}

static bool read_term(reader *r, cz_ir_op op)
{
    cz_view_term term = {.n_args = cz_ir_op_n_operands(op)};
    bool ok = read_kind(r, op, &term) && term.n_args <= CZ_VIEW_TERM_ARGS &&
              r->n_terms < MAX_TERMS;

    for (int i = 0; ok && i < term.n_args; i++) {
        term.args[i] = number_of(&r->values, cz_ir_op_operand(op, i));
        ok = term.args[i] >= 0;
    }
    if (!ok)
        return cz_view_fail(r->b, "update '%s' is not in math form", r->name);
    add_shaped(r, cz_ir_op_result(op, 0));
    *CZ_PUSH(r->b->arena, r->terms, r->n_terms) = term;
    return true;
}

static bool read_update(cz_view_builder *b, const char *name,
                        cz_view_update *update)
{
    reader r = {.b = b, .name = name};
    cz_ir_op f;

    if (!cz_view_find_function(b, name, &f))
        return false;
    for (int i = 0; i < cz_ir_function_n_in(f); i++)
        add_shaped(&r, cz_ir_function_in(f, i));
    for (cz_ir_op op = cz_ir_first_op(f); cz_ir_op_kind(op) != CZ_IR_RETURN;
         op = cz_ir_next_op(op))
        if (!read_term(&r, op))
            return false;
    const int n_out = cz_ir_function_n_out(f);
    int *out = CZ_NEW(b->arena, int, n_out);
    for (int i = 0; i < n_out; i++)
        out[i] = number_of(&r.values, cz_ir_function_out(f, i));
    *update = (cz_view_update){
        r.values.n - r.n_terms, r.n_terms, n_out, r.terms, r.shapes, out};
    return true;
}

bool cz_view_read_updates(cz_view_builder *b)
{
    for (int i = 0; b->view->arena && i < b->view->n_rules; i++) {
        cz_view_rule *rule = &b->rules[i];
        const int n = rule->n_phases > 0 ? rule->n_phases : 1;
        cz_view_update *updates = CZ_NEW(b->arena, cz_view_update, n);
        for (int p = 0; p < n; p++)
            if (!read_update(b,
                             rule->n_phases > 0 ? rule->phases[p].fact->update
                                                : rule->fact->update,
                             &updates[p]))
                return false;
        rule->updates = updates;
    }
    return true;
}
