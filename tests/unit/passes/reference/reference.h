/* What a module computes, by the float64 interpreter, in whatever form a pass
 * left it: to be taken before and after a pass and compared bit for bit.
 *
 * No pass is granted a bound.  In float64 as the interpreter computes it, what
 * passes do is exact: sums and contractions keep their order, factors commute,
 * alpha and beta multiply where the constants did, and a rounding is one
 * operation that math form, stages and the result of a product share.  The one
 * rounding that math form leaves unsaid, that of a bf16 parameter that is its
 * own master, is done here. */
#ifndef CZ_TESTS_PASSES_REFERENCE_H
#define CZ_TESTS_PASSES_REFERENCE_H

#include "dsl/reference/reference.h"
#include "dsl/plan/build/build.h"
#include "dsl/plan/state.h"
#include "passes/passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REF_STEPS = 3, REF_FORMS = 2 };

/* One result of one pattern in one step. */
typedef struct ref_part {
    const char *pattern, *what; /* "param", "stored" or a state */
    int step;
    int64_t n;
    const double *values;
} ref_part;

typedef struct ref_values {
    int n;
    ref_part *parts;
} ref_values;

/* Of a module between two passes: its update functions and, once there are
 * some, its stages; each without rounding [0] and with [1]. */
typedef struct ref_taken {
    int n;
    ref_values of[REF_FORMS][2];
} ref_taken;

/* ---- a pattern under way ---- */

typedef struct ref_pattern {
    cz_arena *arena;
    const cz_ir *ir;
    const cz_plan_view *view; /* of kernel form */
    cz_reference_form form;
    bool round;
    const cz_fact_pattern *fact;
    const cz_fact_rule *rule;
    int rule_number;
    const double *hypers;
    cz_dtype kept;   /* type of slot PARAM */
    cz_dtype stored; /* of the parameter; equal to `kept`: no copy */
    int64_t count;
    uint64_t random;
    double *grad, *param, *copy;
    double **states;
} ref_pattern;

static inline double ref_uniform(ref_pattern *f)
{
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(f->random >> 40) * 0x1p-24;
}

static inline cz_dtype ref_dtype(const char *name)
{
    cz_dtype dtype = CZ_F32;

    if (!cz_dtype_find(name, &dtype))
        abort();
    return dtype;
}

static inline double ref_narrow(const ref_pattern *f, cz_dtype dtype, double x)
{
    return f->round && dtype == CZ_BF16 ? cz_reference_round(dtype, x) : x;
}

static inline void ref_find_rule(ref_pattern *f)
{
    int n;
    const cz_fact_rule *rules = cz_ir_read_rule(f->ir, f->arena, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(rules[i].sym_name, f->fact->rule) == 0) {
            f->rule = &rules[i];
            f->rule_number = i;
        }
    if (!f->rule)
        abort();
}

/* Run-time values: defaults, but none that switches its term off. */
static inline void ref_find_hypers(ref_pattern *f)
{
    int n;
    const cz_fact_use *uses = cz_ir_read_use(f->ir, f->arena, &n);
    const cz_fact_use *use = uses;

    while (use < uses + n && strcmp(use->sym_name, f->rule->use) != 0)
        use++;
    double *hypers = CZ_NEW(f->arena, double, use->hypers.n + 1);
    for (int i = 0; i < use->hypers.n; i++) {
        hypers[i] = use->has_default.v[i] ? use->defaults.v[i] : 0.05;
        if (hypers[i] == 0.0)
            hypers[i] = 0.01;
    }
    f->hypers = hypers;
}

/* Elements of a state, or, below 0, of what has the parameter's shape. */
static inline int64_t ref_elements(const ref_pattern *f, int state)
{
    return state >= 0 && cz_state_is_owned(f->rule, state)
               ? cz_state_elements(f->rule, state)
               : f->count;
}

/* Of positive size, as second moments; symmetric where it has to be. */
static inline void ref_fill_state(ref_pattern *f, int state)
{
    const cz_dtype dtype = ref_dtype(f->rule->state_dtypes.v[state]);
    const int64_t n = ref_elements(f, state);
    const int64_t side = f->rule->state_shapes.v[2 * state];
    double *values = CZ_NEW(f->arena, double, n);

    for (int64_t i = 0; i < n; i++)
        values[i] = cz_reference_round(
            dtype, cz_state_initial(f->rule, state, i) + ref_uniform(f));
    for (int64_t i = 0; f->rule->state_symmetric.v[state] && i < n; i++)
        values[i] = i / side > i % side ? values[i]
                                        : values[i % side * side + i / side];
    f->states[state] = values;
}

