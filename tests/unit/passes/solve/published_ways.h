/* The ways of a class of matrices under Newton-Schulz in closed form, as the
 * study has them that the planner is compared with: shapes and rates only.
 * Oracle of passes/cost/candidates.h. */
#ifndef CZ_TESTS_UNIT_PASSES_SOLVE_PUBLISHED_WAYS_H
#define CZ_TESTS_UNIT_PASSES_SOLVE_PUBLISHED_WAYS_H

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/subgroup/subgroup.h"

/* X <- a X + (b A + c A A) X with A = X X', n_rounds times, n x l with n <= l.
 * A product of m x k by k x n takes ceil(tiles / n_units) waves of tiles and a
 * launch, or, without tiles, 2 m n k / flops_per_s. */
typedef struct published_machine {
    int64_t flops_per_s;                  /* of products */
    int tile_rows, tile_columns, n_units; /* 0: no tiles */
    int64_t launch_ps;                    /* of a product */
    int64_t memory_bytes_per_s;
    int bytes_per_element; /* moved in memory by one update, products apart */
    int64_t latency_ps;    /* of a transfer; a reduction has two */
    int64_t node_bytes_per_s, net_bytes_per_s; /* per rank and direction */
    int node; /* consecutive ranks of a row that the faster link joins */
    int gather_bytes, scatter_bytes, exchange_bytes; /* of an element */
    bool is_packed; /* symmetric n x n travels as n (n + 1) / 2 elements */
    int n_rounds;
    /* What if: multiples of the modelled times, 1 as modelled. */
    int gather_scale, cube_scale, reduce_scale;
} published_machine;

/* The study's constants: Newton-Schulz at 600 Tflop/s, 25 bytes an element at
 * 2.6 TB/s besides, links of 400 GB/s within a node of eight and 40 GB/s
 * beyond, 20 us; f32 gathers, bf16 the rest. */
static inline published_machine notes_machine(void)
{
    return (published_machine){.flops_per_s = 600000000000000,
                               .memory_bytes_per_s = 2600000000000,
                               .bytes_per_element = 25,
                               .latency_ps = 20000000,
                               .node_bytes_per_s = 400000000000,
                               .net_bytes_per_s = 40000000000,
                               .node = 8,
                               .gather_bytes = 4,
                               .scatter_bytes = 2,
                               .exchange_bytes = 2,
                               .n_rounds = 5,
                               .gather_scale = 1,
                               .cube_scale = 1,
                               .reduce_scale = 1};
}

/* Tiles of 128 by 256 on 132 processors, 4 us a product. */
static inline published_machine tiled_machine(void)
{
    published_machine machine = notes_machine();
    machine.flops_per_s = 650000000000000;
    machine.tile_rows = 128;
    machine.tile_columns = 256;
    machine.n_units = 132;
    machine.launch_ps = 4000000;
    return machine;
}

typedef struct published_shape {
    int64_t short_side, long_side; /* in elements */
    bool is_sharded_short; /* the row's shards cut the short side: partial
                            * Gram matrices then need a transposition */
    bool is_in_place; /* block's ranks hold equal parts already (their slices
                       * of a DP axis): nothing to gather or scatter */
} published_shape;

static inline int64_t ps_of(cz_wide amount, int64_t per_s)
{
    return (int64_t)((amount * 1000000000000 + per_s - 1) / per_s);
}

/* Time of a batch of equal products m x k by k x n. */
static inline int64_t published_product_ps(const published_machine *machine,
                                           int64_t m, int64_t n, int64_t k,
                                           int64_t batch)
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

static inline int64_t update_ps(const published_machine *machine,
                                cz_wide elements)
{
    return ps_of(elements * machine->bytes_per_element,
                 machine->memory_bytes_per_s);
}

/* Time of one matrix on one rank, all rounds, of a batch of `batch`; the
 * batch's time divided by it, rounded down.  Gather and scatter apart. */
static inline int64_t published_whole_ps(const published_machine *machine,
                                         const published_shape *shape,
                                         int64_t batch)
{
    const int64_t n = shape->short_side, l = shape->long_side;
    const int64_t round =
        published_product_ps(machine, n, n, l, batch) +
        machine->cube_scale * published_product_ps(machine, n, n, n, batch) +
        published_product_ps(machine, n, l, n, batch);
    return (round * machine->n_rounds +
            update_ps(machine, (cz_wide)n * l * batch)) /
           batch;
}

static inline int64_t link_of(const published_machine *machine, int ranks)
{
    return ranks <= machine->node ? machine->node_bytes_per_s
                                  : machine->net_bytes_per_s;
}

/* The n x n matrices of a batch on the wire. */
static inline int64_t square_bytes(const published_machine *machine,
                                   const published_shape *shape, int batch)
{
    const int64_t n = shape->short_side;
    return (machine->is_packed ? n * (n + 1) / 2 : n * n) *
           machine->exchange_bytes * batch;
}

/* What a rank sends when the block scatters or gathers them. */
static inline int64_t pass_bytes(const published_machine *machine,
                                 const published_shape *shape,
                                 const cz_subgroup_candidate *candidate)
{
    return square_bytes(machine, shape, candidate->batch) * (candidate->g - 1) /
           candidate->g;
}

/* An all-reduce is two passes, reduce-scatter and all-gather. */
static inline int64_t exchange_ps(const published_machine *machine,
                                  const published_shape *shape,
                                  const cz_subgroup_candidate *candidate,
                                  int n_passes)
{
    return (int64_t)machine->reduce_scale * n_passes *
           (ps_of(pass_bytes(machine, shape, candidate),
                  link_of(machine, candidate->g)) +
            machine->latency_ps);
}

