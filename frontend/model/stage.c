/* Stages: the clause, the indices that are dealt out, and the attribute. */
#include "frontend/model/model.h"

#include <string.h>

#include "dsl/base/checked.h"

enum { MAX_SHOWN = 16 }; /* numbers of a list that a message writes out */

/* ---- the clause ---- */

static bool check_length(const cz_node *list, int64_t stages, int64_t chunks,
                         cz_diags *diags)
{
    if (cz_n_items(list) == 0 || cz_n_items(list) == stages * chunks)
        return true;
    if (chunks == 1)
        cz_diag_error(diags, CZ_BAD_SCHEDULE, list->span,
                      "%d numbers of layers, and pp = %lld needs %lld",
                      cz_n_items(list), (long long)stages, (long long)stages);
    else
        cz_diag_error(diags, CZ_BAD_SCHEDULE, list->span,
                      "%d numbers of layers, and pp = %lld with %lld chunks "
                      "each needs %lld",
                      cz_n_items(list), (long long)stages, (long long)chunks,
                      (long long)(stages * chunks));
    return false;
}

bool cz_pipeline_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                      cz_diags *diags, cz_pipeline *out)
{
    const int64_t stages = cz_mesh_stages(mesh);
    int64_t chunks = 1;
    *out = (cz_pipeline){.node = node, .n_chunks = (int)stages};
    if (!node)
        return true;
    const cz_node *list = cz_pipeline_layers(node);
    const cz_node *e = cz_pipeline_chunks(node);
    int64_t *layers = CZ_NEW(env->arena, int64_t, cz_n_items(list));
    bool good = !e || cz_eval_size(e, env, diags, "number of chunks", 1,
                                   CZ_MAX_CHUNKS, &chunks);
    for (int i = 0; i < cz_n_items(list); i++)
        good &= cz_eval_size(cz_item(list, i), env, diags, "number of layers",
                             0, CZ_MAX_RANKS, &layers[i]);
    if (good && stages > 1) {
        good = check_length(list, stages, chunks, diags);
        out->n_chunks = (int)(stages * chunks);
        out->layers = cz_n_items(list) > 0 ? layers : NULL;
    }
    out->broken = !good;
    return good;
}

/* ---- indices ---- */

bool cz_stage_is_partitioned(const cz_node *bound)
{
    while (bound->kind == CZ_AST_ADD)
        bound = cz_binary_left(bound);
    return bound->kind == CZ_AST_DIV &&
           cz_binary_right(bound)->kind == CZ_AST_NAME &&
           strcmp(cz_binary_right(bound)->text, "pp") == 0;
}

typedef struct dealer {
    const cz_pipeline *pipeline;
    int64_t stages;
    cz_env *env;
    cz_diags *diags;
    int64_t high;
    cz_runs *out;
} dealer;

static uint64_t stage_bit(const dealer *d, int64_t stage)
{
    return d->stages == 1 ? 0 : (uint64_t)1 << stage;
}

/* Neighbours on one stage are one run. */
static void add_run(const dealer *d, int64_t first, int64_t extent,
                    uint64_t residents)
{
    cz_runs *runs = d->out;
    if (extent == 0)
        return;
    if (runs->n > 0 && runs->list[runs->n - 1].residents == residents)
        runs->list[runs->n - 1].extent += extent;
    else
        *CZ_PUSH(d->env->arena, runs->list, runs->n) =
            (cz_run){first, extent, residents};
}

/* "(16, 15, 15, 15)": as even as it goes. */
static const char *nearly_even(const dealer *d, int64_t n)
{
    const int64_t parts = d->pipeline->n_chunks;
    const char *text = "";
    for (int64_t k = 0; k < parts && k < MAX_SHOWN; k++)
        text =
            cz_arena_printf(d->env->arena, "%s%s%lld", text, k == 0 ? "" : ", ",
                            (long long)(n / parts + (k < n % parts)));
    return cz_arena_printf(d->env->arena, "(%s%s)", text,
                           parts > MAX_SHOWN ? ", ..." : "");
}

/* The largest number of stages below that divides. */
static int64_t dividing(const dealer *d, int64_t n)
{
    const int64_t chunks = d->pipeline->n_chunks / d->stages;
    int64_t stages = d->stages - 1;
    while (stages > 1 && n % (stages * chunks) != 0)
        stages--;
    return stages;
}

