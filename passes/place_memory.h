/* What the cap on memory leaves for masters and states. */
#ifndef CZ_PASSES_PLACE_MEMORY_H
#define CZ_PASSES_PLACE_MEMORY_H

#include "passes/place_public.h"

/* Bytes of master and state that any cell may have beside its parameters and
 * gradients, without padding, and the buffers of a few matrices with most of
 * them: reduced gradients of what it owns grow with its state.  Below 0: there
 * is no room for less. */
int64_t cz_place_state_room(cz_arena *scratch, const cz_plan_view *view,
                            const cz_place_domain *domains, int n_domains,
                            int n_cells);

/* State and reduced gradients of the cell that has most, in bytes; gradients
 * with their padding. */
int64_t cz_place_bytes(cz_arena *scratch, const cz_plan_view *view,
                       const cz_place_all *all);

#endif
