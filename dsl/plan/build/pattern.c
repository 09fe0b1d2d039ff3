/* Families of parameters: their shapes, how they are cut to shards, when their
 * staggered events come, and their names; frozen ones; ties. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- uneven shards ---- */

/* What a fact cuts: its shape, and its place among those of its kind. */
typedef struct cut {
    const cz_ints *shape, *shard;
    cz_view_cuts *place;
} cut;

/* Shapes and shards by number; they are not checked yet. */
typedef struct shapes {
    const cz_fact_pattern *patterns;
    const cz_fact_frozen *frozen;
    const cz_fact_storage *storages;
} shapes;

static bool find_cut(cz_view_builder *b, const shapes *all,
                     const cz_fact_uneven *fact, cut *out)
{
    const bool is_pattern = *fact->pattern, is_frozen = *fact->frozen,
               is_storage = *fact->storage;
    const int n_named = is_pattern + is_frozen + is_storage;
    int i;

    if (n_named != 1)
        return cz_view_fail(b, "uneven: names %d things instead of one",
                            n_named);
    if (is_pattern) {
        if (!cz_view_find(b, CZ_FACT_pattern, fact->pattern, &i))
            return false;
        *out = (cut){&all->patterns[i].shape, &all->patterns[i].shard,
                     &b->bounds[i]};
    } else if (is_frozen) {
        if (!cz_view_find(b, CZ_FACT_frozen, fact->frozen, &i))
            return false;
        *out = (cut){&all->frozen[i].shape, &all->frozen[i].shard,
                     &b->frozen_bounds[i]};
    } else {
        if (!cz_view_find(b, CZ_FACT_storage, fact->storage, &i))
            return false;
        *out = (cut){&all->storages[i].shape, &all->storages[i].shard,
                     &b->storage_bounds[i]};
    }
    return true;
}

static int by_first(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

/* Shards are apart, and together the whole dimension. */
static bool check_bounds(cz_view_builder *b, const cz_ints *bounds,
                         int64_t parts, int64_t size)
{
    int64_t end = 0;
    if (bounds->n != 2 * parts)
        return cz_view_fail(b,
                            "uneven: bounds has %d numbers instead of "
                            "%" PRId64,
                            bounds->n, 2 * parts);
    const size_t n = (size_t)parts, pair = 2 * sizeof *bounds->v;
    int64_t *sorted = CZ_NEW(b->arena, int64_t, 2 * parts);
    memcpy(sorted, bounds->v, n * pair);
    qsort(sorted, n, pair, by_first);
    for (size_t i = 0; i < n; i++) {
        const int64_t *shard = sorted + 2 * i;
        if (shard[0] < 0 || shard[0] > shard[1] || shard[1] > size)
            return cz_view_fail(
                b, "uneven: there is no shard [%" PRId64 ", %" PRId64 ")",
                shard[0], shard[1]);
        if (shard[0] == shard[1])
            continue;
        if (shard[0] != end)
            return cz_view_fail(b, "uneven: the shards' %s element %" PRId64,
                                shard[0] < end ? "bounds share" : "bounds lack",
                                shard[0] < end ? shard[0] : end);
        end = shard[1];
    }
    return end == size ||
           cz_view_fail(b, "uneven: the shards' bounds lack element %" PRId64,
                        end);
}

static bool read_uneven(cz_view_builder *b, const shapes *all,
                        const cz_fact_uneven *fact)
{
    cut c = {NULL, NULL, NULL};
    if (!find_cut(b, all, fact, &c))
        return false;
    const int n = c.shape->n < c.shard->n ? c.shape->n : c.shard->n;
    if (!cz_view_in(b, "uneven: dim", fact->dim, 0,
                    (n < CZ_VIEW_MAX_DIMS ? n : CZ_VIEW_MAX_DIMS) - 1))
        return false;
    if (c.place->of[fact->dim])
        return cz_view_fail(b, "uneven: '%s%s%s' is cut twice", fact->pattern,
                            fact->frozen, fact->storage);
    const int64_t parts = cz_view_set_extent(b->view, c.shard->v[fact->dim]);
    if (parts == 1)
        return cz_view_fail(
            b, "uneven: no axes cut dimension %" PRId64 " of '%s%s%s'",
            fact->dim, fact->pattern, fact->frozen, fact->storage);
    c.place->of[fact->dim] = fact->bounds.v;
    return check_bounds(b, &fact->bounds, parts, c.shape->v[fact->dim]);
}

static bool read_all_uneven(cz_view_builder *b)
{
    int n, n_patterns, n_frozen, n_storages;
    const cz_fact_uneven *facts = CZ_VIEW_FACTS(b, uneven, &n);
    const shapes all = {CZ_VIEW_FACTS(b, pattern, &n_patterns),
                        CZ_VIEW_FACTS(b, frozen, &n_frozen),
                        CZ_VIEW_FACTS(b, storage, &n_storages)};

    b->bounds = CZ_NEW(b->arena, cz_view_cuts, n_patterns);
    b->frozen_bounds = CZ_NEW(b->arena, cz_view_cuts, n_frozen);
    b->storage_bounds = CZ_NEW(b->arena, cz_view_cuts, n_storages);
    for (int i = 0; i < n; i++)
        if (!read_uneven(b, &all, &facts[i]))
            return false;
    return true;
}

static int64_t longest_of(const int64_t *bounds, int64_t parts)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < parts; i++)
        if (bounds[2 * i + 1] - bounds[2 * i] > longest)
            longest = bounds[2 * i + 1] - bounds[2 * i];
    return longest;
}

