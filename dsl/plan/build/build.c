/* Building the plan view: the header, and the order of the steps.
 * Facts come from text that anybody may have edited: nothing is believed. */
#include "dsl/plan/build/build.h"

#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"
#include "dsl/vocab/schema.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define NAME_DIGITS "0123456789"

/* ---- the machine ---- */

static const struct constant {
    const char *name;
    int64_t low;
} constants[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) {#field, low},
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
};

enum { N_CONSTANTS = sizeof constants / sizeof *constants };

static bool check_machine(cz_view_builder *b, const cz_fact_machine *machine)
{
    bool ok = true;
    if (machine->constants.n != N_CONSTANTS ||
        machine->values.n != N_CONSTANTS || machine->sources.n != N_CONSTANTS)
        return cz_view_fail(b, "machine: a constant, its value or its source "
                               "is missing");
    for (int i = 0; i < N_CONSTANTS && ok; i++)
        ok = strcmp(machine->constants.v[i], constants[i].name) == 0
                 ? cz_view_in(b, constants[i].name, machine->values.v[i],
                              constants[i].low, CZ_MAX_BYTES)
                 : cz_view_fail(b, "machine: constant %d is %s, not '%s'", i,
                                constants[i].name, machine->constants.v[i]);
    return ok;
}

static bool read_machine(cz_view_builder *b)
{
    int n;
    const cz_fact_machine *machine = CZ_VIEW_FACTS(b, machine, &n);
    b->view->machine = n > 0 ? machine : NULL;
    b->view->timings = CZ_VIEW_FACTS(b, timing, &b->view->n_timings);
    b->view->uneven_reduces =
        CZ_VIEW_FACTS(b, uneven_reduce, &b->view->n_uneven_reduces);
    if (n == 0)
        return (b->view->n_timings == 0 && b->view->n_uneven_reduces == 0) ||
               cz_view_fail(b, "timings, but no machine");
    for (int i = 0; i < b->view->n_uneven_reduces; i++) {
        const char *link = b->view->uneven_reduces[i].link;
        int number;
        if (!cz_word_find(CZ_VOCABULARY_link, link, &number))
            return cz_view_fail(b, "uneven_reduce: link is '%s'", link);
    }
    return check_machine(b, machine);
}

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
        !cz_view_check_facts(b, CZ_FACT_mesh) ||
        !is_named_once(b, &mesh->axes) || !is_named_once(b, &mesh->names))
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

/* Name and version stand in generated C outside of strings. */
static bool read_program(cz_view_builder *b)
{
    const cz_fact_program *program = b->view->program;
    const char *compiler = program->compiler;
    if (!is_program_name(program->name))
        return cz_view_fail(b, "program: C cannot be named '%.80s'",
                            program->name);
    return compiler[strspn(compiler, NAME_LETTERS NAME_DIGITS " .+-")] ==
               '\0' ||
           cz_view_fail(b, "program: '%.80s' is no version of a compiler",
                        compiler);
}

static bool read_policy(cz_view_builder *b)
{
    const cz_fact_policy *p = b->view->policy;
    bool ok = true;

    if (!isfinite(p->clip) || p->clip < 0.0)
        ok = cz_view_fail(b, "policy: clip is negative or not finite");
    if (!isfinite(p->tolerance) || p->tolerance < 0.0)
        ok = cz_view_fail(b, "policy: tolerance is negative or not finite");
    if (!isfinite(p->wire) || p->wire <= 0.0)
        ok = cz_view_fail(b, "policy: wire is not positive or not finite");
    return ok;
}

static bool read_reductions(cz_view_builder *b)
{
    const cz_fact_reduction *list =
        CZ_VIEW_FACTS(b, reduction, &b->view->n_reductions);

    b->view->reductions = list;
    for (int i = 0; i < b->view->n_reductions; i++)
        if (list[i].dtype != CZ_F32 && list[i].dtype != CZ_BF16)
            return cz_view_fail(b, "reduction: gradients cannot be %s",
                                cz_dtype_name(list[i].dtype));
    return true;
}

static bool read_rewrites(cz_view_builder *b)
{
    const cz_fact_rewrite *list =
        CZ_VIEW_FACTS(b, rewrite, &b->view->n_rewrites);

    b->view->rewrites = list;
    for (int i = 0; i < b->view->n_rewrites; i++)
        if (strcmp(list[i].name, "gram") != 0)
            return cz_view_fail(b, "rewrite: name: '%s' is not a name we know",
                                list[i].name);
    return true;
}

static bool read_header(cz_view_builder *b)
{
    /* Facts of which a module has one, or at most one. */
    static const struct {
        cz_fact_kind kind;
        int low;
    } once[] = {{CZ_FACT_program, 1},
                {CZ_FACT_mesh, 1},
                {CZ_FACT_policy, 1},
                {CZ_FACT_machine, 0},
                {CZ_FACT_gpu, 0},
                {CZ_FACT_batch_arena, 0},
                {CZ_FACT_micro_group_choice, 0},
                {CZ_FACT_arena, 0}};
    int n;
    bool ok = true;

    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        n = b->n_facts[once[i].kind];
        if (n < once[i].low || n > 1)
            ok = cz_view_fail(b, "the module has %d operations '%s'", n,
                              cz_fact_schemas[once[i].kind].op);
    }
    if (!ok)
        return false;
    b->view->program = CZ_VIEW_FACTS(b, program, &n);
    b->view->mesh = CZ_VIEW_FACTS(b, mesh, &n);
    b->view->policy = CZ_VIEW_FACTS(b, policy, &n);
    b->view->n_buckets = b->n_facts[CZ_FACT_bucket];
    if (!read_program(b) || !read_mesh(b))
        return false;
    for (int kind = 0; kind < CZ_N_FACTS; kind++)
        ok &=
            kind == CZ_FACT_mesh || cz_view_check_facts(b, (cz_fact_kind)kind);
    return ok && read_policy(b) && read_machine(b) && read_reductions(b) &&
           read_rewrites(b);
}

/* ---- all of it ---- */

cz_plan_view *cz_plan_view_build(cz_arena *arena, const cz_ir *ir,
                                 cz_diags *diags)
{
    static bool (*const steps[])(cz_view_builder *) = {
        read_header,
        cz_view_read_rules,
        cz_view_read_phases,
        cz_view_read_patterns,
        cz_view_read_stages,
        cz_view_read_assigns,
        cz_view_read_buckets,
        cz_view_read_tables,
        cz_view_read_ops,
        cz_view_read_gpu,
        cz_view_read_micro_group_choice,
        cz_view_read_updates,
    };
    cz_view_builder builder = {.arena = arena,
                               .ir = ir,
                               .diags = diags,
                               .view = CZ_NEW(arena, cz_plan_view, 1)};

    cz_view_read_facts(&builder);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!steps[i](&builder))
            return NULL;
    builder.view->bodies = builder.bodies;
    return builder.view;
}
