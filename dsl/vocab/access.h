/* How a step reaches its operands and results at (row, column) of its space,
 * and what its body takes besides. */
#ifndef CZ_DSL_VOCAB_ACCESS_H
#define CZ_DSL_VOCAB_ACCESS_H

#include <stdbool.h>

typedef enum cz_access {
    CZ_ACCESS_ELEMENT,    /* [row, column], or [i] of a flat space */
    CZ_ACCESS_ROW,        /* [row]: a column vector, broadcast along columns */
    CZ_ACCESS_COLUMN,     /* [column] */
    CZ_ACCESS_ALL,        /* a rank-0 tensor */
    CZ_ACCESS_SCALAR,     /* an f32 scalar argument of the stage */
    CZ_ACCESS_TRANSPOSED, /* [column, row] */
    CZ_SUM_ALL,           /* result: f64 sum over the space, rank 0 */
    CZ_SUM_ROWS,          /* result: f64 [rows], each summed over columns */
    CZ_SUM_COLUMNS,       /* result: f64 [columns], each over rows */
    CZ_MAX_ALL,           /* result: f64 largest of the space, rank 0; NaN where
                           * there is one, as of the next two */
    CZ_MAX_ROWS,          /* result: f64 [rows], the largest of each */
    CZ_MAX_COLUMNS,       /* result: f64 [columns], the largest of each */
    CZ_N_ACCESSES
} cz_access;

/* Whether a result is a sum, or the largest, of many elements. */
bool cz_access_is_reduction(cz_access access);
bool cz_access_is_largest(cz_access access);
/* How an operand is reached that lies like such a result: ALL, ROW or COLUMN.
 * What reduces nothing is as it is. */
cz_access cz_access_reach(cz_access access);

/* What a body takes though it lies nowhere: f32, made at (row, column). */
typedef enum cz_generator {
    CZ_GENERATE_ROW,    /* the row's number, from 0 */
    CZ_GENERATE_COLUMN, /* the column's */
    CZ_N_GENERATORS
} cz_generator;

#endif
