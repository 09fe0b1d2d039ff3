/* Between the files of a placement's sharing: what the sub-group solver is
 * asked, and how its answer is one of the placement's problem.
 *
 *   share  which ranks are a row, and whether sharing is worth it
 *   class  classes of matrices and the ways to share them
 *   wire   how much more may travel
 *   rows   from blocks of rows back to owners and blocks of ranks
 */
#ifndef CZ_PASSES_PLACE_SHARE_INTERNAL_H
#define CZ_PASSES_PLACE_SHARE_INTERNAL_H

#include "passes/place/subgroup.h"
#include "passes/solve/subgroup/subgroup.h"

typedef struct cz_place_subgroup {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    cz_placement_problem *placement;
    int64_t state_bytes; /* of the fullest rank where owners alone */
    int n_near;    /* ranks with consecutive shards that lie in one node */
    int width;     /* of a row: they, or all that shard a matrix */
    int n_rows;    /* of each split coordinate as many */
    int n_classes; /* of matrices that are gathered */
    cz_subgroup_class *classes;
    int *solve_class; /* [n_classes] of the placement's problem */
} cz_place_subgroup;

/* Whether ranks have shards of the pattern's matrices, which they gather. */
bool cz_place_is_gathered(const cz_place_subgroup *s, int pattern);
/* Fills classes; false where there are none, where shards cut both dimensions
 * of a matrix, or where times may add up to 2^62 ps. */
bool cz_place_list_classes(cz_place_subgroup *s, int64_t latency_ps);

/* Of all gathers, scatters and sums together, which may add so many hundredths
 * to all that is sent where matrices have owners, gradients and parameters
 * included. */
int64_t cz_place_wire_cap(const cz_place_subgroup *s, int hundredths);

/* What matrices may send at all: as much as `wire` says of their gradients as
 * f32, gathered by all who shard them, or what owners alone send. */
int64_t cz_place_wire_most(const cz_place_subgroup *s);

/* The plan on the placement's slots; fills plan and blocks.  Rows are dealt out
 * to split coordinates so that states are even.  False where they are beyond
 * their cap and owners'. */
bool cz_place_put_back(const cz_place_subgroup *s, const cz_subgroup_plan *plan,
                       cz_place_subgroups *out);

#endif
