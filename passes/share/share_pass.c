/* Pass: what ranks do that share a matrix.
 *
 * requires: stages in kernel form with workspace; owners and groups
 * provides: a stage "shared" for each segment, for each rule and group that
 *           some parameter asks for
 * breaks:   numbers of stages; nothing names them yet */
#include "dsl/plan/build/build.h"
#include "passes/cost/candidates.h"
#include "passes/kernel/flops.h"
#include "passes/kernel/write.h"
#include "passes/kernel/outline.h"
#include "passes/grid/owned.h"
#include "passes/passes.h"
#include "passes/share/group.h"
#include "passes/kernel/workspace.h"

#include <inttypes.h>
#include <string.h>

typedef struct share_pass {
    cz_ir *ir;
    cz_arena *arena;
    cz_diags *diags;
    const cz_plan_view *view;
    cz_kernel_writer writer;
    int n_stages, n_segments;
    cz_fact_stage *stages; /* of the module as it will be */
    cz_fact_subgroup *segments;
} share_pass;

/* ---- what is asked for ---- */

/* A way in which ranks share matrices of a rule. */
typedef struct sharing {
    int64_t subgroup_size;
    cz_cut_of sharded; /* of the first of these matrices: */
    cz_cut_of cut;     /* NONE: there is no way */
    int param;
} sharing;

static sharing sharing_of(const share_pass *p, int param)
{
    const int pattern = p->view->params[param].pattern;
    const int whole =
        cz_rule_stages_find(p->view, p->view->patterns[pattern].rule)
            .full_matrix;
    const cz_cut_of sharded = cz_candidates_sharded_along(p->view, pattern);

    return (sharing){p->view->params[param].subgroup_size, sharded,
                     whole < 0
                         ? CZ_CUT_NONE
                         : cz_share_along(p->arena, p->view,
                                          &p->view->stages[whole], sharded),
                     param};
}

static int compare(const sharing *a, const sharing *b)
{
    if (a->subgroup_size != b->subgroup_size)
        return a->subgroup_size < b->subgroup_size ? -1 : 1;
    return (a->cut < b->cut) - (a->cut > b->cut);
}

/* Distinct ones of the parameters of a rule that are shared, ascending by
 * ranks; of as many the one that is cut by columns first. */
static sharing *find_sharings(const share_pass *p, int rule, int *n)
{
    sharing *list = NULL;

    *n = 0;
    for (int i = 0; i < p->view->n_params; i++) {
        const cz_view_param *param = &p->view->params[i];
        int at = 0;
        if (p->view->patterns[param->pattern].rule != rule ||
            param->subgroup_size == 1)
            continue;
        const sharing next = sharing_of(p, i);
        while (at < *n && compare(&list[at], &next) < 0)
            at++;
        if (at < *n && compare(&list[at], &next) == 0)
            continue;
        CZ_PUSH(p->arena, list, *n);
        memmove(&list[at + 1], &list[at], (size_t)(*n - 1 - at) * sizeof *list);
        list[at] = next;
    }
    return list;
}

