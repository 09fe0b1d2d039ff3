/* Tables of a schedule, row by row: part of the plan view.  rows.def lists what
 * each row has, SCHEDULE.md says what it means. */
#ifndef CZ_DSL_PLAN_ROWS_H
#define CZ_DSL_PLAN_ROWS_H

#include "dsl/vocab/facts.h"

#include <stdint.h>

typedef enum cz_row_kind {
    CZ_ROW_KERNEL,
    CZ_ROW_TRANSFER,
    CZ_ROW_SUM,
    CZ_ROW_SPAN,
    CZ_ROW_EXCHANGE,
    CZ_N_ENTRY_KINDS
} cz_row_kind;

typedef struct cz_view_kernel_row {
    int64_t stage, param, offset, count, gather, scatter, temp, work;
} cz_view_kernel_row;

typedef struct cz_view_transfer_row {
    int64_t param, is_recv, peer, offset, n_rows, row_bytes, stride_bytes,
        phases;
} cz_view_transfer_row;

/* What ranks that share a matrix do with a value of it; names in JSON. */
typedef enum cz_exchange {
    CZ_EXCHANGE_SUM,    /* all get the sums of all elements: "sum" */
    CZ_EXCHANGE_GATHER, /* each has made an equal part, all get all: "gather" */
    CZ_EXCHANGE_SCATTER, /* each gets the sums of an equal part: "scatter" */
    CZ_N_EXCHANGES
} cz_exchange;

typedef struct cz_view_sum_row {
    int64_t param, offset, count, width, how, side, band;
} cz_view_sum_row;

typedef struct cz_view_span_row {
    int64_t param, offset, count;
} cz_view_span_row;

typedef struct cz_view_exchange_row {
    int64_t is_recv, peer, offset, count;
} cz_view_exchange_row;

/* Equal matrices of kernel rows that a GPU computes as one: each is n_rows
 * neighbours of one parameter.  Scratch bytes [scratch, scratch + bytes) each
 * has for itself, behind the arena. */
typedef struct cz_view_batch {
    int64_t first; /* row that the first matrix begins with */
    int64_t n_rows, n_matrices;
    int64_t scratch, bytes;
} cz_view_batch;

typedef struct cz_view_table {
    const cz_fact_table *fact;
    cz_row_kind kind;
    int n_coordinates;     /* over the selector */
    const int64_t *starts; /* [n_coordinates + 1] */
    int n_batches;
    const cz_view_batch *batches;
    const int64_t *batch_of_row; /* from 1, 0 of rows alone; NULL: all are */
    union {
        const cz_view_kernel_row *kernel;
        const cz_view_transfer_row *transfer;
        const cz_view_sum_row *sum;
        const cz_view_span_row *span;
        const cz_view_exchange_row *exchange;
    } rows;
} cz_view_table;

#endif
