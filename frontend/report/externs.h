/* What the trainer gives before each step, as text. */
#ifndef CZ_FRONTEND_REPORT_EXTERNS_H
#define CZ_FRONTEND_REPORT_EXTERNS_H

#include "frontend/document/read.h"

/* Appends a section, a line for each rule that has externs, with their shapes.
 * Nothing where no rule has any. */
void cz_report_externs(const cz_document *document, cz_text *out);

#endif
