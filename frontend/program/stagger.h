/* Turns of the parameters whose rules have staggered events: a function of the
 * model and its uses alone, so that every mesh has the same. */
#ifndef CZ_FRONTEND_PROGRAM_STAGGER_H
#define CZ_FRONTEND_PROGRAM_STAGGER_H

#include "dsl/ir/ir.h"
#include "frontend/program/choose.h"

/* Adds a `turn` for each family of such a rule.  The module has its events, and
 * family i is that of choice i. */
void cz_turn_emit(cz_ir *ir, cz_arena *arena, const cz_choices *choices);

#endif
