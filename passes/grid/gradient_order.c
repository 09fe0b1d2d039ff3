/* Places of parameters in the backward pass. */
#include "passes/grid/gradient_order.h"

#include <stdlib.h>
#include <string.h>

typedef struct sorted {
    int block; /* the first parameter that has the prefix, or itself */
    int64_t layer;
    int param;
} sorted;

typedef struct prefix {
    const char *text;
    size_t n;
    int block;
} prefix;

/* The first segment of digits alone, or the end. */
static const char *find_layer(const char *name)
{
    for (const char *at = name; *at; at++) {
        const size_t digits = strspn(at, "0123456789");
        const bool begins = at == name || at[-1] == '.';
        if (begins && digits > 0 && (at[digits] == '.' || !at[digits]))
            return at;
    }
    return name + strlen(name);
}

static int find_block(cz_arena *arena, prefix **known, int *n, const char *text,
                      size_t length, int param)
{
    for (int i = *n - 1; i >= 0; i--)
        if ((*known)[i].n == length &&
            memcmp((*known)[i].text, text, length) == 0)
            return (*known)[i].block;
    *CZ_PUSH(arena, *known, *n) = (prefix){text, length, param};
    return param;
}

/* By falling place: what is defined last comes first. */
static int backwards(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    if (a->block != b->block)
        return (a->block < b->block) - (a->block > b->block);
    if (a->layer != b->layer)
        return (a->layer < b->layer) - (a->layer > b->layer);
    return (a->param < b->param) - (a->param > b->param);
}

int *cz_gradient_order(cz_arena *arena, const cz_plan_view *view)
{
    sorted *list = CZ_NEW(arena, sorted, view->n_params + 1);
    int *place = CZ_NEW(arena, int, view->n_params + 1);
    prefix *known = NULL;
    int n_known = 0;
    for (int p = 0; p < view->n_params; p++) {
        const char *name = view->params[p].name, *layer = find_layer(name);
        list[p] = (sorted){p, 0, p};
        if (!*layer)
            continue;
        list[p].block = find_block(arena, &known, &n_known, name,
                                   (size_t)(layer - name), p);
        list[p].layer = strtoll(layer, NULL, 10);
    }
    if (view->n_params > 0)
        qsort(list, (size_t)view->n_params, sizeof *list, backwards);
    for (int i = 0; i < view->n_params; i++)
        place[list[i].param] = i;
    return place;
}
