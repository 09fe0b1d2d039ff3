/* Private to frontend/document/plan: the document while it is written. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_INTERNAL_H
#define CZ_FRONTEND_DOCUMENT_PLAN_INTERNAL_H

#include "dsl/plan/frequency.h"
#include "dsl/plan/metrics.h"
#include "frontend/document/read.h"
#include "frontend/document/plan/facts.h"
#include "passes/bound/forms.h"
#include "passes/cost/step.h"

typedef struct cz_report {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_metrics *metrics;
    int64_t spare_bytes;             /* cz_report_spare() */
    const cz_frequency *frequencies; /* of the mean update */
    int n_micro_groups;
    const cz_micro_group_facts *micro_groups;
    const int *micro_group_of;  /* [n_params] micro-group of a matrix, or -1 */
    const cz_stage_time *times; /* [n_stages]; all 0 without a machine */
    const int64_t *rank_ps;     /* [n_ranks] */
    bool has_machine;
    cz_machine machine;
    cz_forms forms; /* none without a machine */
    cz_json json;
} cz_report;

/* The types of a stage's slots of one kind, as an array behind a key. */
void cz_report_put_slots(cz_report *report, const char *key,
                         const cz_view_stage *stage, cz_slot_kind kind);
/* What a group does behind a kernel. */
typedef struct cz_report_exchange {
    const cz_step_cut *cut; /* adds up, scatters, gathers */
    int64_t behind_bytes;   /* cz_cost_behind_bytes() */
} cz_report_exchange;

/* An entry of `steps`, its bytes `times` those of the kernel; of a group's
 * also what it exchanges, else NULL. */
void cz_report_put_kernel(cz_report *report, const cz_step_kernel *kernel,
                          int64_t times, const cz_report_exchange *exchange);
/* What the schedule's `wire` lets matrices send besides what they do, bytes of
 * all ranks; negative where owners send more.  INT64_MAX: it sets no limit. */
int64_t cz_report_spare(const cz_plan_view *view, const cz_metrics *metrics);
/* The keys `class` and `candidates` of a matrix. */
void cz_report_put_candidates(cz_report *report, int param);
/* The names of axes, as an array. */
void cz_report_put_axes(cz_report *report, const char *key,
                        const cz_ints *axes);
/* A key, and a float of the source as the shortest decimal string that reads as
 * it: JSON numbers stay integers. */
void cz_report_put_real(cz_report *report, const char *key, double value);

/* The key `digest` of a stage. */
void cz_report_put_stage_digest(cz_report *report, const cz_view_stage *stage);

/* The parts of the document behind its header. */
void cz_report_put_lists(cz_report *report);
void cz_report_put_schedule(cz_report *report);
void cz_report_put_metrics(cz_report *report);
void cz_report_put_rules(cz_report *report);
void cz_report_put_stages(cz_report *report);
void cz_report_put_classes(cz_report *report);
void cz_report_put_micro_group_choices(cz_report *report);
void cz_report_put_constants(cz_report *report);
void cz_report_put_baselines(cz_report *report);
void cz_report_put_gpu(cz_report *report); /* nothing without one */

#endif
