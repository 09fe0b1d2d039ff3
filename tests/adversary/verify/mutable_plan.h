/* A deep copy of what a schedule is made of, to be changed at will, and the
 * program that the runtime would get of it. */
#ifndef CZ_TESTS_VERIFY_MUTABLE_PLAN_H
#define CZ_TESTS_VERIFY_MUTABLE_PLAN_H

#include "dsl/plan/plan.h"
#include "runtime/czr.h"

typedef struct mutable_table {
    cz_entry_kind kind;
    int n_coordinates;
    int64_t *starts;
    int64_t *rows; /* flat; n_columns to a row, in the order of abi.def */
    int n_columns;
    int64_t n_rows;
    int64_t *batch_of_row; /* goes with its row; NULL: the table has none */
    int n_batches;
    cz_view_batch *batches;
} mutable_table;

typedef struct mutable_op {
    cz_view_op view;
    cz_fact_op fact;
} mutable_op;

typedef struct mutable_bucket {
    int64_t *slices, *offsets;
    int n_slices, n_params;
    cz_geometry geometry;
} mutable_bucket;

/* Changed freely; rows and operations may be added up to twice as many and
 * one more.  mutable_plan_view() makes a view of what it is then. */
typedef struct mutable_plan {
    cz_arena *arena;
    const cz_plan_view *origin;
    int n_tables, n_ops, n_buckets;
    mutable_table *tables;
    mutable_op *ops;
    mutable_bucket *buckets;
    cz_view_param *params;
    cz_fact_pattern *patterns; /* only residents are ever changed */
    int64_t *arena_bytes, *batch_bytes;
    int n_tilings;
    cz_fact_tiling *tilings; /* one may be added */
    cz_view_stage *stages;   /* with lists and facts of their own */
    cz_view_body *bodies;    /* with expressions of their own */
} mutable_plan;

void mutable_plan_copy(mutable_plan *plan, cz_arena *arena,
                       const cz_plan_view *view);
/* The stages and bodies of it. */
void mutable_stages_copy(mutable_plan *plan);
int64_t *mutable_row(mutable_table *table, int64_t row);
const cz_plan_view *mutable_plan_view(mutable_plan *plan);

/* The compiled program with places, buckets, tables, operations and arena of
 * another view of it.  Kernels stay. */
const czr_program *program_of_view(cz_arena *arena, const czr_program *compiled,
                                   const cz_plan_view *view);

#endif
