/* Private to passes/schedule: what the parts of the scheduler share.
 *
 *   schedule_matrix  owned matrices of each row
 *   schedule_lot     those that may travel together, cut to micro-groups
 *   schedule_group   which micro-groups: those of the fastest list
 *   schedule_list    the operations in order, without tables
 *   schedule_time    how long they would take, and the order that is done
 * soonest schedule_scratch bytes for every buffer, by liveness over that list
 *   schedule_table   the rows, with
 *   schedule_travel  those of transfers and sums
 *   schedule_shrink  rows that are alike along an axis, once
 *   schedule_wait    waits, from who touches what, and bytes of scratch
 *
 * A *row* of ranks has one split coordinate, a *column* one shard coordinate.
 */
#ifndef CZ_PASSES_SCHEDULE_INTERNAL_H
#define CZ_PASSES_SCHEDULE_INTERNAL_H

#include "passes/schedule/micro_group.h"
#include "passes/grid/owned.h"
#include "passes/schedule/schedule.h"
#include "passes/timeline/timeline.h"

/* Scratch bytes of a whole matrix, or of a part, on a rank that computes it. */
typedef struct cz_matrix_scratch {
    int64_t gather, scatter, work;
} cz_matrix_scratch;

/* One owned matrix, and the scratch bytes of its buffers. */
typedef struct cz_matrix {
    int param, bucket;
    int order;      /* of the bucket: cz_schedule_bucket_order */
    int64_t offset; /* element in the bucket */
    const cz_view_pattern *pattern;
    const cz_view_stage *before, *full_matrix,
        *after;        /* after: or NULL.  Of a shared
                        * one `whole` is the first
                        * segment's, and the others'
                        * follow it */
    int64_t elements;  /* that each of those who compute it has of it */
    int row, owner;    /* row and shard coordinate of its owner, or of one of
                        * those of a spread one, or of the first of those who
                        * share it; owner -1: each rank of the row computes all
                        * of it, or its own shard */
    int n_owners;      /* that share it */
    int stride;        /* from one of these to the next */
    bool keeps_shards; /* what each of them has of it is its shard, and stays
                        * where the shard's stage left it */
    const int *shard_of_column; /* as the grid has it */
    int micro_group;            /* micro-group; of one without owner: bucket */
    int64_t gather, scatter, temp; /* of the shard, equal along a row */
    cz_matrix_scratch
        *scratch_at; /* [columns], where the column owns it; or NULL */
} cz_matrix;

/* Matrices sorted by row, group, turn and offset. */
typedef struct cz_matrix_set {
    cz_matrix *list;
    int n, n_micro_groups;
    int *starts;       /* [rows * n_groups + 1] */
    bool *moves;       /* [n_groups] some matrix does not keep its shards */
    int n_columns;     /* 0: no axis shards them */
    int *owned_starts; /* [rows * n_groups * n_columns + 1] in `owned` */
    int *owned;        /* numbers of the list that a column owns or shares */
    cz_ints *axes; /* [n_groups] that shard the matrices of a group, for those
                    * that are sharded */
    cz_block *blocks; /* [n_groups] of ranks that share each of those */
    int *wave;        /* [n_groups] ascending inside; groups of one wave travel
                       * together, as those that have it alone need not wait for
                       * those that share */
} cz_matrix_set;

/* Sharded matrices that share micro-groups: of patterns that are grouped
 * together, and equal blocks of ranks share each. */
typedef struct cz_micro_group_class {
    int pattern; /* the first of them */
    int reduction;
    cz_block block;
    int n;
    int *matrices; /* [n] numbers in `sharded` as it is collected */
    cz_micro_group_item *items; /* [n] */
    int most;                   /* of an owner in a row */
} cz_micro_group_class;

/* How long kernels, transfers and collectives take: time.c. */
typedef struct cz_schedule_prices cz_schedule_prices;

