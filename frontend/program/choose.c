/* Which parameter follows which use.
 * Two values of an index are alike when every segment of every path matches
 * both or neither.  Runs of alike values cut a pattern into cells, and one
 * member decides for its cell. */
#include "frontend/program/internal.h"

#include <assert.h>
#include <stdio.h>

#include "frontend/names/match.h"
#include "frontend/model/model.h"

enum { NO_USE = -1, MAX_NAMED = 3 };

/* Members that every use treats alike, and who takes which part of them. */
typedef struct cell {
    cz_pattern pattern;
    struct taken {
        cz_storage_view view;
        int use;
    } * views;
    int n;
    int grads; /* clause of the policy */
} cell;

typedef struct chooser {
    const cz_model *model;
    cz_uses *uses;
    const cz_policy *policy;
    const cz_mesh *mesh;
    cz_env *globals;
    cz_diags *diags;
    cz_choices *out;
    cell *cells;
    int n_cells, n_parts;
    bool stopped; /* a limit was reached */
} chooser;

static cz_arena *arena_of(const chooser *c)
{
    return c->globals->arena;
}

/* ---- cells ---- */

static bool are_alike(const chooser *c, const char *a, const char *b)
{
    for (int i = 0; i < c->uses->n; i++)
        if (cz_match_tells_apart(cz_use_paths(c->uses->list[i].node), a, b))
            return false;
    for (int i = 1; i < c->policy->n_grads; i++)
        if (cz_match_tells_apart(c->policy->grads[i].paths, a, b))
            return false;
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

static bool condition_holds(chooser *c, cz_use *use, const cz_pattern *pattern)
{
    bool holds = true;
    cz_env env;
    const cz_node *condition = cz_use_condition(use->node);
    if (!condition || use->broken)
        return true;
    cz_env_init(&env, arena_of(c), c->globals);
    const int last = pattern->n_dims - 1;
    const int64_t outer = last > 0 ? pattern->shape[last - 1] : 1;
    const int64_t inner = pattern->shape[last];
    const bool swap = pattern->transposed || last == 0;
    const int64_t rows = swap ? inner : outer;
    const int64_t cols = swap ? outer : inner;
    cz_env_bind(&env, "ndim", cz_value_int(pattern->n_dims));
    cz_env_bind(&env, "rows", cz_value_int(rows));
    cz_env_bind(&env, "cols", cz_value_int(cols));
    cz_env_bind(&env, "numel", cz_value_int(cz_pattern_numel(pattern)));
    if (use->rule.index)
        cz_env_bind(&env, use->rule.index->text, cz_value_int(use->rule.value));
    if (!cz_eval_bool(condition, &env, c->diags, &holds))
        use->broken = true;
    return holds;
}

/* The pieces of one cell while uses take them. */
typedef struct pieces {
    int n;
    int *use;   /* that took each, or NO_USE */
    bool *each; /* every repetition is a matrix of its own */
    int whole;  /* the use that took the tensor as it is, or NO_USE */
    bool batch; /* that use took each matrix of a batch */
    bool taken; /* something was */
} pieces;

/* Element-wise rules see no pieces. */
static bool sees_whole(const cz_use *use)
{
    return cz_node_has(use->node, CZ_FLAG_WHOLE) ||
           (!use->broken && use->signature.n_dims < 0);
}

/* Rules for matrices see each matrix of a batch. */
static bool sees_batch(const cz_use *use, const cz_pattern *pattern)
{
    return pattern->n_dims > 2 && !use->broken && use->signature.n_dims >= 0;
}

/* A use that sees the tensor as one takes it, unless an earlier use took a
 * piece: then it takes what is left, piece by piece, as any other. */
static bool offer_whole(chooser *c, const cz_pattern *pattern, int number,
                        pieces *p)
{
    cz_use *use = &c->uses->list[number];
    const cz_storage_view view = {
        .strip = -1, .repeat = -1, .batch = sees_batch(use, pattern)};
    const cz_pattern seen = cz_storage_view_pattern(pattern, view);
    if (!condition_holds(c, use, &seen))
        return false;
    use->matches = true;
    if (p->taken)
        return true;
    use->taken = p->taken = true;
    p->whole = number;
    p->batch = view.batch;
    return false;
}

static void offer_pieces(chooser *c, const cz_pattern *pattern, int number,
                         pieces *p)
{
    cz_use *use = &c->uses->list[number];
    const bool each = cz_node_has(use->node, CZ_FLAG_EACH) && !sees_whole(use);
    for (int i = 0; i < p->n; i++) {
        const cz_storage_view view = {
            .strip = i, .repeat = each ? 0 : -1, .batch = pattern->n_dims > 2};
        const cz_pattern seen = cz_storage_view_pattern(pattern, view);
        if (!condition_holds(c, use, &seen))
            continue;
        use->matches = true;
        if (p->whole != NO_USE || p->use[i] != NO_USE)
            continue;
        use->taken = p->taken = true;
        p->use[i] = number;
        p->each[i] = each;
    }
}

static void add_part(chooser *c, cell *out, cz_storage_view view, int use)
{
    if (c->n_parts++ >= CZ_MAX_PATTERNS) {
        if (!c->stopped)
            cz_diag_error(c->diags, CZ_TOO_LARGE, out->pattern.node->span,
                          "paths and views cut the parameters into more than "
                          "%d patterns",
                          CZ_MAX_PATTERNS);
        c->stopped = true;
        return;
    }
    *CZ_PUSH(arena_of(c), out->views, out->n) = (struct taken){view, use};
}

/* What a use took, or each of the tiles that it cuts that to. */
static void add_tiles(chooser *c, cell *out, cz_storage_view view, int number)
{
    cz_use *use = number == NO_USE ? NULL : &c->uses->list[number];
    int64_t grid[2] = {1, 1};
    if (use && !use->broken)
        cz_tile_grid(&out->pattern, view, use->tile, grid);
    if (grid[0] == 1 && grid[1] == 1) {
        add_part(c, out, view, number);
        return;
    }
    if (!cz_tile_is_mapped(&out->pattern, view, use->tile)) {
        assert(out->pattern.blocks);
        const cz_strip *piece = &out->pattern.blocks->strips[view.strip];
        cz_diag_error(
            c->diags, CZ_UNSUPPORTED, cz_use_tiles(use->node)->span,
            "tiles of %lld rows that cut repetitions of %lld rows, as "
            "those of '%s' in %s are, are not supported yet",
            (long long)use->tile, (long long)piece->size, piece->name,
            cz_pattern_first_name(arena_of(c), &out->pattern));
        cz_diag_note(c->diags, cz_use_tiles(use->node)->span,
                     "one has to divide the other; `view each tiles` and "
                     "`view whole tiles` cut other matrices");
        use->broken = true;
        return;
    }
    view.tile = use->tile;
    for (view.at[0] = 0; view.at[0] < grid[0] && !c->stopped; view.at[0]++)
        for (view.at[1] = 0; view.at[1] < grid[1] && !c->stopped; view.at[1]++)
            add_part(c, out, view, number);
}

/* What became of the pieces, in order. */
static void list_parts(chooser *c, cell *out, const pieces *p)
{
    const cz_blocks *blocks = out->pattern.blocks;
    const int64_t n = blocks ? blocks->n : 0;
    const bool batch = out->pattern.n_dims > 2;
    if (p->whole != NO_USE || !p->taken) {
        const cz_storage_view view = {
            .strip = -1, .repeat = -1, .batch = p->batch};
        add_tiles(c, out, view, p->whole);
        return;
    }
    for (int i = 0; i < p->n && !c->stopped; i++) {
        cz_storage_view view = {.strip = i, .repeat = -1, .batch = batch};
        if (!p->each[i])
            add_tiles(c, out, view, p->use[i]);
        else
            for (view.repeat = 0; view.repeat < n && !c->stopped; view.repeat++)
                add_tiles(c, out, view, p->use[i]);
    }
}

static bool same_parts(const cell *a, const cell *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!cz_storage_view_equal(&a->views[i].view, &b->views[i].view) ||
            a->views[i].use != b->views[i].use)
            return false;
    return true;
}

