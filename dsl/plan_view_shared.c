/* Shared stages: each segment of a body is a stage of its own. */
#include "dsl/plan_view_stage.h"

#include <string.h>

static int count_segments(const cz_view_stage *stage)
{
    return stage->n_steps ? stage->steps[stage->n_steps - 1].segment + 1 : 1;
}

static bool has_exchanges(const cz_view_stage *stage)
{
    for (int s = 0; s < stage->n_steps; s++)
        if (stage->steps[s].partial || stage->steps[s].deal > 1)
            return true;
    return false;
}

/* Whoever shares the stage takes part in all that is dealt out. */
static bool deals_to(const cz_view_stage *stage, int64_t group)
{
    for (int s = 0; s < stage->n_steps; s++)
        if (stage->steps[s].deal > 1 && stage->steps[s].deal != group)
            return false;
    return true;
}

static bool read_fact(cz_view_builder *b, cz_view_stage *stage,
                      const cz_fact_shared *fact)
{
    stage->shared = fact;
    stage->n_segments = count_segments(stage);
    if (strcmp(fact->stage, stage->fact->sym_name) != 0)
        return cz_view_fail(b, "stage '%s' has no place among shared ones",
                            stage->fact->sym_name);
    if (!deals_to(stage, fact->group))
        return cz_view_fail(b,
                            "stage '%s' deals out rows to other ranks than "
                            "those who share it",
                            stage->fact->sym_name);
    return cz_view_in(b, "shared: group", fact->group, 2, CZ_VIEW_MAX_NUMBER) &&
           cz_view_in(b, "shared: dim", fact->dim, 0, 1) &&
           cz_view_in(b, "shared: segment", fact->segment, 0,
                      stage->n_segments - 1);
}

/* Segments of one body stand behind each other, from the first to the last. */
static bool follows(const cz_view_stage *stage, const cz_view_stage *before)
{
    const cz_fact_shared *own = stage->shared, *last = before->shared;
    const bool ends = !last || last->segment + 1 == before->n_segments;

    if (own && own->segment > 0)
        return last && last->segment + 1 == own->segment &&
               last->group == own->group && last->dim == own->dim &&
               strcmp(before->fact->body, stage->fact->body) == 0;
    return ends;
}

static bool check_order(cz_view_builder *b, const cz_view_stage *stages, int n)
{
    static const cz_view_stage none = {.n_segments = 1};

    for (int i = 0; i <= n; i++)
        if (!follows(i < n ? &stages[i] : &none,
                     i > 0 ? &stages[i - 1] : &none))
            return cz_view_fail(b,
                                "stage '%s' is not followed by its next "
                                "segment",
                                stages[i > 0 ? i - 1 : 0].fact->sym_name);
    return true;
}

bool cz_view_read_shared(cz_view_builder *b, cz_view_stage *stages, int n)
{
    int n_facts, next = 0;
    const cz_fact_shared *facts = cz_ir_read_shared(b->ir, b->arena, &n_facts);

    for (int i = 0; i < n; i++) {
        if (stages[i].where != CZ_WHERE_SHARED) {
            if (count_segments(&stages[i]) > 1 || has_exchanges(&stages[i]))
                return cz_view_fail(
                    b,
                    "stage '%s' has values to exchange, and nobody "
                    "shares it",
                    stages[i].fact->sym_name);
            continue;
        }
        if (next == n_facts)
            return cz_view_fail(b, "stage '%s' does not say who shares it",
                                stages[i].fact->sym_name);
        if (!read_fact(b, &stages[i], &facts[next++]))
            return false;
    }
    if (next < n_facts)
        return cz_view_fail(b, "'%s' is no shared stage", facts[next].stage);
    return check_order(b, stages, n);
}
