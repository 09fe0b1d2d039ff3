/* Updates of rules: functions in math form as flat arrays of terms. */
#include "dsl/plan/build/internal.h"

#include <string.h>

enum { MAX_TERMS = 1 << 16 };

/* A function while it is read; values by number. */
typedef struct reader {
    cz_view_builder *b;
    const char *name;
    int n;
    cz_ir_value *values;
    int n_shapes, n_terms;
    cz_view_shape *shapes;
    cz_view_term *terms;
} reader;

static void add_value(reader *r, cz_ir_value value)
{
    const cz_ir_type type = cz_ir_value_type(value);
    cz_view_shape shape = {type.rank > 0 ? type.rank : 0, {1, 1}, type.dtype};

    for (int d = 0; d < shape.rank; d++)
        shape.size[d] = type.shape[d];
    *CZ_PUSH(r->b->arena, r->values, r->n) = value;
    *CZ_PUSH(r->b->arena, r->shapes, r->n_shapes) = shape;
}

/* From the newest back: operands are mostly recent. */
static int number_of(const reader *r, cz_ir_value value)
{
    int i = r->n - 1;

    while (i >= 0 && r->values[i].p != value.p)
        i--;
    return i;
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
        term.args[i] = number_of(r, cz_ir_op_operand(op, i));
        ok = term.args[i] >= 0;
    }
    if (!ok)
        return cz_view_fail(r->b, "update '%s' is not in math form", r->name);
    add_value(r, cz_ir_op_result(op, 0));
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
        add_value(&r, cz_ir_function_in(f, i));
    for (cz_ir_op op = cz_ir_first_op(f); cz_ir_op_kind(op) != CZ_IR_RETURN;
         op = cz_ir_next_op(op))
        if (!read_term(&r, op))
            return false;
    const int n_out = cz_ir_function_n_out(f);
    int *out = CZ_NEW(b->arena, int, n_out);
    for (int i = 0; i < n_out; i++)
        out[i] = number_of(&r, cz_ir_function_out(f, i));
    *update = (cz_view_update){r.n - r.n_terms, r.n_terms, n_out,
                               r.terms,         r.shapes,  out};
    return true;
}

bool cz_view_read_updates(cz_view_builder *b)
{
    union {
        const cz_view_rule *given;
        cz_view_rule *made;
    } rules = {.given = b->view->rules};

    for (int i = 0; b->view->arena && i < b->view->n_rules; i++) {
        cz_view_rule *rule = &rules.made[i];
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
