/* What a stage is called in generated code, in traces and in profiles. */
#ifndef CZ_DSL_PLAN_SYMBOL_H
#define CZ_DSL_PLAN_SYMBOL_H

#include "dsl/base/text.h"

/* Appends "stage_matrices_128x128_whole" for matrices.128x128.whole: an
 * identifier of C.  No two stages of a source have the same one, since the
 * shape stands behind the group's name. */
void cz_stage_symbol(const char *stage, cz_text *out);

#endif
