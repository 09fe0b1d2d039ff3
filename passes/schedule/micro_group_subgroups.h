/* Micro-groups of matrices that ranks share.  Two groups are carried out side
 * by side, so that one computes while the sums of the other travel: those that
 * take about as long follow each other.  A solver on plain arrays. */
#ifndef CZ_PASSES_SCHEDULE_MICRO_GROUP_SUBGROUPS_H
#define CZ_PASSES_SCHEDULE_MICRO_GROUP_SUBGROUPS_H

#include "passes/schedule/micro_group.h"

/* Each item's group, numbered from 0, none empty; returns how many.  Owners
 * are first ranks of blocks that share.  Of each owner the costliest items
 * come first; equal ones keep their order.  An owner has one item in each
 * group, but where it has more items than groups are wished for: then there are
 * as few groups as the cap allows, and no fewer than that. */
int cz_micro_group_subgroups(cz_arena *scratch,
                             const cz_micro_group_problem *problem,
                             int *micro_groups);

#endif
