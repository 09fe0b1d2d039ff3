/* Building the plan view: header, uses and rules; the order of the steps.
 * Facts come from text that anybody may have edited: nothing is believed. */
#include "dsl/plan/build/build.h"

#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"
#include "dsl/plan/state.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define NAME_DIGITS "0123456789"

/* ---- header ---- */

static bool is_named_once(cz_view_builder *b, const cz_strings *names)
{
    for (int i = 0; i < names->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(names->v[i], names->v[k]) == 0)
                return cz_view_fail(b, "mesh: axis '%s' appears twice",
                                    names->v[i]);
    return true;
}

static bool read_mesh(cz_view_builder *b)
{
    const cz_fact_mesh *mesh = b->view->mesh;
    int64_t n_ranks;

    if (!cz_view_in(b, "mesh: number of axes", mesh->axes.n, 0,
                    CZ_VIEW_MAX_AXES) ||
        !cz_view_all_in(b, "mesh: sizes", &mesh->sizes, mesh->axes.n, 1,
                        CZ_VIEW_MAX_RANKS))
        return false;
    if (!is_named_once(b, &mesh->axes) || !is_named_once(b, &mesh->names) ||
        !cz_view_all_in(b, "mesh: sets", &mesh->sets, mesh->names.n, 0,
                        ((int64_t)1 << mesh->axes.n) - 1))
        return false;
    if (!cz_checked_product(mesh->sizes.v, mesh->sizes.n, &n_ranks) ||
        n_ranks > CZ_VIEW_MAX_RANKS)
        return cz_view_fail(b, "mesh: more than %d ranks", CZ_VIEW_MAX_RANKS);
    b->view->n_ranks = (int)n_ranks;
    return true;
}

/* Whether generated C and its files can have that name, and no name of the
 * runtime is among what begins with it. */
static bool is_program_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n <= CZ_VIEW_MAX_PROGRAM_NAME &&
           strspn(name, NAME_LETTERS NAME_DIGITS) == n &&
           !strchr(NAME_DIGITS, name[0]) && strncasecmp(name, "czr", 3) != 0;
}

/* Both stand in generated C outside of strings. */
static bool check_names(cz_view_builder *b, const cz_fact_program *program)
{
    const char *compiler = program->compiler;
    if (!is_program_name(program->name))
        return cz_view_fail(b, "program: C cannot be named '%.80s'",
                            program->name);
    if (compiler[strspn(compiler, NAME_LETTERS NAME_DIGITS " .+-")] != '\0')
        return cz_view_fail(b, "program: '%.80s' is no version of a compiler",
                            compiler);
    return true;
}

static bool read_program(cz_view_builder *b)
{
    const cz_fact_program *program = b->view->program;
    bool ok = check_names(b, program);
    ok &= cz_view_in(b, "program: strict", program->strict, 0, 1);
    return ok;
}

static bool read_policy(cz_view_builder *b)
{
    const cz_fact_policy *p = b->view->policy;
    bool ok = true;

    ok &= cz_view_in(b, "policy: skip", p->skip, 0, 1);
    ok &= cz_view_in(b, "policy: bucket_elements", p->bucket_elements, 1,
                     CZ_MAX_DIM);
    ok &= cz_view_in(b, "policy: group_bytes", p->group_bytes, 0,
                     CZ_VIEW_MAX_NUMBER);
    ok &= cz_view_in(b, "policy: tp_group", p->tp_group, 0, CZ_VIEW_MAX_NUMBER);
    ok &= cz_view_in(b, "policy: memory_bytes", p->memory_bytes, 0,
                     CZ_VIEW_MAX_NUMBER);
    if (!isfinite(p->clip) || p->clip < 0.0)
        ok = cz_view_fail(b, "policy: clip is negative or not finite");
    if (!isfinite(p->tolerance) || p->tolerance < 0.0)
        ok = cz_view_fail(b, "policy: tolerance is negative or not finite");
    if (!isfinite(p->wire) || p->wire <= 0.0)
        ok = cz_view_fail(b, "policy: wire is not positive or not finite");
    return ok;
}

static bool check_grad_dtype(cz_view_builder *b, cz_dtype dtype)
{
    return dtype == CZ_F32 || dtype == CZ_BF16 ||
           cz_view_fail(b, "reduction: gradients cannot be %s",
                        cz_dtype_name(dtype));
}

