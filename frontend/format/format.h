/* Canonical layout of a source text: `canzona fmt`.
 * Knows tokens, comments and the tree; no names, no types. */
#ifndef CZ_FRONTEND_FORMAT_H
#define CZ_FRONTEND_FORMAT_H

#include "dsl/base/diag.h"

/* Append the text in canonical layout to `out`.  Tokens, their order and all
 * comments stay; blanks, line breaks and the separators between the pieces of
 * `blocks` are chosen anew, so that texts which differ in nothing else come
 * out alike.  A text with errors is reported and left alone: false, and `out`
 * is untouched. */
bool cz_format(cz_arena *arena, const cz_source *source, cz_diags *diags,
               cz_text *out);

#endif
