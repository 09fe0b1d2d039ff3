/* The program: stages, run-time values, the step's scalars, and the struct
 * that ties all tables together. */
#include "codegen/common/internal.h"

typedef long long ll;

static void put_slots(cz_text *out, const char *name, int number,
                      const cz_view_slot *slots, int n)
{
    static const char *const kinds[CZ_N_SLOTS] = {
#define ABI_SLOT(tag, name, index) "CZR_SLOT_" #tag,
#include "runtime/abi.def"
    };

    if (n == 0)
        return;
    cz_text_printf(out, "static const czr_slot %s_%d[] = {", name, number);
    for (int i = 0; i < n; i++)
        cz_text_printf(out, "%s{%s, %d, %s}", i ? ", " : "",
                       kinds[slots[i].kind], slots[i].index,
                       cz_dtype_czr_tag(slots[i].dtype));
    cz_text_puts(out, "};\n");
}

static void put_stage_scalars(cz_emitter *emitter, int number)
{
    const cz_view_stage *stage = &emitter->view->stages[number];
    const cz_view_rule *rule = &emitter->view->rules[stage->rule];
    const int n_results = emitter->view->bodies[rule->prologue].n_out;
    const cz_ints *scalars = &stage->fact->scalars;

    if (scalars->n == 0)
        return;
    cz_text_printf(emitter->out, "static const uint16_t scalars_%d[] = {",
                   number);
    for (int i = 0; i < scalars->n; i++)
        if (scalars->v[i] < n_results)
            cz_text_printf(emitter->out, "%s%lld", i ? ", " : "",
                           (ll)(rule->first_scalar + scalars->v[i]));
        else
            cz_text_printf(emitter->out, "%sCZR_NAME_SCALAR + %lld",
                           i ? ", " : "", (ll)(scalars->v[i] - n_results));
    cz_text_puts(emitter->out, "};\n");
}

static void put_numbered(cz_text *out, int n, const char *name, int number)
{
    if (n)
        cz_text_printf(out, "%s_%d, ", name, number);
    else
        cz_text_puts(out, "NULL, ");
}

static void put_stages(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    for (int i = 0; i < view->n_stages; i++) {
        put_slots(out, "in", i, view->stages[i].in, view->stages[i].n_in);
        put_slots(out, "out", i, view->stages[i].out, view->stages[i].n_out);
        put_stage_scalars(emitter, i);
    }
    cz_text_puts(out, "\nstatic const czr_stage stages[] = {\n");
    for (int i = 0; i < view->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[i];
        const char *name = cz_stage_name(emitter, i, 0);
        const ll flops = (ll)stage->fact->flops;
        cz_text_printf(out, "    {\"%s\", %s,\n     ", name, name);
        put_numbered(out, stage->n_in, "in", i);
        put_numbered(out, stage->n_out, "out", i);
        put_numbered(out, stage->fact->scalars.n, "scalars", i);
        cz_text_printf(out, "%d, %d, %d, %d, ", stage->n_in, stage->n_out,
                       stage->fact->scalars.n,
                       stage->where == CZ_WHERE_FULL_MATRIX);
        cz_text_printf(out,
                       cz_view_is_shaped(stage) ? "%lld, 0},\n" : "0, %lld},\n",
                       flops);
    }
    cz_text_puts(out, view->n_stages ? "};\n\n" : "    {0}};\n\n");
}

static void put_hypers(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;
    int n = 0;

    cz_text_puts(out, "static const czr_hyper_desc hypers[] = {\n");
    for (int u = 0; u < view->n_uses; u++) {
        const cz_fact_use *use = view->uses[u];
        for (int i = 0; i < use->hypers.n; i++, n++) {
            cz_text_puts(out, "    {");
            cz_emit_string(out, use->sym_name);
            cz_text_puts(out, ", ");
            cz_emit_string(out, use->hypers.v[i]);
            cz_text_puts(out, ", ");
            cz_emit_f64(out, use->defaults.v[i]);
            cz_text_printf(out, ", %lld},\n", (ll)use->has_default.v[i]);
        }
    }
    cz_text_puts(out, n ? "};\n\n" : "    {0}};\n\n");
}

static int first_hyper(const cz_plan_view *view, int use)
{
    int n = 0;

    for (int u = 0; u < use; u++)
        n += view->uses[u]->hypers.n;
    return n;
}

void cz_emit_prologue_calls(cz_emitter *emitter, const char *t,
                            const char *clip)
{
    const cz_plan_view *view = emitter->view;

    for (int i = 0; i < view->n_rules; i++)
        if (view->bodies[view->rules[i].prologue].n_out)
            cz_text_printf(emitter->out,
                           "    prologue_%d(%s, %s, hypers + %d, scalars + "
                           "%d);\n",
                           i, t, clip, first_hyper(view, view->rules[i].use),
                           view->rules[i].first_scalar);
}

static void put_prologue(cz_emitter *emitter)
{
    cz_text *out = emitter->out;

    cz_text_puts(out,
                 "static void prologue(double t, double clip, const double "
                 "*hypers,\n                     float *scalars)\n{\n");
    cz_emit_prologue_calls(emitter, "t", "clip");
    cz_text_puts(out, "    (void)t, (void)clip, (void)hypers, (void)scalars;\n"
                      "}\n\n");
}

