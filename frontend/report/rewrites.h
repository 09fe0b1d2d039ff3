/* What stages do in another way than their formulas say, as text. */
#ifndef CZ_FRONTEND_REPORT_REWRITES_H
#define CZ_FRONTEND_REPORT_REWRITES_H

#include "frontend/document/read.h"

/* Appends a section, a line for each rewrite: what, why, before and after, of
 * one matrix.  Nothing where no stage has any. */
void cz_report_rewrites(const cz_document *document, cz_text *out);

#endif
