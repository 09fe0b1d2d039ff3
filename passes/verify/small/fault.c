/* What is wrong with the numbers, types and sizes of a stage's values, at the
 * size of its matrix. */
#include "passes/verify/small/small.h"

/* Rows and columns; of what has one row or one column the product alone counts,
 * since it lies alike. */
typedef struct shape {
    int64_t rows, columns;
} shape;

/* A stage while its steps are gone through. */
typedef struct walk {
    const cz_plan_view *view;
    const cz_view_stage *stage;
    int n_scalars_end; /* values below are inputs, then scalars */
    int n_known;
    const cz_dtype *dtypes; /* of each value, as is their size */
    const shape *sizes;
} walk;

static bool is_same(shape a, shape b)
{
    const bool are_flat =
        (a.rows == 1 || a.columns == 1) && (b.rows == 1 || b.columns == 1);

    return are_flat ? a.rows * a.columns == b.rows * b.columns
                    : a.rows == b.rows && a.columns == b.columns;
}

/* ---- bodies ---- */

static bool has_body(const walk *w, const cz_view_step *step)
{
    return step->body >= 0 && step->body < w->view->n_bodies;
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

/* A body takes of the step a product's accumulator instead of its two factors,
 * then the other operands, then what is generated. */
static const char *body_fault(const walk *w, const cz_view_step *step)
{
    const cz_view_body *body = &w->view->bodies[step->body];
    const int from = step->is_product ? 2 : 0;
    const int first = step->is_product ? 1 : 0;

    if (body->n_in != step->n_in - from + first + step->n_generated ||
        body->n_out != step->n_out)
        return "has a body that takes or gives another number of values";
    for (int i = from; i < step->n_in; i++)
        if (body->in[first + i - from] != w->dtypes[step->in[i]])
            return "has a body that takes values of other types";
    for (int i = 0; i < body->n_out; i++)
        if (body->out_dtype[i] != step->out_dtype[i])
            return "has a body that gives values of other types";
    return is_body_ordered(body) ? NULL : "computes with what is not there yet";
}

/* ---- sizes ---- */

/* What an access reaches of a space; CZ_N_ACCESSES is never asked for. */
static shape reached(shape space, cz_access access)
{
    const cz_access reach = cz_access_reach(access);

    if (reach == CZ_ACCESS_TRANSPOSED)
        return (shape){space.columns, space.rows};
    return (shape){
        reach == CZ_ACCESS_ELEMENT || reach == CZ_ACCESS_ROW ? space.rows : 1,
        reach == CZ_ACCESS_ELEMENT || reach == CZ_ACCESS_COLUMN ? space.columns
                                                                : 1};
}

static shape turned(bool is_turned, int64_t rows, int64_t columns)
{
    return is_turned ? (shape){columns, rows} : (shape){rows, columns};
}

/* The length that ranks who share a matrix have equal parts of. */
static int64_t *cut_of(const cz_view_stage *stage, shape *size)
{
    return stage->subgroup->dim == 0 ? &size->rows : &size->columns;
}

static shape slot_size(const walk *w, const cz_view_slot *slot)
{
    const cz_view_stage *stage = w->stage;
    const cz_fact_rule *rule = w->view->rules[stage->rule].fact;
    shape size = {1, 1};

    if (!cz_view_is_shaped(stage))
        return size; /* any run of elements, one by one */
    if (slot->kind == CZ_SLOT_STATE)
        return (shape){rule->state_shapes.v[2 * slot->index],
                       rule->state_shapes.v[2 * slot->index + 1]};
    if (rule->shape.n > 0)
        size.rows = rule->shape.v[0];
    if (rule->shape.n > 1)
        size.columns = rule->shape.v[1];
    if (stage->subgroup)
        *cut_of(stage, &size) /= stage->subgroup->size;
    return size;
}

/* Of a rank's part a length is what its update has, or an equal part of it. */
static bool is_length(const walk *w, int64_t length)
{
    const cz_view_rule *rule = &w->view->rules[w->stage->rule];
    const int64_t group = w->stage->subgroup ? w->stage->subgroup->size : 1;
    const int n = rule->n_phases > 0 ? rule->n_phases : 1;

    if (length == 1)
        return true;
    for (int p = 0; p < n; p++) {
        const cz_view_update *u = &rule->updates[p];
        for (int i = 0; i < u->n_in + u->n_terms; i++)
            for (int d = 0; d < u->shapes[i].rank; d++)
                if (u->shapes[i].size[d] == length ||
                    u->shapes[i].size[d] == length * group)
                    return true;
    }
    return false;
}

/* Stages that go element by element have no rows, nor columns. */
static const char *run_fault(const cz_view_step *step)
{
    static const char *const fault =
        "has a step that does not go element by element, on what is a run";
    bool ok = !step->is_product && step->factor == CZ_FACTOR_NONE &&
              step->rows == 1 && step->columns == 1 && step->n_generated == 0 &&
              step->partition <= 1 && step->partial == 0;

    for (int i = 0; i < step->n_in; i++)
        ok = ok && (step->access[i] == CZ_ACCESS_ELEMENT ||
                    step->access[i] == CZ_ACCESS_SCALAR);
    for (int i = 0; i < step->n_out; i++)
        ok = ok && step->out_access[i] == CZ_ACCESS_ELEMENT;
    return ok ? NULL : fault;
}

static const char *factors_fault(const walk *w, const cz_view_step *step)
{
    const int64_t rows = cz_view_all_rows(step);

    if (!is_same(w->sizes[step->in[0]],
                 turned(step->transpose_a, rows, step->inner)) ||
        !is_same(w->sizes[step->in[1]],
                 turned(step->transpose_b, step->inner, step->columns)))
        return "multiplies what is of another size";
    if (step->beta != 0.0 && !has_body(w, step) &&
        (step->n_in < 3 ||
         !is_same(w->sizes[step->in[2]], (shape){rows, step->columns})))
        return "adds to a product what is of another size";
    /* Without room for it the sum is the result, as it comes. */
    if (step->offsets[1] < 0 &&
        (has_body(w, step) || step->alpha != 1.0 || step->beta != 0.0 ||
         step->out_dtype[0] != CZ_F32))
        return "makes of a product's sum what it has no accumulator for";
    return NULL;
}

static const char *call_fault(const walk *w, const cz_view_step *step)
{
    const cz_factor_size *size = &step->size;
    const shape wanted[] = {{size->m, size->n}, {size->n, size->k}};

    for (int i = 0; i < step->n_in; i++)
        if (!is_same(w->sizes[step->in[i]], wanted[i]))
            return "factorises what is of another size";
    return NULL;
}

/* Operands that are reached over the step's space, which they are as large as.
 */
static const char *space_fault(const walk *w, const cz_view_step *step)
{
    const shape space = {cz_view_all_rows(step), step->columns};

    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++) {
        const bool is_scalar =
            step->in[i] >= w->stage->n_in && step->in[i] < w->n_scalars_end;
        /* Scalars, and nothing else, are handed over by value. */
        if (is_scalar != (step->access[i] == CZ_ACCESS_SCALAR))
            return "takes a scalar for a tensor, or a tensor for a scalar";
        if (cz_access_is_reduction(step->access[i]) ||
            (!is_scalar &&
             !is_same(w->sizes[step->in[i]], reached(space, step->access[i]))))
            return "reads a value of another size than its space";
    }
    return is_length(w, space.rows) && is_length(w, space.columns)
               ? NULL
               : "has a space that no matrix of its update has";
}

