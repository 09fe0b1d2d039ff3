/* Bytes on the wire that sharing may add. */
#include "passes/place/share_internal.h"

#include "passes/cost/time.h"
#include "passes/cost/wire.h"
#include "passes/grid/owned.h"

/* What travels whatever matrices do, of the plan and of the trainer itself.
 * The placement's ranks have an even part of it. */
static cz_wide other_bytes(const cz_place_subgroup *s)
{
    const cz_trainer_wire trainer = cz_trainer_wire_find(s->view);
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_wire_bounds_find(s->view, s->machine, bounds);
    /* Of all ranks, what the placement's ranks have. */
    const int64_t bytes =
        cz_time_limit((cz_wide)bounds[CZ_LINK_NODE].bytes +
                      trainer.gradient_bytes + trainer.parameter_bytes);
    const cz_solve_problem *problem = &s->placement->problem;

    return (cz_wide)bytes * problem->n_ranks * problem->n_hosts /
           s->view->n_ranks;
}

static cz_wide owned_bytes(const cz_place_subgroup *s)
{
    cz_wide owned = 0;
    for (int c = 0; c < s->n_classes; c++)
        owned += (cz_wide)s->classes[c].count *
                 s->classes[c].candidates[0].wire_bytes;
    return owned;
}

/* Of the placement's matrices: f32 gradients to all in a row who shard them. */
static cz_wide gathered_bytes(const cz_place_subgroup *s)
{
    cz_wide gathered = 0;
    for (int i = 0; i < s->placement->problem.n_items; i++) {
        const int of = s->view->params[s->placement->params[i]].pattern;
        if (cz_place_is_gathered(s, of))
            gathered += (cz_wide)s->view->patterns[of].elements *
                        (cz_pattern_shards(s->view, of) - 1) *
                        cz_dtype_bytes(CZ_F32);
    }
    return gathered;
}

int64_t cz_place_wire_most(const cz_place_subgroup *s)
{
    const cz_wide most =
        (cz_wide)((double)gathered_bytes(s) * s->view->policy->wire);
    const cz_wide owned = owned_bytes(s);
    return cz_time_limit(owned > most ? owned : most);
}

int64_t cz_place_wire_cap(const cz_place_subgroup *s, int hundredths)
{
    const cz_wide owned = owned_bytes(s);
    return cz_time_limit(owned + (owned + other_bytes(s)) * hundredths / 100);
}
