/* Conditions on an index: from a set of values to the text behind `if`. */
#ifndef CZ_FRONTEND_IMPORT_CONDITION_H
#define CZ_FRONTEND_IMPORT_CONDITION_H

#include "dsl/base/arena.h"

/* Values first, ..., end - 1. */
typedef struct cz_index_run {
    int first, end;
} cz_index_run;

/* Values of an index below `n`: ascending runs that do not touch. */
typedef struct cz_index_set {
    cz_index_run *runs;
    int n_runs, n;
} cz_index_set;

/* Add a value that is greater than all in the set. */
void cz_index_set_add(cz_arena *arena, cz_index_set *set, int value);
/* The values below n that are not in the set. */
cz_index_set cz_index_set_complement(cz_arena *arena, cz_index_set set);

/* Conditions on the index called `name` of which exactly one holds for each
 * value of the set, and none for another value below n: one a line.  "" for
 * the set of all values. */
const char *cz_condition_text(cz_arena *arena, cz_index_set set,
                              const char *name);

#endif
