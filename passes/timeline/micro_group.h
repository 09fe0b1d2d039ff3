/* Micro-groups: matrices of a row of ranks gather, are computed by their
 * owners and scatter together, group by group: those of baselines, on the
 * simulated executor.  Plain arrays; nothing here knows of parameters, meshes
 * or the IR. */
#ifndef CZ_PASSES_TIMELINE_MICRO_GROUP_H
#define CZ_PASSES_TIMELINE_MICRO_GROUP_H

#include "passes/timeline/timeline.h"

/* A matrix of which every rank of the row has a shard. */
typedef struct cz_timeline_item {
    int64_t elements;   /* what baselines count */
    int64_t compute_ps; /* on the owner */
    /* Link time of the owner, and of each other rank, without latency. */
    int64_t gather_ps, gather_other_ps, scatter_ps, scatter_other_ps;
    int64_t staging_bytes; /* on the owner, from gather to scatter */
} cz_timeline_item;

typedef struct cz_timeline_problem {
    int n_ranks, n_items;
    const cz_timeline_item *items; /* in the order of definition */
    int64_t latency_ps;            /* of a gather or scatter of a group */
} cz_timeline_problem;

typedef struct cz_timeline_micro_groups {
    const char *method;
    int n;
    int *of, *owner; /* [n_items] */
} cz_timeline_micro_groups;

typedef struct cz_timeline_cost {
    int64_t time_ps;
    int64_t staging_bytes; /* of the fullest rank, at most */
} cz_timeline_cost;

/* What baselines do, which count elements, largest first but for the first:
 * `no` as many matrices as ranks at a time, as they are defined; `single` the
 * same by falling size; `slot` to the least loaded rank, until one has
 * slot_elements; `global` as many as longest-first keeps within slot_elements
 * on every rank. */
typedef enum cz_timeline_baseline {
    CZ_TIMELINE_NO,
    CZ_TIMELINE_SINGLE,
    CZ_TIMELINE_SLOT,
    CZ_TIMELINE_GLOBAL,
    CZ_TIMELINE_N_BASELINES
} cz_timeline_baseline;

enum { CZ_TIMELINE_SLOT_ELEMENTS = 400 << 20 }; /* theirs, of a shard */

cz_timeline_micro_groups
cz_timeline_micro_groups_make(cz_arena *arena,
                              const cz_timeline_problem *problem,
                              cz_timeline_baseline kind, int64_t slot_elements);

/* The operations, with two buffers: the next group gathers, and the last one
 * scatters, while a group is computed. */
cz_timeline_list
cz_timeline_micro_groups_list(cz_arena *arena,
                              const cz_timeline_problem *problem,
                              const cz_timeline_micro_groups *micro_groups);

/* That simulated. */
cz_timeline_cost
cz_timeline_micro_groups_run(cz_arena *arena,
                             const cz_timeline_problem *problem,
                             const cz_timeline_micro_groups *micro_groups);

#endif
