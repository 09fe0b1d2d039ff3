/* Frequencies of phases, and means over them. */
#include "dsl/plan/frequency.h"

#include "dsl/plan/box.h"

/* Bytes of a whole period need more than 64 bits. */
__extension__ typedef __int128 wide;

static cz_frequency mean_update(const cz_view_rule *rule)
{
    cz_frequency f = {.divisor = 1, .counts = {1}};
    uint32_t phases[CZ_MAX_PHASES];

    for (int p = 0; p < rule->n_phases; p++)
        phases[p] = rule->phases[p].fires;
    if (rule->n_phases > 0)
        f.divisor = cz_events_counts(rule->events, rule->n_events, phases,
                                     rule->n_phases, f.counts);
    return f;
}

static cz_frequency updates_of_turn(const cz_view_rule *rule,
                                    int64_t stagger_offset, int64_t n)
{
    cz_frequency f = {.divisor = 1};

    for (int64_t t = 1; t <= n; t++)
        f.counts[cz_view_phase_at(rule, stagger_offset, t)]++;
    return f;
}

static cz_frequency first_updates(cz_arena *arena, const cz_view_rule *rule,
                                  int64_t n)
{
    const int64_t n_offsets = cz_events_n_offsets(rule->events, rule->n_events);
    cz_frequency *offsets = CZ_NEW(arena, cz_frequency, n_offsets);
    cz_frequency f = {
        .divisor = n_offsets, .n_offsets = n_offsets, .offsets = offsets};

    if (n_offsets == 1)
        return updates_of_turn(rule, 0, n);
    for (int64_t stagger_offset = 0; stagger_offset < n_offsets;
         stagger_offset++) {
        offsets[stagger_offset] = updates_of_turn(rule, stagger_offset, n);
        for (int p = 0; p < CZ_MAX_PHASES; p++)
            f.counts[p] += offsets[stagger_offset].counts[p];
    }
    return f;
}

cz_frequency *cz_frequencies(cz_arena *arena, const cz_plan_view *view,
                             int64_t n_updates)
{
    cz_frequency *all = CZ_NEW(arena, cz_frequency, view->n_rules + 1);

    for (int r = 0; r < view->n_rules; r++)
        all[r] = n_updates >= 0
                     ? first_updates(arena, &view->rules[r], n_updates)
                     : mean_update(&view->rules[r]);
    return all;
}

static int64_t times_of(const cz_frequency *f, int64_t phases)
{
    int64_t times = 0;

    for (int p = 0; p < CZ_MAX_PHASES && phases >> p; p++)
        times += phases >> p & 1 ? f->counts[p] : 0;
    return times;
}

static const cz_frequency *frequency_of(const cz_plan_view *view,
                                        const cz_frequency *frequencies,
                                        int64_t param)
{
    const cz_view_param *p = &view->params[param];
    const cz_frequency *f = &frequencies[view->patterns[p->pattern].rule];

    return f->n_offsets ? &f->offsets[p->stagger_offset % f->n_offsets] : f;
}

int64_t cz_frequency_moved(const cz_plan_view *view,
                           const cz_frequency *frequencies,
                           const cz_view_transfer_entry *rows, int64_t first,
                           int64_t end, int64_t self, bool is_recv)
{
    int64_t moved = 0;

    for (int64_t i = first; i < end;) {
        const int64_t param = rows[i].param;
        const cz_frequency *f = frequency_of(view, frequencies, param);
        wide bytes = 0;
        for (; i < end && rows[i].param == param; i++)
            if (rows[i].is_recv == is_recv &&
                cz_view_has_member(&rows[i], self))
                bytes += (wide)(rows[i].n_rows * rows[i].row_bytes) *
                         (rows[i].n_peers - cz_view_has_peer(&rows[i], self)) *
                         times_of(f, rows[i].phases);
        moved += (int64_t)((bytes + f->divisor - 1) / f->divisor);
    }
    return moved;
}

int64_t cz_frequency_slot_bytes(const cz_plan_view *view,
                                const cz_frequency *frequencies,
                                const cz_view_stage *stage, cz_slot_kind kind,
                                int64_t elements)
{
    const cz_frequency *f = &frequencies[stage->rule];
    wide bytes = 0;

    for (int i = 0; i < stage->n_in + stage->n_out; i++) {
        const cz_view_slot *slot =
            i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
        if (slot->kind == kind)
            bytes += (wide)(elements * cz_dtype_bytes(slot->dtype)) *
                     times_of(f, cz_view_slot_phases(view, stage->rule, kind,
                                                     slot->index));
    }
    return (int64_t)((bytes + f->divisor - 1) / f->divisor);
}