/* ---- shapes ---- */

static bool is_sharded_twice(const cz_ints *shard, int dim)
{
    for (int i = 0; i < dim; i++)
        if (shard->v[i] & shard->v[dim])
            return true;
    return false;
}

/* The largest length of a shard along dimension d. */
static bool read_dimension(cz_view_builder *b, const cz_view_pattern *pattern,
                           int d, int64_t *local)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int64_t parts = cz_view_set_extent(b->view, fact->shard.v[d]);

    if (is_sharded_twice(&fact->shard, d))
        return cz_view_fail(b, "pattern '%s': one axis shards twice",
                            fact->sym_name);
    if (pattern->bounds.of[d]) {
        *local = longest_of(pattern->bounds.of[d], parts);
        return true;
    }
    if (fact->shape.v[d] % parts != 0)
        return cz_view_fail(b,
                            "pattern '%s': its axes do not divide dimension %d",
                            fact->sym_name, d);
    *local = fact->shape.v[d] / parts;
    return true;
}

static bool read_shape(cz_view_builder *b, cz_view_pattern *pattern)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int n = fact->shape.n;
    int64_t local[CZ_VIEW_MAX_DIMS];

    if (!cz_view_in(b, "pattern: rank", n, 1, CZ_VIEW_MAX_DIMS))
        return false;
    pattern->n_dims = n;
    for (int d = 0; d < n; d++)
        if (!read_dimension(b, pattern, d, &local[d]))
            return false;
    if (!cz_checked_product(fact->shape.v, n, &pattern->elements) ||
        pattern->elements > CZ_VIEW_MAX_NUMBER)
        return cz_view_fail(b, "pattern '%s' is too large", fact->sym_name);
    return cz_checked_product(local, n, &pattern->local_elements);
}

/* ---- patterns ---- */

/* Every {i} of the pattern names an index, and every index appears once: else
 * two parameters would have one name. */
static bool check_pattern(cz_view_builder *b, const cz_fact_pattern *pattern)
{
    int seen[CZ_VIEW_MAX_INDICES] = {0};

    for (const char *c = strchr(pattern->name, '{'); c;
         c = strchr(c + 1, '{')) {
        const int i = c[1] - '0';
        if (i < 0 || i >= pattern->extents.n || c[2] != '}' || seen[i]++)
            return cz_view_fail(b,
                                "pattern '%s': the pattern's {} are not its "
                                "%d indices",
                                pattern->sym_name, pattern->extents.n);
    }
    for (int i = 0; i < pattern->extents.n; i++)
        if (!seen[i])
            return cz_view_fail(b, "pattern '%s': the pattern lacks {%d}",
                                pattern->sym_name, i);
    return true;
}

