/* A model's parameters: walking params blocks. */
#include "frontend/model/model.h"

#include <string.h>

#include "frontend/model/internal.h"

/* Bounds on what one text may ask for, beyond any real model. */
enum {
    MAX_STEPS = 1 << 22,   /* of the walk, all index values counted */
    MAX_EXTENT = 1 << 20,  /* values of one index */
    MAX_WORD_LENGTH = 128, /* bytes of one segment of a name */
    MAX_NAME_LENGTH = 240, /* of a whole name: IR strings have 256 */
    MAX_PARTS = 64,        /* of one segment of a path */
    MAX_RANGE = 1024       /* values of {0..n} in a definition */
};

typedef struct walk {
    cz_arena *arena;
    const cz_mesh *mesh;
    const cz_pipeline *pipeline;
    cz_diags *diags;
    cz_cuts cuts;
    cz_model *model;
    cz_dtype dtype; /* of the params block */
    cz_word words[CZ_MAX_WORDS];
    int n_words;
    size_t length; /* of the name so far */
    int64_t first[CZ_MAX_INDICES], extents[CZ_MAX_INDICES];
    int n_indices;
    int64_t expert_axes; /* pieces of the mesh that share out expert_index */
    int expert_index;
    unsigned partitioned; /* bit i: index i is one that the text shares out */
    uint64_t residents;   /* stages, as said so far */
    bool expert;          /* inside an index that names the experts' axes */
    int n_steps;
    bool failed;  /* something was reported: results are not used */
    bool stopped; /* a limit was reached */
} walk;

static void fail(walk *w)
{
    w->failed = true;
}

static void too_large(walk *w, cz_span span, const char *what, int limit)
{
    cz_diag_error(w->diags, CZ_TOO_LARGE, span, "more than %d %s", limit, what);
    w->failed = w->stopped = true;
}

/* Count the work, so that no text makes us walk for ever. */
static bool step(walk *w, const cz_node *node)
{
    if (!w->stopped && w->n_steps++ == MAX_STEPS)
        too_large(w, node->span, "steps, counted per index and alternative",
                  MAX_STEPS);
    return !w->stopped;
}

/* ---- parameters ---- */

static bool find_dtype(walk *w, const cz_node *node, cz_dtype *out)
{
    const char *names[CZ_N_DTYPES];
    int n = 0;
    if (cz_dtype_find(node->text, out) && *out != CZ_F16)
        return true;
    if (strcmp(node->text, cz_dtype_name(CZ_F16)) == 0) {
        cz_diag_error(w->diags, CZ_UNSUPPORTED, node->span,
                      "parameters in f16 are not supported yet");
        fail(w);
        return false;
    }
    for (int i = 0; i < CZ_N_DTYPES; i++)
        if (i != CZ_F16)
            names[n++] = cz_dtype_name((cz_dtype)i);
    const char *near = cz_diag_nearest(node->text, names, n);
    cz_diag_error(w->diags, CZ_BAD_TYPE, node->span,
                  "no element type is called '%s': there are f32, bf16 and "
                  "f64",
                  node->text);
    if (near)
        cz_diag_note(w->diags, node->span, "did you mean '%s'?", near);
    fail(w);
    return false;
}

/* The name as walked so far, with its box of indices. */
static cz_pattern name_here(const walk *w, const cz_node *node)
{
    cz_pattern pattern = {.n_words = w->n_words, .n_indices = w->n_indices};
    cz_word *words = CZ_NEW(w->arena, cz_word, w->n_words);
    memcpy(words, w->words, (size_t)w->n_words * sizeof *words);
    pattern.words = words;
    pattern.node = node;
    memcpy(pattern.first, w->first, sizeof pattern.first);
    memcpy(pattern.extents, w->extents, sizeof pattern.extents);
    pattern.expert_axes = w->expert_axes;
    pattern.expert_index = w->expert_index;
    pattern.partitioned = w->partitioned;
    pattern.residents = w->residents;
    pattern.expert = w->expert;
    return pattern;
}

