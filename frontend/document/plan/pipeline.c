/* Stages of a pipeline in the report: layers, elements, load. */
#include "frontend/document/plan/pipeline.h"

#include "frontend/document/number.h"

#include <inttypes.h>
#include <string.h>

typedef struct stage_facts {
    int n_layers;     /* values of the first index that is dealt out */
    int64_t elements; /* logical, of all parameters that it has */
    cz_summary flops; /* of its ranks */
} stage_facts;

enum { LABEL_WIDTH = 11 };

static int64_t pipeline_axes(const cz_plan_view *view)
{
    return cz_view_named_set(view, "pp");
}

/* The stage of one coordinate of a pattern's home. */
static int64_t stage_at(const cz_plan_view *view,
                        const cz_fact_pattern *pattern, int64_t coordinate)
{
    int64_t storage[CZ_VIEW_MAX_AXES], own[CZ_VIEW_MAX_AXES];
    const cz_ints stages = cz_view_axes_of(view, pipeline_axes(view), storage);
    const cz_ints axes = cz_view_axes_of(view, pattern->resident_axes, own);
    return cz_view_coordinate(view, &stages,
                              cz_view_rank_at(view, &axes, coordinate, 0));
}

int64_t cz_report_n_stages(const cz_plan_view *view)
{
    return cz_view_set_extent(view, pipeline_axes(view));
}

bool cz_report_is_staged(const cz_plan_view *view,
                         const cz_fact_pattern *pattern)
{
    return (pattern->resident_axes & pipeline_axes(view)) != 0;
}

bool cz_report_has_stage(const cz_plan_view *view,
                         const cz_fact_pattern *pattern, int64_t stage)
{
    for (int i = 0; i < pattern->residents.n; i++)
        if (stage_at(view, pattern, pattern->residents.v[i]) == stage)
            return true;
    return !cz_report_is_staged(view, pattern);
}

/* What stands in front of the index, as in "model.layers.{0}.norm". */
static size_t prefix_of(const cz_fact_pattern *pattern)
{
    const char *index = strstr(pattern->name, "{0}");
    return index ? (size_t)(index - pattern->name) : 0;
}

/* The first pattern that is dealt out names what layers are called. */
static const cz_fact_pattern *first_dealt(const cz_plan_view *view)
{
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_fact_pattern *fact = view->patterns[f].fact;
        if (cz_report_is_staged(view, fact) && prefix_of(fact) > 0)
            return fact;
    }
    return NULL;
}

static bool is_layer(const cz_fact_pattern *pattern,
                     const cz_fact_pattern *named)
{
    return named && prefix_of(pattern) == prefix_of(named) &&
           memcmp(pattern->name, named->name, prefix_of(named)) == 0;
}

static int count_layers(cz_arena *arena, const cz_plan_view *view,
                        int64_t stage)
{
    const cz_fact_pattern *named = first_dealt(view);
    int64_t end = 0;
    int n = 0;
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_fact_pattern *fact = view->patterns[f].fact;
        if (is_layer(fact, named) &&
            fact->first.v[0] + fact->extents.v[0] > end)
            end = fact->first.v[0] + fact->extents.v[0];
    }
    bool *seen = CZ_NEW(arena, bool, end);
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_fact_pattern *fact = view->patterns[f].fact;
        const bool counts =
            is_layer(fact, named) && cz_report_has_stage(view, fact, stage);
        for (int64_t i = 0; counts && i < fact->extents.v[0]; i++) {
            n += !seen[fact->first.v[0] + i];
            seen[fact->first.v[0] + i] = true;
        }
    }
    return n;
}

static int64_t count_elements(const cz_plan_view *view, int64_t stage)
{
    int64_t elements = 0;
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_view_pattern *pattern = &view->patterns[f];
        if (cz_report_has_stage(view, pattern->fact, stage))
            elements +=
                pattern->elements * pattern->n_params * pattern->expert_extent;
    }
    return elements;
}

/* One per stage, in the arena; *n is 0 where there is no pipeline. */
static stage_facts *list_stages(cz_arena *arena, const cz_plan_view *view,
                                const cz_metrics *metrics, int *n)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_axes_of(view, pipeline_axes(view), storage);
    const int64_t extent = cz_view_extent(view, &axes);
    *n = extent > 1 ? (int)extent : 0;
    stage_facts *stages = CZ_NEW(arena, stage_facts, *n);
    for (int s = 0; s < *n; s++) {
        stages[s].n_layers = count_layers(arena, view, s);
        stages[s].elements = count_elements(view, s);
    }
    for (int rank = 0; *n > 0 && rank < metrics->n_ranks; rank++)
        cz_metrics_add(&stages[cz_view_coordinate(view, &axes, rank)].flops,
                       metrics->ranks[rank].flops);
    return stages;
}

static bool is_alike(const stage_facts *a, const stage_facts *b)
{
    return a->n_layers == b->n_layers && a->elements == b->elements &&
           a->flops.sum == b->flops.sum && a->flops.max == b->flops.max;
}

static void print_stages(const stage_facts *facts, int first, int last,
                         cz_text *out)
{
    cz_text_printf(out, "%-*s ", LABEL_WIDTH, first == 0 ? "stages" : "");
    if (first == last)
        cz_text_printf(out, "%d: ", first);
    else
        cz_text_printf(out, "%d to %d: ", first, last);
    cz_text_printf(
        out, "%d layer%s, %s elements%s; %s on the busiest rank, max/mean %s\n",
        facts->n_layers, facts->n_layers == 1 ? "" : "s",
        cz_number_short(facts->elements, "").text, first == last ? "" : " each",
        cz_number_short(facts->flops.max, "F").text,
        cz_number_ratio(facts->flops.max, facts->flops.n, facts->flops.sum)
            .text);
}

void cz_report_stage_lines(cz_arena *arena, const cz_plan_view *view,
                           const cz_metrics *metrics, cz_text *out)
{
    int n;
    const stage_facts *stages = list_stages(arena, view, metrics, &n);
    for (int first = 0, last; first < n; first = last + 1) {
        last = first;
        while (last + 1 < n && is_alike(&stages[first], &stages[last + 1]))
            last++;
        print_stages(&stages[first], first, last, out);
    }
}
