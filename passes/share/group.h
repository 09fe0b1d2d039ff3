/* How many ranks can share matrices, and what is said where they cannot. */
#ifndef CZ_PASSES_SHARE_GROUP_H
#define CZ_PASSES_SHARE_GROUP_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"

/* The pattern's matrices are owned, and ranks have shards of them. */
bool cz_share_is_gathered(const cz_plan_view *view, int pattern);

/* Whether groups of so many of the ranks that shard a pattern can share each of
 * its matrices; 1: owners always can. */
bool cz_share_can(cz_arena *scratch, const cz_plan_view *view, int pattern,
                  int64_t subgroup_size);

/* A note with the least change: as many ranks as can share every matrix that is
 * gathered, fewer than `group`; or owners alone. */
void cz_share_note(cz_arena *scratch, const cz_plan_view *view,
                   int64_t subgroup_size, cz_diags *diags);

#endif
