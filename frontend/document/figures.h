/* Plan JSON, read back: from the text of `plan --json` to flat arrays. */
#ifndef CZ_FRONTEND_DOCUMENT_FIGURES_H
#define CZ_FRONTEND_DOCUMENT_FIGURES_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/plan/figures.h"

/* Texts up to this size are read. */
enum { CZ_PLAN_JSON_MAX_BYTES = 256 << 20 };

/* Whether a text can be plan JSON: it begins with an object. */
bool cz_plan_json_is(const cz_text *text);

/* False after reporting the first thing that is no plan: not JSON, another
 * schema, a number that contradicts another.  `name` is that of the document
 * in messages.  Everything belongs to the arena. */
bool cz_plan_json_read(cz_arena *arena, const char *name, const cz_text *text,
                       cz_diags *diags, cz_figures *out);

#endif
