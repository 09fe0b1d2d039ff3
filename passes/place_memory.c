/* Memory before anything is placed. */
#include "passes/place_memory.h"

#include "dsl/base/checked.h"
#include "passes/bucket.h"
#include "passes/owned.h"
#include "passes/place_write.h"
#include "passes/solve/arithmetic.h"

#include <string.h>

/* Of an element of padding, in all of a rank's memory: slices of each kind of a
 * bucket are aligned. */
enum { PADDED_BYTES = 24 };

/* Of a domain on each of its cells. */
typedef struct load {
    int64_t fixed;          /* parameters and gradients */
    int64_t state, reduced; /* of the mean coordinate */
} load;

static int64_t dtype_bytes(const char *name)
{
    cz_dtype dtype = CZ_F32;
    cz_dtype_find(name, &dtype);
    return cz_dtype_bytes(dtype);
}

static load load_of(const cz_plan_view *view, const cz_place_domain *domain)
{
    const cz_solve_problem *problem = &domain->problem;
    load out = {0, 0, 0};
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        const int family = view->params[domain->params[i]].family;
        const cz_fact_reduction *how = cz_view_family_reduction(view, family);
        const int64_t n = cz_round_up(c->elements, CZ_BUCKET_ALIGN);
        out.fixed += n * (cz_dtype_bytes(view->families[family].dtype) +
                          how->leaves * dtype_bytes(how->dtype));
        out.state += c->state_bytes;
        out.reduced += n * cz_dtype_bytes(CZ_F32);
    }
    out.fixed += (int64_t)problem->n_buckets * problem->n_classes *
                 CZ_BUCKET_ALIGN * PADDED_BYTES;
    out.state /= problem->n_ranks;
    out.reduced /= problem->n_ranks;
    return out;
}

/* Matrices whose buffers are live at once, about: one gathers, one is computed,
 * one scatters, one has values kept for later. */
enum { LIVE = 4 };

/* Buffers of some whole matrices, and workspace. */
static int64_t most_staging(const cz_plan_view *view)
{
    int64_t most = 0;
    for (int f = 0; f < view->n_families; f++) {
        if (!cz_family_is_owned(view, f))
            continue;
        const cz_view_stage *whole =
            &view->stages[cz_rule_stages_find(view, view->families[f].rule)
                              .whole];
        const int64_t n = view->families[f].elements;
        most = cz_solve_max(
            most,
            LIVE * cz_view_slot_bytes(whole, CZ_SLOT_GATHER, n, NULL) +
                LIVE * cz_view_slot_bytes(whole, CZ_SLOT_SCATTER, n, NULL) +
                whole->fact->work_bytes);
    }
    return most;
}

int64_t cz_place_state_room(cz_arena *scratch, const cz_plan_view *view,
                            const cz_place_domain *domains, int n_domains,
                            int n_cells)
{
    const int64_t staging = most_staging(view);
    load *loads = CZ_NEW(scratch, load, n_domains + 1);
    int64_t least = INT64_MAX;
    for (int d = 0; d < n_domains; d++)
        loads[d] = load_of(view, &domains[d]);
    for (int cell = 0; cell < n_cells; cell++) {
        int64_t fixed = staging, state = 0, reduced = 0;
        for (int d = 0; d < n_domains; d++) {
            if (domains[d].domain.slot_of_cell[cell] < 0)
                continue;
            fixed += loads[d].fixed;
            state += loads[d].state;
            reduced += loads[d].reduced;
        }
        const int64_t room = view->policy->memory_bytes - fixed;
        const int64_t own =
            room <= 0 ? room : cz_solve_part(room, state, state + reduced);
        least = cz_solve_min(least, own);
    }
    return least;
}

/* A rank's reduced gradients in all buckets of its domain. */
static int64_t reduced_of(const cz_place_bucket *list, int n, int domain,
                          int rank)
{
    int64_t bytes = 0;
    for (int b = 0; b < n; b++) {
        const int64_t *slice = &list[b].fact.slices.v[rank];
        if (list[b].domain == domain)
            bytes += (slice[1] - slice[0]) * cz_dtype_bytes(CZ_F32);
    }
    return bytes;
}

/* Adds what padding adds to the states of each rank's matrices. */
static void add_padding(const cz_place_domain *domain,
                        const cz_solve_plan *plan, int64_t *of_rank)
{
    const cz_solve_problem *problem = &domain->problem;
    const int64_t align = CZ_BUCKET_ALIGN * cz_dtype_bytes(CZ_F32);
    for (int i = 0; i < problem->n_items; i++) {
        const int64_t own = problem->classes[problem->class_of[i]].state_bytes;
        if (plan->owner[i] >= 0)
            of_rank[plan->owner[i]] += cz_round_up(own, align) - own;
    }
}

int64_t cz_place_bytes(cz_arena *scratch, const cz_plan_view *view,
                       const cz_place_all *all)
{
    int n;
    const cz_place_bucket *list = cz_place_list(scratch, view, all, &n);
    int64_t *bytes = CZ_NEW(scratch, int64_t, all->n_cells + 1), most = 0;
    memcpy(bytes, all->cell_bytes, (size_t)all->n_cells * sizeof *bytes);
    for (int d = 0; d < all->n_domains; d++) {
        const cz_place_domain *it = &all->domains[d];
        int64_t *of = CZ_NEW(scratch, int64_t, it->problem.n_ranks + 1);
        for (int r = 0; r < it->problem.n_ranks; r++)
            of[r] = reduced_of(list, n, d, r);
        add_padding(it, &all->plans[d], of);
        for (int cell = 0; cell < all->n_cells; cell++) {
            const int slot = it->domain.slot_of_cell[cell];
            bytes[cell] += slot < 0 ? 0 : of[slot / it->problem.n_hosts];
        }
    }
    for (int cell = 0; cell < all->n_cells; cell++)
        most = cz_solve_max(most, bytes[cell]);
    return most;
}
