/* The schedule block: one function per clause, found in a table, and -D. */
#include "frontend/program/internal.h"

#include <math.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/vocab/dtype.h"
#include "frontend/model/model.h"

enum { DEFAULT_TOKENS = 1 << 20, WIRE_END = 1000 };

/* ---- clauses ---- */

static void read_grads(cz_clauses *c, const cz_node *node)
{
    cz_policy *policy = c->policy;
    const cz_node *paths = cz_grads_paths(node);
    cz_grads grads = {.node = node,
                      .paths = paths,
                      .sum = cz_node_has(node, CZ_FLAG_SUM),
                      .reduced = cz_node_has(node, CZ_FLAG_REDUCED)};
    grads.dtype = cz_clause_dtype(c, node, "gradients", true);
    grads.axes = cz_clause_axes(c, cz_grads_axes(node), !paths);
    if (paths) {
        *CZ_PUSH(c->env->arena, policy->grads, policy->n_grads) = grads;
    } else if (policy->grads[0].node) {
        cz_clause_repeated(c, node, policy->grads[0].node);
    } else {
        policy->grads[0] = grads;
    }
}

static void read_master(cz_clauses *c, const cz_node *node)
{
    if (strcmp(node->text, "none") == 0)
        c->policy->master_none = node->span;
    else
        cz_clause_dtype(c, node, "master weights", false);
}

static void read_state(cz_clauses *c, const cz_node *node)
{
    cz_clause_dtype(c, node, "states", false);
    c->policy->split = cz_clause_axes(c, cz_keep_axes(node), true);
}

static void read_clip(cz_clauses *c, const cz_node *e)
{
    double clip;
    if (!cz_eval_real(e, c->env, c->diags, &clip)) {
        c->failed = true;
        return;
    }
    if (!(clip > 0)) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, e->span,
                      "a norm to clip at is larger than zero");
        c->failed = true;
    }
    c->policy->fact.clip = clip;
}

static void read_skip(cz_clauses *c, const cz_node *node)
{
    (void)node;
    c->policy->fact.skip = 1;
}

/* A size that the user chose, in the unit of the number. */
static int64_t read_amount(cz_clauses *c, const cz_node *e, const char *what)
{
    int64_t amount = 0;
    if (!cz_eval_size(e, c->env, c->diags, what, 1, CZ_MAX_DIM, &amount))
        c->failed = true;
    return amount;
}

static void read_bucket(cz_clauses *c, const cz_node *e)
{
    const int64_t amount = read_amount(c, e, "size of a bucket");
    const bool bytes = cz_node_has(e, CZ_FLAG_BYTES);
    c->policy->fact.bucket_elements =
        bytes ? cz_ceil_div(amount, cz_dtype_bytes(CZ_F32)) : amount;
    c->policy->fact.bucket_is_free = 0;
}

static void read_group(cz_clauses *c, const cz_node *e)
{
    const int64_t amount = read_amount(c, e, "size of a group");
    const bool bytes = cz_node_has(e, CZ_FLAG_BYTES);
    c->policy->fact.micro_group_bytes =
        bytes ? amount : amount * cz_dtype_bytes(CZ_F32);
}

/* Bytes, with B or without. */
static void read_memory(cz_clauses *c, const cz_node *e)
{
    c->policy->fact.memory_bytes = read_amount(c, e, "memory of a rank");
}

static void read_overlap(cz_clauses *c, const cz_node *word)
{
    int overlap;
    cz_clause_choice(c, word, word->text, CZ_VOCABULARY_overlap, &overlap);
}

/* A number above 0 and below `end`. */
static void read_share(cz_clauses *c, const cz_node *e, double *share, int end,
                       const char *what)
{
    if (!cz_eval_real(e, c->env, c->diags, share)) {
        c->failed = true;
    } else if (!(*share > 0 && *share < end)) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, e->span,
                      "%s, between 0 and %d", what, end);
        c->failed = true;
    }
}

static void read_tolerance(cz_clauses *c, const cz_node *e)
{
    read_share(c, e, &c->policy->fact.tolerance, 1,
               "a tolerance is a share of the update");
}

