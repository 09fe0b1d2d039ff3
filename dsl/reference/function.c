/* The interpreter of math form: a function's operations, one after the other,
 * each on whole tensors. */
#include "dsl/reference/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A result that somebody else's stands for, and the value that it is but for
 * transposes. */
typedef struct settled {
    int result;
    cz_ir_value value;
    bool turns;
    const double *given;
    double *computed; /* as the result lies; NULL until then */
} settled;

/* What is known while one function runs. */
typedef struct frame {
    cz_arena arena;
    bool round;
    cz_reference_noise noise;
    int64_t count; /* elements of tensors of an element-wise function; or 0 */
    int n_settled;
    struct settled *settled;
    int n;
    struct known {
        cz_ir_value value;
        const double *data;
        bool
            is_constant; /* computed from constants alone, element by element */
    } * known;
} frame;

static int64_t elements_of(const frame *f, cz_ir_type type)
{
    int64_t n = 1;
    if (type.rank > 0 && f->count > 0)
        return f->count;
    for (int i = 0; i < type.rank; i++)
        n *= type.shape[i];
    return n;
}

static void bind(frame *f, cz_ir_value value, const double *data,
                 bool is_constant)
{
    *CZ_PUSH(&f->arena, f->known, f->n) =
        (struct known){value, data, is_constant};
}

static const struct known *find(const frame *f, cz_ir_value value)
{
    int i = f->n - 1;
    while (i >= 0 && f->known[i].value.p != value.p)
        i--;
    assert(i >= 0);
    return &f->known[i];
}

static const double *data_of(const frame *f, cz_ir_value value)
{
    return find(f, value)->data;
}

static bool is_exact(const frame *f, cz_ir_op truncate)
{
    const cz_dtype dtype = cz_ir_value_type(cz_ir_op_result(truncate, 0)).dtype;
    const double x = *data_of(f, cz_ir_op_operand(truncate, 0));
    return cz_reference_round(dtype, x) == x;
}

static const struct known *operand(const frame *f, cz_ir_op op, int i)
{
    return find(f, cz_ir_op_operand(op, i));
}

/* Whether simplification knows the result, which then is one number: it folds
 * arithmetic and a choice between equals, but no comparison of tensors and no
 * TRUNCATE that loses bits. */
static bool is_constant(const frame *f, cz_ir_op op)
{
    const cz_ir_kind kind = cz_ir_op_kind(op);
    if (kind == CZ_IR_SPLAT)
        return operand(f, op, 0)->is_constant;
    if (kind != CZ_IR_ELEMENT)
        return false;
    const cz_opcode opcode = cz_ir_op_opcode(op);
    for (int i = opcode == CZ_OP_SELECT; i < cz_ir_op_n_operands(op); i++)
        if (!operand(f, op, i)->is_constant)
            return false;
    if (opcode == CZ_OP_SELECT)
        return memcmp(operand(f, op, 1)->data, operand(f, op, 2)->data,
                      sizeof(double)) == 0;
    return opcode != CZ_OP_COMPARE &&
           (opcode != CZ_OP_TRUNCATE || is_exact(f, op));
}

/* ---- operations ---- */

/* Whether the operation only takes back an EXTEND: f32 values are held in
 * float64, and what nothing was computed with is not rounded. */
static bool takes_back(cz_ir_op op)
{
    if (cz_ir_op_opcode(op) != CZ_OP_TRUNCATE)
        return false;
    const cz_ir_op from = cz_ir_value_op(cz_ir_op_operand(op, 0));
    return from.p && cz_ir_op_kind(from) == CZ_IR_ELEMENT &&
           cz_ir_op_opcode(from) == CZ_OP_EXTEND &&
           cz_ir_value_type(cz_ir_op_operand(from, 0)).dtype ==
               cz_ir_value_type(cz_ir_op_result(op, 0)).dtype;
}

