/* Pass: the order and width of sums that ranks may share.
 *
 * requires: stages in kernel form
 * provides: with program.strict, blocks of every sum that would be partial if
 *           the matrix were shared: as many as its global length allows, so
 *           that who shares it, or nobody, changes no bit; with a tolerance
 *           that admits bf16, `narrow` on products of them whose result is bf16
 * breaks:   nothing */
#include "dsl/plan/error_bound.h"
#include "dsl/plan/build/build.h"
#include "passes/cost/step_cut.h"
#include "passes/passes.h"

/* The largest power of two that divides a length, up to a limit. */
static int64_t blocks_of(int64_t length)
{
    int64_t blocks = 1;

    while (blocks < CZ_VIEW_MAX_BLOCKS && length % (2 * blocks) == 0)
        blocks *= 2;
    return blocks;
}

/* Sums down the columns run over all rows in turn, whatever cuts these. */
static bool sums_columns(const cz_view_step *step)
{
    for (int i = 0; i < step->n_out; i++)
        if (!step->is_product && step->out_access[i] == CZ_SUM_COLUMNS)
            return true;
    return false;
}

static void set_blocks(cz_ir_op op, const cz_view_step *step,
                       const cz_step_cut *share)
{
    int64_t blocks[] = {1, 1, 1}; /* rows, columns, contracted */

    if (share->inner)
        blocks[2] = blocks_of(step->inner);
    else if (share->space == CZ_CUT_COLUMNS)
        blocks[1] = blocks_of(step->columns);
    else if (!sums_columns(step))
        blocks[0] = blocks_of(step->rows);
    if (blocks[0] * blocks[1] * blocks[2] > 1)
        cz_ir_op_set_ints(op, "blocks", (cz_ints){blocks, 3});
}

static bool can_narrow(const cz_view_step *step, const cz_step_cut *share)
{
    return share->inner && step->out_dtype[0] == CZ_BF16;
}

static void order_stage(cz_ir *ir, cz_arena *arena, const cz_plan_view *view,
                        const cz_view_stage *stage)
{
    cz_step_cut *step_cuts = CZ_NEW(arena, cz_step_cut, stage->n_steps);
    const cz_cut_of cut = cz_share_find(arena, stage);
    cz_ir_op op = cz_ir_first_op(cz_ir_find_function(ir, stage->fact->body));

    if (cut == CZ_CUT_NONE)
        return;
    cz_step_cuts_find(arena, stage, cut, step_cuts, NULL);
    for (int s = 0; s < stage->n_steps; s++, op = cz_ir_next_op(op)) {
        if (step_cuts[s].partial && view->program->strict)
            set_blocks(op, &stage->steps[s], &step_cuts[s]);
        if (cz_error_admits_bf16(view->policy) &&
            can_narrow(&stage->steps[s], &step_cuts[s]))
            cz_ir_op_set_int(op, "narrow", 1);
    }
}

bool cz_blocks_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;

    cz_arena_init(&arena);
    const cz_plan_view *view = cz_plan_view_build(&arena, ir, diags);
    for (int i = 0; view && i < view->n_stages; i++)
        if (view->stages[i].where == CZ_WHERE_FULL_MATRIX &&
            view->stages[i].n_variants == 0)
            order_stage(ir, &arena, view, &view->stages[i]);
    cz_arena_fini(&arena);
    return view != NULL;
}