static bool refuse(const share_pass *p, const sharing *how,
                   cz_outline_status status, const cz_outline *outline)
{
    const char *name = p->view->params[how->param].name;
    const int64_t subgroup_size = how->subgroup_size;

    switch (status) {
    case CZ_OUTLINE_NO_CUT:
        cz_diag_error(p->diags, CZ_UNSUPPORTED, (cz_span){0},
                      "'%s' cannot be shared: its rule needs more than sums "
                      "over the rest of the matrix, whichever way it is cut",
                      name);
        break;
    case CZ_OUTLINE_PHASES:
        cz_diag_error(p->diags, CZ_UNSUPPORTED, (cz_span){0},
                      "'%s' cannot be shared: a rule with `first` or `every` "
                      "is not supported yet",
                      name);
        break;
    case CZ_OUTLINE_STATES:
        cz_diag_error(p->diags, CZ_UNSUPPORTED, (cz_span){0},
                      "'%s' cannot be shared: a rule with states of another "
                      "shape than the parameter's is not supported yet",
                      name);
        break;
    case CZ_OUTLINE_LENGTH:
        cz_diag_error(
            p->diags, CZ_INFEASIBLE, (cz_span){0},
            "'%s' cannot be shared by %" PRId64 " ranks: %s %" PRId64 " %s",
            name, subgroup_size,
            outline->length == subgroup_size ? "a part would be one of its"
                                             : "they do not divide its",
            outline->length, outline->cut == CZ_CUT_ROWS ? "rows" : "columns");
        cz_share_note(p->arena, p->view, subgroup_size, p->diags);
        break;
    case CZ_OUTLINE_BLOCKS:
        cz_diag_error(p->diags, CZ_INFEASIBLE, (cz_span){0},
                      "'%s' cannot be shared by %" PRId64
                      " ranks: a strict run adds up its %" PRId64
                      " %s in %" PRId64 " blocks, whatever the mesh",
                      name, subgroup_size, outline->length,
                      outline->cut == CZ_CUT_ROWS ? "rows" : "columns",
                      outline->blocks);
        cz_share_note(p->arena, p->view, subgroup_size, p->diags);
        break;
    case CZ_OUTLINE_OK:
        break;
    }
    return false;
}

/* ---- writing ---- */

static cz_ir_op find_body(const share_pass *p, const cz_view_stage *stage)
{
    return cz_ir_find_function(p->ir, stage->fact->body);
}

static const cz_ir_type *value_types(const share_pass *p,
                                     const cz_view_stage *stage)
{
    const cz_ir_op function = find_body(p, stage);
    cz_ir_type *types =
        CZ_NEW(p->arena, cz_ir_type, cz_step_cuts_n_values(stage));
    int n = 0;

    for (; n < cz_ir_function_n_in(function); n++)
        types[n] = cz_ir_value_type(cz_ir_function_in(function, n));
    for (cz_ir_op op = cz_ir_first_op(function);
         cz_ir_op_kind(op) != CZ_IR_RETURN; op = cz_ir_next_op(op))
        for (int i = 0; i < cz_ir_op_n_results(op); i++)
            types[n++] = cz_ir_value_type(cz_ir_op_result(op, i));
    return types;
}

/* A stage of all segments, as passes on stages want it. */
static cz_view_stage stage_of(const cz_view_stage *whole,
                              const cz_kernel *kernel)
{
    cz_view_stage stage = *whole;

    stage.where = CZ_WHERE_SUBGROUP;
    stage.capacity = NULL; /* sums travel from the workspace */
    stage.n_steps = kernel->n_steps;
    stage.steps = kernel->steps;
    stage.out_value = kernel->out_value;
    stage.n_segments = kernel->steps[kernel->n_steps - 1].segment + 1;
    return stage;
}

static void add_segment(share_pass *p, const cz_kernel *kernel,
                        cz_view_stage stage, cz_fact_stage fact,
                        cz_fact_subgroup shared)
{
    const cz_plan_view bodies = {.bodies = kernel->bodies};

    fact.sym_name = shared.stage =
        cz_arena_printf(p->arena, "%s.%" PRId64, fact.sym_name, shared.segment);
    stage.subgroup = &shared;
    fact.flops = cz_flops_stage(&bodies, &stage);
    *CZ_PUSH(p->arena, p->stages, p->n_stages) = fact;
    *CZ_PUSH(p->arena, p->segments, p->n_segments) = shared;
}

