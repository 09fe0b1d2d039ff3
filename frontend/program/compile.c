/* The front end, stage by stage.  Each stage reports what it finds; a stage
 * that needs what an earlier one did not deliver is not run, so that one
 * mistake is one message. */
#include "frontend/program/compile.h"

#include <string.h>

#include "frontend/program/internal.h"

typedef struct front {
    cz_arena *arena;
    cz_diags *diags;
    const cz_node *file;
    cz_env globals;
    cz_options defines;
    cz_instance instance;
    cz_compilation compilation;
} front;

/* -D needs to know all names that can be set before any value is read. */
static bool resolve_defines(front *f, const cz_compile_options *options)
{
    const bool found =
        cz_instance_find(f->compilation.scope, f->file, f->diags, &f->instance);
    cz_uses_find(f->compilation.scope, f->file, &f->globals, f->diags,
                 &f->compilation.uses);
    cz_options_build(f->arena, options->defines, options->n_defines, f->diags,
                     &f->defines);
    cz_mesh_allow(f->file, &f->defines);
    if (found)
        cz_instance_allow(&f->instance, &f->defines);
    cz_uses_allow(&f->compilation.uses, &f->defines);
    cz_policy_allow(&f->defines);
    cz_machine_allow(&f->defines);
    if (found)
        cz_options_resolve(&f->defines, f->diags);
    return found;
}

/* Nothing says what to compile, and there are rules. */
static bool has_rules_alone(const front *f)
{
    int n_rules = 0, n_beside = 0;
    for (int i = 0; i < cz_n_items(f->file); i++) {
        const cz_kind kind = cz_item(f->file, i)->kind;
        n_rules += kind == CZ_AST_OPTIMIZER || kind == CZ_AST_DEF ||
                   kind == CZ_AST_TABLE;
        n_beside += kind == CZ_AST_IMPORT || kind == CZ_AST_LET;
    }
    return n_rules > 0 && n_rules + n_beside == cz_n_items(f->file);
}

/* Whether there is more to do.  Rules are checked before anything is asked of
 * them, so that a mistake in one is reported for all shapes, once. */
static bool check_rules(front *f, const cz_compile_options *options)
{
    cz_rules_checked checked;
    const bool alone = options->alone && has_rules_alone(f);
    cz_rules_check(f->compilation.scope, alone, f->arena, f->diags, &checked);
    if (!alone)
        return true;
    *options->alone = checked;
    if (f->diags->n_errors == 0)
        cz_names_warn(f->compilation.scope, true, f->diags);
    cz_options_build(f->arena, options->defines, options->n_defines, f->diags,
                     &f->defines);
    cz_options_resolve(&f->defines, f->diags); /* there is nothing to set */
    return false;
}

/* The integer that a configuration has for one of these keys, or 0. */
static int64_t count_of(const cz_config *config, const char *const *keys)
{
    for (; config->source && *keys; keys++) {
        const cz_config_entry *entry = cz_config_find(config, *keys);
        if (entry && entry->is_scalar && entry->value.kind == CZ_VALUE_INT)
            return entry->value.integer;
    }
    return 0;
}

/* Millionths of experts' elements that work on a token: what the configuration
 * says, else all. */
static int64_t active_of(const cz_config *config)
{
    static const char *const all[] = {"num_experts", "n_routed_experts",
                                      "num_local_experts", NULL};
    static const char *const chosen[] = {"num_experts_per_tok", NULL};
    const int64_t n = count_of(config, all), k = count_of(config, chosen);
    return k > 0 && k <= n ? k * CZ_ALL_ACTIVE / n : CZ_ALL_ACTIVE;
}

static bool build_model(front *f)
{
    cz_instance_bind(&f->instance, f->compilation.scope, &f->defines,
                     &f->globals, f->diags);
    f->compilation.config = f->instance.config.source;
    if (f->compilation.policy.fact.active == 0) /* no clause says it */
        f->compilation.policy.fact.active = active_of(&f->instance.config);
    return cz_model_build(&f->instance, &f->compilation.mesh,
                          &f->compilation.policy.pipeline, f->diags,
                          &f->compilation.model) &&
           cz_chunk_model(&f->compilation.policy, &f->compilation.mesh,
                          f->arena, f->diags, &f->compilation.model);
}