/* How many members there are; `n_others` are taken by others. */
static bool check_indices(cz_view_builder *b, const cz_fact_pattern *pattern,
                          int n_others, int64_t *n_params)
{
    const int n = pattern->extents.n;
    return cz_view_in(b, "pattern: number of indices", n, 0,
                      CZ_VIEW_MAX_INDICES) &&
           check_pattern(b, pattern) &&
           ((cz_checked_product(pattern->extents.v, n, n_params) &&
             *n_params <= CZ_VIEW_MAX_PARAMS - n_others) ||
            cz_view_fail(b, "more than %d parameters", CZ_VIEW_MAX_PARAMS));
}

/* A rule of a shape serves that shape alone. */
static bool check_rule(cz_view_builder *b, const cz_view_pattern *pattern)
{
    const cz_ints *want = &b->view->rules[pattern->rule].fact->shape;
    const cz_ints *have = &pattern->fact->shape;
    const size_t n = (size_t)have->n;
    return want->n == 0 ||
           (want->n == have->n &&
            memcmp(want->v, have->v, n * sizeof *have->v) == 0) ||
           cz_view_fail(b, "pattern '%s' and its rule '%s' differ in shape",
                        pattern->fact->sym_name, pattern->fact->rule);
}

bool cz_view_read_expert_axes(cz_view_builder *b, cz_view_pattern *pattern)
{
    const cz_fact_pattern *fact = pattern->fact;
    int64_t values;

    pattern->expert_extent = 1;
    if (fact->expert_axes == 0)
        return true;
    if (!cz_view_in(b, "pattern: expert_index", fact->expert_index, 0,
                    fact->extents.n - 1))
        return false;
    pattern->expert_extent = cz_view_set_extent(b->view, fact->expert_axes);
    if (fact->expert_axes & cz_view_shard_set_of(&fact->shard))
        return cz_view_fail(b, "pattern '%s': one axis shards and spreads",
                            fact->sym_name);
    return (cz_checked_mul(pattern->expert_extent, pattern->n_params,
                           &values) &&
            values <= CZ_VIEW_MAX_PARAMS) ||
           cz_view_fail(b, "more than %d parameters", CZ_VIEW_MAX_PARAMS);
}

/* Which coordinates of which axes have the pattern: others than those that hold
 * parts of it. */
static bool read_home(cz_view_builder *b, const cz_view_pattern *pattern)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int64_t distinct =
        cz_view_shard_set_of(&fact->shard) | fact->expert_axes;

    if (!cz_view_all_in(b, "pattern: residents", &fact->residents,
                        fact->residents.n, 0,
                        cz_view_set_extent(b->view, fact->resident_axes) - 1))
        return false;
    for (int i = 1; i < fact->residents.n; i++)
        if (fact->residents.v[i] <= fact->residents.v[i - 1])
            return cz_view_fail(b, "pattern '%s': its home does not ascend",
                                fact->sym_name);
    if ((fact->resident_axes == 0) != (fact->residents.n == 0))
        return cz_view_fail(b, "pattern '%s': a home is axes and coordinates",
                            fact->sym_name);
    return !(fact->resident_axes & distinct) ||
           cz_view_fail(b,
                        "pattern '%s': an axis of its home holds parts of it",
                        fact->sym_name);
}

/* How the pattern's gradients are reduced: over axes whose coordinates hold the
 * same elements, all of them on ranks that have it. */
static bool read_reduction(cz_view_builder *b, cz_view_pattern *pattern)
{
    if (!cz_view_find(b, CZ_FACT_reduction, pattern->fact->reduction,
                      &pattern->reduction))
        return false;
    const cz_fact_reduction *reduction =
        &b->view->reductions[pattern->reduction];
    const int64_t distinct = cz_view_shard_set_of(&pattern->fact->shard) |
                             pattern->fact->expert_axes |
                             pattern->fact->resident_axes;
    const cz_ints *const lists[] = {&reduction->reduce_axes,
                                    &reduction->split_axes};

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < lists[k]->n; i++)
            if (distinct >> lists[k]->v[i] & 1)
                return cz_view_fail(b,
                                    "pattern '%s': axis '%s' both reduces or "
                                    "splits and tells elements apart",
                                    pattern->fact->sym_name,
                                    b->view->mesh->axes.v[lists[k]->v[i]]);
    return true;
}

