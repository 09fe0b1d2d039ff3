/* The interpreter of kernel form: the steps of a stage, read from the plan
 * view as the code generators read it. */
#include "dsl/reference/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What is known while one stage runs: its values, numbered as in the view. */
typedef struct frame {
    cz_arena arena;
    const cz_plan_view *view;
    bool round;
    int64_t count; /* rows of the steps of an element-wise stage; or 0 */
    int n;
    const double **values;
} frame;

static void bind(frame *f, const double *data)
{
    *CZ_PUSH(&f->arena, f->values, f->n) = data;
}

static int64_t index_of(cz_access access, int64_t row, int64_t column,
                        int64_t rows, int64_t columns)
{
    switch (cz_access_reach(access)) {
    case CZ_ACCESS_ELEMENT:
        return row * columns + column;
    case CZ_ACCESS_TRANSPOSED:
        return column * rows + row;
    case CZ_ACCESS_ROW:
        return row;
    case CZ_ACCESS_COLUMN:
        return column;
    case CZ_ACCESS_ALL:
    case CZ_ACCESS_SCALAR:
    case CZ_SUM_ALL:
    case CZ_SUM_ROWS:
    case CZ_SUM_COLUMNS:
    case CZ_MAX_ALL:
    case CZ_MAX_ROWS:
    case CZ_MAX_COLUMNS:
    case CZ_N_ACCESSES:
        break;
    }
    return 0;
}

static int64_t n_results(cz_access access, int64_t rows, int64_t columns)
{
    return index_of(access, rows - 1, columns - 1, rows, columns) + 1;
}

/* ---- one body over a space ---- */

/* The operands that a body takes at every point, and where results go. */
typedef struct loop {
    const cz_view_body *body;
    int64_t rows, columns;
    int n_in, n_out;
    const double *const *in;
    const cz_access *access;
    int n_generated;
    const cz_generator *generated;
    double *const *out;
    const cz_access *out_access;
} loop;

static void store(const loop *l, int64_t row, int64_t column,
                  const double *results)
{
    for (int i = 0; i < l->n_out; i++) {
        const int64_t at =
            index_of(l->out_access[i], row, column, l->rows, l->columns);
        if (cz_access_is_largest(l->out_access[i]))
            l->out[i][at] = cz_reference_larger(l->out[i][at], results[i]);
        else if (cz_access_is_reduction(l->out_access[i]))
            l->out[i][at] += results[i];
        else
            l->out[i][at] = results[i];
    }
}

static double generate(cz_generator what, int64_t row, int64_t column)
{
    switch (what) {
    case CZ_GENERATE_ROW:
        return (double)row;
    case CZ_GENERATE_COLUMN:
        return (double)column;
    case CZ_N_GENERATORS:
        break;
    }
    assert(!"something that is generated");
    return 0.0;
}

static void run_loop(frame *f, const loop *l)
{
    const cz_view_body *body = l->body;
    double *values = CZ_NEW(&f->arena, double, body->n_in + body->n_exprs + 1);
    double *results = CZ_NEW(&f->arena, double, l->n_out);

    for (int64_t row = 0; row < l->rows; row++)
        for (int64_t column = 0; column < l->columns; column++) {
            for (int i = 0; i < l->n_in; i++)
                values[i] = l->in[i][index_of(l->access[i], row, column,
                                              l->rows, l->columns)];
            for (int i = 0; i < l->n_generated; i++)
                values[l->n_in + i] = generate(l->generated[i], row, column);
            cz_reference_body_on(body, f->round, values, results);
            store(l, row, column, results);
        }
}

/* ---- maps ---- */

/* Zeros, or what is no larger than anything. */
static double *make_result(frame *f, cz_access access, int64_t rows,
                           int64_t columns)
{
    const int64_t n = n_results(access, rows, columns);
    double *out = CZ_NEW(&f->arena, double, n);
    for (int64_t i = 0; cz_access_is_largest(access) && i < n; i++)
        out[i] = -INFINITY;
    return out;
}

static void run_map(frame *f, const cz_view_step *step)
{
    const int64_t rows = f->count > 0 ? f->count : step->rows;
    const double **in = CZ_NEW(&f->arena, const double *, step->n_in);
    double **out = CZ_NEW(&f->arena, double *, step->n_out);

    for (int i = 0; i < step->n_in; i++)
        in[i] = f->values[step->in[i]];
    for (int i = 0; i < step->n_out; i++)
        out[i] = make_result(f, step->out_access[i], rows, step->columns);
    run_loop(f, &(loop){.body = &f->view->bodies[step->body],
                        .rows = rows,
                        .columns = step->columns,
                        .n_in = step->n_in,
                        .n_out = step->n_out,
                        .in = in,
                        .access = step->access,
                        .n_generated = step->n_generated,
                        .generated = step->generated,
                        .out = out,
                        .out_access = step->out_access});
    for (int i = 0; i < step->n_out; i++)
        bind(f, out[i]);
}

/* ---- products ---- */

