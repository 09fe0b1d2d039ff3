/* Owners of all matrices and the layout of all buckets, together, by predicted
 * time.
 * requires: stages in kernel form, a machine.  provides: one `assign` per
 * pattern, buckets.  breaks: the schedule, which is planned anew behind it. */
#include "passes/passes.h"

#include "dsl/base/checked.h"
#include "dsl/ir/ir.h"
#include "dsl/plan/build/build.h"
#include "passes/grid/bucket.h"
#include "passes/place/room.h"
#include "passes/place/subgroup.h"
#include "passes/place/stagger.h"
#include "passes/place/write.h"
#include "passes/solve/search/joint.h"

#include <string.h>

/* State of any rank, over the mean of all. */
static const cz_solve_cap state_cap = {110, 100};

/* Owners alone are good enough within this part of the mean. */
enum { GOOD = 10 };

typedef struct placer {
    cz_arena *arena;
    const cz_plan_view *view;
    cz_machine machine;
    const cz_stage_time *times; /* [stages] */
    cz_owner_grid grid;
    int n_grid_cells;
    int n_placements;
    cz_placement_problem *placements;
    cz_solve_plan *plans;    /* [placements] */
    cz_solve_problem *asked; /* [placements] that the plans solve */
    int *partner;            /* [placements] solved together with it; or -1 */
    const cz_block **blocks_of; /* [placements] of ranks that share each item;
                                 * NULL: owners have them alone */
    const int **outer_of;     /* [placements] of the finer ones of such pairs */
    bool *is_placed;          /* [placements] */
    int64_t *grid_cell_ps;    /* [cells] of the placements that are placed */
    int64_t *grid_cell_bytes; /* [cells] state */
    int64_t mean_bytes;       /* of a cell, when all are placed */
    cz_solve_cap state;       /* of any rank, over the mean */
} placer;

/* ---- problems ---- */

/* Buckets are as the trainer has them. */
static bool is_trainers(const placer *p)
{
    return p->view->policy->layout == CZ_LAYOUT_TRAINER;
}

/* What is cut travels apart from matrices: one message more each way. */
static int64_t message_ps(const cz_machine *machine)
{
    return 2 * cz_machine_link(machine, CZ_LINK_NETWORK).latency;
}

static bool make_problems(placer *p, cz_diags *diags)
{
    const cz_placement *placements =
        cz_placements_find(p->arena, p->view, &p->grid, &p->n_placements);
    if (!cz_machine_of(p->arena, p->view, &p->machine)) {
        cz_diag_error(diags, CZ_BAD_IR, (cz_span){0},
                      "the module names no machine to predict times for");
        return false;
    }
    p->times = cz_stage_times(p->arena, p->view, &p->machine);
    const int64_t *shard_ps =
        cz_place_shard_times(p->arena, p->view, &p->machine);
    const cz_place_runs *runs = cz_place_runs_find(p->arena, p->view);
    p->placements = CZ_NEW(p->arena, cz_placement_problem, p->n_placements + 1);
    int64_t n_buckets = 0;
    for (int d = 0; d < p->n_placements; d++) {
        cz_placement_problem *out = &p->placements[d];
        if (!cz_place_problem_make(p->arena, p->view, p->times, shard_ps, runs,
                                   diags, &placements[d], out))
            return false;
        cz_place_batch(p->arena, p->view, p->times, out);
        out->problem.cut_ps = message_ps(&p->machine);
        /* Where slices are padded, any order inside a bucket will do. */
        if (is_trainers(p) && !runs)
            out->problem.order = CZ_ORDER_TRAINER;
        cz_place_price(p->view, &p->machine, out);
        n_buckets += out->problem.n_buckets;
    }
    return cz_buckets_check(n_buckets, diags);
}

static int64_t total_bytes(const cz_solve_problem *problem)
{
    int64_t total = 0;
    for (int i = 0; i < problem->n_items; i++)
        total += problem->classes[problem->class_of[i]].state_bytes;
    return total;
}

