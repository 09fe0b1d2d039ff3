/* How often each phase of a rule comes, and the bytes that matrices move for
 * that.  SCHEDULE.md ("Counters") defines the numbers. */
#ifndef CZ_DSL_PLAN_FREQUENCY_H
#define CZ_DSL_PLAN_FREQUENCY_H

#include "dsl/plan/plan.h"

/* Of one rule: phase p comes counts[p] times, all turns taken together; what
 * all of them move together is divided by `divisor`. */
typedef struct cz_frequency {
    int64_t divisor;
    int64_t counts[CZ_MAX_PHASES];
    int64_t n_offsets; /* 0: all turns are alike */
    const struct cz_frequency *offsets;
} cz_frequency;

enum { CZ_MEAN_UPDATE = -1 };

/* Of all rules, [n_rules]: updates 1 to n_updates of each turn; or
 * CZ_MEAN_UPDATE, the mean once every event has begun, for all turns the mean
 * of them all. */
cz_frequency *cz_frequencies(cz_arena *arena, const cz_plan_view *view,
                             int64_t n_updates);

/* Bytes between a rank, which has position `self`, and others by rows
 * [first, end) of a transfer, those received or those sent.  The mean of each
 * matrix is rounded up. */
int64_t cz_frequency_moved(const cz_plan_view *view,
                           const cz_frequency *frequencies,
                           const cz_view_transfer_entry *rows, int64_t first,
                           int64_t end, int64_t self, bool is_recv);

/* Bytes of so many elements in a stage's slots of one kind, as often as each
 * travels, rounded up. */
int64_t cz_frequency_slot_bytes(const cz_plan_view *view,
                                const cz_frequency *frequencies,
                                const cz_view_stage *stage, cz_slot_kind kind,
                                int64_t elements);

#endif
