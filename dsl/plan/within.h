/* Where a stage keeps what it computes: in its workspace, or in the bytes of a
 * slot that travels, where these hold nothing that is wanted. */
#ifndef CZ_DSL_PLAN_WITHIN_H
#define CZ_DSL_PLAN_WITHIN_H

#include "dsl/plan/plan.h"

/* The entries of a step's `offsets`: its results, and of a product or a call
 * one more. */
int cz_view_n_places(const cz_view_step *step);
/* Bytes of entry `i`: of a result, an accumulator, or a call's workspace. */
int64_t cz_view_place_bytes(const cz_view_step *step, int i);

/* What an entry lies in: CZ_WITHIN_WORK, or the number of a slot of the stage,
 * 1 for its first input, those of outputs behind those of inputs. */
enum { CZ_WITHIN_WORK = 0 };
int64_t cz_view_within(const cz_view_step *step, int i);
/* Bytes of a stage that results may lie in: its workspace, or a slot; of a slot
 * that they may not lie in 0. */
int64_t cz_view_capacity(const cz_view_stage *stage, int64_t within);
/* Whether a result may take the place of an operand that nothing reads any
 * more: element by element, and no other operand is that value. */
bool cz_view_may_replace(const cz_view_step *step, int operand, int result);
/* Whether some variant keeps results in the bytes of input `in`, which then
 * hold no longer what was gathered. */
bool cz_view_reuses(const cz_view_stage *stage, int in);

#endif