static bool read_reductions(cz_view_builder *b)
{
    bool ok = true;
    const cz_fact_reduction *list =
        cz_ir_read_reduction(b->ir, b->arena, &b->view->n_reductions);

    for (int i = 0; i < b->view->n_reductions; i++) {
        ok &= check_grad_dtype(b, list[i].dtype);
        ok &= cz_view_axes(b, "reduction: reduce_axes", &list[i].reduce_axes);
        ok &= cz_view_axes(b, "reduction: split_axes", &list[i].split_axes);
        ok &= cz_view_in(b, "reduction: leaves", list[i].leaves, 1,
                         CZ_VIEW_MAX_RANKS);
        ok &= cz_view_in(b, "reduction: terms", list[i].terms, 1,
                         (int64_t)CZ_VIEW_MAX_RANKS * CZ_VIEW_MAX_RANKS);
    }
    b->view->reductions = list;
    return ok;
}

static bool read_rewrites(cz_view_builder *b)
{
    static const char *const names[] = {"gram"};
    const cz_fact_rewrite *list =
        cz_ir_read_rewrite(b->ir, b->arena, &b->view->n_rewrites);
    bool ok = true;
    int name;

    for (int i = 0; i < b->view->n_rewrites; i++) {
        ok &= cz_view_name(b, "rewrite: name", list[i].name, names, 1, &name);
        ok &= cz_view_in(b, "rewrite: count", list[i].count, 1, CZ_MAX_DIM);
        ok &= cz_view_in(b, "rewrite: before", list[i].before, 0, CZ_MAX_BYTES);
        ok &= cz_view_in(b, "rewrite: after", list[i].after, 0, CZ_MAX_BYTES);
    }
    b->view->rewrites = list;
    return ok;
}

static bool count_is(cz_view_builder *b, cz_fact_kind kind, const char *name,
                     int low, int high)
{
    const int n = cz_ir_count(b->ir, kind);
    if (n >= low && n <= high)
        return true;
    return cz_view_fail(b, "the module has %d operations 'canzona.%s'", n,
                        name);
}

bool cz_view_read_header(cz_view_builder *b)
{
    int n;
    bool ok = count_is(b, CZ_FACT_program, "program", 1, 1);

    ok &= count_is(b, CZ_FACT_mesh, "mesh", 1, 1);
    ok &= count_is(b, CZ_FACT_policy, "policy", 1, 1);
    ok &= count_is(b, CZ_FACT_machine, "machine", 0, 1);
    ok &= count_is(b, CZ_FACT_arena, "arena", 0, 1);
    if (!ok)
        return false;
    b->view->program = cz_ir_read_program(b->ir, b->arena, &n);
    b->view->mesh = cz_ir_read_mesh(b->ir, b->arena, &n);
    b->view->policy = cz_ir_read_policy(b->ir, b->arena, &n);
    return read_program(b) && read_mesh(b) && read_policy(b) &&
           cz_view_read_machine(b) && read_reductions(b) && read_rewrites(b);
}

/* ---- uses and rules ---- */

static bool read_uses(cz_view_builder *b)
{
    int n;
    const cz_fact_use *facts = cz_ir_read_use(b->ir, b->arena, &n);
    const cz_fact_use **uses = CZ_NEW(b->arena, const cz_fact_use *, n);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        uses[i] = &facts[i];
        if (facts[i].defaults.n != facts[i].hypers.n)
            ok = cz_view_fail(b, "use '%s': %d values, %d defaults",
                              facts[i].sym_name, facts[i].hypers.n,
                              facts[i].defaults.n);
        ok &= cz_view_all_in(b, "use: has_default", &facts[i].has_default,
                             facts[i].hypers.n, 0, 1);
    }
    b->view->n_uses = n;
    b->view->uses = uses;
    return ok;
}

/* A whole one is a matrix of its own; a diagonal is that of a square one, and
 * so is symmetry; an extern is whole, in f32, without a first value. */
