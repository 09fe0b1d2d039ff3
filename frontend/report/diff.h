/* What tells two plans apart. */
#ifndef CZ_FRONTEND_REPORT_DIFF_H
#define CZ_FRONTEND_REPORT_DIFF_H

#include "frontend/document/read.h"

typedef enum cz_diff_unit {
    CZ_DIFF_TEXT,
    CZ_DIFF_COUNT,
    CZ_DIFF_TIME, /* picoseconds */
    CZ_DIFF_BYTES
} cz_diff_unit;

/* One difference: `before` and `after` are numbers, -1 for what one plan does
 * not have, or texts, NULL alike. */
typedef struct cz_difference {
    const char *section; /* equal ones are neighbours */
    const char *name;
    cz_diff_unit unit;
    int64_t before, after;
    const char *before_text, *after_text;
} cz_difference;

/* All of them, in the order of the document; they belong to the arena.  Of
 * two hashes nothing is said: comments are in them. */
cz_difference *cz_diff_build(cz_arena *arena, const cz_document *before,
                             const cz_document *after, int *n);

/* Append them: for people, a few of each section; or all as JSON
 * (canzona.diff/1). */
void cz_diff_print(const cz_difference *all, int n, cz_text *out);
void cz_diff_json(const cz_document *before, const cz_document *after,
                  const cz_difference *all, int n, cz_text *out);

#endif
