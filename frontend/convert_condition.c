/* Conditions on an index: runs, and values that come round with a period. */
#include "frontend/convert_condition.h"

#include "dsl/base/text.h"

#include <stdbool.h>

enum { FEW_RUNS = 2, MAX_RUNS = 8 /* of one condition */ };

/* Behind the run of consecutive values that begins at values[at]. */
static int end_of_run(cz_index_set set, int at)
{
    int end = at + 1;

    while (end < set.n_values && set.values[end] == set.values[end - 1] + 1)
        end++;
    return end;
}

static int count_runs(cz_index_set set)
{
    int n = 0;

    for (int at = 0; at < set.n_values; at = end_of_run(set, at))
        n++;
    return n;
}

static void put_run(cz_text *out, int first, int last, int n, const char *name)
{
    if (first == last)
        cz_text_printf(out, "%s == %d", name, first);
    else if (first == 0)
        cz_text_printf(out, "%s < %d", name, last + 1);
    else if (last == n - 1)
        cz_text_printf(out, "%s >= %d", name, first);
    else
        cz_text_printf(out, "%s >= %d and %s < %d", name, first, name,
                       last + 1);
}

static void put_runs(cz_text *out, cz_index_set set, const char *name)
{
    int n_put = 0;

    for (int at = 0, end; at < set.n_values; at = end, n_put++) {
        end = end_of_run(set, at);
        if (n_put > 0)
            cz_text_puts(out, n_put % MAX_RUNS == 0 ? "\n" : " or ");
        put_run(out, set.values[at], set.values[end - 1], set.n, name);
    }
}

/* The period p of { r, r + p, r + 2 p, ... } below n with r < p; 0: the set is
 * no such thing. */
static int period_of(cz_index_set set)
{
    const int *values = set.values;
    const int period = set.n_values > 1 ? values[1] - values[0] : 0;

    if (period < 2 || values[0] >= period ||
        values[set.n_values - 1] + period < set.n)
        return 0;
    for (int i = 1; i < set.n_values; i++)
        if (values[i] - values[i - 1] != period)
            return 0;
    return period;
}

static bool put_period(cz_text *out, cz_index_set set, const char *name,
                       const char *relation)
{
    const int period = period_of(set);

    if (period > 0)
        cz_text_printf(out, "%s - %d * floor(%s / %d) %s %d", name, period,
                       name, period, relation, set.values[0]);
    return period > 0;
}

cz_index_set cz_index_set_complement(cz_arena *arena, cz_index_set set)
{
    int *values = CZ_NEW(arena, int, set.n - set.n_values + 1);
    int n_values = 0, at = 0;

    for (int i = 0; i < set.n; i++) {
        if (at < set.n_values && set.values[at] == i)
            at++;
        else
            values[n_values++] = i;
    }
    return (cz_index_set){values, n_values, set.n};
}

const char *cz_condition_text(cz_arena *arena, cz_index_set set,
                              const char *name)
{
    cz_text out = {0};

    if (set.n_values == set.n)
        return "";
    if (count_runs(set) <= FEW_RUNS)
        put_runs(&out, set, name);
    else if (!put_period(&out, set, name, "==") &&
             !put_period(&out, cz_index_set_complement(arena, set), name, "!="))
        put_runs(&out, set, name);
    const char *text = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}
