/* Outlining of shared stages: the steps once more, on a part of the matrix. */
#include "passes/kernel/outline.h"

#include "dsl/plan/state.h"

#include <assert.h>

typedef struct outliner {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_view_stage *stage;
    const cz_ir_type *types;
    const cz_cut_of *cuts; /* of the stage's values */
    int64_t subgroup_size;
    cz_kernel *kernel;
    int *value;      /* of each value of the stage: its number in the kernel */
    int *pending_of; /* of each value of the kernel: the segment behind which
                      * the ranks add it up, or gather it; -1: neither */
    int segment;
} outliner;

/* ---- values ---- */

static int add_value(outliner *o, cz_ir_type type, int pending_of)
{
    int n = o->kernel->n_values;

    *CZ_PUSH(o->arena, o->pending_of, n) = pending_of;
    *CZ_PUSH(o->arena, o->kernel->types, o->kernel->n_values) = type;
    return n - 1;
}

/* A value's type on one rank. */
static cz_ir_type part_of(const outliner *o, int value)
{
    cz_ir_type type = o->types[value];
    const cz_cut_of cut = o->cuts[value];

    if (cut != CZ_CUT_NONE)
        type.shape[cut == CZ_CUT_COLUMNS ? 1 : 0] /= o->subgroup_size;
    return type;
}

/* ---- bodies ---- */

static int add_body(outliner *o, cz_view_body body)
{
    *CZ_PUSH(o->arena, o->kernel->bodies, o->kernel->n_bodies) = body;
    return o->kernel->n_bodies - 1;
}

/* A body while it is written; values are its inputs, then its expressions. */
typedef struct body_writer {
    cz_arena *arena;
    cz_view_body body;
    cz_view_expr *exprs;
} body_writer;

static int put(body_writer *w, cz_view_expr expr)
{
    *CZ_PUSH(w->arena, w->exprs, w->body.n_exprs) = expr;
    return w->body.n_in + w->body.n_exprs - 1;
}

static int put_scaled(body_writer *w, double factor, int value)
{
    if (factor == 1)
        return value;
    const int constant = put(w, (cz_view_expr){.op = CZ_OP_CONSTANT,
                                               .dtype = CZ_F32,
                                               .constant = (float)factor});
    return put(w, (cz_view_expr){.op = CZ_OP_MUL,
                                 .dtype = CZ_F32,
                                 .args = {constant, value}});
}

/* alpha * acc + beta * s in f32, rounded once: what a product without a body
 * does with its accumulator. */
static cz_view_body affine_body(const outliner *o, const cz_view_step *step)
{
    const bool has_s = step->beta != 0;
    const cz_dtype s = has_s ? o->types[step->in[2]].dtype : CZ_F32;
    const cz_dtype out_dtype = step->out_dtype[0];
    cz_dtype *in = CZ_NEW(o->arena, cz_dtype, 2);
    cz_dtype *to = CZ_NEW(o->arena, cz_dtype, 1);
    int *out = CZ_NEW(o->arena, int, 1);
    body_writer w = {.arena = o->arena,
                     .body = {.n_in = has_s ? 2 : 1, .n_out = 1}};

    in[0] = CZ_F32;
    in[1] = s;
    *to = out_dtype;
    *out = put_scaled(&w, step->alpha, 0);
    if (has_s) {
        int operand = 1;
        if (s != CZ_F32)
            operand = put(&w, (cz_view_expr){.op = CZ_OP_EXTEND,
                                             .dtype = CZ_F32,
                                             .args = {operand}});
        *out = put(&w, (cz_view_expr){.op = CZ_OP_ADD,
                                      .dtype = CZ_F32,
                                      .args = {*out, put_scaled(&w, step->beta,
                                                                operand)}});
    }
    if (out_dtype != CZ_F32)
        *out = put(&w, (cz_view_expr){.op = CZ_OP_TRUNCATE,
                                      .dtype = out_dtype,
                                      .args = {*out}});
    w.body.in = in;
    w.body.exprs = w.exprs;
    w.body.out = out;
    w.body.out_dtype = to;
    return w.body;
}