static void read_wire(cz_clauses *c, const cz_node *e)
{
    read_share(
        c, e, &c->policy->fact.wire, WIRE_END,
        "wire is a multiple of f32 gradients gathered by all who shard them");
    c->policy->fact.wire_is_free = 0;
}

/* Of an iteration, over all ranks. */
static void read_tokens(cz_clauses *c, const cz_node *e)
{
    c->policy->fact.tokens = read_amount(c, e, "number of tokens");
}

/* Of experts' elements, those that work on a token. */
static void read_active(cz_clauses *c, const cz_node *e)
{
    double part = 0;
    if (!cz_eval_real(e, c->env, c->diags, &part)) {
        c->failed = true;
    } else if (!(part > 0 && part <= 1)) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, e->span,
                      "active is the part of experts that work on a token, as "
                      "8 / 128: above 0 and at most 1");
        c->failed = true;
    }
    c->policy->fact.active = (int64_t)ceil(part * CZ_ALL_ACTIVE);
}

static void read_strict(cz_clauses *c, const cz_node *node)
{
    (void)node;
    c->policy->strict = true;
}

static void read_layout(cz_clauses *c, const cz_node *word)
{
    int choice;
    if (cz_word_is_reserved(CZ_VOCABULARY_layout, word->text))
        cz_clause_unsupported(c, word->span, "this layout is");
    else if (cz_clause_choice(c, word, word->text, CZ_VOCABULARY_layout,
                              &choice))
        c->policy->fact.layout = (cz_layout)choice;
    c->policy->fact.layout_is_free = 0;
}

static void read_geometry(cz_clauses *c, const cz_node *word)
{
    int choice;
    if (cz_clause_choice(c, word, word->text, CZ_VOCABULARY_geometry, &choice))
        c->policy->fact.geometry = (cz_geometry)choice;
}

static void read_form(cz_clauses *c, const cz_node *word)
{
    int choice;
    if (cz_clause_choice(c, word, word->text, CZ_VOCABULARY_iteration, &choice))
        c->policy->fact.form = (cz_iteration)choice;
}

static void read_shard(cz_clauses *c, const cz_node *node)
{
    cz_policy *policy = c->policy;
    const cz_node *axes = cz_shard_axes(node);
    cz_shards shards = {.node = node,
                        .paths = cz_shard_paths(node),
                        .chunk = cz_node_has(node, CZ_FLAG_CHUNK)};
    int64_t dim;
    if (cz_n_items(axes) != 1) {
        cz_clause_unsupported(c, node->span, "sharding over several axes is");
        return;
    }
    const char *axis = cz_item(axes, 0)->text;
    if (strcmp(axis, "fsdp") != 0 && strcmp(axis, "tp") != 0) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, cz_item(axes, 0)->span,
                      "what the schedule shards over is the axis fsdp or tp");
        c->failed = true;
        return;
    }
    shards.over = strcmp(axis, "tp") == 0 ? CZ_CHUNK_TP : CZ_CHUNK_FSDP;
    if (!cz_eval_size(cz_shard_dim(node), c->env, c->diags, "dimension", 0,
                      CZ_MAX_NDIM - 1, &dim)) {
        c->failed = true;
        return;
    }
    shards.dim = (int)dim;
    cz_mesh_find(c->mesh, axis, &shards.axes);
    cz_shards *rest = &policy->shards[shards.over];
    if (shards.paths)
        *CZ_PUSH(c->env->arena, policy->shards, policy->n_shards) = shards;
    else if (rest->node)
        cz_clause_repeated(c, node, rest->node);
    else
        *rest = shards;
}

static void read_pipeline(cz_clauses *c, const cz_node *node)
{
    if (!cz_pipeline_read(node, c->mesh, c->env, c->diags,
                          &c->policy->pipeline))
        c->failed = true;
}

static void read_strategy(cz_clauses *c, const cz_node *word)
{
    int choice;
    if (cz_word_is_reserved(CZ_VOCABULARY_strategy, word->text))
        cz_clause_unsupported(c, word->span, "this strategy is");
    else if (cz_clause_choice(c, word, word->text, CZ_VOCABULARY_strategy,
                              &choice))
        c->policy->fact.tp_strategy = (cz_strategy)choice;
}

