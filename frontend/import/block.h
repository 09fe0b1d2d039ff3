/* What stands under an index of an imported model: statements that hold for
 * all its values, and statements under conditions on them. */
#ifndef CZ_FRONTEND_IMPORT_BLOCK_H
#define CZ_FRONTEND_IMPORT_BLOCK_H

#include "frontend/import/lines.h"

/* A statement under one value of the index. */
typedef struct cz_import_member {
    int value, order; /* order: its place among all of them */
    cz_import_line line;
} cz_import_member;

/* What follows the index called `index`, of `extent` values: the rest of a
 * path where one statement is all there is, else no words and a block.  The
 * members are sorted. */
cz_import_line cz_import_block(cz_arena *arena, cz_import_member *members,
                               int n, int extent, const char *index);

#endif
