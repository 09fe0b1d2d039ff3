/* Micro-groups: matrices of a row of ranks gather, are computed by their
 * owners and scatter together, group by group: the public groupings, on the
 * simulated executor.  Plain arrays; nothing here knows of parameters, meshes
 * or the IR. */
#ifndef CZ_PASSES_TIMELINE_GROUP_H
#define CZ_PASSES_TIMELINE_GROUP_H

#include "passes/timeline/pipeline.h"

/* A matrix of which every rank of the row has a shard. */
typedef struct cz_pipeline_item {
    int64_t elements;   /* what public groupings count */
    int64_t compute_ps; /* on the owner */
    /* Link time of the owner, and of each other rank, without latency. */
    int64_t gather_ps, gather_other_ps, scatter_ps, scatter_other_ps;
    int64_t staging_bytes; /* on the owner, from gather to scatter */
} cz_pipeline_item;

typedef struct cz_pipeline_problem {
    int n_ranks, n_items;
    const cz_pipeline_item *items; /* in the order of definition */
    int64_t latency_ps;            /* of a gather or scatter of a group */
    int64_t staging_cap_bytes;     /* of any rank at any time */
} cz_pipeline_problem;

typedef enum cz_pipeline_overlap {
    CZ_PIPELINE_SERIAL, /* a group's gather follows the last one's scatter */
    CZ_PIPELINE_DOUBLE  /* two buffers: the next group gathers, and the last
                         * one scatters, while a group is computed; but one
                         * where two groups together are beyond the cap */
} cz_pipeline_overlap;

typedef struct cz_pipeline_groups {
    const char *method;
    cz_pipeline_overlap overlap;
    int n_groups;
    int *group, *owner; /* [n_items] */
} cz_pipeline_groups;

typedef struct cz_pipeline_cost {
    int64_t time_ps;
    int64_t staging_bytes; /* of the fullest rank, at most */
} cz_pipeline_cost;

/* The public groupings, which count elements, largest first but for the
 * first: `no` as many matrices as ranks at a time, as they are defined;
 * `single` the same by falling size; `slot` to the least loaded rank, until
 * one has slot_elements; `global` as many as longest-first keeps within
 * slot_elements on every rank. */
typedef enum cz_pipeline_public {
    CZ_PIPELINE_NO,
    CZ_PIPELINE_SINGLE,
    CZ_PIPELINE_SLOT,
    CZ_PIPELINE_GLOBAL,
    CZ_PIPELINE_N_PUBLIC
} cz_pipeline_public;

enum { CZ_PUBLIC_SLOT = 400 << 20 }; /* theirs, in elements of a shard */

cz_pipeline_groups cz_pipeline_publish(cz_arena *arena,
                                       const cz_pipeline_problem *problem,
                                       cz_pipeline_public kind,
                                       int64_t slot_elements,
                                       cz_pipeline_overlap overlap);

/* Simulates.  A group that is alone beyond the cap runs all the same: compare
 * the cost's staging_bytes.  `list`, unless NULL, gets the
 * operations. */
cz_pipeline_cost cz_pipeline_evaluate(cz_arena *arena,
                                      const cz_pipeline_problem *problem,
                                      const cz_pipeline_groups *groups,
                                      cz_pipeline_list *list);

/* No grouping of whole matrices is faster: compute or link time shared evenly,
 * or the slowest matrix. */
int64_t cz_pipeline_bound(const cz_pipeline_problem *problem);

#endif
