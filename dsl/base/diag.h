/* Diagnostics: what the user did wrong, where, and what would be right.
 * Stages report here and go on; the driver prints the list at the end. */
#ifndef CZ_DSL_BASE_DIAG_H
#define CZ_DSL_BASE_DIAG_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One source text.  `name` is what messages show: relative to the main
 * file's folder, never absolute. */
typedef struct cz_source {
    const char *name;
    const char *bytes;
    size_t n;
} cz_source;

/* A stretch of a source.  line and column count from 1; columns are bytes. */
typedef struct cz_span {
    const cz_source *source; /* NULL: no place, only the message */
    uint32_t offset, length, line, column;
} cz_span;

typedef enum cz_severity { CZ_ERROR, CZ_WARNING, CZ_NOTE } cz_severity;

/* Codes: one row per kind of message, `CZ_DIAG(E0101, UNEXPECTED, "...")`,
 * with its class of exit status. */
typedef enum cz_code {
#define CZ_DIAG(code, name, meaning, help) CZ_##name,
#include "dsl/base/diag.def"
#undef CZ_DIAG
    CZ_N_CODES
} cz_code;

typedef struct cz_diag {
    cz_severity severity;
    cz_code code;
    cz_span span;
    const char *message;
} cz_diag;

enum { CZ_MAX_ERRORS = 20 };

typedef struct cz_diags {
    cz_arena *arena;
    cz_diag *list;
    int n, n_errors;
    bool refused; /* some error was CZ_UNSUPPORTED or CZ_INFEASIBLE: exit 3 */
    bool dropped; /* the last message was not kept: nor are its notes */
} cz_diags;

void cz_diags_init(cz_diags *diags, cz_arena *arena);
/* Report.  A note belongs to the message before it.  Past CZ_MAX_ERRORS
 * errors everything is dropped.  The same message at the same place is
 * reported once. */
void cz_diag_error(cz_diags *diags, cz_code code, cz_span span,
                   const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void cz_diag_warning(cz_diags *diags, cz_code code, cz_span span,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void cz_diag_note(cz_diags *diags, cz_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last error or warning, which its notes follow; NULL where there is none,
 * or it was not kept. */
const cz_diag *cz_diag_last(const cz_diags *diags);
/* It is about another place now; a note in front of its others has this text
 * and the place that it had. */
void cz_diag_move(cz_diags *diags, cz_span place, const char *note);

/* Whether this was reported, wherever. */
bool cz_diag_has(const cz_diags *diags, cz_code code, const char *message);
/* "E0101" for a code. */
const char *cz_code_name(cz_code code);
/* Print all as `file:line:col: error: ... [E0101]` with source line and
 * caret.  Control bytes of the source are shown as '?'. */
void cz_diags_print(const cz_diags *diags, cz_text *out, bool colour);

/* The candidate nearest to `name` by edit distance, or NULL when none is
 * near enough to suggest. */
const char *cz_diag_nearest(const char *name, const char *const *candidates,
                            int n);

#endif
