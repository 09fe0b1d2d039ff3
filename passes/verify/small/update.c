/* Updates of math form on small matrices. */
#include "passes/verify/small/small.h"

#include <math.h>

small small_shaped(const small_run *run, const cz_view_shape *shape)
{
    return small_of(shape->rank > 0 ? small_length(run, shape->size[0]) : 1,
                    shape->rank > 1 ? small_length(run, shape->size[1]) : 1);
}

static void run_element(const small_run *run, const cz_view_term *term,
                        cz_dtype dtype, const small *values, small *out)
{
    const small *in[CZ_VIEW_TERM_ARGS];

    for (int i = 0; i < CZ_VIEW_TERM_ARGS; i++)
        in[i] = &values[term->args[i < term->n_args ? i : 0]];
    for (int i = 0; i < out->rows * out->columns; i++)
        out->v[i] = term->opcode == CZ_OP_CONSTANT
                        ? small_constant(run, term->constant)
                        : small_apply(run, term->opcode, dtype, term->predicate,
                                      in[0]->v[i], in[1]->v[i], in[2]->v[i]);
}

/* Where element (row, column) of the larger one lies in that without `dims`. */
static int reduced_index(const small *big, uint32_t dims, int row, int column)
{
    const int rows = dims & 1 ? 0 : row;

    return dims & 2 ? rows : rows * big->columns + column;
}

static void run_reduce(const cz_view_term *term, const small *in, small *out)
{
    for (int i = 0; term->largest && i < SMALL_ELEMENTS; i++)
        out->v[i] = -INFINITY;
    for (int i = 0; i < in->rows; i++)
        for (int j = 0; j < in->columns; j++) {
            double *to = &out->v[reduced_index(in, term->dims, i, j)];
            const double x = in->v[i * in->columns + j];
            *to = term->largest ? small_larger(*to, x) : *to + x;
        }
}

static void run_broadcast(const cz_view_term *term, const small *in, small *out)
{
    for (int i = 0; i < out->rows; i++)
        for (int j = 0; j < out->columns; j++)
            out->v[i * out->columns + j] =
                in->v[reduced_index(out, term->dims, i, j)];
}

static void run_transpose(const small *in, small *out)
{
    for (int i = 0; i < out->rows; i++)
        for (int j = 0; j < out->columns; j++)
            out->v[i * out->columns + j] = in->v[j * in->columns + i];
}

static small run_factor(const small_run *run, const cz_view_update *u,
                        const cz_view_term *term, const small *values)
{
    const small *in[CZ_FACTOR_OPERANDS] = {NULL};
    const int64_t *first = u->shapes[term->args[0]].size;
    cz_factor_size size = {first[0], first[1], 1};

    for (int i = 0; i < cz_factor_n_operands(term->factor); i++)
        in[i] = &values[term->args[i]];
    if (cz_factor_n_operands(term->factor) > 1)
        size.k = u->shapes[term->args[1]].size[1];
    return small_factor(run, term->factor, term->result, term->parameters, in,
                        size);
}

static void run_term(const small_run *run, const cz_view_update *u,
                     const cz_view_term *term, cz_dtype dtype,
                     const small *values, small *out)
{
    const small *first = &values[term->args[0]];

    switch (term->kind) {
    case CZ_TERM_ELEMENT:
        run_element(run, term, dtype, values, out);
        break;
    case CZ_TERM_SPLAT:
        for (int i = 0; i < out->rows * out->columns; i++)
            out->v[i] = first->v[0];
        break;
    case CZ_TERM_MATMUL:
        *out = small_product(first, false, &values[term->args[1]], false);
        break;
    case CZ_TERM_TRANSPOSE:
        run_transpose(first, out);
        break;
    case CZ_TERM_INDEX:
        for (int i = 0; i < out->rows; i++)
            out->v[i] = i;
        break;
    case CZ_TERM_REDUCE:
        run_reduce(term, first, out);
        break;
    case CZ_TERM_BROADCAST:
        run_broadcast(term, first, out);
        break;
    case CZ_TERM_FACTOR:
        *out = run_factor(run, u, term, values);
        break;
    }
}

void small_update(const small_run *run, const cz_view_update *u,
                  const small *in, small *out)
{
    small *values = CZ_NEW(run->arena, small, u->n_in + u->n_terms);

    for (int i = 0; i < u->n_in; i++)
        values[i] = in[i];
    for (int i = 0; i < u->n_terms; i++) {
        small *value = &values[u->n_in + i];
        const cz_view_shape *shape = &u->shapes[u->n_in + i];
        *value = small_shaped(run, shape);
        run_term(run, u, &u->terms[i], shape->dtype, values, value);
    }
    for (int i = 0; i < u->n_out; i++)
        out[i] = values[u->out[i]];
}
