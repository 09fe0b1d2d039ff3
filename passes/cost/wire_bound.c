/* Sums over families and groups of ranks. */
#include "passes/cost/wire_bound.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"

#include <string.h>

/* How many ranks that agree with `first` on all other axes there are, and
 * nodes that they lie in: ranks of a group ascend. */
typedef struct group {
    int64_t n_ranks, n_nodes;
} group;

static group group_of(const cz_plan_view *view, const cz_machine *machine,
                      const cz_ints *axes, int64_t first)
{
    group g = {cz_view_extent(view, axes), 0};
    int64_t node = -1;
    for (int64_t i = 0; i < g.n_ranks; i++) {
        const int64_t rank = cz_view_rank_at(view, axes, i, first);
        if (rank / machine->gpus_per_node != node)
            g.n_nodes++;
        node = rank / machine->gpus_per_node;
    }
    return g;
}

/* bytes[link] of a family that all groups of these axes send at least, each
 * element `size` bytes. */
static void add_bytes(const cz_plan_view *view, const cz_machine *machine,
                      int family, const cz_ints *axes, int64_t size,
                      int64_t *bytes)
{
    const cz_view_family *f = &view->families[family];
    for (int64_t rank = 0; rank < view->n_ranks; rank++) {
        if (cz_view_coordinate(view, axes, rank) != 0 ||
            !cz_view_is_home(view, family, rank))
            continue;
        const group g = group_of(view, machine, axes, rank);
        const cz_wide all =
            (cz_wide)cz_view_shard_elements(view, f, rank) * f->n_params * size;
        bytes[CZ_LINK_NETWORK] =
            cz_time_limit(bytes[CZ_LINK_NETWORK] + all * (g.n_nodes - 1));
        bytes[CZ_LINK_NODE] =
            cz_time_limit(bytes[CZ_LINK_NODE] + all * (g.n_ranks - 1));
    }
}

static int64_t gradient_bytes(const cz_fact_reduction *reduction)
{
    return cz_dtype_bytes(reduction->dtype);
}

void cz_wire_bounds_find(const cz_plan_view *view, const cz_machine *machine,
                         cz_wire_bound *bounds)
{
    int64_t most[CZ_N_LINKS] = {0};
    for (int link = 0; link < CZ_N_LINKS; link++)
        bounds[link] = (cz_wire_bound){.family = -1};
    for (int f = 0; f < view->n_families; f++) {
        const cz_fact_reduction *r = cz_view_family_reduction(view, f);
        int64_t bytes[CZ_N_LINKS] = {0};
        add_bytes(view, machine, f, &r->reduce_axes, gradient_bytes(r), bytes);
        add_bytes(view, machine, f, &r->split_axes,
                  cz_dtype_bytes(view->families[f].dtype), bytes);
        for (int link = 0; link < CZ_N_LINKS; link++) {
            bounds[link].bytes =
                cz_time_limit((cz_wide)bounds[link].bytes + bytes[link]);
            if (bytes[link] <= most[link])
                continue;
            most[link] = bytes[link];
            bounds[link].family = f;
        }
    }
    for (int link = 0; link < CZ_N_LINKS; link++)
        bounds[link].rank_ps =
            cz_time_of(cz_ceil_div(bounds[link].bytes, view->n_ranks),
                       cz_machine_link(machine, (cz_link)link).rate);
}
