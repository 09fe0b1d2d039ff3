/* Stages of kernel form on small matrices. */
#include "passes/verify/small/small.h"

#include <math.h>

/* ---- numbers ---- */

static bool has_body(const cz_plan_view *view, const cz_view_step *step)
{
    return step->body >= 0 && step->body < view->n_bodies;
}

/* What a body takes of the step: a product's accumulator instead of its two
 * factors, and what is generated. */
static int n_taken(const cz_view_step *step)
{
    return step->n_in - step->is_product + step->n_generated;
}

static bool is_body_ordered(const cz_view_body *body)
{
    for (int e = 0; e < body->n_exprs; e++)
        for (int k = 0; k < CZ_VIEW_MAX_ARGS; k++)
            if (body->exprs[e].op != CZ_OP_CONSTANT &&
                (body->exprs[e].args[k] < 0 ||
                 body->exprs[e].args[k] >= body->n_in + e))
                return false;
    for (int i = 0; i < body->n_out; i++)
        if (body->out[i] < 0 || body->out[i] >= body->n_in + body->n_exprs)
            return false;
    return true;
}

static cz_dtype dtype_of(const cz_view_stage *stage, int value)
{
    int first = stage->n_in + stage->fact->scalars.n, s = 0;

    if (value < first)
        return value < stage->n_in ? stage->in[value].dtype : CZ_F32;
    while (value >= first + stage->steps[s].n_out)
        first += stage->steps[s++].n_out;
    return stage->steps[s].out_dtype[value - first];
}

static const char *step_fault(const cz_plan_view *view,
                              const cz_view_stage *stage,
                              const cz_view_step *step, int n_known)
{
    for (int i = 0; i < step->n_in; i++)
        if (step->in[i] < 0 || step->in[i] >= n_known)
            return "takes a value that is not there yet";
    if (step->factor != CZ_FACTOR_NONE)
        return NULL;
    if (!step->is_product && !has_body(view, step))
        return "has a map without a body";
    if (!has_body(view, step))
        return NULL;
    const cz_view_body *body = &view->bodies[step->body];
    if (body->n_in != n_taken(step) || body->n_out != step->n_out)
        return "has a body that takes or gives another number of values";
    /* Scalars, and nothing else, are handed over by value. */
    const int end = stage->n_in + stage->fact->scalars.n;

    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++) {
        const bool is_scalar = step->in[i] >= stage->n_in && step->in[i] < end;
        if (is_scalar != (step->access[i] == CZ_ACCESS_SCALAR))
            return "takes a scalar for a tensor, or a tensor for a scalar";
    }
    /* Operands of the body are its last inputs but those that are generated. */
    const int from = step->is_product ? 2 : 0;
    const int first = step->is_product ? 1 : 0;

    for (int i = from; i < step->n_in; i++)
        if (body->in[first + i - from] != dtype_of(stage, step->in[i]))
            return "has a body that takes values of other types";
    return is_body_ordered(body) ? NULL : "computes with what is not there yet";
}

const char *small_fault(const cz_plan_view *view, const cz_view_stage *stage)
{
    int n = stage->n_in + stage->fact->scalars.n;

    for (int i = 0; i < stage->fact->scalars.n; i++)
        if (stage->fact->scalars.v[i] < 0 ||
            stage->fact->scalars.v[i] >= view->rules[stage->rule].n_scalars)
            return "takes a scalar that its rule has not";
    for (int s = 0; s < stage->n_steps; s++) {
        const char *fault = step_fault(view, stage, &stage->steps[s], n);
        if (fault)
            return fault;
        n += stage->steps[s].n_out;
    }
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] < 0 || stage->out_value[i] >= n)
            return "gives a value that it never makes";
    for (int i = 0; i < stage->n_out; i++)
        if (dtype_of(stage, stage->out_value[i]) != stage->out[i].dtype)
            return "gives a value of another type than its slot's";
    return NULL;
}

/* ---- one body over a space ---- */

typedef struct space {
    const cz_view_step *step;
    int rows, columns, n_in;
    const small *const *in;
    const cz_access *access;
    small *const *out;
} space;