/* What may be folded at compile time is rounded always, as folding does. */
static void run_element(frame *f, cz_ir_op op, double *out, int64_t n)
{
    const int n_in = cz_ir_op_n_operands(op);
    const double *in[3] = {0};
    cz_reference_op what = {.op = cz_ir_op_opcode(op),
                            .round = f->round && !takes_back(op)};

    if (what.op == CZ_OP_CONSTANT) {
        double value = 0.0;
        cz_ir_op_constant(op, &value);
        for (int64_t i = 0; i < n; i++)
            out[i] = value;
        return;
    }
    for (int i = 0; i < 3; i++)
        in[i] = data_of(f, cz_ir_op_operand(op, i < n_in ? i : 0));
    what.dtype = cz_ir_value_type(cz_ir_op_result(op, 0)).dtype;
    if (what.op == CZ_OP_COMPARE)
        what.predicate = cz_ir_op_predicate(op);
    const bool folds = is_constant(f, op);
    for (int64_t i = 0; i < n; i++) {
        out[i] = cz_reference_apply(&what, in[0][i], in[1][i], in[2][i]);
        if (folds)
            out[i] = cz_reference_round(what.dtype, out[i]);
        else if (what.dtype == CZ_F32)
            out[i] = cz_reference_scatter(&f->noise, out[i]);
    }
}

static void run_matmul(frame *f, cz_ir_op op, double *out)
{
    const cz_ir_type a = cz_ir_value_type(cz_ir_op_operand(op, 0));
    const cz_ir_type b = cz_ir_value_type(cz_ir_op_operand(op, 1));
    const double *left = data_of(f, cz_ir_op_operand(op, 0));
    const double *right = data_of(f, cz_ir_op_operand(op, 1));

    if (f->noise.state)
        cz_reference_matmul_noisy(&f->noise, left, right, out, a.shape[0],
                                  a.shape[1], b.shape[1]);
    else
        cz_reference_matmul(left, right, out, a.shape[0], a.shape[1],
                            b.shape[1]);
}

static void run_transpose(const frame *f, cz_ir_op op, double *out)
{
    const cz_ir_type type = cz_ir_value_type(cz_ir_op_operand(op, 0));
    cz_reference_transpose(data_of(f, cz_ir_op_operand(op, 0)), out,
                           type.shape[0], type.shape[1]);
}

/* ---- sums and broadcasts ---- */

static bool has_dim(const cz_ints *dims, int dim)
{
    for (int i = 0; i < dims->n; i++)
        if (dims->v[i] == dim)
            return true;
    return false;
}

/* Steps in the small tensor per step in each dimension of the big one: 0 along
 * the dimensions that the small one lacks. */
static void strides_of(cz_ir_type big, const cz_ints *dims, int64_t *strides)
{
    int64_t step = 1;
    for (int i = big.rank - 1; i >= 0; i--) {
        strides[i] = has_dim(dims, i) ? 0 : step;
        if (!has_dim(dims, i))
            step *= big.shape[i];
    }
}

/* Where element i of the big tensor finds its like in the small one. */
static int64_t small_index(cz_ir_type big, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int d = big.rank - 1; d >= 0; d--) {
        at += i % big.shape[d] * strides[d];
        i /= big.shape[d];
    }
    return at;
}

static void run_reduce(frame *f, cz_ir_op op, double *out)
{
    const cz_ir_type big = cz_ir_value_type(cz_ir_op_operand(op, 0));
    const double *in = data_of(f, cz_ir_op_operand(op, 0));
    const cz_ints dims = cz_ir_op_ints(op, "dims", &f->arena);
    const int64_t n = elements_of(f, big);
    int64_t strides[CZ_IR_MAX_RANK];

    const bool largest = strcmp(cz_ir_op_string(op, "kind"), "max") == 0;

    strides_of(big, &dims, strides);
    for (int64_t i = 0; largest && i < n; i++)
        out[small_index(big, strides, i)] = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double *to = &out[small_index(big, strides, i)];
        *to = largest ? cz_reference_larger(*to, in[i])
                      : cz_reference_scatter(&f->noise, *to + in[i]);
    }
}

