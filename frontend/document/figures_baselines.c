/* Plan JSON to figures: baselines. */
#include "frontend/document/figures_internal.h"

#include "dsl/base/checked.h"

static void read_message(const cz_json_at *at, cz_figures_message *out)
{
    const cz_json_at slices = cz_json_member(at, "slices");
    out->elements = cz_json_number_of(at, "elements", 0, CZ_MAX_BYTES / 4096);
    out->n_slices = -1;
    out->own = cz_json_numbers(&slices, 0, out->elements, &out->n_slices);
}

static bool flag(const cz_json_at *at, const char *key)
{
    if (!cz_json_has(at, key))
        return false;
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_truth(&member);
}

static void read_baseline(cz_plan_reader *r, const cz_json_at *at,
                          cz_figures_baseline *out)
{
    const cz_json_at times = cz_json_member(at, "time_ps");
    const cz_json_at list = cz_json_member(at, "messages");
    out->name = cz_json_word_of(at, "name");
    out->time_ps = cz_json_numbers(&times, 0, CZ_MAX_BYTES, &r->out->n_ranks);
    out->all_reduces = flag(at, "all_reduces");
    out->gathers = flag(at, "gathers");
    out->is_exposed = flag(at, "exposed");
    out->n_messages = cz_json_length(&list);
    cz_figures_message *messages =
        CZ_NEW(r->reading->arena, cz_figures_message, out->n_messages);
    out->messages = messages;
    for (int i = 0; i < out->n_messages && !r->reading->failed; i++) {
        const cz_json_at message = cz_json_element(&list, i);
        read_message(&message, &messages[i]);
    }
}

/* With its matrices in micro-groups: another baseline. */
static void read_groups(cz_plan_reader *r, const cz_json_at *at,
                        const cz_figures_baseline *of, cz_figures_baseline *out)
{
    const cz_json_at times = cz_json_member(at, "time_ps");
    *out = *of;
    out->name = cz_arena_printf(r->reading->arena, "%s, %s", of->name,
                                cz_json_word_of(at, "name"));
    out->time_ps = cz_json_numbers(&times, 0, CZ_MAX_BYTES, &r->out->n_ranks);
}

static void read_all_groups(cz_plan_reader *r, const cz_json_at *baseline,
                            const cz_figures_baseline *of,
                            cz_figures_baseline **list)
{
    if (!cz_json_has(baseline, "groupings"))
        return;
    const cz_json_at groupings = cz_json_member(baseline, "groupings");
    const int n = cz_json_length(&groupings);
    for (int g = 0; g < n && !r->reading->failed; g++) {
        const cz_json_at at = cz_json_element(&groupings, g);
        read_groups(r, &at, of,
                    CZ_PUSH(r->reading->arena, *list, r->out->n_baselines));
    }
}

/* Those without times of their own cannot be simulated, and are left out. */
void cz_plan_read_baselines(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_baseline *out = NULL;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at at = cz_json_element(list, i);
        cz_figures_baseline baseline;
        if (!cz_json_has(&at, "time_ps"))
            continue;
        read_baseline(r, &at, &baseline);
        *CZ_PUSH(r->reading->arena, out, r->out->n_baselines) = baseline;
        read_all_groups(r, &at, &baseline, &out);
    }
    r->out->baselines = out;
}
