/* Which parameter follows which use.
 * Two values of an index are alike when every segment of every path matches
 * both or neither.  Runs of alike values cut a family into cells, and one
 * member decides for its cell. */
#include "frontend/choose.h"

#include <stdio.h>

#include "frontend/match.h"
#include "frontend/suggest.h"

enum { NO_USE = -1, MAX_NAMED = 3 };

typedef struct chooser {
    const cz_model *model;
    cz_uses *uses;
    cz_env *globals;
    cz_diags *diags;
    cz_choices *out;
    bool stopped; /* a limit was reached */
} chooser;

static cz_arena *arena_of(const chooser *c)
{
    return c->globals->arena;
}

/* ---- cells ---- */

static bool path_tells_apart(const cz_node *path, const char *a, const char *b)
{
    for (int i = 0; i < path->n_kids; i++) {
        const cz_node *segment = path->kids[i];
        if (segment->kind == CZ_AST_SEGMENT &&
            cz_match_segment(segment, a) != cz_match_segment(segment, b))
            return true;
    }
    return false;
}

static bool are_alike(const chooser *c, const char *a, const char *b)
{
    for (int i = 0; i < c->uses->n; i++) {
        const cz_node *paths = c->uses->list[i].node->kids[1];
        for (int k = 0; k < paths->n_kids; k++)
            if (path_tells_apart(paths->kids[k], a, b))
                return false;
    }
    return true;
}

static void print_value(char *out, size_t n, int64_t value)
{
    snprintf(out, n, "%lld", (long long)value);
}

/* The first value at or behind `from` that is not like `from`. */
static int64_t run_end(const chooser *c, int64_t from, int64_t end)
{
    char first[24], other[24];
    print_value(first, sizeof first, from);
    for (int64_t value = from + 1; value < end; value++) {
        print_value(other, sizeof other, value);
        if (!are_alike(c, first, other))
            return value;
    }
    return end;
}

/* ---- one cell ---- */

static void bind_shape(cz_env *env, const cz_family *family)
{
    const bool swap = family->transposed;
    const int64_t rows = family->shape[swap ? 1 : 0];
    const int64_t cols = family->n_dims == 2 ? family->shape[swap ? 0 : 1] : 1;
    cz_env_bind(env, "ndim", cz_value_int(family->n_dims));
    cz_env_bind(env, "rows", cz_value_int(rows));
    cz_env_bind(env, "cols", cz_value_int(cols));
    cz_env_bind(env, "numel", cz_value_int(cz_family_numel(family)));
}

static bool condition_holds(chooser *c, cz_use *use, const cz_family *family)
{
    bool holds = true;
    cz_env env;
    const cz_node *condition = cz_node_kid(use->node, 2);
    if (!condition || use->broken)
        return true;
    cz_env_init(&env, arena_of(c), c->globals);
    bind_shape(&env, family);
    if (!cz_eval_bool(condition, &env, c->diags, &holds))
        use->broken = true;
    return holds;
}

static bool path_matches(const cz_use *use, const char *const *words, int n)
{
    const cz_node *paths = use->node->kids[1];
    for (int i = 0; i < paths->n_kids; i++)
        if (cz_match_path(paths->kids[i], words, n))
            return true;
    return false;
}

/* Every use learns whether it matches; the first one takes the cell. */
static int choose(chooser *c, const cz_family *cell)
{
    const char *words[CZ_MAX_WORDS];
    int chosen = NO_USE;
    cz_family_words(arena_of(c), cell, cell->first, words);
    for (int i = 0; i < c->uses->n; i++) {
        cz_use *use = &c->uses->list[i];
        if (!path_matches(use, words, cell->n_words))
            continue;
        use->matches_path = true;
        if (!condition_holds(c, use, cell))
            continue;
        use->matches = true;
        if (chosen == NO_USE) {
            use->taken = true;
            chosen = i;
        }
    }
    return chosen;
}

/* Grow an earlier cell of the same family by this one. */
static bool extend(cz_choices *out, int start, const cz_family *cell, int use)
{
    for (int i = out->n - 1; i >= start; i--) {
        cz_family *old = &out->list[i].family;
        for (int k = 0; k < cell->n_indices; k++)
            if (out->list[i].use == use &&
                old->first[k] + old->extents[k] == cell->first[k] &&
                cz_family_is_alike(old, cell, k)) {
                old->extents[k] += cell->extents[k];
                return true;
            }
    }
    return false;
}

static void take(chooser *c, int start, const cz_family *cell)
{
    const int use = choose(c, cell);
    if (extend(c->out, start, cell, use))
        return;
    if (c->out->n == CZ_MAX_FAMILIES) {
        cz_diag_error(c->diags, CZ_TOO_LARGE, cell->node->span,
                      "paths cut the parameters into more than %d families",
                      CZ_MAX_FAMILIES);
        c->stopped = true;
        return;
    }
    *CZ_PUSH(arena_of(c), c->out->list, c->out->n) = (cz_choice){*cell, use};
}

