/* Building the plan view: the header, and the order of the steps.
 * Facts come from text that anybody may have edited: nothing is believed. */
#include "dsl/plan/build/build.h"

#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

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

static bool check_constant(cz_view_builder *b, const cz_fact_machine *machine,
                           int i)
{
    if (strcmp(machine->constants.v[i], constants[i].name) != 0)
        return cz_view_fail(b, "machine: constant %d is %s, not '%s'", i,
                            constants[i].name, machine->constants.v[i]);
    return cz_view_in(b, constants[i].name, machine->values.v[i],
                      constants[i].low, CZ_MAX_BYTES);
}

static bool check_machine(cz_view_builder *b, const cz_fact_machine *machine)
{
    bool ok = true;
    if (machine->constants.n != N_CONSTANTS ||
        machine->values.n != N_CONSTANTS || machine->sources.n != N_CONSTANTS)
        return cz_view_fail(b, "machine: a constant, its value or its source "
                               "is missing");
    for (int i = 0; i < N_CONSTANTS && ok; i++)
        ok = check_constant(b, machine, i);
    return ok && cz_view_all_in(b, "machine: measured", &machine->measured,
                                N_CONSTANTS, 0, 1);
}

static bool check_timing(cz_view_builder *b, const cz_fact_timing *timing)
{
    return cz_view_all_in(b, "timing: shape", &timing->shape, 2, 1,
                          CZ_MAX_DIM) &&
           cz_view_in(b, "timing: batch", timing->batch, 1, CZ_MAX_DIM) &&
           cz_view_in(b, "timing: group", timing->group, 1,
                      CZ_VIEW_MAX_RANKS) &&
           cz_view_in(b, "timing: time", timing->time, 1, CZ_MAX_BYTES);
}

static bool check_uneven_reduce(cz_view_builder *b,
                                const cz_fact_uneven_reduce *fact)
{
    int link;
    if (!cz_word_find(CZ_VOCABULARY_link, fact->link, &link))
        return cz_view_fail(b, "uneven_reduce: link is '%s'", fact->link);
    return cz_view_in(b, "uneven_reduce: bytes", fact->bytes, 1,
                      CZ_MAX_BYTES) &&
           cz_view_in(b, "uneven_reduce: roots", fact->roots, 1,
                      CZ_VIEW_MAX_RANKS) &&
           cz_view_in(b, "uneven_reduce: thousandths", fact->thousandths, 1,
                      1000) &&
           cz_view_in(b, "uneven_reduce: measured", fact->measured, 0, 1);
}

static bool read_machine(cz_view_builder *b)
{
    int n;
    bool ok = true;
    const cz_fact_machine *machine = cz_ir_read_machine(b->ir, b->arena, &n);
    b->view->machine = n > 0 ? machine : NULL;
    b->view->timings = cz_ir_read_timing(b->ir, b->arena, &b->view->n_timings);
    b->view->uneven_reduces =
        cz_ir_read_uneven_reduce(b->ir, b->arena, &b->view->n_uneven_reduces);
    if (n > 0)
        ok = check_machine(b, machine);
    else if (b->view->n_timings > 0 || b->view->n_uneven_reduces > 0)
        ok = cz_view_fail(b, "timings, but no machine");
    for (int i = 0; i < b->view->n_timings && ok; i++)
        ok = check_timing(b, &b->view->timings[i]);
    for (int i = 0; i < b->view->n_uneven_reduces && ok; i++)
        ok = check_uneven_reduce(b, &b->view->uneven_reduces[i]);
    return ok;
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

static bool read_header(cz_view_builder *b)
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
           read_machine(b) && read_reductions(b) && read_rewrites(b);
}

/* ---- all of it ---- */

cz_plan_view *cz_plan_view_build(cz_arena *arena, const cz_ir *ir,
                                 cz_diags *diags)
{
    static bool (*const steps[])(cz_view_builder *) = {
        read_header,           cz_view_read_rules,      cz_view_read_phases,
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