static void run_broadcast(frame *f, cz_ir_op op, double *out)
{
    const cz_ir_type big = cz_ir_value_type(cz_ir_op_result(op, 0));
    const double *in = data_of(f, cz_ir_op_operand(op, 0));
    const cz_ints dims = cz_ir_op_ints(op, "dims", &f->arena);
    const int64_t n = elements_of(f, big);
    int64_t strides[CZ_IR_MAX_RANK];

    strides_of(big, &dims, strides);
    for (int64_t i = 0; i < n; i++)
        out[i] = in[small_index(big, strides, i)];
}

/* ---- factorisations ---- */

/* All results are made, and one is taken. */
static void run_factor(frame *f, cz_ir_op op, double *out)
{
    const cz_factor factor = cz_factor_find(cz_ir_op_string(op, "factor"));
    const cz_reals parameters = cz_ir_op_reals(op, "parameters", &f->arena);
    const int64_t result = cz_ir_op_int(op, "result");
    const double *in[CZ_FACTOR_OPERANDS] = {NULL};
    double *all[CZ_FACTOR_RESULTS];
    cz_ir_type types[CZ_FACTOR_OPERANDS];

    for (int i = 0; i < cz_ir_op_n_operands(op); i++) {
        in[i] = data_of(f, cz_ir_op_operand(op, i));
        types[i] = cz_ir_value_type(cz_ir_op_operand(op, i));
    }
    const cz_factor_size size =
        cz_ir_factor_size(types, cz_ir_op_n_operands(op));
    for (int i = 0; i < cz_factor_n_results(factor); i++)
        all[i] = i == result
                     ? out
                     : CZ_NEW(&f->arena, double,
                              cz_factor_result_elements(factor, i, &size));
    if (f->noise.state && in[0]) {
        const int64_t n = size.m * size.n;
        double *moved = CZ_NEW(&f->arena, double, n);
        memcpy(moved, in[0], (size_t)n * sizeof *moved);
        cz_reference_factor_noise(&f->noise, factor, &size, moved);
        in[0] = moved;
    }
    cz_reference_factor(factor, &size, parameters.v, in, all);
    const int64_t n = cz_factor_result_elements(factor, (int)result, &size);
    for (int64_t i = 0; i < n; i++)
        out[i] = cz_reference_scatter(&f->noise, out[i]);
}

/* ---- results that are settled ---- */

/* What the function has as an argument was not computed. */
static void settle(frame *f, cz_ir_op function, int result, const double *given)
{
    settled s = {result, cz_ir_function_out(function, result), false, given,
                 NULL};
    cz_ir_op op = cz_ir_value_op(s.value);

    for (; op.p && cz_ir_op_kind(op) == CZ_IR_TRANSPOSE;
         op = cz_ir_value_op(s.value)) {
        s.value = cz_ir_op_operand(op, 0);
        s.turns = !s.turns;
    }
    if (op.p)
        *CZ_PUSH(&f->arena, f->settled, f->n_settled) = s;
}

/* `to` as `from` lies, [type], or turned: [type]'. */
static void copy_turned(cz_ir_type type, bool turns, int64_t n,
                        const double *from, double *to)
{
    if (turns)
        cz_reference_transpose(from, to, type.shape[0], type.shape[1]);
    else
        memcpy(to, from, (size_t)n * sizeof *to);
}

/* Keeps what was computed, and puts in its place what was given. */
static void exchange(frame *f, cz_ir_value value, double *data, int64_t n)
{
    const cz_ir_type type = cz_ir_value_type(value);

    for (int i = 0; i < f->n_settled; i++) {
        settled *s = &f->settled[i];
        if (s->value.p != value.p)
            continue;
        s->computed = CZ_NEW(&f->arena, double, n);
        copy_turned(type, s->turns, n, data, s->computed);
    }
    for (int i = 0; i < f->n_settled; i++) {
        const settled *s = &f->settled[i];
        cz_ir_type lies = type;
        if (s->value.p != value.p)
            continue;
        for (int d = 0; s->turns && d < 2; d++)
            lies.shape[d] = type.shape[1 - d];
        copy_turned(lies, s->turns, n, s->given, data);
    }
}

