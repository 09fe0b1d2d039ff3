/* Stages of kernel form on small matrices. */
#include "passes/verify/small/small.h"

#include <math.h>

/* ---- one body over a space ---- */

typedef struct space {
    const cz_view_step *step;
    int rows, columns, n_in;
    const small *const *in;
    const cz_access *access;
    small *const *out;
    uint32_t plain; /* bit i: result i */
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
                     uint32_t plain, double *values, double *results)
{
    for (int e = 0; e < body->n_exprs; e++) {
        const cz_view_expr *x = &body->exprs[e];
        values[body->n_in + e] =
            x->op == CZ_OP_CONSTANT
                ? small_constant(run, x->constant)
                : small_apply(run, (int)x->op, x->dtype, x->predicate,
                              values[x->args[0]], values[x->args[1]],
                              values[x->args[2]]);
    }
    for (int i = 0; i < body->n_out; i++) {
        const int e = body->out[i] - body->n_in;
        const bool is_rounded = e >= 0 && body->exprs[e].op == CZ_OP_TRUNCATE;
        results[i] =
            values[is_rounded && plain >> i & 1 ? body->exprs[e].args[0]
                                                : body->out[i]];
    }
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
            run_body(run, body, s->plain, values, results);
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
    for (int i = 0; cz_access_is_largest(access) && i < SMALL_ELEMENTS; i++)
        out.v[i] = -INFINITY;
    return out;
}

static void run_map(const small_run *run, const cz_plan_view *view,
                    const cz_view_step *step, int count, uint32_t plain,
                    const small *values, small *out)
{
    const small **in = CZ_NEW(run->arena, const small *, step->n_in + 1);
    small **to = CZ_NEW(run->arena, small *, step->n_out + 1);
    space s = {step,
               count > 0 ? count : small_length(run, cz_view_all_rows(step)),
               count > 0 ? 1 : small_length(run, step->columns),
               step->n_in,
               in,
               step->access,
               to,
               plain};

    for (int i = 0; i < step->n_in; i++)
        in[i] = &values[step->in[i]];
    if (count == 0 && run->longest == 0) {
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
static small factor_of(const small_run *run, const cz_view_step *step,
                       const small *values, int which)
{
    const int m =
        small_length(run, which ? step->inner : cz_view_all_rows(step));
    const int n = small_length(run, which ? step->columns : step->inner);
    const bool is_turned = which ? step->transpose_b : step->transpose_a;
    small out = values[step->in[which]];

    const bool is_square =
        run->longest == 0 && out.rows * out.columns == SMALL * SMALL;

    out.rows = is_square ? SMALL : is_turned ? n : m;
    out.columns = is_square ? SMALL : is_turned ? m : n;
    return out;
}

static void run_epilogue(const small_run *run, const cz_plan_view *view,
                         const cz_view_step *step, uint32_t plain,
                         const small *values, const small *sum, small *out)
{
    const int n_in = step->n_in - 1;
    const small **in = CZ_NEW(run->arena, const small *, n_in);
    cz_access *access = CZ_NEW(run->arena, cz_access, n_in);
    const space s = {step, sum->rows, sum->columns, n_in,
                     in,   access,    &out,         plain};

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
                        const cz_view_step *step, uint32_t plain,
                        const small *values, small *out)
{
    const small a = factor_of(run, step, values, 0);
    const small b = factor_of(run, step, values, 1);
    /* A partial sum that is narrow is rounded by whom reads all of it. */
    const bool is_rounded = cz_dtype_is_narrow(step->out_dtype[0]) && !plain &&
                            !(step->partial && step->narrow);
    const small sum =
        small_product(&a, step->transpose_a, &b, step->transpose_b);

    if (step->body >= 0) {
        run_epilogue(run, view, step, plain, values, &sum, out);
        return;
    }
    const double alpha = small_constant(run, step->alpha);
    const double beta = small_constant(run, step->beta);

    *out = sum;
    for (int i = 0; i < sum.rows * sum.columns; i++) {
        const double x = alpha * sum.v[i] +
                         (beta == 0.0 ? 0.0 : beta * values[step->in[2]].v[i]);
        out->v[i] = is_rounded ? small_round(run, step->out_dtype[0], x) : x;
    }
}

static void run_call(const small_run *run, const cz_view_step *step,
                     const small *values, small *out)
{
    const small *in[CZ_FACTOR_OPERANDS] = {NULL};

    for (int i = 0; i < step->n_in && i < CZ_FACTOR_OPERANDS; i++)
        in[i] = &values[step->in[i]];
    for (int i = 0; i < step->n_out; i++)
        out[i] = small_factor(run, step->factor, i, step->parameters, in,
                              step->size);
}

static bool is_symmetric(const small *a)
{
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < i; j++) {
            const double x = a->v[i * a->columns + j];
            const double y = a->v[j * a->columns + i];
            if (x != y && !(isnan(x) && isnan(y)) &&
                !(fabs(x - y) <= 1e-9 * (1.0 + fabs(x) + fabs(y))))
                return false;
        }
    return a->rows == a->columns;
}

static int count_reads(const cz_view_stage *stage, int value)
{
    int n = 0;

    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_in; i++)
            n += stage->steps[s].in[i] == value;
    for (int i = 0; i < stage->n_out; i++)
        n += stage->out_value[i] == value;
    return n;
}

