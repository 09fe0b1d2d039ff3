/* How a whole stage is shared out when no rank holds the matrix: its inputs
 * are cut along one dimension among the ranks of a group, and for every step
 * it follows what each rank computes and what the group must add up.  A
 * product that contracts the cut dimension leaves a partial sum on each rank
 * (X X' of a matrix cut by columns: the Gram matrix); what is not cut is dealt
 * out by rows, or computed by all ranks alike.  Plain C on the plan view. */
#ifndef CZ_PASSES_COST_STEP_CUT_H
#define CZ_PASSES_COST_STEP_CUT_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>

typedef enum cz_cut_of {
    CZ_CUT_NONE,   /* every rank has all of it */
    CZ_CUT_ROWS,   /* each rank has some of the rows; of a vector, elements */
    CZ_CUT_COLUMNS /* each rank has some of the columns */
} cz_cut_of;

typedef struct cz_step_cut {
    cz_cut_of space;      /* the map's space, or the product's result */
    bool inner;           /* the contracted length is cut, the result is not */
    uint32_t partial;     /* bit i: result i is a partial sum */
    int64_t sum_bytes;    /* of the partial sums that the group adds up */
    int64_t gather_bytes; /* of a result whose rows the group has dealt out:
                           * each computes some, and then all gather it */
    bool scatter;         /* each rank gets its rows of the sum alone, and what
                           * is made of them is the result that is dealt out */
    int64_t band;         /* sum and result are symmetric: of so many blocks of
                           * rows the band alone travels (dsl/IR.md); 0: all */
} cz_step_cut;

/* shares[n_steps] for inputs that are all cut along `cut` and scalars that are
 * not; the stage's outputs must come out cut alike.  False when some step
 * would need elements of other ranks in another way than by a sum: then the
 * stage cannot be shared out like that.  `values`, unless NULL, gets the cut of
 * every value of the stage, cz_step_cuts_n_values() of them.  O(steps). */
bool cz_step_cuts_find(cz_arena *scratch, const cz_view_stage *stage,
                       cz_cut_of cut, cz_step_cut *step_cuts,
                       cz_cut_of *values);
int cz_step_cuts_n_values(const cz_view_stage *stage);
/* The dimension along which a stage is shared out, in all of its phases:
 * columns if possible, else rows; CZ_CUT_NONE if neither is.  How shards lie
 * does not decide it, for the order of sums must not depend on the mesh. */
cz_cut_of cz_share_find(cz_arena *scratch, const cz_view_stage *stage);
/* The same for ranks that have shards cut along `sharded`: that one where the
 * stage has no product, and sums alone travel; if the program is strict, where
 * nothing does, for then no order of sums depends on it. */
cz_cut_of cz_share_along(cz_arena *scratch, const cz_plan_view *view,
                         const cz_view_stage *stage, cz_cut_of sharded);
/* Whether ranks exchange nothing where they share a stage along `cut`. */
bool cz_share_is_apart(cz_arena *scratch, const cz_view_stage *stage,
                       cz_cut_of cut);
/* Whether ranks had better share a stage as their shards lie, cut along
 * `sharded`: it has no product, and then sums alone travel, if anything. */
bool cz_share_keeps_shards(cz_arena *scratch, const cz_plan_view *view,
                           const cz_view_stage *stage, cz_cut_of sharded);

/* Products that all ranks would compute alike are dealt out by rows among
 * `group` of them, where their rows have so many equal parts, in shares of a
 * stage that cz_step_cuts_find() has found.  False when there are none. */
bool cz_step_cuts_partition(const cz_view_stage *stage, int64_t subgroup_size,
                            cz_step_cut *step_cuts);

/* Then sums of products too, of which something else is made in each place:
 * each rank gets its rows of the sum and makes rows of the result.  What is
 * dealt out and symmetric travels as a band. */
void cz_share_scatter(cz_arena *scratch, const cz_view_stage *stage,
                      int64_t subgroup_size, cz_step_cut *step_cuts);

/* A product whose sums are its result: no map makes anything else of them. */
bool cz_share_is_plain(const cz_view_step *product);

/* Of a product's partial sums, as ranks exchange them. */
cz_dtype cz_share_sum_dtype(const cz_view_step *product);

#endif
