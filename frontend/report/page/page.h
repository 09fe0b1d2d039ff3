/* A plan as one page: HTML with SVG in it and its style, nothing else.  It
 * reads without scripts, and refers to nothing outside itself. */
#ifndef CZ_FRONTEND_REPORT_PAGE_PAGE_H
#define CZ_FRONTEND_REPORT_PAGE_PAGE_H

#include "frontend/report/look.h"

/* Appends to `out`.  Under a megabyte whatever the number of ranks is. */
void cz_report_html(const cz_look *look, cz_text *out);

#endif