static int index_of(const space *s, cz_access access, int row, int column)
{
    const cz_access reach = cz_access_reach(access);

    if (reach == CZ_ACCESS_ELEMENT)
        return row * s->columns + column;
    if (reach == CZ_ACCESS_TRANSPOSED)
        return column * s->rows + row;
    if (reach == CZ_ACCESS_ROW)
        return row;
    return reach == CZ_ACCESS_COLUMN ? column : 0;
}

static void store(const space *s, int row, int column, const double *results)
{
    for (int i = 0; i < s->step->n_out; i++) {
        const cz_access access = s->step->out_access[i];
        double *to = &s->out[i]->v[index_of(s, access, row, column)];
        if (cz_access_is_largest(access))
            *to = small_larger(*to, results[i]);
        else
            *to = (cz_access_is_reduction(access) ? *to : 0.0) + results[i];
    }
}

/* values [n_in + n_exprs], inputs put there. */
static void run_body(const small_run *run, const cz_view_body *body,
                     double *values, double *results)
{
    for (int e = 0; e < body->n_exprs; e++) {
        const cz_view_expr *x = &body->exprs[e];
        values[body->n_in + e] =
            x->op == CZ_OP_CONSTANT
                ? x->constant
                : small_apply(run->conditions, (int)x->op, x->predicate,
                              values[x->args[0]], values[x->args[1]],
                              values[x->args[2]]);
    }
    for (int i = 0; i < body->n_out; i++)
        results[i] = values[body->out[i]];
}

static void run_space(const small_run *run, const cz_view_body *body,
                      const space *s)
{
    double *values = CZ_NEW(run->arena, double, body->n_in + body->n_exprs + 1);
    double *results = CZ_NEW(run->arena, double, body->n_out + 1);

    for (int row = 0; row < s->rows; row++)
        for (int column = 0; column < s->columns; column++) {
            for (int i = 0; i < s->n_in; i++)
                values[i] = s->in[i]->v[index_of(s, s->access[i], row, column)];
            for (int i = 0; i < s->step->n_generated; i++)
                values[s->n_in + i] =
                    s->step->generated[i] == CZ_GENERATE_ROW ? row : column;
            run_body(run, body, values, results);
            store(s, row, column, results);
        }
}

/* ---- steps ---- */

/* As long as what is stored there. */
static small result_of(const space *s, cz_access access)
{
    const bool is_turned = access == CZ_ACCESS_TRANSPOSED;
    small out = small_of(is_turned ? s->columns : s->rows,
                         is_turned ? s->rows : s->columns);

    if (cz_access_reach(access) == CZ_ACCESS_ROW)
        out = small_of(s->rows, 1);
    else if (cz_access_reach(access) == CZ_ACCESS_COLUMN)
        out = small_of(s->columns, 1);
    else if (cz_access_reach(access) == CZ_ACCESS_ALL)
        out = small_of(1, 1);
    for (int i = 0; cz_access_is_largest(access) && i < SMALL * SMALL; i++)
        out.v[i] = -INFINITY;
    return out;
}

static void run_map(const small_run *run, const cz_plan_view *view,
                    const cz_view_step *step, int count, const small *values,
                    small *out)
{
    const small **in = CZ_NEW(run->arena, const small *, step->n_in + 1);
    small **to = CZ_NEW(run->arena, small *, step->n_out + 1);
    space s = {step,
               count > 0 ? count : small_length(step->rows),
               count > 0 ? 1 : small_length(step->columns),
               step->n_in,
               in,
               step->access,
               to};

    for (int i = 0; i < step->n_in; i++)
        in[i] = &values[step->in[i]];
    if (count == 0) {
        /* Of a matrix that is shared a rank may have one row, where the small
         * one has two: operands know. */
        for (int i = 0; i < s.n_in; i++) {
            const int length = s.in[i]->rows * s.in[i]->columns;
            const cz_access reach = cz_access_reach(s.access[i]);
            const bool is_matrix = length == SMALL * SMALL;
            if (is_matrix || (reach == CZ_ACCESS_ROW && length == SMALL))
                s.rows = SMALL;
            if (is_matrix || (reach == CZ_ACCESS_COLUMN && length == SMALL))
                s.columns = SMALL;
        }
    }
    for (int i = 0; i < step->n_out; i++) {
        out[i] = result_of(&s, step->out_access[i]);
        to[i] = &out[i];
    }
    run_space(run, &view->bodies[step->body], &s);
}

