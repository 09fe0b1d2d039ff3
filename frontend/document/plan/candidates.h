/* The other ways in which a matrix could be updated, and why it is not. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_CANDIDATES_H
#define CZ_FRONTEND_DOCUMENT_PLAN_CANDIDATES_H

#include "dsl/plan/metrics.h"
#include "passes/bound/forms.h"

/* -1 where there is no such way: why says what is in it. */
typedef struct cz_candidate {
    const char *strategy;
    int64_t group;
    int64_t time_ps;    /* of kernels on each of them */
    int64_t wire_bytes; /* gather, sums and scatter, of all ranks */
    bool is_measured;
    const char *why; /* not */
} cz_candidate;

/* What the schedule's `wire` lets matrices send besides what they do, bytes of
 * all ranks; negative where owners send more.  INT64_MAX: it sets no limit. */
int64_t cz_candidates_spare(const cz_plan_view *view,
                            const cz_metrics *metrics);

/* Of a parameter that is an owned matrix, all but what the plan has: local,
 * owner, groups by size.  *n of them, in the arena. */
cz_candidate *cz_candidates_find(cz_arena *arena, const cz_plan_view *view,
                                 const cz_stage_time *times,
                                 const cz_forms *forms, int64_t spare_bytes,
                                 int param, int *n);

#endif