/* The last clause about gradients that matches; 0: that of all others. */
static int choose_grads(chooser *c, const cz_pattern *pattern)
{
    const char *words[CZ_MAX_WORDS];
    int chosen = 0;
    cz_pattern_words(arena_of(c), pattern, pattern->first, words);
    for (int i = 1; i < c->policy->n_grads; i++)
        if (cz_match_paths(c->policy->grads[i].paths, words, pattern->n_words))
            chosen = i;
    return chosen;
}

/* Grow an earlier cell of the same pattern by this one. */
static bool extend(chooser *c, int start, const cell *by)
{
    const cz_pattern *pattern = &by->pattern;
    for (int i = c->n_cells - 1; i >= start; i--) {
        cz_pattern *old = &c->cells[i].pattern;
        for (int k = 0; k < pattern->n_indices; k++)
            if (old->first[k] + old->extents[k] == pattern->first[k] &&
                cz_pattern_is_alike(old, pattern, k) &&
                c->cells[i].grads == by->grads &&
                same_parts(&c->cells[i], by)) {
                old->extents[k] += pattern->extents[k];
                c->n_parts -= by->n;
                return true;
            }
    }
    return false;
}

static void take(chooser *c, int start, const cz_pattern *pattern)
{
    const int n = pattern->blocks ? pattern->blocks->n_strips : 0;
    pieces p = {n,
                CZ_NEW(arena_of(c), int, n),
                CZ_NEW(arena_of(c), bool, n),
                NO_USE,
                false,
                false};
    cell made = {.pattern = *pattern, .grads = choose_grads(c, pattern)};
    for (int i = 0; i < n; i++)
        p.use[i] = NO_USE;
    /* Every use learns whether it matches; the first one takes a part. */
    const char *words[CZ_MAX_WORDS];
    cz_pattern_words(arena_of(c), pattern, pattern->first, words);
    for (int i = 0; i < c->uses->n; i++) {
        cz_use *use = &c->uses->list[i];
        if (!cz_match_paths(cz_use_paths(use->node), words, pattern->n_words))
            continue;
        const bool by_piece = p.n > 0 && !sees_whole(use);
        if (by_piece || (offer_whole(c, pattern, i, &p) && p.n > 0))
            offer_pieces(c, pattern, i, &p);
    }
    list_parts(c, &made, &p);
    if (!c->stopped && !extend(c, start, &made))
        *CZ_PUSH(arena_of(c), c->cells, c->n_cells) = made;
}

