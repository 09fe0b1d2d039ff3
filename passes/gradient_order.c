/* Gradients in order: runs of layers, layers, parameters, all backwards. */
#include "passes/gradient_order.h"

#include <stdlib.h>
#include <string.h>

enum { NO_LAYER = -1 };

typedef struct key {
    int run;   /* the first family of it */
    int layer; /* NO_LAYER: it has none */
    int param;
} key;

/* Bytes of a pattern before its first index; SIZE_MAX: it has none. */
static size_t index_in(const char *pattern)
{
    const char *index = strchr(pattern, '{');
    return index ? (size_t)(index - pattern) : SIZE_MAX;
}

/* The first family of each family's run. */
static int *find_runs(cz_arena *scratch, const cz_plan_view *view)
{
    int *run_of = CZ_NEW(scratch, int, view->n_families + 1);
    int *runs = CZ_NEW(scratch, int, view->n_families + 1);
    int n = 0;
    for (int f = 0; f < view->n_families; f++) {
        const char *pattern = view->families[f].fact->pattern;
        const size_t at = index_in(pattern);
        int i = at == SIZE_MAX ? n : 0;
        while (i < n && strncmp(view->families[runs[i]].fact->pattern, pattern,
                                at + 1) != 0)
            i++;
        run_of[f] = i < n ? runs[i] : f;
        if (i == n && at != SIZE_MAX)
            runs[n++] = f;
    }
    return run_of;
}

static key key_of(const cz_plan_view *view, const int *run_of, int param)
{
    const cz_view_param *p = &view->params[param];
    const size_t at = index_in(view->families[p->family].fact->pattern);
    return (key){run_of[p->family],
                 at == SIZE_MAX ? NO_LAYER : atoi(p->name + at), param};
}

static int compare(int a, int b)
{
    return (a < b) - (a > b);
}

static int backwards(const void *left, const void *right)
{
    const key *a = left, *b = right;
    int order = compare(a->run, b->run);
    if (order == 0)
        order = compare(a->layer, b->layer);
    return order != 0 ? order : compare(a->param, b->param);
}

void cz_gradient_order(cz_arena *scratch, const cz_plan_view *view, int *params,
                       int n)
{
    const int *run_of = find_runs(scratch, view);
    key *keys = CZ_NEW(scratch, key, n + 1);
    for (int i = 0; i < n; i++)
        keys[i] = key_of(view, run_of, params[i]);
    if (n > 0)
        qsort(keys, (size_t)n, sizeof *keys, backwards);
    for (int i = 0; i < n; i++)
        params[i] = keys[i].param;
}
