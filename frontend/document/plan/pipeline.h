/* What the stages of a pipeline have and do, read off the plan view. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_PIPELINE_H
#define CZ_FRONTEND_DOCUMENT_PLAN_PIPELINE_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"
#include "dsl/plan/metrics.h"

int64_t cz_report_n_stages(const cz_plan_view *view); /* 1: no pipeline */
/* Whether a pattern is resident on some stages alone, and on this one. */
bool cz_report_is_staged(const cz_plan_view *view,
                         const cz_fact_pattern *pattern);
bool cz_report_has_stage(const cz_plan_view *view,
                         const cz_fact_pattern *pattern, int64_t stage);

/* Append the screen's lines about stages, one for neighbours that are alike;
 * none without a pipeline. */
void cz_report_stage_lines(cz_arena *arena, const cz_plan_view *view,
                           const cz_metrics *metrics, cz_text *out);

#endif
