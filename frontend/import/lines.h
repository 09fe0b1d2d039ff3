/* Statements of a params block while they are put together. */
#ifndef CZ_FRONTEND_IMPORT_LINES_H
#define CZ_FRONTEND_IMPORT_LINES_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"

/* A path, and what stands behind it. */
typedef struct cz_import_line {
    const char *const *words; /* an index belongs to its word:
                                 "layers[i < 64]" */
    int n_words;
    const char *rest; /* " : [8/tp, 4]", or " {...}" over several lines */
} cz_import_line;

typedef struct cz_import_lines {
    cz_import_line *list;
    int n;
} cz_import_lines;

/* By words, then by what stands behind: a total order. */
int cz_import_line_compare(const cz_import_line *a, const cz_import_line *b);

/* Print each on a line of its own, without indentation.  Near neighbours that
 * differ in one word become one line with `{a, b}`. */
void cz_import_lines_print(cz_arena *arena, cz_import_lines lines,
                           cz_text *out);

#endif