/* The round's parts once for every round. */
static inline void repeat(cz_arena *arena, const published_machine *machine,
                          const cz_subgroup_segment *round, int n_segments,
                          cz_subgroup_candidate *candidate)
{
    cz_subgroup_segment *parts =
        CZ_NEW(arena, cz_subgroup_segment, n_segments * machine->n_rounds);
    for (int i = 0; i < n_segments * machine->n_rounds; i++)
        parts[i] = round[i % n_segments];
    candidate->segments = parts;
    candidate->n_segments = n_segments * machine->n_rounds;
}

static inline void set_parts(cz_arena *arena, const published_machine *machine,
                             const published_shape *shape,
                             cz_subgroup_candidate *candidate)
{
    cz_subgroup_segment round[3] = {{0, 0}};
    const int64_t n = shape->short_side;
    const int64_t l = cz_ceil_div(shape->long_side, candidate->g);
    const int batch = candidate->batch;
    const int64_t product = published_product_ps(machine, n, l, n, batch);
    const int64_t rest =
        cz_ceil_div(update_ps(machine, (cz_wide)n * shape->long_side * batch) /
                        candidate->g,
                    machine->n_rounds);
    const int64_t gram = published_product_ps(machine, n, n, l, batch);
    const bool shared = candidate->form == CZ_SUBGROUP_PARTITIONED;
    const int64_t cube =
        machine->cube_scale *
        published_product_ps(machine, shared ? cz_ceil_div(n, candidate->g) : n,
                             n, n, batch);
    int n_passes = 0, n_segments = 1;

    switch (candidate->form) {
    case CZ_SUBGROUP_OWNER:
        round[0].compute_ps = gram + cube + product + rest;
        break;
    case CZ_SUBGROUP_GRAM:
        n_passes = 2;
        n_segments = 2;
        round[0].compute_ps = gram;
        round[0].exchange_ps = exchange_ps(machine, shape, candidate, 2);
        round[1].compute_ps = cube + product + rest;
        break;
    case CZ_SUBGROUP_PARTITIONED:
        n_passes = 3;
        n_segments = 3;
        round[0].compute_ps = gram;
        round[0].exchange_ps = exchange_ps(machine, shape, candidate, 2);
        round[1].compute_ps = cube;
        round[1].exchange_ps = exchange_ps(machine, shape, candidate, 1);
        round[2].compute_ps = product + rest;
        break;
    case CZ_SUBGROUP_N_FORMS:
        break;
    }
    repeat(arena, machine, round, n_segments, candidate);
    candidate->wire_bytes = pass_bytes(machine, shape, candidate) *
                            candidate->g * n_passes * machine->n_rounds;
    candidate->staging_bytes = /* the Gram matrix, and what is gathered of it */
        n_passes == 0 ? 0
                      : (n_passes - 1) * square_bytes(machine, shape, batch);
}

/* A rank of the block ends with 1 / g of the elements, and has 1 / width of
 * them before: of its own part, or, where the shards cut the other side, of
 * all parts alike. */
static inline void set_transfers(const published_machine *machine,
                                 const published_shape *shape, int width,
                                 cz_subgroup_candidate *candidate)
{
    const cz_wide elements =
        (cz_wide)shape->short_side * shape->long_side * candidate->batch;
    const cz_wide part = elements / candidate->g, shard = elements / width;
    const cz_wide own = shape->is_sharded_short ? shard / candidate->g : shard;
    const cz_wide in = part - own;
    const int64_t link = link_of(machine, width);
    const int both = machine->gather_bytes + machine->scatter_bytes;

    if (shape->is_in_place || in == 0)
        return;
    candidate->gather_ps =
        machine->gather_scale * ps_of(in * machine->gather_bytes, link);
    candidate->scatter_ps =
        machine->gather_scale * ps_of(in * machine->scatter_bytes, link);
    candidate->wire_bytes += (int64_t)(in * candidate->g * both);
    candidate->staging_bytes += (int64_t)(part * machine->gather_bytes);
}

/* All ways in a row of `width` ranks: owner, and each gram form with g = 2,
 * 4, ... up to width; where products have tiles, also in batches up to
 * max_batch.  Returns how many; `*ways` lives in `arena`. */
static inline int published_list_ways(cz_arena *arena,
                                      const published_machine *machine,
                                      const published_shape *shape, int width,
                                      int max_batch,
                                      const cz_subgroup_candidate **candidates)
{
    cz_subgroup_candidate *list = NULL;
    int n = 0;
    if (machine->tile_rows == 0)
        max_batch = 1; /* nothing is gained */
    for (int batch = 1; batch <= max_batch; batch++)
        for (int g = 1; width % g == 0; g *= 2)
            for (int form = 0; form < CZ_SUBGROUP_N_FORMS; form++) {
                if ((form == CZ_SUBGROUP_OWNER) != (g == 1))
                    continue;
                cz_subgroup_candidate *candidate = CZ_PUSH(arena, list, n);
                *candidate = (cz_subgroup_candidate){
                    .form = (cz_subgroup_form)form, .batch = batch, .g = g};
                set_parts(arena, machine, shape, candidate);
                set_transfers(machine, shape, width, candidate);
            }
    *candidates = list;
    return n;
}

#endif