static void cut(chooser *c, int start, const cz_pattern *pattern,
                cz_pattern *some, int k);

/* All cells of `pattern` whose indices below `k` are fixed in `some`. */
static void cut(chooser *c, int start, const cz_pattern *pattern,
                cz_pattern *some, int k)
{
    if (k == pattern->n_indices) {
        take(c, start, some);
        return;
    }
    const int64_t end = pattern->first[k] + pattern->extents[k];
    for (int64_t from = pattern->first[k]; from < end && !c->stopped;) {
        const int64_t to = run_end(c, from, end);
        if (to < end && some->expert_axes && k == some->expert_index) {
            /* Index k, which ranks share out, coordinate by coordinate. */
            const int64_t n = cz_mesh_extent(c->mesh, pattern->expert_axes);
            for (int64_t share = 0; share < n && !c->stopped; share++) {
                cz_pattern all = *pattern, view = *some;
                all.extents[k] = pattern->extents[k] / n;
                all.first[k] = pattern->first[k] + share * all.extents[k];
                view.held_axes = pattern->expert_axes;
                view.held_at = share;
                view.expert_axes = 0;
                view.expert_index = 0;
                cut(c, start, &all, &view, k);
            }
            return;
        }
        some->first[k] = from;
        some->extents[k] = to - from;
        cut(c, start, pattern, some, k + 1);
        from = to;
    }
}

/* ---- what is wrong ---- */

static bool check_paths(chooser *c, const cz_node *paths)
{
    return cz_paths_check(arena_of(c), c->diags, paths, c->model, false);
}

/* The use, with what those of other values of its index matched and took. */
static cz_use with_others(const chooser *c, int number)
{
    cz_use use = c->uses->list[number];
    for (int i = 0; use.rule.index && i < c->uses->n; i++) {
        const cz_use *other = &c->uses->list[i];
        if (other->rule.index == use.rule.index) {
            use.matches |= other->matches;
            use.taken |= other->taken;
        }
    }
    return use;
}

/* What such a use matches is not known. */
static bool any_broken(const cz_uses *uses)
{
    bool any = false;
    for (int i = 0; i < uses->n; i++)
        any = any || uses->list[i].broken;
    return any;
}

static void check_uses(chooser *c)
{
    for (int i = 0; i < c->uses->n; i++) {
        const cz_use whole = with_others(c, i), *use = &whole;
        const cz_node *paths = cz_use_paths(use->node);
        if (use->broken || !check_paths(c, paths))
            continue;
        if (!use->matches)
            cz_diag_error(c->diags, CZ_MATCHES_NOTHING,
                          cz_use_condition(use->node)->span,
                          "this holds for no parameter that '%s' matches",
                          cz_item(paths, 0)->text);
        else if (!use->taken && !any_broken(c->uses))
            cz_diag_warning(c->diags, CZ_NEVER_CHOSEN, use->node->span,
                            "every parameter that '%s' matches follows an "
                            "earlier use",
                            cz_item(paths, 0)->text);
    }
}

