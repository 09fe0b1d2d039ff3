/* Optimizer rules to IR: check one at a static shape, then build its two
 * functions and its fact. */
#include "frontend/rule/rule.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/rule/internal.h"
#include "frontend/rule/path.h"

enum { FIRST_STATE = 1 }; /* slot 0 is the parameter */

static cz_rule start(const cz_rule_use *use, cz_diags *diags)
{
    return (cz_rule){.use = use,
                     .diags = diags,
                     .arena = use->arena,
                     .scalars = {.arena = use->arena}};
}

/* FOR_SHAPE of the optimizer. */
static const cz_node *header(const cz_rule *rule)
{
    return cz_optimizer_header(rule->use->optimizer);
}

bool cz_rule_signature_build(const cz_rule_use *use, cz_diags *diags,
                             cz_rule_signature *out)
{
    cz_rule rule = start(use, diags);
    cz_rule_bind_formals(&rule);
    *out = (cz_rule_signature){
        .hypers = rule.hypers,
        .defaults = rule.defaults,
        .has_default = rule.has_default,
        .n_hypers = rule.n_hypers,
        .n_dims = cz_rule_is_any(&rule) ? -1 : cz_n_items(header(&rule)),
    };
    return !rule.failed;
}

/* ---- running the body ---- */

/* The gradient, clipped where the schedule says so. */
static cz_rule_value *gradient(cz_rule *rule)
{
    const cz_tensor as = cz_rule_as_parameter(rule, CZ_F32);
    cz_rule_value *grad = cz_rule_argument(rule, 0, &as);
    if (!rule->use->clip)
        return grad;
    cz_rule_value *factor =
        cz_rule_number(rule, cz_scalar_input(&rule->scalars, CZ_RULE_CLIP));
    return cz_rule_binary(rule, rule->use->optimizer, CZ_OP_MUL, grad, factor);
}

/* Run the whole body in a fresh frame. */
static void run(cz_rule *rule)
{
    cz_rule_frame frame = {0};
    rule->frame = &frame;
    rule->slots = NULL;
    rule->n_slots = rule->n_steps = rule->n_serials = rule->n_frames = 0;
    rule->n_conditional = 0;
    const cz_tensor as = cz_rule_as_parameter(rule, rule->shape->master_dtype);
    *CZ_PUSH(rule->arena, rule->slots, rule->n_slots) = (cz_rule_slot){
        .name = "param",
        .as = as,
        .value = cz_rule_argument(rule, 1, &as),
        .declared = header(rule),
    };
    for (int i = 0; i < rule->n_formals; i++)
        cz_rule_bind(rule, rule->formals[i].name, rule->formals[i].value,
                     rule->formals[i].place);
    const cz_tensor *param = &rule->slots[0].value->tensor;
    for (int i = 0; i < cz_n_items(header(rule)); i++)
        cz_rule_bind(rule, cz_item(header(rule), i)->text,
                     cz_rule_number(rule, cz_rule_extent(param, i)),
                     cz_item(header(rule), i));
    cz_rule_bind(rule, "grad", gradient(rule), header(rule));
    cz_rule_run(rule, cz_optimizer_block(rule->use->optimizer));
    rule->frame = NULL;
    if (rule->path)
        *rule->path->left -= rule->n_steps;
}

/* ---- building ---- */

static cz_ir_type slot_type(const cz_tensor *as)
{
    return cz_rule_stored_type(as, as->dtype);
}

static void build_update(cz_rule *rule, cz_ir *ir, const char *name)
{
    /* (grad, param, states, scalars) -> (param, states). */
    const int n_tensors = 1 + rule->n_slots;
    const int n_in =
        n_tensors + rule->n_results + (rule->asks_name ? CZ_NAME_SCALARS : 0);
    cz_ir_type *in = CZ_NEW(rule->arena, cz_ir_type, n_in);
    in[0] = cz_rule_stored_type(&rule->slots[0].as, CZ_F32);
    for (int i = 0; i < rule->n_slots; i++)
        in[1 + i] = slot_type(&rule->slots[i].as);
    for (int i = n_tensors; i < n_in; i++)
        in[i] = cz_ir_scalar_type(CZ_F32);
    const cz_ir_signature signature = {
        .name = name,
        .n_in = n_in,
        .n_out = rule->n_slots,
        .in = in,
        .out = in + 1,
    };
    rule->builder = cz_ir_function(ir, &signature, rule->use->optimizer->span);
    rule->n_states = rule->n_slots - FIRST_STATE;
    rule->building = true;
    run(rule);
    cz_ir_value *results = CZ_NEW(rule->arena, cz_ir_value, rule->n_slots);
    for (int i = 0; i < rule->n_slots; i++)
        results[i] = cz_rule_store(rule, rule->slots[i].value);
    cz_ir_at(&rule->builder, rule->use->optimizer->span);
    cz_ir_return(&rule->builder, results, rule->n_slots);
}