/* Its factor number `which`.  A row or a column lies as the step says, which a
 * slot does not know. */
static small factor_of(const cz_view_step *step, const small *values, int which)
{
    const int m = small_length(which ? step->inner : step->rows);
    const int n = small_length(which ? step->columns : step->inner);
    const bool is_turned = which ? step->transpose_b : step->transpose_a;
    small out = values[step->in[which]];

    const bool is_square = out.rows * out.columns == SMALL * SMALL;

    out.rows = is_square ? SMALL : is_turned ? n : m;
    out.columns = is_square ? SMALL : is_turned ? m : n;
    return out;
}

static void run_epilogue(const small_run *run, const cz_plan_view *view,
                         const cz_view_step *step, const small *values,
                         const small *sum, small *out)
{
    const int n_in = step->n_in - 1;
    const small **in = CZ_NEW(run->arena, const small *, n_in);
    cz_access *access = CZ_NEW(run->arena, cz_access, n_in);
    const space s = {step, sum->rows, sum->columns, n_in, in, access, &out};

    in[0] = sum;
    access[0] = CZ_ACCESS_ELEMENT;
    for (int i = 1; i < n_in; i++) {
        in[i] = &values[step->in[i + 1]];
        access[i] = step->access[i + 1];
    }
    *out = small_of(sum->rows, sum->columns);
    run_space(run, &view->bodies[step->body], &s);
}

static void run_product(const small_run *run, const cz_plan_view *view,
                        const cz_view_step *step, const small *values,
                        small *out)
{
    const small a = factor_of(step, values, 0), b = factor_of(step, values, 1);
    const small sum =
        small_product(&a, step->transpose_a, &b, step->transpose_b);

    if (step->body >= 0) {
        run_epilogue(run, view, step, values, &sum, out);
        return;
    }
    *out = sum;
    for (int i = 0; i < SMALL * SMALL; i++)
        out->v[i] =
            step->alpha * sum.v[i] +
            (step->beta == 0.0 ? 0.0 : step->beta * values[step->in[2]].v[i]);
}

static void run_call(const cz_view_step *step, const small *values, small *out)
{
    const small *in[CZ_FACTOR_OPERANDS] = {NULL};

    for (int i = 0; i < step->n_in && i < CZ_FACTOR_OPERANDS; i++)
        in[i] = &values[step->in[i]];
    for (int i = 0; i < step->n_out; i++)
        out[i] =
            small_factor(step->factor, i, step->parameters, in, step->size);
}

static bool is_symmetric(const small *a)
{
    const double x = a->v[1], y = a->v[2];

    return a->rows < SMALL || a->columns < SMALL || x == y ||
           (isnan(x) && isnan(y)) ||
           (isfinite(x) && isfinite(y) &&
            fabs(x - y) <= 1e-9 * (1.0 + fabs(x) + fabs(y)));
}

const char *small_stage(const small_run *run, const cz_plan_view *view,
                        const cz_view_stage *stage, int count, const small *in,
                        const double *scalars, small *out)
{
    int n = stage->n_in + stage->fact->scalars.n, made = n;

    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    small *values = CZ_NEW(run->arena, small, n + 1);
    for (int i = 0; i < stage->n_in; i++)
        values[i] = in[i];
    for (int i = 0; i < stage->fact->scalars.n; i++) {
        values[stage->n_in + i] = small_of(1, 1);
        values[stage->n_in + i].v[0] = scalars[stage->fact->scalars.v[i]];
    }
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        if (step->factor != CZ_FACTOR_NONE)
            run_call(step, values, &values[made]);
        else if (step->is_product)
            run_product(run, view, step, values, &values[made]);
        else
            run_map(run, view, step, count, values, &values[made]);
        if (step->symmetric && !is_symmetric(&values[made]))
            return "says of a product that it is symmetric, which it is not";
        made += step->n_out;
    }
    for (int i = 0; i < stage->n_out; i++)
        out[i] = values[stage->out_value[i]];
    return NULL;
}
