/* Degrees, operation by operation, until those of parameter and states no
 * longer change. */
#include "dsl/plan/growth.h"

/* Degrees are counted in parts, so that roots have some.  Nothing is said of
 * exponentials, of powers that only run time knows and of states that grow
 * from update to update: they count as UNKNOWN. */
enum {
    ONE = 64,
    UNKNOWN = 4 * ONE,
    MOST = 8 * ONE,
    MAX_ROUNDS = 4,
    MAX_INDEX = 256
};

typedef struct growth {
    const cz_plan_view *view;
    int slots[CZ_N_SLOTS][MAX_INDEX];
    int largest;
} growth;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int limited(int degree)
{
    return degree > MOST ? MOST : degree < -MOST ? -MOST : degree;
}

/* What a value is, and whether it may overflow f32. */
static int noted(growth *g, cz_dtype dtype, int degree)
{
    degree = limited(degree);
    if (dtype != CZ_F64)
        g->largest = larger(g->largest, degree);
    return degree;
}

/* ---- bodies ---- */

static int degree_of_power(const cz_view_body *body, int base, int exponent)
{
    const int number = exponent - body->n_in;

    if (base == 0)
        return 0;
    return number >= 0 && body->exprs[number].op == CZ_OP_CONSTANT &&
                   body->exprs[number].constant >= -MOST &&
                   body->exprs[number].constant <= MOST
               ? (int)(base * body->exprs[number].constant)
               : UNKNOWN;
}

/* `v` are the degrees of the body's values so far. */
static int degree_of_expr(const cz_view_body *body, const cz_view_expr *expr,
                          const int *v)
{
    const int *at = expr->args;

    switch (expr->op) {
    case CZ_OP_ADD:
    case CZ_OP_SUB:
    case CZ_OP_MAX:
    case CZ_OP_MIN:
        return larger(v[at[0]], v[at[1]]);
    case CZ_OP_SELECT:
        return larger(v[at[1]], v[at[2]]);
    case CZ_OP_MUL:
        return v[at[0]] + v[at[1]];
    case CZ_OP_DIV:
        return v[at[0]] - v[at[1]];
    case CZ_OP_NEG:
    case CZ_OP_EXTEND:
    case CZ_OP_TRUNCATE:
    case CZ_OP_ABS:
    case CZ_OP_FLOOR:
    case CZ_OP_COPYSIGN:
        return v[at[0]];
    case CZ_OP_SQRT:
        return v[at[0]] / 2;
    case CZ_OP_EXP:
        return v[at[0]] > 0 ? UNKNOWN : 0;
    case CZ_OP_POW:
        return degree_of_power(body, v[at[0]], at[1]);
    case CZ_OP_CONSTANT:
    case CZ_OP_COMPARE:
    case CZ_OP_LOG:
    case CZ_OP_TANH:
    case CZ_OP_COS:
    case CZ_OP_SIN:
    case CZ_OP_HASH:
    case CZ_N_OPCODES:
        break;
    }
    return 0;
}

/* `v` has the inputs' degrees and room for all values. */
static void grow_body(growth *g, const cz_view_body *body, int *v)
{
    for (int i = 0; i < body->n_exprs; i++)
        v[body->n_in + i] = noted(
            g,
            body->exprs[i].op == CZ_OP_COMPARE ? CZ_F64 : body->exprs[i].dtype,
            degree_of_expr(body, &body->exprs[i], v));
}

/* ---- steps ---- */

static int degree_of_factor(const cz_view_step *step, int result, int a, int b)
{
    switch (step->factor) {
    case CZ_FACTOR_EIGH:
        return result == 0 ? a : 0;
    case CZ_FACTOR_QR:
        return result == 0 ? 0 : a;
    case CZ_FACTOR_CHOLESKY:
        return a / 2;
    case CZ_FACTOR_SOLVE_LOWER:
    case CZ_FACTOR_SOLVE_LOWER_T:
    case CZ_FACTOR_SOLVE_UPPER:
    case CZ_FACTOR_SOLVE_UPPER_T:
        return b - a;
    case CZ_FACTOR_ROOT:
    case CZ_FACTOR_NEWTON_ROOT:
        return (int)(a * step->parameters[0]);
    case CZ_FACTOR_NONE:
    case CZ_N_FACTORS:
        break;
    }
    return 0;
}

/* Inputs of a step's body: of a product its accumulator, then what stands
 * behind a and b. */
static void take_inputs(growth *g, const cz_view_step *step, const int *values,
                        int *v)
{
    int n = 0;

    if (step->is_product)
        v[n++] = noted(g, CZ_F32, values[step->in[0]] + values[step->in[1]]);
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        v[n++] = values[step->in[i]];
    for (int i = 0; i < step->n_generated; i++)
        v[n++] = 0;
}

/* Writes the degrees of the step's results to `out`. */
static void grow_step(growth *g, cz_arena *arena, const cz_view_step *step,
                      const int *values, int *out)
{
    if (step->factor) {
        for (int i = 0; i < step->n_out; i++)
            out[i] = noted(g, step->out_dtype[i],
                           degree_of_factor(step, i, values[step->in[0]],
                                            values[step->in[step->n_in - 1]]));
        return;
    }
    const cz_view_body *body =
        step->body < 0 ? NULL : &g->view->bodies[step->body];
    int *v =
        CZ_NEW(arena, int,
               1 + step->n_in + step->n_generated + (body ? body->n_exprs : 0));
    take_inputs(g, step, values, v);
    if (body)
        grow_body(g, body, v);
    for (int i = 0; i < step->n_out; i++)
        out[i] = body              ? v[body->out[i]]
                 : step->beta != 0 ? larger(v[0], v[1])
                                   : v[0];
}

static void grow_stage(growth *g, const cz_view_stage *stage)
{
    cz_arena arena;
    int n = stage->n_in + stage->fact->scalars.n;

    cz_arena_init(&arena);
    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    int *values = CZ_NEW(&arena, int, n + 1);
    for (int i = 0; i < stage->n_in; i++)
        values[i] = g->slots[stage->in[i].kind][stage->in[i].index];
    n = stage->n_in + stage->fact->scalars.n;
    for (int s = 0; s < stage->n_steps; n += stage->steps[s++].n_out)
        grow_step(g, &arena, &stage->steps[s], values, values + n);
    for (int i = 0; i < stage->n_out; i++) {
        int *slot = &g->slots[stage->out[i].kind][stage->out[i].index];
        *slot = larger(*slot, values[stage->out_value[i]]);
    }
    cz_arena_fini(&arena);
}

int cz_growth_limit(const cz_plan_view *view, int rule)
{
    const cz_view_rule *r = &view->rules[rule];
    growth g = {.view = view, .largest = ONE};

    for (int i = 0; i < MAX_INDEX; i++)
        g.slots[CZ_SLOT_GRAD][i] = ONE;
    for (int round = 0; round < MAX_ROUNDS; round++)
        for (int s = 0; s < r->n_stages; s++) {
            const cz_view_stage *stage = &view->stages[r->first_stage + s];
            for (int i = 0; i < cz_view_n_bodies(stage); i++)
                grow_stage(&g, cz_view_variant(stage, i));
        }
    return CZ_GROWTH_LIMIT * ONE / g.largest;
}
