/* Predicted times for people. */
#include "frontend/report/predict.h"

#include "frontend/document/number.h"
#include "passes/place/compare.h"
#include "passes/bound/time_bounds.h"

#include <inttypes.h>

enum { LABEL = 12, NAME = 38, N_COLUMNS = 40 }; /* widths */

static void put_source(const cz_plan_view *view, cz_text *out)
{
    const cz_fact_machine *machine = view->machine;
    int measured = 0;
    for (int i = 0; i < machine->measured.n; i++)
        measured += machine->measured.v[i] != 0;
    cz_text_printf(out, "%*sof kernels on %s: ", LABEL, "", machine->name);
    if (measured == 0)
        cz_text_puts(out, "all constants are assumed");
    else
        cz_text_printf(out, "%d of %d constants are measured", measured,
                       machine->constants.n);
    if (view->n_timings > 0)
        cz_text_printf(out, ", %d times of matrices are measured",
                       view->n_timings);
    cz_text_puts(out, "\n");
}

static void put_witness(const cz_plan_view *view, const cz_time_bounds *bounds,
                        cz_text *out)
{
    const cz_time_bound *bound = &bounds->of[bounds->kernels];
    if (bounds->kernels == CZ_TIME_MEAN)
        cz_text_printf(out, "least work over %" PRId64 " ranks",
                       bound->n_ranks);
    else if (bounds->kernels == CZ_TIME_ITEM)
        cz_text_printf(out, "%s on %" PRId64 " rank%s",
                       view->params[bound->param].name, bound->n_ranks,
                       bound->n_ranks == 1 ? "" : "s");
    else
        cz_text_printf(out, "pieces of matrices do not fit %" PRId64 " ranks",
                       bound->n_ranks);
}

static int64_t longest(const int64_t *times, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = times[i] > most ? times[i] : most;
    return most;
}

/* What gathers and scatters make of it. */
static void put_groupings(const cz_compared *of, int n_ranks, cz_text *out)
{
    for (int g = 0; g < of->n_groupings; g++) {
        const cz_compared_groups *groups = &of->groupings[g];
        if (g == 0)
            cz_text_printf(out, "%*swith gathers, in groups: ", LABEL, "");
        cz_text_printf(out, "%s%s ", g > 0 ? ", " : "", groups->name);
        cz_number_time(out, longest(groups->time_ps, n_ranks));
    }
    cz_text_puts(out, of->n_groupings > 0 ? "\n" : "");
}

static void put_baselines(cz_arena *arena, const cz_plan_view *view,
                          const cz_stage_time *times, int64_t ours,
                          cz_text *out)
{
    int n;
    const cz_compared *list = cz_compare(arena, view, times, &n);
    for (int i = 0; i < n; i++) {
        const int64_t theirs = longest(list[i].time_ps, view->n_ranks);
        cz_text_printf(out, "%-*s%-*s", LABEL, i == 0 ? "instead of" : "", NAME,
                       list[i].name);
        cz_number_time(out, theirs);
        cz_text_puts(out, ", ");
        cz_number_ratio(out, theirs, 1, ours);
        cz_text_puts(out, " times ours\n");
        put_groupings(&list[i], view->n_ranks, out);
    }
}

void cz_report_predictions(cz_arena *arena, const cz_plan_view *view,
                           cz_bar_style style, cz_text *out)
{
    cz_machine machine;
    if (!cz_machine_of(arena, view, &machine))
        return;
    const cz_stage_time *times = cz_stage_times(arena, view, &machine);
    const int64_t *ranks = cz_rank_times(arena, view, times);
    const cz_rank_load load = cz_rank_load_of(ranks, view->n_ranks);
    const cz_forms forms = cz_forms_find(arena, view, &machine);
    const cz_time_bounds bounds =
        cz_time_bounds_find(arena, view, &machine, times, &forms);
    cz_text_printf(out, "%-*s", LABEL, "time");
    cz_number_time(out, load.mean_ps);
    cz_text_puts(out, " mean, ");
    cz_number_time(out, load.max_ps);
    cz_text_puts(out, " max per rank: max/mean ");
    cz_number_ratio(out, load.max_ps, view->n_ranks, load.sum_ps);
    cz_text_puts(out, "\n");
    const int n = view->n_ranks;
    cz_text_printf(out, "%*s", LABEL, "");
    cz_bars_put(arena, ranks, n, N_COLUMNS, style, out);
    cz_text_printf(out, " %d rank%s%s\n", n, n == 1 ? "" : "s",
                   n == 1 ? "" : ", the busiest first");
    put_source(view, out);
    /* Bounds hold for every plan that the schedule admits. */
    const int64_t max_ps = load.max_ps;
    const cz_time_bound *bound = &bounds.of[bounds.kernels];
    cz_text_printf(out, "%*s", LABEL, "");
    cz_number_ratio(out, max_ps, 1, bound->value_ps);
    cz_text_puts(out, " of the least that any plan takes, ");
    cz_number_time(out, bound->value_ps);
    cz_text_puts(out, ": ");
    put_witness(view, &bounds, out);
    cz_text_puts(out, "\n");
    put_baselines(arena, view, times, load.max_ps, out);
}