/* A value of a body behind whose n_in inputs stands the first one's extension,
 * which is read instead of it. */
static int behind_extension(int value, int n_in)
{
    if (value == 0)
        return n_in;
    return value < n_in ? value : value + 1;
}

/* The same of a sum in bf16, where the body has its f32 accumulator. */
static cz_view_body widened(const outliner *o, const cz_view_body *body)
{
    const int n_in = body->n_in;
    cz_dtype *in = CZ_NEW(o->arena, cz_dtype, n_in);
    int *out = CZ_NEW(o->arena, int, body->n_out);
    body_writer w = {.arena = o->arena, .body = *body};

    w.body.n_exprs = 0;
    for (int i = 0; i < n_in; i++)
        in[i] = i == 0 ? CZ_BF16 : body->in[i];
    put(&w, (cz_view_expr){.op = CZ_OP_EXTEND, .dtype = CZ_F32});
    for (int i = 0; i < body->n_exprs; i++) {
        cz_view_expr expr = body->exprs[i];
        for (int k = 0; k < CZ_VIEW_MAX_ARGS; k++)
            expr.args[k] = behind_extension(expr.args[k], n_in);
        put(&w, expr);
    }
    for (int i = 0; i < body->n_out; i++)
        out[i] = behind_extension(body->out[i], n_in);
    w.body.in = in;
    w.body.exprs = w.exprs;
    w.body.out = out;
    return w.body;
}

/* What a product does with its accumulator, to its sum. */
static cz_view_body epilogue_body(const outliner *o, const cz_view_step *step)
{
    const cz_view_body body =
        step->body >= 0 ? o->view->bodies[step->body] : affine_body(o, step);

    return cz_share_sum_dtype(step) == CZ_F32 ? body : widened(o, &body);
}

/* ---- steps ---- */

/* What is added up or gathered is read in a later segment than the one that
 * makes it. */
static void begin(outliner *o, const int *in, int n)
{
    assert(o->pending_of); /* a stage has values before it has steps */
    for (int i = 0; i < n; i++)
        if (o->pending_of[in[i]] == o->segment) {
            o->segment++;
            return;
        }
}

static void add_step(outliner *o, cz_view_step step)
{
    begin(o, step.in, step.n_in);
    step.segment = o->segment;
    *CZ_PUSH(o->arena, o->kernel->steps, o->kernel->n_steps) = step;
}

static int64_t fewer(int64_t blocks, int64_t subgroup_size, bool is_cut)
{
    return is_cut && blocks > 1 ? blocks / subgroup_size : blocks;
}

static void deal_out(const outliner *o, cz_view_step *part)
{
    part->partition = o->subgroup_size;
    part->rows /= o->subgroup_size;
    part->symmetric = part->symmetric && part->band > 0;
}

/* The step on one rank's part, its results yet without numbers. */
static cz_view_step scale(const outliner *o, const cz_view_step *step,
                          const cz_step_cut *share)
{
    cz_view_step part = *step;
    const bool rows = share->space == CZ_CUT_ROWS;
    const bool columns = share->space == CZ_CUT_COLUMNS;

    int *in = CZ_NEW(o->arena, int, step->n_in);

    for (int i = 0; i < step->n_in; i++)
        in[i] = o->value[step->in[i]];
    part.in = in;
    part.rows /= rows ? o->subgroup_size : 1;
    part.columns /= columns ? o->subgroup_size : 1;
    part.inner /= share->inner ? o->subgroup_size : 1;
    part.blocks.rows = fewer(step->blocks.rows, o->subgroup_size, rows);
    part.blocks.columns =
        fewer(step->blocks.columns, o->subgroup_size, columns);
    part.blocks.inner =
        fewer(step->blocks.inner, o->subgroup_size, share->inner);
    part.partial = share->partial;
    part.scatter = share->scatter;
    part.band = share->band;
    if (share->gather_bytes > 0 && !share->scatter)
        deal_out(o, &part);
    if (step->body >= 0)
        part.body = -1;
    return part;
}

