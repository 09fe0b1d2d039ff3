/* Bounds of the busiest rank's time, and of what ranks send. */
#include "passes/bound/time_bounds.h"

#include "dsl/base/checked.h"
#include "passes/bound/packing_bound.h"
#include "passes/cost/time.h"
#include "passes/cost/wire.h"
#include "passes/grid/owned.h"

typedef struct finder {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_stage_time *times;
    const cz_forms *forms;
} finder;

/* What one rank takes for matrices of a class. */
static const cz_stage_time *owner_of(const finder *f, int class)
{
    const int rule = f->forms->classes[class].rule;
    return &f->times[cz_rule_stages_find(f->view, rule).full_matrix];
}

static int64_t n_matrices(const cz_view_pattern *pattern)
{
    return pattern->n_params * pattern->expert_extent;
}

/* ---- the least work ---- */

/* Of all parameters of a pattern: elements that one or two stages see, and what
 * matrices take besides. */
typedef struct work {
    int64_t elements;
    int stages[2]; /* -1: none */
    int64_t full_matrix_ps;
} work;

static work work_of(const finder *f, int pattern)
{
    const cz_view_pattern *of = &f->view->patterns[pattern];
    const cz_rule_stages stages = cz_rule_stages_find(f->view, of->rule);
    const int class = f->forms->class_of[pattern];
    const int64_t elements =
        cz_time_limit((cz_wide)of->elements * n_matrices(of));
    if (class < 0)
        return (work){elements, {stages.local, -1}, 0};
    const cz_wide least =
        cz_form_least_work(&f->forms->classes[class], owner_of(f, class));
    return (work){elements,
                  {stages.before, stages.after},
                  cz_time_limit(least * n_matrices(of))};
}

/* Rounded down: how elements are cut is not known. */
static int64_t elements_ps(const finder *f, int stage, int64_t elements)
{
    if (stage < 0)
        return 0;
    return cz_time_limit((cz_wide)elements * f->times[stage].time_ps /
                         CZ_TIMED_ELEMENTS);
}

/* ---- bounds over some ranks ---- */

/* Families, and the ranks that have them. */
typedef struct place {
    const cz_fact_pattern *residents; /* NULL: all patterns */
    int64_t n_ranks;
} place;

static bool is_of(const finder *f, const place *at, int pattern)
{
    return !at->residents ||
           cz_view_same_residents(at->residents,
                                  f->view->patterns[pattern].fact);
}

static void raise(cz_time_bound *bound, cz_time_bound by)
{
    if (by.value_ps > bound->value_ps)
        *bound = by;
}

/* What they compute at least. */
typedef struct total {
    int64_t full_matrix_ps, elements_ps;
    int param; /* of the pattern with most of it; -1: none */
} total;

/* Elements of a stage are added up before they are rounded. */
static total total_of(const finder *f, const place *at)
{
    total out = {.param = -1};
    int64_t *elements = CZ_NEW(f->arena, int64_t, f->view->n_stages + 1);
    int64_t most = 0;
    for (int i = 0; i < f->view->n_patterns; i++) {
        if (!is_of(f, at, i))
            continue;
        const work w = work_of(f, i);
        int64_t ps = w.full_matrix_ps;
        for (int j = 0; j < 2; j++)
            ps = cz_time_add(ps, elements_ps(f, w.stages[j], w.elements));
        out.full_matrix_ps = cz_time_add(out.full_matrix_ps, w.full_matrix_ps);
        for (int k = 0; k < 2; k++)
            if (w.stages[k] >= 0)
                elements[w.stages[k]] =
                    cz_time_add(elements[w.stages[k]], w.elements);
        if (ps > most)
            out.param = f->view->patterns[i].first_param;
        most = ps > most ? ps : most;
    }
    for (int s = 0; s < f->view->n_stages; s++)
        out.elements_ps =
            cz_time_add(out.elements_ps, elements_ps(f, s, elements[s]));
    return out;
}

static cz_time_bound mean_over(const finder *f, const place *at)
{
    const total of = total_of(f, at);
    return (cz_time_bound){
        .value_ps = cz_ceil_div(cz_time_add(of.full_matrix_ps, of.elements_ps),
                                at->n_ranks),
        .param = of.param,
        .n_ranks = at->n_ranks};
}

static int first_of_class(const finder *f, const place *at, int class)
{
    int pattern = 0;
    while (f->forms->class_of[pattern] != class || !is_of(f, at, pattern))
        pattern++;
    return f->view->patterns[pattern].first_param;
}

static cz_time_bound fit_over(const finder *f, const place *at, int64_t low_ps)
{
    int64_t *counts = CZ_NEW(f->arena, int64_t, f->forms->n_classes);
    for (int i = 0; i < f->view->n_patterns; i++)
        if (f->forms->class_of[i] >= 0 && is_of(f, at, i))
            counts[f->forms->class_of[i]] += n_matrices(&f->view->patterns[i]);
    const cz_stage_time **owners =
        CZ_NEW(f->arena, const cz_stage_time *, f->forms->n_classes);
    for (int c = 0; c < f->forms->n_classes; c++)
        owners[c] = owner_of(f, c);
    const cz_packing_work all = {counts, owners, total_of(f, at).elements_ps,
                                 at->n_ranks};
    const cz_packing_bound found =
        cz_packing_bound_find(f->arena, f->forms, &all, low_ps);
    return (cz_time_bound){
        .value_ps = found.value_ps,
        .param = found.class < 0 ? -1 : first_of_class(f, at, found.class),
        .n_ranks = at->n_ranks,
        .prices = found.prices,
        .elements_price = found.elements};
}

