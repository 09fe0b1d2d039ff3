/* Tables of parameters: patterns, storage that holds several of them, what
 * nobody trains, ties and places as static constant arrays, a row a line. */
#include "codegen/common/internal.h"

typedef long long ll;

static void put_braced(cz_text *out, const cz_ints *values)
{
    cz_text_puts(out, ", {");
    for (int i = 0; i < values->n; i++)
        cz_text_printf(out, "%s%lld", i ? ", " : "", (ll)values->v[i]);
    cz_text_puts(out, values->n ? "}" : "0}");
}

/* Where the shards of uneven dimensions lie. */
static void put_bounds(cz_text *out, const cz_plan_view *view,
                       const cz_view_cuts *bounds, const cz_ints *shard,
                       const char *name)
{
    for (int d = 0; d < shard->n; d++)
        if (bounds->of[d])
            cz_emit_int_array(out, "int64_t", name, d, bounds->of[d],
                              2 * (int)cz_view_set_extent(view, shard->v[d]));
}

static void put_bound_names(cz_text *out, const cz_view_cuts *bounds,
                            const char *name)
{
    int n = 0;

    for (int d = 0; d < CZ_VIEW_MAX_DIMS; d++)
        if (bounds->of[d])
            n = d + 1;
    cz_text_puts(out, n ? ", {" : ", {NULL");
    for (int d = 0; d < n; d++)
        if (bounds->of[d])
            cz_text_printf(out, "%s%s_%d", d ? ", " : "", name, d);
        else
            cz_text_puts(out, d ? ", NULL" : "NULL");
    cz_text_puts(out, "}}");
}

static const char *bounds_name(cz_emitter *emitter, const char *kind,
                               int number)
{
    return cz_arena_printf(emitter->arena, "%s_bounds_%d", kind, number);
}

/* `kind` and `number` find the pattern's bounds. */
static void put_pattern(cz_emitter *emitter, const cz_view_pattern *pattern,
                        const char *kind, int number)
{
    cz_text *out = emitter->out;

    cz_text_puts(out, "    {");
    cz_emit_string(out, pattern->fact->name);
    cz_text_printf(out, ", %d, %d, %d, %s", pattern->first_param,
                   pattern->fact->extents.n, pattern->n_dims,
                   cz_dtype_czr_tag(pattern->dtype));
    put_braced(out, &pattern->fact->first);
    put_braced(out, &pattern->fact->extents);
    cz_text_printf(out, ", %lld, %lld", (ll)pattern->fact->expert_axes,
                   (ll)pattern->fact->expert_index);
    put_braced(out, &pattern->fact->shape);
    put_braced(out, &pattern->fact->shard);
    put_bound_names(out, &pattern->bounds, bounds_name(emitter, kind, number));
    cz_text_puts(out, ",\n");
}

static void put_patterns(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    for (int i = 0; i < view->n_patterns; i++)
        put_bounds(out, view, &view->patterns[i].bounds,
                   &view->patterns[i].fact->shard,
                   bounds_name(emitter, "pattern", i));
    cz_text_puts(
        out, "/* pattern, first parameter, indices, dimensions, type, "
             "first and number of\n * each index, expert axes and their index, "
             "shape, axes of each dimension,\n * uneven shards */\n"
             "static const czr_pattern patterns[] = {\n");
    for (int i = 0; i < view->n_patterns; i++)
        put_pattern(emitter, &view->patterns[i], "pattern", i);
    cz_text_puts(out, view->n_patterns ? "};\n\n" : "    {0}};\n\n");
}

static void put_pieces(cz_text *out, const cz_plan_view *view, int number)
{
    const cz_view_storage *storage = &view->storages[number];

    cz_text_printf(out, "static const czr_stored_pattern pieces_%d[] = {\n",
                   number);
    for (int i = 0; i < storage->n_patterns; i++) {
        const int pattern = storage->patterns[i];
        const int64_t *map = view->patterns[pattern].stored->map.v;
        cz_text_printf(out, "    {%d, %lld, {", pattern,
                       (ll)view->patterns[pattern].stored->batch);
        for (int d = 0; d < storage->n_dims; d++, map += 3)
            cz_text_printf(out, "%s{%lld, %lld, %lld}", d ? ", " : "",
                           (ll)map[0], (ll)map[1], (ll)map[2]);
        cz_text_puts(out, "}},\n");
    }
    cz_text_puts(out, "};\n");
}