/* Parameters of either sign. */
static inline void ref_fill(ref_pattern *f)
{
    f->grad = CZ_NEW(f->arena, double, f->count);
    f->param = CZ_NEW(f->arena, double, f->count);
    f->copy = CZ_NEW(f->arena, double, f->count);
    f->states = CZ_NEW(f->arena, double *, f->rule->states.n + 1);
    for (int64_t i = 0; i < f->count; i++)
        f->param[i] = cz_reference_round(f->kept, 2.0 * ref_uniform(f) - 1.0);
    for (int s = 0; s < f->rule->states.n; s++)
        ref_fill_state(f, s);
}

static inline void ref_begin(ref_pattern *f)
{
    int n;
    const cz_fact_policy *policy = cz_ir_read_policy(f->ir, f->arena, &n);
    const cz_dtype master = policy->master_dtype;

    ref_find_rule(f);
    ref_find_hypers(f);
    f->stored = f->fact->dtype;
    f->kept =
        cz_dtype_bytes(master) > cz_dtype_bytes(f->stored) ? master : f->stored;
    f->count = 1;
    for (int i = 0; i < f->fact->shape.n; i++)
        f->count *= f->fact->shape.v[i];
    ref_fill(f);
}

/* Gradients of ordinary size, then small ones, then none at all. */
static inline void ref_step(ref_pattern *f, int step)
{
    static const double sizes[REF_STEPS] = {1.0, 0x1p-10, 0.0};
    static const double clips[REF_STEPS] = {1.0, 0.5, 0.75};

    for (int64_t i = 0; i < f->count; i++) {
        f->grad[i] = sizes[step] * (2.0 * ref_uniform(f) - 1.0);
        f->copy[i] = ref_narrow(f, f->stored, f->param[i]);
    }
    cz_reference_rule(
        f->ir, f->view,
        &(cz_reference_call){.rule = f->rule_number,
                             .form = f->form,
                             .round = f->round,
                             .count = f->count,
                             .t = step + 1,
                             .clip = clips[step],
                             .hypers = f->hypers,
                             .grad = f->grad,
                             .param = f->param,
                             .states = (const double *const *)f->states,
                             .param_out = f->param,
                             .states_out = f->states,
                             .stored_out = f->copy});
    for (int64_t i = 0; i < f->count && f->form == CZ_REFERENCE_MATH; i++) {
        f->param[i] = ref_narrow(f, f->kept, f->param[i]);
        f->copy[i] = ref_narrow(f, f->stored, f->param[i]);
    }
}

/* ---- all patterns ---- */

static inline void ref_keep(const ref_pattern *f, ref_values *values,
                            const char *what, int step, int64_t n,
                            const double *data)
{
    double *copy = CZ_NEW(f->arena, double, n);

    memcpy(copy, data, (size_t)n * sizeof *copy);
    *CZ_PUSH(f->arena, values->parts, values->n) =
        (ref_part){f->fact->sym_name, what, step, n, copy};
}

static inline void ref_run_pattern(ref_pattern *f, ref_values *values)
{
    ref_begin(f);
    for (int step = 0; step < REF_STEPS; step++) {
        ref_step(f, step);
        ref_keep(f, values, "param", step, f->count, f->param);
        if (f->stored != f->kept)
            ref_keep(f, values, "stored", step, f->count, f->copy);
        for (int s = 0; s < f->rule->states.n; s++)
            ref_keep(f, values, f->rule->states.v[s], step, ref_elements(f, s),
                     f->states[s]);
    }
}

/* `like` has arena, module, view, form and round. */
static inline ref_values ref_run(ref_pattern like)
{
    ref_values values = {0};
    int n;
    const cz_fact_pattern *patterns =
        cz_ir_read_pattern(like.ir, like.arena, &n);

    for (int i = 0; i < n; i++) {
        ref_pattern f = like;
        f.fact = &patterns[i];
        f.random = (uint64_t)i + 1;
        ref_run_pattern(&f, &values);
    }
    return values;
}

/* The form of a module's stages; math form where there are none.  A stage that
 * hands its arguments on has no operation: another one decides. */
static inline cz_reference_form ref_form(const cz_ir *ir, cz_arena *arena)
{
    int n;
    const cz_fact_stage *stages = cz_ir_read_stage(ir, arena, &n);

    for (int i = 0; i < n; i++) {
        const cz_ir_kind kind = cz_ir_op_kind(
            cz_ir_first_op(cz_ir_find_function(ir, stages[i].body)));
        if (kind == CZ_IR_MAP || kind == CZ_IR_PRODUCT)
            return CZ_REFERENCE_STAGES;
    }
    return n > 0 ? CZ_REFERENCE_CUT : CZ_REFERENCE_MATH;
}

/* False when no view could be built, after reporting. */
static inline bool ref_take(cz_arena *arena, const cz_ir *ir, cz_diags *diags,
                            ref_taken *taken)
{
    const cz_reference_form forms[REF_FORMS] = {CZ_REFERENCE_MATH,
                                                ref_form(ir, arena)};
    ref_pattern like = {.arena = arena, .ir = ir};

    taken->n = forms[1] == CZ_REFERENCE_MATH ? 1 : 2;
    if (forms[1] == CZ_REFERENCE_STAGES) {
        like.view = cz_plan_view_build(arena, ir, diags);
        if (!like.view)
            return false;
    }
    for (int i = 0; i < taken->n; i++)
        for (int round = 0; round < 2; round++) {
            like.form = forms[i];
            like.round = round;
            taken->of[i][round] = ref_run(like);
        }
    return true;
}