static void put_mesh(cz_emitter *emitter)
{
    const cz_fact_mesh *mesh = emitter->view->mesh;
    const cz_fact_arena *arena = emitter->view->arena;
    cz_text *out = emitter->out;

    cz_text_puts(out, "static const char *const axes[] = {");
    for (int i = 0; i < mesh->axes.n; i++) {
        cz_text_puts(out, i ? ", " : "");
        cz_emit_string(out, mesh->axes.v[i]);
    }
    cz_text_puts(out, "};\nstatic const int32_t sizes[] = {");
    for (int i = 0; i < mesh->sizes.n; i++)
        cz_text_printf(out, "%s%lld", i ? ", " : "", (ll)mesh->sizes.v[i]);
    cz_text_puts(out, "};\nstatic const char *const names[] = {");
    for (int i = 0; i < mesh->names.n; i++) {
        cz_text_puts(out, i ? ", " : "");
        cz_emit_string(out, mesh->names.v[i]);
    }
    cz_text_puts(out, "};\nstatic const uint32_t sets[] = {");
    for (int i = 0; i < mesh->sets.n; i++)
        cz_text_printf(out, "%s%lld", i ? ", " : "", (ll)mesh->sets.v[i]);
    cz_text_puts(out, "};\nstatic const int64_t arena_bytes[] = {");
    for (int i = 0; i < arena->bytes.n; i++)
        cz_text_printf(out, "%s%lld,", i % 8 ? " " : "\n    ",
                       (ll)arena->bytes.v[i]);
    cz_text_puts(out, arena->bytes.n ? "};\n\n" : "0};\n\n");
}

static void put_sizes(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    cz_text_printf(out, "    .n_hypers = %d,\n    .hypers = hypers,\n",
                   first_hyper(view, view->n_uses));
    cz_text_printf(out, "    .n_scalars = %d,\n    .prologue = prologue,\n",
                   view->n_scalars);
    cz_text_printf(out, "    .n_patterns = %d,\n    .patterns = patterns,\n",
                   view->n_patterns);
    cz_text_printf(out, "    .n_params = %d,\n    .places = places,\n",
                   view->n_params);
    cz_text_printf(out, "    .n_rules = %d,\n    .states = states,\n",
                   view->n_rules);
    if (cz_has_variants(view))
        cz_text_puts(out, "    .phases = phases,\n");
    if (view->n_storages > 0)
        cz_text_printf(out,
                       "    .n_storages = %d,\n    .storages = storages,\n",
                       view->n_storages);
    if (view->n_frozen_patterns > 0)
        cz_text_printf(out, "    .n_frozen = %d,\n    .frozen = frozen,\n",
                       view->n_frozen_patterns);
    if (view->n_ties > 0)
        cz_text_printf(out, "    .n_ties = %d,\n    .ties = ties,\n",
                       view->n_ties);
    cz_text_printf(out, "    .n_buckets = %d,\n    .buckets = buckets,\n",
                   view->n_buckets);
    cz_text_printf(out, "    .n_stages = %d,\n    .stages = stages,\n",
                   view->n_stages);
    if (cz_has_variants(view))
        cz_text_puts(out, "    .variants = variants,\n");
    cz_text_printf(out, "    .n_tables = %d,\n    .tables = tables,\n",
                   view->n_tables);
    cz_text_printf(out, "    .n_ops = %d,\n    .ops = ops,\n", view->n_ops);
    cz_text_printf(
        out, "    .arena_selector = %u,\n    .arena_bytes = arena_bytes,\n",
        cz_axis_mask(&view->arena->selector));
}

static void put_policy(cz_emitter *emitter)
{
    const cz_fact_policy *policy = emitter->view->policy;
    const cz_fact_program *program = emitter->view->program;
    cz_text *out = emitter->out;

    cz_text_printf(out, "    .strict = %lld,\n", (ll)program->strict);
    cz_text_printf(
        out, "    .n_axes = %d,\n    .axes = axes,\n    .sizes = sizes,\n",
        emitter->view->mesh->axes.n);
    cz_text_printf(
        out, "    .n_names = %d,\n    .names = names,\n    .sets = sets,\n",
        emitter->view->mesh->names.n);
    cz_text_printf(out, "    .master_dtype = %s,\n",
                   cz_dtype_czr_tag(policy->master_dtype));
    cz_text_puts(out, "    .clip = ");
    cz_emit_f64(out, policy->clip);
    cz_text_printf(out, ",\n    .skip = %lld,\n", (ll)policy->skip);
}

void cz_emit_program(cz_emitter *emitter, const char *plan_hash)
{
    const cz_fact_program *program = emitter->view->program;
    cz_text *out = emitter->out;

    put_stages(emitter);
    cz_emit_variants(emitter);
    put_hypers(emitter);
    put_prologue(emitter);
    put_mesh(emitter);
    cz_text_printf(out,
                   "const czr_program %s_program = {\n    .abi = CZR_ABI,\n"
                   "    .name = ",
                   program->name);
    cz_emit_string(out, program->name);
    cz_text_puts(out, ",\n    .compiler = ");
    cz_emit_string(out, program->compiler);
    cz_text_puts(out, ",\n    .plan_hash =\n        ");
    cz_emit_string(out, plan_hash);
    cz_text_puts(out, ",\n");
    put_policy(emitter);
    put_sizes(emitter);
    cz_text_puts(out, "};\n");
}