static void add_fact(cz_rule *rule, cz_ir *ir, const char *symbol,
                     const char *update, const char *prologue)
{
    const int n = rule->n_states;
    const char **states = CZ_NEW(rule->arena, const char *, n);
    const char **dtypes = CZ_NEW(rule->arena, const char *, n);
    double *inits = CZ_NEW(rule->arena, double, n);
    int64_t *diagonal = CZ_NEW(rule->arena, int64_t, n);
    int64_t *symmetric = CZ_NEW(rule->arena, int64_t, n);
    int64_t *shapes = CZ_NEW(rule->arena, int64_t, 2 * n);
    int64_t *externs = CZ_NEW(rule->arena, int64_t, n);
    for (int i = 0; i < n; i++) {
        const cz_rule_slot *slot = &rule->slots[FIRST_STATE + i];
        states[i] = slot->name;
        dtypes[i] = cz_dtype_name(slot->as.dtype);
        inits[i] = slot->init;
        diagonal[i] = slot->is_diagonal;
        symmetric[i] = slot->as.symmetric;
        externs[i] = slot->is_extern;
        for (int dim = 0; dim < 2 && slot->is_full_matrix; dim++)
            shapes[2 * i + dim] = (int64_t)slot->as.extent[dim]->constant;
    }
    const cz_fact_rule fact = {
        .sym_name = symbol,
        .use = rule->use->name,
        .shape = {rule->shape->shape, rule->shape->n_dims},
        .transposed = rule->shape->transposed,
        .states = {states, n},
        .state_dtypes = {dtypes, n},
        .state_init = {inits, n},
        .state_diagonal = {diagonal, n},
        .state_symmetric = {symmetric, n},
        .state_shapes = {shapes, 2 * n},
        .state_extern = {externs, n},
        .update = update,
        .prologue = prologue,
    };
    cz_ir_add_rule(ir, &fact);
}

/* "matrices.128x64", "matrices.128x64.t", "rest.any". */
static const char *symbol_of(const cz_rule *rule)
{
    const cz_rule_shape *shape = rule->shape;
    if (cz_rule_is_any(rule))
        return cz_arena_printf(rule->arena, "%s.any", rule->use->name);
    return cz_arena_printf(rule->arena, "%s.%" PRId64 "x%" PRId64 "%s",
                           rule->use->name, shape->shape[0], shape->shape[1],
                           shape->transposed ? ".t" : "");
}

static const char *update_name(const cz_rule *rule, const char *symbol,
                               int phase)
{
    return phase == 0 ? cz_arena_printf(rule->arena, "%s.update", symbol)
                      : cz_arena_printf(rule->arena, "%s.phase%d.update",
                                        symbol, phase);
}

static void add_phase(cz_rule *rule, cz_ir *ir, const char *symbol, int phase,
                      uint32_t fires)
{
    int64_t events[CZ_MAX_EVENTS];
    int n = 0;
    for (int e = 0; e < rule->n_events; e++)
        if (fires >> e & 1)
            events[n++] = e;
    const cz_fact_phase fact = {
        .sym_name = cz_arena_printf(rule->arena, "%s.phase%d", symbol, phase),
        .rule = symbol,
        .fires = {events, n},
        .update = update_name(rule, symbol, phase),
    };
    cz_ir_add_phase(ir, &fact);
}

static void add_phases(cz_rule *rule, cz_ir *ir, const char *symbol,
                       const cz_rule_phases *phases)
{
    for (int e = 0; e < rule->n_events; e++)
        cz_ir_add_event(ir,
                        &(cz_fact_event){.rule = symbol,
                                         .start = rule->events[e].start,
                                         .period = rule->events[e].period,
                                         .stagger = rule->events[e].staggered});
    for (int p = 0; p < phases->n; p++)
        add_phase(rule, ir, symbol, p, phases->fires[p]);
}

