/* Times and bytes of owner and gram, g by g. */
#include "passes/solve/subgroup_ways.h"

#include "dsl/base/checked.h"
#include "passes/solve/arithmetic.h"

static const int64_t PS_PER_S = 1000000000000;

static int64_t ps_of(cz_wide amount, int64_t per_s)
{
    return (int64_t)((amount * PS_PER_S + per_s - 1) / per_s);
}

int64_t cz_subgroup_product_ps(const cz_subgroup_machine *machine, int64_t m,
                               int64_t n, int64_t k, int64_t batch)
{
    if (machine->tile_rows == 0)
        return ps_of((cz_wide)2 * m * n * k * batch, machine->flops_per_s);
    const int64_t tiles = cz_ceil_div(m, machine->tile_rows) *
                          cz_ceil_div(n, machine->tile_columns) * batch;
    const int64_t waves = cz_ceil_div(tiles, machine->n_units);
    /* A wave is as much work as one tile on each unit. */
    const cz_wide flops = (cz_wide)2 * machine->tile_rows *
                          machine->tile_columns * k * waves * machine->n_units;
    return ps_of(flops, machine->flops_per_s) + machine->launch_ps;
}

static int64_t update_ps(const cz_subgroup_machine *machine, cz_wide elements)
{
    return ps_of(elements * machine->bytes_per_element,
                 machine->memory_bytes_per_s);
}

int64_t cz_subgroup_whole_ps(const cz_subgroup_machine *machine,
                             const cz_subgroup_shape *shape, int64_t batch)
{
    const int64_t n = shape->short_side, l = shape->long_side;
    const int64_t round =
        cz_subgroup_product_ps(machine, n, n, l, batch) +
        machine->cube_scale * cz_subgroup_product_ps(machine, n, n, n, batch) +
        cz_subgroup_product_ps(machine, n, l, n, batch);
    return (round * machine->n_rounds +
            update_ps(machine, (cz_wide)n * l * batch)) /
           batch;
}

static int64_t link_of(const cz_subgroup_machine *machine, int ranks)
{
    return ranks <= machine->node ? machine->node_bytes_per_s
                                  : machine->net_bytes_per_s;
}

/* The n x n matrices of a batch on the wire. */
static int64_t square_bytes(const cz_subgroup_machine *machine,
                            const cz_subgroup_shape *shape, int batch)
{
    const int64_t n = shape->short_side;
    return (machine->is_packed ? n * (n + 1) / 2 : n * n) *
           machine->exchange_bytes * batch;
}

/* What a rank sends when the block scatters or gathers them. */
static int64_t pass_bytes(const cz_subgroup_machine *machine,
                          const cz_subgroup_shape *shape,
                          const cz_subgroup_way *way)
{
    return square_bytes(machine, shape, way->batch) * (way->g - 1) / way->g;
}

/* An all-reduce is two passes, reduce-scatter and all-gather. */
static int64_t exchange_ps(const cz_subgroup_machine *machine,
                           const cz_subgroup_shape *shape,
                           const cz_subgroup_way *way, int n_passes)
{
    return (int64_t)machine->reduce_scale * n_passes *
           (ps_of(pass_bytes(machine, shape, way), link_of(machine, way->g)) +
            machine->latency_ps);
}