static void put_storage(cz_emitter *emitter, int number)
{
    const cz_view_storage *storage = &emitter->view->storages[number];
    const cz_fact_storage *f = storage->fact;
    cz_text *out = emitter->out;

    cz_text_puts(out, "    {{");
    cz_emit_string(out, f->name);
    cz_text_printf(out, ", 0, %d, %d, %s", f->extents.n, storage->n_dims,
                   cz_dtype_czr_tag(storage->dtype));
    put_braced(out, &f->first);
    put_braced(out, &f->extents);
    cz_text_printf(out, ", %lld, %lld", (ll)f->expert_axes,
                   (ll)f->expert_index);
    put_braced(out, &f->shape);
    put_braced(out, &f->shard);
    put_bound_names(out, &storage->bounds,
                    bounds_name(emitter, "storage", number));
    cz_text_printf(out, ", %d, pieces_%d},\n", storage->n_patterns, number);
}

static void put_storages(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    if (view->n_storages == 0)
        return;
    cz_text_puts(emitter->out,
                 "/* tensors that hold several patterns: pattern, "
                 "and per dimension base, block\n * and stride of "
                 "each piece */\n");
    for (int i = 0; i < view->n_storages; i++) {
        put_bounds(emitter->out, view, &view->storages[i].bounds,
                   &view->storages[i].fact->shard,
                   bounds_name(emitter, "storage", i));
        put_pieces(emitter->out, view, i);
    }
    cz_text_puts(emitter->out, "static const czr_storage storages[] = {\n");
    for (int i = 0; i < view->n_storages; i++)
        put_storage(emitter, i);
    cz_text_puts(emitter->out, "};\n\n");
}

static void put_frozen(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    if (view->n_frozen_patterns == 0)
        return;
    for (int i = 0; i < view->n_frozen_patterns; i++)
        put_bounds(out, view, &view->frozen_patterns[i].bounds,
                   &view->frozen_patterns[i].fact->shard,
                   bounds_name(emitter, "frozen", i));
    cz_text_puts(out, "/* what nobody trains */\n"
                      "static const czr_pattern frozen[] = {\n");
    for (int i = 0; i < view->n_frozen_patterns; i++)
        put_pattern(emitter, &view->frozen_patterns[i], "frozen", i);
    cz_text_puts(out, "};\n\n");
}

/* The parameter's pattern under the pattern and the indices of the tie. */
static void put_tie(cz_emitter *emitter, const cz_view_tie *tie)
{
    const cz_plan_view *view = emitter->view;
    const int number = view->params[tie->param].pattern;
    cz_view_pattern names = view->patterns[number];
    cz_fact_pattern fact = *names.fact;

    fact.name = tie->fact->name;
    fact.first = tie->fact->first;
    fact.extents = tie->fact->extents;
    names.fact = &fact;
    names.first_param = tie->param;
    put_pattern(emitter, &names, "pattern", number);
}

static void put_ties(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    if (view->n_ties == 0)
        return;
    cz_text_puts(emitter->out, "/* more names, and what they mean */\n"
                               "static const czr_pattern ties[] = {\n");
    for (int i = 0; i < view->n_ties; i++)
        put_tie(emitter, &view->ties[i]);
    cz_text_puts(emitter->out, "};\n\n");
}

static void put_places(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    cz_text_puts(emitter->out,
                 "/* bucket, rule, element, stagger and owner of every "
                 "parameter */\n"
                 "static const czr_place places[] = {\n");
    for (int i = 0; i < view->n_params; i++)
        cz_text_printf(
            emitter->out, "    {%d, %d, %lld, %lld, %lld, %lld},\n",
            view->params[i].bucket,
            view->patterns[view->params[i].pattern].rule,
            (ll)view->params[i].offset, (ll)view->params[i].stagger_offset,
            (ll)view->params[i].split_owner, (ll)view->params[i].shard_owner);
    cz_text_puts(emitter->out, view->n_params ? "};\n\n" : "    {0}};\n\n");
}

void cz_emit_params(cz_emitter *emitter)
{
    put_patterns(emitter);
    put_storages(emitter);
    put_frozen(emitter);
    put_ties(emitter);
    put_places(emitter);
}