static void add_param(walk *w, const cz_node *param, cz_env *env)
{
    cz_pattern pattern = name_here(w, param);
    pattern.frozen = cz_node_has(param, CZ_FLAG_FROZEN);
    pattern.transposed = cz_node_has(param, CZ_FLAG_TRANSPOSED);
    pattern.folded = cz_node_has(param, CZ_FLAG_MATRIX);
    pattern.dtype = w->dtype;
    if ((param->text && !find_dtype(w, param, &pattern.dtype)) ||
        !cz_shape_build(cz_param_dims(param), env, w->mesh, &w->cuts, w->diags,
                        &pattern) ||
        !cz_stage_read(param, w->mesh, env, w->diags, &pattern.residents)) {
        fail(w);
        return;
    }
    const cz_node *blocks = cz_param_blocks(param);
    if (blocks && !cz_blocks_build(blocks, env, w->mesh, w->diags, &pattern)) {
        fail(w);
        return;
    }
    if (pattern.n_dims > 2 &&
        (pattern.expert_axes || pattern.n_indices == CZ_MAX_INDICES)) {
        cz_diag_error(w->diags, CZ_UNSUPPORTED, param->span,
                      pattern.expert_axes
                          ? "a batch of matrices inside an index that ranks "
                            "share out is not supported yet"
                          : "a batch of matrices inside so many indices is not "
                            "supported yet");
        fail(w);
    }
    if (pattern.transposed && (pattern.n_dims < 2 || pattern.folded)) {
        cz_diag_error(w->diags, CZ_SHAPE_MISMATCH, param->span,
                      pattern.folded
                          ? "what `view matrix` makes a matrix is not stored "
                            "transposed: write its two dimensions"
                          : "only a matrix can be stored transposed");
        fail(w);
    }
    if (w->model->n == CZ_MAX_PATTERNS) {
        too_large(w, param->span, "patterns of parameters", CZ_MAX_PATTERNS);
        return;
    }
    *CZ_PUSH(w->arena, w->model->patterns, w->model->n) = pattern;
}

static void add_tie(walk *w, const cz_node *node, cz_env *env)
{
    cz_tie tie = {.names = name_here(w, node)};
    if (w->model->n_ties == CZ_MAX_PATTERNS)
        too_large(w, node->span, "ties", CZ_MAX_PATTERNS);
    else if (cz_tie_target(w->arena, node, w->diags, &tie.target) &&
             cz_stage_read(node, w->mesh, env, w->diags, &tie.names.residents))
        *CZ_PUSH(w->arena, w->model->ties, w->model->n_ties) = tie;
    else
        fail(w);
}

/* ---- paths ---- */

static void walk_path(walk *w, const cz_node *node, int at, cz_env *env);
static void walk_block(walk *w, const cz_node *block, cz_env *parent);

/* Number `at` of what the name of a parameter, a group or a tie is made of. */
static const cz_node *step_at(const cz_node *node, int at)
{
    return cz_item(cz_param_path(node), at);
}

static void push_word(walk *w, const cz_node *node, int at, cz_word word,
                      cz_env *env)
{
    const size_t n = word.text ? strlen(word.text) + 1 : 8;
    const cz_span span = step_at(node, at)->span;
    if (w->n_words == CZ_MAX_WORDS) {
        too_large(w, span, "segments in a name", CZ_MAX_WORDS);
        return;
    }
    if (w->length + n > MAX_NAME_LENGTH) {
        too_large(w, span, "bytes in a name", MAX_NAME_LENGTH);
        return;
    }
    w->words[w->n_words++] = word;
    w->length += n;
    walk_path(w, node, at + 1, env);
    w->length -= n;
    w->n_words--;
}

/* The rest of a segment behind the text so far, part by part. */
static void walk_parts(walk *w, const cz_node *node, int at, int view,
                       const char *text, cz_env *env);

static void walk_range(walk *w, const cz_node *node, int at, int view,
                       const cz_node *range, const char *text, cz_env *env)
{
    const int64_t low = cz_range_low(range)->integer;
    const int64_t high = cz_range_high(range)->integer;
    if (high - low >= MAX_RANGE) {
        too_large(w, range->span, "values in a range", MAX_RANGE);
        return;
    }
    for (int64_t i = low; i <= high; i++)
        walk_parts(w, node, at, view + 1,
                   cz_arena_printf(w->arena, "%s%lld", text, (long long)i),
                   env);
}

static void walk_choice(walk *w, const cz_node *node, int at, int view,
                        const char *text, cz_env *env)
{
    const cz_node *choice = cz_item(step_at(node, at), view);
    for (int i = 0; i < cz_n_items(choice); i++) {
        const cz_node *option = cz_item(choice, i);
        if (option->kind == CZ_AST_RANGE)
            walk_range(w, node, at, view, option, text, env);
        else
            walk_parts(w, node, at, view + 1,
                       cz_arena_printf(w->arena, "%s%s", text, option->text),
                       env);
    }
}