static bool check_divides(const dealer *d, const cz_node *bound, int64_t n)
{
    const int64_t chunks = d->pipeline->n_chunks / d->stages;
    if (n % d->pipeline->n_chunks == 0)
        return true;
    const char *each =
        chunks == 1 ? ""
                    : cz_arena_printf(d->env->arena, " with %lld chunks each",
                                      (long long)chunks);
    const char *message = cz_arena_printf(
        d->env->arena,
        "an index of %lld cannot be dealt out evenly to pp = %lld%s",
        (long long)n, (long long)d->stages, each);
    if (cz_diag_has(d->diags, CZ_NOT_DIVISIBLE, message))
        return false;
    cz_diag_error(d->diags, CZ_NOT_DIVISIBLE, bound->span, "%s", message);
    const int64_t stages = dividing(d, n);
    cz_diag_note(
        d->diags, bound->span, "write `pipeline %s%s` in `schedule`%s",
        nearly_even(d, n),
        chunks == 1
            ? ""
            : cz_arena_printf(d->env->arena, " chunks %lld", (long long)chunks),
        stages == 1 ? ""
                    : cz_arena_printf(d->env->arena, ", or take pp = %lld",
                                      (long long)stages));
    return false;
}

static bool check_sum(const dealer *d, const cz_node *bound, int64_t n)
{
    const cz_pipeline *p = d->pipeline;
    int64_t sum = 0;
    for (int k = 0; k < p->n_chunks; k++)
        sum += p->layers[k];
    if (sum == n)
        return true;
    cz_diag_error(d->diags, CZ_BAD_SCHEDULE, cz_pipeline_layers(p->node)->span,
                  "these layers are %lld, and %lld are to be dealt out",
                  (long long)sum, (long long)n);
    cz_diag_note(d->diags, bound->span, "here; as even as it goes: %s",
                 nearly_even(d, n));
    return false;
}

/* The n of `n/pp`. */
static bool deal(const dealer *d, const cz_node *bound, int64_t *end)
{
    const cz_pipeline *p = d->pipeline;
    const cz_node *e = cz_binary_left(bound);
    int64_t n;
    if (e->kind == CZ_AST_DIV && cz_binary_right(e)->kind == CZ_AST_NAME &&
        cz_mesh_is_axis(cz_binary_right(e)->text)) {
        cz_diag_error(d->diags, CZ_UNSUPPORTED, bound->span,
                      "an index that two axes share out is not supported yet");
        return false;
    }
    if (!cz_eval_size(e, d->env, d->diags, "number of indices", 0, d->high, &n))
        return false;
    *end = n;
    if (p->broken) {
        add_run(d, 0, n, stage_bit(d, 0));
        return true;
    }
    if (d->stages > 1 &&
        (p->layers ? !check_sum(d, bound, n) : !check_divides(d, bound, n)))
        return false;
    *end = 0;
    for (int k = 0; k < p->n_chunks; k++) {
        const int64_t extent = p->layers ? p->layers[k] : n / p->n_chunks;
        add_run(d, *end, extent, stage_bit(d, k % d->stages));
        *end += extent;
    }
    return true;
}

/* What stands behind `n/pp` lives on the last stage. */
static bool deal_sum(const dealer *d, const cz_node *bound, int64_t *end)
{
    int64_t more;
    if (bound->kind != CZ_AST_ADD)
        return deal(d, bound, end);
    if (!deal_sum(d, cz_binary_left(bound), end) ||
        !cz_eval_size(cz_binary_right(bound), d->env, d->diags,
                      "number of indices", 0, d->high - *end, &more))
        return false;
    add_run(d, *end, more, stage_bit(d, d->stages - 1));
    *end += more;
    return true;
}

bool cz_stage_partition(const cz_node *bound, const cz_pipeline *pipeline,
                        const cz_mesh *mesh, cz_env *env, cz_diags *diags,
                        int64_t high, cz_runs *out)
{
    *out = (cz_runs){0};
    const dealer d = {pipeline, cz_mesh_stages(mesh), env, diags, high, out};
    int64_t end;
    return deal_sum(&d, bound, &end);
}

/* ---- the attribute ---- */

bool cz_stage_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                   cz_diags *diags, uint64_t *residents)
{
    const int64_t stages = cz_mesh_stages(mesh);
    cz_env inner;
    const cz_node *stage = cz_param_stage(node);
    if (!stage || stages == 1)
        return true;
    cz_mesh_bind(mesh, env, &inner);
    cz_env_bind(&inner, "first", cz_value_int(0));
    cz_env_bind(&inner, "last", cz_value_int(stages - 1));
    *residents = 0;
    for (int i = 0; i < cz_n_items(stage); i++) {
        int64_t at;
        if (!cz_eval_size(cz_item(stage, i), &inner, diags, "stage", 0,
                          stages - 1, &at))
            return false;
        *residents |= (uint64_t)1 << at;
    }
    return true;
}