bool cz_view_read_box(cz_view_builder *b, cz_view_pattern *pattern, int *n)
{
    int64_t n_params = 0;
    bool ok = check_indices(b, pattern->fact, *n, &n_params);

    pattern->dtype = pattern->fact->dtype;
    if (!ok || !read_shape(b, pattern))
        return false;
    pattern->first_param = *n;
    pattern->n_params = (int)n_params;
    *n += pattern->n_params;
    return true;
}

/* ---- turns ---- */

/* Values that ranks share out have no say: a turn is that of all ranks. */
static bool check_turn(cz_view_builder *b, const cz_view_pattern *pattern,
                       const cz_fact_stagger *fact)
{
    if (!cz_view_all_in(b, "stagger: indices", &fact->indices, fact->indices.n,
                        0, pattern->fact->extents.n - 1))
        return false;
    for (int i = 0; i < fact->indices.n; i++)
        if ((i > 0 && fact->indices.v[i] <= fact->indices.v[i - 1]) ||
            (pattern->expert_extent > 1 &&
             pattern->fact->expert_index == fact->indices.v[i]))
            return cz_view_fail(
                b,
                "the turns of pattern '%s' are not by ascending "
                "indices that all its ranks have",
                pattern->fact->sym_name);
    return true;
}

/* A fact for each pattern with a rule that is staggered, in their order. */
static bool read_turns(cz_view_builder *b)
{
    int n, next = 0;
    const cz_fact_stagger *facts = CZ_VIEW_FACTS(b, stagger, &n);

    for (int f = 0; f < b->view->n_patterns; f++) {
        cz_view_pattern *pattern = &b->patterns[f];
        const cz_view_rule *rule = &b->rules[pattern->rule];
        if (cz_events_n_offsets(rule->events, rule->n_events) <= 1)
            continue;
        if (next == n || strcmp(facts[next].pattern, pattern->fact->sym_name))
            return cz_view_fail(b, "pattern '%s' lacks its stagger",
                                pattern->fact->sym_name);
        if (!check_turn(b, pattern, &facts[next]))
            return false;
        pattern->stagger = &facts[next++];
    }
    return next == n ||
           cz_view_fail(b, "there are %d turns too many", n - next);
}

/* ---- names ---- */

/* Digits of an index, which is no negative number, from the end backwards;
 * where they begin. */
static char *put_index(char *end, int64_t index)
{
    do
        *--end = (char)('0' + index % 10);
    while ((index /= 10) > 0);
    return end;
}

/* Written backwards, without printf: models have names by the ten thousand, and
 * a view is built for every pass. */
static const char *make_name(cz_arena *arena, const char *pattern,
                             const int64_t *index)
{
    enum { MORE_DIGITS = 20 - 3 }; /* than there are bytes in "{0}" */
    char buffer[CZ_IR_MAX_STRING + MORE_DIGITS * CZ_VIEW_MAX_INDICES];
    char *const end = buffer + sizeof buffer;
    char *start = end;
    for (const char *c = pattern + strlen(pattern); c > pattern; c--)
        if (c[-1] == '}' && c - pattern >= 3 && c[-3] == '{') {
            start = put_index(start, index[c[-2] - '0']);
            c -= 2;
        } else {
            *--start = c[-1];
        }
    return cz_arena_copy(arena, start, (size_t)(end - start));
}

/* The indices of a box's member `number`, row-major. */
static void unrank(const cz_ints *first, const cz_ints *extents, int64_t number,
                   int64_t *index)
{
    for (int i = extents->n - 1; i >= 0; i--) {
        index[i] = first->v[i] + number % extents->v[i];
        number /= extents->v[i];
    }
}

