/* Which parameters are owned matrices, and the grid of ranks that own them:
 * rows are coordinates over all axes that split states or that are of a home,
 * columns over all axes that shard matrices.  A reduction that splits over
 * fewer axes (experts) has the same owner in several rows: those of one
 * coordinate of its split; so has a pattern with several residents.  A matrix
 * that fewer axes shard has the same owner in several columns: those of one
 * coordinate of its own.  An axis may split some patterns and shard others;
 * then some cells of the grid have no rank.  Reads the plan view; what
 * assignment, buckets and schedule all need. */
#ifndef CZ_PASSES_GRID_OWNED_H
#define CZ_PASSES_GRID_OWNED_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>

typedef struct cz_owner_grid {
    cz_ints row_axes, shard_axes;
    cz_ints axes; /* both, in mesh order */
    int n_rows, n_shard;
    /* [pattern][row] its split coordinate there; -1: it is not resident.
     * Families of one reduction and home share an array. */
    const int **split_of_row;
    /* [pattern][column] the coordinate there over the pattern's own shard axes;
     * NULL where it is no owned matrix. */
    const int **shard_of_column;
} cz_owner_grid;

enum { CZ_MAX_STAGE_SLOTS = 64 };

/* Stage numbers of a rule, shared ones apart; -1 where it has none. */
typedef struct cz_rule_stages {
    int local, before, full_matrix, after;
} cz_rule_stages;

cz_rule_stages cz_rule_stages_find(const cz_plan_view *view, int rule);
/* Its update needs the whole matrix on one rank. */
bool cz_pattern_is_owned(const cz_plan_view *view, int pattern);
/* Over how many ranks a parameter is sharded. */
int64_t cz_pattern_shards(const cz_plan_view *view, int pattern);

/* The split coordinate of a pattern in a row of the grid, or -1. */
int cz_owner_grid_split(const cz_owner_grid *grid, int pattern, int row);
/* Whether a cell of the grid has ranks. */
bool cz_owner_grid_has_rank(const cz_owner_grid *grid, const cz_plan_view *view,
                            int row, int column);
/* How many coordinates the pattern's split has. */
int cz_owner_grid_splits(const cz_plan_view *view, int pattern);

/* The grid of a plan.  False after reporting a pattern that lacks stages (only
 * `after` may be absent) or has more than CZ_MAX_STAGE_SLOTS in one, or that
 * is sharded and no matrix. */
bool cz_owner_grid_find(cz_arena *arena, const cz_plan_view *view,
                        cz_diags *diags, cz_owner_grid *out);

#endif
