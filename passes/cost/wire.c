/* Sums over patterns and groups of ranks. */
#include "passes/cost/wire.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"
#include "passes/grid/owned.h"

/* ---- what any plan sends ---- */

/* How many ranks that agree with `first` on all other axes there are, and
 * nodes that they lie in: ranks of a group ascend. */
typedef struct subgroup_size {
    int64_t n_ranks, n_nodes;
} subgroup_size;

static subgroup_size group_of(const cz_plan_view *view,
                              const cz_machine *machine, const cz_ints *axes,
                              int64_t first)
{
    subgroup_size g = {cz_view_extent(view, axes), 0};
    int64_t node = -1;
    for (int64_t i = 0; i < g.n_ranks; i++) {
        const int64_t rank = cz_view_rank_at(view, axes, i, first);
        if (rank / machine->gpus_per_node != node)
            g.n_nodes++;
        node = rank / machine->gpus_per_node;
    }
    return g;
}

/* bytes[link] of a pattern that all groups of these axes send at least, each
 * element `size` bytes. */
static void add_bytes(const cz_plan_view *view, const cz_machine *machine,
                      int pattern, const cz_ints *axes, int64_t size,
                      int64_t *bytes)
{
    const cz_view_pattern *f = &view->patterns[pattern];
    for (int64_t rank = 0; rank < view->n_ranks; rank++) {
        if (cz_view_coordinate(view, axes, rank) != 0 ||
            !cz_view_is_resident(view, pattern, rank))
            continue;
        const subgroup_size g = group_of(view, machine, axes, rank);
        const cz_wide all =
            (cz_wide)cz_view_shard_elements(view, f, rank) * f->n_params * size;
        bytes[CZ_LINK_NETWORK] =
            cz_time_limit(bytes[CZ_LINK_NETWORK] + all * (g.n_nodes - 1));
        bytes[CZ_LINK_NODE] =
            cz_time_limit(bytes[CZ_LINK_NODE] + all * (g.n_ranks - 1));
    }
}

void cz_wire_bounds_find(const cz_plan_view *view, const cz_machine *machine,
                         cz_wire_bound *bounds)
{
    int64_t most[CZ_N_LINKS] = {0};
    for (int link = 0; link < CZ_N_LINKS; link++)
        bounds[link] = (cz_wire_bound){.pattern = -1};
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_fact_reduction *r = cz_view_pattern_reduction(view, f);
        int64_t bytes[CZ_N_LINKS] = {0};
        add_bytes(view, machine, f, &r->reduce_axes, cz_dtype_bytes(r->dtype),
                  bytes);
        add_bytes(view, machine, f, &r->split_axes,
                  cz_dtype_bytes(view->patterns[f].dtype), bytes);
        for (int link = 0; link < CZ_N_LINKS; link++) {
            bounds[link].bytes =
                cz_time_limit((cz_wide)bounds[link].bytes + bytes[link]);
            if (bytes[link] <= most[link])
                continue;
            most[link] = bytes[link];
            bounds[link].pattern = f;
        }
    }
    for (int link = 0; link < CZ_N_LINKS; link++)
        bounds[link].rank_ps =
            cz_time_of(cz_ceil_div(bounds[link].bytes, view->n_ranks),
                       cz_machine_link(machine, (cz_link)link).rate);
}

/* ---- what the trainer sends ---- */

/* Of all ranks' shards of a pattern. */
static cz_wide held_elements(const cz_plan_view *view,
                             const cz_view_pattern *pattern, int64_t n_homes)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int64_t n_ranks =
        view->n_ranks / cz_view_set_extent(view, fact->resident_axes) * n_homes;
    return (cz_wide)pattern->elements * pattern->n_params *
           (n_ranks /
            cz_view_set_extent(view, cz_view_shard_set_of(&fact->shard)));
}

/* The axes along which ranks make different gradients. */
static int64_t data_set(const cz_plan_view *view, const cz_fact_pattern *fact)
{
    static const char *const dense[] = {"pp", "dp", "fsdp", "cp"};
    const int64_t set = fact->expert_axes | fact->resident_axes |
                        cz_view_shard_set_of(&fact->shard);
    int64_t data = 0;
    if (set & cz_view_named_set(view, "ep"))
        return cz_view_named_set(view, "edp") | cz_view_named_set(view, "pp");
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        data |= cz_view_named_set(view, dense[i]);
    return data;
}

static void add(int64_t *bytes, cz_wide elements, int64_t size)
{
    *bytes = cz_time_limit(*bytes + elements * size);
}

static void add_trained(const cz_plan_view *view, int number,
                        cz_trainer_wire *out)
{
    const cz_view_pattern *pattern = &view->patterns[number];
    const cz_fact_reduction *reduction =
        cz_view_pattern_reduction(view, number);
    const int64_t n_homes = cz_view_n_residents(view, number);
    const int64_t data = data_set(view, pattern->fact);
    const int64_t shard = cz_view_shard_set(view, number);
    const int64_t apart = cz_view_distinct_set(view, number) |
                          pattern->fact->resident_axes |
                          cz_view_set_of(&reduction->reduce_axes);
    const int64_t n_shards = cz_view_set_extent(view, data & shard);
    const int64_t n_alike = cz_view_set_extent(view, data & ~apart) * n_homes;
    const cz_wide held = held_elements(view, pattern, n_homes);
    const cz_wide sharded = held * (n_shards - 1);
    add(&out->gradient_bytes, sharded + held / n_alike * 2 * (n_alike - 1),
        cz_dtype_bytes(reduction->dtype));
    add(&out->parameter_bytes, sharded, cz_dtype_bytes(pattern->dtype));
}

static void add_frozen(const cz_plan_view *view, const cz_view_pattern *pattern,
                       cz_trainer_wire *out)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int64_t set =
        data_set(view, fact) & cz_view_shard_set_of(&fact->shard);
    add(&out->parameter_bytes,
        held_elements(view, pattern, 1) * (cz_view_set_extent(view, set) - 1),
        cz_dtype_bytes(pattern->dtype));
}

cz_trainer_wire cz_trainer_wire_find(const cz_plan_view *view)
{
    cz_trainer_wire wire = {0};
    for (int f = 0; f < view->n_patterns; f++)
        add_trained(view, f, &wire);
    for (int f = 0; f < view->n_frozen_patterns; f++)
        add_frozen(view, &view->frozen_patterns[f], &wire);
    return wire;
}

/* ---- what layer-wise optimizers send ---- */

/* Ranks resident that have a shard of each of the pattern's matrices where its
 * owner is: a coordinate of the axes along which owners are dealt out. */
static int64_t n_row(const cz_plan_view *view, int pattern)
{
    const int64_t homes = view->patterns[pattern].fact->resident_axes;
    const cz_fact_reduction *reduction =
        cz_view_pattern_reduction(view, pattern);
    const int64_t split = cz_view_set_of(&reduction->split_axes);

    return view->n_ranks / cz_view_set_extent(view, homes) *
           cz_view_n_residents(view, pattern) / cz_view_set_extent(view, split);
}

int64_t cz_gradient_gather_bytes(const cz_plan_view *view)
{
    int64_t bytes = 0;
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_view_pattern *pattern = &view->patterns[f];
        const int64_t shards = cz_pattern_shards(view, f);
        if (!cz_pattern_is_owned(view, f) || shards == 1)
            continue;
        bytes = cz_time_limit(bytes + (cz_wide)pattern->elements *
                                          pattern->n_params * (shards - 1) *
                                          (n_row(view, f) / shards) *
                                          cz_dtype_bytes(CZ_F32));
    }
    return bytes;
}