/* ---- places ---- */

static int64_t count_residents(const cz_plan_view *view, int pattern)
{
    int64_t n = 0;
    for (int64_t rank = 0; rank < view->n_ranks; rank++)
        n += cz_view_is_resident(view, pattern, rank);
    return n;
}

/* Whether no pattern before has this one's home. */
static bool is_first_of_home(const cz_plan_view *view, int pattern)
{
    for (int i = 0; i < pattern; i++)
        if (cz_view_same_residents(view->patterns[i].fact,
                                   view->patterns[pattern].fact))
            return false;
    return true;
}

/* All ranks, then residents where that is only some. */
static place *list_places(const finder *f, int *n)
{
    place *places = NULL;
    *n = 0;
    *CZ_PUSH(f->arena, places, *n) = (place){NULL, f->view->n_ranks};
    for (int i = 0; i < f->view->n_patterns; i++) {
        if (!is_first_of_home(f->view, i))
            continue;
        const place some = {f->view->patterns[i].fact,
                            count_residents(f->view, i)};
        if (some.n_ranks < f->view->n_ranks)
            *CZ_PUSH(f->arena, places, *n) = some;
    }
    return places;
}

static void find_largest(cz_time_bounds *out)
{
    for (int k = CZ_TIME_MEAN; k <= CZ_TIME_PACKING; k++)
        if (out->of[k].value_ps > out->of[out->kernels].value_ps)
            out->kernels = (cz_time_bound_kind)k;
}

/* Each place has to raise what is known. */
static void find_fit(const finder *f, const place *places, int n,
                     cz_time_bounds *out)
{
    out->of[CZ_TIME_PACKING] =
        (cz_time_bound){.param = -1, .n_ranks = f->view->n_ranks};
    for (int i = 0; i < n; i++) {
        find_largest(out);
        raise(&out->of[CZ_TIME_PACKING],
              fit_over(f, &places[i], out->of[out->kernels].value_ps));
    }
    find_largest(out);
}

/* ---- the others ---- */

static void find_links(const finder *f, const cz_machine *machine,
                       cz_time_bounds *out)
{
    static const cz_time_bound_kind kinds[CZ_N_LINKS] = {
        [CZ_LINK_NODE] = CZ_TIME_NODE, [CZ_LINK_NETWORK] = CZ_TIME_NETWORK};
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_wire_bounds_find(f->view, machine, bounds);
    for (int link = 0; link < CZ_N_LINKS; link++) {
        const int pattern = bounds[link].pattern;
        out->of[kinds[link]] = (cz_time_bound){
            .value_ps = bounds[link].rank_ps,
            .param = pattern < 0 ? -1 : f->view->patterns[pattern].first_param,
            .n_ranks = f->view->n_ranks,
            .bytes = bounds[link].bytes};
    }
}

const char *cz_time_bound_name(cz_time_bound_kind kind)
{
    static const char *const names[CZ_TIME_N_BOUNDS] = {
        [CZ_TIME_MEAN] = "mean",
        [CZ_TIME_LARGEST] = "item",
        [CZ_TIME_PACKING] = "fit",
        [CZ_TIME_NODE] = "node",
        [CZ_TIME_NETWORK] = "network"};
    return names[kind];
}

bool cz_time_bound_is_of_links(cz_time_bound_kind kind)
{
    return kind == CZ_TIME_NODE || kind == CZ_TIME_NETWORK;
}

cz_time_bounds cz_time_bounds_find(cz_arena *arena, const cz_plan_view *view,
                                   const cz_machine *machine,
                                   const cz_stage_time *times,
                                   const cz_forms *forms)
{
    cz_time_bounds out = {.kernels = CZ_TIME_MEAN};
    const finder f = {arena, view, times, forms};
    int n;
    const place *places = list_places(&f, &n);
    out.of[CZ_TIME_MEAN] = mean_over(&f, &places[0]);
    for (int i = 1; i < n; i++)
        raise(&out.of[CZ_TIME_MEAN], mean_over(&f, &places[i]));
    cz_time_bound bound = {.param = -1};
    for (int c = 0; c < f.forms->n_classes; c++) {
        const cz_form_class *of = &f.forms->classes[c];
        int64_t subgroup_size;
        const int64_t ps =
            cz_form_least_time(of, owner_of(&f, c), &subgroup_size);
        raise(&bound,
              (cz_time_bound){
                  .value_ps = ps,
                  .param = f.view->patterns[of->first_pattern].first_param,
                  .n_ranks = subgroup_size});
    }
    out.of[CZ_TIME_LARGEST] = bound;
    find_fit(&f, places, n, &out);
    find_links(&f, machine, &out);
    return out;
}