static void walk_parts(walk *w, const cz_node *node, int at, int view,
                       const char *text, cz_env *env)
{
    const cz_node *segment = step_at(node, at);
    const cz_node *here = cz_item(segment, view);
    if (!step(w, segment))
        return;
    if (strlen(text) > MAX_WORD_LENGTH) {
        too_large(w, segment->span, "bytes in a segment", MAX_WORD_LENGTH);
    } else if (!here) {
        push_word(w, node, at, (cz_word){text, 0}, env);
    } else if (here->kind == CZ_AST_LITERAL) {
        walk_parts(w, node, at, view + 1,
                   cz_arena_printf(w->arena, "%s%s", text, here->text), env);
    } else if (here->kind == CZ_AST_CHOICE) {
        walk_choice(w, node, at, view, text, env);
    } else {
        cz_diag_error(w->diags, CZ_BAD_PATH, segment->span,
                      "a parameter's name cannot hold *");
        fail(w);
    }
}

static void walk_segment(walk *w, const cz_node *node, int at, cz_env *env)
{
    const cz_node *segment = step_at(node, at);
    if (cz_n_items(segment) == 0)
        push_word(w, node, at, (cz_word){segment->text, 0}, env);
    else if (cz_n_items(segment) > MAX_PARTS)
        too_large(w, segment->span, "parts in a segment", MAX_PARTS);
    else
        walk_parts(w, node, at, 0, "", env);
}

/* ---- indices ---- */

/* Join patterns from `from` on, made for index k = value, to those from
 * `start` on that end just before. */
static void join(cz_model *model, int start, int from, int k)
{
    int kept = from;
    for (int i = from; i < model->n; i++) {
        const cz_pattern pattern = model->patterns[i];
        cz_pattern *match = NULL;
        for (int j = start; j < from && !match; j++) {
            cz_pattern *old = &model->patterns[j];
            if (old->first[k] + old->extents[k] == pattern.first[k] &&
                old->node == pattern.node &&
                cz_pattern_is_alike(old, &pattern, k))
                match = old;
        }
        if (match)
            match->extents[k]++;
        else
            model->patterns[kept++] = pattern;
    }
    model->n = kept;
}

/* One run of the values of the last index, one by one. */
static void walk_values(walk *w, const cz_node *node, int at, int64_t first,
                        int64_t extent, cz_env *env)
{
    const cz_node *index = step_at(node, at);
    const int k = w->n_indices - 1;
    const int start = w->model->n;
    for (int64_t i = first; i < first + extent && !w->failed; i++) {
        cz_env inner;
        const int from = w->model->n;
        w->first[k] = i;
        w->extents[k] = 1;
        cz_env_init(&inner, w->arena, env);
        cz_env_bind(&inner, index->text, cz_value_int(i));
        push_word(w, node, at, (cz_word){NULL, k}, &inner);
        join(w->model, start, from, k);
    }
}

/* The values of index k are dealt out: nothing may depend on one of them. */
static bool spread_over(walk *w, const cz_node *node, const cz_node *index,
                        int k, int64_t expert_axes)
{
    const bool reads = cz_node_reads(node, index->text);
    if (w->expert_axes || reads) {
        cz_diag_error(w->diags, CZ_UNSUPPORTED, index->span, "%s",
                      reads ? "what depends on an index that ranks share out "
                              "is not supported yet"
                            : "two indices that ranks share out are not "
                              "supported yet");
        fail(w);
        return false;
    }
    w->expert_axes = expert_axes;
    w->expert_index = k;
    return true;
}

/* How many values an index has, and who has which. */
static bool find_runs(walk *w, const cz_node *node, const cz_node *index,
                      cz_env *env, cz_runs *runs)
{
    const cz_node *bound = cz_index_bound(index);
    int64_t extent, expert_axes;
    if (cz_stage_is_partitioned(bound))
        return cz_stage_partition(bound, w->pipeline, w->mesh, env, w->diags,
                                  MAX_EXTENT, runs);
    if (!cz_shape_count(bound, env, w->mesh, &w->cuts, w->diags, MAX_EXTENT,
                        &extent, &expert_axes, &w->expert) ||
        (expert_axes &&
         !spread_over(w, node, index, w->n_indices, expert_axes)))
        return false;
    w->partitioned |= (unsigned)cz_shape_is_partitioned(bound) << w->n_indices;
    *runs = (cz_runs){CZ_NEW(w->arena, cz_run, 1), extent > 0};
    runs->list[0] = (cz_run){0, extent, w->residents};
    return true;
}

