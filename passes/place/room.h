/* How much memory a plan takes, by planning it to its end. */
#ifndef CZ_PASSES_PLACE_ROOM_H
#define CZ_PASSES_PLACE_ROOM_H

#include "dsl/ir/ir.h"

/* Bytes of the fullest rank, all that the engine allocates, of the plan that a
 * module with owners and buckets leads to; it becomes that plan.  INT64_MAX:
 * to none; why not is not reported. */
int64_t cz_place_fullest(cz_arena *scratch, cz_ir *ir);

#endif
