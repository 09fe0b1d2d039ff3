/* What a model must be as a whole, once its parameters are known. */
#include "frontend/model/internal.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "frontend/model/model.h"

enum { MAX_NAMED = 3 };

typedef struct checker {
    cz_arena *arena;
    const cz_mesh *mesh;
    cz_diags *diags;
    cz_model *model;
    bool failed;
} checker;

/* ---- names ---- */

static void check_apart(checker *c, const cz_pattern *a, const cz_pattern *b)
{
    if (!cz_pattern_overlaps(a, b))
        return;
    cz_diag_error(c->diags, CZ_DUPLICATE_NAME, b->node->span,
                  "parameter %s is defined twice",
                  cz_pattern_first_name(c->arena, b));
    cz_diag_note(c->diags, a->node->span, "first here");
    c->failed = true;
}

static void check_names(checker *c)
{
    const cz_model *model = c->model;
    for (int i = 0; i < model->n; i++)
        for (int k = 0; k < i; k++)
            check_apart(c, &model->patterns[k], &model->patterns[i]);
    for (int i = 0; i < model->n_ties; i++) {
        for (int k = 0; k < model->n; k++)
            check_apart(c, &model->patterns[k], &model->ties[i].names);
        for (int k = 0; k < i; k++)
            check_apart(c, &model->ties[k].names, &model->ties[i].names);
    }
}

/* ---- ties ---- */

/* The pattern's number, or -1. */
static int find_target(const cz_model *model, const cz_tie *tie, int64_t *index)
{
    for (int i = 0; i < model->n; i++)
        if (cz_tie_finds(tie, &model->patterns[i], index))
            return i;
    return -1;
}

/* The tie whose alias has that name, or NULL. */
static const cz_tie *find_alias(checker *c, const cz_pattern *name)
{
    const char *text = cz_pattern_first_name(c->arena, name);
    for (int i = 0; i < c->model->n_ties; i++)
        if (strcmp(cz_pattern_first_name(c->arena, &c->model->ties[i].names),
                   text) == 0)
            return &c->model->ties[i];
    return NULL;
}

static void check_tie(checker *c, const cz_tie *tie)
{
    const cz_node *path = cz_tie_target_path(tie->names.node);
    const int target = find_target(c->model, tie, NULL);
    if (target >= 0 && !c->model->patterns[target].frozen)
        return;
    c->failed = true;
    if (target >= 0) {
        cz_diag_error(c->diags, CZ_UNSUPPORTED, path->span,
                      "a tie to a frozen parameter is not supported yet");
        return;
    }
    const cz_pattern *near = cz_suggest_pattern(c->arena, path, c->model);
    const cz_tie *other = find_alias(c, &tie->target);
    cz_diag_error(c->diags, CZ_UNKNOWN_NAME, path->span,
                  "no parameter is called '%s'",
                  cz_pattern_first_name(c->arena, &tie->target));
    if (other)
        cz_diag_note(c->diags, other->names.node->span,
                     "it is a tie itself: both are tied to '%s'",
                     cz_pattern_first_name(c->arena, &other->target));
    else if (near)
        cz_diag_note(c->diags, path->span, "the nearest is '%s'",
                     cz_pattern_first_name(c->arena, near));
}

static void check_ties(checker *c)
{
    for (int i = 0; i < c->model->n_ties; i++)
        check_tie(c, &c->model->ties[i]);
}

/* ---- stages ---- */

static void add_pattern(checker *c, const cz_pattern *pattern)
{
    if (c->model->n < CZ_MAX_PATTERNS) {
        *CZ_PUSH(c->arena, c->model->patterns, c->model->n) = *pattern;
        return;
    }
    if (!c->failed)
        cz_diag_error(c->diags, CZ_TOO_LARGE, pattern->node->span,
                      "more than %d patterns of parameters", CZ_MAX_PATTERNS);
    c->failed = true;
}

