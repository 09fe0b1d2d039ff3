/* Models on grids of ranks, as the sub-group planner sees them, with the
 * constants of the study that it is compared with: Newton-Schulz at 600
 * Tflop/s, 25 bytes an element at 2.6 TB/s besides, links of 400 GB/s within
 * a node of eight and 40 GB/s beyond, 20 us; f32 gathers, bf16 the rest. */
#ifndef CZ_TESTS_UNIT_PASSES_SOLVE_GRIDS_H
#define CZ_TESTS_UNIT_PASSES_SOLVE_GRIDS_H

#include "passes/solve/subgroup_bound.h"
#include "passes/solve/subgroup_ways.h"

static inline cz_subgroup_machine notes_machine(void)
{
    return (cz_subgroup_machine){.flops_per_s = 600000000000000,
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
static inline cz_subgroup_machine tiled_machine(void)
{
    cz_subgroup_machine machine = notes_machine();
    machine.flops_per_s = 650000000000000;
    machine.tile_rows = 128;
    machine.tile_columns = 256;
    machine.n_units = 132;
    machine.launch_ps = 4000000;
    return machine;
}

#endif