static void walk_run(walk *w, const cz_node *node, int at, const cz_run *run,
                     cz_env *env)
{
    const int k = w->n_indices - 1;
    w->first[k] = run->first;
    w->extents[k] = run->extent;
    w->residents = run->residents;
    if (cz_node_reads(node, step_at(node, at)->text))
        walk_values(w, node, at, run->first, run->extent, env);
    else
        push_word(w, node, at, (cz_word){NULL, k}, env);
}

static void walk_index(walk *w, const cz_node *node, int at, cz_env *env)
{
    const cz_node *index = step_at(node, at);
    const walk outer = *w;
    cz_runs runs;
    if (w->n_indices == CZ_MAX_INDICES) {
        too_large(w, index->span, "indices in a name", CZ_MAX_INDICES);
        return;
    }
    if (!find_runs(w, node, index, env, &runs)) {
        fail(w);
        return;
    }
    w->n_indices++;
    for (int i = 0; i < runs.n && !w->stopped; i++)
        walk_run(w, node, at, &runs.list[i], env);
    w->n_indices--;
    w->residents = outer.residents;
    w->expert_axes = outer.expert_axes;
    w->expert_index = outer.expert_index;
    w->partitioned = outer.partitioned;
    w->expert = outer.expert;
}

static void walk_path(walk *w, const cz_node *node, int at, cz_env *env)
{
    const cz_node *path = cz_param_path(node);
    const cz_node *here = cz_item(path, at);
    if (!here && node->kind == CZ_AST_PREFIX) {
        const uint64_t outer = w->residents;
        if (cz_stage_read(node, w->mesh, env, w->diags, &w->residents))
            walk_block(w, cz_prefix_block(node), env);
        else
            fail(w);
        w->residents = outer;
    } else if (!here && node->kind == CZ_AST_TIE) {
        add_tie(w, node, env);
    } else if (!here) {
        add_param(w, node, env);
    } else if (here->kind == CZ_AST_INDEX) {
        walk_index(w, node, at, env);
    } else if (here->kind == CZ_AST_SEGMENT) {
        walk_segment(w, node, at, env);
    } else {
        cz_diag_error(w->diags, CZ_BAD_PATH, here->span,
                      "a parameter's name cannot hold **");
        fail(w);
    }
}

/* ---- statements ---- */

static void walk_if(walk *w, const cz_node *node, cz_env *env)
{
    bool truth;
    if (!cz_eval_bool(cz_if_condition(node), env, w->diags, &truth)) {
        fail(w);
        return;
    }
    const cz_node *branch = truth ? cz_if_then(node) : cz_if_else(node);
    if (branch)
        walk_block(w, branch, env);
}

static void walk_statement(walk *w, const cz_node *node, cz_env *env)
{
    if (!step(w, node))
        return;
    if (node->kind == CZ_AST_PARAM || node->kind == CZ_AST_PREFIX ||
        node->kind == CZ_AST_TIE)
        walk_path(w, node, 0, env);
    else if (node->kind == CZ_AST_IF)
        walk_if(w, node, env);
    else if (node->kind == CZ_AST_LET)
        cz_env_bind_now(env, node, w->diags);
}

static void walk_block(walk *w, const cz_node *block, cz_env *parent)
{
    cz_env env;
    cz_env_init(&env, w->arena, parent);
    for (int i = 0; i < cz_n_items(block); i++)
        walk_statement(w, cz_item(block, i), &env);
}

/* ---- the whole ---- */

bool cz_model_build(cz_instance *instance, const cz_mesh *mesh,
                    const cz_pipeline *pipeline, cz_diags *diags, cz_model *out)
{
    const int n_errors = diags->n_errors;
    walk w = {.arena = instance->env.arena,
              .mesh = mesh,
              .pipeline = pipeline,
              .diags = diags};
    *out = (cz_model){0};
    w.model = out;
    const cz_node *block = cz_model_block(instance->model);
    for (int i = 0; i < cz_n_items(block); i++) {
        const cz_node *node = cz_item(block, i);
        if (node->kind == CZ_AST_LET)
            cz_env_bind_now(&instance->env, node, w.diags);
        else if (node->kind == CZ_AST_PARAMS && find_dtype(&w, node, &w.dtype))
            walk_block(&w, node, &instance->env);
    }
    cz_cuts_report(&w.cuts, diags);
    if (w.failed || diags->n_errors > n_errors)
        return false;
    if (out->n > 0)
        return cz_model_check(out, w.arena, mesh, diags);
    cz_diag_error(diags, CZ_MISSING_KEY, instance->from->span,
                  "model %s has no parameters", instance->from->text);
    return false;
}
