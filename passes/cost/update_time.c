/* The longest update, by going through all of them. */
#include "passes/cost/update_time.h"

#include "passes/cost/time.h"

typedef struct timer {
    const cz_plan_view *view;
    const cz_stage_time *times;
    int64_t *offsets; /* [rules] that differ */
    int **phase_of;   /* [rules][turns] at the update looked at */
    int64_t *ranks;   /* [ranks] what each computes then */
    int64_t *sums;    /* [coordinates of a table] */
    int *first;       /* [stages + 1] in counts */
    int64_t *counts;  /* [first[stages]] one of each phase of a stage */
} timer;

static const cz_view_rule *rule_of(const timer *t, int rule)
{
    return &t->view->rules[rule];
}

/* ---- updates ---- */

static bool has_phases(const cz_plan_view *view, const cz_view_stage *stage)
{
    return stage->where == CZ_WHERE_FULL_MATRIX &&
           view->rules[stage->rule].n_phases > 0;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t multiple = a;
    while (multiple < CZ_TIMED_UPDATES && multiple % b != 0)
        multiple += a;
    return multiple < CZ_TIMED_UPDATES ? multiple : CZ_TIMED_UPDATES;
}

static bool find_updates(const cz_plan_view *view, cz_update_time *out)
{
    *out = (cz_update_time){.first = 1, .n = 1};
    bool found = false;
    for (int s = 0; s < view->n_stages; s++) {
        const cz_view_rule *rule = &view->rules[view->stages[s].rule];
        if (!has_phases(view, &view->stages[s]))
            continue;
        const int64_t first = cz_events_steady(rule->events, rule->n_events);
        out->first = first > out->first ? first : out->first;
        out->n = common_multiple(
            out->n, cz_events_period(rule->events, rule->n_events));
        found = true;
    }
    return found;
}

/* ---- one update ---- */

static void choose_phases(const timer *t, int64_t update)
{
    for (int r = 0; r < t->view->n_rules; r++)
        for (int64_t stagger_offset = 0; stagger_offset < t->offsets[r];
             stagger_offset++)
            t->phase_of[r][stagger_offset] =
                cz_view_phase_at(rule_of(t, r), stagger_offset, update);
}

/* How many rows of each phase of each stage, one behind the other from `first`
 * of the stage, an operation has on one coordinate. */
static void count_rows(const timer *t, const cz_view_table *table,
                       int64_t coordinate, bool together)
{
    for (int i = 0; i < t->first[t->view->n_stages]; i++)
        t->counts[i] = 0;
    for (int64_t i = table->starts[coordinate];
         i < table->starts[coordinate + 1]; i++) {
        const cz_view_kernel_entry *row = &table->rows.kernel[i];
        const cz_view_stage *stage = &t->view->stages[row->stage];
        const int64_t stagger_offset =
            together ? 0 : t->view->params[row->param].stagger_offset;
        if (stage->where != CZ_WHERE_FULL_MATRIX)
            continue;
        t->counts[t->first[row->stage] +
                  (stage->n_variants > 0
                       ? t->phase_of[stage->rule]
                                    [stagger_offset % t->offsets[stage->rule]]
                       : 0)]++;
    }
}

static int64_t coordinate_ps(const timer *t)
{
    int64_t sum = 0;
    for (int s = 0; s < t->view->n_stages; s++)
        for (int i = t->first[s]; i < t->first[s + 1]; i++) {
            const cz_stage_time *time = &t->times[s];
            const int64_t *batch_ps =
                time->phase_batch_ps ? time->phase_batch_ps[i - t->first[s]]
                                     : time->batch_ps;
            if (t->counts[i] > 0)
                sum =
                    cz_time_add(sum, cz_time_batches(batch_ps, time->n_batches,
                                                     t->counts[i]));
        }
    return sum;
}

static void add_table(const timer *t, const cz_view_table *table, bool together)
{
    for (int c = 0; c < table->n_coordinates; c++) {
        count_rows(t, table, c, together);
        t->sums[c] = coordinate_ps(t);
    }
    for (int rank = 0; rank < t->view->n_ranks; rank++) {
        const int64_t at =
            cz_view_coordinate(t->view, &table->fact->selector, rank);
        t->ranks[rank] = cz_time_add(t->ranks[rank], t->sums[at]);
    }
}

static bool is_whole(const cz_plan_view *view, const cz_view_op *op)
{
    if (op->table < 0 || view->tables[op->table].kind != CZ_ENTRY_KERNEL)
        return false;
    const cz_view_table *table = &view->tables[op->table];
    const int64_t n = table->starts[table->n_coordinates];
    for (int64_t i = 0; i < n; i++)
        if (view->stages[table->rows.kernel[i].stage].where ==
            CZ_WHERE_FULL_MATRIX)
            return true;
    return false;
}

static int64_t update_ps(const timer *t, bool together)
{
    const cz_plan_view *view = t->view;
    for (int rank = 0; rank < view->n_ranks; rank++)
        t->ranks[rank] = 0;
    for (int o = 0; o < view->n_ops; o++)
        if (is_whole(view, &view->ops[o]))
            add_table(t, &view->tables[view->ops[o].table], together);
    return cz_rank_load_of(t->ranks, view->n_ranks).max_ps;
}

/* ---- all ---- */

static timer make(cz_arena *arena, const cz_plan_view *view,
                  const cz_stage_time *times)
{
    timer t = {view,
               times,
               CZ_NEW(arena, int64_t, view->n_rules + 1),
               CZ_NEW(arena, int *, view->n_rules + 1),
               CZ_NEW(arena, int64_t, view->n_ranks + 1),
               NULL,
               CZ_NEW(arena, int, view->n_stages + 1),
               NULL};
    int most = 0;
    for (int r = 0; r < view->n_rules; r++) {
        t.offsets[r] =
            cz_events_n_offsets(view->rules[r].events, view->rules[r].n_events);
        t.phase_of[r] = CZ_NEW(arena, int, t.offsets[r]);
    }
    for (int i = 0; i < view->n_tables; i++)
        if (view->tables[i].n_coordinates > most)
            most = view->tables[i].n_coordinates;
    t.sums = CZ_NEW(arena, int64_t, most + 1);
    for (int s = 0; s < view->n_stages; s++)
        t.first[s + 1] = t.first[s] + cz_view_n_bodies(&view->stages[s]);
    t.counts = CZ_NEW(arena, int64_t, t.first[view->n_stages] + 1);
    return t;
}

bool cz_update_time_find(cz_arena *arena, const cz_plan_view *view,
                         const cz_stage_time *times, cz_update_time *out)
{
    if (!find_updates(view, out))
        return false;
    const timer t = make(arena, view, times);
    for (int64_t u = out->first; u < out->first + out->n; u++) {
        choose_phases(&t, u);
        const int64_t ps = update_ps(&t, false), all = update_ps(&t, true);
        out->most_ps = ps > out->most_ps ? ps : out->most_ps;
        out->together_ps = all > out->together_ps ? all : out->together_ps;
    }
    return true;
}
