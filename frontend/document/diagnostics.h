/* Diagnostics for other programs: JSON of our own, and SARIF. */
#ifndef CZ_FRONTEND_DOCUMENT_DIAGNOSTICS_H
#define CZ_FRONTEND_DOCUMENT_DIAGNOSTICS_H

#include "dsl/base/diag.h"

/* Append one document, schema canzona.diagnostics/1: every error and warning
 * with its code, its place (lines and columns from 1, columns and offsets in
 * bytes, the end behind the last byte) and its notes.  A place is null, or a
 * file alone, where the text form has none.  Bytes that are no UTF-8 become
 * U+FFFD. */
void cz_diagnostics_json(const cz_diags *diags, cz_text *out);

/* Append the same as SARIF 2.1.0 (OASIS Standard, 27 March 2020): the codes
 * that occur are the rules, notes are related locations, and columns count
 * Unicode characters.  `version` is the compiler's. */
void cz_diagnostics_sarif(const cz_diags *diags, const char *version,
                          cz_text *out);

#endif
