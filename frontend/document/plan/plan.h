/* A plan as JSON, schema canzona.plan/3: tests/plan/plan.schema.json. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_PLAN_H
#define CZ_FRONTEND_DOCUMENT_PLAN_PLAN_H

#include "dsl/base/text.h"
#include "dsl/plan/document.h"
#include "dsl/plan/metrics.h"
#include "dsl/plan/plan.h"

/* Appends to `out`.  The view is of a scheduled plan, and the metrics are of
 * the view; `hash` is its hash in hex.  Without baselines their list is empty.
 * A plan for a GPU says what it does there, too. */
void cz_report_json(const cz_plan_view *view, const cz_metrics *metrics,
                    const char *hash, bool baselines, cz_text *out);

/* What that JSON says, as it is read.  `name` is that of the plan in messages;
 * everything belongs to the arena.  NULL after reporting. */
const cz_document *cz_report_document(cz_arena *arena, const cz_plan_view *view,
                                      const cz_metrics *metrics,
                                      const char *hash, bool baselines,
                                      const char *name, cz_diags *diags);

#endif
