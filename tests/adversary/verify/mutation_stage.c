/* Mutations of stages: slots, scalars, operands, constants, what is generated,
 * and which body belongs to which phase. */
#include "tests/adversary/verify/mutation.h"

#include <string.h>

enum { N_TRIES = 64 };

/* A list of the copy's own. */
#define OWN(type, list) ((type *)(uintptr_t)(list))

static cz_view_stage *pick_stage(mutable_plan *plan, randoms *r)
{
    return &plan->stages[draw(r, plan->origin->n_stages)];
}

/* In all phases: a variant has the slots of its stage. */
static void share_slots(cz_view_stage *stage)
{
    cz_view_stage *variants = OWN(cz_view_stage, stage->variants);

    for (int p = 0; p < stage->n_variants; p++) {
        variants[p].in = stage->in;
        variants[p].out = stage->out;
    }
}

/* The body of a stage in some phase. */
static cz_view_stage *pick_variant(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_stage(plan, r);

    return stage->n_variants > 0
               ? &OWN(cz_view_stage,
                      stage->variants)[draw(r, stage->n_variants)]
               : stage;
}

static bool same_slot(const cz_view_slot *a, const cz_view_slot *b)
{
    return a->kind == b->kind && a->index == b->index;
}

/* Two inputs, or two outputs, change places. */
bool swap_slots(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_stage(plan, r);
    const bool is_out = chance(r, 2);
    const int n = is_out ? stage->n_out : stage->n_in;
    cz_view_slot *slots = OWN(cz_view_slot, is_out ? stage->out : stage->in);

    if (n < 2)
        return false;
    cz_view_slot *a = &slots[draw(r, n)], *b = &slots[draw(r, n)];
    const cz_view_slot kept = *a;
    *a = *b;
    *b = kept;
    share_slots(stage);
    return !same_slot(a, b);
}

/* The next of its kind, or the one before. */
bool shift_slot(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_stage(plan, r);

    if (stage->n_in + stage->n_out == 0)
        return false;
    const int i = (int)draw(r, stage->n_in + stage->n_out);
    cz_view_slot *slot = i < stage->n_in
                             ? &OWN(cz_view_slot, stage->in)[i]
                             : &OWN(cz_view_slot, stage->out)[i - stage->n_in];

    if (slot->kind == CZ_SLOT_GRAD || slot->kind == CZ_SLOT_PARAM ||
        slot->kind == CZ_SLOT_STORED)
        return false;
    slot->index += chance(r, 2) ? 1 : -1;
    share_slots(stage);
    return true;
}

/* Another result of the prologue: in all phases, as slots are. */
bool change_scalar(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_stage(plan, r);
    const cz_ints *scalars = &stage->fact->scalars;

    if (scalars->n == 0)
        return false;
    int64_t *number = OWN(int64_t, &scalars->v[draw(r, scalars->n)]);
    const int64_t was = *number;
    *number = draw_in(r, 0, plan->origin->rules[stage->rule].n_scalars);
    return *number != was;
}

static int n_values_before(const cz_view_stage *stage, int step)
{
    int n = stage->n_in + stage->fact->scalars.n;

    for (int s = 0; s < step; s++)
        n += stage->steps[s].n_out;
    return n;
}

/* A step takes another value, or two of its values change places. */
bool change_operand(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_variant(plan, r);

    if (stage->n_steps == 0)
        return false;
    const int s = (int)draw(r, stage->n_steps);
    const int n = stage->steps[s].n_in;
    int *in = OWN(int, stage->steps[s].in);
    if (n == 0)
        return false;
    int *a = &in[draw(r, n)], *b = &in[draw(r, n)];
    const int was = *a;
    *a = chance(r, 2) ? *b : (int)draw(r, n_values_before(stage, s));
    if (chance(r, 2))
        *b = was;
    return *a != was;
}

static cz_view_body *pick_body(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_variant(plan, r);

    if (stage->n_steps == 0)
        return NULL;
    const int body = stage->steps[draw(r, stage->n_steps)].body;
    return body < 0 ? NULL : &plan->bodies[body];
}

/* Behind what rounds: the verifier compares forms before any rounding. */
static int exact_of(const cz_view_body *body, int value)
{
    while (value >= body->n_in) {
        const cz_view_expr *expr = &body->exprs[value - body->n_in];
        if (expr->op != CZ_OP_TRUNCATE && expr->op != CZ_OP_EXTEND)
            break;
        value = expr->args[0];
    }
    return value;
}

/* An expression takes another value. */
bool change_argument(mutable_plan *plan, randoms *r)
{
    const cz_view_body *body = pick_body(plan, r);

    if (!body || body->n_exprs == 0)
        return false;
    const int e = (int)draw(r, body->n_exprs);
    cz_view_expr *expr = &OWN(cz_view_expr, body->exprs)[e];
    int *arg = &expr->args[draw(r, CZ_VIEW_MAX_ARGS)];
    const int was = *arg;
    if (expr->op == CZ_OP_CONSTANT || was < 0)
        return false;
    *arg = (int)draw(r, body->n_in + e);
    return exact_of(body, *arg) != exact_of(body, was);
}

/* Also the key of a random number. */
bool change_constant(mutable_plan *plan, randoms *r)
{
    for (int i = 0; i < N_TRIES; i++) {
        const cz_view_body *body = pick_body(plan, r);
        if (!body || body->n_exprs == 0)
            continue;
        cz_view_expr *expr =
            &OWN(cz_view_expr, body->exprs)[draw(r, body->n_exprs)];
        if (expr->op != CZ_OP_CONSTANT)
            continue;
        expr->constant += chance(r, 2) ? 1.0 : -1.0;
        return true;
    }
    return false;
}

/* The row's number for the column's. */
bool change_generated(mutable_plan *plan, randoms *r)
{
    for (int i = 0; i < N_TRIES; i++) {
        const cz_view_stage *stage = pick_variant(plan, r);
        if (stage->n_steps == 0)
            continue;
        const cz_view_step *step = &stage->steps[draw(r, stage->n_steps)];
        if (step->n_generated == 0)
            continue;
        cz_generator *what =
            &OWN(cz_generator, step->generated)[draw(r, step->n_generated)];
        *what = *what == CZ_GENERATE_ROW ? CZ_GENERATE_COLUMN : CZ_GENERATE_ROW;
        return true;
    }
    return false;
}

/* Another value leaves the stage. */
bool change_output(mutable_plan *plan, randoms *r)
{
    const cz_view_stage *stage = pick_variant(plan, r);
    int *out = OWN(int, stage->out_value);

    if (stage->n_out < 2)
        return false;
    const int a = (int)draw(r, stage->n_out), b = (int)draw(r, stage->n_out);
    const int kept = out[a];
    out[a] = out[b];
    out[b] = kept;
    return out[a] != out[b];
}

/* Two phases have each other's bodies. */
bool swap_phases(mutable_plan *plan, randoms *r)
{
    cz_view_stage *stage = pick_stage(plan, r);

    for (int i = 0; i < N_TRIES && stage->n_variants < 2; i++)
        stage = pick_stage(plan, r);
    if (stage->n_variants < 2)
        return false;
    cz_view_stage *variants = OWN(cz_view_stage, stage->variants);
    cz_view_stage *a = &variants[draw(r, stage->n_variants)];
    cz_view_stage *b = &variants[draw(r, stage->n_variants)];
    const cz_view_stage kept = *a;
    *a = *b;
    *b = kept;
    return strcmp(a->fact->body, b->fact->body) != 0;
}
