/* Why a plan is as it is, as text. */
#ifndef CZ_FRONTEND_REPORT_EXPLAIN_H
#define CZ_FRONTEND_REPORT_EXPLAIN_H

#include "frontend/report/look.h"

/* Appends to `out`: what bounds the time and what would help, then each class
 * of matrices, what was rewritten in their stages, then buckets. */
void cz_report_explain(const cz_look *look, cz_text *out);

#endif