/* ---- what is placed already ---- */

/* What each slot has: that of its fullest cell. */
static void give_initial(const placer *p, cz_placement_problem *placement)
{
    cz_solve_problem *problem = &placement->problem;
    const int n_slots = problem->n_ranks * problem->n_hosts;
    int64_t *ps = CZ_NEW(p->arena, int64_t, n_slots);
    int64_t *bytes = CZ_NEW(p->arena, int64_t, problem->n_ranks);
    for (int cell = 0; cell < p->n_grid_cells; cell++) {
        const int slot = placement->placement.slot_of_grid_cell[cell];
        if (slot < 0)
            continue;
        int64_t *b = &bytes[slot / problem->n_hosts];
        if (p->grid_cell_ps[cell] > ps[slot])
            ps[slot] = p->grid_cell_ps[cell];
        if (p->grid_cell_bytes[cell] > *b)
            *b = p->grid_cell_bytes[cell];
    }
    problem->initial_ps = ps;
    problem->initial_bytes = bytes;
    problem->state = p->state;
    problem->state_mean = p->mean_bytes;
}

/* Adds to each cell what the plan is there. */
static void take(placer *p, int number, const cz_solve_plan *plan)
{
    const cz_placement_problem *it = &p->placements[number];
    cz_solve_problem problem = it->problem;
    problem.initial_ps = problem.initial_bytes = NULL;
    const cz_solve_score score = cz_solve_evaluate(p->arena, &problem, plan);
    p->plans[number] = *plan;
    p->is_placed[number] = true;
    for (int cell = 0; cell < p->n_grid_cells; cell++) {
        const int slot = it->placement.slot_of_grid_cell[cell];
        if (slot < 0)
            continue;
        p->grid_cell_ps[cell] += score.load_ps[slot];
        p->grid_cell_bytes[cell] += score.state_bytes[slot / problem.n_hosts];
    }
}

/* ---- order ---- */

static bool has_whole(const cz_solve_problem *problem)
{
    for (int i = 0; i < problem->n_items; i++)
        if (!problem->classes[problem->class_of[i]].divisible)
            return true;
    return false;
}

/* A placement with matrices of whose slots the other's have several; or -1. */
static int find_finer(const placer *p, int outer, const int **outer_of)
{
    for (int d = 0; d < p->n_placements; d++) {
        if (d == outer || p->is_placed[d] ||
            !has_whole(&p->placements[d].problem))
            continue;
        *outer_of = cz_placement_refine(p->arena, &p->placements[d].placement,
                                        &p->placements[outer].placement,
                                        p->n_grid_cells);
        if (*outer_of)
            return d;
    }
    return -1;
}

/* A placement whose problem, and whose partner's, was the same, as those of
 * equal stages are: its plan is the answer.  Or -1. */
static int find_answer(const placer *p, const cz_solve_problem *problem,
                       const cz_joint_problem *joint)
{
    const size_t n_fine =
        joint ? (size_t)joint->inner.n_ranks * (size_t)joint->inner.n_hosts : 0;
    for (int d = 0; d < p->n_placements; d++) {
        const int other = p->partner[d];
        if (p->is_placed[d] && (other >= 0) == (joint != NULL) &&
            cz_solve_problem_equals(&p->asked[d], problem) &&
            (!joint ||
             (p->outer_of[other] &&
              cz_solve_problem_equals(&p->asked[other], &joint->inner) &&
              memcmp(p->outer_of[other], joint->outer_of,
                     n_fine * sizeof *joint->outer_of) == 0)))
            return d;
    }
    return -1;
}