static bool check_state(cz_view_builder *b, const cz_fact_rule *rule, int state)
{
    const cz_ints shape = {cz_state_shape(rule, state), 2};
    const int64_t is_whole = shape.v[0] > 0;
    const int64_t is_square = is_whole && shape.v[0] == shape.v[1];
    const int64_t is_extern = rule->state_extern.v[state];
    bool ok =
        cz_view_all_in(b, "rule: state_shapes", &shape, 2, is_whole,
                       is_whole ? CZ_MAX_DIM : 0) &&
        cz_view_in(b, "rule: state_diagonal", rule->state_diagonal.v[state], 0,
                   is_square) &&
        cz_view_in(b, "rule: state_symmetric", rule->state_symmetric.v[state],
                   0, is_square && !is_extern) &&
        cz_view_in(b, "rule: state_extern", is_extern, 0,
                   is_whole &&
                       strcmp(rule->state_dtypes.v[state], "f32") == 0 &&
                       rule->state_init.v[state] == 0);
    int64_t elements;

    if (ok && is_whole &&
        (rule->shape.n != 2 || !cz_checked_product(shape.v, 2, &elements) ||
         elements > CZ_VIEW_MAX_NUMBER))
        ok = cz_view_fail(b,
                          "rule '%s': state %d is too large, or of a rule "
                          "that is not for matrices",
                          rule->sym_name, state);
    return ok;
}

static bool read_states(cz_view_builder *b, cz_view_rule *rule)
{
    const cz_fact_rule *fact = rule->fact;
    cz_dtype *states = CZ_NEW(b->arena, cz_dtype, fact->states.n + 1);
    bool ok = true;

    if (!cz_states_are_listed(fact))
        return cz_view_fail(b,
                            "rule '%s': states, their types, their first "
                            "values and their shapes differ in number",
                            fact->sym_name);
    for (int i = 0; i < fact->states.n; i++)
        ok &= cz_view_dtype(b, "rule: state_dtypes", fact->state_dtypes.v[i],
                            &states[i]) &&
              check_state(b, fact, i);
    rule->states = states;
    return ok;
}

static bool check_rule(cz_view_builder *b, const cz_fact_rule *rule)
{
    int64_t elements;
    bool ok = cz_view_in(b, "rule: rank", rule->shape.n, 0, CZ_IR_MAX_RANK);

    ok = ok && cz_view_all_in(b, "rule: shape", &rule->shape, rule->shape.n, 1,
                              CZ_MAX_DIM);
    if (ok && (!cz_checked_product(rule->shape.v, rule->shape.n, &elements) ||
               elements > CZ_VIEW_MAX_NUMBER))
        ok = cz_view_fail(b, "rule '%s' is too large", rule->sym_name);
    return cz_view_in(b, "rule: transposed", rule->transposed, 0, 1) && ok;
}

static bool check_prologue(cz_view_builder *b, const cz_view_rule *rule)
{
    const cz_view_body *body = &b->bodies[rule->prologue];
    const int n_hypers = b->view->uses[rule->use]->hypers.n;
    bool ok = body->n_in == 2 + n_hypers;

    for (int i = 0; i < body->n_in; i++)
        ok &= body->in[i] == CZ_F64;
    for (int i = 0; i < body->n_out; i++)
        ok &= body->out_dtype[i] == CZ_F32;
    return ok || cz_view_fail(b,
                              "rule '%s': the prologue must map t, clip "
                              "and %d values in f64 to results in f32",
                              rule->fact->sym_name, n_hypers);
}

bool cz_view_check_update(cz_view_builder *b, const cz_view_rule *rule,
                          const char *update)
{
    const cz_fact_rule *fact = rule->fact;
    const int n_tensors = 2 + fact->states.n;
    const int n_scalars = rule->n_scalars;
    cz_ir_op f;

    if (!cz_view_find_function(b, update, &f))
        return false;
    bool ok = cz_ir_function_n_in(f) == n_tensors + n_scalars &&
              cz_ir_function_n_out(f) == n_tensors - 1;
    for (int i = 0; ok && i < n_tensors; i++)
        ok = cz_state_is_tensor(fact, i - 2,
                                cz_ir_value_type(cz_ir_function_in(f, i)));
    for (int i = 0; ok && i < n_scalars; i++)
        ok = cz_ir_type_equal(
            cz_ir_value_type(cz_ir_function_in(f, n_tensors + i)),
            cz_ir_scalar_type(CZ_F32));
    for (int i = 0; ok && i < n_tensors - 1; i++)
        ok = cz_state_is_tensor(fact, i - 1, cz_ir_function_out_type(f, i));
    return ok || cz_view_fail(b,
                              "rule '%s': '%s' does not have the "
                              "arguments and results of an update",
                              fact->sym_name, update);
}

