/* Megatron-LM's layer-wise optimizer, as of August 2026, on one placement:
 * whole matrices are dealt out to split coordinates bucket by bucket, in slices
 * padded to the longest; what is element-wise has buckets of its own, in equal
 * slices.  So reductions and gathers are even. */
#ifndef CZ_PASSES_BASELINE_MEGATRON_H
#define CZ_PASSES_BASELINE_MEGATRON_H

#include "passes/cost/machine.h"
#include "passes/place/problem.h"
#include "passes/solve/evaluate.h"

/* What the ranks that shard a matrix do with it. */
typedef enum cz_megatron_mode {
    CZ_MEGATRON_DUPLICATED,  /* all gather it, and compute alike */
    CZ_MEGATRON_DISTRIBUTED, /* each computes with its shard, and products over
                              * the dimension that is cut are summed; what
                              * cannot be is duplicated */
    CZ_MEGATRON_SHARDED,     /* one of them computes it; all matrices of an
                              * owner gather, then compute, then scatter */
} cz_megatron_mode;

typedef struct cz_megatron {
    cz_placement_problem placement; /* its items in other buckets */
    cz_solve_plan plan;
    cz_solve_score score; /* links between those who shard matrices included */
    int64_t *longest; /* [n_buckets] all slices are padded to it; 0: they are
                       * equal anyway */
} cz_megatron;

/* Buckets of so many elements; no machine: links take no time. */
cz_megatron cz_compare_megatron(cz_arena *arena, const cz_plan_view *view,
                                const cz_machine *machine,
                                const cz_stage_time *times,
                                const cz_placement_problem *placement,
                                cz_megatron_mode mode, int64_t most);

#endif
