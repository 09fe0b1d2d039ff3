/* An interpreter of graphs and of kernel form, for tests: every number is
 * rounded as its type says, every buffer is bytes, and steps run element by
 * element, so that a wrong offset or a forbidden overlap shows in the bits. */
#ifndef CZ_TESTS_PASSES_EVAL_H
#define CZ_TESTS_PASSES_EVAL_H

#include "passes/cut/cut.h"
#include "passes/kernel/kernel.h"
#include "passes/kernel/workspace.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static inline float eval_bf16(float f)
{
    uint32_t bits;

    if (isnan(f))
        return f;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline double eval_round(double x, cz_dtype dtype)
{
    if (dtype == CZ_F64)
        return x;
    return dtype == CZ_F32 ? (double)(float)x : (double)eval_bf16((float)x);
}

static inline double eval_load(const void *bytes, cz_dtype dtype, int64_t i)
{
    uint32_t bits;
    float f;

    if (dtype == CZ_F64)
        return ((const double *)bytes)[i];
    if (dtype == CZ_F32)
        return (double)((const float *)bytes)[i];
    bits = (uint32_t)((const uint16_t *)bytes)[i] << 16;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static inline void eval_store(void *bytes, cz_dtype dtype, int64_t i, double x)
{
    float f = eval_bf16((float)x);
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if (dtype == CZ_F64)
        ((double *)bytes)[i] = x;
    else if (dtype == CZ_F32)
        ((float *)bytes)[i] = (float)x;
    else
        ((uint16_t *)bytes)[i] = (uint16_t)(bits >> 16);
}

static inline bool eval_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline bool eval_compare(const char *predicate, double a, double b)
{
    if (strcmp(predicate, "olt") == 0)
        return a < b;
    assert(strcmp(predicate, "oge") == 0);
    return a >= b;
}

/* The operations that random graphs use. */
static inline double eval_op(cz_opcode op, const char *predicate,
                             const double *x, double constant, cz_dtype dtype)
{
    double y = NAN;

    if (op == CZ_OP_CONSTANT)
        y = constant;
    else if (op == CZ_OP_ADD)
        y = x[0] + x[1];
    else if (op == CZ_OP_SUB)
        y = x[0] - x[1];
    else if (op == CZ_OP_MUL)
        y = x[0] * x[1];
    else if (op == CZ_OP_DIV)
        y = x[0] / x[1];
    else if (op == CZ_OP_NEG)
        y = -x[0];
    else if (op == CZ_OP_SQRT)
        y = sqrt(x[0]);
    else if (op == CZ_OP_ABS)
        y = fabs(x[0]);
    else if (op == CZ_OP_EXTEND || op == CZ_OP_TRUNCATE)
        y = x[0];
    else if (op == CZ_OP_COMPARE)
        return eval_compare(predicate, x[0], x[1]);
    else if (op == CZ_OP_SELECT)
        y = x[0] != 0 ? x[1] : x[2];
    else
        abort(); /* not in random graphs */
    return eval_round(y, dtype);
}

static inline double eval_reduced(bool largest, double a, double b)
{
    if (!largest)
        return a + b;
    return isnan(a) || isnan(b) ? NAN : a == b ? a + 0.0 : a > b ? a : b;
}

/* ---- graphs ---- */

/* Of a graph whose tensors of length 1 stand for `count` elements (0: as
 * they are). */
static inline int64_t eval_elements(cz_ir_type type, int64_t count)
{
    int64_t n = 1;

    for (int d = 0; d < type.rank; d++)
        n *= type.shape[d];
    return count > 0 ? count : n;
}

static inline double eval_dot(const double *a, const double *b, int64_t k,
                              int64_t columns)
{
    float acc = 0;

    for (int64_t i = 0; i < k; i++)
        acc += (float)(a[i] * b[i * columns]);
    return (double)acc;
}

static inline int64_t eval_moved(const cz_graph_node *node, cz_ir_type from,
                                 int64_t i)
{
    int64_t columns = node->type.shape[node->type.rank == 2 ? 1 : 0];

    if (node->kind == CZ_GRAPH_TRANSPOSE)
        return i % columns * from.shape[1] + i / columns;
    if (from.rank == 0)
        return 0;
    return node->dims == 2 ? i / columns : i % columns;
}

/* Where element i of a reduce's operand is added. */
static inline int64_t eval_target(const cz_graph_node *node, cz_ir_type from,
                                  int64_t i)
{
    if (node->type.rank == 0)
        return 0;
    return node->dims == 2 ? i / from.shape[1] : i % from.shape[1];
}

/* Values of all nodes; in[i] and scalars[i] are the arguments. */
static inline double **eval_graph(cz_arena *arena, const cz_graph *graph,
                                  double *const *in, const double *scalars,
                                  int64_t count)
{
    double **values = CZ_NEW(arena, double *, graph->n);

    for (int v = 0; v < graph->n; v++) {
        const cz_graph_node *node = &graph->nodes[v];
        int64_t n = eval_elements(node->type, count);
        const double *a = node->n_in > 0 ? values[node->in[0]] : NULL;
        cz_ir_type from =
            node->n_in > 0 ? graph->nodes[node->in[0]].type : node->type;
        values[v] = CZ_NEW(arena, double, n);
        for (int64_t i = 0; i < n; i++) {
            double x[CZ_GRAPH_MAX_IN] = {0};
            double *y = &values[v][i];
            if (node->kind == CZ_GRAPH_REDUCE && node->op == CZ_OP_MAX)
                *y = -INFINITY;
            for (int k = 0; node->kind == CZ_GRAPH_ELEMENT && k < node->n_in;
                 k++)
                x[k] = values[node->in[k]][i];
            if (node->kind == CZ_GRAPH_IN)
                *y = in[node->index][i];
            else if (node->kind == CZ_GRAPH_SCALAR)
                *y = scalars[node->index];
            else if (node->kind == CZ_GRAPH_INDEX)
                *y = (double)i;
            else if (node->kind == CZ_GRAPH_TRANSPOSE ||
                     node->kind == CZ_GRAPH_BROADCAST)
                *y = a[eval_moved(node, from, i)];
            else if (node->kind == CZ_GRAPH_PRODUCT)
                *y = eval_dot(a + i / node->type.shape[1] * from.shape[1],
                              values[node->in[1]] + i % node->type.shape[1],
                              from.shape[1], node->type.shape[1]);
            else if (node->kind != CZ_GRAPH_REDUCE)
                *y = eval_op(node->op, node->predicate, x, node->constant,
                             node->type.dtype);
        }
        for (int64_t i = 0;
             node->kind == CZ_GRAPH_REDUCE && i < eval_elements(from, count);
             i++) {
            double *y = &values[v][eval_target(node, from, i)];
            *y = eval_reduced(node->op == CZ_OP_MAX, *y, a[i]);
        }
    }
    return values;
}

/* ---- kernel form ---- */

/* Memory of every slot: number EVAL_STRIDE * kind + index. */
enum {
    EVAL_STRIDE = 64,
    EVAL_SLOTS = EVAL_STRIDE * CZ_N_SLOTS,
    EVAL_MAX_VALUES = 512
};

typedef struct eval_call {
    const cz_kernel *kernel;
    void *values[EVAL_MAX_VALUES]; /* bytes of each */
    int64_t count;                 /* of a flat stage; 0: whole */
    char *work;
    char *slots[EVAL_MAX_VALUES]; /* ins, then outs */
} eval_call;

static inline void *eval_slot(void **slots, const cz_view_slot *slot)
{
    assert(slot->index < EVAL_STRIDE);
    return slots[EVAL_STRIDE * (int)slot->kind + slot->index];
}

static inline double eval_operand(const eval_call *call, int value,
                                  cz_access access, const cz_view_step *step,
                                  int64_t r, int64_t c)
{
    const void *bytes = call->values[value];
    cz_dtype dtype = call->kernel->types[value].dtype;

    switch (access) {
    case CZ_ACCESS_ROW:
        return eval_load(bytes, dtype, r);
    case CZ_ACCESS_COLUMN:
        return eval_load(bytes, dtype, c);
    case CZ_ACCESS_ALL:
    case CZ_ACCESS_SCALAR:
        return eval_load(bytes, dtype, 0);
    case CZ_ACCESS_TRANSPOSED:
        return eval_load(bytes, dtype, c * step->rows + r);
    case CZ_ACCESS_ELEMENT:
    case CZ_SUM_ALL:
    case CZ_SUM_ROWS:
    case CZ_SUM_COLUMNS:
    case CZ_MAX_ALL:
    case CZ_MAX_ROWS:
    case CZ_MAX_COLUMNS:
    case CZ_N_ACCESSES:
        break;
    }
    return eval_load(bytes, dtype, call->count > 0 ? c : r * step->columns + c);
}

/* What the body takes behind its n operands. */
static inline void eval_generated(const cz_view_step *step, int64_t r,
                                  int64_t c, double *values)
{
    for (int i = 0; i < step->n_generated; i++)
        values[i] =
            step->generated[i] == CZ_GENERATE_ROW ? (double)r : (double)c;
}

static inline void eval_body(const cz_view_body *body, double *values)
{
    for (int i = 0; i < body->n_exprs; i++) {
        const cz_view_expr *expr = &body->exprs[i];
        double x[3];
        for (int k = 0; k < 3; k++)
            x[k] = values[expr->args[k]];
        values[body->n_in + i] =
            eval_op(expr->op, expr->predicate, x, expr->constant, expr->dtype);
    }
}

static inline void eval_result(const eval_call *call, int value,
                               cz_access access, const cz_view_step *step,
                               int64_t r, int64_t c, double y)
{
    void *bytes = call->values[value];
    cz_access reach = cz_access_reach(access);
    int64_t at = reach == CZ_ACCESS_ALL      ? 0
                 : reach == CZ_ACCESS_ROW    ? r
                 : reach == CZ_ACCESS_COLUMN ? c
                 : call->count > 0           ? c
                                             : r * step->columns + c;

    if (cz_access_is_reduction(access))
        y = eval_reduced(cz_access_is_largest(access),
                         eval_load(bytes, CZ_F64, at), y);
    eval_store(bytes, call->kernel->types[value].dtype, at, y);
}

static inline void eval_map(const eval_call *call, const cz_view_step *step,
                            int first)
{
    const cz_view_body *body = &call->kernel->bodies[step->body];
    int64_t columns = call->count > 0 ? call->count : step->columns;
    double values[EVAL_MAX_VALUES];

    for (int i = 0; i < step->n_out; i++)
        for (int64_t k = 0;
             step->out_access[i] != CZ_ACCESS_ELEMENT &&
             k < eval_elements(call->kernel->types[first + i], 0);
             k++)
            eval_store(call->values[first + i], CZ_F64, k,
                       cz_access_is_largest(step->out_access[i]) ? -INFINITY
                                                                 : 0);
    for (int64_t r = 0; r < step->rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            for (int i = 0; i < step->n_in; i++)
                values[i] = eval_operand(call, step->in[i], step->access[i],
                                         step, r, c);
            eval_generated(step, r, c, &values[step->n_in]);
            eval_body(body, values);
            for (int i = 0; i < step->n_out; i++)
                eval_result(call, first + i, step->out_access[i], step, r, c,
                            values[body->out[i]]);
        }
}

static inline double eval_factor(const eval_call *call, int value,
                                 bool transposed, int64_t r, int64_t c)
{
    const cz_ir_type *type = &call->kernel->types[value];

    return eval_load(call->values[value], type->dtype,
                     transposed ? c * type->shape[1] + r
                                : r * type->shape[1] + c);
}

static inline float eval_accumulate(const eval_call *call,
                                    const cz_view_step *step, int64_t r,
                                    int64_t c)
{
    float acc = 0;

    for (int64_t k = 0; k < step->inner; k++)
        acc += (float)(eval_factor(call, step->in[0], step->transpose_a, r, k) *
                       eval_factor(call, step->in[1], step->transpose_b, k, c));
    return acc;
}

/* What is made of row r of a product, from its row of the accumulator. */
static inline void eval_epilogue(const eval_call *call,
                                 const cz_view_step *step, const float *acc,
                                 int value, int64_t r)
{
    for (int64_t c = 0; c < step->columns; c++) {
        double x[EVAL_MAX_VALUES], y;
        x[0] = (double)acc[c];
        for (int i = 2; i < step->n_in; i++)
            x[i - 1] =
                eval_operand(call, step->in[i], step->access[i], step, r, c);
        eval_generated(step, r, c, &x[step->n_in - 1]);
        y = (double)((float)step->alpha * (float)x[0]);
        if (step->body >= 0) {
            eval_body(&call->kernel->bodies[step->body], x);
            y = x[call->kernel->bodies[step->body].out[0]];
        } else if (step->beta != 0) {
            y = (double)((float)y + (float)step->beta * (float)x[1]);
        }
        eval_result(call, value, CZ_ACCESS_ELEMENT, step, r, c, y);
    }
}

/* Entry i of the step's places: in the workspace, or in a slot. */
static inline void *eval_place(const eval_call *call, const cz_view_step *step,
                               int i)
{
    const int64_t within = step->within ? step->within[i] : 0;
    char *base = within ? call->slots[within - 1] : call->work;

    return base + step->offsets[i];
}

/* All that the accumulator has room for, then its epilogue: an overlap shows.
 */
static inline void eval_product(const eval_call *call, const cz_view_step *step,
                                int value)
{
    const bool has_room = step->offsets[1] >= 0;
    const int64_t columns = step->columns;
    const int64_t room = has_room ? cz_view_accumulator_rows(step) : step->rows;
    float *acc = has_room ? eval_place(call, step, 1) : call->values[value];

    for (int64_t first = 0; first < step->rows; first += room) {
        const int64_t left = step->rows - first;
        const int64_t n = left < room ? left : room;
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < columns; c++)
                acc[r * columns + c] =
                    eval_accumulate(call, step, first + r, c);
        for (int64_t r = 0; r < n && has_room; r++)
            eval_epilogue(call, step, &acc[r * columns], value, first + r);
    }
}

static inline int eval_out_of(int n_out, const int *out_value, int value)
{
    for (int i = 0; i < n_out; i++)
        if (out_value[i] == value)
            return i;
    return -1;
}

/* Steps with places in a workspace: their own, or as the solver gives. */
static inline cz_view_step *eval_placed(cz_arena *arena,
                                        const cz_cut_stage *cut,
                                        const cz_kernel *kernel, char **work)
{
    const cz_fact_stage fact = {.scalars = cut->scalars};
    const cz_view_stage stage = {.fact = &fact,
                                 .n_in = cut->n_in,
                                 .n_out = cut->n_out,
                                 .n_steps = kernel->n_steps,
                                 .steps = kernel->steps,
                                 .out_value = kernel->out_value};
    cz_view_step *steps = CZ_NEW(arena, cz_view_step, kernel->n_steps);
    cz_places places;

    *work = CZ_NEW(arena, char, cz_workspace_solve(arena, &stage, &places));
    for (int s = 0; s < kernel->n_steps; s++) {
        steps[s] = kernel->steps[s];
        if (!steps[s].offsets)
            steps[s].offsets = places.offsets[s];
    }
    return steps;
}

/* Run one stage on `slots` (rule scalars by number). */
static inline void eval_stage(cz_arena *arena, const cz_cut_stage *cut,
                              const cz_kernel *kernel, void **slots,
                              const float *scalars, int64_t count)
{
    eval_call call = {.kernel = kernel};
    const cz_view_step *steps = eval_placed(arena, cut, kernel, &call.work);
    int value = cut->n_in;

    assert(kernel->n_values <= EVAL_MAX_VALUES);
    call.count = cut->where == CZ_WHERE_FULL_MATRIX ? 0 : count;
    for (int i = 0; i < cut->n_in; i++)
        call.slots[i] = call.values[i] = eval_slot(slots, &cut->in[i]);
    for (int i = 0; i < cut->n_out; i++)
        call.slots[cut->n_in + i] = eval_slot(slots, &cut->out[i]);
    for (int i = 0; i < cut->scalars.n; i++) {
        float *place = CZ_NEW(arena, float, 1);
        *place = scalars[cut->scalars.v[i]];
        call.values[value++] = place;
    }
    for (int s = 0; s < kernel->n_steps; s++) {
        const cz_view_step *step = &steps[s];
        for (int i = 0; i < step->n_out; i++) {
            int out = eval_out_of(cut->n_out, kernel->out_value, value + i);
            assert((out >= 0) == (step->offsets[i] < 0));
            call.values[value + i] = out >= 0 ? eval_slot(slots, &cut->out[out])
                                              : eval_place(&call, step, i);
        }
        if (step->is_product)
            eval_product(&call, step, value);
        else
            eval_map(&call, step, value);
        value += step->n_out;
    }
}

#endif
