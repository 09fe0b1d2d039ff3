/* The schedule: operations, tables, scratch.
 * requires: stages, assign, buckets, and a machine if micro-groups are to be
 * chosen by time.  provides: grouping, arena,
 * tables, ops.  breaks: nothing. */
#include "passes/passes.h"

#include "dsl/ir/ir.h"
#include "dsl/plan/build/build.h"
#include "passes/schedule/schedule.h"

static bool schedule(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    cz_schedule built;
    cz_ir_remove(ir, CZ_FACT_op);
    cz_ir_remove(ir, CZ_FACT_table);
    cz_ir_remove(ir, CZ_FACT_arena);
    cz_ir_remove(ir, CZ_FACT_micro_group_choice);
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view || !cz_schedule_build(arena, view, diags, &built))
        return false;
    if (built.micro_group_choice.n_micro_groups.n > 0)
        cz_ir_add_micro_group_choice(ir, &built.micro_group_choice);
    cz_ir_add_arena(ir, &built.arena);
    for (int i = 0; i < built.n_tables; i++)
        cz_ir_add_table(ir, &built.tables[i]);
    for (int i = 0; i < built.n_ops; i++)
        cz_ir_add_op(ir, &built.ops[i]);
    return true;
}

bool cz_schedule_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const bool ok = schedule(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