/* ---- steps ---- */

static const char *step_fault(const walk *w, const cz_view_step *step)
{
    const char *fault;

    for (int i = 0; i < step->n_in; i++)
        if (step->in[i] < 0 || step->in[i] >= w->n_known)
            return "takes a value that is not there yet";
    if (!cz_view_is_shaped(w->stage) && (fault = run_fault(step)) != NULL)
        return fault;
    if (step->factor != CZ_FACTOR_NONE)
        return call_fault(w, step);
    if (!step->is_product && !has_body(w, step))
        return "has a map without a body";
    fault = step->is_product ? factors_fault(w, step) : NULL;
    if (!fault && (!step->is_product || has_body(w, step)))
        fault = space_fault(w, step);
    return !fault && has_body(w, step) ? body_fault(w, step) : fault;
}

static shape result_size(const cz_view_step *step, int i)
{
    const shape space = {cz_view_all_rows(step), step->columns};

    if (step->factor != CZ_FACTOR_NONE) {
        const cz_factor_result result =
            cz_factor_result_of(step->factor, i, &step->size);
        return (shape){result.shape[0], result.rank == 2 ? result.shape[1] : 1};
    }
    return reached(space, step->out_access[i]);
}

const char *small_fault(cz_arena *arena, const cz_plan_view *view,
                        const cz_view_stage *stage)
{
    const int n_given = stage->n_in + stage->fact->scalars.n;
    int n = n_given;

    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    cz_dtype *dtypes = CZ_NEW(arena, cz_dtype, n + 1);
    shape *sizes = CZ_NEW(arena, shape, n + 1);
    walk w = {view, stage, n_given, n_given, dtypes, sizes};

    for (int i = 0; i < stage->n_in; i++) {
        dtypes[i] = stage->in[i].dtype;
        sizes[i] = slot_size(&w, &stage->in[i]);
    }
    for (int i = 0; i < stage->fact->scalars.n; i++) {
        if (stage->fact->scalars.v[i] < 0 ||
            stage->fact->scalars.v[i] >= view->rules[stage->rule].n_scalars)
            return "takes a scalar that its rule has not";
        dtypes[stage->n_in + i] = CZ_F32;
        sizes[stage->n_in + i] = (shape){1, 1};
    }
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const char *fault = step_fault(&w, step);
        if (fault)
            return fault;
        for (int i = 0; i < step->n_out; i++) {
            dtypes[w.n_known] = step->out_dtype[i];
            sizes[w.n_known++] = result_size(step, i);
        }
    }
    for (int i = 0; i < stage->n_out; i++) {
        const int value = stage->out_value[i];
        if (value < 0 || value >= n)
            return "gives a value that it never makes";
        if (dtypes[value] != stage->out[i].dtype)
            return "gives a value of another type than its slot's";
        if (!is_same(sizes[value], slot_size(&w, &stage->out[i])))
            return "gives a value of another size than its slot's";
    }
    return NULL;
}
