/* Whether a plan keeps the caps of its schedule. */
#ifndef CZ_FRONTEND_CMD_CAPS_H
#define CZ_FRONTEND_CMD_CAPS_H

#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"

/* False after reporting a matrix whose buffers are more than a micro-group may
 * have (`group`), or a rank that allocates more than it may (`memory`), with
 * the least change that helps (CZ_INFEASIBLE). */
bool cz_cmd_caps_keep(cz_arena *arena, const cz_plan_view *view,
                      cz_diags *diags);

#endif
