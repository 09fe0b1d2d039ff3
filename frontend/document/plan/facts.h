/* What both reports say of a plan that is not in dsl/plan/metrics.h: uses and
 * micro-groups, read off the plan view. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_FACTS_H
#define CZ_FRONTEND_DOCUMENT_PLAN_FACTS_H

#include "dsl/base/arena.h"
#include "dsl/base/text.h"
#include "dsl/plan/frequency.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>

/* Parameters of one use. */
typedef struct cz_use_facts {
    int n_params, n_owned, n_sharded; /* sharded: owned and gathered */
    int n_by_subgroup;                /* by several ranks each */
    int n_at_shards, n_apart;         /* of these: shard by shard; alone */
    int64_t elements;                 /* logical, all of them */
    int64_t state_bytes;              /* logical: no padding, no replicas */
} cz_use_facts;

cz_use_facts cz_report_use(const cz_plan_view *view, int use);

/* A micro-group: one kernel of whole stages whose matrices were gathered. */
typedef struct cz_micro_group_facts {
    int op; /* the kernel */
    int n;
    const int64_t *params;               /* in the order of ranks */
    int64_t gather_bytes, scatter_bytes; /* to other ranks, all together */
    int64_t peak_bytes; /* of whole buffers on the rank with most */
} cz_micro_group_facts;

cz_micro_group_facts *cz_report_micro_groups(cz_arena *arena,
                                             const cz_plan_view *view, int *n);

/* Stage of a parameter's rule, or NULL. */
const cz_view_stage *cz_report_stage(const cz_plan_view *view, int param,
                                     cz_where where);
/* Bytes that one matrix sends to other ranks in slots of a kind. */
int64_t cz_report_wire(const cz_plan_view *view,
                       const cz_frequency *frequencies, int param,
                       cz_slot_kind kind);
/* "dp x tp", or "nothing". */
void cz_report_axes(const cz_plan_view *view, const cz_ints *axes,
                    cz_text *out);

#endif