static void build(cz_rule *rule, cz_ir *ir, const char *symbol,
                  const cz_rule_phases *phases)
{
    const char *prologue = cz_arena_printf(rule->arena, "%s.prologue", symbol);
    for (int p = 0; p < phases->n; p++) {
        rule->fires = phases->fires[p];
        build_update(rule, ir, update_name(rule, symbol, p));
    }
    cz_rule_build_prologue(rule, ir, prologue);
    add_fact(rule, ir, symbol, update_name(rule, symbol, 0), prologue);
    if (phases->n > 1)
        add_phases(rule, ir, symbol, phases);
}

/* The header must fit what the parameter is. */
static bool check_header(cz_rule *rule)
{
    const int n_dims = cz_rule_is_any(rule) ? 0 : cz_n_items(header(rule));
    if (n_dims != 0 && n_dims != 2)
        cz_rule_error(rule, CZ_UNSUPPORTED, header(rule),
                      "rules for %d dimension%s are not supported yet", n_dims,
                      n_dims == 1 ? "" : "s");
    else if (n_dims != rule->shape->n_dims)
        cz_rule_error(
            rule, CZ_SHAPE_MISMATCH, rule->use->use,
            "'%s' is for matrices, not for parameters of %d dimension%s",
            rule->use->optimizer->text, rule->shape->n_dims,
            rule->shape->n_dims == 1 ? "" : "s");
    else
        return true;
    return false;
}

/* The parameter is the first tensor that a run makes. */
enum { PARAM_SERIAL = 1 };

static bool writes_param(const cz_rule *rule)
{
    const cz_rule_slot *param = &rule->slots[0];
    return param->value->kind == CZ_RULE_ERROR ||
           (param->written && param->value->tensor.serial != PARAM_SERIAL);
}

static bool are_alike(cz_rule *rule, const cz_rule_slot *a,
                      const cz_rule_slot *b)
{
    return strcmp(a->name, b->name) == 0 && a->as.dtype == b->as.dtype &&
           a->init == b->init && a->is_diagonal == b->is_diagonal &&
           a->is_full_matrix == b->is_full_matrix &&
           a->is_extern == b->is_extern && a->as.kept == b->as.kept &&
           cz_rule_same_extent(rule, a->as.extent[0], b->as.extent[0]) &&
           cz_rule_same_extent(rule, a->as.extent[1], b->as.extent[1]);
}

/* A name bound in one phase may decide an `if` around states. */
static void check_states(cz_rule *rule, const cz_rule_slot *slots, int n)
{
    bool alike = rule->n_slots == n;
    for (int i = 0; alike && i < n; i++)
        alike = are_alike(rule, &rule->slots[i], &slots[i]);
    if (!alike)
        cz_rule_error(rule, CZ_BAD_TYPE, rule->use->optimizer,
                      "'%s' has other states at some updates than at others",
                      rule->use->optimizer->text);
}

bool cz_rule_check_body(cz_rule *rule, const cz_rule_shape *shape,
                        cz_rule_phases *phases)
{
    const bool is_matrix = shape->n_dims == 2 && !rule->path;
    rule->shape = shape;
    rule->one = cz_scalar_integer(&rule->scalars, 1);
    for (int i = 0; i < 2 && !rule->extent[i]; i++)
        rule->extent[i] = is_matrix ? cz_scalar_integer(&rule->scalars,
                                                        (double)shape->shape[i])
                                    : rule->one;
    /* Run the body in every phase and report what is wrong. */
    if (!check_header(rule) || !cz_rule_find_phases(rule, run, phases))
        return false;
    bool writes = false;
    for (int p = 0; p < phases->n; p++) {
        const cz_rule_slot *slots = rule->slots;
        const int n_slots = rule->n_slots;
        rule->fires = phases->fires[p];
        run(rule);
        if (!rule->failed && p > 0)
            check_states(rule, slots, n_slots);
        writes = writes || writes_param(rule);
    }
    if (rule->failed)
        return false;
    if (!writes) /* nothing would be left to plan */
        cz_rule_error(rule, CZ_NO_EFFECT, rule->use->optimizer,
                      "'%s' leaves the parameter as it is: write `param <- "
                      "...`",
                      rule->use->optimizer->text);
    return writes && cz_rule_check_blocks(rule);
}

bool cz_rule_lower(cz_ir *ir, const cz_rule_use *use,
                   const cz_rule_shape *shape, cz_diags *diags,
                   const char **symbol)
{
    cz_rule rule = start(use, diags);
    cz_rule_phases phases;
    cz_rule_bind_formals(&rule);
    if (rule.failed || !cz_rule_check_body(&rule, shape, &phases))
        return false;
    *symbol = symbol_of(&rule);
    build(&rule, ir, *symbol, &phases);
    return !rule.failed;
}
