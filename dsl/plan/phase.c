/* Phases: between two times at which an event first fires, those that have
 * begun repeat together, so that one such period shows all there is. */
#include "dsl/plan/phase.h"

#include "dsl/base/checked.h"

#include <assert.h>

enum { MAX_VISITS = 1 << 16 };

/* How many updates before the others an event's turn comes. */
static int64_t early_by(const cz_event *event, int64_t stagger_offset)
{
    return event->staggered ? stagger_offset % event->period : 0;
}

static bool fires(const cz_event *event, int64_t stagger_offset, int64_t t)
{
    if (t <= event->start || event->period == 0)
        return t == event->start;
    return (t - event->start + early_by(event, stagger_offset)) %
               event->period ==
           0;
}

uint32_t cz_events_at(const cz_event *events, int n, int64_t stagger_offset,
                      int64_t t)
{
    uint32_t mask = 0;

    for (int e = 0; e < n; e++)
        if (fires(&events[e], stagger_offset, t))
            mask |= (uint32_t)1 << e;
    return mask;
}

/* ---- times ---- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The least common multiple, or any number beyond CZ_MAX_TIME. */
static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t multiple;

    return a <= CZ_MAX_TIME &&
                   cz_checked_mul(a / greatest_divisor(a, b), b, &multiple)
               ? multiple
               : INT64_MAX;
}

/* After how many updates the events that have begun at t repeat, or any
 * number beyond CZ_MAX_TIME. */
static int64_t period_at(const cz_event *events, int n, int64_t t)
{
    int64_t period = 1;

    for (int e = 0; e < n; e++)
        if (events[e].start <= t && events[e].period > 0)
            period = common_multiple(period, events[e].period);
    return period;
}

int64_t cz_events_n_offsets(const cz_event *events, int n)
{
    int64_t offsets = 1;

    for (int e = 0; e < n; e++)
        if (events[e].staggered)
            offsets = common_multiple(offsets, events[e].period);
    return offsets;
}

/* The first time after t at which an event fires; 0: never. */
static int64_t next_firing(const cz_event *events, int n,
                           int64_t stagger_offset, int64_t t)
{
    int64_t next = 0;

    for (int e = 0; e < n; e++) {
        const cz_event *it = &events[e];
        int64_t at = it->start;
        if (at <= t && it->period == 0)
            continue;
        if (at <= t)
            at = t + it->period -
                 (t - at + early_by(it, stagger_offset)) % it->period;
        if (!next || at < next)
            next = at;
    }
    return next;
}

/* The first time after t at which another set of events has begun or is over,
 * as is a staggered one's first firing, which no turn moves; 0: never. */
static int64_t next_change(const cz_event *events, int n, int64_t t)
{
    int64_t next = 0;

    for (int e = 0; e < n; e++) {
        const bool once = events[e].period == 0 || events[e].staggered;
        const int64_t over = events[e].start + once;
        if (events[e].start > t && (!next || events[e].start < next))
            next = events[e].start;
        if (over > t && (!next || over < next))
            next = over;
    }
    return next;
}

/* ---- sets ---- */

/* Keeps the list ascending; false when it is full. */
static bool insert(uint32_t *phases, int *n, uint32_t phase)
{
    int at = *n;

    for (int i = 0; i < *n; i++)
        if (phases[i] == phase)
            return true;
    if (*n == CZ_MAX_PHASES)
        return false;
    for (; at > 0 && phases[at - 1] > phase; at--)
        phases[at] = phases[at - 1];
    phases[at] = phase;
    ++*n;
    return true;
}

typedef struct finder {
    const cz_event *events;
    int n;
    int64_t stagger_offset;
    uint32_t *phases;
    int *n_phases;
    int n_visits;
} finder;

/* All phases of [from, end): times at which something fires one by one, those
 * between them at once. */
static cz_phases_found visit(finder *f, int64_t from, int64_t end)
{
    for (int64_t t = from; t < end;) {
        const int64_t next = next_firing(f->events, f->n, f->stagger_offset, t);
        if (!insert(f->phases, f->n_phases,
                    cz_events_at(f->events, f->n, f->stagger_offset, t)) ||
            (next != t + 1 && t + 1 < end &&
             !insert(f->phases, f->n_phases, 0)))
            return CZ_PHASES_TOO_MANY;
        if (++f->n_visits > MAX_VISITS)
            return CZ_PHASES_TOO_LONG;
        if (next == 0)
            break;
        t = next;
    }
    return CZ_PHASES_OK;
}

/* All phases of the finder's turn. */
static cz_phases_found visit_turn(finder *f)
{
    for (int64_t from = 1; from > 0;
         from = next_change(f->events, f->n, from)) {
        const int64_t change = next_change(f->events, f->n, from);
        const int64_t period = period_at(f->events, f->n, from);
        const bool is_short = change && change - from <= period;
        if (!is_short && period > CZ_MAX_TIME)
            return CZ_PHASES_TOO_LONG;
        const cz_phases_found found =
            visit(f, from, is_short ? change : from + period);
        if (found != CZ_PHASES_OK)
            return found;
    }
    return CZ_PHASES_OK;
}

cz_phases_found cz_events_phases(const cz_event *events, int n,
                                 uint32_t phases[CZ_MAX_PHASES], int *n_phases)
{
    const int64_t offsets = cz_events_n_offsets(events, n);
    cz_phases_found found = CZ_PHASES_OK;

    *n_phases = 0;
    assert(n <= CZ_MAX_EVENTS);
    if (offsets > MAX_VISITS)
        return CZ_PHASES_TOO_LONG;
    finder f = {
        .events = events, .n = n, .phases = phases, .n_phases = n_phases};
    for (; f.stagger_offset < offsets && found == CZ_PHASES_OK;
         f.stagger_offset++)
        found = visit_turn(&f);
    return found;
}

/* ---- frequencies ---- */

static void count(const uint32_t *phases, int n, uint32_t phase, int64_t times,
                  int64_t *counts)
{
    for (int i = 0; i < n; i++)
        if (phases[i] == phase)
            counts[i] += times;
}

int64_t cz_events_steady(const cz_event *events, int n)
{
    int64_t from = 1, next;

    while ((next = next_change(events, n, from)) > 0)
        from = next;
    return from;
}

int64_t cz_events_period(const cz_event *events, int n)
{
    return period_at(events, n, CZ_MAX_TIME);
}

int64_t cz_events_counts(const cz_event *events, int n, const uint32_t *phases,
                         int n_phases, int64_t *counts)
{
    const int64_t offsets = cz_events_n_offsets(events, n);
    const int64_t period = cz_events_period(events, n);
    const int64_t from = cz_events_steady(events, n), end = from + period;

    for (int i = 0; i < n_phases; i++)
        counts[i] = 0;
    for (int64_t stagger_offset = 0; stagger_offset < offsets; stagger_offset++)
        for (int64_t t = from; t < end;) {
            const int64_t firing = next_firing(events, n, stagger_offset, t);
            const int64_t next = firing == 0 || firing > end ? end : firing;
            count(phases, n_phases, cz_events_at(events, n, stagger_offset, t),
                  1, counts);
            count(phases, n_phases, 0, next - t - 1, counts);
            t = next;
        }
    return offsets * period;
}
