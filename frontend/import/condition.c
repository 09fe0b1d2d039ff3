/* Conditions on an index: runs, and values that come round with a period. */
#include "frontend/import/condition.h"

#include "dsl/base/text.h"

#include <stdbool.h>

enum { FEW_RUNS = 2, MAX_RUNS = 8 /* of one condition */ };

void cz_index_set_add(cz_arena *arena, cz_index_set *set, int value)
{
    if (set->n_runs == 0 || set->runs[set->n_runs - 1].end != value)
        *CZ_PUSH(arena, set->runs, set->n_runs) = (cz_index_run){value, value};
    set->runs[set->n_runs - 1].end = value + 1;
}

cz_index_set cz_index_set_complement(cz_arena *arena, cz_index_set set)
{
    cz_index_set out = {CZ_NEW(arena, cz_index_run, set.n_runs + 1), 0, set.n};
    int at = 0;

    for (int i = 0; i <= set.n_runs; i++) {
        const int end = i < set.n_runs ? set.runs[i].first : set.n;
        if (at < end)
            out.runs[out.n_runs++] = (cz_index_run){at, end};
        at = i < set.n_runs ? set.runs[i].end : set.n;
    }
    return out;
}

/* ---- texts ---- */

static void put_run(cz_text *out, cz_index_run run, int n, const char *name)
{
    if (run.end == run.first + 1)
        cz_text_printf(out, "%s == %d", name, run.first);
    else if (run.first == 0)
        cz_text_printf(out, "%s < %d", name, run.end);
    else if (run.end == n)
        cz_text_printf(out, "%s >= %d", name, run.first);
    else
        cz_text_printf(out, "%s >= %d and %s < %d", name, run.first, name,
                       run.end);
}

static void put_runs(cz_text *out, cz_index_set set, const char *name)
{
    for (int i = 0; i < set.n_runs; i++) {
        if (i > 0)
            cz_text_puts(out, i % MAX_RUNS == 0 ? "\n" : " or ");
        put_run(out, set.runs[i], set.n, name);
    }
}

/* The period p of { r, r + p, r + 2 p, ... } below n with r < p; 0: the set is
 * no such thing. */
static int period_of(cz_index_set set)
{
    const cz_index_run *runs = set.runs;
    const int period = set.n_runs > 1 ? runs[1].first - runs[0].first : 0;

    if (period < 2 || runs[0].first >= period ||
        runs[set.n_runs - 1].first + period < set.n)
        return 0;
    for (int i = 0; i < set.n_runs; i++)
        if (runs[i].end != runs[i].first + 1 ||
            (i > 0 && runs[i].first - runs[i - 1].first != period))
            return 0;
    return period;
}

static bool put_period(cz_text *out, cz_index_set set, const char *name,
                       const char *relation)
{
    const int period = period_of(set);

    if (period > 0)
        cz_text_printf(out, "%s - %d * floor(%s / %d) %s %d", name, period,
                       name, period, relation, set.runs[0].first);
    return period > 0;
}

const char *cz_condition_text(cz_arena *arena, cz_index_set set,
                              const char *name)
{
    cz_text out = {0};

    if (set.n_runs == 1 && set.runs->first == 0 && set.runs->end == set.n)
        return "";
    if (set.n_runs <= FEW_RUNS ||
        (!put_period(&out, set, name, "==") &&
         !put_period(&out, cz_index_set_complement(arena, set), name, "!=")))
        put_runs(&out, set, name);
    const char *text = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}
