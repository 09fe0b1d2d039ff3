/* In which ways the `whole` stage of a rule can be carried out by a row of
 * ranks, as the sub-group planner wants them: on one rank, or shared out over
 * 2, 4, ... of them, one matrix or a batch.  Times are those of
 * passes/cost/stage.h, step by step, so that any rule has them that
 * cz_step_cuts_find() can share; others have the ways of one rank alone. */
#ifndef CZ_PASSES_COST_CANDIDATES_H
#define CZ_PASSES_COST_CANDIDATES_H

#include "passes/cost/stage.h"
#include "passes/solve/subgroup/subgroup.h"

/* Each of `n_shards` ranks, the row among them, has an equal part of a matrix,
 * along `sharded`.  The k-th rank of a block has the k-th part in one piece, in
 * which its own shard lies where cz_candidates_stride() is width / g, and else
 * not.
 */
typedef struct cz_candidates_call {
    const cz_view_stage *stage; /* in kernel form */
    cz_cut_of sharded;          /* rows or columns */
    int width;                  /* ranks of the row */
    int n_shards; /* a multiple of the width: other rows hold shards of
                   * this one's matrices, and it of theirs, alike; 0: the
                   * width */
    int n_near;   /* consecutive ranks of the row in one node; 1: each
                   * has a node of its own */
    int max_g;    /* at most so many ranks share a matrix */
} cz_candidates_call;

/* How far apart are the g of `width` ranks that share a matrix.  Where all of
 * the row lies in one node, as far as can be, so that the shard of the k-th, in
 * which shards are counted along the row, lies in the k-th of g parts; else
 * they are neighbours, for what they add up is to stay in a node. */
int64_t cz_candidates_stride(int64_t width, bool is_near, int64_t g);

/* The dimension that shards cut of the pattern's matrices as they are stored,
 * which is how stages see them; NONE: neither, or both. */
cz_cut_of cz_candidates_sharded_along(const cz_plan_view *view, int pattern);

/* All ways of one matrix, by g; of g > 1 first CZ_SUBGROUP_GRAM, in which all
 * ranks compute alike what is not cut, then CZ_SUBGROUP_PARTITIONED, in which
 * they deal out those products by rows, with cz_share_scatter(), and gather the
 * results.  Partial sums travel in f32, of narrow products in bf16, and a map
 * behind each makes of them what the product did (passes/kernel/outline.h).
 * Stages with phases take the mean of their updates, part by part.  A measured
 * time scales the parts of its way.  `*ways` lives in `arena`; how many there
 * are.
 *
 * A rank of a block of g gathers 1 / g of the inputs: the k-th of its block
 * every g-th shard from the k-th on, so that its own is one of them; or where
 * shards are cut the other way, 1 / g of each.  Outputs take the same way
 * back.  Staging: what it gathers, and the largest sum with what is gathered
 * of it. */
int cz_cost_candidates(cz_arena *arena, const cz_plan_view *view,
                       const cz_machine *machine,
                       const cz_candidates_call *call,
                       const cz_subgroup_candidate **candidates);

/* The ways of so many matrices on g of the row's ranks, which need not be a
 * power of two: forms[0] and, where something is dealt out, forms[1]. */
int cz_cost_forms(cz_arena *arena, const cz_plan_view *view,
                  const cz_machine *machine, const cz_candidates_call *call,
                  int batch, int g, cz_subgroup_candidate forms[2]);

/* shares[n_steps] of a body of the stage in a way with g > 1, of which form and
 * g are read.  False where its form has to deal out and there is nothing. */
bool cz_cost_form_cuts(cz_arena *scratch, const cz_plan_view *view,
                       const cz_candidates_call *call,
                       const cz_view_stage *body,
                       const cz_subgroup_candidate *candidate,
                       cz_step_cut *step_cuts);

/* Bytes that the map behind a product's sums reads and writes on each of the
 * group: rounding, and whatever else is done with them; 0: there is none. */
int64_t cz_cost_behind_bytes(const cz_view_step *step, const cz_step_cut *cut,
                             int64_t subgroup_size);

/* Bytes of staging that a way may take on a rank, as the schedule says it (0:
 * it does not).  Unless it does, what an owner alone needs of the largest
 * matrix, of which it has `largest` gathered and as much to scatter, is there
 * in any case. */
int64_t cz_candidates_cap(int64_t asked, int64_t largest);

#endif