/* What becomes of a product whose sum is there: a map of the sum and the
 * operands behind the factors.  Returns the number of its result. */
static int add_epilogue(outliner *o, const cz_view_step *step,
                        const cz_step_cut *share, int sum, cz_ir_type type)
{
    const int n_in = step->n_in - 1;
    int *in = CZ_NEW(o->arena, int, n_in);
    cz_access *access = CZ_NEW(o->arena, cz_access, n_in);

    in[0] = sum;
    access[0] = CZ_ACCESS_ELEMENT;
    for (int i = 1; i < n_in; i++) {
        in[i] = o->value[step->in[i + 1]];
        access[i] = step->access[i + 1];
    }
    cz_view_step map = {.body = add_body(o, epilogue_body(o, step)),
                        .n_in = n_in,
                        .in = in,
                        .access = access,
                        .n_out = 1,
                        .out_access = step->out_access,
                        .out_dtype = step->out_dtype,
                        .rows = step->rows,
                        .columns = step->columns,
                        .band = share->band};
    if (share->scatter)
        deal_out(o, &map);
    add_step(o, map);
    return add_value(o, type, share->scatter ? o->segment : -1);
}

/* Returns the number of the sum, which the group adds up. */
static int add_bare_product(outliner *o, const cz_view_step *step,
                            const cz_step_cut *share, int result)
{
    cz_dtype *dtype = CZ_NEW(o->arena, cz_dtype, 1);
    cz_view_step bare = scale(o, step, share);

    bare.n_in = 2;
    bare.alpha = 1;
    bare.beta = 0;
    *dtype = cz_share_sum_dtype(step);
    bare.out_dtype = dtype;
    add_step(o, bare);
    return add_value(o, cz_ir_type_with(part_of(o, result), *dtype),
                     o->segment);
}

static void outline_step(outliner *o, const cz_view_step *step,
                         const cz_step_cut *share, int first_result)
{
    if (share->inner && !cz_share_is_plain(step)) {
        const int sum = add_bare_product(o, step, share, first_result);
        o->value[first_result] =
            add_epilogue(o, step, share, sum, part_of(o, first_result));
        return;
    }
    cz_view_step part = scale(o, step, share);
    if (step->body >= 0)
        part.body = add_body(o, o->view->bodies[step->body]);
    add_step(o, part);
    for (int i = 0; i < step->n_out; i++)
        o->value[first_result + i] = add_value(
            o, part_of(o, first_result + i),
            share->partial >> i & 1 || part.partition > 1 ? o->segment : -1);
}

static void outline(outliner *o, const cz_step_cut *step_cuts)
{
    const cz_view_stage *stage = o->stage;
    int next = stage->n_in + stage->fact->scalars.n;

    o->kernel->n_in = stage->n_in;
    o->kernel->n_scalars = stage->fact->scalars.n;
    for (int i = 0; i < next; i++)
        o->value[i] = add_value(o, part_of(o, i), -1);
    for (int s = 0; s < stage->n_steps; s++) {
        outline_step(o, &stage->steps[s], &step_cuts[s], next);
        next += stage->steps[s].n_out;
    }
    o->kernel->n_out = stage->n_out;
    o->kernel->out_value = CZ_NEW(o->arena, int, stage->n_out);
    for (int i = 0; i < stage->n_out; i++)
        o->kernel->out_value[i] = o->value[stage->out_value[i]];
}

/* ---- whether ---- */

/* Stages that the cut makes do; one made by hand may take anything. */
static bool takes_matrices(const cz_view_stage *stage, const cz_ir_type *types)
{
    for (int i = 0; i < stage->n_in; i++)
        if (types[i].rank != 2)
            return false;
    return stage->n_in > 0 && stage->n_steps > 0;
}