static void check_covered(chooser *c, cz_span model_place)
{
    int64_t n = 0;
    int n_named = 0;
    for (int i = 0; i < c->out->n; i++)
        if (c->out->list[i].use == NO_USE)
            n += cz_pattern_count(&c->out->list[i].pattern);
    if (n == 0)
        return;
    cz_diag_error(c->diags, CZ_UNCOVERED, model_place,
                  "no use covers %lld of the parameters", (long long)n);
    for (int i = 0; i < c->out->n && n_named < MAX_NAMED; i++) {
        const cz_choice *choice = &c->out->list[i];
        if (choice->use != NO_USE)
            continue;
        n_named++;
        cz_diag_note(c->diags, choice->pattern.node->span, "%s%s, for one",
                     cz_pattern_first_name(arena_of(c), &choice->pattern),
                     cz_storage_view_suffix(arena_of(c), &choice->pattern,
                                            choice->view));
    }
}

static bool check_dims(chooser *c, const cz_use *use, const cz_pattern *pattern)
{
    const int n_dims = use->signature.n_dims;
    if (n_dims < 0 || n_dims == pattern->n_dims)
        return true;
    cz_diag_error(c->diags, CZ_SHAPE_MISMATCH,
                  cz_item(cz_use_paths(use->node), 0)->span,
                  "%s is for %d dimension%s, and %s has %d",
                  use->rule.optimizer->text, n_dims, n_dims == 1 ? "" : "s",
                  cz_pattern_first_name(arena_of(c), pattern), pattern->n_dims);
    cz_diag_note(c->diags, cz_item(cz_use_paths(use->node), 0)->span,
                 "`where ndim == %d` leaves it to a later use", n_dims);
    return false;
}

/* Rows so short are those of a convolution's kernel, and of no matrix. */
enum { MOST_OF_KERNEL = 7 };

static bool is_batch_of_kernels(const cz_choice *choice)
{
    const cz_pattern *pattern = &choice->pattern;
    return choice->view.batch &&
           pattern->shape[pattern->n_dims - 1] <= MOST_OF_KERNEL;
}

static void warn_of_kernels(chooser *c, const cz_choice *choice)
{
    const cz_pattern *pattern = &choice->pattern;
    const long long n = pattern->shape[0], rows = pattern->shape[1],
                    columns = pattern->shape[2];
    cz_diag_warning(c->diags, CZ_BATCH_OF_KERNELS, pattern->node->span,
                    "%s is a batch of %lld matrices of %lld x %lld",
                    cz_pattern_first_name(arena_of(c), pattern), n, rows,
                    columns);
    cz_diag_note(c->diags, pattern->node->span,
                 "`view matrix` behind it makes it one of %lld x %lld", n,
                 rows * columns);
}

/* One complaint per use. */
static void check_choices(chooser *c)
{
    for (int i = 0; i < c->out->n; i++)
        if (is_batch_of_kernels(&c->out->list[i]))
            warn_of_kernels(c, &c->out->list[i]);
    for (int i = 0; i < c->out->n; i++) {
        const cz_choice *choice = &c->out->list[i];
        cz_use *use = choice->use < 0 ? NULL : &c->uses->list[choice->use];
        if (!use || use->broken)
            continue;
        const cz_pattern seen =
            cz_storage_view_pattern(&choice->pattern, choice->view);
        use->broken = !check_dims(c, use, &seen);
    }
}

void cz_choose(const cz_model *model, cz_uses *uses, const cz_policy *policy,
               const cz_mesh *mesh, cz_span model_place, cz_env *globals,
               cz_diags *diags, cz_choices *out)
{
    chooser c = {.model = model,
                 .uses = uses,
                 .policy = policy,
                 .mesh = mesh,
                 .globals = globals,
                 .diags = diags,
                 .out = out};
    *out = (cz_choices){0};
    cz_tiles_read(uses, globals, diags);
    for (int i = 0; i < model->n && !c.stopped; i++) {
        cz_pattern some = model->patterns[i];
        if (!some.frozen)
            cut(&c, c.n_cells, &model->patterns[i], &some, 0);
    }
    if (c.stopped)
        return;
    /* The parts of all cells, one behind the other. */
    for (int i = 0; i < c.n_cells; i++)
        for (int k = 0; k < c.cells[i].n; k++) {
            const struct taken *taken = &c.cells[i].views[k];
            *CZ_PUSH(arena_of(&c), c.out->list, c.out->n) =
                (cz_choice){c.cells[i].pattern, taken->view, taken->use,
                            c.cells[i].grads, i};
        }
    check_uses(&c);
    for (int i = 1; i < c.policy->n_grads; i++)
        check_paths(&c, c.policy->grads[i].paths);
    check_covered(&c, model_place);
    check_choices(&c);
}
