/* When the `first` and `every` blocks of a rule fire, and which of them fire
 * together.  Knows nothing of rules or modules. */
#ifndef CZ_DSL_PLAN_PHASE_H
#define CZ_DSL_PLAN_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum { CZ_MAX_EVENTS = 16, CZ_MAX_PHASES = 16 }; /* of a rule */
enum { CZ_MAX_TIME_BITS = 40 };
#define CZ_MAX_TIME ((int64_t)1 << CZ_MAX_TIME_BITS)

/* Updates start, start + period, start + 2 period, ... or, where the period
 * is 0, update `start` alone.  Updates count from 1.  A staggered event fires
 * at `start` and then, `turn` updates early, at those updates t > start with
 * (t - start + turn) % period = 0; all others are alike for every turn. */
typedef struct cz_event {
    int64_t start, period;
    bool staggered; /* not where the period is 0 */
} cz_event;

/* Bit e: event e fires at update t for a turn, which is not negative. */
uint32_t cz_events_at(const cz_event *events, int n, int64_t stagger_offset,
                      int64_t t);

/* From this turn on they are those from 0 on again; 1 without staggered events;
 * any number beyond CZ_MAX_TIME where that is too many. */
int64_t cz_events_n_offsets(const cz_event *events, int n);

/* After how many updates the events, once all have begun, repeat for any turn;
 * as above. */
int64_t cz_events_period(const cz_event *events, int n);

/* The first update from which on they do. */
int64_t cz_events_steady(const cz_event *events, int n);

typedef enum cz_phases_found {
    CZ_PHASES_OK,
    CZ_PHASES_TOO_MANY, /* more than CZ_MAX_PHASES */
    CZ_PHASES_TOO_LONG  /* they repeat too late to look at all times */
} cz_phases_found;

/* The sets of events that fire together at some update for some turn, as
 * cz_events_at() has them, ascending.  Starts are in [1, CZ_MAX_TIME], periods
 * in [0, CZ_MAX_TIME], and there are at most CZ_MAX_EVENTS events. */
cz_phases_found cz_events_phases(const cz_event *events, int n,
                                 uint32_t phases[CZ_MAX_PHASES], int *n_phases);

/* How often each of these phases comes once every event has begun, all turns
 * taken together: counts[i] of as many updates as are returned.  `phases` are
 * those of cz_events_phases(), which has found them. */
int64_t cz_events_counts(const cz_event *events, int n, const uint32_t *phases,
                         int n_phases, int64_t *counts);

#endif
