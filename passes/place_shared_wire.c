/* Bytes on the wire that sharing may add. */
#include "passes/place_shared_internal.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"
#include "passes/cost/wire_bound.h"

#include <string.h>

/* Ranks along fsdp that shard the family; 1: none. */
static int64_t count_fsdp(const cz_plan_view *view, int family)
{
    const cz_fact_mesh *mesh = view->mesh;
    for (int i = 0; i < mesh->names.n; i++)
        if (strcmp(mesh->names.v[i], "fsdp") == 0)
            return cz_view_parts(view, cz_view_shard_set(view, family) &
                                           mesh->sets.v[i]);
    return 1;
}

/* What FSDP itself sends, in each of the groups of ranks that shard a
 * parameter: all have a summand of each element of a gradient, and need each
 * element of a parameter, as many as there are ranks but one. */
static cz_wide fsdp_bytes(const cz_place_sharer *s)
{
    const cz_solve_problem *problem = &s->domain->problem;
    cz_wide sum = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const int number = s->view->params[s->domain->params[i]].family;
        const cz_view_family *family = &s->view->families[number];
        cz_dtype grad = CZ_F32;
        cz_dtype_find(cz_view_family_reduction(s->view, number)->dtype, &grad);
        sum += (cz_wide)(count_fsdp(s->view, number) - 1) * family->elements *
               (cz_dtype_bytes(grad) + cz_dtype_bytes(family->dtype));
    }
    return sum * problem->n_ranks;
}

/* Of the domain's ranks, which have an even part of all that is not gathered.
 */
static cz_wide reduced_bytes(const cz_place_sharer *s)
{
    const cz_solve_problem *problem = &s->domain->problem;
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_wire_bounds_find(s->view, s->machine, bounds);
    return (cz_wide)bounds[CZ_LINK_NODE].bytes * problem->n_ranks *
           problem->n_hosts / s->view->n_ranks;
}

int64_t cz_place_wire_cap(const cz_place_sharer *s, int hundredths)
{
    cz_wide owned = 0;
    for (int c = 0; c < s->n_classes; c++)
        owned +=
            (cz_wide)s->classes[c].count * s->classes[c].ways[0].wire_bytes;
    return cz_time_limit(owned + (owned + reduced_bytes(s) + fsdp_bytes(s)) *
                                     hundredths / 100);
}