/* The prologue's results, and the name if there are as many arguments. */
static int count_scalars(cz_view_builder *b, const cz_view_rule *rule)
{
    const int n = b->bodies[rule->prologue].n_out;
    const int n_named = 2 + rule->fact->states.n + n + CZ_NAME_SCALARS;
    const cz_ir_op f = cz_ir_find_function(b->ir, rule->fact->update);

    return f.p && cz_ir_function_n_in(f) == n_named ? n + CZ_NAME_SCALARS : n;
}

static bool read_rule(cz_view_builder *b, cz_view_rule *rule)
{
    bool ok = check_rule(b, rule->fact);
    ok &= read_states(b, rule);
    ok &= cz_view_find(b, CZ_FACT_use, rule->fact->use, &rule->use);
    ok &= cz_view_read_body(b, rule->fact->prologue, &rule->prologue);
    if (!ok || !check_prologue(b, rule))
        return false;
    rule->n_scalars = count_scalars(b, rule);
    rule->first_scalar = b->view->n_scalars;
    b->view->n_scalars += b->bodies[rule->prologue].n_out;
    return cz_view_check_update(b, rule, rule->fact->update);
}

/* Of the matrix's shape, as stored, and whole. */
static bool is_settled(const cz_fact_rule *rule, cz_ints states, int i)
{
    const int64_t state = states.v[i];

    return state < rule->states.n && (i == 0 || states.v[i - 1] < state) &&
           rule->shape.n == 2 && cz_state_is_whole(rule, (int)state) &&
           memcmp(cz_state_shape(rule, (int)state), rule->shape.v,
                  2 * sizeof *rule->shape.v) == 0;
}

static bool read_settled(cz_view_builder *b, cz_view_rule *rules)
{
    int n, rule;
    const cz_fact_settled *facts = cz_ir_read_settled(b->ir, b->arena, &n);

    for (int f = 0; f < n; f++) {
        bool ok = cz_view_find(b, CZ_FACT_rule, facts[f].rule, &rule) &&
                  rules[rule].settled.n == 0;
        for (int i = 0; ok && i < facts[f].states.n; i++)
            ok = facts[f].states.v[i] >= 0 &&
                 is_settled(rules[rule].fact, facts[f].states, i);
        if (!ok)
            return cz_view_fail(b,
                                "settled: not the states of rule '%s' that "
                                "are whole and of its shape, once, ascending",
                                facts[f].rule);
        rules[rule].settled = facts[f].states;
    }
    return true;
}

bool cz_view_read_rules(cz_view_builder *b)
{
    int n;
    bool ok = read_uses(b);
    const cz_fact_rule *facts = cz_ir_read_rule(b->ir, b->arena, &n);
    cz_view_rule *rules = CZ_NEW(b->arena, cz_view_rule, n);

    for (int i = 0; ok && i < n; i++) {
        rules[i].fact = &facts[i];
        ok = read_rule(b, &rules[i]);
    }
    ok = ok && read_settled(b, rules);
    b->view->n_rules = n;
    b->view->rules = rules;
    return ok;
}

/* ---- all of it ---- */

cz_plan_view *cz_plan_view_build(cz_arena *arena, const cz_ir *ir,
                                 cz_diags *diags)
{
    static bool (*const steps[])(cz_view_builder *) = {
        cz_view_read_header,   cz_view_read_rules,      cz_view_read_phases,
        cz_view_read_families, cz_view_read_stages,     cz_view_read_assigns,
        cz_view_read_buckets,  cz_view_read_geometries, cz_view_read_tables,
        cz_view_read_ops,      cz_view_read_gpu,        cz_view_read_grouping,
        cz_view_read_updates,
    };
    cz_view_builder builder = {.arena = arena,
                               .ir = ir,
                               .diags = diags,
                               .view = CZ_NEW(arena, cz_plan_view, 1)};

    cz_view_index_symbols(&builder);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!steps[i](&builder))
            return NULL;
    builder.view->bodies = builder.bodies;
    return builder.view;
}