static void place_pair(placer *p, int outer, int inner, const int *outer_of)
{
    give_initial(p, &p->placements[outer]);
    give_initial(p, &p->placements[inner]);
    cz_joint_problem joint = {p->placements[inner].problem,
                              p->placements[outer].problem, outer_of};
    joint.inner.initial_ps = joint.outer.initial_ps = NULL;
    joint.inner.initial_bytes = joint.outer.initial_bytes = NULL;
    p->asked[inner] = joint.inner;
    p->asked[outer] = joint.outer;
    const int answer = find_answer(p, &joint.outer, &joint);
    cz_solve_plan plans[2];
    if (answer >= 0) {
        plans[0] = p->plans[answer];
        plans[1] = p->plans[p->partner[answer]];
    } else {
        const cz_joint_solved solved = cz_solve_joint(p->arena, &joint);
        plans[0] = solved.outer.plan;
        plans[1] = solved.inner.plan;
    }
    p->outer_of[inner] = outer_of;
    p->partner[outer] = inner;
    p->partner[inner] = outer;
    take(p, outer, &plans[0]);
    take(p, inner, &plans[1]);
}

/* On its ranks the placement alone has matrices, as a pipeline stage has, and
 * owners leave some of them idle. */
static bool should_share(const placer *p, int number,
                         const cz_solve_score *score)
{
    const int *own = p->placements[number].placement.slot_of_grid_cell;
    int64_t n_cells = 0;
    for (int cell = 0; cell < p->n_grid_cells; cell++) {
        n_cells += own[cell] >= 0;
        for (int d = 0; d < p->n_placements && own[cell] >= 0; d++)
            if (d != number && has_whole(&p->placements[d].problem) &&
                p->placements[d].placement.slot_of_grid_cell[cell] >= 0)
                return false;
    }
    const int64_t mean = n_cells > 0 ? score->total_load_ps / n_cells : 0;
    return !is_trainers(p) &&
           p->view->policy->tp_strategy == CZ_STRATEGY_AUTO &&
           has_whole(&p->placements[number].problem) &&
           score->max_load_ps - mean > mean / GOOD;
}

static void place_one(placer *p, int number)
{
    cz_placement_problem *placement = &p->placements[number];
    give_initial(p, placement);
    p->asked[number] = placement->problem;
    const int answer = find_answer(p, &placement->problem, NULL);
    if (answer >= 0) {
        p->blocks_of[number] = p->blocks_of[answer];
        take(p, number, &p->plans[answer]);
        return;
    }
    const cz_solved solved = cz_solve(p->arena, &placement->problem);
    cz_place_subgroups shared;
    if (should_share(p, number, &solved.score) &&
        cz_place_subgroups_find(p->arena, p->view, &p->machine, placement,
                                solved.score.max_state_bytes, &shared)) {
        p->blocks_of[number] = shared.blocks;
        take(p, number, &shared.plan);
    } else {
        take(p, number, &solved.plan);
    }
}

/* Pipeline stages with equal plans have other turns. */
static void stagger(placer *p)
{
    for (int d = 0; d < p->n_placements; d++)
        p->plans[d] = cz_place_stagger(p->arena, p->view, p->times,
                                       &p->placements[d], &p->plans[d]);
}

/* ---- the pass ---- */

/* All lengths, leaves and padding included, must fit in memory sizes. */
static bool check_size(const cz_plan_view *view, cz_diags *diags)
{
    int64_t total = 0, n_grads = 1, with_leaves;
    bool ok = true;
    for (int k = 0; k < view->n_reductions; k++)
        if (view->reductions[k].n_grads > n_grads)
            n_grads = view->reductions[k].n_grads;
    for (int p = 0; p < view->n_params; p++)
        ok = ok && cz_checked_add(
                       total, view->patterns[view->params[p].pattern].elements,
                       &total);
    ok = ok && cz_checked_mul(total, 64 * (n_grads + 1), &with_leaves);
    if (!ok)
        cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){0},
                      "the parameters do not fit any machine's memory");
    return ok;
}

