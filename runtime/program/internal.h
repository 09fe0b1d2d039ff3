/* Between check.c and row.c alone. */
#ifndef CZR_PROGRAM_INTERNAL_H
#define CZR_PROGRAM_INTERNAL_H

#include "runtime/czr.h"

#include <stdbool.h>

/* A program under check, on one rank. */
typedef struct czr_check {
    const czr_program *program;
    int rank;
    int64_t arena; /* bytes of this rank */
    char *why;
    size_t n;
} czr_check;

/* [first, first + n) inside [0, limit), without overflow. */
static inline bool czr_is_inside(int64_t first, int64_t n, int64_t limit)
{
    return first >= 0 && n >= 0 && n <= limit && first <= limit - n;
}

static inline bool czr_is_below(int64_t number, int64_t limit)
{
    return number >= 0 && number < limit;
}

/* Row i of a table: its numbers in range, what it touches in the rank's
 * memory. */
bool czr_check_row(const czr_check *c, const czr_table *table, int64_t i);

#endif
