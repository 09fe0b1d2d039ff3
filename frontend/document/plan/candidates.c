/* Why matrices are not updated in other ways. */
#include "frontend/document/plan/candidates.h"

#include <string.h>

#include "passes/cost/gradient_gather.h"
#include "passes/cost/time.h"
#include "passes/grid/owned.h"

/* Of buffers, where the schedule names no cap. */
#define DEFAULT_CAP ((int64_t)1 << 30)

/* One way, alone: kernels, then links. */
typedef struct way {
    int64_t group, time_ps, link_ps, wire_bytes;
} way;

int64_t cz_candidates_spare(const cz_plan_view *view, const cz_metrics *metrics)
{
    const double gathered = (double)cz_gradient_gather_bytes(view);
    if (strcmp(view->policy->tp_strategy, "auto") != 0)
        return INT64_MAX;
    return (int64_t)(gathered * view->policy->wire) -
           metrics->sent[CZ_STEP_TRANSFER].sum -
           metrics->sent[CZ_STEP_GROUP_SUM].sum;
}

static int64_t alone_ps(const way *w)
{
    return cz_time_add(w->time_ps, w->link_ps);
}

/* An owner's kernels are a batch's, as in the plan. */
static way way_of(const cz_plan_view *view, const cz_stage_time *times,
                  const cz_form_class *of, const cz_form *form)
{
    const int whole = cz_rule_stages_find(view, of->rule).whole;
    return (way){form->group,
                 form->group == 1 ? times[whole].time_ps : form->time_ps[0],
                 form->link_ps, form->wire_bytes};
}

/* Of forms of one group from `first` on the last, which is what is executed:
 * what can be dealt out is.  *end: behind them. */
static const cz_form *executed(const cz_form_class *of, int first, int *end)
{
    const cz_form *form = &of->forms[first];
    *end = first + 1;
    while (form->obstacle == CZ_FORM_POSSIBLE && *end < of->n_forms &&
           of->forms[*end].group == form->group &&
           of->forms[*end].obstacle == CZ_FORM_POSSIBLE)
        form = &of->forms[(*end)++];
    return form;
}

/* What the plan does. */
static way chosen_way(const cz_plan_view *view, const cz_stage_time *times,
                      const cz_form_class *of, int param)
{
    way w = {view->params[param].group, cz_matrix_time(view, times, param), 0,
             0};
    for (int i = 0; i < of->n_forms; i++) {
        const cz_form *form = &of->forms[i];
        if (form->obstacle == CZ_FORM_POSSIBLE && form->group == w.group) {
            w.link_ps = form->link_ps;
            w.wire_bytes = form->wire_bytes;
        }
    }
    return w;
}

static const char *why_not(const cz_plan_view *view, const cz_form *form,
                           int64_t spare_bytes, const way *other,
                           const way *chosen)
{
    const int64_t asked = view->policy->group_bytes;
    if (!form->is_admitted)
        return "the schedule asks for another";
    if (form->staging_bytes > (asked > 0 ? asked : DEFAULT_CAP))
        return "its buffers are beyond the cap";
    if (alone_ps(other) >= alone_ps(chosen))
        return "slower by itself";
    if (other->wire_bytes - chosen->wire_bytes > spare_bytes)
        return "`wire` does not let matrices send as much";
    if ((cz_wide)other->group * other->time_ps >
        (cz_wide)chosen->group * chosen->time_ps)
        return "more work in all";
    return "no better for the whole plan";
}

static cz_candidate candidate_of(const cz_plan_view *view,
                                 const cz_stage_time *times,
                                 const cz_form_class *of, const cz_form *form,
                                 int64_t spare_bytes, const way *chosen)
{
    const int whole = cz_rule_stages_find(view, of->rule).whole;
    const bool is_owner = form->form == CZ_SUBGROUP_OWNER;
    const way other = way_of(view, times, of, form);
    cz_candidate out = {
        is_owner ? "owner" : "gram",          form->group, -1, -1, false,
        cz_form_obstacle_text(form->obstacle)};
    if (form->obstacle != CZ_FORM_POSSIBLE)
        return out;
    out.time_ps = other.time_ps;
    out.wire_bytes = form->wire_bytes;
    out.is_measured =
        is_owner ? times[whole].is_measured : form->is_measured[0];
    out.why = why_not(view, form, spare_bytes, &other, chosen);
    return out;
}

cz_candidate *cz_candidates_find(cz_arena *arena, const cz_plan_view *view,
                                 const cz_stage_time *times,
                                 const cz_forms *forms, int64_t spare_bytes,
                                 int param, int *n)
{
    const cz_form_class *of =
        &forms->classes[forms->class_of[view->params[param].family]];
    const way chosen = chosen_way(view, times, of, param);
    cz_candidate *list = NULL;
    *n = 0;
    *CZ_PUSH(arena, list, *n) = (cz_candidate){
        "local", 1, -1, -1, false, "the update needs the whole matrix"};
    for (int i = 0, end; i < of->n_forms; i = end) {
        const cz_form *form = executed(of, i, &end);
        if (form->obstacle == CZ_FORM_POSSIBLE && form->group == chosen.group)
            continue;
        *CZ_PUSH(arena, list, *n) =
            candidate_of(view, times, of, form, spare_bytes, &chosen);
    }
    return list;
}