static placer place_all(const placer *from, cz_solve_cap state)
{
    /* Nothing is placed yet. */
    placer p = *from;
    const size_t n = (size_t)p.n_placements + 1;
    p.state = state;
    p.placements = CZ_NEW(p.arena, cz_placement_problem, n);
    p.plans = CZ_NEW(p.arena, cz_solve_plan, n);
    p.asked = CZ_NEW(p.arena, cz_solve_problem, n);
    p.partner = CZ_NEW(p.arena, int, n);
    p.blocks_of = CZ_NEW(p.arena, const cz_block *, n);
    p.outer_of = CZ_NEW(p.arena, const int *, n);
    p.is_placed = CZ_NEW(p.arena, bool, n);
    for (int d = 0; d < p.n_placements; d++) {
        p.placements[d] = from->placements[d];
        p.partner[d] = -1;
    }
    p.grid_cell_ps = CZ_NEW(p.arena, int64_t, p.n_grid_cells);
    p.grid_cell_bytes = CZ_NEW(p.arena, int64_t, p.n_grid_cells);
    /* Bundles of matrices have no order: the trainer's is kept one by one. */
    if (!is_trainers(&p))
        for (int d = 0; d < p.n_placements; d++) {
            const int *outer_of;
            if (p.is_placed[d] || !has_whole(&p.placements[d].problem))
                continue;
            const int finer = find_finer(&p, d, &outer_of);
            if (finer >= 0)
                place_pair(&p, d, finer, outer_of);
        }
    /* All others one by one, those with matrices first: what can be cut
     * anywhere fills up. */
    for (int round = 0; round < 2; round++)
        for (int d = 0; d < p.n_placements; d++)
            if (!p.is_placed[d] &&
                (round == 1 || has_whole(&p.placements[d].problem)))
                place_one(&p, d);
    stagger(&p);
    return p;
}

static void write(const placer *p, cz_ir *ir)
{
    const cz_place_all all = {p->n_placements, p->placements, p->plans};
    cz_place_write_owners(p->arena, p->view, &all, p->blocks_of, ir);
    cz_place_write_buckets(p->arena, p->view, &all, ir);
}

/* Bytes of the fullest rank of the plan that it leads to. */
static int64_t fullest_of(const placer *p, const cz_ir *ir)
{
    cz_ir *trial = cz_ir_copy(ir);
    write(p, trial);
    const int64_t bytes = cz_place_fullest(p->arena, trial);
    cz_ir_close(trial);
    return bytes;
}

/* Where `memory` has no room for it, state as even as can be, if that takes
 * less, so that what a refusal names is the least. */
static placer place_in_room(const placer *from, const cz_ir *ir)
{
    const placer usual = place_all(from, state_cap);
    const int64_t cap = from->view->policy->memory_bytes;
    const int64_t bytes = cap > 0 ? fullest_of(&usual, ir) : 0;
    if (bytes <= cap)
        return usual;
    const placer even = place_all(from, (cz_solve_cap){1, 1});
    return fullest_of(&even, ir) < bytes ? even : usual;
}

static bool place(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    placer p = {.arena = arena};
    p.view = cz_plan_view_build(arena, ir, diags);
    if (!p.view || !check_size(p.view, diags) ||
        !cz_owner_grid_find(arena, p.view, diags, &p.grid) ||
        !make_problems(&p, diags))
        return false;
    p.n_grid_cells = p.grid.n_rows * p.grid.n_shard;
    /* All placements' state over the cells that have any. */
    int64_t total = 0, n = 0;
    for (int cell = 0; cell < p.n_grid_cells; cell++) {
        bool is_there = false;
        for (int d = 0; d < p.n_placements; d++)
            is_there |= p.placements[d].placement.slot_of_grid_cell[cell] >= 0;
        n += is_there;
    }
    for (int d = 0; d < p.n_placements; d++) {
        const cz_placement_problem *it = &p.placements[d];
        int64_t cells = 0;
        for (int cell = 0; cell < p.n_grid_cells; cell++)
            cells += it->placement.slot_of_grid_cell[cell] >= 0;
        total += total_bytes(&it->problem) / it->problem.n_ranks * cells;
    }
    p.mean_bytes = n > 0 ? total / n : 0;
    const placer done = place_in_room(&p, ir);
    write(&done, ir);
    return true;
}

bool cz_place_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const bool ok = place(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
