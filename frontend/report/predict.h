/* Lines of the screen about predicted times: of the plan, what bounds it, and
 * of public optimizers on the same matrices. */
#ifndef CZ_FRONTEND_REPORT_PREDICT_H
#define CZ_FRONTEND_REPORT_PREDICT_H

#include "dsl/base/text.h"
#include "dsl/plan/plan.h"
#include "frontend/report/bars.h"

/* Appends to `out`; nothing where the plan names no machine. */
void cz_report_predictions(cz_arena *arena, const cz_plan_view *view,
                           cz_bar_style style, cz_text *out);

#endif