static void set_parts(const cz_subgroup_machine *machine,
                      const cz_subgroup_shape *shape, cz_subgroup_way *way)
{
    const int64_t n = shape->short_side;
    const int64_t l = cz_ceil_div(shape->long_side, way->g);
    const int batch = way->batch;
    const int64_t product = cz_subgroup_product_ps(machine, n, l, n, batch);
    const int64_t rest = cz_ceil_div(
        update_ps(machine, (cz_wide)n * shape->long_side * batch) / way->g,
        machine->n_rounds);
    const int64_t gram = cz_subgroup_product_ps(machine, n, n, l, batch);
    const bool shared = way->form == CZ_SUBGROUP_SHARED;
    const int64_t cube =
        machine->cube_scale *
        cz_subgroup_product_ps(machine, shared ? cz_ceil_div(n, way->g) : n, n,
                               n, batch);
    int n_passes = 0;

    way->n_rounds = machine->n_rounds;
    switch (way->form) {
    case CZ_SUBGROUP_OWNER:
        way->n_parts = 1;
        way->compute_ps[0] = gram + cube + product + rest;
        break;
    case CZ_SUBGROUP_GRAM:
    case CZ_SUBGROUP_REGROUPED:
        n_passes = 2;
        way->n_parts = 2;
        way->compute_ps[0] = gram;
        way->exchange_ps[0] = exchange_ps(machine, shape, way, 2);
        way->compute_ps[1] =
            (way->form == CZ_SUBGROUP_GRAM ? cube : product) + product + rest;
        break;
    case CZ_SUBGROUP_SHARED:
        n_passes = 3;
        way->n_parts = 3;
        way->compute_ps[0] = gram;
        way->exchange_ps[0] = exchange_ps(machine, shape, way, 2);
        way->compute_ps[1] = cube;
        way->exchange_ps[1] = exchange_ps(machine, shape, way, 1);
        way->compute_ps[2] = product + rest;
        break;
    case CZ_SUBGROUP_N_FORMS:
        break;
    }
    way->wire_bytes =
        pass_bytes(machine, shape, way) * way->g * n_passes * machine->n_rounds;
    way->staging_bytes = /* the Gram matrix, and what is gathered of it */
        n_passes == 0 ? 0
                      : (n_passes - 1) * square_bytes(machine, shape, batch);
}

/* A rank of the block ends with 1 / g of the elements, and has 1 / width of
 * them before: of its own part, or, where the shards cut the other side, of
 * all parts alike. */
static void set_transfers(const cz_subgroup_machine *machine,
                          const cz_subgroup_shape *shape, int width,
                          cz_subgroup_way *way)
{
    const cz_wide elements =
        (cz_wide)shape->short_side * shape->long_side * way->batch;
    const cz_wide part = elements / way->g, shard = elements / width;
    const cz_wide own = shape->is_sharded_short ? shard / way->g : shard;
    const cz_wide in = part - own;
    const cz_wide out = in > 0 && way->g < width ? shard : 0;
    const int64_t link = link_of(machine, width);
    const int both = machine->gather_bytes + machine->scatter_bytes;

    if (shape->is_in_place || in == 0)
        return;
    way->gather_ps =
        machine->gather_scale * ps_of(in * machine->gather_bytes, link);
    way->gather_other_ps =
        machine->gather_scale * ps_of(out * machine->gather_bytes, link);
    way->scatter_ps =
        machine->gather_scale * ps_of(in * machine->scatter_bytes, link);
    way->scatter_other_ps =
        machine->gather_scale * ps_of(out * machine->scatter_bytes, link);
    way->wire_bytes += (int64_t)(in * way->g * both);
    way->staging_bytes += (int64_t)(part * machine->gather_bytes);
}

int cz_subgroup_list_ways(cz_arena *arena, const cz_subgroup_machine *machine,
                          const cz_subgroup_shape *shape, int width,
                          int max_batch, const cz_subgroup_way **ways)
{
    cz_subgroup_way *list = NULL;
    int n = 0;
    if (machine->tile_rows == 0)
        max_batch = 1; /* nothing is gained */
    for (int batch = 1; batch <= max_batch; batch++)
        for (int g = 1; g <= width; g *= 2)
            for (int form = 0; form < CZ_SUBGROUP_N_FORMS; form++) {
                if ((form == CZ_SUBGROUP_OWNER) != (g == 1))
                    continue;
                cz_subgroup_way *way = CZ_PUSH(arena, list, n);
                *way = (cz_subgroup_way){
                    .form = (cz_subgroup_form)form, .batch = batch, .g = g};
                set_parts(machine, shape, way);
                set_transfers(machine, shape, width, way);
            }
    *ways = list;
    return n;
}