/* A parameter lives wherever one of its names does. */
static void join_homes(checker *c, const cz_tie *tie)
{
    int64_t index[CZ_MAX_INDICES];
    const int target = find_target(c->model, tie, index);
    const uint64_t residents = c->model->patterns[target].residents;
    if ((residents | tie->names.residents) == residents || residents == 0)
        return;
    /* Cut the member at `index` out of pattern `target`: the others become
     * patterns behind all. */
    for (int k = 0; k < c->model->patterns[target].n_indices; k++) {
        const cz_pattern all = c->model->patterns[target];
        cz_pattern rest = all;
        rest.extents[k] = index[k] - all.first[k];
        if (rest.extents[k] > 0)
            add_pattern(c, &rest);
        rest.first[k] = index[k] + 1;
        rest.extents[k] = all.first[k] + all.extents[k] - rest.first[k];
        if (rest.extents[k] > 0)
            add_pattern(c, &rest);
        c->model->patterns[target].first[k] = index[k];
        c->model->patterns[target].extents[k] = 1;
    }
    c->model->patterns[target].residents |= tie->names.residents;
}

static bool is_homeless(const cz_pattern *pattern)
{
    return !pattern->frozen && pattern->residents == 0;
}

/* One complaint for all of them. */
static void check_homes(checker *c)
{
    const cz_pattern *list = c->model->patterns;
    const cz_node *named = NULL;
    int64_t n = 0, n_named = 0;
    for (int i = 0; i < c->model->n; i++)
        n += is_homeless(&list[i]) ? cz_pattern_count(&list[i]) : 0;
    if (n == 0)
        return;
    c->failed = true;
    for (int i = 0; i < c->model->n && n_named < MAX_NAMED; i++) {
        if (!is_homeless(&list[i]) || list[i].node == named)
            continue;
        named = list[i].node;
        if (n_named++ == 0)
            cz_diag_error(c->diags, CZ_NO_STAGE, named->span,
                          "pp = %lld, and no stage is said for %lld of the "
                          "parameters",
                          (long long)cz_mesh_stages(c->mesh), (long long)n);
        cz_diag_note(c->diags, named->span,
                     list[i].n_indices > 0
                         ? "%s, for one: deal its index out with "
                           "`[i < n/pp]`, or write `stage first` or `stage "
                           "last` behind it"
                         : "%s, for one: write `stage first` or `stage last` "
                           "behind it",
                     cz_pattern_first_name(c->arena, &list[i]));
    }
}

static void check_stages(checker *c)
{
    if (cz_mesh_stages(c->mesh) == 1)
        return;
    for (int i = 0; i < c->model->n_ties && !c->failed; i++)
        join_homes(c, &c->model->ties[i]);
    if (!c->failed)
        check_homes(c);
}

/* ---- sizes ---- */

static void too_large(checker *c, cz_span span, const char *what, int limit)
{
    cz_diag_error(c->diags, CZ_TOO_LARGE, span, "more than %d %s", limit, what);
    c->failed = true;
}

static void count(checker *c)
{
    cz_model *model = c->model;
    for (int i = 0; i < model->n && !c->failed; i++) {
        const cz_pattern *pattern = &model->patterns[i];
        const int64_t n = cz_pattern_count(pattern);
        int64_t elements;
        model->n_params += n;
        if (n == 0 || n > CZ_MAX_PARAMS || model->n_params > CZ_MAX_PARAMS)
            too_large(c, pattern->node->span, "parameters", CZ_MAX_PARAMS);
        else if (!cz_checked_mul(n, cz_pattern_numel(pattern), &elements) ||
                 !cz_checked_add(model->n_elements, elements,
                                 &model->n_elements))
            too_large(c, pattern->node->span, "bits in the count of elements",
                      63);
    }
}

bool cz_model_check(cz_model *model, cz_arena *arena, const cz_mesh *mesh,
                    cz_diags *diags)
{
    checker c = {arena, mesh, diags, model, false};
    static void (*const checks[])(checker * c) = {check_names, check_ties,
                                                  count, check_stages};
    for (size_t i = 0; i < sizeof checks / sizeof *checks && !c.failed; i++)
        checks[i](&c);
    return !c.failed;
}