/* Every stage up to facts.  False after an error. */
static bool check(front *f, const cz_compile_options *options)
{
    f->compilation.options = options;
    f->compilation.scope = cz_scope_build(
        f->arena, options->path, options->text, options->allowed, f->diags);
    if (f->diags->n_errors > 0)
        return false;
    f->file = cz_scope_file_at(f->compilation.scope, 0)->tree;
    /* File-level lets: the user's, and none of the library. */
    cz_env_init(&f->globals, f->arena, NULL);
    for (int i = 0; i < cz_scope_n_files(f->compilation.scope); i++) {
        const cz_scope_file *file = cz_scope_file_at(f->compilation.scope, i);
        for (int k = 0; k < cz_n_items(file->tree) && !file->library; k++)
            if (cz_item(file->tree, k)->kind == CZ_AST_LET)
                cz_env_bind_let(&f->globals, cz_item(file->tree, k));
    }
    if (!check_rules(f, options))
        return false;
    const bool has_model = resolve_defines(f, options);
    /* Everything but the model's parameters. */
    cz_mesh_build(f->file, &f->defines, f->compilation.options->one_rank,
                  &f->globals, f->diags, &f->compilation.mesh);
    cz_policy_build(f->file, &f->compilation.mesh, &f->defines, &f->globals,
                    f->diags, &f->compilation.policy);
    cz_uses_bind(&f->compilation.uses, &f->defines,
                 f->compilation.policy.fact.clip > 0, f->diags);
    cz_machine_read(f->compilation.scope, f->file, &f->defines, &f->globals,
                    f->diags, &f->compilation.machine);
    if (has_model && build_model(f))
        cz_choose(&f->compilation.model, &f->compilation.uses,
                  &f->compilation.policy, &f->compilation.mesh,
                  f->instance.from->span, &f->globals, f->diags,
                  &f->compilation.choices);
    if (f->diags->n_errors > 0)
        return false;
    cz_chunk_warn(&f->compilation.model, &f->compilation.mesh, f->diags);
    cz_names_warn(f->compilation.scope, false, f->diags);
    return true;
}

/* Whether gradients without a clause of their own are summed over the axis. */
static bool sums(const cz_grads *grads, const char *axis)
{
    const cz_node *axes = grads->node ? cz_grads_axes(grads->node) : NULL;
    for (int i = 0; axes && i < cz_n_items(axes); i++)
        if (strcmp(cz_item(axes, i)->text, axis) == 0)
            return true;
    return !axes;
}

bool cz_compile_model(cz_arena *arena, const cz_compile_options *options,
                      cz_diags *diags, cz_compiled_model *out)
{
    front f = {.arena = arena, .diags = diags};
    if (!check(&f, options))
        return false;
    const cz_policy *policy = &f.compilation.policy;
    *out = (cz_compiled_model){.mesh = f.compilation.mesh,
                               .model = f.compilation.model,
                               .machine = f.compilation.machine,
                               .grad_bytes =
                                   cz_dtype_bytes(policy->grads[0].dtype),
                               .sums_dp = sums(&policy->grads[0], "dp"),
                               .sums_cp = sums(&policy->grads[0], "cp"),
                               .memory_bytes = policy->fact.memory_bytes,
                               .tokens = policy->fact.tokens,
                               .active = policy->fact.active};
    return true;
}

cz_ir *cz_compile(cz_arena *arena, const cz_compile_options *options,
                  cz_diags *diags)
{
    front f = {.arena = arena, .diags = diags};
    if (!check(&f, options))
        return NULL;
    cz_ir *ir = cz_ir_open(diags);
    if (!ir)
        return NULL;
    if (cz_emit(ir, &f.compilation, arena, diags) && diags->n_errors == 0 &&
        cz_ir_verify(ir))
        return ir;
    cz_ir_close(ir);
    return NULL;
}
