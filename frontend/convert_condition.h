/* Conditions on an index: from a set of values to the text behind `if`. */
#ifndef CZ_FRONTEND_CONVERT_CONDITION_H
#define CZ_FRONTEND_CONVERT_CONDITION_H

#include "dsl/base/arena.h"

/* Values of an index below `n`, ascending. */
typedef struct cz_index_set {
    const int *values;
    int n_values, n;
} cz_index_set;

/* Conditions on the index called `name` of which exactly one holds for each
 * value of the set, and none for another value below n: one a line.  "" for
 * the set of all values. */
const char *cz_condition_text(cz_arena *arena, cz_index_set set,
                              const char *name);
/* The values that are not in the set. */
cz_index_set cz_index_set_complement(cz_arena *arena, cz_index_set set);

#endif