static bool add_shared(share_pass *p, const cz_view_stage *whole,
                       const sharing *how)
{
    const int64_t subgroup_size = how->subgroup_size;
    cz_outline outline;
    const cz_outline_status status =
        cz_outline_build(p->arena, p->view, whole, value_types(p, whole),
                         how->sharded, subgroup_size, &outline);
    if (status != CZ_OUTLINE_OK)
        return refuse(p, how, status, &outline);

    const char *rule = p->view->rules[whole->rule].fact->sym_name;
    const char *stem = cz_arena_printf(
        p->arena,
        outline.cut == cz_share_find(p->arena, whole) ? "%s.shared%" PRId64
                                                      : "%s.rows%" PRId64,
        rule, subgroup_size);
    const cz_view_stage stage = stage_of(whole, outline.kernel);
    cz_fact_stage fact = *whole->fact;
    fact.sym_name = stem;
    fact.where = CZ_WHERE_SUBGROUP;
    fact.body = cz_arena_printf(p->arena, "%s.kernel", stem);
    cz_places places;
    const int64_t bytes = cz_workspace_solve(p->arena, &stage, &places);

    for (int s = 0; s < outline.kernel->n_steps; s++) {
        outline.kernel->steps[s].offsets = places.offsets[s];
        outline.kernel->steps[s].within = places.within[s];
    }
    fact.work_bytes = bytes;
    cz_kernel_write(&p->writer, outline.kernel, stem, fact.body);
    for (int k = 0; k < stage.n_segments; k++)
        add_segment(p, outline.kernel, stage, fact,
                    (cz_fact_subgroup){.size = subgroup_size,
                                       .dim = outline.cut == CZ_CUT_COLUMNS,
                                       .segment = k});
    return true;
}

/* ---- the whole ---- */

/* The stages of a rule as they are, then those of its groups. */
static bool add_rule(share_pass *p, int rule)
{
    const cz_view_rule *r = &p->view->rules[rule];
    const int whole = cz_rule_stages_find(p->view, rule).full_matrix;
    int n_sharings;
    const sharing *sharings = find_sharings(p, rule, &n_sharings);

    if (n_sharings > 0 && whole < 0) {
        cz_diag_error(p->diags, CZ_BAD_IR, (cz_span){0},
                      "'%s' is shared, and nothing of it is computed whole",
                      p->view->params[sharings[0].param].name);
        return false;
    }

    for (int i = 0; i < r->n_stages; i++) {
        const cz_view_stage *stage = &p->view->stages[r->first_stage + i];
        if (!stage->subgroup)
            *CZ_PUSH(p->arena, p->stages, p->n_stages) = *stage->fact;
    }
    for (int i = 0; i < n_sharings; i++)
        if (!add_shared(p, &p->view->stages[whole], &sharings[i]))
            return false;
    return true;
}

static bool is_asked_for(const cz_plan_view *view)
{
    for (int i = 0; i < view->n_params; i++)
        if (view->params[i].subgroup_size > 1)
            return true;
    return false;
}

static bool share(share_pass *p)
{
    p->view = cz_plan_view_build(p->arena, p->ir, p->diags);
    if (!p->view)
        return false;
    if (!is_asked_for(p->view) && cz_ir_count(p->ir, CZ_FACT_subgroup) == 0)
        return true;
    /* Bodies of shared stages that were there. */
    for (int i = 0; i < p->view->n_stages; i++)
        if (p->view->stages[i].subgroup &&
            p->view->stages[i].subgroup->segment == 0)
            cz_ir_function_erase(find_body(p, &p->view->stages[i]));
    for (int i = 0; i < p->view->n_bodies; i++)
        *CZ_PUSH(p->arena, p->writer.bodies, p->writer.n_bodies) =
            p->view->bodies[i];
    for (int rule = 0; rule < p->view->n_rules; rule++)
        if (!add_rule(p, rule))
            return false;
    cz_ir_remove(p->ir, CZ_FACT_stage);
    cz_ir_remove(p->ir, CZ_FACT_subgroup);
    for (int i = 0; i < p->n_stages; i++)
        cz_ir_add_stage(p->ir, &p->stages[i]);
    for (int i = 0; i < p->n_segments; i++)
        cz_ir_add_subgroup(p->ir, &p->segments[i]);
    return true;
}

bool cz_share_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    share_pass pass = {.ir = ir,
                       .arena = &arena,
                       .diags = diags,
                       .writer = {.ir = ir, .arena = &arena}};

    cz_arena_init(&arena);
    const bool ok = share(&pass);
    cz_arena_fini(&arena);
    return ok;
}