/* All cells of `family` whose indices below `k` are fixed in `cell`. */
static void cut(chooser *c, int start, const cz_family *family, cz_family *cell,
                int k)
{
    if (k == family->n_indices) {
        take(c, start, cell);
        return;
    }
    const int64_t end = family->first[k] + family->extents[k];
    for (int64_t from = family->first[k]; from < end && !c->stopped;) {
        const int64_t to = run_end(c, from, end);
        cell->first[k] = from;
        cell->extents[k] = to - from;
        cut(c, start, family, cell, k + 1);
        from = to;
    }
}

/* ---- what is wrong ---- */

static void report_nothing(chooser *c, const cz_use *use)
{
    const cz_node *path = use->node->kids[1]->kids[0];
    const cz_family *near = cz_suggest_family(arena_of(c), path, c->model);
    if (use->matches_path) {
        cz_diag_error(c->diags, CZ_MATCHES_NOTHING, use->node->kids[2]->span,
                      "this holds for no parameter that '%s' matches",
                      path->text);
        return;
    }
    cz_diag_error(c->diags, CZ_MATCHES_NOTHING, path->span,
                  "no parameter matches '%s'", path->text);
    if (near)
        cz_diag_note(c->diags, path->span, "the nearest is '%s'%s",
                     cz_family_first_name(arena_of(c), near),
                     near->frozen ? ", which is frozen" : "");
}

static void check_uses(chooser *c)
{
    for (int i = 0; i < c->uses->n; i++) {
        const cz_use *use = &c->uses->list[i];
        if (use->broken)
            continue;
        if (!use->matches)
            report_nothing(c, use);
        else if (!use->taken)
            cz_diag_warning(c->diags, CZ_NEVER_CHOSEN, use->node->span,
                            "every parameter that '%s' matches follows an "
                            "earlier use",
                            use->node->kids[1]->kids[0]->text);
    }
}

static void check_covered(chooser *c, cz_span model_place)
{
    int64_t n = 0;
    int n_named = 0;
    for (int i = 0; i < c->out->n; i++)
        if (c->out->list[i].use == NO_USE)
            n += cz_family_count(&c->out->list[i].family);
    if (n == 0)
        return;
    cz_diag_error(c->diags, CZ_UNCOVERED, model_place,
                  "no use covers %lld of the parameters", (long long)n);
    for (int i = 0; i < c->out->n && n_named < MAX_NAMED; i++) {
        const cz_choice *choice = &c->out->list[i];
        if (choice->use != NO_USE)
            continue;
        n_named++;
        cz_diag_note(c->diags, choice->family.node->span, "%s, for one",
                     cz_family_first_name(arena_of(c), &choice->family));
    }
}

static bool check_dims(chooser *c, const cz_use *use, const cz_family *family)
{
    const int n_dims = use->signature.n_dims;
    if (n_dims < 0 || n_dims == family->n_dims)
        return true;
    cz_diag_error(c->diags, CZ_SHAPE_MISMATCH,
                  use->node->kids[1]->kids[0]->span,
                  "%s is for %d dimension%s, and %s has %d",
                  use->rule.optimizer->text, n_dims, n_dims == 1 ? "" : "s",
                  cz_family_first_name(arena_of(c), family), family->n_dims);
    cz_diag_note(c->diags, use->node->kids[1]->kids[0]->span,
                 "`where ndim == %d` leaves it to a later use", n_dims);
    return false;
}

/* Storage that holds several matrices: only `whole` sees one. */
static bool check_view(chooser *c, const cz_use *use, const cz_family *family)
{
    if (!family->blocks || use->signature.n_dims < 0 ||
        cz_node_has(use->node, CZ_FLAG_WHOLE))
        return true;
    cz_diag_error(c->diags, CZ_UNSUPPORTED, use->node->span,
                  "%s stores several matrices: views of them are not "
                  "supported yet",
                  cz_family_first_name(arena_of(c), family));
    return false;
}

/* One complaint per use. */
static void check_choices(chooser *c)
{
    for (int i = 0; i < c->out->n; i++) {
        const cz_choice *choice = &c->out->list[i];
        cz_use *use = choice->use < 0 ? NULL : &c->uses->list[choice->use];
        if (!use || use->broken)
            continue;
        use->broken = !check_dims(c, use, &choice->family) ||
                      !check_view(c, use, &choice->family);
    }
}

void cz_choose(const cz_model *model, cz_uses *uses, cz_span model_place,
               cz_env *globals, cz_diags *diags, cz_choices *out)
{
    chooser c = {model, uses, globals, diags, out, false};
    *out = (cz_choices){0};
    for (int i = 0; i < model->n && !c.stopped; i++) {
        cz_family cell = model->families[i];
        if (cell.frozen)
            continue;
        cut(&c, out->n, &model->families[i], &cell, 0);
    }
    if (c.stopped)
        return;
    check_uses(&c);
    check_covered(&c, model_place);
    check_choices(&c);
}
