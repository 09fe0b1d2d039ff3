/* A turn is the place of a parameter's name, without its indices, among those
 * of its group in order of bytes, and to that the values of its indices.  Those
 * that ranks may share out have no say, whether or not they do here. */
#include "frontend/program/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct named {
    const char *name; /* pattern */
    int use, choice;
} named;

static int by_name(const void *left, const void *right)
{
    const named *a = left, *b = right;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->choice > b->choice) - (a->choice < b->choice);
}

static cz_ints indices_of(cz_arena *arena, const cz_choice *choice)
{
    const cz_pattern pattern =
        cz_storage_view_pattern(&choice->pattern, choice->view);
    int64_t *indices = CZ_NEW(arena, int64_t, CZ_MAX_INDICES);
    int n = 0;
    for (int i = 0; i < pattern.n_indices; i++)
        if (!(pattern.partitioned >> i & 1))
            indices[n++] = i;
    return (cz_ints){indices, n};
}

static bool is_staggered(const cz_fact_event *events, int n, const char *rule)
{
    for (int i = 0; i < n; i++)
        if (events[i].stagger && strcmp(events[i].rule, rule) == 0)
            return true;
    return false;
}

void cz_stagger_emit(cz_ir *ir, cz_arena *arena, const cz_choices *choices)
{
    int n_events, n;
    const cz_fact_event *events = cz_ir_read_event(ir, arena, &n_events);
    const cz_fact_pattern *facts = cz_ir_read_pattern(ir, arena, &n);
    /* [choices] the place of each one's name among those of its use. */
    named *list = CZ_NEW(arena, named, choices->n + 1);
    int64_t *places = CZ_NEW(arena, int64_t, choices->n + 1);
    for (int i = 0; i < choices->n; i++)
        list[i] = (named){facts[i].name, choices->list[i].use, i};
    qsort(list, (size_t)choices->n, sizeof *list, by_name);
    for (int i = 1; i < choices->n; i++)
        places[list[i].choice] =
            list[i].use != list[i - 1].use
                ? 0
                : places[list[i - 1].choice] +
                      (strcmp(list[i].name, list[i - 1].name) != 0);
    for (int i = 0; i < choices->n; i++)
        if (is_staggered(events, n_events, facts[i].rule))
            cz_ir_add_stagger(
                ir, &(cz_fact_stagger){facts[i].sym_name, places[i],
                                       indices_of(arena, &choices->list[i])});
}