static void read_axis_strategy(cz_clauses *c, const cz_node *node)
{
    const char *words[] = {"grads",     "master",   "state",  "clip",
                           "skip",      "bucket",   "group",  "overlap",
                           "tolerance", "strict",   "layout", "geometry",
                           "shard",     "pipeline", "tp",     "memory",
                           "form",      "wire",     "tokens", "active"};
    if (strcmp(node->text, "tp") != 0)
        cz_clause_check_word(c, node, node->text, words,
                             sizeof words / sizeof *words);
    else
        read_strategy(c, cz_axis_strategy(node));
}

static void read_subgroup(cz_clauses *c, const cz_node *e)
{
    cz_fact_policy *fact = &c->policy->fact;
    if (!cz_eval_size(e, c->env, c->diags, "size of a group", 1, CZ_MAX_DIM,
                      &fact->tp_subgroup)) {
        c->failed = true;
    } else if (!c->failed && fact->tp_strategy != CZ_STRATEGY_GRAM) {
        cz_diag_error(c->diags, CZ_BAD_OPTION, e->span,
                      "only with tp gram do several ranks share a matrix");
        c->failed = true;
    }
}

/* Clauses, and what -D may set: `schedule.option`. */
static const struct clause {
    cz_kind kind;       /* CZ_AST_N_KINDS: no clause says it like this */
    const char *option; /* NULL: -D cannot say it */
    const char *word;   /* what its word chooses; NULL: it takes a number */
    /* The whole clause; of an option its number, or a node with its word. */
    void (*read)(cz_clauses *c, const cz_node *node);
} table[] = {
    {CZ_AST_GRADS, NULL, NULL, read_grads},
    {CZ_AST_MASTER, NULL, NULL, read_master},
    {CZ_AST_KEEP, NULL, NULL, read_state},
    {CZ_AST_CLIP, "clip", NULL, read_clip},
    {CZ_AST_SKIP, NULL, NULL, read_skip},
    {CZ_AST_BUCKET, "bucket", NULL, read_bucket},
    {CZ_AST_MICRO_GROUP_CAP, "group", NULL, read_group},
    {CZ_AST_MEMORY_CAP, "memory", NULL, read_memory},
    {CZ_AST_OVERLAP, "overlap", "an overlap", read_overlap},
    {CZ_AST_TOLERANCE, "tolerance", NULL, read_tolerance},
    {CZ_AST_STRICT, NULL, NULL, read_strict},
    {CZ_AST_LAYOUT, "layout", "a layout", read_layout},
    {CZ_AST_GEOMETRY, "geometry", "a geometry", read_geometry},
    {CZ_AST_SHARD, NULL, NULL, read_shard},
    {CZ_AST_PIPELINE, NULL, NULL, read_pipeline},
    {CZ_AST_AXIS_STRATEGY, NULL, NULL, read_axis_strategy},
    {CZ_AST_FORM, "form", "a form", read_form},
    {CZ_AST_WIRE_CAP, "wire", NULL, read_wire},
    {CZ_AST_TOKENS, "tokens", NULL, read_tokens},
    {CZ_AST_ACTIVE, "active", NULL, read_active},
    {CZ_AST_N_KINDS, "tp_strategy", "a strategy", read_strategy},
    {CZ_AST_N_KINDS, "tp_subgroup", NULL, read_subgroup},
};

enum { N_CLAUSES = sizeof table / sizeof *table };

static void read_clause(cz_clauses *c, const cz_node *node)
{
    const cz_node *seen = c->seen[node->kind];
    const bool is_misspelt = node->kind == CZ_AST_AXIS_STRATEGY && seen &&
                             strcmp(node->text, seen->text) != 0;
    if (seen && !is_misspelt && node->kind != CZ_AST_GRADS &&
        node->kind != CZ_AST_SHARD) {
        cz_clause_repeated(c, node, seen);
        return;
    }
    c->seen[node->kind] = node;
    for (int i = 0; i < N_CLAUSES; i++)
        if (table[i].kind == node->kind)
            table[i].read(c, table[i].option && !table[i].word
                                 ? cz_clause_amount(node)
                                 : node);
}