/* What an operation of the list is for. */
typedef enum cz_role {
    CZ_ROLE_REDUCE,
    CZ_ROLE_GUARD,
    CZ_ROLE_KEEP,
    CZ_ROLE_SQUARES,
    CZ_ROLE_SUM,
    CZ_ROLE_DECIDE,
    CZ_ROLE_PROLOGUE,
    CZ_ROLE_ELEMENT_WISE, /* element-wise rules of a bucket */
    CZ_ROLE_ALONE,        /* matrices of a bucket of which nothing travels */
    CZ_ROLE_PRE_GATHER,
    CZ_ROLE_GATHER,
    CZ_ROLE_FULL_MATRIX, /* or a segment of it */
    CZ_ROLE_ADD,         /* the partial sums behind a segment */
    CZ_ROLE_SCATTER,
    CZ_ROLE_POST_SCATTER,
    CZ_ROLE_ALL_GATHER, /* all_gather of a bucket */
    CZ_ROLE_UNDO,
    CZ_N_ROLES
} cz_role;

typedef struct cz_planned_op {
    cz_role role;
    int bucket;      /* or -1 */
    int n_buckets;   /* of ALONE and ELEMENT_WISE: those from `bucket` on */
    int micro_group; /* or -1 */
    int segment;     /* of WHOLE and ADD */
    int table;       /* or -1 */
    /* Scratch byte of what lives during this operation alone: the workspace of
     * all but WHOLE, and all buffers of matrices of ALONE.  [rows], or NULL. */
    int64_t *work;
} cz_planned_op;

typedef struct cz_scheduler {
    cz_arena *arena;
    const cz_plan_view *view;
    cz_diags *diags;
    cz_owner_grid grid;
    cz_matrix_set sharded, alone;
    const int64_t *fixed_bytes; /* [n_ranks] memory without scratch; NULL: it
                                 * has no cap */
    bool caps_micro_groups;     /* micro-groups keep the cap, or come near */
    bool keeps_order;           /* operations stay in the order of the list */
    const cz_schedule_prices *prices; /* NULL: the plan has no machine */
    int n_micro_group_classes;
    cz_micro_group_class
        *micro_group_classes; /* in the order in which they are carried out */
    cz_fact_micro_group_choice micro_group_choice; /* what was tried */
    int n_ops;
    cz_planned_op *ops;
    int *since; /* [n_ops] from which operation on some may still run when each
                 * starts, by the simulation; NULL: none does */
    int n_tables;
    cz_fact_table *tables;
    cz_ints *waits;       /* [n_ops] */
    cz_ints class_axes;   /* ranks that agree on these have equal rows */
    int64_t *class_bytes; /* end of the scratch that each class touches */
} cz_scheduler;

/* The rank whose rows are being written. */
typedef struct cz_row_place {
    int64_t rank;
    int row, column;
} cz_row_place;

/* Matrices of one row and group, `*n` of them. */
cz_matrix *cz_schedule_matrices(const cz_matrix_set *set, int row,
                                int micro_group, int *n);
/* Numbers in the list of those of them that a column owns or shares. */
const int *cz_schedule_owned(const cz_matrix_set *set, const cz_row_place *at,
                             int micro_group, int *n);
/* Whether the ranks of a column own a sharded matrix of their row, or share
 * it, and which of those who share it they are; -1: none. */
bool cz_schedule_owns(const cz_matrix *matrix, int column);
int cz_schedule_member(const cz_matrix *matrix, int column);
/* The most segments of a matrix of a group. */
int cz_schedule_segments(const cz_scheduler *s, int micro_group);
/* The first of `elements` elements of a parameter that lie in a row's slice of
 * its bucket, and `*n` of them, perhaps 0, as where it is not resident. */
int64_t cz_schedule_slice_of(const cz_scheduler *s, int64_t param,
                             int64_t elements, int row, int64_t *n);
/* Parameters of a bucket, numbers [first, end) in its order, that may have
 * elements in a row's slice; all others have none. */
typedef struct cz_param_range {
    int first, end;
} cz_param_range;
cz_param_range cz_schedule_params(const cz_scheduler *s, int bucket, int row);
/* What updates a parameter wherever it is cut; NULL of a matrix. */
const cz_view_stage *cz_schedule_element_wise(const cz_plan_view *view,
                                              int64_t param);
