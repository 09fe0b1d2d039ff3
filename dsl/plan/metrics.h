/* What a plan costs, counted from the plan view alone: flops, wire bytes,
 * memory and updates of every rank in one step.  dsl/SCHEDULE.md ("Counters")
 * defines the numbers; the runtime counts the same ones while it runs. */
#ifndef CZ_DSL_PLAN_METRICS_H
#define CZ_DSL_PLAN_METRICS_H

#include "dsl/plan/plan.h"

/* Kinds of memory of a rank.  CZ_MEMORY(enum, name in reports) */
#define CZ_MEMORIES(X)                                                         \
    X(PARAM, "param")                                                          \
    X(GRAD, "grad")                                                            \
    X(REDUCED, "reduced")                                                      \
    X(MASTER, "master")                                                        \
    X(STATE, "state")                                                          \
    X(SCRATCH, "scratch")

typedef enum cz_memory {
#define CZ_MEMORY(tag, name) CZ_MEMORY_##tag,
    CZ_MEMORIES(CZ_MEMORY)
#undef CZ_MEMORY
        CZ_N_MEMORIES
} cz_memory;

const char *cz_memory_name(cz_memory memory);

/* One rank, one step: bytes are those of the mean update, everything else is
 * the same in all. */
typedef struct cz_rank_metrics {
    int64_t flops;            /* of all stages that run here */
    int64_t sent[CZ_N_STEPS]; /* bytes, to other ranks, by kind of op */
    int64_t received[CZ_N_STEPS];
    int64_t *op_sent, *op_received; /* [n_ops] of each, or NULL */
    int64_t n_updates;              /* elements written */
    int64_t n_matrices;             /* that it updates, alone or with others */
    int64_t *updates;               /* [n_params] of them, or NULL */
    int64_t *full_matrix;           /* [n_params] whole stages, or NULL */
    int64_t peak_scratch;           /* bytes; equals the arena's */
    int64_t memory[CZ_N_MEMORIES];  /* bytes, padding included */
} cz_rank_metrics;

/* Sums and extremes over ranks. */
typedef struct cz_summary {
    int64_t sum, min, max;
    int n; /* ranks: the mean is sum / n */
} cz_summary;
void cz_metrics_add(cz_summary *summary, int64_t value);

typedef struct cz_metrics {
    int n_ranks;
    const cz_rank_metrics *ranks;
    cz_summary flops;
    cz_summary matrices; /* that ranks update, alone or with others */
    cz_summary sent[CZ_N_STEPS], received[CZ_N_STEPS];
    int64_t *op_sent, *op_received; /* [n_ops] of all ranks together */
    cz_summary memory[CZ_N_MEMORIES];
    int64_t item_flops; /* of the largest matrix, on its owner */
    int item_param;     /* that matrix; -1: none */
} cz_metrics;

/* The metrics of a scheduled plan; they belong to the arena.  What is counted
 * per parameter or per operation is only summed. */
cz_metrics *cz_metrics_build(cz_arena *arena, const cz_plan_view *view);
/* One rank's, with the counts per parameter and operation: in updates 1 to
 * n_updates together, or in the CZ_MEAN_UPDATE (dsl/plan/frequency.h). */
cz_rank_metrics cz_metrics_rank(cz_arena *arena, const cz_plan_view *view,
                                int64_t rank, int64_t n_updates);

/* Bytes of all kinds of memory. */
int64_t cz_metrics_memory(const cz_rank_metrics *rank);
/* Bytes that the member at a position of the communicator sends for one row of
 * a group_sum, and receives: each adds up its share of the elements for all, or
 * has it for all. */
int64_t cz_metrics_sum_bytes(const cz_view_op *op, const cz_view_sum_entry *row,
                             int64_t position);
/* A bucket's elements in the slice of one split coordinate. */
/* Elements that a split coordinate reduces, and gathers from: its slice, or of
 * an equal bucket its equal part. */
/* Elements of an equal bucket's n parts; the last may be short. */
int64_t cz_metrics_equal_step(int64_t length, int n);
/* The first element of an equal bucket's part; of the coordinate behind the
 * last, the bucket's length. */
int64_t cz_metrics_equal_start(const cz_view_bucket *bucket,
                               int64_t coordinate);
/* Whether an operation of a bucket moves equal parts: its communicator has all
 * of the split. */
bool cz_metrics_exchanges(const cz_plan_view *view, int bucket,
                          const cz_ints *comm);
int64_t cz_metrics_slice(const cz_view_bucket *bucket, int64_t coordinate);
/* Flops that a matrix costs its owner, or the first of those that share it: the
 * whole stage, and the element-wise stages on that rank's shard.  0 for what
 * nobody owns. */
int64_t cz_metrics_item_flops(const cz_plan_view *view, int param);

#endif