/* ---- options ---- */

static const char scope_name[] = "schedule";

void cz_policy_allow(cz_options *options)
{
    for (int i = 0; i < N_CLAUSES; i++)
        if (table[i].option)
            cz_options_allow(options, scope_name, table[i].option);
}

/* What -D says, over what the source says. */
static void read_options(cz_clauses *c, const cz_options *options)
{
    for (int i = 0; i < N_CLAUSES; i++) {
        const struct clause *clause = &table[i];
        const cz_node *node =
            clause->option
                ? cz_options_find(options, scope_name, clause->option)
                : NULL;
        if (!node)
            continue;
        if (clause->kind != CZ_AST_N_KINDS)
            c->seen[clause->kind] = node;
        if (!clause->word || node->kind == CZ_AST_NAME) {
            clause->read(c, node);
            continue;
        }
        cz_diag_error(c->diags, CZ_BAD_OPTION, node->span,
                      "%s is chosen by its name", clause->word);
        c->failed = true;
    }
}

/* ---- the whole ---- */

static void set_defaults(cz_policy *policy, const cz_mesh *mesh,
                         cz_env *globals, cz_diags *diags)
{
    int64_t cp;
    *policy = (cz_policy){0};
    cz_pipeline_read(NULL, mesh, globals, diags, &policy->pipeline);
    policy->fact = (cz_fact_policy){
        .master_dtype = CZ_F32,
        .bucket_elements = CZ_BUCKET_ELEMENTS,
        .tp_strategy = CZ_STRATEGY_AUTO,
        .geometry = CZ_GEOMETRY_UNEVEN,
        .layout = CZ_LAYOUT_ENGINE,
        .bucket_is_free = 1,
        .layout_is_free = 1,
        .form = CZ_ITERATION_AUTO,
        .wire = CZ_WIRE,
        .wire_is_free = 1,
        .tokens = DEFAULT_TOKENS,
    };
    cz_mesh_find(mesh, "dp", &policy->split);
    cz_grads *grads = CZ_PUSH(globals->arena, policy->grads, policy->n_grads);
    *grads = (cz_grads){.dtype = CZ_F32, .axes = policy->split};
    if (cz_mesh_find(mesh, "cp", &cp) && cz_mesh_extent(mesh, cp) > 1)
        grads->axes |= cp;
    for (int k = 0; k < CZ_N_CHUNKS; k++)
        *CZ_PUSH(globals->arena, policy->shards, policy->n_shards) =
            (cz_shards){.over = k};
}

bool cz_policy_build(const cz_node *file, const cz_mesh *mesh,
                     const cz_options *options, cz_env *globals,
                     cz_diags *diags, cz_policy *out)
{
    cz_clauses c = {
        .policy = out, .mesh = mesh, .env = globals, .diags = diags};
    const cz_node *seen = NULL;
    set_defaults(out, mesh, globals, diags);
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        if (node->kind != CZ_AST_SCHEDULE)
            continue;
        if (seen) {
            cz_diag_error(diags, CZ_DUPLICATE_NAME, node->span,
                          "there is a schedule already");
            cz_diag_note(diags, seen->span, "here");
            return false;
        }
        seen = node;
        for (int j = 0; j < cz_n_items(node); j++)
            read_clause(&c, cz_item(node, j));
    }
    read_options(&c, options);
    /* One asks for what the other rules out. */
    const cz_node *strict = c.seen[CZ_AST_STRICT];
    const cz_node *tolerance = c.seen[CZ_AST_TOLERANCE];
    if (strict && tolerance) {
        cz_diag_error(diags, CZ_BAD_SCHEDULE, tolerance->span,
                      "a strict schedule tolerates nothing");
        cz_diag_note(diags, strict->span, "strict here");
        c.failed = true;
    }
    return !c.failed;
}
