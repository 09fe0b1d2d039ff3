/* The verifier: proves a scheduled plan before anything runs.  It shares with
 * the planner nothing but the plan view and uses naive algorithms on purpose.
 *
 * What it proves, for the schedule as dsl/SCHEDULE.md defines it:
 *   V0 form        every number in range, every row inside its memory
 *   V1 once        each element of each parameter and state is written exactly
 *                  once per replica of its shard coordinates
 *   V2 matched     sends and receives pair up, with equal sizes
 *   V3 uniform     collectives are the same, and alike empty, on all members
 *   V4 no deadlock at zero buffering, with all operations of a rank in order
 *   V5 no race     conflicting accesses are ordered by streams and waits alone
 *   V6 right data  every stage reads the values it means to read
 *   V8 steps       an update finds what it reads, whatever phase the one before
 *                  it was in: all ordered pairs of phases of each rule
 *   V9 decision    the norm counts each logical element once, and nothing is
 *                  updated before the clip-and-skip decision
 *   V10 meaning    stages do in each phase what the rule's update says: slots,
 *                  scalars, operands, constants, what is generated.  They have
 *                  the sizes of its matrix, and round where it does, and what
 *                  travels where the tolerance admits it; order of sums and
 *                  rounding of single operations apart
 *   V11 batches    matrices that a GPU computes as one are alike, none has rows
 *                  elsewhere in the operation, no other touches what they keep,
 *                  and what each has for itself fits and stays with it
 *   V12 tiles      tiles of products are of products that there are, and of
 *                  kernels that there are */
#ifndef CZ_PASSES_VERIFY_VERIFY_H
#define CZ_PASSES_VERIFY_VERIFY_H

#include "dsl/plan/plan.h"

/* True if the plan holds.  Else at least one E0602 is reported, with tensor,
 * rank and operation.  Runs at any size the view builder admits; a schedule of
 * n operations on R ranks takes O(R n^2 / 64 + rows log rows). */
bool cz_verify(const cz_plan_view *view, cz_diags *diags);

#endif
