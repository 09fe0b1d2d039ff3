/* Models on grids of ranks, as the sub-group planner sees them, with the
 * constants of the study that it is compared with: Newton-Schulz at 600
 * Tflop/s, 25 bytes an element at 2.6 TB/s besides, links of 400 GB/s within
 * a node of eight and 40 GB/s beyond, 20 us; f32 gathers, bf16 the rest. */
#ifndef CZ_TESTS_UNIT_PASSES_SOLVE_GRIDS_H
#define CZ_TESTS_UNIT_PASSES_SOLVE_GRIDS_H

#include "passes/solve/subgroup/bound.h"
#include "tests/unit/passes/solve/published_ways.h"

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

typedef enum grid_mesh {
    DP32_TP8,   /* rows: TP groups; a row's matrices are its DP slices' */
    NODES_OF_DP /* 256 ranks of DP axes (FSDP 256x1; HSDP 8x32), in nodes of
                 * eight: slices lay a matrix on the ranks of its block, so
                 * nothing gathers, and states lie there */
} grid_mesh;

typedef struct grid_model {
    const char *name;
    int64_t layers, hidden, ffn, q, kv;
} grid_model;

static const grid_model grid_models[] = {{"8B", 36, 4096, 12288, 4096, 1024},
                                         {"14B", 40, 5120, 17408, 5120, 1024},
                                         {"32B", 64, 5120, 25600, 8192, 1024}};

enum {
    GRID_MAX_CLASSES = 4,
    GRID_ROWS = 32,
    GRID_WIDTH = 8,
    GRID_MAX_BATCH = 2
};

typedef struct grid {
    cz_arena *arena;
    published_machine machine;
    grid_mesh mesh;
    cz_subgroup_class classes[GRID_MAX_CLASSES];
    cz_subgroup_problem problem;
    int64_t elements;         /* of matrices */
    int64_t whole_bytes;      /* on the wire of the rows, each matrix whole */
    int64_t dp_bytes;         /* on the wire of DP axes, in any plan */
    int64_t mean_state_bytes; /* of a rank */
    int64_t slowest_whole_ps; /* the slowest matrix on one owner */
} grid;

static inline void add_matrices(grid *g, int64_t rows, int64_t columns,
                                int64_t count, bool is_sharded_short)
{
    const published_shape shape = {.short_side =
                                       rows < columns ? rows : columns,
                                   .long_side = rows < columns ? columns : rows,
                                   .is_sharded_short = is_sharded_short,
                                   .is_in_place = g->mesh == NODES_OF_DP};
    cz_subgroup_class *of = &g->classes[g->problem.n_classes++];
    *of = (cz_subgroup_class){.count = (int)count,
                              .state_bytes = 8 * rows * columns};
    of->n_ways = published_list_ways(g->arena, &g->machine, &shape, GRID_WIDTH,
                                     GRID_MAX_BATCH, &of->ways);
    of->n_others = published_list_ways(g->arena, &g->machine, &shape,
                                       GRID_WIDTH, 64, &of->others);
    of->least_work_ps = INT64_MAX;
    for (int batch = 1; batch <= 64; batch *= 2) {
        const int64_t work = published_whole_ps(&g->machine, &shape, batch);
        if (work < of->least_work_ps)
            of->least_work_ps = work;
    }
    g->elements += count * rows * columns;
    g->whole_bytes += count * of->ways[0].wire_bytes;
    const int64_t alone =
        cz_subgroup_alone_ps(&of->ways[0], g->machine.latency_ps);
    if (alone > g->slowest_whole_ps)
        g->slowest_whole_ps = alone;
}

/* Megatron's storage, each tensor whole, or Hugging Face's matrices.  Two
 * untied embeddings besides: AdamW, cut anywhere.  Caps: wire bytes 1.05 of a
 * plan of whole matrices (gradients reduced in f32, parameters gathered in
 * bf16, over all ranks that hold the same shard), state bytes 1.10 of their
 * mean, 1 GiB of staging. */
static inline void make_grid(grid *g, const grid_model *m, bool is_fused)
{
    const int64_t h = m->hidden, embeddings = 2 * 151936 * h;
    const int64_t n_ranks = GRID_ROWS * GRID_WIDTH;
    const int64_t n_dp = g->mesh == DP32_TP8 ? GRID_ROWS : n_ranks;
    g->problem =
        (cz_subgroup_problem){.n_rows = GRID_ROWS,
                              .width = GRID_WIDTH,
                              .classes = g->classes,
                              .latency_ps = g->machine.latency_ps,
                              .states_on_block = g->mesh == NODES_OF_DP,
                              .staging_cap_bytes = 1 << 30};
    if (is_fused) {
        add_matrices(g, 2 * m->ffn, h, m->layers, false);
        add_matrices(g, h, m->ffn, m->layers, false);
        add_matrices(g, m->q + 2 * m->kv, h, m->layers, false);
        add_matrices(g, h, m->q, m->layers, false);
    } else {
        add_matrices(g, m->ffn, h, 3 * m->layers, false);
        add_matrices(g, m->q, h, 2 * m->layers, false);
        add_matrices(g, m->kv, h, 2 * m->layers, true);
    }
    g->dp_bytes = (n_dp - 1) * 6 * (g->elements + embeddings);
    g->mean_state_bytes = (8 * g->elements + 12 * embeddings) / n_ranks;
    g->problem.state_cap_bytes = g->mean_state_bytes * 11 / 10;
    g->problem.wire_cap_bytes =
        (g->dp_bytes + g->whole_bytes) / 20 + g->whole_bytes;
}

#endif