/* Which of a stage's n values go to slots that nobody rounds for: what is left
 * there, and what nothing else is made of than a copy that is left there. */
static const bool *find_plain(const small_run *run, const cz_plan_view *view,
                              const cz_view_stage *stage, int n)
{
    enum { BITS = 32 };
    bool *found = CZ_NEW(run->arena, bool, n + 1);

    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].index < BITS)
            found[stage->out_value[i]] =
                run->plain[stage->out[i].kind] >> stage->out[i].index & 1;
    for (int s = stage->n_steps - 1; s >= 0; s--) {
        const cz_view_step *step = &stage->steps[s];
        n -= step->n_out;
        for (int i = 0; i < step->n_out; i++) {
            const int from = step->is_product || step->factor != CZ_FACTOR_NONE
                                 ? step->n_in
                                 : view->bodies[step->body].out[i];
            if (found[n + i] && from < step->n_in &&
                count_reads(stage, step->in[from]) == 1)
                found[step->in[from]] = true;
        }
    }
    return found;
}

static uint32_t plain_of(const bool *found, int first, int n)
{
    enum { BITS = 32 };
    uint32_t set = 0;

    for (int i = 0; i < n && i < BITS; i++)
        set |= (uint32_t)found[first + i] << i;
    return set;
}

const char *small_stage(const small_run *run, const cz_plan_view *view,
                        const cz_view_stage *stage, int count, const small *in,
                        const double *scalars, small *out)
{
    int n = stage->n_in + stage->fact->scalars.n, made = n;

    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    small *values = CZ_NEW(run->arena, small, n + 1);
    const bool *found = find_plain(run, view, stage, n);
    for (int i = 0; i < stage->n_in; i++)
        values[i] = in[i];
    for (int i = 0; i < stage->fact->scalars.n; i++) {
        values[stage->n_in + i] = small_of(1, 1);
        values[stage->n_in + i].v[0] = scalars[stage->fact->scalars.v[i]];
    }
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const uint32_t plain = plain_of(found, made, step->n_out);
        if (step->factor != CZ_FACTOR_NONE)
            run_call(run, step, values, &values[made]);
        else if (step->is_product)
            run_product(run, view, step, plain, values, &values[made]);
        else
            run_map(run, view, step, count, plain, values, &values[made]);
        /* Polynomials of one matrix commute, until they are rounded. */
        if (step->symmetric && (!run->rounds || view->program->strict) &&
            !is_symmetric(&values[made]))
            return "says of a product that it is symmetric, which it is not";
        made += step->n_out;
    }
    for (int i = 0; i < stage->n_out; i++)
        out[i] = values[stage->out_value[i]];
    return NULL;
}