const char **cz_view_names_of(cz_view_builder *b,
                              const cz_view_pattern *pattern, int k)
{
    const cz_fact_pattern *fact = pattern->fact;
    const char **names = CZ_NEW(b->arena, const char *, pattern->expert_extent);
    int64_t index[CZ_VIEW_MAX_INDICES] = {0};

    unrank(&fact->first, &fact->extents, k, index);
    for (int64_t c = 0; c < pattern->expert_extent; c++) {
        names[c] = make_name(b->arena, fact->name, index);
        if (pattern->expert_extent > 1)
            index[fact->expert_index] += fact->extents.v[fact->expert_index];
    }
    return names;
}

/* Of a pattern's member `k`. */
static int64_t turn_of(const cz_view_pattern *pattern, int k)
{
    const cz_fact_stagger *stagger = pattern->stagger;
    int64_t index[CZ_VIEW_MAX_INDICES] = {0}, sum = stagger ? stagger->base : 0;

    unrank(&pattern->fact->first, &pattern->fact->extents, k, index);
    for (int i = 0; stagger && i < stagger->indices.n; i++)
        sum += index[stagger->indices.v[i]];
    return sum;
}

/* The parameters of all patterns. */
static cz_view_param *expand(cz_view_builder *b,
                             const cz_view_pattern *patterns, int n_patterns,
                             int n_params)
{
    cz_view_param *params = CZ_NEW(b->arena, cz_view_param, n_params);
    for (int i = 0; i < n_patterns; i++)
        for (int k = 0; k < patterns[i].n_params; k++) {
            cz_view_param *param = &params[patterns[i].first_param + k];
            param->pattern = i;
            param->names = cz_view_names_of(b, &patterns[i], k);
            param->name = param->names[0];
            param->bucket = -1;
            param->split_owner = param->shard_owner = -1;
            param->subgroup_size = param->stride = 1;
            param->stagger_offset = turn_of(&patterns[i], k);
        }
    return params;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_names(cz_view_builder *b)
{
    const cz_plan_view *view = b->view;
    const char **names = NULL;
    int n = 0;

    for (int i = 0; i < view->n_params; i++)
        for (int64_t c = 0;
             c < view->patterns[view->params[i].pattern].expert_extent; c++)
            *CZ_PUSH(b->arena, names, n) = view->params[i].names[c];
    for (int i = 0; i < view->n_frozen_params; i++)
        *CZ_PUSH(b->arena, names, n) = view->frozen_params[i].name;
    for (int t = 0; t < view->n_ties; t++)
        for (int i = 0; i < view->ties[t].n_names; i++)
            *CZ_PUSH(b->arena, names, n) = view->ties[t].names[i];
    for (int s = 0; s < view->n_storages; s++)
        for (int64_t i = 0; i < view->storages[s].n_names; i++)
            *CZ_PUSH(b->arena, names, n) = view->storages[s].names[i];
    if (n == 0)
        return true;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            return cz_view_fail(b, "two parameters are named '%s'", names[i]);
    return true;
}

/* ---- frozen parameters and ties ---- */

static bool read_frozen(cz_view_builder *b)
{
    int n, n_params = 0;
    const cz_fact_frozen *facts = CZ_VIEW_FACTS(b, frozen, &n);
    cz_fact_pattern *boxes = CZ_NEW(b->arena, cz_fact_pattern, n);
    cz_view_pattern *patterns = CZ_NEW(b->arena, cz_view_pattern, n);

    for (int i = 0; i < n; i++) {
        const cz_fact_frozen *f = &facts[i];
        boxes[i] = (cz_fact_pattern){.sym_name = f->sym_name,
                                     .name = f->name,
                                     .first = f->first,
                                     .extents = f->extents,
                                     .shape = f->shape,
                                     .shard = f->shard,
                                     .dtype = f->dtype};
        patterns[i] = (cz_view_pattern){.fact = &boxes[i],
                                        .rule = -1,
                                        .reduction = -1,
                                        .expert_extent = 1,
                                        .bounds = b->frozen_bounds[i]};
        if (!cz_view_read_box(b, &patterns[i], &n_params))
            return false;
    }
    b->view->n_frozen_patterns = n;
    b->view->frozen_patterns = patterns;
    b->view->n_frozen_params = n_params;
    b->view->frozen_params = expand(b, patterns, n, n_params);
    return true;
}

/* The parameter of a pattern at an index. */
static bool find_target(cz_view_builder *b, const cz_fact_tie *fact, int *param)
{
    int number;
    if (!cz_view_find(b, CZ_FACT_pattern, fact->pattern, &number))
        return false;
    const cz_view_pattern *pattern = &b->view->patterns[number];
    const cz_ints *first = &pattern->fact->first;
    const cz_ints *extents = &pattern->fact->extents;
    int64_t place = 0;

    if (pattern->expert_extent > 1)
        return cz_view_fail(
            b, "tie '%s': its parameter is partitioned by experts", fact->name);
    if (fact->index.n != extents->n)
        return cz_view_fail(b, "tie '%s': %d indices for a pattern of %d",
                            fact->name, fact->index.n, extents->n);
    for (int i = 0; i < extents->n; i++) {
        if (!cz_view_in(b, "tie: index", fact->index.v[i], first->v[i],
                        first->v[i] + extents->v[i] - 1))
            return false;
        place = place * extents->v[i] + fact->index.v[i] - first->v[i];
    }
    *param = pattern->first_param + (int)place;
    return true;
}

static bool read_tie(cz_view_builder *b, cz_view_tie *tie, int *n_all)
{
    const cz_fact_tie *fact = tie->fact;
    const cz_fact_pattern box = {.sym_name = fact->name,
                                 .name = fact->name,
                                 .first = fact->first,
                                 .extents = fact->extents};
    int64_t n = 0, index[CZ_VIEW_MAX_INDICES] = {0};

    if (!check_indices(b, &box, *n_all, &n) ||
        !find_target(b, fact, &tie->param))
        return false;
    const char **names = CZ_NEW(b->arena, const char *, n);
    for (int64_t k = 0; k < n; k++) {
        unrank(&fact->first, &fact->extents, k, index);
        names[k] = make_name(b->arena, fact->name, index);
    }
    tie->names = names;
    tie->n_names = (int)n;
    *n_all += tie->n_names;
    return true;
}

static bool read_ties(cz_view_builder *b)
{
    int n, n_names = 0;
    const cz_fact_tie *facts = CZ_VIEW_FACTS(b, tie, &n);
    cz_view_tie *ties = CZ_NEW(b->arena, cz_view_tie, n);

    for (int i = 0; i < n; i++) {
        ties[i].fact = &facts[i];
        if (!read_tie(b, &ties[i], &n_names))
            return false;
    }
    b->view->n_ties = n;
    b->view->ties = ties;
    return true;
}

bool cz_view_read_patterns(cz_view_builder *b)
{
    int n;
    const cz_fact_pattern *facts = CZ_VIEW_FACTS(b, pattern, &n);
    cz_view_pattern *patterns = CZ_NEW(b->arena, cz_view_pattern, n);

    if (!read_all_uneven(b))
        return false;
    for (int i = 0; i < n; i++) {
        cz_view_pattern *pattern = &patterns[i];
        pattern->fact = &facts[i];
        pattern->bounds = b->bounds[i];
        if (!cz_view_find(b, CZ_FACT_rule, facts[i].rule, &pattern->rule) ||
            !cz_view_read_box(b, pattern, &b->view->n_params) ||
            !check_rule(b, pattern) || !cz_view_read_expert_axes(b, pattern) ||
            !read_home(b, pattern) || !read_reduction(b, pattern))
            return false;
    }
    b->view->n_patterns = n;
    b->patterns = patterns;
    b->view->patterns = patterns;
    if (!read_turns(b))
        return false;
    b->params = expand(b, patterns, n, b->view->n_params);
    b->view->params = b->params;
    return cz_view_read_storages(b) && read_frozen(b) && read_ties(b) &&
           check_names(b);
}
