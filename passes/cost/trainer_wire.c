/* Sums over families. */
#include "passes/cost/trainer_wire.h"

#include "passes/cost/time.h"

/* Of all ranks' shards of a family. */
static cz_wide held_elements(const cz_plan_view *view,
                             const cz_view_family *family, int64_t n_homes)
{
    const cz_fact_family *fact = family->fact;
    const int64_t n_ranks =
        view->n_ranks / cz_view_parts(view, fact->home_axes) * n_homes;
    return (cz_wide)family->elements * family->n_params *
           (n_ranks / cz_view_parts(view, cz_view_shard_set_of(&fact->shard)));
}

/* The axes along which ranks make different gradients. */
static int64_t data_set(const cz_plan_view *view, const cz_fact_family *fact)
{
    static const char *const dense[] = {"pp", "dp", "fsdp", "cp"};
    const int64_t set = fact->spread | fact->home_axes;
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
    const cz_view_family *family = &view->families[number];
    const cz_fact_reduction *reduction = cz_view_family_reduction(view, number);
    const int64_t n_homes = cz_view_n_homes(view, number);
    const int64_t data = data_set(view, family->fact);
    const int64_t shard = cz_view_shard_set(view, number);
    const int64_t apart = cz_view_distinct_set(view, number) |
                          family->fact->home_axes |
                          cz_view_set_of(&reduction->reduce_axes);
    const int64_t n_shards = cz_view_parts(view, data & shard);
    const int64_t n_alike = cz_view_parts(view, data & ~apart) * n_homes;
    const cz_wide held = held_elements(view, family, n_homes);
    const cz_wide sharded = held * (n_shards - 1);
    add(&out->gradient_bytes, sharded + held / n_alike * 2 * (n_alike - 1),
        cz_dtype_bytes(reduction->dtype));
    add(&out->parameter_bytes, sharded, cz_dtype_bytes(family->dtype));
}

static void add_frozen(const cz_plan_view *view, const cz_view_family *family,
                       cz_trainer_wire *out)
{
    const cz_fact_family *fact = family->fact;
    const int64_t set =
        data_set(view, fact) & cz_view_shard_set_of(&fact->shard);
    add(&out->parameter_bytes,
        held_elements(view, family, 1) * (cz_view_parts(view, set) - 1),
        cz_dtype_bytes(family->dtype));
}

cz_trainer_wire cz_trainer_wire_find(const cz_plan_view *view)
{
    cz_trainer_wire wire = {0};
    for (int f = 0; f < view->n_families; f++)
        add_trained(view, f, &wire);
    for (int f = 0; f < view->n_frozen_families; f++)
        add_frozen(view, &view->frozen_families[f], &wire);
    return wire;
}