/* Factor number `which` as op(a) or op(b) asks: transposed anew if need be. */
static const double *factor(frame *f, const cz_view_step *step, int which)
{
    const bool is_transposed = which ? step->transpose_b : step->transpose_a;
    const double *data = f->values[step->in[which]];
    const int64_t m = which ? step->inner : step->rows;
    const int64_t n = which ? step->columns : step->inner;

    if (!is_transposed)
        return data;
    double *copy = CZ_NEW(&f->arena, double, m *n);
    cz_reference_transpose(data, copy, n, m);
    return copy;
}

static void scale(const frame *f, const cz_view_step *step, double *out)
{
    const double *s = step->beta == 0.0 ? NULL : f->values[step->in[2]];
    const bool rounds = f->round && cz_dtype_is_narrow(step->out_dtype[0]);
    for (int64_t i = 0; i < step->rows * step->columns; i++) {
        out[i] = step->alpha * out[i] + (s ? step->beta * s[i] : 0.0);
        if (rounds)
            out[i] = cz_reference_round(step->out_dtype[0], out[i]);
    }
}

/* The epilogue's first operand is the accumulator, element by element. */
static void run_epilogue(frame *f, const cz_view_step *step, double *acc,
                         double *out)
{
    const int n_in = step->n_in - 1;
    const double **in = CZ_NEW(&f->arena, const double *, n_in);
    cz_access *access = CZ_NEW(&f->arena, cz_access, n_in);

    in[0] = acc;
    access[0] = CZ_ACCESS_ELEMENT;
    for (int i = 1; i < n_in; i++) {
        in[i] = f->values[step->in[i + 1]];
        access[i] = step->access[i + 1];
    }
    run_loop(f, &(loop){.body = &f->view->bodies[step->body],
                        .rows = step->rows,
                        .columns = step->columns,
                        .n_in = n_in,
                        .n_out = 1,
                        .in = in,
                        .access = access,
                        .n_generated = step->n_generated,
                        .generated = step->generated,
                        .out = &out,
                        .out_access = step->out_access});
}

/* What a symmetric product promises is taken at its word: half is computed. */
static void mirror(double *out, int64_t n)
{
    for (int64_t row = 0; row < n; row++)
        for (int64_t column = 0; column < row; column++)
            out[row * n + column] = out[column * n + row];
}

static void run_product(frame *f, const cz_view_step *step)
{
    const int64_t n = step->rows * step->columns;
    double *acc = CZ_NEW(&f->arena, double, n);
    double *out = acc;

    cz_reference_matmul(factor(f, step, 0), factor(f, step, 1), acc, step->rows,
                        step->inner, step->columns);
    if (step->body < 0) {
        scale(f, step, acc);
    } else {
        out = CZ_NEW(&f->arena, double, n);
        run_epilogue(f, step, acc, out);
    }
    if (step->symmetric)
        mirror(out, step->rows);
    bind(f, out);
}

/* ---- calls ---- */

static void run_call(frame *f, const cz_view_step *step)
{
    const double *in[CZ_FACTOR_OPERANDS];
    double *out[CZ_FACTOR_RESULTS];

    for (int i = 0; i < step->n_in; i++)
        in[i] = f->values[step->in[i]];
    for (int i = 0; i < step->n_out; i++)
        out[i] = CZ_NEW(&f->arena, double, cz_view_result_elements(step, i));
    cz_reference_factor(step->factor, &step->size, step->parameters, in, out);
    for (int i = 0; i < step->n_out; i++)
        bind(f, out[i]);
}

/* ---- all ---- */

/* Elements of output i, from the step that makes it. */
static int64_t output_elements(const frame *f, const cz_view_stage *stage,
                               int value)
{
    int number = stage->n_in + stage->fact->scalars.n;
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        if (value < number + step->n_out && step->factor)
            return cz_view_result_elements(step, value - number);
        if (value < number + step->n_out)
            return n_results(step->out_access[value - number],
                             f->count > 0 ? f->count : step->rows,
                             step->columns);
        number += step->n_out;
    }
    assert(!"an output is a step's result");
    return 0;
}

void cz_reference_stage(const cz_plan_view *view, int stage, bool round,
                        int64_t count, const double *const *in,
                        const double *scalars, double *const *out)
{
    cz_reference_variant(view, &view->stages[stage], round, count, in, scalars,
                         out);
}

void cz_reference_variant(const cz_plan_view *view, const cz_view_stage *s,
                          bool round, int64_t count, const double *const *in,
                          const double *scalars, double *const *out)
{
    frame f = {.view = view, .round = round, .count = count};

    cz_arena_init(&f.arena);
    for (int i = 0; i < s->n_in; i++)
        bind(&f, in[i]);
    for (int i = 0; i < s->fact->scalars.n; i++)
        bind(&f, &scalars[s->fact->scalars.v[i]]);
    for (int i = 0; i < s->n_steps; i++)
        if (s->steps[i].factor)
            run_call(&f, &s->steps[i]);
        else if (s->steps[i].is_product)
            run_product(&f, &s->steps[i]);
        else
            run_map(&f, &s->steps[i]);
    for (int i = 0; i < s->n_out; i++) {
        const int64_t n = output_elements(&f, s, s->out_value[i]);
        memmove(out[i], f.values[s->out_value[i]], (size_t)n * sizeof **out);
    }
    cz_arena_fini(&f.arena);
}
