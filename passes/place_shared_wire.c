/* Bytes on the wire that sharing may add. */
#include "passes/place_shared_internal.h"

#include "passes/cost/time.h"
#include "passes/cost/trainer_wire.h"
#include "passes/cost/wire_bound.h"

/* What travels whatever matrices do, of the plan and of the trainer itself.
 * The domain's ranks have an even part of it. */
static cz_wide other_bytes(const cz_place_sharer *s)
{
    const cz_solve_problem *problem = &s->domain->problem;
    const cz_trainer_wire trainer = cz_trainer_wire_find(s->view);
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_wire_bounds_find(s->view, s->machine, bounds);
    return ((cz_wide)bounds[CZ_LINK_NODE].bytes + trainer.gradient_bytes +
            trainer.parameter_bytes) *
           problem->n_ranks * problem->n_hosts / s->view->n_ranks;
}

int64_t cz_place_wire_cap(const cz_place_sharer *s, int hundredths)
{
    cz_wide owned = 0;
    for (int c = 0; c < s->n_classes; c++)
        owned +=
            (cz_wide)s->classes[c].count * s->classes[c].ways[0].wire_bytes;
    return cz_time_limit(owned + (owned + other_bytes(s)) * hundredths / 100);
}
