/* Between the files of place_shared: what is asked of the sub-group planner
 * about one domain, and how its answer is one of the domain's problem.
 *
 *   place_shared        which ranks are a row, and whether sharing is worth it
 *   place_shared_class  classes of matrices and the ways to share them
 *   place_shared_wire   how much more may travel
 *   place_shared_solve  the planner's answers
 *   place_shared_rows   from blocks of rows back to owners and blocks of ranks
 */
#ifndef CZ_PASSES_SHARE_INTERNAL_H
#define CZ_PASSES_SHARE_INTERNAL_H

#include "passes/share/share.h"
#include "passes/solve/subgroup/subgroup.h"

typedef struct cz_place_sharer {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine;
    cz_place_domain *domain;
    int64_t state_bytes; /* of the fullest rank where owners alone */
    int n_near;    /* ranks with consecutive shards that lie in one node */
    int width;     /* of a row: they, or all that shard a matrix */
    int n_rows;    /* of each split coordinate as many */
    int n_classes; /* of matrices that are gathered */
    cz_subgroup_class *classes;
    int *solve_class; /* [n_classes] of the domain's problem */
} cz_place_sharer;

/* Whether ranks have shards of the family's matrices, which they gather. */
bool cz_place_is_gathered(const cz_place_sharer *s, int family);
/* Fills classes; false where there are none, or shards cut both dimensions of
 * a matrix. */
bool cz_place_list_classes(cz_place_sharer *s);

/* Of all gathers, scatters and sums together, which may add so many hundredths
 * to all that is sent where matrices have owners, gradients and parameters
 * included. */
int64_t cz_place_wire_cap(const cz_place_sharer *s, int hundredths);

/* What matrices may send at all: as much as `wire` says of their gradients as
 * f32, gathered by all who shard them, or what owners alone send. */
int64_t cz_place_wire_most(const cz_place_sharer *s);

/* Whether rows may have other matrices than they are dealt first, which evens
 * out their work. */
typedef enum cz_place_rows { CZ_ROWS_AS_DEALT, CZ_ROWS_REDEALT } cz_place_rows;

/* The best plan of rows of these classes, within the caps.  The planner is
 * asked twice, once as if transfers took half as long, over the links that
 * inputs take: then it lets more ranks share, who wait less for the first and
 * the last of them than it finds out by single changes.  Times are what is in
 * truth; of two that are within a part in 32 of each other the plan with
 * shorter kernels is better. */
cz_subgroup_plan cz_place_solve_rows(const cz_place_sharer *s,
                                     const cz_subgroup_class *classes,
                                     int64_t wire_cap_bytes,
                                     cz_place_rows rows);

/* The plan on the domain's slots, in the geometry that is best for it; fills
 * plan, blocks and time.  Rows are dealt out to split coordinates so that
 * states are even.  False where they are beyond their cap and owners'. */
bool cz_place_put_back(const cz_place_sharer *s, const cz_subgroup_plan *plan,
                       cz_place_shared *out);

#endif
