/* Uses and micro-groups of a plan, read off its view. */
#include "frontend/document/plan/facts.h"

#include "dsl/plan/state.h"

static int rule_of(const cz_plan_view *view, int param)
{
    return view->patterns[view->params[param].pattern].rule;
}

const cz_view_stage *cz_report_stage(const cz_plan_view *view, int param,
                                     cz_where where)
{
    const cz_view_rule *rule = &view->rules[rule_of(view, param)];
    for (int i = 0; i < rule->n_stages; i++)
        if (view->stages[rule->first_stage + i].where == where)
            return &view->stages[rule->first_stage + i];
    return NULL;
}

static int64_t state_bytes(const cz_plan_view *view, int param)
{
    const cz_fact_rule *rule = view->rules[rule_of(view, param)].fact;
    return cz_state_shard_bytes(rule) *
               view->patterns[view->params[param].pattern].elements +
           cz_state_logical_bytes(rule);
}

cz_use_facts cz_report_use(const cz_plan_view *view, int use)
{
    cz_use_facts facts = {0};
    for (int p = 0; p < view->n_params; p++) {
        if (view->rules[rule_of(view, p)].use != use)
            continue;
        const cz_view_pattern *pattern =
            &view->patterns[view->params[p].pattern];
        const int n = (int)pattern->expert_extent;
        facts.n_params += n;
        facts.n_owned += view->params[p].split_owner >= 0 ? n : 0;
        facts.n_sharded += view->params[p].shard_owner >= 0 ? n : 0;
        facts.n_by_subgroup += view->params[p].subgroup_size > 1 ? n : 0;
        facts.n_at_shards += cz_view_keeps_shards(view, p) ? n : 0;
        facts.n_apart += cz_view_is_apart(view, p) ? n : 0;
        facts.elements += pattern->elements * n;
        facts.state_bytes += state_bytes(view, p) * n;
    }
    return facts;
}

/* Elements that whoever computes them has in its own shard. */
static int64_t kept_elements(const cz_plan_view *view, int param)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    int64_t storage[CZ_VIEW_MAX_AXES], kept = 0;
    const cz_ints axes = cz_view_shard_axes(view, p->pattern, storage);
    for (int64_t k = 0; k < p->subgroup_size; k++) {
        const cz_view_shard part = cz_view_subgroup_shard(view, param, k);
        const int64_t at = p->shard_owner + k * p->stride;
        const cz_view_shard shard = cz_view_shard_of(
            view, pattern, cz_view_rank_at(view, &axes, at, 0));
        kept += cz_view_overlap(&part, &shard, pattern->n_dims).elements;
    }
    return kept;
}

int64_t cz_report_wire(const cz_plan_view *view,
                       const cz_frequency *frequencies, int param,
                       cz_slot_kind kind)
{
    const cz_view_stage *whole =
        cz_report_stage(view, param, CZ_WHERE_FULL_MATRIX);
    const cz_view_pattern *pattern =
        &view->patterns[view->params[param].pattern];
    if (!whole || view->params[param].shard_owner < 0)
        return 0;
    return cz_frequency_slot_bytes(view, frequencies, whole, kind,
                                   pattern->elements -
                                       kept_elements(view, param));
}

/* Whole buffers of one row. */
static int64_t buffer_bytes(const cz_plan_view *view,
                            const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &view->stages[row->stage];
    return cz_view_slot_bytes(stage, CZ_SLOT_GATHER, row->count, NULL) +
           cz_view_slot_bytes(stage, CZ_SLOT_SCATTER, row->count, NULL);
}

static bool is_group(const cz_plan_view *view, const cz_view_op *op)
{
    if (op->kind != CZ_STEP_KERNEL || op->table < 0)
        return false;
    const cz_view_table *table = &view->tables[op->table];
    if (table->starts[table->n_coordinates] == 0)
        return false;
    const cz_view_kernel_entry *row = table->rows.kernel;
    const cz_view_stage *stage = &view->stages[row->stage];
    return cz_view_is_shaped(stage) &&
           (!stage->subgroup || stage->subgroup->segment == 0) &&
           view->params[row->param].shard_owner >= 0;
}

static bool is_listed(const cz_micro_group_facts *facts, int64_t param)
{
    for (int i = 0; i < facts->n; i++)
        if (facts->params[i] == param)
            return true;
    return false;
}

/* A matrix of several rows of ranks is a member once. */
static cz_micro_group_facts micro_group_of(cz_arena *arena,
                                           const cz_plan_view *view,
                                           const cz_frequency *frequencies,
                                           int op)
{
    const cz_view_table *table = &view->tables[view->ops[op].table];
    const int64_t n = table->starts[table->n_coordinates];
    int64_t *params = CZ_NEW(arena, int64_t, n);
    cz_micro_group_facts facts = {.op = op, .params = params};
    for (int c = 0; c < table->n_coordinates; c++) {
        int64_t bytes = 0;
        for (int64_t i = table->starts[c]; i < table->starts[c + 1]; i++) {
            const cz_view_kernel_entry *row = &table->rows.kernel[i];
            const int param = (int)row->param;
            bytes += buffer_bytes(view, row);
            if (is_listed(&facts, param))
                continue;
            params[facts.n++] = param;
            facts.gather_bytes +=
                cz_report_wire(view, frequencies, param, CZ_SLOT_GATHER);
            facts.scatter_bytes +=
                cz_report_wire(view, frequencies, param, CZ_SLOT_SCATTER);
        }
        facts.peak_bytes = bytes > facts.peak_bytes ? bytes : facts.peak_bytes;
    }
    return facts;
}

cz_micro_group_facts *cz_report_micro_groups(cz_arena *arena,
                                             const cz_plan_view *view, int *n)
{
    const cz_frequency *frequencies =
        cz_frequencies(arena, view, CZ_MEAN_UPDATE);
    cz_micro_group_facts *micro_groups = NULL;
    *n = 0;
    for (int i = 0; i < view->n_ops; i++)
        if (is_group(view, &view->ops[i]))
            *CZ_PUSH(arena, micro_groups, *n) =
                micro_group_of(arena, view, frequencies, i);
    return micro_groups;
}

void cz_report_axes(const cz_plan_view *view, const cz_ints *axes, cz_text *out)
{
    const cz_fact_mesh *mesh = view->mesh;
    int64_t left = cz_view_set_of(axes);
    int n = 0;
    for (int i = 0; i < mesh->names.n && left; i++) {
        const int64_t set = mesh->sets.v[i];
        if (!set || (set & left) != set)
            continue;
        cz_text_printf(out, "%s%s", n++ ? " x " : "", mesh->names.v[i]);
        left &= ~set;
    }
    for (int a = 0; a < mesh->axes.n; a++)
        if (left >> a & 1)
            cz_text_printf(out, "%s%s", n++ ? " x " : "", mesh->axes.v[a]);
    if (n == 0)
        cz_text_puts(out, "nothing");
}
