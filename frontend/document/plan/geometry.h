/* What the planner compared where it chose the geometry of slices. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_GEOMETRY_H
#define CZ_FRONTEND_DOCUMENT_PLAN_GEOMETRY_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"
#include "dsl/plan/plan.h"
#include "frontend/document/read.h"

/* With the formulas of passes/solve/geometry.h.  Lives in the arena. */
cz_document_geometry cz_report_geometry(cz_arena *arena,
                                        const cz_plan_view *view,
                                        const cz_fact_geometry *fact);
/* One line, without its end. */
void cz_report_put_geometry(const cz_document_geometry *geometry, cz_text *out);

#endif