/* ---- comparison ---- */

static inline bool ref_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline bool ref_same_part(const ref_part *a, const ref_part *b,
                                 cz_text *why)
{
    if (strcmp(a->pattern, b->pattern) != 0 || strcmp(a->what, b->what) != 0 ||
        a->step != b->step || a->n != b->n) {
        cz_text_printf(why, "%s of %s became %s of %s", a->what, a->pattern,
                       b->what, b->pattern);
        return false;
    }
    for (int64_t i = 0; i < a->n; i++)
        if (!ref_same(a->values[i], b->values[i])) {
            cz_text_printf(why,
                           "%s of %s, step %d, element %lld: %.17g became "
                           "%.17g",
                           a->what, a->pattern, a->step, (long long)i,
                           a->values[i], b->values[i]);
            return false;
        }
    return true;
}

static inline bool ref_same_values(const ref_values *a, const ref_values *b,
                                   cz_text *why)
{
    if (a->n != b->n)
        cz_text_printf(why, "%d results became %d", a->n, b->n);
    for (int i = 0; i < a->n && i < b->n; i++)
        if (!ref_same_part(&a->parts[i], &b->parts[i], why))
            return false;
    return a->n == b->n;
}

/* Whether every form of `after` has the bits of every form of `before`; else
 * the first difference is appended to `why`. */
static inline bool ref_equal(const ref_taken *before, const ref_taken *after,
                             cz_text *why)
{
    for (int i = 0; i < before->n; i++)
        for (int k = 0; k < after->n; k++)
            for (int round = 0; round < 2; round++)
                if (!ref_same_values(&before->of[i][round],
                                     &after->of[k][round], why))
                    return false;
    return true;
}

/* ---- the pipeline ---- */

/* Run one pass with the interpreter before (`taken`) and after it (`taken`
 * then).  False, and why, if the pass fails or a bit changed. */
static inline bool ref_pass(const cz_pass *pass, cz_arena *arena, cz_ir *ir,
                            cz_diags *diags, ref_taken *taken, cz_text *why)
{
    const ref_taken before = *taken;

    cz_text_printf(why, "%s: ", pass->name);
    if (pass->run(ir, diags) && cz_ir_verify(ir) &&
        ref_take(arena, ir, diags, taken))
        return ref_equal(&before, taken, why);
    cz_diags_print(diags, why, false);
    return false;
}

/* The pipeline from pass `first` on.  Prints what went wrong. */
static inline bool ref_passes(const char *name, const cz_pass *first, cz_ir *ir,
                              cz_diags *diags)
{
    cz_arena arena;
    cz_text why;
    ref_taken taken;
    bool ok;

    cz_arena_init(&arena);
    cz_text_init(&why);
    ok = ref_take(&arena, ir, diags, &taken);
    for (const cz_pass *pass = first; ok && pass->name; pass++) {
        cz_text_fini(&why);
        cz_text_init(&why);
        ok = ref_pass(pass, &arena, ir, diags, &taken, &why);
    }
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, cz_text_string(&why));
    cz_text_fini(&why);
    cz_arena_fini(&arena);
    return ok;
}

static inline bool ref_pipeline(const char *name, cz_ir *ir, cz_diags *diags)
{
    return ref_passes(name, cz_passes, ir, diags);
}

/* ---- passes that keep the mathematics, not the bits ---- */

/* The largest difference, over the largest size of the part, of what is not
 * rounded, in patterns whose names begin so; infinite where parts differ in
 * name or number, or there are none. */
static inline double ref_distance(const ref_taken *before,
                                  const ref_taken *after, const char *start)
{
    const ref_values *a = &before->of[0][0], *b = &after->of[0][0];
    double worst = a->n == b->n ? 0 : INFINITY;
    bool any = false;

    for (int i = 0; i < a->n && isfinite(worst); i++) {
        const ref_part *p = &a->parts[i], *q = &b->parts[i];
        double size = 0, off = 0;
        if (strcmp(p->pattern, q->pattern) != 0 || p->n != q->n)
            return INFINITY;
        if (strncmp(p->pattern, start, strlen(start)) != 0)
            continue;
        any = true;
        for (int64_t k = 0; k < p->n; k++) {
            size = fmax(size, fabs(p->values[k]));
            off = fmax(off, fabs(p->values[k] - q->values[k]));
        }
        worst =
            fmax(worst, isfinite(off) ? off / fmax(size, 1e-300) : INFINITY);
    }
    return any ? worst : INFINITY;
}

#endif