/* Whether every length that is cut has so many equal parts. */
static bool has_parts(const cz_view_stage *stage, const cz_step_cut *step_cuts,
                      int64_t subgroup_size)
{
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const int64_t length = step_cuts[s].inner                  ? step->inner
                               : step_cuts[s].space == CZ_CUT_ROWS ? step->rows
                               : step_cuts[s].space == CZ_CUT_COLUMNS
                                   ? step->columns
                                   : 0;
        if (length % subgroup_size != 0)
            return false;
    }
    return true;
}

cz_outline_status cz_outline_check(cz_arena *scratch, const cz_plan_view *view,
                                   const cz_view_stage *stage,
                                   const int64_t shape[2], cz_cut_of sharded,
                                   int64_t subgroup_size, cz_outline *out)
{
    cz_step_cut *step_cuts = CZ_NEW(scratch, cz_step_cut, stage->n_steps);

    assert(stage->where == CZ_WHERE_FULL_MATRIX && subgroup_size > 1);
    *out = (cz_outline){.cut = CZ_CUT_NONE};
    if (stage->n_variants > 0)
        return CZ_OUTLINE_PHASES;
    if (cz_state_any_owned(view->rules[stage->rule].fact))
        return CZ_OUTLINE_STATES;
    out->cut = cz_share_along(scratch, view, stage, sharded);
    if (out->cut == CZ_CUT_NONE)
        return CZ_OUTLINE_NO_CUT;
    cz_step_cuts_find(scratch, stage, out->cut, step_cuts, NULL);
    out->length = shape[out->cut == CZ_CUT_COLUMNS ? 1 : 0];
    /* The fewest blocks that a sum along the cut dimension is made in. */
    int64_t least = 0;
    bool has_products = false;

    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const int64_t blocks = step_cuts[s].inner ? step->blocks.inner
                               : step_cuts[s].space == CZ_CUT_ROWS
                                   ? step->blocks.rows
                                   : step->blocks.columns;
        if (step_cuts[s].partial && (least == 0 || blocks < least))
            least = blocks;
        has_products |= step->is_product;
    }
    out->blocks = least;
    /* Of rules without products a part of one row is not told from a vector. */
    if (out->length % subgroup_size != 0 ||
        (!has_products && out->length == subgroup_size) ||
        !has_parts(stage, step_cuts, subgroup_size))
        return CZ_OUTLINE_LENGTH;
    if (view->program->strict && out->blocks > 0 &&
        out->blocks % subgroup_size != 0)
        return CZ_OUTLINE_BLOCKS;
    return CZ_OUTLINE_OK;
}

cz_outline_status cz_outline_build(cz_arena *arena, const cz_plan_view *view,
                                   const cz_view_stage *stage,
                                   const cz_ir_type *types, cz_cut_of sharded,
                                   int64_t subgroup_size, cz_outline *out)
{
    const int n_values = cz_step_cuts_n_values(stage);
    cz_step_cut *step_cuts = CZ_NEW(arena, cz_step_cut, stage->n_steps);
    cz_cut_of *cuts = CZ_NEW(arena, cz_cut_of, n_values);
    *out = (cz_outline){.cut = CZ_CUT_NONE};
    if (stage->n_variants == 0 &&
        !cz_state_any_owned(view->rules[stage->rule].fact) &&
        !takes_matrices(stage, types))
        return CZ_OUTLINE_NO_CUT;
    const cz_outline_status status = cz_outline_check(
        arena, view, stage, types[0].shape, sharded, subgroup_size, out);
    if (status != CZ_OUTLINE_OK)
        return status;
    cz_step_cuts_find(arena, stage, out->cut, step_cuts, cuts);
    cz_step_cuts_partition(stage, subgroup_size, step_cuts);
    cz_share_scatter(arena, stage, subgroup_size, step_cuts);
    outliner o = {.arena = arena,
                  .view = view,
                  .stage = stage,
                  .types = types,
                  .cuts = cuts,
                  .subgroup_size = subgroup_size,
                  .kernel = CZ_NEW(arena, cz_kernel, 1),
                  .value = CZ_NEW(arena, int, n_values)};
    outline(&o, step_cuts);
    out->kernel = o.kernel;
    return CZ_OUTLINE_OK;
}
