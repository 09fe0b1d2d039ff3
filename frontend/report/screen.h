/* One screen about a plan, for people. */
#ifndef CZ_FRONTEND_REPORT_SCREEN_H
#define CZ_FRONTEND_REPORT_SCREEN_H

#include "dsl/base/text.h"
#include "dsl/plan/plan.h"
#include "frontend/report/bars.h"

/* Appends to `out`.  The view is of a scheduled plan; `hash` is its hash in
 * hex. */
void cz_report_screen(const cz_plan_view *view, const char *hash,
                      cz_bar_style style, cz_text *out);

#endif