static const double *result_of(const frame *f, cz_ir_op function, int result)
{
    for (int i = 0; i < f->n_settled; i++)
        if (f->settled[i].result == result)
            return f->settled[i].computed;
    return data_of(f, cz_ir_function_out(function, result));
}

/* ---- all ---- */

static void run_op(frame *f, cz_ir_op op)
{
    const cz_ir_value result = cz_ir_op_result(op, 0);
    const int64_t n = elements_of(f, cz_ir_value_type(result));
    double *out = CZ_NEW(&f->arena, double, n);

    switch (cz_ir_op_kind(op)) {
    case CZ_IR_ELEMENT:
        run_element(f, op, out, n);
        break;
    case CZ_IR_SPLAT: {
        const double value = *data_of(f, cz_ir_op_operand(op, 0));
        for (int64_t i = 0; i < n; i++)
            out[i] = value;
        break;
    }
    case CZ_IR_MATMUL:
        run_matmul(f, op, out);
        break;
    case CZ_IR_TRANSPOSE:
        run_transpose(f, op, out);
        break;
    case CZ_IR_INDEX:
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)i;
        break;
    case CZ_IR_REDUCE:
        run_reduce(f, op, out);
        break;
    case CZ_IR_BROADCAST:
        run_broadcast(f, op, out);
        break;
    case CZ_IR_FACTOR:
        run_factor(f, op, out);
        break;
    case CZ_IR_MAP:
    case CZ_IR_PRODUCT:
    case CZ_IR_CALL:
    case CZ_IR_RETURN:
    case CZ_IR_OTHER:
        assert(!"an operation of math form");
    }
    exchange(f, result, out, n);
    bind(f, result, out, is_constant(f, op));
}

/* An argument: where rounding is drawn, tensors of f32 are such. */
static const double *scattered(frame *f, cz_ir_type type, const double *data)
{
    const int64_t n = elements_of(f, type);

    if (!f->noise.state || type.rank == 0 || type.dtype != CZ_F32)
        return data;
    double *copy = CZ_NEW(&f->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        copy[i] = cz_reference_scatter(&f->noise, data[i]);
    return copy;
}

void cz_reference_function_in_mode(cz_ir_op function,
                                   const cz_reference_mode *mode, int64_t count,
                                   const double *const *in, double *const *out)
{
    frame f = {.round = mode->round, .noise = {mode->noise}, .count = count};

    cz_arena_init(&f.arena);
    for (int i = 0; mode->settled && i < cz_ir_function_n_out(function); i++)
        if (mode->settled[i])
            settle(&f, function, i, mode->settled[i]);
    for (int i = 0; i < cz_ir_function_n_in(function); i++) {
        const cz_ir_value value = cz_ir_function_in(function, i);
        bind(&f, value, scattered(&f, cz_ir_value_type(value), in[i]), false);
    }
    for (cz_ir_op op = cz_ir_first_op(function);
         cz_ir_op_kind(op) != CZ_IR_RETURN; op = cz_ir_next_op(op))
        run_op(&f, op);
    for (int i = 0; i < cz_ir_function_n_out(function); i++) {
        const int64_t n = elements_of(&f, cz_ir_function_out_type(function, i));
        memmove(out[i], result_of(&f, function, i), (size_t)n * sizeof **out);
    }
    cz_arena_fini(&f.arena);
}

void cz_reference_function(cz_ir_op function, bool round, int64_t count,
                           const double *const *in, double *const *out)
{
    const cz_reference_mode mode = {.round = round};

    cz_reference_function_in_mode(function, &mode, count, in, out);
}