/* Whether some parameter of a bucket is owned, or not owned. */
bool cz_schedule_holds(const cz_plan_view *view, int bucket, bool owned);
/* The bucket that is updated as the i-th, and which one a bucket is: behind the
 * guard or the decision all gradients are there, and what the next forward pass
 * needs first comes first, which is the last bucket. */
int cz_schedule_bucket_order(const cz_plan_view *view, int i);

/* Sorts matrices by row, group, turn and offset. */
void cz_schedule_sort(cz_scheduler *s, cz_matrix_set *set, int n_micro_groups);

/* Whether ranks share matrices of some class. */
bool cz_schedule_has_subgroups(const cz_scheduler *s);
/* Classes of the matrices as they are collected. */
void cz_schedule_find_classes(cz_scheduler *s);
/* Cuts each class to so many groups, as far as caps and matrices allow; returns
 * how many there are of all.  The matrices are not sorted anew. */
int cz_schedule_cut_classes(cz_scheduler *s, int n_of_each);

/* NULL without a machine. */
const cz_schedule_prices *cz_schedule_price(cz_arena *arena,
                                            const cz_plan_view *view);
/* Of one matrix, or of a segment of it on one of those who share it. */
int64_t cz_schedule_matrix_ps(const cz_scheduler *s,
                              const cz_view_stage *full_matrix);
/* Puts what is listed of the update in an order that is done sooner, with so
 * much effort (passes/solve/order.h), unless it is to keep the order,
 * for what is faster may take more memory.  Returns the mean of when the list
 * would be done and when the last matrix would be updated; picoseconds.  Needs
 * prices. */
int64_t cz_schedule_order(cz_scheduler *s, int64_t effort);

/* The steps of the scheduler, in this order; each fills what its name says.
 * The first returns false after reporting. */
bool cz_schedule_collect(cz_scheduler *s);
void cz_schedule_micro_groups(cz_scheduler *s);
void cz_schedule_list(cz_scheduler *s);
void cz_schedule_scratch(cz_scheduler *s);
void cz_schedule_tables(cz_scheduler *s);
void cz_schedule_waits(cz_scheduler *s);
/* Bytes that the fullest rank has above the cap on memory, 0 without one: of
 * what is listed and has its scratch. */
int64_t cz_schedule_excess(const cz_scheduler *s);

/* Entries of one kind, as numbers of the IR. */
typedef struct cz_rows {
    cz_arena *arena;
    cz_entry_kind kind;
    int64_t *values;
    int n_values;
} cz_rows;

/* Bytes of the partial sums that one of those who share a matrix has behind a
 * segment, twice, as they travel twice, and of what is dealt out; 0: nothing is
 * to be added up or gathered. */
int64_t cz_schedule_sum_bytes(const cz_matrix *matrix, int segment);
void cz_rows_put(cz_rows *rows, cz_entry entry);
/* Rows of GATHER and SCATTER, and of ADD. */
void cz_schedule_fill_transfer(const cz_scheduler *s, const cz_planned_op *op,
                               const cz_row_place *at, cz_rows *rows);
void cz_schedule_fill_sums(const cz_scheduler *s, const cz_planned_op *op,
                           const cz_row_place *at, cz_rows *rows);
/* Of an equal bucket's REDUCE or PUBLISH. */
void cz_schedule_fill_exchange(const cz_scheduler *s, const cz_planned_op *op,
                               const cz_row_place *at, cz_rows *rows);
/* Whether it has such rows: its ranks have all of the split. */
bool cz_schedule_exchanges(const cz_scheduler *s, const cz_planned_op *op);
/* The axes of its communicator. */
cz_ints cz_schedule_comm(const cz_scheduler *s, const cz_planned_op *op);
/* Leaves out of a table's selector what its rows do not depend on. */
void cz_schedule_shrink(const cz_scheduler *s, cz_fact_table *table);

typedef struct cz_role_fact {
    cz_step_kind kind;
    cz_section section;
    int stream;
} cz_role_fact;
const cz_role_fact *cz_schedule_role(cz_role role);
/* The blocks in which an operation's ranks communicate; size 0: together. */
cz_block cz_schedule_block(const cz_scheduler *s, const cz_planned_op *op);

#endif
